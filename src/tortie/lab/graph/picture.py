"""What a picture of a lab shows: machines, BGP sessions and how they stand. Every renderer works on this value."""

from __future__ import annotations

from typing import Literal, NamedTuple

from tortie.model.measure import plain

Role = Literal["node", "store", "router", "peer"]
SessionState = Literal["up", "one-sided", "down"]
Standing = Literal["ready", "not-ready", "starting", "unknown"]
Overall = Literal["good", "starting", "bad"]

_SEVERITY: dict[SessionState, int] = {"up": 0, "one-sided": 1, "down": 2}


class NodeView(NamedTuple):
    """One machine. `note` says why it is not ready; what a machine that runs no agent is up to, nobody knows."""

    name: str
    address: str
    rack: str
    ready: bool | None
    phase: str
    note: str = ""
    role: Role = "node"

    @property
    def standing(self) -> Standing:
        if self.ready is None:
            return "starting" if self.role == "node" else "unknown"
        return "ready" if self.ready else "not-ready"

    @property
    def reason(self) -> str:
        return self.note or self.phase


class SessionView(NamedTuple):
    """A session between two machines. One that is one-sided is up for `a`, and `b` is the side that misses it."""

    a: str
    b: str
    state: SessionState
    kind: str = "mesh"
    detail: str = ""


class LabView(NamedTuple):
    name: str
    store: str
    nodes: tuple[NodeView, ...]
    sessions: tuple[SessionView, ...]


class Rack(NamedTuple):
    name: str
    nodes: tuple[NodeView, ...]


class Link(NamedTuple):
    """All sessions between the same two machines (IPv4 and IPv6, say), in the state of the worst of them."""

    a: str
    b: str
    state: SessionState
    sessions: tuple[SessionView, ...]

    @property
    def detail(self) -> str:
        return "; ".join(dict.fromkeys(each.detail for each in self.sessions if each.detail and each.state != "up"))


class Counts(NamedTuple):
    nodes: int
    ready: int
    not_ready: int
    starting: int
    sessions: int
    up: int
    one_sided: int
    down: int


def printable(view: LabView) -> LabView:
    """The view with every text on one line and nothing in it that is not seen. Every renderer begins with this."""
    nodes = (
        node._replace(
            name=plain(node.name),
            address=plain(node.address),
            rack=plain(node.rack),
            phase=plain(node.phase),
            note=plain(node.note),
        )
        for node in view.nodes
    )
    sessions = (
        each._replace(a=plain(each.a), b=plain(each.b), kind=plain(each.kind), detail=plain(each.detail))
        for each in view.sessions
    )
    return LabView(plain(view.name), plain(view.store), tuple(nodes), tuple(sessions))


def everyone(view: LabView) -> tuple[NodeView, ...]:
    """The machines, and the speakers outside the lab that only the sessions know of."""
    known = {node.name for node in view.nodes}
    named = (name for session in view.sessions for name in (session.a, session.b))
    outside = dict.fromkeys(name for name in named if name not in known)
    return view.nodes + tuple(NodeView(name, "", "", None, "", role="peer") for name in outside)


def agents(view: LabView) -> tuple[NodeView, ...]:
    return tuple(node for node in view.nodes if node.role == "node")


def others(view: LabView) -> tuple[NodeView, ...]:
    """Stores, routers and speakers outside, in the order in which they were named."""
    return tuple(node for node in everyone(view) if node.role != "node")


def racks(view: LabView) -> tuple[Rack, ...]:
    """The nodes by rack, racks in the order in which they appear. A lab without racks is one rack without a name."""
    found: dict[str, list[NodeView]] = {}
    for node in agents(view):
        found.setdefault(node.rack, []).append(node)
    return tuple(Rack(name, tuple(nodes)) for name, nodes in found.items())


def links(view: LabView) -> tuple[Link, ...]:
    """One link for each pair of machines that shall speak BGP."""
    found: dict[tuple[str, str], list[SessionView]] = {}
    for session in view.sessions:
        a, b = session.a, session.b
        if a != b:
            found.setdefault((a, b) if a < b else (b, a), []).append(session)
    return tuple(_link(sessions) for sessions in found.values())


def _link(sessions: list[SessionView]) -> Link:
    worst = max(sessions, key=lambda each: _SEVERITY[each.state]) if len(sessions) > 1 else sessions[0]
    return Link(worst.a, worst.b, worst.state, tuple(sessions))


def broken(view: LabView) -> tuple[Link, ...]:
    return tuple(link for link in links(view) if link.state != "up")


def is_full_mesh(view: LabView) -> bool:
    """Whether every two nodes shall have a session of the mesh with each other."""
    names = {node.name for node in agents(view)}
    meshed = {
        frozenset((session.a, session.b))
        for session in view.sessions
        if session.kind == "mesh" and session.a != session.b and {session.a, session.b} <= names
    }
    return len(names) > 1 and len(meshed) == len(names) * (len(names) - 1) // 2


def count(view: LabView) -> Counts:
    standing = [node.standing for node in agents(view)]
    state = [session.state for session in view.sessions]
    return Counts(
        nodes=len(standing),
        ready=standing.count("ready"),
        not_ready=standing.count("not-ready"),
        starting=standing.count("starting"),
        sessions=len(state),
        up=state.count("up"),
        one_sided=state.count("one-sided"),
        down=state.count("down"),
    )


def overall(view: LabView) -> Overall:
    """Bad when somebody has a reason not to be ready; a session that is missing is no fault while nodes still start."""
    standing = {node.standing for node in view.nodes}
    if "not-ready" in standing:
        return "bad"
    if "starting" in standing:
        return "starting"
    return "bad" if broken(view) else "good"
