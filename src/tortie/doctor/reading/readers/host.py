"""What a machine says of itself: load, processes, memory, disks; clock, mounts, kernel modules, captures (beside).

Settings made here, by scope:
- `cpu`: `cores` (nproc, lscpu, /proc/cpuinfo), `usage` (the Cpu line of top).
- `disk-busy`: a device of iostat -x, value the percent of time it was busy, owner `await <n> ms`.
- `memory`: `total`, `used`, `free`, `available` as free prints them. `swap`: `total` of free; a path of an area with
  its size.
- `selinux`: `mode` is Enforcing, Permissive or Disabled; a path with the context that ls -Z shows (from files.py).
- `mount`: name a mount point (or the path findmnt was asked for), value the options, owner source and type.
- `mount-propagation`: name a mount point, value private, shared ...
- `module`: name a kernel module, value loaded, missing or failed, owner lsmod or modprobe; CONFIG_... as in the
  kernel's config.
- `host`: `name` and `addresses` as hostname prints them; the host is the one of the prompt, which may be another name.
- `elapsed`: name the command that was timed with `time`, value the seconds it took.
- `clock`: `offset` of chronyc or ntpq, `source`.
- `capture`: a line of tcpdump; name the link (`any`, or empty when not said), host where it listened; `0 packets
  captured` too.
- `counter`: nstat: name and value.
- `link-manager`: name a link, value its state (unmanaged, disconnected, connecting ...), owner NetworkManager or
  systemd-networkd.
- `security-group`: a rule of a cloud's listing; name the protocol where it is clear, value the line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Disk, Fact, Load, Process, Setting
from tortie.doctor.reading.exhibit import Exhibit
from tortie.doctor.reading.readers.host_captures import captures
from tortie.doctor.reading.readers.host_commands import ran, rows
from tortie.doctor.reading.readers.host_disks import busy
from tortie.doctor.reading.readers.host_machine import machine

_LOAD: Final = lazily(r"load averages?:\s*(\d+[.,]\d+),?\s+(\d+[.,]\d+),?\s+(\d+[.,]\d+)")
_LOADAVG: Final = lazily(r"^(\d+\.\d+) (\d+\.\d+) (\d+\.\d+) \d+/\d+ \d+$")
_NAMED: Final = lazily(r"^[-*\s]*([A-Za-z][\w.-]*)\s*[:：|]\s*(?:.*\bup\b|load average)")
_SO_MANY: Final = lazily(r"\b(\d{1,4})\s*(?:核|cores?\b|c?pus?\b|vcpus?\b)")
_CORES: Final = lazily(r"^CPU\(s\):\s+(\d+)$")
_AUX: Final = lazily(r"^\S+\s+(\d+)\s+(\d+\.\d)\s+\d+\.\d\s+\d+\s+\d+\s+\S+\s+[A-Z]\S*\s+\S+\s+\d+:\d\d\S*\s+(.+)$")
_FULL: Final = lazily(r"^\S+\s+(\d+)\s+\d+\s+\d+\s+\S+\s+\S+\s+(?:\d+-)?\d\d:\d\d:\d\d\s+(.+)$")
_TOP: Final = lazily(r"^(\d+)\s+\S+\s+\S+\s+-?\d+\s+\S+\s+\S+\s+\S+\s+[A-Z]\s+(\d+[.,]\d)\s+\d+[.,]\d\s+\S+\s+(.+)$")
_PIDSTAT: Final = lazily(
    r"^(?:\d\d:\d\d:\d\d(?: [AP]M)?|Average:|平均时间:)\s+\d+\s+(\d+)\s+(?:\d+[.,]\d+\s+){3,4}(\d+[.,]\d+)"
    r"\s+\S+\s+(\S.*)$"
)
_REAL: Final = lazily(r"^real\s+(?:(\d+)m)?(\d+[.,]\d+)s?$|(?:^|\s)(?:(\d+):)?(\d+[.,]\d+) ?(?:total|elapsed)$")
_KNOWN: Final = lazily(
    r"(?:^|[\s/])(calico-\w+|calico|bird6?|confd|felix|runsv(?:dir)?|kubelet|containerd[\w-]*|dockerd|kube-[\w-]+|etcd|flanneld"
    r"|cilium[\w-]*|gobgpd|bgpd|zebra|firewalld|install-cni|haproxy|nginx|connmand|dhcpcd5?|avahi-autoipd|wickedd[\w-]*"
    r"|NetworkManager|systemd-networkd?|dhclient)(?=\s|$|:)"
)
_DF: Final = lazily(r"^(?:(\S+)\s+)?(\S+)\s+(\S+)\s+(\S+)\s+(\d+)%\s+(/\S*)$")
_SWAP: Final = lazily(r"^(/\S+)\s+(?:file|partition)\s+(\S+)\s+(\S+)\s+-?\d+$")


def read(exhibit: Exhibit) -> Iterator[Fact]:
    text = exhibit.text
    if "load average" in text or "loadavg" in exhibit.command:
        yield from _load(exhibit)
    if "nproc" in exhibit.command or "cpuinfo" in exhibit.command or "CPU(s):" in text:
        yield from _cores(exhibit)
    if "Cpu(s)" in text:
        for index, line in rows(exhibit):
            if "Cpu(s)" in line and " id" in line:
                yield Setting(exhibit.place(index), "cpu", "usage", line, "", exhibit.host)
    if "time" in exhibit.command and ran(exhibit, "time"):
        yield from _elapsed(exhibit)
    if "COMMAND" in text or " CMD" in text or ran(exhibit, "ps", "pgrep", "top", "pidstat"):
        yield from _processes(exhibit)
    if "%" in text and "/" in text:
        yield from _disks(exhibit)
    if "%util" in text:
        yield from busy(exhibit)
    if "Mem:" in text or "Swap:" in text or "swap" in exhibit.command:
        yield from _memory(exhibit)
    yield from machine(exhibit)
    yield from captures(exhibit)


def _decimal(text: str) -> float:
    return float(text.replace(",", "."))


def _load(exhibit: Exhibit) -> Iterator[Fact]:
    cores = _cores_shown(exhibit)
    for index, line in rows(exhibit):
        match = _LOAD.search(line) if "load average" in line else None
        match = match or (_LOADAVG.match(line) if "loadavg" in exhibit.command else None)
        if match:
            one, five, fifteen = (_decimal(match[group]) for group in (1, 2, 3))
            named = _NAMED.match(line)  # a loop over machines puts their names before
            counted = _SO_MANY.search(line[match.end() :])  # somebody noted them behind: (16 cores)
            host = named[1] if named else exhibit.host
            yield Load(exhibit.place(index), one, five, fifteen, int(counted[1]) if counted else cores, host)


def _cores_shown(exhibit: Exhibit) -> int | None:
    counting = "nproc" in exhibit.command or "cpuinfo" in exhibit.command
    for _, line in rows(exhibit):
        match = _CORES.match(line)
        if match:
            return int(match[1])
        if counting and line.isdecimal() and 0 < int(line) < 5000:
            return int(line)
    return None


def _cores(exhibit: Exhibit) -> Iterator[Fact]:
    cores = _cores_shown(exhibit)
    for index, line in rows(exhibit):
        if cores and (line == str(cores) or _CORES.match(line)):
            yield Setting(exhibit.place(index), "cpu", "cores", str(cores), "", exhibit.host)
            return


def _processes(exhibit: Exhibit) -> Iterator[Fact]:
    asked = ran(exhibit, "ps", "pgrep") and not ran(exhibit, "docker", "crictl", "nerdctl", "podman")
    for index, line in rows(exhibit):
        place = exhibit.place(index)
        words = line.split(None, 2)
        if len(words) == 3 and words[1].isdecimal() and (match := _AUX.match(line)):
            yield Process(place, match[3], int(match[1]), float(match[2]), exhibit.host)
        elif len(words) == 3 and words[1].isdecimal() and (match := _FULL.match(line)):
            yield Process(place, match[2], int(match[1]), None, exhibit.host)
        elif match := (_TOP.match(line) if words[0].isdecimal() else _PIDSTAT.match(line)):
            yield Process(place, match[3], int(match[1]), _decimal(match[2]), exhibit.host)
        elif (
            asked
            and "COMMAND" not in line
            and not line.startswith(("bird: ", "bird6: "))
            and " CMD" not in line
            and (match := _KNOWN.search(line))
        ):
            command = line[line.rfind(" ", 0, match.start(1)) + 1 :]
            yield Process(place, command, int(words[0]) if words[0].isdecimal() else None, None, exhibit.host)


def _elapsed(exhibit: Exhibit) -> Iterator[Fact]:
    for index, line in rows(exhibit):
        match = _REAL.search(line) if line.startswith("real") or line.endswith(("total", "elapsed")) else None
        if match:
            seconds = 60 * int(match[1] or match[3] or 0) + _decimal(match[2] or match[4])
            yield Setting(exhibit.place(index), "elapsed", exhibit.command, f"{seconds:.3f}", "", exhibit.host)


def _disks(exhibit: Exhibit) -> Iterator[Fact]:
    inodes = "IUse%" in exhibit.text or bool(re.search(r"\bdf\s+-\w*i", exhibit.command))
    for index, line in rows(exhibit):
        if line.startswith("Filesystem"):
            inodes = "IUse%" in line
            continue
        match = _DF.match(line) if "% /" in line or "%\t/" in line or "%  " in line else None
        if match:
            yield Disk(exhibit.place(index), match[6], int(match[5]), inodes, exhibit.host)


def _memory(exhibit: Exhibit) -> Iterator[Fact]:
    for index, line in rows(exhibit):
        words = line.split()
        place = exhibit.place(index)
        if line.startswith("Mem:") and len(words) >= 4 and words[1][0].isdigit():
            names = ("total", "used", "free")
            for name, value in zip(names, words[1:4], strict=True):
                yield Setting(place, "memory", name, value, "", exhibit.host)
            if len(words) >= 7:
                yield Setting(place, "memory", "available", words[-1], "", exhibit.host)
        elif line.startswith("Swap:") and len(words) >= 2 and words[1][0].isdigit():
            yield Setting(place, "swap", "total", words[1], "", exhibit.host)
        elif match := _SWAP.match(line):
            yield Setting(place, "swap", match[1], match[2], "", exhibit.host)
