"""The journals of a node's services, in the forms that people know: klog's for kubelet, logrus's for containerd."""

from __future__ import annotations

import json
import os
import time
from datetime import UTC, datetime
from typing import Final, Literal

_LARGEST: Final = 2 << 20  # then the older half goes

Severity = Literal["I", "W", "E", "F"]


class _File:
    def __init__(self, path: str) -> None:
        self._path = path

    def add(self, line: str) -> None:
        """A journal that cannot be written (a full disk is one of the faults) stops nobody."""
        try:
            with open(self._path, "ab") as file:
                file.write(line.encode(errors="surrogateescape") + b"\n")
                large = file.tell() > _LARGEST
            if large:
                self._halve()
        except OSError:
            pass

    def _halve(self) -> None:
        with open(self._path, "rb") as file:
            file.seek(-_LARGEST // 2, os.SEEK_END)
            file.readline()
            kept = file.read()
        with open(self._path, "wb") as file:
            file.write(kept)


class Klog:
    """`I1116 15:04:05.000000     123 kubelet.go:2000] text`"""

    def __init__(self, path: str) -> None:
        self._file = _File(path)

    def info(self, where: str, text: str) -> None:
        self._file.add(klog_line("I", time.time(), os.getpid(), where, text))

    def error(self, where: str, text: str) -> None:
        self._file.add(klog_line("E", time.time(), os.getpid(), where, text))

    def fatal(self, where: str, text: str) -> None:
        self._file.add(klog_line("F", time.time(), os.getpid(), where, text))


def klog_line(severity: Severity, at: float, pid: int, where: str, text: str) -> str:
    moment = datetime.fromtimestamp(at, UTC)
    return f"{severity}{moment:%m%d %H:%M:%S.%f} {pid:7d} {where}] {text}"


def structured(message: str, **values: object) -> str:
    """`"Probe failed" probeType="Liveness"`: text in quotes, numbers without."""
    return " ".join([quoted(message), *(f"{name}={_shown(value)}" for name, value in values.items())])


def _shown(value: object) -> str:
    if isinstance(value, list | tuple):
        return "[" + ",".join(quoted(str(each)) for each in value) + "]"
    return quoted(value) if isinstance(value, str) else str(value)


def quoted(text: str) -> str:
    """As Go's %q for what occurs here."""
    return json.dumps(text, ensure_ascii=False)


class ContainerdLog:
    """`time="2026-11-16T15:04:05.000000000Z" level=info msg="..."`"""

    def __init__(self, path: str) -> None:
        self._file = _File(path)

    def add(self, level: str, message: str, **fields: str) -> None:
        self._file.add(containerd_line(level, time.time(), message, **fields))

    def info(self, message: str, **fields: str) -> None:
        self.add("info", message, **fields)


def containerd_line(level: str, at: float, message: str, **fields: str) -> str:
    moment = f"{datetime.fromtimestamp(at, UTC):%Y-%m-%dT%H:%M:%S.%f}000Z"
    # Logrus puts error before msg, everything else by name behind it.
    told = [f"error={quoted(fields.pop('error'))}"] if "error" in fields else []
    rest = [f"{name}={value}" for name, value in sorted(fields.items())]
    return " ".join([f'time="{moment}"', f"level={level}", *told, f"msg={quoted(message)}", *rest])
