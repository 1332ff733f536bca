"""Who wrote a line, and whether the agent that wrote it is well now. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tortie.doctor.causes.agent.start_evidence import hosts_of
from tortie.doctor.causes.culprits import Culprit, named
from tortie.doctor.picture.facts import Pod
from tortie.doctor.picture.host_pods import is_agent
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Hit

_CALM: Final = 5  # restarts; an agent with more of them is ready only for a moment


def recovered(picture: Picture, hits: Sequence[Hit]) -> list[Pod]:
    """The agents that wrote these lines, when they are ready now; all that are shown, when nothing says which."""
    agents = picture.agents_now()
    wrote = {name for hit in hits for name in hosts_of(picture, hit) if is_agent(name)}
    own = [pod for pod in agents if pod.name in wrote] if wrote else agents
    well = own and all(pod.all_ready and (pod.restarts or 0) < _CALM for pod in own)
    return own if well else []


def writers(picture: Picture, *hits: Hit) -> tuple[Culprit, ...]:
    """Nodes on which these lines were written, then the agents that wrote them."""
    names = hosts_of(picture, *hits)
    alone = sick(picture)
    if not names and len(alone) == 1:
        names = [name for name in (alone[0].node, alone[0].name) if name]
    agents = [name for name in names if is_agent(name)]
    return (*named("node", *(name for name in names if name not in agents)), *named("pod", *agents))


def node_of(some: Sequence[Culprit]) -> str:
    return next((one.name for one in some if one.kind == "node"), "")


def sick(picture: Picture) -> list[Pod]:
    """Agents that are shown not to be ready."""
    return [pod for pod in picture.agents_now() if pod.containers is not None and not pod.all_ready]
