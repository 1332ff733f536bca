"""Commands for this cluster: what the evidence knows of its names, for every command alike."""

from __future__ import annotations

from tortie.doctor.causes.cause import Cause, Finding
from tortie.doctor.causes.steps import plain
from tortie.doctor.picture.picture import Picture

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
    return cause.ask.shell.fill(common_values(picture, finding)).render()
