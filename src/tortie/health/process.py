"""The numbers of this process that every exporter gives, read from /proc."""

from __future__ import annotations

import os
import time
from functools import cache

from tortie.health.metrics import Process
from tortie.host.processes import parsed_stat


def read_process() -> Process:
    # As bytes: a codec that has to be imported first would wait for an event loop that hangs in an import.
    with open("/proc/self/statm", "rb") as file:
        resident = int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    times = os.times()
    return Process(resident, _started_at_s(), times.user + times.system)


@cache  # a clock that is set later must not make the process look restarted
def _started_at_s() -> float:
    with open("/proc/self/stat", "rb") as file:
        since_boot_s = parsed_stat(file.read()).started / os.sysconf("SC_CLK_TCK")
    return time.time() - (time.clock_gettime(time.CLOCK_BOOTTIME) - since_boot_s)
