"""Marks of packets that two programs take for their own: Calico's, and those of ip rules."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from ipaddress import IPv4Address, IPv4Network
from typing import Final

from tortie.doctor.causes.underlay.traffic_evidence import Row, compiled, rows, tcp_fails
from tortie.doctor.picture.facts import Ping, PortTest
from tortie.doctor.picture.picture import Picture

MAIN: Final = 32766  # the priority of the main table
CALICOS_BITS: Final = 0xFFFF0000  # where Felix takes its marks from, unless it is told otherwise
FEWEST_BITS: Final = 8  # that Felix needs
TAILSCALE: Final = ("52", IPv4Network("100.64.0.0/10"))  # its table, and what lies behind it
_MARK = r"fwmark (?P<value>0x[0-9a-f]+)(?:/(?P<mask>0x[0-9a-f]+))?"
_MASK = r"\b(?:iptablesMarkMask|FELIX_IPTABLESMARKMASK)\W{1,3}\s*(?:value:\s*)?\W?(?P<mask>0x[0-9a-f]+|\d+)"
_FAILED = (
    r"(?:dial tcp |connect to )(?P<address>\d{1,3}(?:\.\d{1,3}){3})\b"
    r"(?:(?!dial tcp |connect to ).){0,200}?(?:timeout|timed out|no route|unreachable)"
)


def overlapping(picture: Picture, rules: Sequence[Row]) -> tuple[Row, Row] | None:
    """A rule that sends marked packets past a table, by bits that Calico sets too; and the rule for that table."""
    own = _calicos_bits(picture) if rules else 0
    for row in rules:
        if row["table"] in ("main", "default") and _bits(row) & own:
            at = int(row["priority"])
            behind = [one for one in rules if at < int(one["priority"]) < MAIN and _passed_over(one)]
            if behind:
                return row, behind[0]
    return None


def free_bits(rule: Row) -> str:
    """What is left for Calico, as a number; empty where that is too little."""
    free = CALICOS_BITS & ~_bits(rule)
    return str(free) if free.bit_count() >= FEWEST_BITS else ""


def failing_behind(picture: Picture, routes: Sequence[Row], table: str) -> list[object]:
    """Tests and connections that fail to addresses to which only that table knows the way."""
    networks = [network for row in routes if (network := _network(row))]
    networks += [TAILSCALE[1]] if table == TAILSCALE[0] else []
    return [what for address, what in _failures(picture) if any(IPv4Address(address) in one for one in networks)]


def _failures(picture: Picture) -> Iterator[tuple[str, object]]:
    tests: list[Ping | PortTest] = [*(ping for ping in picture.of(Ping) if not ping.ok), *tcp_fails(picture)]
    yield from ((test.address, test) for test in tests if compiled(r"\d+(?:\.\d+){3}").fullmatch(test.address))
    for exhibit in picture.exhibits:
        for index, line in enumerate(exhibit.lines):
            if match := compiled(_FAILED).search(line):
                yield match["address"], exhibit.place(index)


def _network(row: Row) -> IPv4Network | None:
    try:
        return IPv4Network(row.match.string.split()[0], strict=False)
    except (ValueError, IndexError):
        return None


def _bits(row: Row) -> int:
    """The bits of the mark by which a rule chooses its packets; 0 where it looks at none."""
    mark = compiled(_MARK).search(row["selector"])
    return int(mark["mask"] or mark["value"], 16) if mark and not row["selector"].startswith("not ") else 0


def _calicos_bits(picture: Picture) -> int:
    told = [row["mask"] for row in rows(picture, _MASK)]
    return int(told[-1], 16 if told[-1].startswith("0x") else 10) if told else CALICOS_BITS


def _passed_over(row: Row) -> bool:
    return row["selector"] == "from all" and row["table"] not in ("main", "local", "default")
