"""Whose table of sessions it is. Two nodes name the same peer, and what one of them sees must not hide the other's."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from typing import Final

from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Session
from tortie.doctor.reading.exhibit import Exhibit

# `kubectl exec -n calico-system calico-node-x -- birdcl …`: the pod is asked, not the machine with the prompt.
_ASKED_IN: Final = lazily(r"\bexec\b.{0,300}?\b((?:calico-node|canal|kube-calico|rke2-canal|tortie-node)-[a-z0-9-]+)")

Side = tuple[str, str]  # node, peer


def sessions_by_node(sessions: Iterable[Session], exhibits: list[Exhibit]) -> dict[Side, Session]:
    """By node and peer, the last of each in the order of the evidence."""
    nodes = _Nodes()
    now: dict[Side, Session] = {}
    for rows, owner in _tables(sessions, exhibits):
        node = owner or nodes.of(frozenset(row.peer for row in rows))
        now |= {(node, row.peer): row for row in rows}
    return now


class _Nodes:
    """Tables of which nothing says where they were asked, told apart by the peers they name.

    No node is its own peer, so that the tables of two nodes of a mesh differ in both directions; a table that names
    only peers of another one is the same node, asked at another time or cut short.
    """

    def __init__(self) -> None:
        self._known: list[frozenset[str]] = []

    def of(self, peers: frozenset[str]) -> str:
        for number, known in enumerate(self._known):
            if peers <= known or known <= peers:
                self._known[number] = known | peers
                return f"?{number}"
        self._known.append(peers)
        return f"?{len(self._known) - 1}"


def _tables(sessions: Iterable[Session], exhibits: list[Exhibit]) -> list[tuple[list[Session], str]]:
    """Rows that one exhibit shows, with who was asked if anything says so."""
    firsts: dict[str, list[tuple[int, Exhibit]]] = {}
    for exhibit in exhibits:
        if exhibit.lines:
            firsts.setdefault(exhibit.source, []).append((exhibit.number(0), exhibit))
    for shown in firsts.values():
        shown.sort(key=lambda item: item[0])
    tables: dict[tuple[str, int, str], list[Session]] = {}
    owners: dict[tuple[str, int, str], str] = {}
    for session in sessions:
        shown = firsts.get(session.place.source, [])
        at = bisect_right(shown, session.place.first, key=lambda item: item[0]) - 1
        asked = _ASKED_IN.search(shown[at][1].command) if at >= 0 else None
        key = (session.place.source, at, session.host)
        tables.setdefault(key, []).append(session)
        owners[key] = asked[1] if asked else session.host
    return [(rows, owners[key]) for key, rows in tables.items()]
