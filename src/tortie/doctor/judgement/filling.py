"""Commands for this cluster: placeholders that the evidence can fill, filled."""

from __future__ import annotations

from tortie.doctor.causes.cause import is_plain
from tortie.doctor.picture.picture import Picture

_NAMESPACE = ("<ns>", "<namespace>")
_POD = ("<pod>", "<calico-node pod>", "<stuck calico-node pod>", "<calico-node pod of that node>")


def filled(command: str, picture: Picture) -> str:
    """The namespace where agents were shown or asked for, and the agent's pod where there is exactly one sick one."""
    if "<" not in command:
        return command
    if "<namespace>" not in command or "calico" in command or "<pod>" in command:
        for placeholder in _NAMESPACE:
            command = command.replace(placeholder, picture.namespace)
    sick = [pod.name for pod in picture.agents_now() if pod.containers is not None and not pod.all_ready]
    if len(sick) == 1 and is_plain(sick[0]):
        for placeholder in _POD:
            command = command.replace(placeholder, sick[0])
    return command
