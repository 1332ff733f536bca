"""A child process under watch: real processes, real signals, and a parent that is killed."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.support.health_pages import DEADLINE_S, eventually

from tortie.host import child as child_module
from tortie.host.child import Child
from tortie.model.errors import TortieError


@contextmanager
def started(argv: Sequence[str], environment: Mapping[str, str] | None = None) -> Iterator[Child]:
    child = Child("part", argv, environment)
    child.start()
    try:
        yield child
    finally:
        child.stop(0)


@pytest.fixture(params=["with pidfd", "without pidfd"])
def kernel(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Old kernels and strict sandboxes have no descriptors for processes."""
    if request.param == "without pidfd":
        monkeypatch.setattr(child_module, "_pidfd_of", lambda _: None)
    return str(request.param)


def command_of(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode().strip()


def is_gone(pid: int) -> bool:
    """Ended, and at most not yet collected by whoever inherited it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def runs_as(child: Child, program: str) -> bool:
    return command_of(child.pid).split("/")[-1].startswith(program)


def test_it_runs_the_program_itself_under_the_number_it_tells() -> None:
    with started(["sleep", "3600"]) as child:
        eventually(lambda: runs_as(child, "sleep 3600"), "the launcher becomes the program")
        assert child.poll() is None


@pytest.mark.parametrize(
    ("script", "how"),
    [
        ("exit 0", "exited with status 0"),
        ("exit 3", "exited with status 3"),
        ("kill -9 $$", "was killed by signal 9"),
        ("kill -SEGV $$", "was killed by signal 11"),
    ],
)
def test_it_says_how_it_ended(kernel: str, script: str, how: str) -> None:
    with started(["sh", "-c", script]) as child:
        pid = child.pid
        eventually(lambda: child.poll() is not None, f"it ends, {kernel}")
        assert (child.poll(), child.pid) == (how, pid)


def test_its_descriptor_tells_an_event_loop_about_the_end() -> None:
    with started(["sleep", "3600"]) as child:
        descriptor = child.fileno()
        assert descriptor is not None
        assert select.select([descriptor], [], [], 0)[0] == []
        os.kill(child.pid, signal.SIGKILL)
        assert select.select([descriptor], [], [], DEADLINE_S)[0] == [descriptor]
        assert child.poll() == "was killed by signal 9"
        assert child.fileno() is None


def test_stopping_is_a_request_first(kernel: str, tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    script = f"trap 'exit 7' TERM; touch {ready}; while :; do sleep 0.05; done"
    with started(["sh", "-c", script]) as child:
        eventually(ready.exists, f"the child has set its trap, {kernel}")
        assert child.stop(DEADLINE_S) == "exited with status 7"
        assert child.stop(DEADLINE_S) == "exited with status 7"


def test_who_does_not_listen_is_killed_with_what_it_started(kernel: str, tmp_path: Path) -> None:
    grandchild = tmp_path / "pid"
    script = f"trap '' TERM; sleep 3600 & echo $! > {grandchild}.new; mv {grandchild}.new {grandchild}; sleep 3600"
    with started(["sh", "-c", script]) as child:
        eventually(grandchild.exists, f"the child has a child, {kernel}")
        assert child.stop(0.1) == "was killed by signal 9"
        eventually(lambda: is_gone(int(grandchild.read_text())), "its own child is gone, too")


def test_it_can_be_started_again(kernel: str) -> None:
    with started(["sleep", "3600"]) as child:
        first = child.pid
        child.stop(DEADLINE_S)
        assert child.poll() == "was killed by signal 15", kernel
        child.start()
        assert child.poll() is None
        assert child.pid != first


def test_before_the_start_there_is_nothing() -> None:
    child = Child("part", ["sleep", "3600"])
    assert (child.pid, child.poll(), child.fileno(), child.stop(1)) == (0, None, None, None)


def test_the_program_notices_nothing_of_its_launcher(tmp_path: Path) -> None:
    found = tmp_path / "found"
    script = f"env | grep -v -e ^PWD= -e ^_= -e ^SHLVL= | sort > {found}; grep SigIgn /proc/self/status >> {found}"
    for environment in ({"PATH": os.defpath, "LANG": "C"}, {"PATH": os.defpath, "LC_CTYPE": "POSIX"}):
        with started(["sh", "-c", script], environment) as child:
            eventually(lambda child=child: child.poll() is not None, "it ends")  # type: ignore[misc]
        *lines, ignored = found.read_text().splitlines()
        assert lines == [f"{name}={value}" for name, value in sorted(environment.items())]
        assert int(ignored.split()[1], 16) & ~_C_LIBRARYS_OWN == _ignored_from_outside() & ~_C_LIBRARYS_OWN


# glibc keeps two signals to itself, and has whoever it spawns ignore them.
_C_LIBRARYS_OWN = 1 << 31 | 1 << 32


def _ignored_from_outside() -> int:
    """What whoever started the tests had us ignore, as a shell does for jobs in the background."""
    (line,) = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("SigIgn:")]
    by_python = (signal.SIGPIPE, signal.SIGXFSZ)
    return int(line.split()[1], 16) & ~sum(1 << (number - 1) for number in by_python)


@pytest.mark.parametrize("program", ["/nowhere/bird", "no-such-program", __file__, "/"])
def test_a_program_that_cannot_be_run_is_an_error_at_once(program: str) -> None:
    child = Child("bird", [program])
    with pytest.raises(TortieError) as caught:
        child.start()
    assert program in caught.value.what
    assert caught.value.fix
    assert child.pid == 0


def test_it_dies_with_its_parent() -> None:
    script = """
import sys, time
from tortie.host.child import Child
child = Child("part", ["sleep", "3600"])
child.start()
print(child.pid, flush=True)
time.sleep(3600)
"""
    parent = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    try:
        pid = int(parent.stdout.readline())
        eventually(lambda: command_of(pid).endswith("sleep 3600"), "the child runs")
        parent.send_signal(signal.SIGKILL)
        parent.wait(DEADLINE_S)
        eventually(lambda: is_gone(pid), "the child has died with its parent")
    finally:
        parent.kill()
        parent.wait()
        parent.stdout.close()
