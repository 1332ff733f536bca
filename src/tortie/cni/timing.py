"""How long requests of runtimes take: counts and sums by command, and a histogram for the rest. Pure."""

from __future__ import annotations

from bisect import bisect_left
from typing import Final

from tortie.health.exposition import Metric, Sample

_BOUNDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class Timing:
    def __init__(self) -> None:
        self._counts: dict[tuple[str, str], list[int]] = {}
        self._sums: dict[tuple[str, str], float] = {}

    def count(self, command: str, seconds: float, fine: bool) -> None:
        key = (command, "ok" if fine else "error")
        counts = self._counts.setdefault(key, [0] * (len(_BOUNDS) + 1))
        counts[bisect_left(_BOUNDS, seconds)] += 1
        self._sums[key] = self._sums.get(key, 0.0) + seconds

    def metrics(self) -> tuple[Metric, ...]:
        samples: list[Sample] = []
        for (command, result), counts in list(self._counts.items()):
            labels = {"command": command, "result": result}
            total = 0
            for bound, number in zip((*_BOUNDS, float("inf")), counts, strict=True):
                total += number
                limit = "+Inf" if bound == float("inf") else f"{bound:g}"
                samples.append(Sample(total, {**labels, "le": limit}, "_bucket"))
            samples.append(Sample(self._sums[command, result], labels, "_sum"))
            samples.append(Sample(total, labels, "_count"))
        text = "How long the agent took for a request of a container runtime."
        return (Metric("tortie_cni_request_seconds", text, "histogram", tuple(samples)),)
