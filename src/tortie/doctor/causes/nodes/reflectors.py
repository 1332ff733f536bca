"""Route reflectors as resources define them: all sessions may stand, and routes still not come from node to node."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from tortie.doctor.causes.nodes.bgp_evidence import is_external, mesh_off, node_called, remembered, session_node
from tortie.doctor.causes.nodes.peer_labels import keys_of
from tortie.doctor.causes.nodes.reflection import Pair, Topology
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Action, Document, Pool, Setting
from tortie.doctor.picture.peers import Peer, labels_shown, peers
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Exhibit, Place
from tortie.model.tuples import NamedTuple

FIELD: Final = "routeReflectorClusterID"
ANNOTATION: Final = "projectcalico.org/RouteReflectorClusterID"
MOST: Final = 300  # nodes
_ID: Final = lazily(r"routeReflectorClusterID[\"']?\s*[:=]\s*[\"']?([0-9.]{1,15})", re.IGNORECASE)
_NAME: Final = lazily(r"\s*(?:- )?name:\s*(\S+)\s*$")
_ASKED: Final = lazily(r"\bnodes?\s+(?:-o\s+\S+\s*|-\S+\s+){0,4}+([a-z0-9][a-z0-9.-]*)")
_BIRD_ROUTE: Final = lazily(r"\bvia ((?:\d{1,3}\.){3}\d{1,3})\b")
_WHOLE_LIST: Final = lazily(r"\bget\s+(?:-\S+\s+){0,3}bgppeers?(?:\.\S+)?\s*(?:$|-|\||2?>|;)", re.IGNORECASE)


class Ids(NamedTuple):
    """Cluster ids of nodes: empty of those that are shown to have none."""

    known: dict[str, str]
    evidence: tuple[object, ...]
    by_deeds: bool = False  # nobody looked; only what was set is shown


class Gap(NamedTuple):
    """Nodes that get no routes from each other although their sessions stand."""

    pairs: tuple[Pair, ...]
    hubs: tuple[str, ...]  # chosen as everybody's peer
    mute: tuple[str, ...]  # of them, those without a cluster id
    reflecting: tuple[str, ...]  # nodes that have one
    one_cluster: str  # the id that reflectors share, where different ones would do
    peers: tuple[Peer, ...]
    evidence: tuple[object, ...]
    sure: bool  # labels, ids and all BGPPeers are shown

    @property
    def of_nodes(self) -> list[Pair]:
        """Without what reflectors miss of each other: often no pod runs there."""
        return [pair for pair in self.pairs if not set(pair) <= set(self.hubs)]


@remembered
def gap(picture: Picture) -> Gap | None:
    defined = _between_nodes(picture)
    labels, typed = _labels(picture, defined)
    if not defined or not 3 <= len(labels) <= MOST or not _without_mesh(picture):
        return None
    sessions = _sessions(defined, labels)
    if sessions is None or not _fits(picture, sessions):
        return None
    ids, hubs = cluster_ids(picture), _hubs(defined, labels)
    # A hub of which nothing is told may well be a reflector, in a cluster of its own.
    presumed = {} if ids.by_deeds else {name: f"?{name}" for name in hubs}
    held = {name: ids.known.get(name, presumed.get(name, "")) for name in labels}
    pairs = Topology(sessions, held).gaps()
    if not pairs or not hubs or _has_routes(picture, pairs):
        return None
    mute = tuple(hub for hub in hubs if not held[hub])
    reflecting = tuple(name for name, one in ids.known.items() if one and name in labels)
    told = set(ids.known) >= set(labels) or bool(Topology(sessions, {name: f"?{name}" for name in labels}).gaps())
    sure = told and not typed and not ids.by_deeds and _all_listed(picture)
    shared = "" if mute else _one_cluster(sessions, held, hubs)
    shown = (*(item for peer in defined for item in peer.evidence[:2]), *ids.evidence)
    return Gap(tuple(pairs), hubs, mute, reflecting, shared, tuple(defined), shown, sure)


def _between_nodes(picture: Picture) -> list[Peer]:
    """Empty where one is not shown whole, or is a router's that may reflect as well."""
    defined = peers(picture)
    return defined if all(peer.peer_selector and not peer.peer_ip for peer in defined) else []


def _without_mesh(picture: Picture) -> bool:
    """Routes come by these sessions only: no mesh, one AS, and no tunnels that know no BGP."""
    pools, shown = picture.of(Pool), picture.sessions()
    if pools and all(pool.vxlan.lower() in ("always", "crosssubnet") for pool in pools):
        return False
    if len(_as_numbers(picture)) > 1:
        return False  # between different ones every node passes routes on
    return bool(mesh_off(picture)) or (bool(shown) and all(map(is_external, shown)))


def _as_numbers(picture: Picture) -> set[str]:
    """Of nodes, as they or their peers are told."""
    told = [one.asn.strip("()") for one in picture.registered()]
    told += [one.value for one in picture.settings("asNumber")]
    return {number for number in told if number.isdecimal() and number != "0"}


def _labels(picture: Picture, defined: list[Peer]) -> tuple[dict[str, dict[str, str]], bool]:
    """Of all nodes, as far as selectors ask for them; and whether they are only known by what was typed."""
    if shown := labels_shown(picture):
        return shown, False
    keys = {key for peer in defined for key in (*keys_of(peer.node_selector), *keys_of(peer.peer_selector))}
    if columns := _columns(picture, keys):
        return columns, False
    given: dict[str, dict[str, str]] = {name: {} for name in picture.nodes_now()}
    for action in picture.of(Action):
        words = [word.removeprefix("node/") for word in action.object.split()] if action.verb == "label" else []
        for key, _, value in (word.partition("=") for word in words if "=" in word and not word.startswith("-")):
            for name in (word for word in words if word in given):
                given[name][key] = value
    typed = {key for held in given.values() for key in held}
    return (given, True) if keys and keys <= typed else ({}, True)


def _columns(picture: Picture, keys: set[str]) -> dict[str, dict[str, str]]:
    """`kubectl get nodes -L key`: a column for each key, empty for nodes without it."""
    for exhibit in reversed(picture.exhibits):
        words = exhibit.command.split()
        asked = {key for flag, value in pairwise(words) if flag == "-L" for key in value.split(",")}
        if not keys or not keys <= asked or "get" not in words or not exhibit.lines:
            continue
        at = {key: exhibit.lines[0].find(key.rpartition("/")[2].upper()) for key in keys}
        names = picture.nodes_now()
        rows = {line.split()[0]: line for line in exhibit.lines[1:] if line.split() and line.split()[0] in names}
        if rows and min(at.values()) > 0:
            return {name: _cells(line, at) for name, line in rows.items()}
    return {}


def _cells(line: str, at: dict[str, int]) -> dict[str, str]:
    cells = {key: line[start:].split()[:1] for key, start in at.items() if line[start - 1 : start].isspace()}
    return {key: cell[0] for key, cell in cells.items() if cell}


@remembered
def cluster_ids(picture: Picture) -> Ids:
    """By nodes' own documents, by what was picked out of them, else by what was typed."""
    shown: dict[str, str] = {}
    evidence: list[object] = []
    for document in picture.of(Document):
        told = _of_document(document)
        if told is not None:
            shown[document.name] = told
    for exhibit in picture.exhibits:
        for name, told, place in _picked(exhibit):
            shown[name] = told
            evidence += [place] if told else []
    evidence += [s for s in picture.of(Setting) if s.scope == "caliconode" and s.name == FIELD]
    if shown:
        return Ids(shown, tuple(evidence))
    deeds = [action for action in picture.of(Action) if action.verb in ("patch", "annotate") and not action.failed]
    typed = {m[1]: found[1] for one in deeds if (found := _ID.search(one.object)) and (m := _ASKED.search(one.object))}
    done = tuple(one for one in deeds if _ID.search(one.object))
    return Ids(typed, done, by_deeds=bool(typed))


def _of_document(document: Document) -> str | None:
    """None where the document is no node, or is one of Kubernetes that Calico has not written to."""
    meta, spec = document.body.get("metadata"), document.body.get("spec")
    if document.kind != "Node" or not isinstance(meta, dict):
        return None
    bgp = spec.get("bgp") if isinstance(spec, dict) else None
    if isinstance(bgp, dict):
        return str(bgp.get(FIELD) or "")
    notes = meta.get("annotations")
    if not isinstance(notes, dict) or "projectcalico.org/IPv4Address" not in notes:
        return None
    return str(notes.get(ANNOTATION) or "")


def _picked(exhibit: Exhibit) -> Iterator[tuple[str, str, Place]]:
    """`calicoctl get node -o yaml | grep -e name -e ClusterID`: an id belongs to the name before it."""
    filters = exhibit.command.partition("|")[2].lower()
    if "node" not in exhibit.command or not any(word in filters for word in ("cluster", "reflector", "routeref")):
        return
    asked = _ASKED.search(exhibit.command.partition("|")[0])
    name, told, at = asked[1] if asked else "", "", 0
    for index, line in enumerate(exhibit.lines):
        if named := _NAME.match(line):
            if name:
                yield name, told, exhibit.place(at)
            name, told, at = named[1].strip("\"'"), "", index
        elif found := _ID.search(line):
            told, at = found[1], index
    if name and exhibit.lines:
        yield name, told, exhibit.place(at)


def _sessions(defined: list[Peer], labels: dict[str, dict[str, str]]) -> list[Pair] | None:
    """Calico gives both ends the session, whichever of them the BGPPeer is for."""
    pairs: set[Pair] = set()
    for peer in defined:
        ones = [peer.node] if peer.node else _chosen(labels, peer.node_selector or "all()")
        others = _chosen(labels, peer.peer_selector)
        if ones is None or others is None or not set(ones) <= set(labels):
            return None
        pairs |= {(one, other) for one in ones for other in others if one != other}
    return sorted(pairs)


def _chosen(labels: dict[str, dict[str, str]], selector: str) -> list[str] | None:
    from tortie.model.selector import SelectorError, parse  # only when there is one

    try:
        tree = parse(selector)
    except SelectorError:
        return None
    return [name for name, held in labels.items() if tree.matches(held)]


def _hubs(defined: list[Peer], labels: dict[str, dict[str, str]]) -> tuple[str, ...]:
    """A selector that takes every node makes a mesh, and nobody its centre."""
    chosen = [_chosen(labels, peer.peer_selector) or [] for peer in defined]
    return tuple(dict.fromkeys(name for names in chosen if len(names) < len(labels) for name in names))


def _one_cluster(sessions: list[Pair], held: dict[str, str], hubs: tuple[str, ...]) -> str:
    shared = next((held[hub] for hub in hubs if sum(held[other] == held[hub] for other in hubs) > 1), "")
    apart = {name: f"?{name}" if name in hubs else told for name, told in held.items()}
    return shared if shared and not Topology(sessions, apart).gaps() else ""


def _fits(picture: Picture, sessions: list[Pair]) -> bool:
    """No session is shown that these BGPPeers would not make: then others are not shown."""
    made = {frozenset(pair) for pair in sessions}
    for session in picture.sessions():
        ends = frozenset((session_node(picture, session), _owner(picture, session.peer)))
        if "" not in ends and len(ends) == 2 and ends not in made:
            return False
    return True


def _has_routes(picture: Picture, pairs: list[Pair]) -> bool:
    """A route by BIRD to one of those that should be out of reach: something else joins them."""
    apart = {frozenset(pair) for pair in pairs}
    for exhibit in picture.exhibits:
        gates = (_BIRD_ROUTE.search(line) for line in exhibit.lines if "via" in line and "bird" in exhibit.text)
        owners = {_owner(picture, gate[1]) for gate in gates if gate} - {""}
        if exhibit.host and any(frozenset((node_called(picture, exhibit.host), owner)) in apart for owner in owners):
            return True
    return False


def _owner(picture: Picture, address: str) -> str:
    """By its InternalIP, else by what it registered: documents of Calico have no other."""
    registered = (one.node for one in picture.registered() if one.address == address and one.node)
    return picture.owner_of(address) or next(registered, "")


def _all_listed(picture: Picture) -> bool:
    return any(_WHOLE_LIST.search(exhibit.command) for exhibit in picture.exhibits)
