"""Somebody who waits at a terminal is told what is being read; nobody else is."""

from __future__ import annotations

import io
import signal
import sys
import threading
import time

import pytest

from tortie.cli.doctor import working
from tortie.cli.doctor.working import tell_how_to_end, told_to_wait

WAITED_S = 10.0  # until the word is there; it comes after milliseconds


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def at_terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Called by the tests themselves: a fixture's standard error is replaced before they run."""
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(working, "FIRST_S", 0.01)
    monkeypatch.setattr(working, "AGAIN_S", 0.01)
    return screen


def wait_for(screen: Terminal, words: str) -> None:
    end = time.monotonic() + WAITED_S
    while words not in screen.getvalue() and time.monotonic() < end:
        time.sleep(0.005)


@pytest.mark.parametrize(
    ("language", "name", "words"),
    [
        ("en", "bundle.tgz", "reading bundle.tgz: 0 s"),
        ("en", "", "reading the evidence: 0 s"),
        ("zh", "bundle.tgz", "正在读取 bundle.tgz：0 秒"),
    ],
)
def test_the_word_names_what_is_read_and_is_wiped_out(
    monkeypatch: pytest.MonkeyPatch, language: str, name: str, words: str
) -> None:
    terminal = at_terminal(monkeypatch)
    with told_to_wait(language, lambda: name):  # type: ignore[arg-type]
        wait_for(terminal, words)
    assert words in terminal.getvalue()
    last = terminal.getvalue().rsplit("\r", 2)[1:]
    assert "".join(last).strip() == ""


def test_a_short_work_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = at_terminal(monkeypatch)
    monkeypatch.setattr(working, "FIRST_S", 100.0)
    with told_to_wait("en", lambda: "a"):
        pass
    assert terminal.getvalue() == ""


def test_the_alarm_is_as_it_was_also_after_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    at_terminal(monkeypatch)
    before = signal.getsignal(signal.SIGALRM)
    with pytest.raises(ValueError, match="broken"), told_to_wait("en", lambda: "a"):
        raise ValueError("broken")
    assert signal.getsignal(signal.SIGALRM) is before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


@pytest.mark.parametrize("term", ["dumb", None])
def test_a_pipe_or_a_dumb_terminal_gets_no_word(term: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal() if term else io.StringIO()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", term or "xterm")
    before = signal.getsignal(signal.SIGALRM)
    with told_to_wait("en", lambda: "a"):
        assert signal.getsignal(signal.SIGALRM) is before
    assert screen.getvalue() == ""


def test_another_thread_gets_no_word(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = at_terminal(monkeypatch)

    def work() -> None:
        with told_to_wait("en", lambda: "a"):
            pass

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert terminal.getvalue() == ""


def test_who_types_is_told_how_to_end(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = at_terminal(monkeypatch)
    monkeypatch.setattr(sys, "stdin", Terminal())
    tell_how_to_end("en", ("file",))
    assert terminal.getvalue() == ""
    tell_how_to_end("en", ("-",))
    assert "Ctrl-D" in terminal.getvalue()
