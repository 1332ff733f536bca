"""How a lab is, from what its keeper knows about processes and what its agents say about themselves. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from tortie.lab.graph.picture import LabView, NodeView, SessionState, SessionView

# What an agent calls them itself comes from the agent; these are for those that say nothing.
STOPPED: Final = "stopped"
STARTING: Final = "starting"
SILENT: Final = "silent"  # it runs, and does not answer
_SILENT_AFTER_S: Final = 3.0
_BGP_PORT: Final = 179


class Reason(NamedTuple):
    """Why a node is not ready."""

    what: str
    why: str = ""
    fix: str = ""
    fault: str = ""
    since_s: float | None = None


class NodeStatus(NamedTuple):
    name: str
    address: str
    rack: str
    phase: str
    ready: bool
    up: int
    expected: int
    routes: int
    age_s: float
    pid: int
    reasons: tuple[Reason, ...] = ()
    exit_code: int | None = None  # of an agent that has ended
    signal: int | None = None  # by which it was ended
    sessions: tuple[dict[str, Any], ...] = ()
    pods: int = 0

    def as_json(self) -> dict[str, Any]:
        ended = {"exit_code": self.exit_code, "signal": self.signal} if self.phase == STOPPED and self.pid else None
        return {
            "name": self.name,
            "address": self.address,
            "rack": self.rack,
            "phase": self.phase,
            "ready": self.ready,
            "sessions": {"up": self.up, "expected": self.expected},
            "routes": self.routes,
            "pods": self.pods,
            "age_s": round(self.age_s, 1),
            "pid": self.pid if self.phase != STOPPED else None,
            "ended": ended,
            "not_ready": [reason._asdict() for reason in self.reasons],
        }


class OtherStatus(NamedTuple):
    """A machine without an agent: a member of the store, or the router."""

    name: str
    role: str
    address: str
    runs: bool | None  # None: it has nothing to run
    pid: int = 0
    exit_code: int | None = None
    signal: int | None = None

    def as_json(self) -> dict[str, Any]:
        return self._asdict()


class Pair(NamedTuple):
    """A session as both ends see it; `b` may be somebody outside of the lab."""

    a: str
    b: str
    state: SessionState
    kind: str
    detail: str = ""


class LabStatus(NamedTuple):
    name: str
    store: str
    age_s: float
    nodes: tuple[NodeStatus, ...]
    others: tuple[OtherStatus, ...]
    pairs: tuple[Pair, ...]

    @property
    def ready(self) -> bool:
        """A lab without nodes is one that is still being built."""
        machines_run = all(other.runs is not False for other in self.others)
        return bool(self.nodes) and all(node.ready for node in self.nodes) and machines_run

    @property
    def sessions_up(self) -> int:
        return sum(pair.state == "up" for pair in self.pairs)

    @property
    def missing(self) -> tuple[Pair, ...]:
        """Sessions that are not established."""
        return tuple(pair for pair in self.pairs if pair.state != "up")

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "store": self.store,
            "ready": self.ready,
            "age_s": round(self.age_s, 1),
            "nodes": [node.as_json() for node in self.nodes],
            "machines": [other.as_json() for other in self.others],
            "sessions": {"up": self.sessions_up, "expected": len(self.pairs)},
        }


def lab_status(told: Mapping[str, Any], answers: Mapping[str, Mapping[str, Any] | None]) -> LabStatus:
    """`told` by the keeper; `answers` of the agents, by node."""
    machines = told["machines"]
    nodes = tuple(_node(machine, answers.get(machine["name"])) for machine in machines if machine["role"] == "node")
    others = tuple(_other(machine) for machine in machines if machine["role"] != "node")
    names = {address: machine["name"] for machine in machines for address in machine["addresses"]}
    return LabStatus(told["name"], told["store"], told["age_s"], nodes, others, tuple(_pairs(nodes, names)))


def _node(machine: Mapping[str, Any], answer: Mapping[str, Any] | None) -> NodeStatus:
    process = machine["process"] or {}
    running = bool(process.get("running"))
    status = NodeStatus(
        machine["name"], machine["address"], machine["rack"], STOPPED, False, 0, 0, 0, 0.0, process.get("pid", 0)
    )._replace(pods=int(machine.get("pods", 0)))
    if not running:
        code, last_words = process.get("exit_code"), process.get("last_words")
        reasons = (Reason(f"the agent ended with exit code {code}", last_words),) if code and last_words else ()
        if _has_kubelet(machine):  # which starts it, now or again
            return status._replace(phase=STARTING, reasons=reasons, pid=0)
        return status._replace(exit_code=code, signal=process.get("signal"), reasons=reasons)
    if answer is None:
        age_s = process.get("age_s", 0.0)
        return status._replace(phase=STARTING if age_s < _SILENT_AFTER_S else SILENT, age_s=age_s)
    if answer.get("ready") and machine.get("pod_ready") is False:
        reason = Reason("its pod is not ready", "the kubelet has not found it so yet", since_s=None)
        answer = {**answer, "ready": False, "not_ready": [reason._asdict()]}
    bgp = answer.get("bgp") or {}
    registered = [str(address).partition("/")[0] for address in answer.get("addresses") or ()]
    return status._replace(
        # As its peers know it, which is not always the one that the lab gave it.
        address=registered[0] if registered else machine["address"],
        phase=str(answer.get("phase", "")),
        ready=bool(answer.get("ready")),
        up=int(bgp.get("up", 0)),
        expected=int(bgp.get("expected", 0)),
        routes=int(bgp.get("routes", 0)),
        age_s=float(answer.get("age_s", process.get("age_s", 0.0))),
        reasons=tuple(_reason(each) for each in answer.get("not_ready") or ()),
        sessions=tuple(bgp.get("sessions") or ()),
    )


def _has_kubelet(machine: Mapping[str, Any]) -> bool:
    return bool(machine.get("units", {}).get("kubelet", {}).get("running"))


def _reason(told: Mapping[str, Any]) -> Reason:
    what, why, fix, fault = (str(told.get(name) or "") for name in ("what", "why", "fix", "fault"))
    since = told.get("since_s")
    return Reason(what, why, fix, fault, None if since is None else float(since))


def _other(machine: Mapping[str, Any]) -> OtherStatus:
    process = machine["process"]
    status = OtherStatus(machine["name"], machine["role"], machine["address"], None)
    if not process:
        return status._replace(runs=False if machine["has_work"] else None)
    return status._replace(
        runs=process["running"],
        pid=process["pid"],
        exit_code=process.get("exit_code"),
        signal=process.get("signal"),
    )


def _pairs(nodes: tuple[NodeStatus, ...], names: Mapping[str, str]) -> list[Pair]:
    """Both ends of a session are one pair. What only one end knows of is not up, unless the other has no agent."""
    agents = {node.name for node in nodes}
    ends: dict[tuple[str, str, str, int], dict[str, Mapping[str, Any]]] = {}
    for node in nodes:
        for session in node.sessions:
            address = str(session.get("peer", ""))
            peer = str(session.get("peer_node") or names.get(address) or address)
            family = "6" if ":" in address else "4"
            # Two agents have one session, and each knows the other's port only. Elsewhere every port is somebody else.
            port = _BGP_PORT if peer in agents else int(session.get("port") or _BGP_PORT)
            if port != _BGP_PORT and peer == address:
                peer = f"[{address}]:{port}" if family == "6" else f"{address}:{port}"
            first, second = sorted((node.name, peer))
            ends.setdefault((first, second, family, port), {})[node.name] = session
    return [_pair(first, second, seen, agents) for (first, second, _, _), seen in ends.items()]


def _pair(first: str, second: str, seen: Mapping[str, Mapping[str, Any]], agents: set[str]) -> Pair:
    up = {name for name, session in seen.items() if session.get("state") == "up"}
    down = [session for name, session in seen.items() if name not in up]
    # Short enough to stand on a line of a picture: everybody knows that BGP speaks through a socket.
    details = (str(session.get("error") or session.get("info") or "").removeprefix("Socket: ") for session in down)
    detail = "; ".join(dict.fromkeys(details))
    kind = str(next(iter(seen.values())).get("kind", "mesh"))
    speakers = [name for name in (first, second) if name in agents]
    if up and all(name in up for name in speakers):
        return Pair(first, second, "up", kind)
    if not up:
        return Pair(first, second, "down", kind, detail)
    a = next(iter(up))
    return Pair(a, second if a == first else first, "one-sided", kind, detail)


def lab_view(status: LabStatus) -> LabView:
    """The same for a picture."""
    nodes = [
        NodeView(
            node.name,
            node.address,
            node.rack,
            None if node.phase == STARTING else node.ready,
            node.phase,
            node.reasons[0].what if node.reasons else "",
        )
        for node in status.nodes
    ]
    others = [
        NodeView(other.name, other.address, "", other.runs, "", role="store" if other.role == "store" else "router")
        for other in status.others
    ]
    sessions = tuple(SessionView(*pair) for pair in status.pairs)
    return LabView(status.name, status.store, (*nodes, *others), sessions)
