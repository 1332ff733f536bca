"""What BIRD tells about its protocols in detail: neighbours, timers, and the routes of every channel. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from ipaddress import ip_address
from typing import Final, NamedTuple

from tortie.bgp.replies import Protocol, Reply, protocol_in, protocols_in
from tortie.model.network import IP

_ROUTES: Final = re.compile(r"(\d+) (imported|filtered|exported|preferred)")
_PROTOCOL, _DETAIL = 1002, 1006


class Channel(NamedTuple):
    """What a protocol exchanges with one table."""

    name: str = ""  # ipv4, ipv6; BIRD 1.6 has one for each protocol, without a name
    state: str = ""  # UP, START, DOWN, FLUSHING
    table: str = ""
    imported: int = 0
    filtered: int = 0  # told only where BIRD keeps what a filter refused
    exported: int = 0
    preferred: int = 0
    recovering: bool = False  # after our own restart, it has not all routes yet
    neighbour_restart: str = ""  # Regular or Long-lived while the neighbour restarts


class Timer(NamedTuple):
    left_s: float
    of_s: float | None = None


class Details(NamedTuple):
    """Fields of BGP are empty for other protocols."""

    protocol: Protocol
    bgp_state: str = ""
    neighbour: IP | None = None
    neighbour_port: int | None = None  # told only if it is not 179
    neighbour_as: int | None = None
    local_as: int | None = None
    neighbour_id: str = ""
    source: IP | None = None
    session: str = ""  # internal multihop AS4, ...
    hold: Timer | None = None
    keepalive: Timer | None = None
    restarting: bool = False  # the neighbour does, gracefully; its routes are kept meanwhile
    restart: Timer | None = None  # when they are dropped after all
    last_error: str = ""
    message: str = ""  # what somebody said who took the session down, on either side
    channels: tuple[Channel, ...] = ()

    @property
    def imported(self) -> int:
        return sum(channel.imported for channel in self.channels)

    @property
    def exported(self) -> int:
        return sum(channel.exported for channel in self.channels)


def details_in(reply: Reply) -> tuple[Details, ...]:
    """Of `show protocols all`, for one protocol or many; empty if no protocol has the name that was asked for."""
    if not protocols_in(reply):
        return ()
    found: list[tuple[Protocol, list[str]]] = []
    for line in reply.lines:
        if line.code == _PROTOCOL:
            found.append((protocol_in(line), []))
        elif line.code == _DETAIL and found:
            found[-1][1].append(line.text)
    return tuple(_details(protocol, texts) for protocol, texts in found)


def _details(protocol: Protocol, texts: Iterable[str]) -> Details:
    """Lines are `key: value`. Keys that we do not use, and those of newer BIRDs, are passed over."""
    about: dict[str, str] = {}
    channels: list[dict[str, str]] = []
    for text in texts:
        key, colon, value = (part.strip() for part in text.partition(":"))
        if not colon and key.startswith("Channel "):
            channels.append({"Channel": key.removeprefix("Channel ")})
        elif channels:
            channels[-1].setdefault(key, value)
        else:
            about.setdefault(key, value)
    if not channels and "Routes" in about:  # BIRD 1.6
        channels.append({"Table": protocol.table, **about})
    return Details(
        protocol,
        about.get("BGP state", ""),
        _address(about.get("Neighbor address", "")),
        _number(about.get("Neighbor port", "")),
        _number(about.get("Neighbor AS", "")),
        _number(about.get("Local AS", "")),
        about.get("Neighbor ID", ""),
        _address(about.get("Source address", "")),
        about.get("Session", ""),
        _timer(about.get("Hold timer", "")),
        _timer(about.get("Keepalive timer", "")),
        "Neighbor graceful restart active" in about,
        _timer(about.get("Restart timer", "")),
        about.get("Last error", ""),
        about.get("Message", ""),
        tuple(_channel(told) for told in channels),
    )


def _channel(told: dict[str, str]) -> Channel:
    counts = {name: int(number) for number, name in _ROUTES.findall(told.get("Routes", ""))}
    restart = told.get("Neighbor GR", "")
    return Channel(
        told.get("Channel", ""),
        told.get("State", ""),
        told.get("Table", ""),
        counts.get("imported", 0),
        counts.get("filtered", 0),
        counts.get("exported", 0),
        counts.get("preferred", 0),
        bool(told.get("GR recovery")),
        "" if restart == "None" else restart,
    )


def _address(text: str) -> IP | None:
    """Some have words behind them."""
    try:
        return ip_address(text.split(" ", 1)[0])
    except ValueError:
        return None


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() else None


def _timer(text: str) -> Timer | None:
    left, _, of = text.partition("/")
    try:
        return Timer(float(left), None if of == "-" else float(of))
    except ValueError:
        return None
