"""How a node stands: what its process, its BIRD and its agent say, put together. Pure."""

from __future__ import annotations

from datetime import datetime
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tortie.model.errors import TortieError
from tortie.model.network import IP, Family

if TYPE_CHECKING:
    from tortie.bgp.plan import SessionKind
    from tortie.bgp.replies import BirdStatus, SessionState

# Where a BIRD listens: ours and Calico's; one outside of a container, as Calico looks for it; Debian's own.
SOCKETS: Final = ("/var/run/calico/bird.ctl", "/var/run/bird/bird.ctl", "/run/bird/bird.ctl")

_KINDS: Final = ("mesh", "node", "global")


class Process(NamedTuple):
    """What makes this machine a node."""

    program: str = ""  # tortie or calico-node; "" when none runs
    pid: int = 0

    @property
    def running(self) -> bool:
        return bool(self.program)


class BirdView(NamedTuple):
    """What BIRD says on its control socket."""

    socket: str  # the one that was asked
    status: BirdStatus | None = None
    sessions: tuple[SessionState, ...] = ()  # those that a node makes
    strangers: tuple[str, ...] = ()  # names of other sessions, which have nothing to do with a node
    trouble: TortieError | None = None  # why nothing is known
    absent: bool = False  # there is not even a socket

    @property
    def not_the_nodes(self) -> bool:
        """It is not where a node keeps its BIRD and has no session of a node: the machine runs one for itself."""
        return self.trouble is None and not self.sessions and not self.socket.endswith(SOCKETS[0])

    def family(self, family: Family) -> tuple[SessionState, ...]:
        """What has a name that is no address is shown with IPv4, rather than nowhere."""
        return tuple(state for state in self.sessions if (state.peer.version if state.peer else 4) == family)


class WantedSession(NamedTuple):
    """A session that the agent has decided on."""

    name: str
    kind: SessionKind
    peer: IP
    port: int = 179
    peer_node: str = ""
    passive: bool = False
    down_s: float | None = None  # how long it has not been established; None if it was when the agent looked last


class Refused(NamedTuple):
    what: str
    why: str
    fix: str
    subject: str = ""  # session, pool or resource


class AgentView(NamedTuple):
    """What the agent says about itself."""

    node: str
    pid: int
    phase: str
    ready: bool
    sessions: tuple[WantedSession, ...] | None  # None as long as they have not been decided
    unreachable: tuple[str, ...] = ()  # networks that BGP has brought and this kernel has no way to
    refusals: tuple[Refused, ...] = ()
    routing: bool = True  # whether it takes part in BGP at all, with BIRD


class Blame(NamedTuple):
    """Why a session is not established, and whose fault that looks like."""

    session: WantedSession
    fault: str
    why: str
    fix: str
    down_s: float | None = None  # None when nobody can tell


class NodeStatus(NamedTuple):
    process: Process
    bird: BirdView
    agent: AgentView | None = None
    blames: tuple[Blame, ...] = ()

    @property
    def healthy(self) -> bool:
        return self.exit_code == 0

    @property
    def exit_code(self) -> int:
        if not self.process.running:
            return 1
        if self.without_bgp:
            return 0
        if self.bird.trouble or self.bird.not_the_nodes:
            return 1
        wrong = bool(self.blames) or not all(state.established for state in self.bird.sessions)
        if self.agent:
            wrong = wrong or bool(self.agent.unreachable)
            wrong = wrong or any(refused.subject == "session" for refused in self.agent.refusals)
        return 3 if wrong else 0

    @property
    def without_bgp(self) -> bool:
        """Whether that is meant: the node's networking back end is another one, so nobody needs a BIRD."""
        return self.agent is not None and not self.agent.routing

    def wanted(self, state: SessionState) -> WantedSession | None:
        sessions = (self.agent.sessions if self.agent else None) or ()
        return next((wanted for wanted in sessions if wanted.name == state.name), None)


def blames(agent: AgentView, bird: BirdView, now: datetime) -> tuple[Blame, ...]:
    """BIRD says how its sessions are now; only the agent knows who a peer is, and which side has to call."""
    states = {state.name: state for state in bird.sessions}
    return tuple(
        _blame(wanted, state, now)
        for wanted in agent.sessions or ()
        if (state := states.get(wanted.name)) is None or not state.established
    )


def _blame(wanted: WantedSession, state: SessionState | None, now: datetime) -> Blame:
    # Loaded only when something is wrong: it takes longer than all the rest of the command.
    from tortie.bgp.plan import Session
    from tortie.bgp.readiness import Seen, complaint

    down_s = wanted.down_s if wanted.down_s is not None or state is None else seconds_since(state.since, now)
    session = Session(
        wanted.name,
        wanted.kind,
        wanted.peer,
        peer_as=0,
        local_as=0,
        peer_node=wanted.peer_node,
        peer_port=wanted.port,
        passive=wanted.passive,
    )
    found = complaint(Seen(session, state, down_s or 0.0, down_s or 0.0))
    return Blame(wanted, found.fault, found.why, found.fix, down_s)


def seconds_since(since: str, now: datetime) -> float | None:
    """Of a full time, as our configuration makes BIRD tell it by this machine's clock; None for any other."""
    try:
        return max(0.0, (now - datetime.fromisoformat(since)).total_seconds()) if "T" in since else None
    except (ValueError, TypeError):
        return None


def parsed_agent(body: object) -> AgentView:
    """The agent's own status. Raises ValueError for what is none; fields of a newer agent are passed over."""
    try:
        return _parsed_agent(body)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"not the status of an agent: {error!r}") from None


def _parsed_agent(body: object) -> AgentView:
    if not isinstance(body, dict):
        raise TypeError("no object")
    told = (str(body["node"]), int(body["pid"]), str(body["phase"]), bool(body["ready"]))
    bgp = body["bgp"]
    routing = bool(body.get("routing", True))
    if bgp is None:
        return AgentView(*told, None, routing=routing)
    sessions = tuple(_wanted(each) for each in bgp["sessions"])
    refusals = (Refused(*(str(each.get(field) or "") for field in Refused._fields)) for each in bgp["refusals"])
    return AgentView(*told, sessions, tuple(map(str, bgp["unreachable"])), tuple(refusals), routing)


def _wanted(body: dict[str, Any]) -> WantedSession:
    kind, down_s = body["kind"], body.get("down_s")
    if kind not in _KINDS:
        raise ValueError(f"not the kind of a session: {kind!r}")
    return WantedSession(
        str(body["name"]),
        kind,
        ip_address(body["peer"]),
        int(body.get("port") or 179),
        str(body.get("peer_node") or ""),
        bool(body.get("passive")),
        None if down_s is None else float(down_s),
    )
