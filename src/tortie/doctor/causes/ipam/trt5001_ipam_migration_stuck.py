"""TRT5001: the init container upgrade-ipam repeats a migration that cannot succeed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Final

from tortie.doctor.causes.agent.init_timing import Timing, gap_s, timing
from tortie.doctor.causes.cause import (
    LIKELY,
    POSSIBLE,
    PROVEN,
    STRONG,
    Cause,
    Do,
    Finding,
    cannot_tell,
    do,
    found,
    ruled_out,
)
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.picture.facts import Event, HostFile, Pod
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Hit, Sign
from tortie.doctor.texts import Seconds

RETRYING: Final = Sign("ipam-migration-retrying", "failed to migrate ipam, retrying…error=<rest>")
RETRYING_BARE: Final = Sign("ipam-migration-retrying-bare", "failed to migrate ipam, retrying")
NOTHING_TO_DO: Final = Sign("ipam-migration-none", "no migration necessary, successfully exiting")
COMPLETE: Final = Sign("ipam-migration-complete", "migration from host-local to calico-ipam complete")
ASSIGNING: Final = Sign("ipam-migration-assigning", "IPIP tunnel address not found, assigning")
# It locks the datastore while nodes are still to be migrated, and everybody waits until the last one unlocks it.
LOCKING: Final = Sign("ipam-migration-locking", "setting datastore readiness to false")
ROLLING: Final = Sign("ipam-migration-rolling", "not setting datastore readiness, rolling update is still going")
UNLOCKED: Final = Sign("ipam-migration-unlocked", "set datastore readiness to true")
LOCKED: Final = Sign("ipam-datastore-locked", 'datastoreReady(")?:( )?(")?false')
WAITING: Final = Sign("ipam-datastore-waiting", "Waiting for datastore to be initialized \\(or migrated\\)")

CONTAINER: Final = "upgrade-ipam"
DIRECTORY: Final = "/var/lib/cni/networks/k8s-pod-network"
# Errors that belong to the way to the API server, its certificate or its permissions, not to the migration.
OTHERS_ERROR: Final = (
    "dial tcp", "x509", "i/o timeout", "forbidden", "connection refused", "unauthorized", "no such host",
    "deadline exceeded", "network is unreachable", "tls:", "proxyconnect",
)  # fmt: skip
FIXED_BY_UPGRADE: Final = ("already assigned in block", "failed to create handle", "is invalid", "failed to parse ip")
ABOUT_RANGES: Final = ("podcidr", "not in a configured pool")
PROMPT_S: Final = 5.0  # a healthy runtime starts a container within a second or two of the pod
GAP_S: Final = 30.0
LONG_S: Final = 120.0  # the migration itself takes seconds


class Seen:
    """The migration's own log; where there is none, how its container came to run."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.retries = picture.hits(RETRYING) or picture.hits(RETRYING_BARE)
        self.done = picture.hits(NOTHING_TO_DO, COMPLETE)
        self.assigning = picture.hits(ASSIGNING)

    @cached_property
    def error(self) -> str:
        """What the newest retry quotes: the head of a log may be pasted after its tail, so its own clock counts."""
        if not self.retries:
            return ""
        newest = max(self.retries, key=lambda hit: hit.line[:23] if _dated(hit) else "")
        hit = newest if _dated(newest) else self.retries[-1]
        text = hit.value("rest") or hit.line
        return text.split(" node=")[0].strip().strip('"')[:240]

    @cached_property
    def pod(self) -> Pod | None:
        agents = self.picture.agents_now()
        stuck = [pod for pod in agents if pod.status.startswith("Init") or pod.status == "Pending"]
        return stuck[-1] if stuck else None

    @cached_property
    def files(self) -> list[HostFile]:
        return [file for file in self.picture.of(HostFile) if "cni/networks" in file.folder]

    @cached_property
    def stray(self) -> list[HostFile]:
        """What the error is about, and what host-local did not write."""
        return [file for file in self.files if file.name in self.error or not _expected(file.name)]

    @cached_property
    def timing(self) -> Timing | None:
        return timing(self.picture, CONTAINER)

    @cached_property
    def started(self) -> tuple[object, ...]:
        """How the container came to run."""
        if self.timing is None:
            return self.events
        return (self.timing.container, *self.timing.events, self.timing.pod)

    @cached_property
    def held(self) -> list[Pod]:
        """The pod table alone: the first init container is not done, for long, without restarts."""
        waiting = [pod for pod in self.picture.agents_now() if pod.status.startswith("Init:0/") and not pod.restarts]
        return [pod for pod in waiting if (pod.age_s or 0) >= LONG_S]

    @cached_property
    def events(self) -> tuple[Event, ...]:
        return tuple(event for event in self.picture.events("Created", "Started") if CONTAINER in event.message)

    @cached_property
    def gap_s(self) -> float | None:
        if self.timing:
            return self.timing.gap_s
        return gap_s(None, None, self.events) if self.held else None


def _dated(hit: Hit) -> bool:
    return hit.line[:4].isdecimal()


def _expected(name: str) -> bool:
    """What host-local itself writes: a file for each address, its lock and its memory."""
    return (
        name.startswith(("lock", "last_reserved_ip")) or re.fullmatch(r"\d+(?:\.\d+){3}|[0-9a-f:_-]+", name) is not None
    )


def quotes_another_fault(seen: Seen) -> Finding | None:
    foreign = any(text in seen.error.lower() for text in OTHERS_ERROR)
    return ruled_out(seen.retries[:2], error=seen.error) if foreign else None


def retries(seen: Seen) -> Finding | None:
    return _stuck(seen, STRONG, seen.retries[:2]) if seen.retries else None


def left_locked(seen: Seen) -> Finding | None:
    """The lock is on, nobody is at work, and all others wait for it."""
    migrated = seen.picture.hits(LOCKING, ROLLING)
    locked, waiting = seen.picture.hits(LOCKED), seen.picture.hits(WAITING)
    if not (migrated and (locked or waiting)) or seen.picture.hits(UNLOCKED):
        return None
    blamed = culprits(named("setting", "datastoreReady"), Culprit("container", CONTAINER))
    return found(PROVEN if locked else STRONG, blamed, (*locked[:1], *migrated[-1:], *waiting[:1]))


def finished(seen: Seen) -> Finding | None:
    return ruled_out(seen.done[:1]) if seen.done else None


def same_step_again(seen: Seen) -> Finding | None:
    return _stuck(seen, STRONG, seen.assigning[:2]) if len(seen.assigning) >= 2 else None


def slow_runtime(seen: Seen) -> Finding | None:
    slow = seen.gap_s is not None and seen.gap_s >= GAP_S
    return ruled_out(seen.started, gap=Seconds(seen.gap_s or 0)) if slow else None


def just_begun(seen: Seen) -> Finding | None:
    timed = seen.timing
    return cannot_tell() if timed and timed.running_s is not None and timed.running_s < LONG_S else None


def started_promptly(seen: Seen) -> Finding | None:
    if seen.timing is None or seen.gap_s is None or seen.gap_s > PROMPT_S:
        return None
    return _stuck(seen, POSSIBLE if seen.picture.said("runtime-broken") else LIKELY, seen.started)


def still_running(seen: Seen) -> Finding | None:
    return _stuck(seen, POSSIBLE, seen.started) if seen.timing else None


def first_container_waits(seen: Seen) -> Finding | None:
    if not seen.held:
        return None
    pod = seen.held[0]
    blamed = culprits(Culprit("container", CONTAINER), named("pod", pod.name), named("node", pod.node))
    return found(POSSIBLE, blamed, seen.held[:1], pod=pod.name, agent_pod=pod.name, node=pod.node)


def _stuck(seen: Seen, strength: float, evidence: Iterable[object]) -> Finding:
    shown = tuple(evidence)
    pod = seen.pod
    node = _node(shown) or (pod.node if pod else "")
    running = seen.timing.running_s if seen.timing else None
    blamed = culprits(
        Culprit("container", CONTAINER),
        Culprit("file", DIRECTORY),
        named("address", _quoted(seen.error)),
        named("file", *(file.name for file in seen.stray[:3])),
        named("pod", pod.name if pod else ""),
        named("node", node),
    )
    finding = found(
        strength, blamed, (*shown, *(seen.stray or seen.files)[:1], pod),
        node=node, error=seen.error, count=len(seen.assigning), running=Seconds(running) if running else "",
        stray=next((file.name for file in seen.stray if not _expected(file.name)), ""),
    )  # fmt: skip
    return finding._replace(values=(*finding.values, ("agent_pod", pod.name))) if pod else finding


def _node(evidence: Iterable[object]) -> str:
    """The node that the retries name."""
    for item in evidence:
        match = re.search(r"\bnode=[\\\"']*([\w.-]+)", item.line) if isinstance(item, Hit) else None
        if match:
            return match[1]
    return ""


def _quoted(error: str) -> str:
    """What the error could not read or place: an address, a range, a file named after one."""
    match = re.search(r"\d{1,3}(?:\.\d{1,3}){3}[\w./~-]*", error)
    return match.group().rstrip(".,:") if match else ""


def fix(picture: Picture, finding: Finding) -> Iterator[Do]:
    if finding.rule == "left-locked":
        yield do("all-done")
        yield do("unlock")
        return
    error = finding.value("error").lower()
    yield do("read")
    if not error or any(text in error for text in ABOUT_RANGES):
        yield do("ranges")
        yield do("pod-cidr")
    if finding.value("stray"):
        yield do("stray")
    version = picture.version("calico")
    if any(text in error for text in FIXED_BY_UPGRADE) and (version is None or version < (3, 9)):
        yield do("upgrade")
    yield do("move")
    yield do("restart")


CAUSE = Cause(
    module=__name__,
    id="ipam-migration-stuck",
    code="TRT5001",
    severity="medium",
    explains=(
        "init-stuck", "not-ready", "pod-pending", "no-address", "node-not-ready", "controllers-failing", "log-errors",
    ),
    signs=(RETRYING, RETRYING_BARE, NOTHING_TO_DO, COMPLETE, ASSIGNING, LOCKING, ROLLING, UNLOCKED, LOCKED, WAITING),
    look=Seen,
    rules=(
        quotes_another_fault, retries, left_locked, finished, same_step_again, slow_runtime, just_begun,
        started_promptly, still_running, first_container_waits,
    ),
    fix=fix,
    yields_to=("runtime-unresponsive",),
)  # fmt: skip
