"""`tortie lab start`, `stop` and `logs`: what runs in one machine of the lab."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from typing import Any, Final

from tortie.cli.lab.talk import Talk, print_json, spoken
from tortie.lab.client import KeeperClient
from tortie.lab.failures import LabFailure
from tortie.lab.registry import LabFolder

_FORMS: Final = ("text", "json")
_END_S: Final = 15.0
_LOOK_S: Final = 0.05
_FOLLOW_S: Final = 0.2
_ENDS_NOBODY: Final = {signal.SIGSTOP, signal.SIGTSTP, signal.SIGCONT, signal.SIGHUP, signal.SIGCHLD, signal.SIGWINCH}
_PIECE: Final = 1 << 16


def start(*, name: str | None, lang: str | None, output: str, color: str, machine: str) -> int:
    def work(talk: Talk) -> int:
        with closing(talk.keeper(talk.folder())) as keeper:
            done = keeper.ask("start", machine=machine)
        if talk.json:
            print_json({"machine": machine, **done})
        else:
            key = "start.done" if done["started"] else "start.runs" if done["pid"] else "start.nothing"
            sys.stdout.write(talk.say(key, machine=machine, pid=done["pid"]) + "\n")
        return 0

    return spoken(work, name=name, lang=lang, output=output, color=color, forms=_FORMS)


def stop(*, name: str | None, lang: str | None, output: str, color: str, machine: str, signal_name: str) -> int:
    def work(talk: Talk) -> int:
        number = _signal(signal_name)
        with closing(talk.keeper(talk.folder())) as keeper:
            pid = keeper.ask("signal", machine=machine, signal=int(number))["pid"]
            ends = pid is not None and number not in _ENDS_NOBODY
            if ends:
                _wait_end(keeper, machine, number, pid)
        if talk.json:
            print_json({"machine": machine, "pid": pid, "signal": number.name, "ended": ends})
        else:
            key = "stop.idle" if pid is None else "stop.done" if ends else "stop.sent"
            sys.stdout.write(talk.say(key, machine=machine, pid=pid, signal=number.name) + "\n")
        return 0

    return spoken(work, name=name, lang=lang, output=output, color=color, forms=_FORMS)


def _signal(text: str) -> signal.Signals:
    with suppress(KeyError):
        return signal.Signals[f"SIG{text.upper().removeprefix('SIG')}"]
    with suppress(ValueError):
        return signal.Signals(int(text))
    raise LabFailure("bad-choice", flag="--signal", text=text, choices="TERM, KILL, STOP, CONT, HUP, …")


def _wait_end(keeper: KeeperClient, machine: str, number: signal.Signals, pid: int) -> None:
    """Of that process: a kubelet may have started the next one before anybody looked."""
    deadline = time.monotonic() + _END_S
    while (process := _process(keeper, machine)) and process["pid"] == pid:
        if time.monotonic() > deadline:
            told = {"machine": machine, "seconds": f"{_END_S:.0f}", "signal": number.name, "pid": process["pid"]}
            raise LabFailure("does-not-end", **told)
        time.sleep(_LOOK_S)


def _process(keeper: KeeperClient, machine: str) -> dict[str, Any] | None:
    """What runs there, or None."""
    for told in keeper.ask("status")["machines"]:
        if told["name"] == machine and told["process"] and told["process"]["running"]:
            process: dict[str, Any] = told["process"]
            return process
    return None


def logs(
    *, name: str | None, lang: str | None, output: str, color: str, machine: str, follow: bool, tail: str | None
) -> int:
    def work(talk: Talk) -> int:
        folder = talk.folder()
        lines = None if tail is None else _lines(tail)
        path = _log_of(folder, machine)
        with open(path, "rb") as file:
            written = b"".join(_last_lines(file.read(), lines))
            if talk.json:
                if follow:
                    raise LabFailure("no-json-follow")
                print_json({"machine": machine, "lines": written.decode(errors="replace").splitlines()})
                return 0
            sys.stdout.buffer.write(written)
            sys.stdout.flush()
            while follow and os.path.exists(path):
                piece = file.read(_PIECE)
                if piece:
                    sys.stdout.buffer.write(piece)
                    sys.stdout.flush()
                else:
                    time.sleep(_FOLLOW_S)
        return 0

    return spoken(work, name=name, lang=lang, output=output, color=color, forms=_FORMS)


def _lines(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise LabFailure("bad-number", flag="--tail", text=text, example="--tail 20")
    return int(text)


def _log_of(folder: LabFolder, machine: str) -> str:
    """Also of a lab that died: its folder is still there."""
    record = folder.read() or {}
    machines = [each["name"] for each in record.get("plan", {}).get("machines", ())]
    if machine == "keeper":
        return folder.log
    if machine not in machines:
        raise LabFailure("unknown-machine", lab=folder.name, machine=machine, machines=", ".join(machines) or "-")
    path = folder.machine_log(machine)
    if not os.path.exists(path):
        raise LabFailure("no-log", machine=machine)
    return path


def _last_lines(text: bytes, count: int | None) -> Iterator[bytes]:
    if count is None:
        yield text
    elif count:
        yield b"".join(text.splitlines(keepends=True)[-count:])
