"""What systemctl, journalctl and crictl print on a node of a lab. Pure: from what is known to text."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

_KLOG: Final = re.compile(r"([IWEF])(\d\d)(\d\d) (\d\d:\d\d:\d\d)\.\d+ +(\d+) ")
_LOGRUS: Final = re.compile(r'time="(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)')
_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_DESCRIPTIONS: Final = {
    "kubelet": ("kubelet: The Kubernetes Node Agent", "https://kubernetes.io/docs/home/"),
    "containerd": ("containerd container runtime", "https://containerd.io"),
}
_COMMANDS: Final = {
    "kubelet": "/usr/bin/kubelet $KUBELET_KUBECONFIG_ARGS $KUBELET_CONFIG_ARGS $KUBELET_EXTRA_ARGS",
    "containerd": "/usr/bin/containerd",
}
_SHORT_ID: Final = 13


class Unit(NamedTuple):
    """A service as its keeper knows it; times are seconds since the epoch."""

    name: str  # kubelet, containerd
    running: bool
    pid: int | None
    began_at: float
    ended_at: float = 0.0
    exit_code: int | None = None
    signal: int | None = None
    stopped: bool = False  # by somebody: nobody starts it again

    @property
    def word(self) -> str:
        """What `is-active` says."""
        if self.running:
            return "active"
        return "inactive" if self.stopped or self.pid is None else "activating"


def unit_of(name: str, told: Mapping[str, Any], now: float) -> Unit:
    """From the keeper's words, which count seconds back from now."""
    return Unit(
        name,
        bool(told.get("running")),
        told.get("pid"),
        now - float(told.get("age_s") or 0.0),
        now - float(told.get("ended_s") or 0.0),
        told.get("exit_code"),
        told.get("signal"),
        bool(told.get("stopped")),
    )


def unit_status(unit: Unit, command: str, journal: Sequence[str], now: float) -> str:
    """`systemctl status`."""
    about, docs = _DESCRIPTIONS[unit.name]
    lines = [
        f"● {unit.name}.service - {about}",
        f"   Loaded: loaded (/lib/systemd/system/{unit.name}.service; enabled; vendor preset: enabled)",
    ]
    if unit.name == "kubelet":
        lines += ["  Drop-In: /etc/systemd/system/kubelet.service.d", "           └─10-kubeadm.conf"]
    lines += [f"   Active: {_active(unit, now)}", f"     Docs: {docs}"]
    if unit.running:
        lines += [
            f" Main PID: {unit.pid} ({unit.name})",
            f"   CGroup: /system.slice/{unit.name}.service",
            f"           └─{unit.pid} {command}",
        ]
    elif unit.pid is not None:
        how = _how(unit)
        lines += [f"  Process: {unit.pid} ExecStart={_COMMANDS[unit.name]} ({how})", f" Main PID: {unit.pid} ({how})"]
    return "\n".join([*lines, "", *journal]) + "\n"


def _active(unit: Unit, now: float) -> str:
    if unit.running:
        return f"active (running) since {_moment(unit.began_at)}; {ago(now - unit.began_at)} ago"
    since = f"since {_moment(unit.ended_at)}; {ago(now - unit.ended_at)} ago"
    if unit.word == "inactive":
        return f"inactive (dead) {since}" if unit.pid is not None else "inactive (dead)"
    result = "signal" if unit.signal else "exit-code" if unit.exit_code else "success"
    told = "" if result == "success" else f" (Result: {result})"
    return f"activating (auto-restart){told} {since}"


def _how(unit: Unit) -> str:
    if unit.signal:
        return f"code=killed, signal={signal.Signals(unit.signal).name.removeprefix('SIG')}"
    return f"code=exited, status={unit.exit_code}" + ("/SUCCESS" if unit.exit_code == 0 else "")


def _moment(at: float) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%a %Y-%m-%d %H:%M:%S} UTC"


def ago(length_s: float) -> str:
    """As systemd shortens it: 9s, 3min 5s, 2h 4min."""
    whole = max(0, int(length_s))
    days, hours, minutes, rest = whole // 86400, whole // 3600 % 24, whole // 60 % 60, whole % 60
    if days:
        return f"{days} days" if days > 1 else f"1 day {hours}h"
    if hours:
        return f"{hours}h {minutes}min"
    if minutes:
        return f"{minutes}min {rest}s" if minutes < 10 else f"{minutes}min"
    return f"{rest}s"


def journal(name: str, lines: Iterable[str], node: str, pid: int | None) -> list[str]:
    """A service's own lines as journalctl shows them; after a fatal one, what systemd says about the end."""
    found = []
    last = ""
    for line in lines:
        if match := _KLOG.match(line):
            last = f"{_MONTHS[int(match[2]) - 1]} {match[3]} {match[4]} {node}"
            found.append(f"{last} {name}[{match[5]}]: {line}")
            if match[1] == "F":
                ended = f"{last} systemd[1]: {name}.service: "
                found.append(f"{ended}Main process exited, code=exited, status=255/n/a")
                found.append(f"{ended}Failed with result 'exit-code'.")
        elif match := _LOGRUS.match(line):
            at = datetime.fromisoformat(match[1])
            last = f"{_MONTHS[at.month - 1]} {at:%d %H:%M:%S} {node}"
            found.append(f"{last} {name}[{pid or '?'}]: {line}")
        else:
            found.append(f"{last} {name}[{pid or '?'}]: {line}")
    return found


def containers_table(containers: Iterable[Mapping[str, Any]], now: float, *, every: bool) -> str:
    """`crictl ps`, the newest first."""
    rows = [("CONTAINER", "IMAGE", "CREATED", "STATE", "NAME", "ATTEMPT", "POD ID", "POD")]
    for each in sorted(containers, key=lambda one: -float(one["started_at"])):
        runs = each["state"] == "CONTAINER_RUNNING"
        if runs or every:
            rows.append(
                (
                    str(each["id"])[:_SHORT_ID],
                    str(each.get("image") or "-"),
                    f"{since(now - float(each['started_at']))} ago",
                    "Running" if runs else "Exited",
                    str(each["container"]),
                    str(each["attempt"]),
                    str(each["uid"]).replace("-", "")[:_SHORT_ID],
                    str(each["pod"]),
                )
            )
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    texts = ("   ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)) for row in rows)
    return "\n".join(text.rstrip() for text in texts) + "\n"


def since(length_s: float) -> str:
    """`5 seconds`, `About a minute`, `3 hours`: as docker and crictl say it."""
    whole = max(0, int(length_s))
    if whole < 1:
        return "Less than a second"
    if whole < 60:
        return "1 second" if whole == 1 else f"{whole} seconds"
    if whole < 120:
        return "About a minute"
    if whole < 3600:
        return f"{whole // 60} minutes"
    if whole < 7200:
        return "About an hour"
    return f"{whole // 3600} hours" if whole < 172800 else f"{whole // 86400} days"
