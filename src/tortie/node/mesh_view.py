"""What is known about this node's BGP at one moment, and how it is shown: as status, metrics, a resource. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from tortie.bgp.bird import Observation
from tortie.bgp.cluster import in_order
from tortie.bgp.plan import BGP_PORT, Plan, Refusal, Session
from tortie.bgp.readiness import NotReady, Seen, Situation, complaint, judge
from tortie.health.exposition import Metric, Sample
from tortie.model.errors import TortieError
from tortie.model.network import MAIN_TABLE, Network, Route
from tortie.model.wire import Document

_PEERS_SHOWN: Final = 5
_TYPES: Final = {"mesh": "NodeMesh", "node": "NodePeer", "global": "GlobalPeer"}
# What the API knows; BIRD has a few more words for the same.
_STATES: Final = {"Passive": "Active", "Down": "Idle", "Start": "Idle"}
_API_STATES: Final = frozenset({"Idle", "Connect", "Active", "OpenSent", "OpenConfirm", "Established", "Close"})


class MeshView(NamedTuple):
    plan: Plan
    bird: Observation
    sessions: tuple[Seen, ...]
    routes: int  # learnt by BGP, and in the kernel with a real next hop
    unreachable: tuple[Network, ...]  # learnt, and without one for a while

    @property
    def up(self) -> int:
        return sum(seen.up for seen in self.sessions)

    @property
    def settled(self) -> bool:
        """Nothing is expected to change by itself."""
        status = self.bird.status
        calm = status is not None and not status.recovering and self.bird.trouble is None
        return calm and self.up == len(self.sessions)

    @property
    def half_done(self) -> TortieError | None:
        """What is wrong with a BIRD that runs: it does not do all that it shall."""
        return self.bird.trouble if self.bird.status else None

    @property
    def gist(self) -> object:
        """What two views have in common between which nothing has happened."""
        return self.bird.pid, self.bird.status is None, tuple(seen.up for seen in self.sessions), self.routes

    @property
    def detail(self) -> str:
        """The state of things in a few words; "" when there is nothing to tell."""
        trouble = self.bird.trouble
        if trouble:
            return f"{trouble.what}: {trouble.why}"
        if self.bird.status is None:
            return "just started"
        return "" if self.settled else f"pid {self.bird.pid}, {self.up} of {len(self.sessions)} sessions"

    def concern(self) -> NotReady | None:
        """What is wrong, although the node may be ready."""
        trouble = self.bird.trouble
        if trouble:
            return NotReady(trouble.what, trouble.why, trouble.fix, "this node")
        down = [seen for seen in self.sessions if not seen.up]
        if not down:
            return None
        worst = complaint(max(down, key=lambda seen: seen.down_s))
        peers = ", ".join(seen.session.peer_node or _peer_of(seen) for seen in down[:_PEERS_SHOWN])
        more = f" and {len(down) - _PEERS_SHOWN} more" if len(down) > _PEERS_SHOWN else ""
        return NotReady(f"BGP is not established with {peers}{more}", worst.why, worst.fix, worst.fault)

    def not_ready(self) -> NotReady | None:
        trouble = self.bird.trouble
        if self.bird.status is None:
            what = f"BIRD is not ready: {trouble.what}" if trouble else "BIRD is not ready: it has just been started"
            return NotReady(what, trouble.why if trouble else "", trouble.fix if trouble else "", "this node")
        pool = next((refusal for refusal in self.plan.refusals if refusal.subject == "pool"), None)
        if pool:
            return NotReady(pool.what, pool.why, pool.fix, "the configuration")
        recovering = self.bird.status.recovering
        return judge(Situation(self.sessions, self.bird.age_s, recovering, self.unreachable, self.plan.refusals))


def learnt(routes: Sequence[Route]) -> tuple[int, tuple[Network, ...]]:
    """How many of the kernel's routes come from BIRD and lead somewhere, and which of them lead nowhere.

    A block of this node's own is a blackhole on purpose.
    """
    ours = [route for route in routes if route.protocol == "bird" and route.table == MAIN_TABLE]
    good = {route.destination for route in ours if route.kind == "unicast"}
    return len(good), tuple(sorted({route.destination for route in ours if route.kind == "unreachable"}, key=in_order))


def as_json(view: MeshView) -> dict[str, Any]:
    bird = view.bird
    return {
        "bird": {
            "pid": bird.pid or None,
            "version": bird.status.version if bird.status else None,
            "running": bool(bird.pid),
            "recovering": bool(bird.status and bird.status.recovering),
            "restarts": bird.restarts,
            "reloads": bird.reloads,
            "trouble": _told(bird.trouble) if bird.trouble else None,
        },
        "as": view.plan.as_number,
        "up": view.up,
        "expected": len(view.sessions),
        "sessions": [_session(seen) for seen in view.sessions],
        "routes": view.routes,
        "unreachable": [str(network) for network in view.unreachable],
        "refusals": [_told(each) for each in (*view.plan.refusals, view.half_done) if each],
    }


def _told(trouble: Refusal | TortieError) -> dict[str, str]:
    subject = trouble.subject if isinstance(trouble, Refusal) else "resource"
    return {"subject": subject, "what": trouble.what, "why": trouble.why, "fix": trouble.fix}


def _session(seen: Seen) -> dict[str, Any]:
    session, state = seen.session, seen.state
    told: dict[str, Any] = {
        "name": session.name,
        "kind": session.kind,
        "peer": str(session.peer),
        "port": session.peer_port,
        "peer_node": session.peer_node or None,
        "as": session.peer_as,
        "passive": session.passive,
        "state": state.state if state else "missing",
        "info": state.bgp_state if state else "",
        "since": state.since if state else None,
        "error": state.error if state else "",
    }
    if not seen.up:
        reason = complaint(seen)
        told |= {"why": reason.why, "fault": reason.fault, "fix": reason.fix, "down_s": round(seen.down_s, 1)}
    return told


def _peer_of(seen: Seen) -> str:
    """With its port where that is not BGP's own: one router may have several sessions with this node."""
    peer, port = seen.session.peer, seen.session.peer_port
    if port == BGP_PORT:
        return str(peer)
    return f"[{peer}]:{port}" if peer.version == 6 else f"{peer}:{port}"


def metrics(view: MeshView | None) -> list[Metric]:
    if view is None:
        return []
    up = tuple(
        Sample(int(seen.up), {"peer": _peer_of(seen), "kind": seen.session.kind, "node": seen.session.peer_node})
        for seen in view.sessions
    )
    bird = view.bird
    return [
        Metric(
            "tortie_bgp_session_up", "1 for each BGP session that is established, 0 for one that is not.", "gauge", up
        ),
        _gauge("tortie_bgp_sessions_expected", "BGP sessions that this node shall have.", len(view.sessions)),
        _gauge("tortie_bgp_routes", "Routes learnt by BGP that stand in the kernel with a next hop.", view.routes),
        _gauge("tortie_bgp_routes_unreachable", "Routes learnt by BGP that have no next hop.", len(view.unreachable)),
        _gauge("tortie_bgp_refusals", "Sessions and pools that are asked for and refused.", len(view.plan.refusals)),
        _gauge("tortie_bird_up", "1 while BIRD runs and answers.", int(bird.status is not None)),
        _counter("tortie_bird_restarts_total", "How often BIRD had to be started again.", bird.restarts),
        _counter("tortie_bird_reloads_total", "How often BIRD was given a new configuration.", bird.reloads),
    ]


def _gauge(name: str, help: str, value: float) -> Metric:
    return Metric(name, help, "gauge", (Sample(value),))


def _counter(name: str, help: str, value: float) -> Metric:
    return Metric(name, help, "counter", (Sample(value),))


def node_status(view: MeshView) -> Document:
    """The `status` of this node's CalicoNodeStatus, without its time."""
    status = view.bird.status
    daemon = {"state": "Ready" if status else "NotReady"}
    if status:
        daemon |= {
            "version": status.version,
            "routerID": str(view.plan.router_id),
            "lastBootTime": status.booted,
            "lastReconfigurationTime": status.reconfigured,
        }
    agent = {"birdV4": daemon, "birdV6": dict(daemon)}
    bgp: Document = {}
    for family in (4, 6):
        seen = [each for each in view.sessions if each.session.family == family]
        up = sum(each.up for each in seen)
        bgp[f"numberEstablishedV{family}"] = up
        bgp[f"numberNotEstablishedV{family}"] = len(seen) - up
        if seen:
            bgp[f"peersV{family}"] = [_peer(each.session, each) for each in seen]
    return {"agent": agent, "bgp": bgp}


def _peer(session: Session, seen: Seen) -> Document:
    said = seen.state.bgp_state if seen.state else "Idle"
    state = said if said in _API_STATES else _STATES.get(said, "Idle")
    since = f"{seen.state.since}Z" if seen.state and seen.state.since else ""  # our BIRD lives in UTC
    return {"peerIP": str(session.peer), "type": _TYPES[session.kind], "state": state, "since": since}
