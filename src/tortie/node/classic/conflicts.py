"""The conflict check of the release that is played: every other record's address, whoever is behind it. Pure but for
what it says."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from tortie.model.network import CIDR, Family
from tortie.node.classic.log import ClassicLog
from tortie.node.classic.words import GoError
from tortie.node.classic.words_of_go import cidr_or_ip
from tortie.node.picture import NODES
from tortie.store.contract import Entry

_FIELDS: Final[tuple[tuple[Family, str], ...]] = ((4, "ipv4Address"), (6, "ipv6Address"))
_SAME_NAME: Final = "This could happen if there are multiple nodes with the same name."


class Checked(NamedTuple):
    """`free`: the start may go on. A record of anybody that cannot be parsed ends it without a family in conflict."""

    free: bool
    taken: tuple[Family, ...] = ()


def check_conflicts(
    name: str, addresses: Mapping[Family, CIDR | None], nodes: Iterable[Entry], log: ClassicLog
) -> Checked:
    taken: list[Family] = []
    for entry in nodes:
        other = entry.key[len(NODES) :]
        try:
            theirs = _read(entry)
        except _Unreadable as error:
            failed = GoError(f"invalid CIDR address: {error.text}")
            log.error(f"Error parsing IPv{error.family} CIDR '{error.text}' for node '{other}'", error=failed)
            return Checked(False, tuple(taken))
        for family, cidr in theirs.items():
            mine = addresses.get(family)
            if mine is None:
                continue
            if other == name and cidr.ip != mine.ip:
                changed = f"IPv{family} address has changed. {_SAME_NAME}"
                log.warning(changed, node=name, original=str(cidr.ip), updated=str(mine.ip))
            elif other != name and cidr.ip == mine.ip:
                log.warning(f"Calico node '{other}' is already using the IPv{family} address {mine.ip}.")
                taken.append(family)
    return Checked(not taken, tuple(dict.fromkeys(taken)))


class _Unreadable(Exception):
    def __init__(self, family: Family, text: str) -> None:
        super().__init__(text)
        self.family = family
        self.text = text


def _read(entry: Entry) -> dict[Family, CIDR]:
    try:
        told = ((json.loads(entry.value).get("spec") or {}).get("bgp")) or {}
    except (ValueError, AttributeError):
        return {}
    found: dict[Family, CIDR] = {}
    for family, field in _FIELDS if isinstance(told, dict) else ():
        if text := str(told.get(field) or ""):
            cidr = cidr_or_ip(text)
            if cidr is None:
                raise _Unreadable(family, text)
            found[family] = cidr
    return found
