"""One child for each machine goes there, asks, and tells what it heard; all of them at the same time."""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Final, NamedTuple

from tortie.host.links import addressed_links
from tortie.host.namespaces import Kind, enter
from tortie.host.netlink import Netlink
from tortie.lab.evidence.asking import Command, Means, ask_all
from tortie.lab.evidence.questions import Answer, Question
from tortie.lab.launch import die_with

ALL_S: Final = 90.0  # for all of one machine's answers
_LINK_S: Final = 2.0
_PIECE: Final = 1 << 16

Follow = Callable[[Sequence[Answer]], Sequence[Question]]


class Errand(NamedTuple):
    """Where to go, and what to ask there."""

    host: str  # whose prompt it is
    folder: str  # of the bundle: nodes/node-1, cluster
    namespaces: Mapping[Kind, int]  # descriptors
    environment: Mapping[str, str]
    root: str
    questions: tuple[Question, ...]
    follow: Follow | None = None
    tools: frozenset[str] = frozenset()
    lab: str = ""  # its folder


class Heard(NamedTuple):
    errand: Errand
    answers: tuple[Answer, ...]
    whole: bool  # False: time was up


def send_all(errands: Sequence[Errand], command: Command) -> list[Heard]:
    """`command` is Tortie's own. Only for a process without threads."""
    sys.stdout.flush()
    sys.stderr.flush()
    parent, deadline = os.getpid(), time.monotonic() + ALL_S
    poll = select.poll()
    sent: dict[int, tuple[int, int, bytearray]] = {}
    told: dict[int, bytes | None] = {}
    try:
        for index, errand in enumerate(errands):
            ours, theirs = os.pipe()
            pid = os.fork()
            if pid == 0:
                _go(errand, command, parent, theirs)
            os.close(theirs)
            poll.register(ours, select.POLLIN)
            sent[ours] = index, pid, bytearray()
        while sent and (left_s := deadline - time.monotonic()) > 0:
            for number, _ in poll.poll(left_s * 1000 + 1):
                index, pid, text = sent[number]
                piece = os.read(number, _PIECE)
                text += piece
                if not piece:
                    poll.unregister(number)
                    del sent[number]
                    os.close(number)
                    os.waitpid(pid, 0)
                    told[index] = bytes(text)
    finally:
        for number, (_, pid, _) in sent.items():
            os.close(number)
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
    return [_heard(errand, told.get(index)) for index, errand in enumerate(errands)]


def is_cut_off(namespaces: Mapping[Kind, int], uplink: str) -> bool:
    """Whether the link by which people reach a machine is down."""
    pid = os.fork()
    if pid == 0:
        code = 0
        try:
            enter(namespaces)
            with Netlink() as kernel:
                found = addressed_links(kernel, time.monotonic() + _LINK_S)
            code = int(any(link.name == uplink and "up" not in link.flags for link in found))
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 1


def _go(errand: Errand, command: Command, parent: int, output: int) -> None:
    code = 1
    try:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        die_with(parent)
        enter(errand.namespaces)
        os.chdir("/")
        os.environ.clear()
        os.environ.update(errand.environment)
        os.environ["LC_ALL"] = "C"
        means = Means(errand.root, command, errand.tools, errand.lab)
        answers = ask_all(errand.questions, means)
        if errand.follow:
            answers += ask_all(errand.follow(answers), means)
        rows = [(*answer.question, answer.text, answer.late, answer.code) for answer in answers]
        with os.fdopen(output, "wb") as file:
            file.write(json.dumps(rows).encode())
        code = 0
    except BaseException as error:
        with suppress(OSError):
            os.write(2, f"{errand.host}: {type(error).__name__}: {error}\n".encode())
    finally:
        os._exit(code)


def _heard(errand: Errand, told: bytes | None) -> Heard:
    if not told:
        return Heard(errand, (), False)
    answers = [Answer(Question(*row[:-3]), *row[-3:]) for row in json.loads(told)]
    return Heard(errand, tuple(answers), True)
