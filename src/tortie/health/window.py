"""How long kubelet lets a container start: the arithmetic behind incidents 1 and 3."""

from __future__ import annotations

from typing import NamedTuple

from tortie.model.errors import UsageError


class ProbeWindow(NamedTuple):
    """A liveness probe as a manifest writes it."""

    initial_delay_s: float = 10.0
    period_s: float = 10.0
    failures: int = 6

    @property
    def kill_after_s(self) -> float:
        """When the last allowed failure is seen, if no probe ever succeeds; timeouts and jitter come on top."""
        return self.initial_delay_s + (self.failures - 1) * self.period_s

    def share_of(self, seconds: float) -> float:
        return seconds / self.kill_after_s if self.kill_after_s else float("inf")

    def __str__(self) -> str:
        return (
            f"{self.kill_after_s:g} s (initialDelaySeconds {self.initial_delay_s:g}, periodSeconds {self.period_s:g}, "
            f"failureThreshold {self.failures})"
        )


def parse_window(text: str) -> ProbeWindow:
    """`DELAY,PERIOD,FAILURES`, as in 10,10,6."""
    parts = text.split(",")
    try:
        window = ProbeWindow(float(parts[0]), float(parts[1]), int(parts[2]))
        usable = len(parts) == 3 and window.initial_delay_s >= 0 and window.period_s > 0 and window.failures > 0
    except (ValueError, IndexError):
        usable = False
    if not usable:
        why = "a probe is initialDelaySeconds,periodSeconds,failureThreshold"
        raise UsageError(f"'{text}' is not a probe", why, "for example 10,10,6, which Calico's manifests use")
    return window
