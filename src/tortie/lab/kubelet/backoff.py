"""CrashLoopBackOff: how long kubelet waits before it starts a container again, and what it says meanwhile."""

from __future__ import annotations

from typing import Final, NamedTuple

from tortie.lab.kubelet.events import Note
from tortie.lab.kubelet.objects import Object, go_duration, pod_text

CRASH_LOOP: Final = "CrashLoopBackOff"


class Policy(NamedTuple):
    """The first wait, doubled each time up to the longest one."""

    first_s: float = 10.0
    longest_s: float = 300.0


class BackOff(NamedTuple):
    """The wait that is in force for a container, since when."""

    wait_s: float
    updated_at: float


def policy(hurry: int) -> Policy:
    usual = Policy()
    return Policy(usual.first_s / hurry, usual.longest_s / hurry)


def _expired(entry: BackOff, ended_at: float, policy: Policy) -> bool:
    """A container that ran for twice the longest wait has proved itself."""
    return ended_at - entry.updated_at > 2 * policy.longest_s


def in_back_off(entry: BackOff | None, ended_at: float, now: float, policy: Policy) -> bool:
    """Whether a container that ended then must not be started yet."""
    return entry is not None and not _expired(entry, ended_at, policy) and now < ended_at + entry.wait_s


def after(entry: BackOff | None, ended_at: float, now: float, policy: Policy) -> BackOff:
    """The wait that will be in force once the container is started now: for the next time that it ends."""
    if entry is None or _expired(entry, ended_at, policy):
        return BackOff(policy.first_s, now)
    return BackOff(min(entry.wait_s * 2, policy.longest_s), now)


def back_off_note(pod: Object, container: str, minor: int) -> Note:
    """Since 1.26 it says of which container and pod."""
    message = "Back-off restarting failed container"
    if minor >= 26:
        message += f" {container} in pod {pod_text(pod)}"
    return Note("Warning", "BackOff", message, container)


def waiting_message(pod: Object, container: str, wait_s: float) -> str:
    return f"back-off {go_duration(wait_s)} restarting failed container={container} pod={pod_text(pod)}"
