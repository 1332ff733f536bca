"""Judgement on the machine around a node: swap, clock, memory, load, folders, BIRD."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from tortie.node.checks import Check

if TYPE_CHECKING:
    from tortie.host.system import Clock, Folder, Load, Memory, Program, SwapArea

MACHINE: Final = "machine"
FOLDERS: Final = "folders"
SPACE: Final = "free space"
BIRD: Final = "bird"

MEGABYTE: Final = 1024 * 1024
MEMORY_LEAST: Final = 128 * MEGABYTE  # an agent, BIRD, and the page cache that keeps both quick
LOAD_PER_CORE_MOST: Final = 4.0
# Shares of the last minute. CPU counts when somebody waits, the others when everybody does.
PRESSURE_MOST: Final = {("cpu", "some"): 75.0, ("memory", "full"): 25.0, ("io", "full"): 50.0}
SPACE_LEAST: Final = 100 * MEGABYTE
SPACE_LEAST_RUN: Final = 10 * MEGABYTE  # in /run there are sockets and small records only, and it is often small
EARLIEST: Final = 1767225600.0  # 2026-01-01: no Tortie is older
_CLOCK_SLACK_S: Final = 120.0
_DAY_S: Final = 86400.0
_CLOCK_FIX: Final = (
    "set the clock and keep it: systemctl enable --now chrony (or systemd-timesyncd), "
    "then restart what started with the wrong time"
)


def swap(areas: Sequence[SwapArea] | None) -> Check:
    if areas is None:
        return Check("swap", MACHINE, "SKIP", "/proc/swaps cannot be read")
    if not areas:
        return Check("swap", MACHINE, "OK", "off")
    shown = ", ".join(f"{area.name} ({_size(area.kilobytes * 1024)})" for area in areas)
    seen = f"on: {shown}; kubelet refuses to run with it unless failSwapOn is false"
    units = " ".join(f"'{swap_unit(area.name)}'" for area in areas)
    fix = (
        f"swapoff -a; to keep it off over a reboot, comment out its line in /etc/fstab and run: systemctl mask {units} "
        "(systemd also turns on partitions of the GPT type swap by itself)"
    )
    return Check("swap", MACHINE, "WARN", seen, fix)


def swap_unit(path: str) -> str:
    """The unit by which systemd turns it on: slashes become dashes, so a dash has to be escaped."""
    name = path.strip("/")
    escaped = "".join("-" if sign == "/" else sign if _is_plain(sign) else _hexadecimal(sign) for sign in name)
    return (_hexadecimal(".") + escaped[1:] if escaped.startswith(".") else escaped) + ".swap"


def _is_plain(sign: str) -> bool:
    return sign.isascii() and (sign.isalnum() or sign in ":_.")


def _hexadecimal(sign: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in sign.encode())


def date(now: float, installed: float | None, files: Mapping[str, float | None]) -> Check:
    """A clock before this program was installed is wrong; so is one behind files that this machine wrote itself."""
    built = max(EARLIEST, installed or 0.0)
    shown = _spoken(now)
    if now < built - _DAY_S:
        seen = f"{shown}, before this program was installed ({_spoken(built)})"
        return Check("date", MACHINE, "WARN", f"{seen}: certificates and tokens will not be valid yet", _CLOCK_FIX)
    for path, written in files.items():
        if written is not None and written > now + _CLOCK_SLACK_S:
            seen = f"{shown}, but {path} was written at {_spoken(written)}: the clock was set back"
            return Check("date", MACHINE, "WARN", seen, _CLOCK_FIX)
    return Check("date", MACHINE, "OK", shown)


def _spoken(seconds: float) -> str:
    try:
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S} UTC"
    except (ValueError, OverflowError, OSError):
        return f"{seconds:.0f} seconds after 1970"  # a file system may hold times beyond the calendar's end


def synchronised(clock: Clock) -> Check:
    if clock.synchronised is None:
        return Check("clock", MACHINE, "SKIP", clock.why, "on the host: timedatectl, or chronyc tracking")
    if clock.synchronised:
        return Check("clock", MACHINE, "OK", "the kernel says that it is synchronised")
    seen = "the kernel says that nobody keeps the clock synchronised; tokens and certificates need the right time"
    return Check("clock", MACHINE, "WARN", seen, "systemctl enable --now chrony (or systemd-timesyncd)")


def memory(found: Memory | None) -> Check:
    if found is None:
        return Check("memory", MACHINE, "SKIP", "/proc/meminfo does not say what is available")
    seen = f"{_size(found.available)} of {_size(found.total)} available"
    if found.available >= MEMORY_LEAST:
        return Check("memory", MACHINE, "OK", seen)
    fix = f"free at least {_size(MEMORY_LEAST)}: stop or limit what uses most (ps aux --sort=-rss | head)"
    return Check("memory", MACHINE, "WARN", f"{seen}: the kernel may kill the node for the lack of it", fix)


def load(found: Load | None) -> Check:
    if found is None:
        return Check("load", MACHINE, "SKIP", "the load average cannot be read")
    cores = f"{found.cores} core{'s' if found.cores != 1 else ''}"
    seen = f"{found.one:.2f}, {found.five:.2f}, {found.fifteen:.2f} on {cores}"
    if found.one <= LOAD_PER_CORE_MOST * found.cores:
        return Check("load", MACHINE, "OK", seen)
    why = "a node may start too slowly for its liveness probe and be killed for ever"
    fix = "find and limit or move what makes it (top, iostat -x 1 3); give the node a CPU request and a startupProbe"
    return Check("load", MACHINE, "WARN", f"{seen}: {why}", fix)


def pressure(shares: Mapping[str, Mapping[str, float]]) -> Check:
    high = [
        f"{resource} ({kind} {shares[resource][kind]:.0f} %)"
        for (resource, kind), most in PRESSURE_MOST.items()
        if shares.get(resource, {}).get(kind, 0.0) > most
    ]
    if high:
        seen = f"in the last minute work waited for {', '.join(high)}"
        return Check("pressure", MACHINE, "WARN", seen, "find what uses it: top, iostat -x 1 3, systemd-cgtop")
    some = ", ".join(f"{resource} {kinds.get('some', 0.0):.0f} %" for resource, kinds in shares.items())
    return Check("pressure", MACHINE, "OK", f"time waited in the last minute: {some}")


def folder(found: Folder, name: str) -> Check:
    if not found.trouble:
        seen = "writable" if found.exists else f"not there yet; can be made in {found.tried}"
        return Check(name, FOLDERS, "OK", seen)
    where = found.path if found.exists else f"{found.path} is not there, and {found.tried}"
    if found.read_only:
        seen = f"{where} is on a read-only file system"
        return Check(name, FOLDERS, "FAIL", seen, f"mount -o remount,rw, or mount a writable folder at {found.path}")
    seen = f"{where} cannot be written to: {found.trouble}"
    fix = (
        f"run as root, or: mkdir -p {found.path} && chown the user of the node; in a container, mount it from the host"
    )
    if found.trouble == "not a folder":
        fix = f"move the file {found.tried} away"
    return Check(name, FOLDERS, "FAIL", seen, fix)


def space(found: Folder, names: Sequence[str]) -> Check:
    """Once for each file system, whatever folders of ours are on it."""
    least = SPACE_LEAST_RUN if all(_is_small(name) for name in names) else SPACE_LEAST
    if found.free is None:
        return Check(names[0], SPACE, "SKIP", f"the file system of {found.tried} does not tell")
    seen = f"{_size(found.free)}" + (f", shared with {', '.join(names[1:])}" if names[1:] else "")
    if found.free >= least:
        return Check(names[0], SPACE, "OK", seen)
    fix = f"free at least {_size(least)} there: du -xh --max-depth=2 {found.tried} | sort -h | tail"
    return Check(names[0], SPACE, "WARN", f"{seen}: records and logs need room", fix)


def _is_small(name: str) -> bool:
    return name.startswith(("/run", "/var/run", "/etc"))


def bird(program: Program | None, backend: str) -> Check:
    needed = backend == "bird"
    install = "apt-get install bird2 (or bird of at least 2.0 from your distribution), with its service disabled"
    if program is None:
        if needed:
            return Check("version", BIRD, "FAIL", "bird is not installed, and the backend is bird", install)
        return Check("version", BIRD, "OK", f"not installed; CALICO_NETWORKING_BACKEND={backend} needs none")
    if program.failure:
        seen = f"{program.path} does not say its version: {program.failure}"
        return Check("version", BIRD, "FAIL" if needed else "WARN", seen, install)
    numbers = re.search(r"BIRD version v?(\d+)\.(\d+)[\w.+-]*", program.output)
    if not numbers:
        first = (program.output.splitlines() or ["nothing"])[0]
        return Check("version", BIRD, "WARN", f"{program.path} says: {first}", install)
    seen = f"{numbers[0].removeprefix('BIRD version ')} ({program.path})"
    if int(numbers[1]) >= 2:
        return Check("version", BIRD, "OK", seen)
    return Check("version", BIRD, "WARN", f"{seen}; Tortie writes configuration for 2.0 and later", install)


def _size(count: int) -> str:
    if count < MEGABYTE:
        return f"{count / 1024:.0f} kB"
    return f"{count / MEGABYTE:.0f} MB" if count < 1024 * MEGABYTE else f"{count / (1024 * MEGABYTE):.1f} GB"
