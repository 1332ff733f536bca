"""BIRD as Calico's container keeps it: runit starts it again one second after its end, and that is all.

confd writes its file when what is rendered changes, not when somebody else changed the file. Nobody wakes BIRD up,
replaces one that does not answer, makes the folder of its socket, or enables what BIRD has disabled.
"""

from __future__ import annotations

import os
import time
from typing import Final

from tortie.bgp.bird import ASK_S, Bird, Observation
from tortie.bgp.bird_process import BirdProcess
from tortie.bgp.bird_text import RECOVERY_S
from tortie.bgp.replies import BirdStatus, sessions_in
from tortie.model.errors import TortieError

RUNIT_S: Final = 1.0
WAIT_S: Final = 240  # for its peers after a restart; BIRD's own default


class RunitProcess(BirdProcess):
    def postpone(self) -> float:
        self._next_start = time.monotonic() + RUNIT_S
        return RUNIT_S

    def _prepare(self) -> tuple[list[str], str]:
        """Without the folder BIRD itself has to say what is missing, so it is started from elsewhere."""
        if os.path.isdir(self._folder):
            return self._words, self._folder
        return [*self._words[:-1], os.path.join(self._folder, self._words[-1])], "/"


class RunitBird(Bird):
    PROCESS = RunitProcess

    _rendered = ""  # what confd wrote last
    _is_new = False  # BIRD has not been told of it yet

    def want(self, text: str) -> None:
        super().want(text.replace(f"graceful restart wait {RECOVERY_S};", f"graceful restart wait {WAIT_S};"))

    async def look(self, *, recover: bool) -> Observation:
        if not self._file.wanted:
            return Observation()
        try:
            self._render()
            self._start(recover=recover)
            status = await self._ask_status()
            reply = await self._conversation.ask("show protocols", ASK_S)
            return self._seen(status, sessions_in(reply))
        except TortieError as error:
            return self._seen(trouble=None if self._is_booting() else error)

    def _render(self) -> None:
        if self._file.wanted != self._rendered:
            self._file.put_right()
            self._rendered, self._is_new = self._file.wanted, bool(self._process.pid)

    def _start(self, *, recover: bool) -> None:
        process = self._process
        if process.pid:
            return
        if (left_s := process.pause_left_s()) > 0:
            self._conversation.drop()
            raise TortieError("BIRD does not run", f"it {process.how_ended}; runit starts it in {left_s:.1f} s", "")
        self._is_new = False
        process.start(recover=recover)

    async def _ask_status(self) -> BirdStatus:
        status = await self._conversation.status(ASK_S)
        if self._is_new:
            self._is_new = False
            await self._load()
        return status
