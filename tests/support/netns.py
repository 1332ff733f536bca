"""Network namespaces for tests: real links, addresses and routes, and nothing of them left behind.

with Namespace("host") as left, Namespace("host") as right:
    left.veth("eth0", right, "eth0")
    left.ip("addr", "add", "10.0.0.1/24", "dev", "eth0")
    network = left.call(observe)
"""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import json
import os
import pickle
import select
import shutil
import signal
import subprocess
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, ParamSpec, TypeVar

import pytest

P = ParamSpec("P")
T = TypeVar("T")

NAMED = Path("/var/run/netns")  # where `ip netns` keeps them
FILES = Path("/etc/netns")  # what `ip netns exec` puts over the files in /etc
COMMAND_TIMEOUT_S = 120.0  # for the slowest machine; a hundred labs are built within one `call`

_counter = itertools.count(1)


class Namespace:
    """A named network namespace with its loopback up; what was started or created in it ends with the block."""

    def __init__(self, topic: str = "test") -> None:
        self.name = f"tt-{topic}-{os.getpid()}-{next(_counter)}"
        self._started: list[subprocess.Popen[str]] = []

    def __enter__(self) -> Namespace:
        if os.geteuid() != 0:
            pytest.fail("network namespaces need root: run these tests as root, in a container or a virtual machine")
        if shutil.which("ip") is None:
            pytest.fail("network namespaces need the command `ip`: install iproute2")
        _ip("netns", "add", self.name)
        try:
            self.ip("link", "set", "lo", "up")
        except BaseException:
            self.delete()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.delete()

    def delete(self) -> None:
        for process in self._started:
            with process:  # closes its pipes and waits for it
                process.kill()
        for pid in _ip("netns", "pids", self.name).split():  # children of those, which would keep the namespace alive
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
        shutil.rmtree(FILES / self.name, ignore_errors=True)
        _ip("netns", "del", self.name)

    def ip(self, *words: object) -> str:
        """`ip` in the namespace; its standard output. Fails with what it wrote on standard error."""
        return _ip("-n", self.name, *words)

    def json(self, *words: object) -> Any:
        """What `ip -details -json` says."""
        return json.loads(self.ip("-details", "-json", *words) or "[]")

    def batch(self, *lines: str) -> None:
        """Many `ip` commands at the price of one process."""
        _run(["ip", "-n", self.name, "-batch", "-"], given="\n".join(lines) + "\n")

    def run(self, *command: object, check: bool = True) -> subprocess.CompletedProcess[str]:
        """A command in the namespace, with the files of `write_file` in /etc. Fails with its output if checked."""
        return _run(["ip", "netns", "exec", self.name, *map(str, command)], check=check)

    def popen(self, *command: object, **options: Any) -> subprocess.Popen[str]:
        """A process that runs until it ends by itself, or the namespace does. Its pid is the command's own."""
        process: subprocess.Popen[str] = subprocess.Popen(
            ["ip", "netns", "exec", self.name, *map(str, command)], text=True, **options
        )
        self._started.append(process)
        return process

    def call(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Runs a function in the namespace and returns, or raises, what it did.

        In a child process, because /proc/net shows the namespace of a process and not of a thread. So the function
        changes nothing in this process, and its result must be something that pickle takes.
        """
        ours, theirs = os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # later Pythons dislike a fork beside other threads
            pid = os.fork()
        if pid == 0:
            self._answer(theirs, function, *args, **kwargs)
        os.close(theirs)
        try:
            answer = _read_all(ours, f"{getattr(function, '__name__', function)} in {self.name}")
        except BaseException:
            os.kill(pid, signal.SIGKILL)
            raise
        finally:
            os.close(ours)
            os.waitpid(pid, 0)
        if not answer:
            pytest.fail(f"the process in {self.name} ended without an answer")
        fine, value = pickle.loads(answer)
        if not fine:
            raise value
        return value  # type: ignore[no-any-return]

    def _answer(self, pipe: int, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> None:
        """The child's life. It leaves by the side door: this process's fixtures are none of its business."""
        try:
            try:
                _enter(self.name)
                answer = pickle.dumps((True, function(*args, **kwargs)))
            except BaseException as error:
                error.add_note(f"in {self.name}:\n{traceback.format_exc()}")
                answer = _pickled_error(error)
            sys.stdout.flush()
            sys.stderr.flush()
            with open(pipe, "wb") as stream:
                stream.write(answer)
        finally:
            os._exit(0)

    def write_file(self, name: str, text: str) -> None:
        """A file of /etc, such as `hosts`, as `run`, `popen` and `call` shall see it. It must exist outside too."""
        path = FILES / self.name / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def veth(self, name: str, peer: Namespace, peer_name: str, *, up: bool = True) -> None:
        """A cable to another namespace (or to this one)."""
        self.ip(*("link", "add", name, "type", "veth", "peer", "name", peer_name, "netns", peer.name))
        if up:
            self.ip("link", "set", name, "up")
            peer.ip("link", "set", peer_name, "up")
            self.wait_up(name)
            peer.wait_up(peer_name)

    def wait_up(self, name: str) -> None:
        """Until the kernel says that a link carries packets: it works that out a moment later, on its own time."""
        deadline = time.monotonic() + COMMAND_TIMEOUT_S
        while self.json("link", "show", "dev", name)[0]["operstate"] != "UP":
            if time.monotonic() > deadline:
                pytest.fail(f"{name} in {self.name} does not come up")
            time.sleep(0.005)

    def bridge(self, name: str, *ports: str) -> None:
        self.ip("link", "add", name, "type", "bridge", "forward_delay", 0)
        for port in ports:
            self.ip("link", "set", port, "master", name)
        self.ip("link", "set", name, "up")

    def dummy(self, name: str) -> None:
        """A link that leads nowhere and is always up. Kernels without `dummy` get `ifb`, which behaves the same."""
        kind = "dummy" if has_kind("dummy") else "ifb"
        self.ip("link", "add", name, "type", kind)
        self.ip("link", "set", name, "up")


@contextlib.contextmanager
def host_and_router(topic: str) -> Iterator[tuple[Namespace, Namespace]]:
    """A machine with eth0 10.0.0.1/24, and the router 10.0.0.254 that its default route leads to."""
    with Namespace(topic) as host, Namespace("router") as router:
        host.veth("eth0", router, "port0")
        host.ip("addr", "add", "10.0.0.1/24", "dev", "eth0")
        router.ip("addr", "add", "10.0.0.254/24", "dev", "port0")
        host.ip("route", "add", "default", "via", "10.0.0.254")
        yield host, router


_kinds: dict[str, bool] = {}


def has_kind(kind: str) -> bool:
    """Whether this kernel knows a kind of link."""
    if kind not in _kinds:
        name = f"tt-kind-{os.getpid()}-{next(_counter)}"
        _ip("netns", "add", name)
        try:
            done = _run(["ip", "-n", name, "link", "add", "probe0", "type", kind], check=False)
        finally:
            _ip("netns", "del", name)
        _kinds[kind] = "Unknown device type" not in done.stderr
    return _kinds[kind]


def _ip(*words: object) -> str:
    return _run(["ip", *map(str, words)]).stdout


def _run(command: list[str], *, check: bool = True, given: str | None = None) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        command,
        input=given,
        stdin=subprocess.DEVNULL if given is None else None,
        capture_output=True,
        text=True,
        timeout=COMMAND_TIMEOUT_S,
        check=False,
    )
    if check and done.returncode != 0:
        raise AssertionError(f"{' '.join(command)} failed ({done.returncode}): {done.stderr}{done.stdout}")
    return done


_CLONE_NEWNS, _CLONE_NEWNET = 0x20000, 0x40000000
_MS_BIND, _MS_REC, _MS_SLAVE = 0x1000, 0x4000, 0x80000


def _enter(name: str) -> None:
    """As `ip netns exec` does it: the network, an own mount table, /sys anew, and the namespace's files in /etc."""
    libc = ctypes.CDLL(None, use_errno=True)

    def must(result: int, what: str) -> None:
        if result != 0:
            raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")

    descriptor = os.open(NAMED / name, os.O_RDONLY | os.O_CLOEXEC)
    must(libc.setns(descriptor, _CLONE_NEWNET), f"enter {name}")
    os.close(descriptor)
    must(libc.unshare(_CLONE_NEWNS), "a mount table of our own")
    must(libc.mount(b"", b"/", b"none", _MS_SLAVE | _MS_REC, None), "keep mounts to ourselves")
    must(libc.mount(b"sysfs", b"/sys", b"sysfs", 0, None), "/sys of this namespace")
    for path in sorted((FILES / name).glob("*")):
        must(libc.mount(bytes(path), b"/etc/" + path.name.encode(), b"none", _MS_BIND, None), f"/etc/{path.name}")


def _pickled_error(error: BaseException) -> bytes:
    """Errors that pickle cannot rebuild arrive as text, rather than hide what went wrong."""
    try:
        answer = pickle.dumps((False, error))
        pickle.loads(answer)
    except Exception:
        answer = pickle.dumps((False, AssertionError(f"{type(error).__name__}: {error}")))
    return answer


def _read_all(pipe: int, what: str) -> bytes:
    deadline = time.monotonic() + COMMAND_TIMEOUT_S
    chunks: list[bytes] = []
    while True:
        ready, _, _ = select.select([pipe], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            pytest.fail(f"no answer within {COMMAND_TIMEOUT_S:.0f} s from {what}")
        chunk = os.read(pipe, 65536)
        if not chunk:
            return b"".join(chunks)
        chunks.append(chunk)
