"""Packets from one pod of a lab to another, all along, and the longest time in which none came back."""

from __future__ import annotations

import re
import signal
import subprocess
from itertools import pairwise
from types import TracebackType

import pytest
from tests.support.lab import DEADLINE_S, Lab

INTERVAL_S = 0.05


class Stream:
    def __init__(self, lab: Lab, pod: str, address: str) -> None:
        self._lab = lab
        self._words = (pod, "--", "ping", "-n", "-i", str(INTERVAL_S), address)
        self._process: subprocess.Popen[bytes] | None = None
        self._answered: list[int] = []
        self._sent = 0

    def __repr__(self) -> str:
        return f"{' '.join(self._words)}: {len(self._answered)} of {self._sent}, silent for {self.longest_gap_s:.2f} s"

    @property
    def longest_gap_s(self) -> float:
        """From the first answer on. The very last packet may be under way still."""
        ends = [*self._answered, self._sent]
        gaps = [later - earlier - 1 for earlier, later in pairwise(ends)]
        return max(gaps, default=self._sent) * INTERVAL_S

    def __enter__(self) -> Stream:
        """It flows when the block begins."""
        self._process = self._lab.start("pod exec", *self._words)
        assert self._process.stdout is not None
        while b"icmp_seq=" not in (line := self._process.stdout.readline()):
            if not line:
                pytest.fail(f"ping has ended: {self._process.communicate()}")
        self._answered = _numbers(line)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.end()

    def end(self) -> None:
        if self._process is None:
            return
        self._process.send_signal(signal.SIGINT)
        out, err = self._process.communicate(timeout=DEADLINE_S)
        self._process = None
        told = re.search(rb"(\d+) packets transmitted", out)
        if told is None:
            pytest.fail(f"ping says nothing: {out.decode()}{err.decode()}")
        self._sent = int(told[1])
        self._answered = sorted({*self._answered, *_numbers(out)})


def _numbers(printed: bytes) -> list[int]:
    return [int(number) for number in re.findall(rb"icmp_seq=(\d+) ttl", printed)]
