"""Commands for this cluster: what the evidence knows of its names, for every command alike."""

from __future__ import annotations

from typing import Any

from tortie.doctor.causes import legacy
from tortie.doctor.causes.cause import Cause, Finding
from tortie.doctor.causes.steps import plain
from tortie.doctor.picture.picture import Picture

_NAMESPACE = ("<ns>", "<namespace>")
_POD = ("<pod>", "<calico-node pod>", "<stuck calico-node pod>", "<calico-node pod of that node>")
NOTHING_FOUND = Finding("cannot-tell")  # for commands that belong to no finding
_DAEMONSETS = ("rke2-canal", "canal", "calico-node", "tortie-node")


def common_values(picture: Picture, finding: Finding) -> dict[str, str]:
    """Values for holes that any command may have, by label; those of the finding go before them."""
    known = plain(dict(finding.values))
    node = known.get("node", "")
    return {
        "namespace": picture.namespace,
        "agent": f"ds/{_daemonset(picture)}",
        "agent-pod": _agent_pod(picture, node),
        "node-address": picture.internal_ips().get(node, node),
        **known,
    }


def _daemonset(picture: Picture) -> str:
    names = [pod.name for pod in picture.agents()]
    return next((name for name in _DAEMONSETS if any(pod.startswith(f"{name}-") for pod in names)), "calico-node")


def _agent_pod(picture: Picture, node: str) -> str:
    """The agent of that node, or the only one that is not well."""
    there = [pod.name for pod in picture.agents_now() if node and pod.node == node]
    sick = [pod.name for pod in picture.agents_now() if pod.containers is not None and not pod.all_ready]
    return there[-1] if there else sick[0] if len(sick) == 1 else ""


def asked(cause: Cause, finding: Finding, picture: Picture) -> str:
    """The command that decides about this cause, for this cluster."""
    ask: Any = cause.ask
    if isinstance(ask, legacy.Ask):
        return _replaced(ask.command, picture)
    return str(ask.shell.fill(common_values(picture, finding)))


def filled(step: Any, picture: Picture) -> Any:
    """A step of a cause that still has its commands in Python."""
    if isinstance(step, legacy.Step):
        return step._replace(command=_replaced(step.command, picture))
    return step


def _replaced(command: str, picture: Picture) -> str:
    """The namespace where agents were shown or asked for, and the agent's pod where there is exactly one sick one."""
    if "<" not in command:
        return command
    if "<namespace>" not in command or "calico" in command or "<pod>" in command:
        for placeholder in _NAMESPACE:
            command = command.replace(placeholder, picture.namespace)
    sick = [pod.name for pod in picture.agents_now() if pod.containers is not None and not pod.all_ready]
    if len(sick) == 1 and legacy.is_plain(sick[0]):
        for placeholder in _POD:
            command = command.replace(placeholder, sick[0])
    return command
