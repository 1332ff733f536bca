"""The conflict check of the release that is played: every other record's address, whoever is behind it. Pure but for
what it says."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from ipaddress import ip_interface
from typing import Final

from tortie.model.network import CIDR, Family
from tortie.node.classic.log import ClassicLog
from tortie.node.classic.words import GoError
from tortie.node.picture import NODES
from tortie.store.contract import Entry

_FIELDS: Final[tuple[tuple[Family, str], ...]] = ((4, "ipv4Address"), (6, "ipv6Address"))
_SAME_NAME: Final = "This could happen if there are multiple nodes with the same name."
_REMEDY_OF_V2: Final = " -  Check the node configuration to remove the IP address conflict"


def check_conflicts(
    name: str, addresses: Mapping[Family, CIDR | None], nodes: Iterable[Entry], log: ClassicLog
) -> bool:
    """Whether the start may go on. A record of anybody that cannot be parsed ends it, too."""
    free = True
    for entry in nodes:
        other = entry.key[len(NODES) :]
        try:
            told = ((json.loads(entry.value).get("spec") or {}).get("bgp")) or {}
        except (ValueError, AttributeError):
            told = {}
        for family, field in _FIELDS:
            mine, text = addresses.get(family), told.get(field) if isinstance(told, dict) else None
            if not text or mine is None:
                continue
            try:
                theirs = ip_interface(str(text))
            except ValueError:
                failed = GoError(f"invalid CIDR address: {text}")
                log.error(f"Error parsing IPv{family} CIDR '{text}' for node '{other}'", error=failed)
                return False
            if other == name and theirs.ip != mine.ip:
                changed = f"IPv{family} address has changed. {_SAME_NAME}"
                log.warning(changed, node=name, original=str(theirs.ip), updated=str(mine.ip))
            elif other != name and theirs.ip == mine.ip:
                remedy = _REMEDY_OF_V2 if log.release.bare else ""
                stop = "" if remedy else "."
                log.warning(f"Calico node '{other}' is already using the IPv{family} address {mine.ip}{stop}{remedy}")
                free = False
    return free
