"""Which nodes hear of which nodes' routes, by sessions inside of one AS and the cluster ids of reflectors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import combinations

Pair = tuple[str, str]


class Topology:
    """Sessions between nodes. A node without a cluster id passes nothing on that it learnt from another node."""

    def __init__(self, sessions: Iterable[Pair], ids: Mapping[str, str]) -> None:
        self.ids = ids
        self.neighbours: dict[str, set[str]] = {name: set() for name in ids}
        for one, other in sessions:
            self.neighbours[one].add(other)
            self.neighbours[other].add(one)

    def is_client(self, node: str, reflector: str) -> bool:
        """Calico makes every peer a client that is not of the reflector's own cluster."""
        return bool(self.ids[reflector]) and self.ids[node] != self.ids[reflector]

    def heard_by(self, origin: str) -> set[str]:
        """Nodes that a route of this one may come to, by any way."""
        first = [(node, origin, frozenset[str]()) for node in self.neighbours[origin]]
        seen: set[tuple[str, bool, frozenset[str]]] = set()
        while first:
            node, sender, clusters = first.pop()
            own = self.ids[node]
            state = (node, self.is_client(sender, node), clusters)
            if node == origin or state in seen or (own and own in clusters):
                continue  # a reflector drops what has been in its own cluster
            seen.add(state)
            if own:
                passed = clusters | {own}
                first += [(to, node, passed) for to in self.neighbours[node] if state[1] or self.is_client(to, node)]
        return {node for node, _, _ in seen}

    def gaps(self) -> list[Pair]:
        """Nodes of which one does not hear of the other."""
        heard = {name: self.heard_by(name) for name in self.ids}
        return [
            (one, other)
            for one, other in combinations(self.ids, 2)
            if other not in heard[one] or one not in heard[other]
        ]  # fmt: skip
