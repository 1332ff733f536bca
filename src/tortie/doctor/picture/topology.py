"""The cluster as evidence shows it: nodes with both of their addresses, and sessions seen from either side."""

from __future__ import annotations

from collections.abc import Mapping

from tortie.doctor.picture.picture import Picture
from tortie.model.tuples import NamedTuple


class Member(NamedTuple):
    """A node, or an address that belongs to none."""

    name: str
    internal: str = ""
    registered: str = ""
    ready: bool | None = None  # Kubernetes' word
    agent: bool | None = None  # the agent's pod is ready
    foreign: bool = False


class Edge(NamedTuple):
    """A session; `one` is where it was asked. An empty `one` is a node that the evidence does not name."""

    one: str
    other: str
    up: bool
    info: str


class Topology(NamedTuple):
    nodes: tuple[Member, ...]
    edges: tuple[Edge, ...]


def topology(picture: Picture) -> Topology:
    internal = picture.internal_ips()
    registered: dict[str, str] = {fact.node: fact.address for fact in picture.registered() if fact.node}
    known = picture.nodes_now()
    agents = {pod.node: pod.all_ready for pod in picture.agents_now() if pod.node and pod.containers is not None}
    names = list(dict.fromkeys([*known, *internal, *agents, *registered]))
    owner = {ip: name for name, ip in internal.items()}
    owner |= {ip: name for name, ip in registered.items()}
    nodes = {
        name: Member(name, internal.get(name, ""), registered.get(name, ""), _ready(known, name), agents.get(name))
        for name in names
    }
    edges: dict[tuple[str, str], Edge] = {}
    for session in picture.sessions():
        one = session.host if session.host in nodes else _by_host(nodes, session.host)
        other = owner.get(session.peer, "")
        if not other:
            other = session.peer
            # Where no InternalIP is shown, or the address was blotted out, nothing says that it is nobody's.
            nodes.setdefault(other, Member(other, foreign=bool(internal) and "x" not in other))
        if session.host and not one:
            one = session.host
            nodes.setdefault(one, Member(one))
        up = session.state == "up"
        key = (min(one, other), max(one, other))
        if key not in edges or not up:
            edges[key] = Edge(one, other, up, session.info or session.state)
    return Topology(tuple(nodes.values()), tuple(edges.values()))


def _ready(known: Mapping[str, object], name: str) -> bool | None:
    status = getattr(known.get(name), "status", "")
    return "NotReady" not in status if status else None


def _by_host(nodes: dict[str, Member], host: str) -> str:
    """A prompt shows the short name of what kubectl calls by its full one, and in another case."""
    low = host.lower()
    return next((name for name in nodes if low and (name.lower() == low or name.lower().startswith(low + "."))), "")
