"""Who holds a TCP port of this network namespace, as /proc tells it: no tool is run, nothing heavy is imported.

The agent asks when its health port is taken, `tortie node checksystem` before a start.
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterable
from typing import Final, NamedTuple

_LISTEN: Final = "0A"
_COMMAND_MAX: Final = 200


class Holder(NamedTuple):
    pid: int  # 0 when the process cannot be seen: not ours and we are not root, or in another PID namespace
    program: str  # "" when the process cannot be seen
    address: str  # where it holds the port: 127.0.0.1, 0.0.0.0, ::
    command: str = ""  # the command line
    uid: int = 0  # whose socket it is; known even when the process is not


class _Socket(NamedTuple):
    address: str
    inode: str
    uid: int
    listens: bool


def holders(port: int) -> tuple[Holder, ...]:
    """Every process that has the port: those that listen on it, or where nobody listens those that use it.

    The second kind matters because an outgoing connection that happens to have this port also keeps others from it.
    """
    sockets = _sockets(port)
    wanted = [each for each in sockets if each.listens] or sockets
    owners = _owners({each.inode for each in wanted})
    found = {
        Holder(pid, _program(pid), each.address, _command(pid), each.uid)
        for each in wanted
        for pid in owners.get(each.inode, [0])
    }
    return tuple(sorted(found))


def describe_holder(port: int) -> str:
    """One phrase for a message: `nginx (pid 812, nginx -g daemon off;) on 0.0.0.0`; "" when the port is free."""
    return describe(holders(port))


def describe(found: Iterable[Holder]) -> str:
    """Workers of one program share a socket; they are told as one."""
    groups: dict[tuple[str, str], list[Holder]] = {}
    for holder in found:
        groups.setdefault((holder.program, holder.command if holder.pid else str(holder.uid)), []).append(holder)
    return " and ".join(_described(group) for group in groups.values())


def _described(group: list[Holder]) -> str:
    first = group[0]
    addresses = ", ".join(dict.fromkeys(holder.address for holder in group))
    if not first.pid:
        return f"a process of user {first.uid} that cannot be seen from here on {addresses}"
    pids = list(dict.fromkeys(str(holder.pid) for holder in group))
    label = f"pid {pids[0]}" if len(pids) == 1 else f"pids {', '.join(pids[:3])}" + (", ..." if len(pids) > 3 else "")
    command = f", {first.command}" if first.command not in ("", first.program) else ""
    return f"{first.program} ({label}{command}) on {addresses}"


def trouble_binding(address: str, port: int) -> OSError | None:
    """What the kernel says to a socket that wants the port; nothing is left behind, and nothing ever listens."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_STREAM) as trial:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            trial.bind((address, port))
    except OSError as error:
        return error
    return None


def _sockets(port: int) -> list[_Socket]:
    found = []
    for table in ("tcp", "tcp6"):
        for line in _lines(table):
            columns = line.split()
            address, _, number = columns[1].rpartition(":")
            # An inode of 0 is a connection that only waits for its end: it belongs to nobody any more.
            if int(number, 16) == port and columns[9] != "0":
                found.append(_Socket(_address(address), columns[9], int(columns[7]), columns[3] == _LISTEN))
    return found


def _lines(table: str) -> list[str]:
    """Of this thread's namespace, which need not be that of the process."""
    for task in ("thread-self", "self"):
        try:
            with open(f"/proc/{task}/net/{table}", encoding="utf-8") as file:
                return file.read().splitlines()[1:]
        except OSError:
            continue  # no IPv6, or a kernel before 3.17 without thread-self
    return []


def _address(digits: str) -> str:
    """The kernel prints 32-bit words in its own byte order."""
    raw = bytes.fromhex(digits)
    if sys.byteorder == "little":
        raw = b"".join(raw[start : start + 4][::-1] for start in range(0, len(raw), 4))
    return socket.inet_ntop(socket.AF_INET6 if len(raw) == 16 else socket.AF_INET, raw)


def _owners(inodes: set[str]) -> dict[str, list[int]]:
    """Processes by socket. All processes are looked at: a listening socket is often shared by forked workers."""
    wanted = {f"socket:[{inode}]": inode for inode in inodes}
    owners: dict[str, list[int]] = {}
    if not wanted:
        return owners
    for pid in sorted(int(name) for name in os.listdir("/proc") if name.isdigit()):
        try:
            descriptors = os.listdir(f"/proc/{pid}/fd")
        except OSError:
            continue  # it ended meanwhile, or belongs to somebody else
        for descriptor in descriptors:
            try:
                target = os.readlink(f"/proc/{pid}/fd/{descriptor}")
            except OSError:
                continue
            if target in wanted and pid not in (pids := owners.setdefault(wanted[target], [])):
                pids.append(pid)
    return owners


def _program(pid: int) -> str:
    return _read(pid, "comm").strip()


def _command(pid: int) -> str:
    words = _read(pid, "cmdline").rstrip("\0").split("\0")
    # Anybody may put control characters into a command line, and this one ends on a person's terminal.
    text = "".join(sign if sign.isprintable() else "?" for sign in " ".join(words).strip())
    return text if len(text) <= _COMMAND_MAX else text[: _COMMAND_MAX - 3] + "..."


def _read(pid: int, name: str) -> str:
    if not pid:
        return ""
    try:
        with open(f"/proc/{pid}/{name}", encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""
