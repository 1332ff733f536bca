"""BGP peers as resources define them, and which nodes their selectors choose by the labels that are shown."""

from __future__ import annotations

from collections.abc import Iterable

from tortie.doctor.picture.facts import CalicoNode, Setting
from tortie.doctor.picture.picture import Picture
from tortie.model.tuples import NamedTuple


class Peer(NamedTuple):
    """A BGPPeer. Settings that make it up are its evidence."""

    name: str
    evidence: tuple[Setting, ...]
    peer_ip: str = ""
    node: str = ""
    node_selector: str = ""
    peer_selector: str = ""
    asn: str = ""


def peers(picture: Picture) -> list[Peer]:
    """Each BGPPeer, as the last exhibit that shows a field of it has it."""
    held: dict[str, dict[str, Setting]] = {}
    for setting in picture.of(Setting):
        if setting.scope == "bgppeer" and setting.owner:
            held.setdefault(setting.owner, {})[setting.name] = setting
    return [_peer(name, fields) for name, fields in held.items()]


def _peer(name: str, fields: dict[str, Setting]) -> Peer:
    def said(key: str) -> str:
        value = fields[key].value if key in fields else ""
        return "" if value in ("<none>", "(global)") else value

    return Peer(
        name, tuple(fields.values()), said("peerIP"), said("node"), said("nodeSelector"), said("peerSelector"),
        said("asNumber"),
    )  # fmt: skip


def labels_shown(picture: Picture) -> dict[str, dict[str, str]]:
    """Labels of every node; empty unless they are shown of all of them, because one might have what others lack."""
    of_calico = {node.name: dict(node.labels) for node in picture.of(CalicoNode) if node.labels}
    of_kubernetes = {name: dict(node.labels) for name, node in picture.nodes_now().items()}
    labels = {name: held or of_calico.get(name, {}) for name, held in of_kubernetes.items()} or of_calico
    return labels if labels and all(labels.values()) else {}


def chosen(picture: Picture, selector: str) -> list[str] | None:
    """The nodes that a selector chooses; None when their labels are not shown, or the selector is not one."""
    return _chosen(labels_shown(picture), selector)


def _chosen(labels: dict[str, dict[str, str]], selector: str) -> list[str] | None:
    if not labels:
        return None
    from tortie.model.selector import SelectorError, parse  # only when there is one

    try:
        tree = parse(selector)
    except SelectorError:
        return None
    return [name for name, held in labels.items() if tree.matches(held)]


def choosing_nobody(picture: Picture) -> list[tuple[Peer, str]]:
    """Peers with a selector that no node fits any more, and that selector."""
    labels = labels_shown(picture)
    return [
        (peer, selector)
        for peer in peers(picture)
        for selector in _selectors(peer)
        if _chosen(labels, selector) == []
    ]  # fmt: skip


def _selectors(peer: Peer) -> Iterable[str]:
    return (selector for selector in (peer.node_selector, peer.peer_selector) if selector)
