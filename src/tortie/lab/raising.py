"""Brings a lab up, or to another plan: finds or starts its keeper, and waits until every node is ready and
every BGP session established.

Whatever a new lab consists of hangs on a channel to its keeper until the very end: should this process go before that,
for whatever reason, the keeper takes everything down again.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from typing import Any, Final, NamedTuple

from tortie.lab.client import KeeperClient
from tortie.lab.ending import sweep
from tortie.lab.failures import LabFailure
from tortie.lab.observe import Answers, ask_agents
from tortie.lab.protocol import Channel
from tortie.lab.registry import LabFolder, clear, locked, make, remove
from tortie.lab.status import STOPPED, LabStatus, lab_status
from tortie.lab.title import PADDING
from tortie.model.errors import TortieError

_ASK_S: Final = 2.0
_LOOK_S: Final = 0.05
_LOOK_PER_NODE_S: Final = 0.004  # to be asked takes an agent's time, which it needs to get ready
_END_S: Final = 10.0

_ENDING_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

CHANNEL: Final = 3  # the descriptor under which a keeper finds its end

Report = Callable[[str, Mapping[str, Any]], None]


class Raised(NamedTuple):
    fresh: bool
    changed: Mapping[str, Any]  # as the keeper told it
    status: LabStatus
    seconds: Mapping[str, float]  # by phase


class Raising:
    def __init__(
        self, folder: LabFolder, keeper_argv: list[str], environment: Mapping[str, str], report: Report
    ) -> None:
        self._folder = folder
        self._argv = keeper_argv
        self._environment = environment
        self._report = report
        self._seconds: dict[str, float] = {}
        self._answers: Answers = {}
        self.begun = False  # whether the keeper has been asked to make something of the plan

    def run(self, plan: dict[str, Any], deadline: float) -> Raised:
        began = time.monotonic()
        try:
            with ExitStack() as stack:
                self._lock(stack, deadline)
                keeper = KeeperClient.connect(self._folder)
                if keeper:
                    with closing(keeper):
                        return self._raise(keeper, plan, deadline, began, fresh=False)
                return self._raise_fresh(plan, deadline, began)
        except BaseException:
            with suppress(OSError):
                os.rmdir(self._folder.path)  # only if nothing has ever been in it
            raise

    def _lock(self, stack: ExitStack, deadline: float) -> None:
        while True:
            make(self._folder, os.geteuid())
            try:
                stack.enter_context(locked(self._folder, deadline, lambda: self._report("waiting", {})))
                return
            except FileNotFoundError:
                continue  # whoever had it locked has removed it

    def _raise_fresh(self, plan: dict[str, Any], deadline: float, began: float) -> Raised:
        sweep(self._folder)
        clear(self._folder)
        keeper = None
        try:
            with _uninterrupted():
                keeper = self._start_keeper(sum(machine["role"] == "node" for machine in plan["machines"]))
            raised = self._raise(keeper, plan, deadline, began, fresh=True)
            keeper.ask("keep")
        except BaseException as error:
            if not (isinstance(error, LabFailure) and error.key == "unfinished" and self._is_kept(keeper)):
                self._take_back(keeper)
            raise
        keeper.close()
        return raised

    def _is_kept(self, keeper: KeeperClient | None) -> bool:
        """A lab that is still being built when time is up may go on, as one that is not ready does."""
        try:
            return keeper is not None and keeper.ask("keep") == {}
        except TortieError:
            return False

    def _start_keeper(self, nodes: int) -> KeeperClient:
        ours, theirs = socket.socketpair()
        output = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        with theirs:
            pid = os.posix_spawn(
                sys.executable,
                [*self._argv, self._folder.path, str(nodes), PADDING],
                dict(self._environment),
                file_actions=(
                    (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                    (os.POSIX_SPAWN_OPEN, 1, self._folder.log, output, 0o600),
                    (os.POSIX_SPAWN_DUP2, 1, 2),
                    (os.POSIX_SPAWN_DUP2, theirs.fileno(), CHANNEL),
                ),
                setsid=True,
                setsigmask=(),
                setsigdef=_ENDING_SIGNALS,
            )
        return KeeperClient(self._folder, Channel(ours), pid)

    def _take_back(self, keeper: KeeperClient | None) -> None:
        """A lab that did not get up leaves nothing."""
        if keeper:
            with suppress(TortieError):
                keeper.ask("down", deadline=time.monotonic() + _END_S)
            keeper.close()
            if not keeper.wait_end(_END_S):
                keeper.kill(_END_S)
            with suppress(ChildProcessError):
                os.waitpid(keeper.pid, 0)
        sweep(self._folder)
        remove(self._folder)

    def _raise(
        self, keeper: KeeperClient, plan: dict[str, Any], deadline: float, began: float, *, fresh: bool
    ) -> Raised:
        self._seconds["keeper"] = 0.0
        try:
            self.begun = True
            changed = keeper.ask("apply", deadline=deadline, on_progress=self._progress, plan=plan)
        except LabFailure as failure:
            if failure.key == "taken-down" and fresh:
                raise self._why_ended(keeper) from None
            if failure.key == "keeper-silent" and (fresh or len(self._seconds) > 1):
                raise self._unfinished(began) from None
            raise
        steps = sum(self._seconds.values())
        self._seconds["keeper"] = max(0.0, time.monotonic() - began - steps)
        waiting = time.monotonic()
        status = self._wait(keeper, deadline)
        self._seconds["ready"] = time.monotonic() - waiting
        self._seconds["total"] = time.monotonic() - began
        return Raised(fresh, changed, status, {step: round(seconds, 3) for step, seconds in self._seconds.items()})

    def _progress(self, told: dict[str, Any]) -> None:
        step = str(told.get("step"))
        self._seconds[step] = float(told.get("seconds", 0.0))
        self._report(step, told)

    def _unfinished(self, began: float) -> LabFailure:
        steps = ", ".join(step for step in self._seconds if step != "keeper") or "-"
        return LabFailure("unfinished", name=self._folder.name, seconds=f"{time.monotonic() - began:.0f}", steps=steps)

    def _why_ended(self, keeper: KeeperClient) -> TortieError:
        reason = "it wrote nothing"
        with suppress(OSError), open(self._folder.log, encoding="utf-8", errors="replace") as file:
            reason = "\n".join(file.read().splitlines()[-3:]) or reason
        keeper.wait_end(1.0)
        return LabFailure("keeper-ended", name=self._folder.name, reason=reason, log="keeper.log")

    def _wait(self, keeper: KeeperClient, deadline: float) -> LabStatus:
        """Until all are ready with all sessions up, or time is up, or nobody is left who could get ready."""
        while True:
            status = self._look(keeper)
            self._report("status", {"status": status})
            starting = [node for node in status.nodes if not node.ready and node.phase != STOPPED]
            if not starting and not (status.ready and status.missing):
                return status
            pause_s = max(_LOOK_S, _LOOK_PER_NODE_S * len(starting or status.nodes))
            if time.monotonic() + pause_s > deadline:
                return status
            time.sleep(pause_s)

    def _look(self, keeper: KeeperClient) -> LabStatus:
        """Those that lacked nothing at the last look are asked again only when the others lack nothing, too."""
        told = keeper.ask("status")
        nodes = [machine["name"] for machine in told["machines"] if machine["role"] == "node"]
        open_ones = [name for name in nodes if not _is_complete(self._answers.get(name))]
        for names in (open_ones, [name for name in nodes if name not in open_ones]):
            if names is open_ones or all(_is_complete(self._answers.get(name)) for name in open_ones):
                sockets = {name: self._folder.agent_socket(name) for name in names}
                self._answers |= ask_agents(sockets, "/status", _ASK_S)
        return lab_status(told, self._answers)


def _is_complete(answer: Mapping[str, Any] | None) -> bool:
    """Whether an agent is ready, and sees all its sessions established."""
    sessions = ((answer or {}).get("bgp") or {}).get("sessions") or ()
    return bool(answer and answer.get("ready")) and all(session.get("state") == "up" for session in sessions)


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """A signal waits until the block is over: what was started is known by then, and can be taken back."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING_SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
