"""BIRD as a process: started, started again with patience that grows, woken up, replaced.

It is ended by SIGKILL and started with -R, because then neither our kernel nor our peers drop a route: traffic goes on
meanwhile.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Final

from tortie.bgp.bird_output import Output
from tortie.host.child import Child
from tortie.host.processes import stat_of
from tortie.model.errors import TortieError

_FIRST_PAUSE_S: Final = 0.2
_LONGEST_PAUSE_S: Final = 30.0
_STEADY_S: Final = 60.0  # a process that lived so long starts anew with its patience


class BirdProcess:
    def __init__(
        self,
        configuration: str,
        socket: str,
        environment: Mapping[str, str],
        say: Callable[[str, str], None],
        pass_on: Callable[[str, str], None],
    ) -> None:
        folder, name = os.path.split(socket)
        self._folder = folder
        # Its name alone, from within its folder: a longer path may not fit into a socket's address.
        self._words = ["bird", "-f", "-c", configuration, "-s", name]
        self._environment = environment
        self._say = say
        self._output = Output(pass_on)
        self._child: Child | None = None
        self._began = 0.0
        self._fails = 0  # in a row
        self._next_start = 0.0
        self._end_noted = True
        self._bell: int | None = None  # a descriptor of our own for the end of the process
        self.restarts = 0
        self.on_end: Callable[[], None] | None = None

    @property
    def pid(self) -> int:
        """0 while none runs."""
        return self._child.pid if self._child and self._child.poll() is None else 0

    @property
    def age_s(self) -> float:
        return time.monotonic() - self._began if self.pid else 0.0

    @property
    def is_stopped(self) -> bool:
        """By somebody's SIGSTOP."""
        return _process_state(self.pid) == "T"

    @property
    def how_ended(self) -> str:
        """The last one; "" if it runs, or there was none."""
        return (self._child.poll() or "") if self._child else ""

    def pause_left_s(self) -> float:
        """How long to wait before the next start. An end is noticed here, if it has not been yet."""
        if self._child and self.how_ended and not self._end_noted:
            self._end_noted = True
            if time.monotonic() - self._began > _STEADY_S:
                self._fails = 0
            pause_s = self.postpone()
            self._say("warning", f"bird (pid {self._child.pid}) {self.how_ended}; starting it again in {pause_s:g} s")
        return max(0.0, self._next_start - time.monotonic())

    def postpone(self) -> float:
        """After a failure: until the next start, longer each time."""
        pause_s = min(_FIRST_PAUSE_S * 2.0**self._fails, _LONGEST_PAUSE_S)
        self._fails += pause_s < _LONGEST_PAUSE_S
        self._next_start = time.monotonic() + pause_s
        return pause_s

    def start(self, *, recover: bool) -> None:
        """`recover`: it takes over the routes that an earlier one has left in the kernel."""
        words, folder = self._prepare()
        recover = recover or self._child is not None
        child = Child("bird", [*words, *(["-R"] if recover else [])], self._environment, folder)
        with self._output.writing() as output:
            child.start(output)
        self.restarts += self._child is not None
        self._child, self._began, self._end_noted = child, time.monotonic(), False
        self._say("info", f"bird started (pid {child.pid}){' to recover its routes' if recover else ''}")
        self._hang_bell(child)

    def _prepare(self) -> tuple[list[str], str]:
        """Its words, and where it is started: in the folder of its socket, which is made if it is not there."""
        try:
            os.makedirs(self._folder, exist_ok=True)
        except OSError as error:
            why = f"{self._folder} cannot be made: {error.strerror}"
            raise TortieError("BIRD does not run", why, f"see what lies there: ls -ld {self._folder}") from None
        return self._words, self._folder

    def wake_up(self) -> None:
        if self._child:
            self._say("warning", f"bird (pid {self._child.pid}) was stopped; waking it up")
            self._child.signal(signal.SIGCONT)

    def replace(self, why: str) -> None:
        """Ends it; the next one is started when its time has come."""
        if self._child:
            self._say("warning", f"bird (pid {self._child.pid}) is replaced: {why}")
            self._child.kill()

    def stop(self) -> None:
        """Routes stay, here and at the peers, for the next one to take over."""
        self._take_bell_down()
        if self._child:
            self._child.kill()
        self._output.close()

    def _hang_bell(self, child: Child) -> None:
        self._take_bell_down()
        descriptor = child.fileno()
        if descriptor is None:
            return
        # A copy: the child closes its own as soon as anybody has seen the end, and its number may be another's then.
        self._bell = os.dup(descriptor)
        asyncio.get_running_loop().add_reader(self._bell, self._rung)

    def _rung(self) -> None:
        self._take_bell_down()
        if self.on_end:
            self.on_end()

    def _take_bell_down(self) -> None:
        if self._bell is not None:
            asyncio.get_running_loop().remove_reader(self._bell)
            with suppress(OSError):
                os.close(self._bell)
            self._bell = None


def _process_state(pid: int) -> str:
    """R, S, D, T (stopped), t (somebody debugs it), Z; "" if it is gone."""
    stat = stat_of(pid)
    return stat.state if stat else ""
