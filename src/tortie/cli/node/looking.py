"""Asks what there is to ask about this node: its agent, its BIRD, and /proc."""

from __future__ import annotations

import json
import os
from datetime import datetime
from typing import Final

from tortie.bgp.control import ask, ask_all
from tortie.bgp.replies import protocols_in, sessions_in, status_in
from tortie.cli.node.bgp_standing import SOCKETS, AgentView, BirdView, NodeStatus, Process, parsed_agent, standing
from tortie.cli.node.effects_view import ask_effects
from tortie.health.probe import NoAnswer, ask_unix
from tortie.host.files import read_text
from tortie.host.processes import is_running
from tortie.model.errors import TortieError
from tortie.node.paths import Paths

ASK_S: Final = 2.0
_AGENT: Final = "the agent starts it by itself, and `tortie node check` tells what keeps it from that"
# How Calico's Felix has been started over the years.
_FELIX: Final = (("calico-felix",), ("calico-node", "-felix"), ("calico", "component", "felix"))


def look_at_node(paths: Paths, now: datetime) -> NodeStatus:
    agent = _ask_agent(paths)
    # Our agent's BIRD is where our agent puts it; that of a Calico without containers may be elsewhere.
    bird = _ask_bird([paths.below(path) for path in (SOCKETS[:1] if agent else SOCKETS)])
    if bird.denied and agent and agent.sessions is not None:
        states = tuple(wanted.seen for wanted in agent.sessions if wanted.seen)
        bird = bird._replace(sessions=states, by_agent=True)
    found = standing(_process(paths, agent), bird, agent, now)
    return found._replace(effects=ask_effects(paths.status_socket) if agent else None)


def _ask_agent(paths: Paths) -> AgentView | None:
    """None when none answers, or not in words that this command knows."""
    try:
        answer = ask_unix(paths.status_socket, "/status", ASK_S)
        return parsed_agent(json.loads(answer.body)) if answer.status == 200 else None
    except (NoAnswer, ValueError):
        return None


def _ask_bird(candidates: list[str]) -> BirdView:
    """Never raises: that a BIRD cannot be asked is an answer, too."""
    socket = next((path for path in candidates if _is_there(path)), None)
    if socket is None:
        what = "The BGP backend process (BIRD) is not running."
        why = f"it has no control socket: there is no {' and no '.join(candidates)}"
        fix = f"{_AGENT}; --root has to be the agent's"
        return BirdView(candidates[0], trouble=TortieError(what, why, fix), absent=True)
    try:
        said, *replies = ask_all(socket, ("show status", "show protocols"), ASK_S)
        status = status_in(said)
        # Calico's own BIRD knows one family; the other one has a daemon of its own beside it.
        beside = f"{socket.removesuffix('.ctl')}6.ctl"
        if _is_there(beside):
            replies.append(ask(beside, "show protocols", ASK_S, family=6))
        sessions = tuple(session for reply in replies for session in sessions_in(reply))
        spoken = {protocol.name for reply in replies for protocol in protocols_in(reply) if protocol.proto == "BGP"}
    except TortieError as error:
        fix = _AGENT if "tortie node status" in error.fix else error.fix
        trouble = TortieError(f"Error querying BIRD: {error.what}", error.why, fix)
        return BirdView(socket, trouble=trouble, denied=not os.access(socket, os.W_OK))
    return BirdView(socket, status, sessions, tuple(sorted(spoken - {session.name for session in sessions})))


def _is_there(path: str) -> bool:
    """In a folder that may not be looked into it counts: a person shall hear of the permission, not of an absence."""
    try:
        os.stat(path)
    except PermissionError:
        return True
    except OSError:
        return False
    return True


def _process(paths: Paths, agent: AgentView | None) -> Process:
    if agent is not None:
        return Process("tortie", agent.pid)
    lock = paths.below("/run/tortie/node.lock")
    try:
        holder = (read_text(lock) or "").strip()
    except TortieError:
        holder = ""
    if holder.isdigit() and is_running(int(holder), "node"):
        return Process("tortie", int(holder))
    felix = _felix(unseen=paths.root in ("", "/"))
    if felix:
        return Process("calico-node", felix)
    return Process(hidden=lock if _is_there(lock) and not os.access(lock, os.R_OK) else "")


def _felix(*, unseen: bool) -> int:
    """The pid of Calico's own process in this network namespace; 0 if there is none.

    Whoever is not root cannot see in which namespace a process of root lives. With `unseen` such a one counts: it does
    for the machine itself, but not for a node that has a folder of its own.
    """
    ours = _network("self")
    for name in sorted(filter(str.isdigit, os.listdir("/proc")), key=int):
        try:
            with open(f"/proc/{name}/cmdline", "rb") as file:
                program, *words = file.read().decode(errors="replace").split("\0")
        except OSError:
            continue  # it has just ended
        line = (os.path.basename(program), *words)
        if any(line[: len(known)] == known for known in _FELIX):
            network = _network(name)
            if network == ours or (unseen and not network):
                return int(name)
    return 0


def _network(pid: str) -> str:
    try:
        return os.readlink(f"/proc/{pid}/ns/net")
    except OSError:
        return ""
