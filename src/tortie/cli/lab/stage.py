"""Where a play is performed: what is said, what is typed, what is answered; on the terminal and in the recording."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, NamedTuple

from tortie.cli.lab.cast import Cast, styled
from tortie.cli.lab.talk import Talk, say_aside
from tortie.lab.plays.play import Show
from tortie.lab.plays.showing import WIDTH, shown, told_lines, typed_lines
from tortie.lab.registry import DEFAULT_NAME
from tortie.lab.words import Pair
from tortie.model.measure import columns, cut_to_columns

_COMMAND_S: Final = 100.0
_ENDING_S: Final = 20.0  # for a command that is interrupted, to put in order what it has begun
_AGAIN_S: Final = 0.5
_TICK_S: Final = 1.0
_LOCALE: Final = {"en": "C.UTF-8", "zh": "zh_CN.UTF-8"}
_POD: Final = re.compile(r"\{pod(?: (\S+))?\}")
_STYLES: Final = {"bold": "1", "command": "32", "told": "36"}  # of a terminal
_WAITS: Final = Pair("until it is as told", "等待出现预期的结果")
_WORKS: Final = Pair("until the command has ended", "等待命令执行完毕")


class Typed(NamedTuple):
    command: str
    code: int
    output: str
    seconds: float
    as_told: bool

    def as_json(self) -> dict[str, Any]:
        return {
            "command": self.command,
            "exit_code": self.code,
            "output": self.output,
            "seconds": round(self.seconds, 1),
            "as_told": self.as_told,
        }


class Stage:
    def __init__(self, talk: Talk, lab: str, node: str, cast: Cast | None) -> None:
        self._talk = talk
        self._lab = lab
        self._node = node
        self._cast = cast
        self._child: subprocess.Popen[bytes] | None = None
        self._waiting = _Waiting(talk)
        self._blank = True
        self._coloured = talk.colour("", "bold") != ""

    def headline(self, text: str) -> None:
        self._write(text + "\n" + "═" * min(WIDTH, columns(text)) + "\n", "bold")

    def heading(self, number: int, text: str) -> None:
        line = f"── {number}  {text} "
        self._gap()
        self._write(line + "─" * max(0, WIDTH - columns(line)) + "\n", "bold")

    def tell(self, text: str) -> None:
        if text:
            self._gap()
            self._write("\n".join(told_lines(text)) + "\n", "told")
            self._gap()

    def end(self, text: str) -> None:
        self.tell(text)

    def type(self, show: Show) -> Typed:
        """The command as a person would type it, asked again until it says what it is to say."""
        words = self._words(show)
        lines = typed_lines(words, show)
        self._write("\n".join(lines) + "\n", "command")
        began = time.monotonic()
        what = self._talk.pick(show.awaits or (_WAITS if show.until else _WORKS))
        most = show.within_s if show.until else _COMMAND_S

        def tick() -> None:
            self._waiting.show(what, time.monotonic() - began, most)

        while True:
            code, output = self._run(words, tick)
            seconds = time.monotonic() - began
            found = not show.until or re.search(show.until, output, re.MULTILINE) is not None
            as_told = found and show.code in (None, code)
            if as_told or not show.until or seconds > show.within_s:
                break
            tick()
            time.sleep(_AGAIN_S)
            if "{pod" in show.command:  # there may be another one by now
                words = self._words(show)
        self._waiting.clear()
        output = self._without_paths(output)
        for line in shown(output, show):
            self._write(line + "\n")
        return Typed(" ".join(("tortie", *words)), code, output, seconds, as_told)

    def clear(self) -> None:
        """Nothing is left of the play's lab, whatever has happened."""
        self._waiting.clear()
        child = self._child
        if child and child.poll() is None:
            with suppress(ProcessLookupError, subprocess.TimeoutExpired):
                child.send_signal(signal.SIGTERM)
                child.wait(_ENDING_S)
            child.kill()
        code, output = self._run(["lab", "down", "--name", self._lab])
        if code:
            say_aside(output)

    def _words(self, show: Show) -> list[str]:
        command = _POD.sub(lambda found: self._pod(found[1] or self._node), show.command)
        words = command.split()
        if self._lab != DEFAULT_NAME:
            words[2:2] = ["--name", self._lab]  # behind `lab COMMAND` and `doctor --lab`
        return words

    def _pod(self, node: str) -> str:
        words = ["lab", "kubectl", "--name", self._lab, "get", "pods", "-n", "kube-system", "-o", "json"]
        _, output = self._run(words)
        with suppress(ValueError, KeyError):
            pods = [pod for pod in json.loads(output)["items"] if pod["spec"].get("nodeName") == node]
            names = [
                pod["metadata"]["name"]
                for pod in sorted(pods, key=lambda pod: str(pod["metadata"].get("creationTimestamp")))
                if pod["metadata"].get("labels", {}).get("k8s-app") == "calico-node"
            ]
            if names:
                return str(names[-1])
        return "calico-node"

    def _run(self, words: list[str], tick: Callable[[], None] | None = None) -> tuple[int, str]:
        own = os.path.realpath(sys.argv[0])
        program = [own] if os.path.basename(own) == "tortie" else [sys.executable, "-P", "-m", "tortie"]
        environment = {**os.environ, "COLUMNS": str(WIDTH), "LC_ALL": _LOCALE[self._talk.language]}
        child = subprocess.Popen(
            [*program, *words],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        self._child = child
        deadline = time.monotonic() + _COMMAND_S
        while True:
            try:
                output, _ = child.communicate(timeout=_TICK_S)
            except subprocess.TimeoutExpired:
                if time.monotonic() > deadline + _ENDING_S:  # killed, and somebody else holds its output
                    return child.poll() or -signal.SIGKILL, ""
                if time.monotonic() > deadline:
                    child.kill()
                elif tick:
                    tick()
            else:
                return child.returncode, output.decode(errors="replace")

    def _gap(self) -> None:
        """One blank line, never two."""
        if not self._blank:
            self._write("\n")
            self._blank = True

    def _without_paths(self, text: str) -> str:
        """Where labs lie on this machine is of no interest to whoever sees the play: paths are those of the node."""
        folder = os.path.join(self._talk.labs, self._lab)
        return re.sub(rf"{re.escape(folder)}(?:/nodes/[^/\s]+)?", "", text)

    def _write(self, text: str, style: str = "") -> None:
        sgr = _STYLES.get(style, "")
        self._blank = False
        if not self._talk.json:
            sys.stdout.write(styled(text, sgr) if self._coloured else text)
            sys.stdout.flush()
        if self._cast:
            self._cast.add(text, sgr)


class _Waiting:
    """One line on standard error for somebody at a terminal: what is waited for, and for how long."""

    def __init__(self, talk: Talk) -> None:
        self._talk = talk
        self._shown = sys.stderr.isatty() and os.environ.get("TERM") != "dumb" and not talk.json
        self._last = 0

    def show(self, what: str, seconds: float, within_s: float) -> None:
        if not self._shown:
            return
        text = self._talk.say("play.waits", what=what, seconds=f"{seconds:.0f}", most=f"{within_s:.0f}")
        text = cut_to_columns(f"  {text}", WIDTH - 1)
        say_aside("\r" + text + " " * max(0, self._last - columns(text)))
        self._last = columns(text)

    def clear(self) -> None:
        if self._last:
            say_aside("\r" + " " * self._last + "\r")
            self._last = 0
