"""Which log `kubectl logs` means, and which lines of it. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from tortie.lab.kubectl.kinds import Thing, at, items_at, name_of

_TIME: Final = re.compile(r"(?:time=\")?(\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}:\d{2}(?:[.,]\d+)?(?:Z|[+-]\d{2}:?\d{2})?)")
_UNITS: Final = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|h|m|s)")


class NoLog(ValueError):
    """In the words of kubectl."""


class Log(NamedTuple):
    container: str
    attempt: int  # its number: how many containers of that name the pod had before


def containers_of(pod: Thing) -> list[str]:
    """Main containers first, as kubectl lists them."""
    spec = at(pod, "spec")
    return [str(each.get("name")) for field in ("containers", "initContainers") for each in items_at(spec, field)]


def defaulted(pod: Thing) -> str:
    """What kubectl says when it had to choose a container; "" when there was no choice."""
    main = [str(each.get("name")) for each in items_at(pod, "spec", "containers")]
    init = [str(each.get("name")) for each in items_at(pod, "spec", "initContainers")]
    if len(main) + len(init) < 2:
        return ""
    others = ", ".join([*main, *(f"{each} (init)" for each in init)])
    return f'Defaulted container "{main[0]}" out of: {others}'


def wanted_log(pod: Thing, container: str, *, previous: bool) -> Log:
    names = containers_of(pod)
    if not names:
        raise NoLog(f'error: pod "{name_of(pod)}" has no containers')
    name = container or names[0]
    if name not in names:
        raise NoLog(f"error: container {name} is not valid for pod {name_of(pod)}")
    status = _status(pod, name)
    waiting, ended = at(status, "state", "waiting"), at(status, "lastState", "terminated")
    count = int(status.get("restartCount") or 0)
    if previous:
        if ended is None:
            raise NoLog(
                f'Error from server (BadRequest): previous terminated container "{name}" in pod "{name_of(pod)}" '
                "not found"
            )
        # While it waits to be started again the last one is the one that has ended.
        return Log(name, count if waiting is not None else max(count - 1, 0))
    if ended is None and at(status, "state", "running") is None and at(status, "state", "terminated") is None:
        reason = (waiting or {}).get("reason") or "ContainerCreating"
        raise NoLog(
            f'Error from server (BadRequest): container "{name}" in pod "{name_of(pod)}" is waiting to start: {reason}'
        )
    return Log(name, count)


def _status(pod: Thing, name: str) -> dict[str, Any]:
    statuses = items_at(pod, "status", "containerStatuses") + items_at(pod, "status", "initContainerStatuses")
    return next((each for each in statuses if each.get("name") == name), {})


def goes_on(before: Thing, now: Thing | None, container: str) -> bool:
    """Whether the container that ran before is the one that runs now: only then does its log get any longer.

    The pod may be another one of the same name, and the container another attempt. What has not got its id yet counts
    as the same.
    """
    then, status = _status(before, container), _status(now or {}, container)
    if at(status, "state", "running") is None or at(then, "state", "running") is None:
        return False
    ids = {each.get("containerID") for each in (then, status)} - {"", None}
    same_pod = at(before, "metadata", "uid") == at(now, "metadata", "uid")
    return same_pod and len(ids) < 2 and then.get("restartCount") == status.get("restartCount")


def line_time(line: str) -> datetime | None:
    """The time that a line carries itself."""
    found = _TIME.search(line[:80])
    if found is None:
        return None
    try:
        when = datetime.fromisoformat(found[1].replace(",", "."))
    except ValueError:
        return None
    return when if when.tzinfo else when.replace(tzinfo=UTC)


def chosen_lines(
    lines: Sequence[str], *, tail: int | None = None, since: float | None = None, timestamps: bool = False
) -> list[str]:
    """`since` in seconds since the epoch. A line without a time of its own has that of the line before it."""
    last: datetime | None = None
    kept = []
    for line in lines:
        last = line_time(line) or last
        if since is not None and last is not None and last.timestamp() < since:
            continue
        kept.append(f"{_stamp(last)} {line}" if timestamps and last is not None else line)
    return kept if tail is None or tail < 0 else kept[len(kept) - tail :] if tail < len(kept) else kept


def _stamp(when: datetime) -> str:
    return when.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f000Z")


def duration_s(text: str) -> float | None:
    """`5m`, `1h30m`, `90s` as Go reads them; None for what is none."""
    if not text or _DURATION.sub("", text):
        return None
    return sum(float(number) * _UNITS[unit] for number, unit in _DURATION.findall(text))
