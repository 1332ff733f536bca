"""Questions asked where this process is: several at a time, none for longer than it may take. For a forked child.

Tortie's own command is called in a fork of this process, so that nothing is imported again; the tools that a lab's
kubelets give to people (kubectl, journalctl …) are Tortie's own, too.
"""

from __future__ import annotations

import os
import select
import shlex
import shutil
import signal
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final, NamedTuple

from tortie.host.processes import stat_of
from tortie.lab.evidence.questions import ROOT, Answer, Question
from tortie.lab.launch import die_with

EACH_S: Final = 10.0
AT_ONCE: Final = 8
_PIECE: Final = 1 << 16
_SHELL: Final = set("|<>&;\"'$*()`~?[]%")  # what only a shell understands
_PROCESSES: Final = "ps aux --sort=-%cpu | head -15"
_PROCESSES_MAX: Final = 15

Command = Callable[[Sequence[str]], int]


class Means(NamedTuple):
    """How answers are got here."""

    root: str
    command: Command  # Tortie's own, with words after `tortie`
    tools: frozenset[str] = frozenset()  # programs that are Tortie's own, and are told which lab is meant
    lab: str = ""  # its folder


class _Running:
    def __init__(self, question: Question, pid: int, output: int) -> None:
        self.question, self.pid, self.output = question, pid, output
        self.deadline = time.monotonic() + EACH_S
        self.text = bytearray()


def ask_all(questions: Sequence[Question], means: Means) -> list[Answer]:
    """Answers in the order of the questions; those whose program is not here are left out."""
    wanted = [each for each in questions if not each.needs or shutil.which(each.needs, path=os.environ.get("PATH"))]
    answers: dict[int, Answer] = {}
    waiting = list(enumerate(wanted))
    running: dict[int, tuple[int, _Running]] = {}
    poll = select.poll()
    while waiting or running:
        while waiting and len(running) < AT_ONCE:
            index, question = waiting.pop(0)
            begun = _begin(question, means)
            running[begun.output] = index, begun
            poll.register(begun.output, select.POLLIN)
        first = min(each.deadline for _, each in running.values())
        for number, _ in poll.poll(max(0.0, first - time.monotonic()) * 1000 + 1):
            if not _goes_on(running[number][1]):
                poll.unregister(number)
                index, ended = running.pop(number)
                answers[index] = _ended(ended, late=False)
        for number, (index, each) in list(running.items()):
            if time.monotonic() > each.deadline:
                poll.unregister(number)
                del running[number]
                answers[index] = _ended(each, late=True)
    return [answers[index] for index in sorted(answers)]


def _goes_on(each: _Running) -> bool:
    piece = os.read(each.output, _PIECE)
    room = each.question.limit - len(each.text)
    each.text += piece[: max(0, room)]
    return bool(piece) and room > 0


def _ended(each: _Running, *, late: bool) -> Answer:
    """Whatever it started goes with it: nothing of ours is left in the machine."""
    os.close(each.output)
    with suppress(ProcessLookupError, PermissionError):
        if late or len(each.text) >= each.question.limit:
            os.killpg(each.pid, signal.SIGKILL)
    code = _waited(each)
    return Answer(each.question, each.text.decode("utf-8", "replace"), late, code)


def _waited(each: _Running) -> int:
    """A program may close its output and go on; it gets the rest of its time."""
    while True:
        pid, status = os.waitpid(each.pid, os.WNOHANG)
        if pid:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > each.deadline:
            with suppress(ProcessLookupError):
                os.killpg(each.pid, signal.SIGKILL)
        time.sleep(0.001)


def _begin(question: Question, means: Means) -> _Running:
    command = question.real or question.command
    own = _own_words(command, means)
    output, theirs = os.pipe()
    try:
        pid = _forked(own, theirs, means) if own else _spawned(_program(command, means), theirs)
    finally:
        os.close(theirs)
    return _Running(question, pid, output)


def _own_words(command: str, means: Means) -> list[str]:
    words = command.split(maxsplit=1)
    return [command] if words[0] == "tortie" or words[0] in means.tools else []


def _program(command: str, means: Means) -> list[str]:
    if command == _PROCESSES:
        return ["ps", "u", "--sort=-%cpu", "-p", ",".join(map(str, own_processes()[:_PROCESSES_MAX]))]
    if _SHELL & set(command):
        return ["bash", "-c", command.replace(ROOT, shlex.quote(means.root))]
    return [word.replace(ROOT, means.root) for word in command.split()]


def _spawned(words: list[str], output: int) -> int:
    """Much cheaper than a fork, which would have to copy what it takes to find this process's memory."""
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_DUP2, output, 1),
        (os.POSIX_SPAWN_DUP2, output, 2),
    ]
    usual = (signal.SIGPIPE, signal.SIGINT)
    try:
        return os.posix_spawnp(words[0], words, os.environ, file_actions=actions, setsid=True, setsigdef=usual)
    except OSError as error:
        os.write(output, f"bash: {words[0]}: {error.strerror or error}\n".encode())
        return os.posix_spawnp("false", ["false"], os.environ, file_actions=actions, setsid=True)


def _forked(own: Sequence[str], output: int, means: Means) -> int:
    parent = os.getpid()
    pid = os.fork()
    if pid:
        return pid
    code = 127
    try:
        die_with(parent)
        os.setsid()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.closerange(3, 256)
        sys.stdout, sys.stderr = (open(number, "w", encoding="utf-8", closefd=False) for number in (1, 2))  # noqa: SIM115
        code = _become_own(own[0], means)
    except BaseException as error:
        with suppress(OSError):
            os.write(2, f"{type(error).__name__}: {error}\n".encode())
    finally:
        os._exit(code)


def _become_own(command: str, means: Means) -> int:
    own, pipe, rest = command.partition(" | ")
    words = shlex.split(own)
    if words[-1] == "2>/dev/null":
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        words.pop()
    behind = _filter(rest) if pipe else 0
    code = means.command(_words(words, means))
    _flush()
    if behind:
        os.close(1)
        os.waitpid(behind, 0)
    return code


def _words(words: list[str], means: Means) -> list[str]:
    program, *rest = words
    if program == "tortie":
        return rest
    labs, name = os.path.split(means.lab)
    os.environ["TORTIE_LAB_DIR"] = labs
    if program == "kubectl":
        return ["lab", "kubectl", "--name", name, "--", *rest]
    return ["lab", "tool", "--name", name, "--", *words]


def _filter(text: str) -> int:
    """`| tail -100` behind a command of ours: standard output leads there from now on."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.dup2(reading, 0)
        os.closerange(3, 256)
        os.execvp("bash", ["bash", "-c", text])
    os.close(reading)
    os.dup2(writing, 1)
    os.close(writing)
    return pid


def _flush() -> None:
    with suppress(OSError):
        sys.stdout.flush()
        sys.stderr.flush()


def own_processes() -> list[int]:
    """Of the machine that this process is in, but not those that ask: all machines of a lab share one /proc."""
    here = os.stat("/proc/self/ns/net").st_ino
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        with suppress(OSError):
            number = int(name)
            if os.stat(f"/proc/{name}/ns/net").st_ino == here and not _asks(number):
                found.append(number)
    return sorted(found) or [os.getpid()]


def _asks(pid: int) -> bool:
    """Whether it is the process that collects, or was started by it."""
    collector = os.getppid()
    while pid > 1:
        if pid == collector or pid == os.getpid():
            return True
        stat = stat_of(pid)
        if stat is None:
            raise ProcessLookupError(pid)
        pid = stat.parent
    return False
