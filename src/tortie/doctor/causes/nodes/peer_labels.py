"""BGPPeers whose selector chooses no node any more, and what shows that it once did."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import takewhile
from typing import Final

from tortie.doctor.causes.nodes.bgp_evidence import remembered
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Action
from tortie.doctor.picture.peers import Peer, choosing_nobody, labels_shown, peers
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Exhibit, Place
from tortie.doctor.signs import Sign
from tortie.model.tuples import NamedTuple

# BIRD's word about a peer that left its configuration; Mesh_... goes when the mesh is turned off.
REMOVED: Final = Sign("trt1021-removed", "bird: Removing protocol (Node|Global)_<name>")
# Labels that Kubernetes itself took from nodes, and what they have instead.
RENAMED: Final = {
    "node-role.kubernetes.io/master": "node-role.kubernetes.io/control-plane",
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "beta.kubernetes.io/os": "kubernetes.io/os",
    "beta.kubernetes.io/arch": "kubernetes.io/arch",
    "beta.kubernetes.io/instance-type": "node.kubernetes.io/instance-type",
}
_ROLE: Final = "node-role.kubernetes.io/"
_COLUMN: Final = lazily(r"\s(?:-L|--label-columns)[ =]?([\w./,-]+)")
_PART: Final = lazily(r"\||\s(?:-l|--selector)\b")  # rows that were picked
_ROW: Final = lazily(r"[a-z0-9][\w.-]* +(?:Not)?Ready")


class Lost(NamedTuple):
    """A BGPPeer that chooses nobody."""

    peer: Peer
    field: str  # nodeSelector, peerSelector
    selector: str
    keys: tuple[str, ...]  # of the labels that it asks for
    evidence: tuple[object, ...]  # that no node has them


class Drift(NamedTuple):
    """What shows that labels went away."""

    evidence: tuple[object, ...]
    node: str = ""  # which had the label
    renamed_to: str = ""


@cache
def _keys() -> re.Pattern[str]:
    return re.compile(
        r"has\(\s{0,9}([\w./-]{1,320})\s{0,9}\)"
        r"|(?<![\w./-])([\w./-]{1,320}+)\s{0,9}(?:==|in\b|contains\b|starts with\b)"
    )


def keys_of(selector: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(has or key for has, key in _keys().findall(selector)))


@remembered
def lost(picture: Picture) -> list[Lost]:
    """By the labels of all nodes, or by a question for them that nobody answered."""
    by_labels = {(peer.name, selector) for peer, selector in choosing_nobody(picture)}
    found = []
    for peer in peers(picture):
        for field, selector in (("nodeSelector", peer.node_selector), ("peerSelector", peer.peer_selector)):
            keys = keys_of(selector)
            asked = _shown(picture, keys, selector) if "!" not in selector else []
            if (peer.name, selector) in by_labels or (asked and len(keys) == 1):
                found.append(Lost(peer, field, selector, keys, (*peer.evidence[:2], *asked[:1])))
    return found


def _shown(picture: Picture, keys: tuple[str, ...], selector: str) -> list[object]:
    """Tables and questions by which no node has a selector's only label."""
    by_roles = _by_roles(picture, keys[0]) if len(keys) == 1 else []
    return [*_asked(picture, keys), *_columns(picture, keys, selector), *by_roles]


def _by_roles(picture: Picture, key: str) -> list[object]:
    """The column ROLES has the rest of every label that begins so; no node has this one."""
    role = key.removeprefix(_ROLE)
    listed = [node for node in picture.nodes_now().values() if node.status]
    roles = {one for node in listed for one in node.roles.split(",") if one}
    return list(listed[:2]) if role != key and roles and role not in roles else []


def _asked(picture: Picture, keys: tuple[str, ...]) -> list[Place]:
    return [exhibit.place(0) for exhibit in _unanswered(picture) if any(key in exhibit.command for key in keys)]


def _unanswered(picture: Picture) -> Iterator[Exhibit]:
    """`kubectl get nodes -l key=value`, and no node is there."""
    for exhibit in picture.exhibits:
        words = exhibit.command.split()
        asks = "get" in words and {"no", "node", "nodes"} & set(words)
        chooses = any(word.startswith(("-l", "--selector")) for word in words)
        if asks and chooses and exhibit.lines and exhibit.lines[0].startswith("No resources found"):
            yield exhibit


def _columns(picture: Picture, keys: tuple[str, ...], selector: str) -> list[Place]:
    """`kubectl get nodes -L key` of all nodes, where no value of a selector's only label is one that it takes."""
    from tortie.model.selector import SelectorError, parse  # only when there is one

    try:
        tree = parse(selector) if len(keys) == 1 else None
    except SelectorError:
        return []
    tables = [(exhibit, _values(exhibit, keys[0])) for exhibit in picture.exhibits] if tree else []
    return [
        exhibit.place(0)
        for exhibit, values in tables
        if tree and values and not any(tree.matches({keys[0]: value} if value else {}) for value in values)
    ]


def _values(exhibit: Exhibit, key: str) -> list[str]:
    """What the column of one label holds, row by row; nothing of a table that leaves nodes out."""
    words = exhibit.command.split()
    asks = "get" in words and {"no", "node", "nodes"} & set(words)
    column = _COLUMN.search(exhibit.command)
    if not asks or not column or key not in column[1].split(",") or _PART.search(exhibit.command):
        return []
    head = exhibit.lines[0]
    heading = key.rpartition("/")[2].upper()
    if not head.startswith("NAME ") or heading not in head.split():
        return []
    at = f" {head} ".index(f" {heading} ")
    rows = takewhile(lambda line: len(line.split()) > 3 and _ROW.match(line), exhibit.lines[1:])
    return [line[at:].split(" ")[0] for line in rows]


@remembered
def drift(picture: Picture) -> Drift | None:
    """Not every selector without nodes has lost them: some never fitted."""
    gone = lost(picture)
    if not gone:
        return None
    keys = [key for one in gone for key in one.keys]
    for action in picture.of(Action):
        if action.verb == "label" and not action.failed and (key := _taken(action, gone)):
            return Drift((action,), _node_in(action, key))
    labels = labels_shown(picture)
    for key in keys:
        if key in RENAMED and any(RENAMED[key] in held for held in labels.values()):
            shown = [node for node in picture.nodes_now().values() if RENAMED[key] in dict(node.labels)]
            return Drift(tuple(shown[:1]), renamed_to=RENAMED[key])
        renamed = RENAMED.get(key, "").removeprefix(_ROLE)
        shown = [n for n in picture.nodes_now().values() if renamed and renamed in n.roles.split(",")]
        if shown and key.startswith(_ROLE):
            return Drift(tuple(shown[:1]), renamed_to=RENAMED[key])
    told = [*picture.hits(REMOVED)[:2], *picture.said("labels-lost")[:1]]
    return Drift(tuple(told)) if told else None


def _taken(action: Action, gone: list[Lost]) -> str:
    """The key that a command took from nodes, or wrote over with a value that the selector does not take."""
    words = action.object.split()
    for one in gone:
        for key in one.keys:
            values = [word.removeprefix(f"{key}=") for word in words if word.startswith(f"{key}=")]
            other = values and "--overwrite" in words and "has(" not in one.selector
            if f"{key}-" in words or (other and not any(value in one.selector for value in values)):
                return key
    return ""


def _node_in(action: Action, key: str) -> str:
    words = [word for word in action.object.split() if not word.startswith(("-", f"{key}-", f"{key}="))]
    names = [word.removeprefix("node/").removeprefix("nodes/") for word in words if word not in ("node", "nodes", "no")]
    return names[0] if names else ""
