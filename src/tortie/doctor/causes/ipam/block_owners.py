"""Blocks that two nodes claim: two affinities of one block, as a list of them shows it, and where routes lead then."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tortie.doctor.causes.underlay.traffic_evidence import rows
from tortie.doctor.picture.addresses import inside
from tortie.doctor.picture.facts import Route
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Place
from tortie.model.tuples import NamedTuple

_AFFINITY = r"^(?P<name>(?P<node>[a-z0-9][a-z0-9.-]*?)-(?P<block>\d{1,3}-\d{1,3}-\d{1,3}-\d{1,3}-\d{2}))(?:\s|$)"

_KEY = (
    r"(?P<name>/calico/ipam/v2/host/(?P<node>[^/\s]+)/ipv4/block/(?P<block>\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}-\d{2}))"
    r"(?:\s|$)"
)


class Claim(NamedTuple):
    """One node's affinity for a block."""

    node: str
    name: str  # of the resource, or its key in etcd
    place: Place


class Contest(NamedTuple):
    """A block and the two or more nodes that claim it."""

    block: str  # 10.0.0.64/26
    claims: tuple[Claim, ...]
    routes: tuple[Route, ...]  # the block's, on one node and another: they lead to different ones
    holder: str  # the node that the block itself names, else the only one with pods in it

    @property
    def others(self) -> list[Claim]:
        return [claim for claim in self.claims if self.holder and claim.node != self.holder]


def contests(picture: Picture) -> Iterator[Contest]:
    for block, nodes in _claims(picture).items():
        if len(nodes) > 1:
            routes = [route for route in picture.of(Route) if route.destination == block]
            yield Contest(block, tuple(nodes.values()), tuple(_apart(routes)), _holder(picture, block, nodes))


def _claims(picture: Picture) -> dict[str, dict[str, Claim]]:
    """By block and node."""
    claims: dict[str, dict[str, Claim]] = {}
    listed = [row for row in rows(picture, _AFFINITY, needle="-") if "affinit" in row.command or not row.command]
    for row in [*listed, *rows(picture, _KEY, needle="/calico/ipam/v2/host/")]:
        *octets, length = row["block"].replace("-", ".").split(".")
        claim = Claim(row["node"], row["name"], row.place)
        claims.setdefault(f"{'.'.join(octets)}/{length}", {})[row["node"]] = claim
    for route in picture.of(Route):
        # Who drops what none of its pods has takes the block for its own.
        nodes = claims.get(route.destination, {})
        if route.kind == "blackhole" and route.host and nodes and not _node(route.host, nodes):
            nodes[route.host] = Claim(route.host, "", route.place)
    return claims


def _holder(picture: Picture, block: str, nodes: dict[str, Claim]) -> str:
    written = rows(
        picture, rf'"cidr" ?: ?"{re.escape(block)}".{{0,200}}?"affinity" ?: ?"host:(?P<node>[^"]+)"', needle=block
    )
    if row := next(written, None):
        return _node(row["node"], nodes)
    pods = {
        _node(route.host, nodes)
        for route in picture.of(Route)
        if route.device.startswith("cali") and inside(route.destination.removesuffix("/32"), block)
    }
    pods |= {_node(pod.node, nodes) for pod in picture.pods_now() if pod.ip and inside(pod.ip, block)}
    pods.discard("")
    return pods.pop() if len(pods) == 1 else ""


def _node(host: str, nodes: dict[str, Claim]) -> str:
    return next((node for node in nodes if host and node.split(".")[0] == host.split(".")[0]), "")


def _apart(routes: list[Route]) -> list[Route]:
    """Two that lead to different nodes."""
    ways = {route.via: route for route in routes if route.via}
    return list(ways.values())[:2] if len(ways) > 1 else []
