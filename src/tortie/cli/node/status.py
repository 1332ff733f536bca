"""`tortie node status`: whether this node runs, and how its BGP sessions stand, as BIRD itself says it."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from tortie.cli.node.bgp_standing import Blame, NodeStatus, Refused
from tortie.cli.node.effects_view import as_json as effects_json
from tortie.cli.program import as_called
from tortie.model.errors import TortieError, UsageError
from tortie.model.wire import to_json
from tortie.node.paths import Paths

if TYPE_CHECKING:
    from tortie.bgp.replies import SessionState


def status(*, output: str, cluster: bool, everything: bool, root: str, **flags: Any) -> int:
    if output not in ("text", "json"):
        raise UsageError(f"unrecognized output format '{output}'", "there is no such form", "use text or json")
    if cluster:
        from tortie.cli.node.cluster_status import cluster_status

        return cluster_status(output, root, flags, everything=everything)
    if everything:
        raise UsageError("--all is not understood here", "it is about the matrix of a cluster", "add --cluster")
    from tortie.cli.node.looking import look_at_node
    from tortie.cli.node.status_text import as_text

    now = datetime.now(UTC).replace(tzinfo=None)  # as our BIRD has its times
    found = look_at_node(Paths(root), now)
    sys.stdout.write(to_json(as_json(found)) + "\n" if output == "json" else as_called(as_text(found, now)))
    return found.exit_code


def as_json(found: NodeStatus) -> dict[str, Any]:
    agent, bird, process = found.agent, found.bird, found.process
    return {
        "apiVersion": "tortie/v1",
        "kind": "NodeStatus",
        "healthy": found.healthy,
        "process": {
            "running": None if process.hidden else process.running,  # nobody knows
            "program": process.program,
            "pid": process.pid,
        },
        "agent": {
            "node": agent.node,
            "phase": agent.phase,
            "ready": agent.ready,
            "notReady": [each._asdict() for each in agent.not_ready],
            "bgp": agent.routing,
        }
        if agent
        else None,
        "bird": {
            "answers": bird.trouble is None,
            "socket": bird.socket,
            "status": {**bird.status._asdict(), "router_id": str(bird.status.router_id)} if bird.status else None,
            "otherSessions": list(bird.strangers),
            "error": _told(bird.trouble) if bird.trouble else None,
            "sessionsFrom": None if bird.unknown else "agent" if bird.by_agent else "bird",
        },
        "ipv4": [_session(found, state) for state in bird.family(4)],
        "ipv6": [_session(found, state) for state in bird.family(6)],
        "notEstablished": [_blame(blame) for blame in found.blames],
        "ownFault": found.own_fault._asdict() if found.own_fault else None,
        "unreachable": list(agent.unreachable) if agent else [],
        "refusals": [{**_told(each), "subject": each.subject} for each in agent.refusals] if agent else [],
        "withoutEffect": effects_json(found.effects),
    }


def _told(trouble: TortieError | Refused) -> dict[str, str]:
    return {"what": trouble.what, "why": trouble.why, "fix": trouble.fix}


def _session(found: NodeStatus, state: SessionState) -> dict[str, Any]:
    wanted = found.wanted(state)
    return {
        "name": state.name,
        "type": state.kind,
        "peer": str(state.peer) if state.peer else None,
        "port": state.port,
        "node": wanted.peer_node if wanted else "",
        "state": state.state,
        "bgpState": state.bgp_state,
        "established": state.established,
        "since": state.since,
        "error": state.error,
    }


def _blame(blame: Blame) -> dict[str, Any]:
    return {
        "name": blame.session.name,
        "peer": str(blame.session.peer),
        "port": blame.session.port,
        "node": blame.session.peer_node,
        "fault": blame.fault,
        "why": blame.why,
        "fix": blame.fix,
        "seconds": None if blame.down_s is None else round(blame.down_s, 1),
    }
