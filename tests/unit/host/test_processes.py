"""Processes by their numbers: /proc/PID/stat, whatever they call themselves."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

import pytest

from tortie.host.processes import Stat, parsed_stat, stat_of

REST = "S 17 42 42 0 -1 4194560 96 0 0 0 3 1 0 0 20 0 1 0 123456 9000000 500 18446744073709551615"
MEMORY = "1 2 3 0 0 0 0 0 0 1 0 0 17 0 0 0 0 0 0 4 5 6 7000 7100 7100 7200 0"
NAMES = ["bird", "tmux: server", "a) S 1 (b", ")", "(", "((sd-pam))", "", "a\nb", "calico-kube-con"]


@pytest.mark.parametrize("name", NAMES)
def test_the_name_may_hold_anything(name: str) -> None:
    found = parsed_stat(f"42 ({name}) {REST} {MEMORY}\n".encode())
    assert found == Stat(name, "S", 17, 123456, (7000, 7100))


def test_names_that_are_no_text() -> None:
    assert parsed_stat(b"42 (\xff\xfe) " + REST.encode()).name == "\ufffd\ufffd"


def test_an_older_kernel_says_less() -> None:
    assert parsed_stat(f"42 (x) {REST}".encode()).arguments == (0, 0)


@pytest.mark.parametrize("text", [b"", b"42", b"42 (x", b"42 (x)", b"42 (x) S 1", b"42 (x) " + b"y " * 30])
def test_what_is_not_of_that_form(text: bytes) -> None:
    with pytest.raises(ValueError, match=r"stat|invalid literal"):
        parsed_stat(text)


def test_of_a_process_that_lives_and_of_one_that_does_not() -> None:
    ours = stat_of("self")
    assert ours is not None
    assert ours == stat_of(os.getpid())._replace(state=ours.state)  # type: ignore[union-attr]
    assert ours.parent == os.getppid()
    assert stat_of(os.getpid(), os.getpid()) is not None
    pid = os.fork()
    if pid == 0:
        ctypes.CDLL(None).prctl(15, b") Z 1 (", 0, 0, 0)
        os.kill(os.getpid(), 9)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    ended = stat_of(pid)
    assert ended is not None
    assert (ended.name, ended.state, ended.parent) == (") Z 1 (", "Z", os.getpid())
    os.waitpid(pid, 0)
    assert stat_of(pid) is None
    assert not Path(f"/proc/{pid}").exists()
