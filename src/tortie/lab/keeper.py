"""The one process that a lab hangs on: it holds the machines, starts what runs in them, and answers commands.

A loop over sockets and signals, without threads, because it forks. Work that has to wait for something is a generator:
it is taken up again whenever something has happened, or after the time that it asked for.
"""

from __future__ import annotations

import os
import selectors
import signal
import socket
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final, NamedTuple

from tortie.lab.changing import WISHES
from tortie.lab.failures import LabFailure, as_message
from tortie.lab.protocol import Channel, Closed, Message, listening
from tortie.lab.registry import LabFolder
from tortie.lab.running import RunningLab, Tell, Work
from tortie.model.errors import TortieError

_END_S: Final = 5.0
_AGAIN_S: Final = 1.0


class Keeper:
    def __init__(self, folder: LabFolder, starter: Channel, lab: RunningLab) -> None:
        """`starter`: the command that wants the lab. If it goes before it has said `keep`, so does the lab."""
        self._folder = folder
        self._lab = lab
        self._starter: Channel | None = starter
        self._tasks: list[_Task] = []
        self._ends_for: Channel | None = None
        self._over = False
        self._abandoned = False
        self._selector = selectors.DefaultSelector()

    def run(self) -> bool:
        """Until it is told to end. Whether it ends because the command that wanted the lab has gone."""
        bell = _Bell()
        listener = listening(self._folder.socket)
        self._selector.register(listener, selectors.EVENT_READ, listener)
        self._selector.register(bell.fileno(), selectors.EVENT_READ, bell)
        if self._starter:
            self._selector.register(self._starter, selectors.EVENT_READ, self._starter)
        pause_s: float | None = None
        try:
            while not self._over:
                for key, _ in self._selector.select(pause_s):
                    self._hear(key.data)
                pause_s = self._go_on()
        finally:
            # Nobody shall find a keeper that has no lab any more.
            with suppress(OSError):
                os.unlink(self._folder.socket)
            listener.close()
            for task in self._tasks:
                task.work.close()
            left = self._lab.end(_END_S)
            self._tell_end(left)
        return self._abandoned

    def _tell_end(self, left: list[str]) -> None:
        if left:
            _log(f"still alive after {_END_S:.0f} s: {', '.join(left)}")
        if self._ends_for:
            with suppress(Closed):
                self._ends_for.send({"done": {"left": left}})

    def _hear(self, source: Any) -> None:
        if isinstance(source, _Bell):
            if source.rung():
                self._over = True
            self._lab.reap()
        elif isinstance(source, Channel):
            self._listen_to(source)
        else:
            with suppress(OSError):
                connection, _ = source.accept()
                channel = Channel(connection)
                self._selector.register(channel, selectors.EVENT_READ, channel)

    def _listen_to(self, channel: Channel) -> None:
        try:
            for message in channel.arrived():
                self._answer(channel, message)
        except Closed:
            self._hang_up(channel)

    def _hang_up(self, channel: Channel) -> None:
        if channel is self._starter:
            _log("the command that wanted this lab has gone before it was up: ending")
            self._over = self._abandoned = True
            return
        # Work that was asked for goes on, and tells nobody.
        self._selector.unregister(channel)
        channel.close()

    def _answer(self, channel: Channel, message: Message) -> None:
        try:
            done = self._done(channel, message)
        except TortieError as error:
            channel.send({"failure": as_message(error)})
        except Exception as error:
            _log_traceback()
            channel.send({"failure": as_message(self._defect(error))})
        else:
            if done is not None:
                channel.send({"done": done})

    def _done(self, channel: Channel, message: Message) -> dict[str, Any] | None:
        """The answer; None when it comes later."""
        match message.get("do"):
            case "status":
                return self._lab.status()
            case "enter":
                pod = message.get("pod")
                told, descriptors = (
                    self._lab.way_into_pod(str(pod)) if pod else self._lab.way_into(str(message.get("machine")))
                )
                channel.send({"done": told}, descriptors)
                return None
            case "start":
                return self._lab.start(str(message.get("machine")))
            case "signal":
                return self._lab.signal(str(message.get("machine")), int(message.get("signal", signal.SIGTERM)))
            case "pods":
                return self._lab.pods()
            case "pod-run":
                work = self._lab.run_pods(message["pods"], float(message["timeout_s"]), self._teller(channel))
                self._take_up(channel, "pod-run", work)
                return None
            case "pod-delete":
                work = self._lab.delete_pods(message["pods"], float(message["timeout_s"]))
                self._take_up(channel, "pod-delete", work)
                return None
            case "apply":
                if any(task.name == "apply" for task in self._tasks):
                    raise LabFailure("busy", name=self._folder.name)
                self._take_up(channel, "apply", self._lab.apply(message["plan"], self._teller(channel)))
                return None
            case wish if wish in WISHES:
                return self._lab.change(message)
            case "keep":
                self._starter = None if channel is self._starter else self._starter
                return {}
            case "down":
                self._ends_for, self._over = channel, True
                return None
            case other:
                raise TortieError(f"the keeper of the lab cannot do '{other}'", "it is of another version of Tortie")

    def _teller(self, channel: Channel) -> Tell:
        def tell(step: str, **facts: object) -> None:
            _log(f"{step}: {_told(facts)}")
            with suppress(Closed):
                channel.send({"progress": {"step": step, **facts}})

        return tell

    def _take_up(self, channel: Channel, name: str, work: Work) -> None:
        self._tasks.append(_Task(channel, name, work))

    def _go_on(self) -> float | None:
        """Takes up all work; how long to wait at most before it is done again."""
        pauses = (
            [] if self._over else [pause_s for task in list(self._tasks) if (pause_s := self._step(task)) is not None]
        )
        tended = None if self._over else self._tend()
        return min([*pauses, *([] if tended is None else [tended])], default=None)

    def _tend(self) -> float | None:
        """A unit that cannot be started now, as when the kernel has no more processes, must not cost the lab."""
        try:
            return self._lab.tend()
        except Exception:
            _log_traceback()
            return _AGAIN_S

    def _step(self, task: _Task) -> float | None:
        answer: Message
        try:
            return next(task.work)
        except StopIteration as end:
            answer = {"done": end.value}
        except TortieError as error:
            _log(f"{task.name} failed: {error}")
            answer = {"failure": as_message(error)}
        except Exception as error:
            _log_traceback()
            answer = {"failure": as_message(self._defect(error))}
        self._tasks.remove(task)
        with suppress(Closed):
            task.channel.send(answer)
        return None

    def _defect(self, error: Exception) -> TortieError:
        reason = f"{type(error).__name__}: {error}"
        return LabFailure("keeper-ended", name=self._folder.name, reason=reason, log=self._folder.log)


class _Task(NamedTuple):
    """Work that somebody has asked for."""

    channel: Channel
    name: str
    work: Work


class _Bell:
    """Signals as something to wait for."""

    def __init__(self) -> None:
        self._ours, theirs = socket.socketpair()
        self._ours.setblocking(False)
        theirs.setblocking(False)
        self._theirs = theirs
        for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda *_: None)
        signal.set_wakeup_fd(theirs.fileno(), warn_on_full_buffer=False)

    def fileno(self) -> int:
        return self._ours.fileno()

    def rung(self) -> bool:
        """Whether one of them says that it is time to end."""
        numbers: set[int] = set()
        with suppress(BlockingIOError):
            while data := self._ours.recv(4096):
                numbers |= set(data)
        return bool(numbers & {signal.SIGTERM, signal.SIGINT, signal.SIGHUP})


def _told(facts: Mapping[str, object]) -> str:
    """`0.012 s`, and whatever else there is to say: `started node-1, node-2`."""
    texts = []
    for name, value in facts.items():
        listed = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
        texts.append(f"{listed} s" if name == "seconds" else f"{name} {listed or 'nothing'}")
    return "; ".join(texts)


def _log(text: str) -> None:
    sys.stdout.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {text}\n")
    sys.stdout.flush()


def _log_traceback() -> None:
    import traceback

    traceback.print_exc(file=sys.stdout)
    sys.stdout.flush()
