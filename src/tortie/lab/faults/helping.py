"""Processes that faults run in a machine for as long as they last: they take CPU, ports and other programs' time.

Each ends with a signal and puts in order what it has to: a program that it stopped goes on.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any, Final, NoReturn

from tortie.host.kernel_settings import read_setting, write_setting
from tortie.lab.launch import die_with
from tortie.lab.title import show_as
from tortie.model.errors import TortieError

_LOOK_S: Final = 0.02
_AGAIN_S: Final = 0.2
_SETTLED_S: Final = 3.0  # a file that its owner looks after is right again by then
_REQUEST_S: Final = 2.0
_NOT_FOUND: Final = (
    b"HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\nContent-Length: 19\r\nConnection: close\r\n\r\n"
)
_NOT_FOUND_TEXT: Final = b"404 page not found\n"
_STATUS: Final = "https://127.0.0.1:2379/v3/maintenance/status"


class _End(BaseException):
    """Somebody heals."""


def listen_for_end() -> None:
    def end(*_: object) -> NoReturn:
        raise _End

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)


def until_ended(work: Callable[[], object]) -> int:
    with suppress(_End):
        work()
    return 0


_GREED: Final = -3  # a weight of 1,991 instead of 1,024


def hog(count: int = 1) -> None:
    """So many processes that do nothing but burn CPU, each of them worth two others.

    Whoever sleeps a lot gets more than its share, and a start that is nearly in time would now and then be.
    """
    parent = os.getpid()
    with suppress(OSError):  # who may not, is only as greedy as everybody else
        os.nice(_GREED)
    for _ in range(count - 1):
        if os.fork() == 0:
            die_with(parent)
            break
    while True:
        pass


def listen(port: int, address: str = "::", name: str = "node_exporter") -> None:
    """Takes a port under the name of another program; a request over HTTP is answered, but not as hoped."""
    show_as((name,))
    server = _listening(address, port)
    while True:
        connection, _ = server.accept()
        with connection, suppress(OSError):
            connection.settimeout(_REQUEST_S)
            if connection.recv(4096):
                connection.sendall(_NOT_FOUND + _NOT_FOUND_TEXT)


def _listening(address: str, port: int) -> socket.socket:
    """Tried until whoever has the port lets it go."""
    while True:
        server = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if ":" in address:
            server.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        try:
            server.bind((address, port))
            server.listen(16)
            return server
        except OSError:
            server.close()
            time.sleep(_LOOK_S)


def kill_again(program: str, pause_s: float = _LOOK_S) -> None:
    while True:
        for pid in processes_here(program):
            _send(pid, signal.SIGKILL)
        time.sleep(pause_s)


def edit_again(path: str, program: str, text: str) -> None:
    """A file that somebody's tool thinks is its own: written, and whoever reads it is restarted.

    Not if its owner has put it right by then: two tools that restart a program in turn are another trouble.
    """
    place = os.path.join(os.environ.get("TORTIE_ROOT", ""), path.lstrip("/"))
    right, told = "", set[int]()
    try:
        while True:
            with suppress(OSError):
                if (there := _text_of(place)) != text:
                    right = there or right
                    _replace(place, text)
            time.sleep(_SETTLED_S)
            with suppress(OSError):
                if _text_of(place) == text:
                    for pid in set(processes_here(program)) - told:
                        told.add(pid)
                        _send(pid, signal.SIGKILL)
    finally:
        with suppress(OSError):
            if right and _text_of(place) == text:
                _replace(place, right)


def _text_of(path: str) -> str:
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def _replace(path: str, text: str) -> None:
    with open(f"{path}.new", "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(f"{path}.new", path)


def stop_again(program: str) -> None:
    """Also each new one, as soon as it appears."""
    stopped: set[int] = set()
    try:
        while True:
            for pid in processes_here(program):
                if pid not in stopped:
                    _send(pid, signal.SIGSTOP)
                    stopped.add(pid)
            time.sleep(_LOOK_S)
    finally:
        for pid in processes_here(program):
            _send(pid, signal.SIGCONT)


def pause_again(program: str, stop_s: float, run_s: float, *, leader: bool = False) -> None:
    """Again and again; `leader`: only while this member of etcd leads the others."""
    try:
        while True:
            if not leader or _leads():
                for pid in processes_here(program):
                    _send(pid, signal.SIGSTOP)
                time.sleep(stop_s)
                for pid in processes_here(program):
                    _send(pid, signal.SIGCONT)
            time.sleep(run_s)
    finally:
        for pid in processes_here(program):
            _send(pid, signal.SIGCONT)


def _leads() -> bool:
    """As the member itself says."""
    import ssl
    import urllib.request

    ca, certificate, key = (os.environ.get(f"ETCD_{name}_FILE", "") for name in ("CA_CERT", "CERT", "KEY"))
    try:
        context = None
        if ca:
            context = ssl.create_default_context(cafile=ca)
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE  # it is our own machine
            context.load_cert_chain(certificate, key)
        address = _STATUS if ca else _STATUS.replace("https", "http")
        request = urllib.request.Request(address, data=b"{}", method="POST")
        with urllib.request.urlopen(request, timeout=_REQUEST_S, context=context) as answer:
            told: dict[str, Any] = json.load(answer)
    except (OSError, ValueError):
        return False
    return bool(told.get("leader")) and told.get("leader") == told.get("header", {}).get("member_id")


def sysctl_again(key: str, value: str) -> None:
    """Whoever sets it otherwise finds it changed back, as by a tool that hardens machines."""
    path = key if "/" in key else key.replace(".", "/")
    while True:
        if read_setting(path) not in (None, value):
            with suppress(TortieError):
                write_setting(path, value)
        time.sleep(_AGAIN_S)


def say(path: str, pause_s: float, lines: Sequence[str]) -> None:
    """Lines into somebody else's journal; they are taken out again at the end."""
    root = os.environ.get("TORTIE_ROOT", "")
    place = os.path.join(root, path.lstrip("/"))
    said: list[bytes] = []
    try:
        while True:
            for line in lines:
                now = time.time()
                micros = f"{now % 1:.6f}"[2:]
                times = {
                    "time": f"{time.strftime('%m%d %H:%M:%S', time.localtime(now))}.{micros}",
                    "rfc": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now)),
                    "pid": f"{os.getpid():7d}",
                }
                text = line
                for name, value in times.items():
                    text = text.replace("{" + name + "}", value)
                text = text.replace(" ", "", 1) if text[1:2] == " " and text[0] in "IWEF" else text
                said.append(text.encode())
                with suppress(OSError), open(place, "ab") as file:
                    file.write(said[-1] + b"\n")
            time.sleep(pause_s)
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        _take_out(place, set(said))


def _take_out(path: str, lines: set[bytes]) -> None:
    with suppress(OSError):
        with open(path, "rb") as file:
            kept = [line for line in file.read().splitlines(keepends=True) if line.rstrip(b"\n") not in lines]
        with open(path, "wb") as file:
            file.writelines(kept)


def processes_here(name: str) -> Iterator[int]:
    """Of that name and in the network of the calling process: those of this machine of the lab."""
    ours = os.readlink("/proc/self/ns/net")
    for entry in os.listdir("/proc"):
        if entry.isdigit() and int(entry) != os.getpid():
            with suppress(OSError), open(f"/proc/{entry}/comm", encoding="utf-8", errors="replace") as file:
                if file.read().strip() == name and os.readlink(f"/proc/{entry}/ns/net") == ours:
                    yield int(entry)


def _send(pid: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)
