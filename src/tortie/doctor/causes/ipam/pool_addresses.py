"""Addresses against pools: whose they are, which pods a count is about, which pool a check looked at."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from tortie.doctor.picture.addresses import inside
from tortie.doctor.picture.picture import Picture

PINNED: Final = "cni.projectcalico.org/ipv4pools"  # pods or a namespace that ask for a pool by name
_CHECKED: Final = 20_000  # lines; with --show-all-ips a check is long
_SHORT: Final = 400


def holds_pool(picture: Picture, command: str, cidr: str) -> bool:
    """The command counts pods with addresses of this pool, or all pods of one namespace while a pool is asked for."""
    return of_pool(command, cidr) or (_of_namespace(command) and _pinned(picture))


def of_pool(command: str, cidr: str) -> bool:
    """The command counts rows by the beginning of an address, and that beginning lies in this pool."""
    for text in _compiled(r"grep [^|;]{0,200}?((?:\d{1,3}\\?\.){2,3})").findall(command):
        parts = text.replace("\\", "").strip(".").split(".")
        if inside(".".join([*parts, "0", "0"][:4]), cidr) or cidr.startswith(".".join(parts) + "."):
            return True
    return False


def _of_namespace(command: str) -> bool:
    chosen = _compiled(r" (?:-l|--selector)[ =]?[\w.-]+/?[\w.-]*=").search(command)
    return chosen is None and _compiled(r" (?:-n|--namespace)[ =]?[\w-]").search(command) is not None


def _pinned(picture: Picture) -> bool:
    return any(PINNED in line for e in picture.exhibits if not e.prose and len(e.lines) <= _SHORT for line in e.lines)


def pool_checked(picture: Picture) -> str:
    """The range that `calicoctl ipam check` lists above its count of active pools, when it is one."""
    for exhibit in picture.exhibits:
        if len(exhibit.lines) > _CHECKED or exhibit.prose:
            continue
        end = next((i for i, line in enumerate(exhibit.lines) if " active IP pool" in line), 0)
        named = [line.strip() for line in exhibit.lines[max(0, end - 20) : end]]
        pools = [text for text in named if _compiled(r"\d+(?:\.\d+){3}/\d+$").match(text)]
        if len(pools) == 1:
            return pools[0]
    return ""


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)
