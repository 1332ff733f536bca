"""Forks a process into a machine of the lab: its namespaces, its log, its environment, and an end with its parent's.

Only for a process without threads: what happens between fork and exec, or instead of exec, is Python.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple, NoReturn

from tortie.host.namespaces import Kind, enter
from tortie.lab.title import show_as

_PR_SET_PDEATHSIG: Final = 1
_NOT_FOUND: Final = 127

_prctl: Final = ctypes.CDLL(None).prctl


class Place(NamedTuple):
    """What a process finds around itself."""

    namespaces: Mapping[Kind, int]  # descriptors
    log: str  # its standard output and error, appended to
    environment: Mapping[str, str]
    folder: str = "/"
    files_max: tuple[int, int] | None = None  # RLIMIT_NOFILE, where the parent has raised its own


class Life(NamedTuple):
    """What a child is to do. The result of `become` is its exit code; nothing of ours runs after it."""

    place: Place
    become: Callable[[], int]


def fork_all(lives: Sequence[Life]) -> list[int]:
    """Their process numbers.

    One fork follows the other with next to nothing between them: every page of memory that the parent touches after a
    fork is one that this child shares with nobody any more. And they begin together, when all are there: children that
    are at work already would take the time of the forks to come.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    parent = os.getpid()
    pids = [0] * len(lives)
    gate, latch = os.pipe()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        for index in range(len(lives)):
            pid = os.fork()
            if pid == 0:
                os.close(latch)
                _live(lives[index], parent, gate)
            pids[index] = pid
    finally:
        os.close(latch)
        os.close(gate)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return pids


def _live(life: Life, parent: int, gate: int) -> NoReturn:
    place, code = life.place, 1
    try:
        _forget_signals()
        die_with(parent)
        os.read(gate, 1)  # its end comes when nobody holds the latch any more
        os.setsid()
        _redirect(place.log)
        enter(place.namespaces)
        # The parent's objects still have these numbers, but live on unused in its frames until this process ends.
        os.closerange(3, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
        if place.files_max:
            resource.setrlimit(resource.RLIMIT_NOFILE, place.files_max)
        os.chdir(place.folder)
        os.environ.clear()
        os.environ.update(place.environment)
        code = life.become()
        sys.stdout.flush()
    except BaseException as error:
        _tell(error)
    finally:
        os._exit(code)


def _forget_signals() -> None:
    """Blocked since before the fork: a signal for this process must not ring the parent's bell."""
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def die_with(parent: int) -> None:
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it was faster
        os._exit(1)


def _redirect(log: str) -> None:
    nothing = os.open(os.devnull, os.O_RDONLY)
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    for source, target in ((nothing, 0), (output, 1), (output, 2)):
        os.dup2(source, target)


def _tell(error: BaseException) -> None:
    import traceback

    traceback.print_exception(error)
    sys.stderr.flush()


def become_program(argv: Sequence[str]) -> int:
    """Exec, with what Python has changed put back. Returns only if there is no such program."""
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execvpe(argv[0], list(argv), os.environ)
    except OSError as error:
        sys.stderr.write(f"{argv[0]}: {error.strerror}\n")
    return _NOT_FOUND


def become_command(command: Callable[[Sequence[str]], int], words: Sequence[str]) -> int:
    """Our own command without exec, so that what is loaded stays shared with the parent."""
    show_as(("tortie", *words))
    return command(words)
