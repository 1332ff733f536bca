"""What users of a lab notice while something is wrong in it: packets that do not come back, and what nodes say."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import threading
import time
from types import TracebackType
from typing import Any

import pytest
from tests.support.lab import DEADLINE_S, Lab

from tortie.health.probe import NoAnswer, ask_unix

INTERVAL_S = 0.05


class Traffic:
    """A ping from one machine of a lab, all along, to an address behind another."""

    def __init__(self, lab: Lab, machine: str, address: str) -> None:
        self._lab = lab
        self._words = (machine, "--", "ping", "-n", "-q", "-i", str(INTERVAL_S), address)
        self._process: subprocess.Popen[bytes] | None = None
        self._began = 0.0
        self.sent = 0
        self.received = 0

    def __repr__(self) -> str:
        return f"{' '.join(self._words)}: {self.received} of {self.sent}"

    def wait_sent(self, seconds: float) -> None:
        """Until it has lasted so long."""
        while (left_s := self._began + seconds - time.monotonic()) > 0:
            time.sleep(min(left_s, 1.0))

    @property
    def lost_s(self) -> float:
        """For how long nothing came back. The very last packet may be under way still."""
        return max(0, self.sent - self.received - 1) * INTERVAL_S

    def __enter__(self) -> Traffic:
        """On its way: what is broken from now on is broken for packets that run."""
        self._process = self._lab.start("exec", *self._words)
        assert self._process.stdout
        self._process.stdout.readline()  # what ping says before its first packet; nothing, if it has ended
        self._began = time.monotonic()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.end()

    def end(self) -> None:
        """Also earlier, to see how it went."""
        if self._process is None:
            return
        self._process.send_signal(signal.SIGINT)
        out, err = self._process.communicate(timeout=DEADLINE_S)
        self._process = None
        told = re.search(rb"(\d+) packets transmitted, (\d+) received", out)
        if told is None:
            pytest.fail(f"ping says nothing: {out.decode()}{err.decode()}")
        self.sent, self.received = int(told[1]), int(told[2])


class Witness:
    """Asks a node all the time how it is, over its agent's own socket, and keeps whatever it has ever said."""

    def __init__(self, lab: Lab, node: str) -> None:
        self._socket = str(lab.folder / "nodes" / node / "run/tortie/agent.sock")
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._said: dict[str, str] = {}  # what and why, and whose fault
        self.now: dict[str, Any] = {}  # the last answer

    def __enter__(self) -> Witness:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._over.set()
        self._thread.join()

    def _listen(self) -> None:
        while not self._over.wait(0.01):  # some words stand there for a fifth of a second only
            try:
                told = json.loads(ask_unix(self._socket, "/status", 5.0).body)
            except (NoAnswer, ValueError):
                continue
            self.now = told  # first: who has waited for a word must not find the state of before it
            for cause in told["not_ready"]:
                self._said[f"{cause['what']}: {cause['why']}"] = cause["fault"]
            trouble = ((told["bgp"] or {}).get("bird") or {}).get("trouble")
            if trouble:
                self._said.setdefault(f"{trouble['what']}: {trouble['why']}", "")

    def wait(self, what: str, is_so: Any) -> None:
        deadline = time.monotonic() + DEADLINE_S
        while not (self.now and is_so(self.now)):
            assert time.monotonic() < deadline, f"not within {DEADLINE_S:.0f} s: {what}; last: {self.now}"
            time.sleep(0.02)

    def wait_said(self, part: str) -> str:
        """Until the node has said it; returns whose fault it said that is."""
        self.wait(part, lambda _: self._fault(part) is not None)
        return self._fault(part) or ""

    def _fault(self, part: str) -> str | None:
        return next((fault for said, fault in list(self._said.items()) if part in said), None)

    def wait_well(self, *, sessions: int = 2, other_bird_than: int | None = None) -> None:
        def is_well(told: dict[str, Any]) -> bool:
            bgp = told["bgp"]
            if not told["ready"] or bgp is None or bgp["bird"]["trouble"] or bgp["bird"]["recovering"]:
                return False
            return bool(bgp["up"] == bgp["expected"] == sessions and bgp["bird"]["pid"] != other_bird_than)

        self.wait("the node is well", is_well)

    @property
    def bird(self) -> int:
        """The number of its process."""
        self.wait("BIRD runs", lambda told: told["bgp"] and told["bgp"]["bird"]["pid"])
        return int(self.now["bgp"]["bird"]["pid"])
