"""Blocks that two nodes claim: two affinities of one block, as a list of them shows it, and where routes lead then."""

from __future__ import annotations

from collections.abc import Iterator

from tortie.doctor.causes.underlay.traffic_evidence import rows
from tortie.doctor.picture.facts import Route
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Place
from tortie.model.tuples import NamedTuple

_AFFINITY = r"^(?P<name>(?P<node>[a-z0-9][a-z0-9.-]*?)-(?P<block>\d{1,3}-\d{1,3}-\d{1,3}-\d{1,3}-\d{2}))(?:\s|$)"


class Claim(NamedTuple):
    """One node's affinity for a block."""

    node: str
    name: str  # of the resource
    place: Place


class Contest(NamedTuple):
    """A block and the two or more nodes that claim it."""

    block: str  # 10.0.0.64/26
    claims: tuple[Claim, ...]
    routes: tuple[Route, ...]  # the block's, on one node and another: they lead to different ones
    holder: str  # the node that has the block in use: it drops what none of its pods has

    @property
    def others(self) -> list[Claim]:
        return [claim for claim in self.claims if self.holder and claim.node != self.holder]


def contests(picture: Picture) -> Iterator[Contest]:
    claims: dict[str, dict[str, Claim]] = {}
    for row in rows(picture, _AFFINITY, needle="-"):
        if "affinit" in row.command or not row.command:
            *octets, length = row["block"].split("-")
            claims.setdefault(f"{'.'.join(octets)}/{length}", {})[row["node"]] = Claim(
                row["node"], row["name"], row.place
            )
    for block, nodes in claims.items():
        if len(nodes) > 1:
            routes = [route for route in picture.of(Route) if route.destination == block]
            holder = next((_node(route.host, nodes) for route in routes if route.kind == "blackhole"), "")
            yield Contest(block, tuple(nodes.values()), tuple(_apart(routes)), holder)


def _node(host: str, nodes: dict[str, Claim]) -> str:
    return next((node for node in nodes if host and node.split(".")[0] == host.split(".")[0]), "")


def _apart(routes: list[Route]) -> list[Route]:
    """Two that lead to different nodes."""
    ways = {route.via: route for route in routes if route.via}
    return list(ways.values())[:2] if len(ways) > 1 else []
