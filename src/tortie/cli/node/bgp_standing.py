"""How a node stands: what its process, its BIRD and its agent say, put together. Pure."""

from __future__ import annotations

from datetime import datetime
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tortie.bgp.replies import BirdStatus, SessionState
from tortie.cli.node.effects_view import EffectsView
from tortie.model.errors import TortieError
from tortie.model.network import IP, Family

if TYPE_CHECKING:
    from tortie.bgp.plan import SessionKind
    from tortie.bgp.readiness import Seen

# Where a BIRD listens: ours and Calico's; one outside of a container, as Calico looks for it; Debian's own.
SOCKETS: Final = ("/var/run/calico/bird.ctl", "/var/run/bird/bird.ctl", "/run/bird/bird.ctl")

BGP_PORT: Final = 179
_KINDS: Final = ("mesh", "node", "global")
_MISSING: Final = "missing"  # the agent's word for a session that BIRD does not know


class Process(NamedTuple):
    """What makes this machine a node."""

    program: str = ""  # tortie or calico-node; "" when none runs
    pid: int = 0
    hidden: str = ""  # the file that would tell, where this user may not look

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
    denied: bool = False  # there is one, and this user may not use it
    by_agent: bool = False  # the sessions are what the agent saw last, because of the trouble

    @property
    def unknown(self) -> bool:
        """Nothing can be said about its sessions."""
        return self.trouble is not None and not self.by_agent

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
    port: int = BGP_PORT
    peer_node: str = ""
    passive: bool = False
    down_s: float | None = None  # how long it has not been established; None if it was when the agent looked last
    seen: SessionState | None = None  # as the agent saw it last; None if BIRD did not know it

    @property
    def where(self) -> str:
        """The peer's address, with its port where that is not BGP's own."""
        if self.port == BGP_PORT:
            return str(self.peer)
        return f"[{self.peer}]:{self.port}" if self.peer.version == 6 else f"{self.peer}:{self.port}"


class Refused(NamedTuple):
    what: str
    why: str
    fix: str
    subject: str = ""  # session, pool or resource


class Reason(NamedTuple):
    """Why the agent is not ready."""

    name: str  # of what it needs: bgp, address, ...
    what: str
    why: str = ""
    fix: str = ""


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
    not_ready: tuple[Reason, ...] = ()


class Blame(NamedTuple):
    """Why a session is not established, and whose fault that looks like."""

    session: WantedSession
    fault: str
    why: str
    fix: str
    down_s: float | None = None  # None when nobody can tell


class OwnFault(NamedTuple):
    """All sessions are down, and no peer has a reason of its own: then it is rather this node than all of them."""

    fix: str


class NodeStatus(NamedTuple):
    process: Process
    bird: BirdView
    agent: AgentView | None = None
    blames: tuple[Blame, ...] = ()
    own_fault: OwnFault | None = None
    effects: EffectsView | None = None  # says nothing about how the node is

    @property
    def healthy(self) -> bool:
        return self.exit_code == 0

    @property
    def exit_code(self) -> int:
        if not self.process.running:
            return 1
        if not self.without_bgp:
            if self.bird.unknown or self.bird.not_the_nodes:
                return 1
            if self.blames or not all(state.established for state in self.bird.sessions):
                return 3
        return 3 if self.agent and self._is_unwell(self.agent) else 0

    @staticmethod
    def _is_unwell(agent: AgentView) -> bool:
        refused = any(refusal.subject in ("session", "pool") for refusal in agent.refusals)
        return not agent.ready or refused or bool(agent.unreachable)

    @property
    def without_bgp(self) -> bool:
        """Whether that is meant: the node's networking back end is another one, so nobody needs a BIRD."""
        return self.agent is not None and not self.agent.routing

    def wanted(self, state: SessionState) -> WantedSession | None:
        sessions = (self.agent.sessions if self.agent else None) or ()
        return next((wanted for wanted in sessions if wanted.name == state.name), None)

    def reasons(self) -> tuple[Reason, ...]:
        """Why the agent is not ready, as far as neither a session's line nor a refusal says it."""
        if self.agent is None:
            return ()
        peers = {str(blame.session.peer) for blame in self.blames}
        refused = {refusal.what for refusal in self.agent.refusals}

        def is_told(reason: Reason) -> bool:
            words = set(reason.what.replace(",", " ").replace(";", " ").split())
            return not words.isdisjoint(peers) or any(what in reason.what for what in refused)

        return tuple(reason for reason in self.agent.not_ready if not is_told(reason))


def standing(process: Process, bird: BirdView, agent: AgentView | None, now: datetime) -> NodeStatus:
    """BIRD says how its sessions are now; only the agent knows who a peer is, and which side has to call."""
    if agent is None or bird.unknown:
        return NodeStatus(process, bird, agent)
    states = {state.name: state for state in bird.sessions}
    down = [
        (wanted, state)
        for wanted in agent.sessions or ()
        if (state := states.get(wanted.name)) is None or not state.established
    ]
    if not down:
        return NodeStatus(process, bird, agent)
    # Loaded only when something is wrong: it takes longer than all the rest of the command.
    from tortie.bgp.readiness import Situation, complaint, judge

    blames = []
    for wanted, state in down:
        seen, down_s = _seen(wanted, state, now)
        found = complaint(seen)
        blames.append(Blame(wanted, found.fault, found.why, found.fix, down_s))
    everything = [_seen(wanted, states.get(wanted.name), now)[0] for wanted in agent.sessions or ()]
    verdict = judge(Situation(everything, age_s=0.0))
    ours = verdict is not None and verdict.fault == "this node" and all(blame.fault != "this node" for blame in blames)
    return NodeStatus(process, bird, agent, tuple(blames), OwnFault(verdict.fix) if verdict and ours else None)


def _seen(wanted: WantedSession, state: SessionState | None, now: datetime) -> tuple[Seen, float | None]:
    """The session as readiness takes it, and for how long it has been down, if anybody can tell."""
    from tortie.bgp.plan import Session
    from tortie.bgp.readiness import Seen

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
    return Seen(session, state, down_s or 0.0, down_s or 0.0), down_s


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
    reasons = tuple(
        Reason(*(str(each.get(field) or "") for field in Reason._fields)) for each in body.get("not_ready") or ()
    )
    if bgp is None:
        return AgentView(*told, None, routing=routing, not_ready=reasons)
    sessions = tuple(_wanted(each) for each in bgp["sessions"])
    refusals = (Refused(*(str(each.get(field) or "") for field in Refused._fields)) for each in bgp["refusals"])
    return AgentView(*told, sessions, tuple(map(str, bgp["unreachable"])), tuple(refusals), routing, reasons)


def _wanted(body: dict[str, Any]) -> WantedSession:
    kind, down_s = body["kind"], body.get("down_s")
    if kind not in _KINDS:
        raise ValueError(f"not the kind of a session: {kind!r}")
    name, peer, port = str(body["name"]), ip_address(body["peer"]), int(body.get("port") or BGP_PORT)
    state, info, since, error = (str(body.get(field) or "") for field in ("state", "info", "since", "error"))
    shown_port = None if port == BGP_PORT else port
    known = state not in ("", _MISSING)
    return WantedSession(
        name,
        kind,
        peer,
        port,
        str(body.get("peer_node") or ""),
        bool(body.get("passive")),
        None if down_s is None else float(down_s),
        SessionState(name, kind, peer, shown_port, state, info, since, error) if known else None,
    )
