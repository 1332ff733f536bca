"""What a DEL had to leave for later: one file for each attachment, with the request as the plugin passed it on.

The plugin writes them while the agent is away, the agent while the datastore is; both in the same form and by the same
name, so that a DEL that is repeated finds its own record.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from typing import Final

from tortie.cni.invocation import REQUEST_MAX, Invocation
from tortie.host.files import write_whole

_NAME_MAX: Final = 200  # bytes; see plugin_alone.remember
UNREADABLE: Final = ".unreadable"


class Pending:
    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.count = 0  # as of the last look

    def name_of(self, invocation: Invocation) -> str:
        names = (invocation.container, invocation.ifname, invocation.plugin)
        return "-".join(names).encode()[:_NAME_MAX].replace(b"/", b"_").decode(errors="replace")

    def remember(self, invocation: Invocation, request: bytes) -> None:
        """`TortieError` if it cannot be written: then nothing may be promised."""
        os.makedirs(self.folder, mode=0o700, exist_ok=True)
        write_whole(self._path(self.name_of(invocation)), request, 0o600)
        self.count += 1

    def forget(self, name: str) -> None:
        with suppress(OSError):
            os.unlink(self._path(name))
            self.count = max(0, self.count - 1)

    def set_aside(self, name: str) -> None:
        """For people to look at; it is never tried again."""
        with suppress(OSError):
            os.rename(self._path(name), self._path(name + UNREADABLE))

    def names(self) -> list[str]:
        """Those to be finished. Files that somebody is still writing begin with a dot."""
        try:
            found = os.listdir(self.folder)
        except OSError:
            found = []
        waiting = sorted(name for name in found if not name.startswith(".") and not name.endswith(UNREADABLE))
        self.count = len(waiting)
        return waiting

    def read(self, name: str) -> bytes | None:
        """None for what is no file, as a pipe that we would wait for. What is too long for a request is cut off."""
        try:
            descriptor = os.open(self._path(name), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            with open(descriptor, "rb") as file:
                return file.read(REQUEST_MAX) if stat.S_ISREG(os.fstat(descriptor).st_mode) else None
        except OSError:
            return None

    def _path(self, name: str) -> str:
        return os.path.join(self.folder, name)
