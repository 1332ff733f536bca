"""BIRD under control: one process, one configuration file, one control socket, kept as they should be.

A look puts right whatever it finds wrong: a process that ended is started again; a file that somebody changed is
written again; a configuration that BIRD does not run is loaded again; a protocol that somebody disabled is enabled
again; a process that does not answer is woken up, or replaced.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final, NamedTuple

from tortie.bgp.bird_file import ConfigurationFile
from tortie.bgp.bird_process import BirdProcess
from tortie.bgp.bird_text import digest
from tortie.bgp.conversation import Conversation
from tortie.bgp.replies import BirdStatus, Protocol, SessionState, protocols_in, sessions_in
from tortie.model.errors import TortieError

ASK_S: Final = 2.0
# Who does not answer for so long is woken up if somebody stopped it, and else replaced.
STOPPED_S: Final = 2.0
SILENT_S: Final = 12.0
# A control socket that is gone never comes back by itself.
SOCKET_GONE_S: Final = 1.0
_BOOT_S: Final = 2.0  # so long a new process may take to open its socket
_ENABLE_PAUSE_S: Final = 1.0
_ENABLE_PAUSE_MAX_S: Final = 5.0

# Debian puts it where ordinary users do not look.
_FOLDERS: Final = ("/usr/sbin", "/usr/local/sbin", "/sbin", "/usr/bin")


class Place(NamedTuple):
    """Where its files are."""

    configuration: str
    socket: str


class Observation(NamedTuple):
    """What a look found, after putting right what could be put right at once."""

    pid: int = 0  # 0 while no process runs
    age_s: float = 0.0  # of the process
    status: BirdStatus | None = None  # None while it cannot be asked
    sessions: tuple[SessionState, ...] = ()
    trouble: TortieError | None = None  # with a status: BIRD runs, and not all is as it should be
    restarts: int = 0
    reloads: int = 0


class Bird:
    PROCESS: type[BirdProcess] = BirdProcess

    def __init__(
        self,
        place: Place,
        environment: dict[str, str],
        *,
        say: Callable[[str, str], None],
        pass_on: Callable[[str, str], None],
    ) -> None:
        """`say` and `pass_on` get a level and a text for the log: our words, and BIRD's own."""
        self._place = place
        self._say = say
        folders = [*environment.get("PATH", os.defpath).split(os.pathsep), *_FOLDERS]
        # Other nodes compare its times with theirs, so they are the same everywhere.
        environment = {**environment, "PATH": os.pathsep.join(dict.fromkeys(folders)), "TZ": "UTC"}
        self._file = ConfigurationFile(place.configuration, environment, say)
        self._process = self.PROCESS(place.configuration, place.socket, environment, say, pass_on)
        self._conversation = Conversation(place.socket)
        self._disabled = Disabled()
        self._unstartable: TortieError | None = None
        self._loaded = ""  # the digest of what BIRD ran when we asked last
        self._away_since: float | None = None  # running, and not to be talked to
        self._reloads = 0

    def on_end(self, heard: Callable[[], None]) -> None:
        """To be called whenever the process ends."""
        self._process.on_end = heard

    def want(self, text: str) -> None:
        """What BIRD shall run from the next look on."""
        self._file.wanted = text

    async def look(self, *, recover: bool) -> Observation:
        """`recover`: a first start takes over the routes that an earlier BIRD has left in the kernel."""
        if not self._file.wanted:
            return Observation()
        unwritten: TortieError | None = None
        try:
            self._file.put_right()
        except TortieError as error:
            unwritten = error
        try:
            await self._keep_running(recover, unwritten)
            status = await self._converse(may_load=unwritten is None)
            reply = await self._conversation.ask("show protocols", ASK_S)
            disabled = await self._enable(protocols_in(reply))
            return self._seen(status, sessions_in(reply), unwritten or self._file.refusal or disabled)
        except TortieError as error:
            return self._seen(trouble=None if self._is_booting() else error)

    def stop(self) -> None:
        """Routes stay, here and at the peers, for the next one to take over."""
        self._process.stop()
        self._conversation.close()
        with suppress(OSError):
            os.unlink(self._place.socket)

    def _seen(
        self,
        status: BirdStatus | None = None,
        sessions: tuple[SessionState, ...] = (),
        trouble: TortieError | None = None,
    ) -> Observation:
        process = self._process
        return Observation(process.pid, process.age_s, status, sessions, trouble, process.restarts, self._reloads)

    def _is_booting(self) -> bool:
        return bool(self._process.pid) and self._process.age_s < _BOOT_S

    async def _keep_running(self, recover: bool, unwritten: TortieError | None) -> None:
        process = self._process
        if process.pid:
            return
        if (left_s := process.pause_left_s()) > 0:
            self._conversation.drop()
            why = f"it {process.how_ended}; it is started again in {left_s:.1f} s"
            fix = "its last lines in this node's log tell more"
            raise self._unstartable or TortieError("BIRD does not run", why, fix)
        try:
            if unwritten and not self._file.is_startable():
                raise unwritten
            if not unwritten:
                await self._file.check()
            process.start(recover=recover)
        except TortieError as error:
            process.postpone()
            self._unstartable = error
            raise
        self._unstartable = self._away_since = None
        self._loaded = ""

    async def _converse(self, *, may_load: bool) -> BirdStatus:
        try:
            if self._socket_is_gone():  # a connection that we have may still work; nobody else's would
                raise TortieError("BIRD cannot be asked", f"{self._place.socket} is gone", "BIRD is started again")
            status = await self._conversation.status(ASK_S)
            running = await self._conversation.digest(ASK_S)
        except TortieError as error:
            raise self._out_of_reach(error) from None
        self._away_since = None
        if running == digest(self._file.due):
            self._file.accept()
        elif may_load:
            if self._loaded and running != self._loaded:
                self._say("warning", "bird was given another configuration by somebody else; loading ours again")
            await self._load()
        self._loaded = running
        return status

    async def _load(self) -> None:
        answer = await self._conversation.configure(ASK_S)
        self._reloads += 1
        if answer.outcome == "refused":
            self._file.refuse(answer.message)
        else:
            self._say("debug", f"bird: {answer.message}")

    async def _enable(self, protocols: Sequence[Protocol]) -> TortieError | None:
        """All that we configure shall run. BIRD takes a protocol down for good when somebody tells it to, or when its
        port belongs to another program.
        """
        now = time.monotonic()
        names = self._disabled.see(protocols, now)
        if not names:
            return None
        reasons = sorted({protocol.info for protocol in protocols if protocol.name in names and protocol.info})
        why = "; ".join(reasons) or "somebody has told it so, with birdc"
        what = f"BIRD has disabled {', '.join(names)}"
        if self._disabled.is_news(names):
            self._say("warning", f"{what}: {why}; enabling it again")
        for name in self._disabled.to_enable(names, now):
            await self._conversation.ask(f'enable "{name}"', ASK_S)
        return TortieError(what, why, "it is enabled again by itself")

    def _out_of_reach(self, error: TortieError) -> TortieError:
        """Running, and not to be talked to: what can be done about it, when it has lasted long enough."""
        process = self._process
        pid = process.pid
        if not pid or self._is_booting():
            return error
        now = time.monotonic()
        if self._away_since is None:
            self._away_since = now
        away_s = now - self._away_since
        if process.is_stopped:
            error = TortieError(
                "BIRD does not answer",
                f"somebody has stopped the process {pid} (SIGSTOP)",
                f"it is woken up by itself after {STOPPED_S:g} s; or kill -CONT {pid}",
            )
            if away_s >= STOPPED_S:
                process.wake_up()
        elif self._socket_is_gone() and away_s >= SOCKET_GONE_S:
            self._replace(f"its control socket {self._place.socket} is gone")
        elif away_s >= SILENT_S:
            self._replace(f"it has not answered for {away_s:.0f} s")
        return error

    def _socket_is_gone(self) -> bool:
        return not os.path.exists(self._place.socket)

    def _replace(self, why: str) -> None:
        self._away_since = None
        self._conversation.drop()
        self._process.replace(why)


class Disabled:
    """Protocols that are down, and which of them to enable when."""

    def __init__(self) -> None:
        self._down: frozenset[str] = frozenset()
        self._tried: tuple[str, ...] = ()
        self._pause_s = 0.0
        self._next = 0.0

    def see(self, protocols: Sequence[Protocol], now: float) -> tuple[str, ...]:
        """Those that were down the last time, too: a session that starts anew is so for a moment."""
        down = frozenset(protocol.name for protocol in protocols if protocol.state == "down")
        lasting, self._down = tuple(sorted(down & self._down)), down
        if not down and now > self._next:
            self._tried, self._pause_s = (), 0.0
        return lasting

    def is_news(self, names: tuple[str, ...]) -> bool:
        return not set(names) <= set(self._tried)

    def to_enable(self, names: tuple[str, ...], now: float) -> tuple[str, ...]:
        """All at first. What took them down may last: then now and then one, and all when that has helped."""
        if names != self._tried:
            chosen = names
        elif now >= self._next:
            chosen = names[:1]
        else:
            return ()
        self._tried = names
        self._pause_s = min(self._pause_s * 2 or _ENABLE_PAUSE_S, _ENABLE_PAUSE_MAX_S)
        self._next = now + self._pause_s
        return chosen
