"""The status of a node as calicoctl prints it, with what the agent knows below it. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final

from tortie.cli.node.bgp_standing import Blame, NodeStatus, Reason
from tortie.cli.node.effects_view import as_lines
from tortie.model.errors import TortieError
from tortie.model.network import Family
from tortie.model.spans import span

if TYPE_CHECKING:
    from tortie.bgp.replies import SessionState

HEADINGS: Final = ("PEER ADDRESS", "PEER TYPE", "STATE", "SINCE", "INFO")
TYPES: Final = {"mesh": "node-to-node mesh", "node": "node specific", "global": "global"}
FAMILIES: Final[tuple[Family, ...]] = (4, 6)
_LINES_SHOWN: Final = 10
_FAULTS: Final = {"a peer": "the peer", "the network": "the network in between"}


def as_text(found: NodeStatus, now: datetime) -> str:
    bird = found.bird
    lines = [f"Calico process is {'running' if found.process.running else 'not running'}."]
    if found.process.hidden:
        lines = [
            "Whether the Calico process runs cannot be seen.",
            f"  why: {found.process.hidden}: permission denied",
            "  fix: run this as root",
        ]
        if bird.absent or bird.denied:
            return "\n".join(lines) + "\n\n"
    elif not found.process.running:
        lines.append("  fix: `tortie node run` starts it; if it does run, --root has to be the same as there")
        if bird.absent:
            return "\n".join(lines) + "\n\n"
    if found.without_bgp:
        lines += ["", "It takes no part in BGP: CALICO_NETWORKING_BACKEND is not bird."]
        return "\n".join([*lines, *_not_ready(found), *as_lines(found.effects)]) + "\n\n"
    if bird.trouble and bird.by_agent:
        lines.append(f"  note: {bird.socket} is closed to this user; this is what the agent saw last")
    elif bird.trouble:
        lines += ["", *_told(bird.trouble), *_not_ready(found), *as_lines(found.effects)]
        return "\n".join(lines) + "\n\n"
    if bird.not_the_nodes:
        own = (
            f"no session of a node, but {len(bird.strangers)} of its own" if bird.strangers else "no session of a node"
        )
        lines.append(f"  note: the BIRD at {bird.socket} has {own}; it seems to be this machine's, not the node's")
    elif not found.process.running and not found.process.hidden:
        lines.append(f"  note: the BIRD at {bird.socket} runs without it, and nobody corrects what it does")
    if bird.strangers and not bird.not_the_nodes:
        lines.append(f"  note: BIRD has other sessions, too: {', '.join(bird.strangers)}")
    for family in FAMILIES:
        sessions = bird.family(family)
        lines += ["", f"IPv{family} BGP status"]
        lines += table(sessions, now) if sessions else [f"No IPv{family} peers found."]
        lines += _limited([_blamed(blame) for blame in found.blames if blame.session.peer.version == family])
    if found.own_fault:
        lines += ["", f"All sessions are down, so it is rather this node than its peers: {found.own_fault.fix}"]
    return "\n".join([*lines, *_beside(found), *_not_ready(found), *as_lines(found.effects)]) + "\n\n"


def table(sessions: Sequence[SessionState], now: datetime) -> list[str]:
    rows = [
        (shown_peer(state), TYPES[state.kind], state.state, shown_since(state.since, now), state.info)
        for state in sessions
    ]
    widths = [max(map(len, column)) for column in zip(HEADINGS, *rows, strict=True)]
    border = "+".join(["", *("-" * (width + 2) for width in widths), ""])
    body = [
        "|".join(["", *(f" {cell.ljust(width)} " for cell, width in zip(row, widths, strict=True)), ""])
        for row in (HEADINGS, *rows)
    ]
    return [border, body[0], border, *body[1:], border]


def shown_peer(state: SessionState) -> str:
    if state.peer is None:
        return state.name
    if state.port is None:
        return str(state.peer)
    return f"[{state.peer}]:{state.port}" if state.peer.version == 6 else f"{state.peer}:{state.port}"


def shown_since(since: str, now: datetime) -> str:
    """The time of day of what happened today, else the date; without the parts of a second that BIRD 2 may add."""
    day, _, time = since.replace(" ", "T").partition("T")
    if not time:
        return since.partition(".")[0]
    return time.partition(".")[0] if day == now.strftime("%Y-%m-%d") else day


def _blamed(blame: Blame) -> str:
    session = blame.session
    who = f"{session.where} ({session.peer_node})" if session.peer_node else session.where
    down = f" for {span(round(blame.down_s))}" if blame.down_s is not None else ""
    fault = _FAULTS.get(blame.fault, blame.fault)
    return f"{who} is not established{down}; the fault seems to lie with {fault}: {blame.why}; {blame.fix}"


def _beside(found: NodeStatus) -> Iterator[str]:
    """What no table of sessions shows."""
    agent, status = found.agent, found.bird.status
    reasons = found.reasons()
    if status and status.recovering and not any(reason.name == "bgp" for reason in reasons):
        yield from ("", "BIRD recovers from a restart: it keeps its earlier routes until all peers have told theirs.")
    if agent is None:
        return
    if agent.unreachable and not any(agent.unreachable[0] in reason.what for reason in reasons):
        yield from ("", "Networks that BGP has brought, and to which this machine has no way:")
        yield from _limited([f"  {network}" for network in agent.unreachable])
    if agent.refusals:
        yield from ("", "Asked for, and not done:")
        yield from _limited([f"  {each.what}: {each.why}; {each.fix}" for each in agent.refusals])
    if agent.sessions is None:
        yield from ("", f"The agent is in the phase {agent.phase} and has not decided on any session yet.")


def _not_ready(found: NodeStatus) -> Iterator[str]:
    reasons = found.reasons()
    if reasons:
        yield from ("", "The node is not ready:")
    for reason in reasons:
        yield from (f"  {line}" for line in _told(reason))


def _told(trouble: TortieError | Reason) -> list[str]:
    parts = (("why", trouble.why), ("fix", trouble.fix))
    return [trouble.what, *(f"  {label}: {text}" for label, text in parts if text)]


def _limited(lines: list[str]) -> list[str]:
    more = len(lines) - _LINES_SHOWN
    return lines if more <= 1 else [*lines[:_LINES_SHOWN], f"and {more} more; -o json has all of them"]
