"""Is a node ready as far as BGP is concerned, and if not, whose fault does it look like? Pure.

Calico asks for all sessions while the node is young, and for one of them later. One of a hundred is no mesh, so here a
node that has lost more than half of its sessions is not ready either. A young node waits for each peer once: a peer
that was there and died is not its fault. And sessions that were wanted only a moment ago do not count against a node
that is older: a cluster that grows must not make its nodes flap.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, Literal, NamedTuple

from tortie.bgp.plan import Refusal, Session
from tortie.bgp.replies import SessionState
from tortie.model.network import Network
from tortie.model.spans import span

# Calico's threshold: so long a young node waits for all of its peers.
SETTLE_S: Final = 30.0
# A route whose next hop is being resolved is not yet a route without one.
NEXT_HOP_S: Final = 5.0
_REASONS_SHOWN: Final = 3
_PEERS_SHOWN: Final = 20

Fault = Literal["this node", "a peer", "the configuration", "the network"]


class Seen(NamedTuple):
    """A session that is wanted, and what BIRD says about it; None if BIRD does not know it."""

    session: Session
    state: SessionState | None
    wanted_s: float  # how long it has been wanted
    down_s: float  # how long it has not been established
    been_up: bool = False  # it has been established before, with this BIRD

    @property
    def up(self) -> bool:
        return self.state is not None and self.state.bgp_state == "Established"


class Complaint(NamedTuple):
    """Why one session is not established."""

    seen: Seen
    why: str
    fault: Fault
    fix: str


class NotReady(NamedTuple):
    what: str
    why: str
    fix: str
    fault: Fault


class Situation(NamedTuple):
    sessions: Sequence[Seen]
    age_s: float  # of this BIRD
    recovering: bool = False  # BIRD holds routes of before its restart until all peers have told theirs
    unreachable: Sequence[Network] = ()  # learnt, and for longer than NEXT_HOP_S without a next hop
    refusals: Sequence[Refusal] = ()


def judge(situation: Situation) -> NotReady | None:
    """None when the node is ready."""
    down = [seen for seen in situation.sessions if not seen.up]
    up = len(situation.sessions) - len(down)
    if not situation.sessions:
        return _without_sessions(situation.refusals)
    young = situation.age_s <= SETTLE_S
    lost = [seen for seen in down if seen.been_up or seen.wanted_s > SETTLE_S]
    if young and any(not seen.been_up for seen in down):
        return _not_established(down, up)
    if lost and (up == 0 or up < len(lost)):
        return _not_established(lost, up)
    if situation.unreachable:
        return _unreachable(situation.unreachable)
    if situation.recovering and not down:
        return NotReady(
            "BIRD is not ready: graceful restart in progress",
            "all sessions are back, and not all peers have told all their routes yet",
            "wait: it ends by itself within seconds",
            "a peer",
        )
    return None


def _without_sessions(refusals: Sequence[Refusal]) -> NotReady | None:
    """A node without peers is ready, unless it was to have some."""
    refused = [refusal for refusal in refusals if refusal.subject == "session"]
    if not refused:
        return None
    first = refused[0]
    more = f" (and {len(refused) - 1} more)" if len(refused) > 1 else ""
    what = f"BIRD is not ready: no BGP session is left: {first.what}{more}"
    return NotReady(what, first.why, first.fix, "the configuration")


def _unreachable(networks: Sequence[Network]) -> NotReady:
    listed = _listed([str(network) for network in networks])
    return NotReady(
        f"BIRD is not ready: no next hop for {listed}",
        "the sessions are established, but this kernel has no way to the nodes that announce these networks",
        "look at `ip route get <address of that node>`; a node's address must be on a network that this one reaches",
        "the network",
    )


def _not_established(down: Sequence[Seen], up: int) -> NotReady:
    complaints = [complaint(seen) for seen in down]
    what = "; ".join(
        f"{name} is not ready: BGP not established with {_listed(peers)}"
        for name, family in (("BIRD", 4), ("BIRD6", 6))
        if (peers := [str(seen.session.peer) for seen in down if seen.session.family == family])
    )
    reasons = list(dict.fromkeys(_reason(each) for each in complaints))
    more = f"; and {len(reasons) - _REASONS_SHOWN} more" if len(reasons) > _REASONS_SHOWN else ""
    why = "; ".join(reasons[:_REASONS_SHOWN]) + more
    fault = _whose(complaints, up)
    if fault == "this node" and len(down) > 1 and not any(each.fault == fault for each in complaints):
        why += "; all of its sessions are down, so it is rather this node than its peers"
        fix = "compare this node's registered address with what its peers reach: `tortie node explain`"
        return NotReady(what, why, fix, fault)
    return NotReady(what, why, next(each.fix for each in complaints if each.fault == fault), fault)


def _whose(complaints: Sequence[Complaint], up: int) -> Fault:
    """What most complaints say. When all is down and nobody is to blame for a reason of his own, it is this node."""
    faults = [each.fault for each in complaints]
    most = max(dict.fromkeys(faults), key=faults.count)
    unclear = all(each.fault in ("the network", "a peer") and not _certain(each) for each in complaints)
    return "this node" if up == 0 and len(complaints) > 1 and unclear else most


def _certain(each: Complaint) -> bool:
    return each.seen.state is not None and "refused" in each.seen.state.error


def _reason(each: Complaint) -> str:
    session = each.seen.session
    who = f"{session.peer} ({session.peer_node})" if session.peer_node else str(session.peer)
    return f"{who} for {span(round(each.seen.down_s))}: {each.why}"


def _listed(texts: Sequence[str]) -> str:
    shown = ",".join(texts[:_PEERS_SHOWN])
    return shown if len(texts) <= _PEERS_SHOWN else f"{shown} and {len(texts) - _PEERS_SHOWN} more"


# What BIRD or the kernel says about a session, and what that means. A neighbour may be a router of somebody else's,
# which has neither BIRD nor tortie: {daemon} and {look} are put in for the one or the other.
_MEANINGS: Final[tuple[tuple[str, str, Fault, str], ...]] = (
    (
        "no listening socket",
        "this node's BGP port is another program's",
        "this node",
        "find it: `ss -ltnp 'sport = :179'`; the session is tried again by itself",
    ),
    (
        "connection refused",
        "nothing listens there on the BGP port, so {daemon} does not run",
        "a peer",
        "look at the other side: {look}",
    ),
    (
        "no route to host",
        "this machine cannot reach it",
        "the network",
        "ping it from here; is it up, is its address right, does a firewall reject the BGP port?",
    ),
    ("host is unreachable", "this machine cannot reach it", "the network", "ping it from here; is it up?"),
    (
        "network is unreachable",
        "this machine has no route to it",
        "this node",
        "look at `ip route`: is there a way to that address?",
    ),
    (
        "timed out",
        "no answer at all: it is down, or packets to its BGP port are dropped",
        "the network",
        "ping it; if that works, look for a firewall that drops TCP port 179",
    ),
    (
        "bad peer as",
        "the two sides disagree about an AS number",
        "the configuration",
        "compare `tortie get nodes -o wide` and the BGPPeer with what the other side says it is",
    ),
    (
        "administrative shutdown",
        "the other side was shut down on purpose",
        "a peer",
        "look at the other side: {look}",
    ),
    (
        "hold timer expired",
        "the other side fell silent",
        "a peer",
        "is it up, overloaded or cut off? ping it, then {look}",
    ),
    ("connection reset", "the other side closed the connection", "a peer", "look at the log of the other side"),
    ("connection closed", "the other side closed the connection", "a peer", "look at the log of the other side"),
    (
        "md5",
        "the passwords of the two sides differ",
        "the configuration",
        "compare the secrets that both sides use",
    ),
    (
        "cannot assign requested address",
        "this machine has no longer the address it speaks from",
        "this node",
        "look at `ip addr`: the registered address has to be on an interface",
    ),
)


def complaint(seen: Seen) -> Complaint:
    session, state = seen.session, seen.state
    if state is None:
        return Complaint(seen, "BIRD does not know it yet", "this node", "wait a moment: it is told again by itself")
    error = state.error.lower()
    daemon = f"the BIRD of {session.peer_node}" if session.peer_node else "its BGP daemon"
    there = f"`tortie node status` on {session.peer_node}" if session.peer_node else f"what {session.peer} says of it"
    for said, why, fault, fix in _MEANINGS:
        if said in error:
            why, fix = why.format(daemon=daemon), fix.format(look=there)
            return Complaint(seen, f"{state.error}: {why}", fault, fix)
    if state.state == "down" and not state.error:
        why = "it is disabled in this node's BIRD; somebody has done that, with birdc"
        return Complaint(seen, why, "this node", "wait a moment: it is enabled again by itself")
    look = f"look at the other side: {there}"
    if state.error:
        return Complaint(seen, f"{state.bgp_state}, {state.error}", "a peer", look)
    if session.passive:
        why = "this side waits to be called, as the side with the smaller address does, and nobody calls"
        return Complaint(seen, why, "a peer", look)
    if state.bgp_state in ("OpenSent", "OpenConfirm"):
        return Complaint(seen, f"{state.bgp_state}: connected, and the other side has not answered yet", "a peer", look)
    why = f"{state.bgp_state}: no answer yet; it is down, or packets to its port {session.peer_port} are dropped"
    fix = f"ping it; if that works, look for a firewall that drops TCP port {session.peer_port}"
    return Complaint(seen, why, "the network", fix)


def complaints(sessions: Iterable[Seen]) -> tuple[Complaint, ...]:
    return tuple(complaint(seen) for seen in sessions if not seen.up)
