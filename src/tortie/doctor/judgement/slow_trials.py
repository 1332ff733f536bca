"""Trials that passed, and took far too long: rates of iperf, times of curl, dig and ping.

They name no cause. Who shows a request that took seconds, or a link with a tenth of what another has, does not show a
cluster that is well.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tortie.doctor.diagnosis import Unexplained
from tortie.doctor.judgement.components import PATH
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Place

_RATE: Final = lazily(r"\bsec\s+[\d.]+ [KMGT]?Bytes\s+(?P<rate>\d+(?:\.\d+)?) (?P<unit>[KMG]?)bits/sec")
_UNITS: Final = {"": 1e-6, "K": 1e-3, "M": 1.0, "G": 1e3}
_TIMES: Final = (  # the expression, seconds for a unit, and from how many seconds on it is trouble
    (lazily(r"^real\s+(?P<minutes>\d+)m(?P<time>[\d.]+)s"), 1.0, 2.0),
    (lazily(r"\btime_total\W{1,4}(?P<time>\d+\.\d+)"), 1.0, 2.0),
    (lazily(r"^;; Query time: (?P<time>\d+) msec"), 0.001, 1.0),
    (lazily(r"^(?:rtt|round-trip) min/avg/max\S* = [\d.]+/[\d.]+/(?P<time>[\d.]+)"), 0.001, 1.0),
)
_TRIED: Final = lazily(r"\b(?:curl|wget|nslookup|dig|host|getent|ping|nc|iperf3?|telnet)\b")
_APART: Final = 10.0  # times that the slowest link is below the fastest
_LOW: Final = 50.0  # Mbit/s; what is asked about is a data centre's network, not a modem's
_LONG: Final = 400  # lines; what is longer is no trial


def slow_trials(picture: Picture) -> Iterator[Unexplained]:
    rates: list[tuple[float, str, Place]] = []
    for exhibit in picture.exhibits:
        if len(exhibit.lines) > _LONG:
            continue
        for index, line in enumerate(exhibit.lines):
            text = line.strip()[:400]
            if "bits/sec" in text and (match := _RATE.search(text)):
                rates.append((float(match["rate"]) * _UNITS[match["unit"]], text, exhibit.place(index)))
            elif _took_long(text, exhibit.command):
                yield Unexplained("trial", text, exhibit.place(index), _tool(exhibit.command), PATH)
    fastest = max((rate for rate, _, _ in rates), default=0.0)
    low = [row for row in rates if row[0] < _LOW or row[0] * _APART < fastest]
    if low:
        _, text, place = min(low)
        yield Unexplained("trial", text, place, "iperf", PATH, len(low))


def _took_long(text: str, command: str) -> bool:
    for pattern, unit, limit in _TIMES:
        match = pattern.search(text)
        if match and (text.startswith((";;", "rtt", "round-trip")) or _TRIED.search(command)):
            minutes = float(match["minutes"]) if "minutes" in pattern.groupindex else 0.0
            return minutes * 60 + float(match["time"].rstrip(".") or 0) * unit >= limit
    return False


def _tool(command: str) -> str:
    match = _TRIED.search(command)
    return match.group() if match else "ping"
