"""BIRD's configuration on disk: what is wanted, or, as long as BIRD refuses that, what BIRD took last.

So a BIRD that has to be started again finds something that it can run, whatever is wanted meanwhile.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Final

from tortie.host.files import read_text, write_whole
from tortie.host.programs import outcome_of
from tortie.model.errors import TortieError

CHECK_S: Final = 10.0
# What was refused is tried again now and then: it may have been the file, which somebody else had his hands on.
AGAIN_S: Final = 60.0
_MODE: Final = 0o600  # it may hold passwords


class ConfigurationFile:
    def __init__(self, path: str, environment: Mapping[str, str], say: Callable[[str, str], None]) -> None:
        self.path = path
        self.wanted = ""
        self.refusal: TortieError | None = None  # why BIRD does not run what is wanted
        self._environment = environment
        self._say = say
        self._written = ""  # what lay there when we looked last
        self._accepted = ""  # what BIRD took last
        self._refused = ""
        self._refused_at = 0.0

    @property
    def due(self) -> str:
        """What BIRD shall run now."""
        return self._accepted if self._accepted and self._wanted_is_refused else self.wanted

    @property
    def _wanted_is_refused(self) -> bool:
        return self._refused == self.wanted

    def put_right(self) -> None:
        """What is due lies there afterwards, or the reason why it cannot is raised."""
        if self._wanted_is_refused and time.monotonic() - self._refused_at > AGAIN_S:
            self._refused = ""
        due = self.due
        present = self._present()
        if present == due:
            self._written = due
            return
        if self._written == due:
            what = "is gone" if present is None else "was changed by somebody else"
            self._say("warning", f"{self.path} {what}; writing it again")
        self._written = ""
        folder = os.path.dirname(self.path)
        try:
            os.makedirs(folder, exist_ok=True)
        except OSError as error:
            fix = f"see what lies there: ls -ld {folder}"
            raise TortieError(f"{folder} cannot be made", error.strerror or str(error), fix) from None
        write_whole(self.path, due.encode(), _MODE)
        self._written = due

    def is_startable(self) -> bool:
        """Whether there lies something that BIRD has taken before, though perhaps not what is due."""
        return bool(self._accepted) and self._present() == self._accepted

    def _present(self) -> str | None:
        try:
            return read_text(self.path)
        except TortieError:
            return ""  # something else than text; writing tells what is wrong with it

    def accept(self) -> None:
        """BIRD runs what is due."""
        if self.due == self.wanted:
            self._accepted, self._refused, self.refusal = self.wanted, "", None

    def refuse(self, said: str) -> TortieError:
        """BIRD does not take what is wanted."""
        self._refused, self._refused_at = self.wanted, time.monotonic()
        copy = f"{self.path}.refused"
        with suppress(TortieError):
            write_whole(copy, self.wanted.encode(), _MODE)
        what = "BIRD is not started: its configuration is refused"
        if self._accepted:
            what = "BIRD refuses its new configuration and goes on with the old one"
        fix = f"a BGPFilter or BGPPeer is the likely cause; report this with that resource, and with {copy}"
        self.refusal = TortieError(what, said, fix)
        return self.refusal

    async def check(self) -> None:
        """Raises if BIRD cannot be started with what lies there: it would end at once."""
        if self.due == self._accepted:
            return
        if self.refusal and self._wanted_is_refused:
            raise self.refusal
        said = await self._parse()
        if not said:
            self.accept()
            return
        refusal = self.refuse(said)
        if not self._accepted:
            raise refusal
        self.put_right()

    async def _parse(self) -> str:
        """What BIRD has against the file; "" if nothing."""
        try:
            status, said = await outcome_of(["bird", "-p", "-c", self.path], self._environment, CHECK_S)
        except FileNotFoundError:
            why = "bird is not installed, or not executable"
            raise TortieError("BIRD does not run", why, "apt-get install bird2, or set PATH") from None
        except TimeoutError:
            why = f"bird -p has not read {self.path} within {CHECK_S:g} s"
            raise TortieError("BIRD does not run", why, "look at the load of the machine") from None
        except OSError as error:
            why = f"bird cannot be executed: {error.strerror}"
            raise TortieError("BIRD does not run", why, "see whether `bird --version` works here") from None
        return "" if status == 0 else said.strip() or f"bird -p ended with status {status}"
