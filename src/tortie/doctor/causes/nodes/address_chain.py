"""The chain behind a wrong registered address: who owns what first, then who misses whom."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from tortie.doctor.causes.nodes.bgp_addresses import Seen, inner_link, link_with
from tortie.doctor.causes.nodes.bgp_evidence import Peer, settled
from tortie.doctor.causes.nodes.wrong_addresses import Suspect
from tortie.doctor.picture.facts import Interface, Node, Pod, Session, Statement
from tortie.doctor.picture.host_pods import is_agent
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Hit

_ORDER: Final = {Seen: 0, Interface: 1, Node: 2, Pod: 2, Statement: 2, Peer: 3, Hit: 3, Session: 4}


def chain(picture: Picture, items: Iterable[object], node: str, internal: str) -> list[object]:
    """From cause to symptom: the address taken, the link it is on, the node's own address, complaints, sessions."""
    own = _own_row(picture, node, internal) if node and internal else None
    return sorted((item for item in (*items, own) if item is not None), key=_step)


def _step(item: object) -> int:
    if isinstance(item, Peer) and item.state:  # from a table of sessions, not from a complaint
        return _ORDER[Session]
    return _ORDER.get(type(item), _ORDER[Hit])


def _own_row(picture: Picture, node: str, internal: str) -> object | None:
    """A row that shows the InternalIP next to the node's name, else the link that carries it."""
    for one in reversed(picture.of(Node)):
        if one.name == node and one.internal_ip == internal:
            return one
    pods = [pod for pod in picture.of(Pod) if pod.node == node and internal in (pod.ip, pod.host_ip)]
    return next((pod for pod in reversed(pods) if is_agent(pod.name)), None) or (
        pods[-1] if pods else link_with(picture, internal, node)
    )


def sessions_stand_on(picture: Picture, grounds: list[Suspect]) -> list[Session]:
    """Established sessions with exactly the addresses in question: a network of its own for BGP, and it works.

    A table of sessions lists all nodes but the one it was taken on, so one address may be absent from it.
    """
    if not settled(picture) or any(not one.address or inner_link(one.interface) for one in grounds):
        return []
    addresses = {one.address for one in grounds}
    standing = [session for session in picture.sessions() if session.peer in addresses]
    absent = addresses - {session.peer for session in standing}
    return standing if len(absent) <= 1 else []
