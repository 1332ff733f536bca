"""Variables that nobody reads, but that somebody seems to have meant for a node.

Only names that look like ours are reported, and never their values: a misspelt password is still a password.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Final

from tortie.node.settings.felix import FELIX_PREFIX
from tortie.node.settings.setting import Finding, Given, finding
from tortie.node.settings.variables import BY_NAME, USED

_PREFIXES: Final = (
    "CALICO_",
    "FELIX_",
    "IP_AUTODETECTION",
    "IP6_AUTODETECTION",
    "ETCD_",
    "K8S_",
    "CONFD_",
    "TORTIE_",
)
_LENGTH_MAX: Final = 80  # no name is half as long, and comparing costs the square
_SHORT_MAX: Final = 12
_SHORTEST: Final = 7  # IPS, PS1 and HOST are other people's

# Kubernetes describes every Service of the namespace to its pods. One is called calico-typha.
_SERVICE_LINK: Final = re.compile(
    r"[A-Z0-9_]+_(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)"
)
_LINK_VALUE: Final = re.compile(r"(tcp|udp|sctp)://.*")

# Where the nearest name is not the one that is meant.
_MEANT: Final = {
    "CALICO_IPV6POOL_IPIP": "CALICO_IPV6POOL_VXLAN, because IPIP carries no IPv6",
    "CALICO_IPV4POOL": "CALICO_IPV4POOL_CIDR",
    "CALICO_IPV6POOL": "CALICO_IPV6POOL_CIDR",
    "CALICO_HOSTNAME": "NODENAME",
    "ETCD_CA_FILE": "ETCD_CA_CERT_FILE",
}


def strangers(given: Mapping[str, Given]) -> Iterator[Finding]:
    """A warning for each variable that looks like a misspelt or unknown one of ours."""
    for name, entry in given.items():
        if name in BY_NAME:
            continue
        told = _about(name, entry, given)
        if told:
            yield finding(name, entry, *told, secret=True)


def _about(name: str, entry: Given, given: Collection[str]) -> tuple[str, str] | None:
    upper = name.upper()
    if upper in BY_NAME:
        lower = upper not in given
        return ("nothing reads it: the names of variables are upper-case", upper) if lower else None
    if _SERVICE_LINK.fullmatch(name) or (name.endswith("_PORT") and _LINK_VALUE.fullmatch(entry.text)):
        return None
    if name.startswith(_PREFIXES):
        near = (
            _MEANT.get(name)
            or _without_prefix(name)
            or _without_underscores(name)
            or closest(name, BY_NAME, len(name) // 4)
        )
        return "nothing reads a variable of this name", f"did you mean {near}?" if near else "leave it out"
    near = closest(name, _UNPREFIXED, 1 + (len(name) - _SHORTEST) // 6) if len(name) >= _SHORTEST else None
    # NODE_NAME beside NODENAME is somebody's way to fill in the other; a long name is not hit by accident.
    if near and (near not in given or len(near) > _SHORT_MAX):
        return "nothing reads a variable of this name", f"did you mean {near}?"
    return None


def _without_prefix(name: str) -> str | None:
    """CALICO_NO_DEFAULT_POOLS: Calico's example of a systemd unit had such names, and gave them to docker as others."""
    bare = name.removeprefix("CALICO_").removeprefix("TORTIE_")
    return bare if bare != name and bare in BY_NAME and BY_NAME[bare].use == USED else None


def _without_underscores(name: str) -> str | None:
    """FELIX_LOG_SEVERITY_SCREEN: Felix's names have no other underscore than the first."""
    joined = FELIX_PREFIX + name.removeprefix(FELIX_PREFIX).replace("_", "")
    return joined if name.startswith(FELIX_PREFIX) and joined in BY_NAME else None


_UNPREFIXED: Final = tuple(
    name
    for name in BY_NAME
    if len(name) >= _SHORTEST and (not name.startswith(_PREFIXES) or name.endswith("_AUTODETECTION_METHOD"))
)


def closest(name: str, known: Collection[str], most: int) -> str | None:
    """The known name that needs the fewest slips of a finger, at most `most`."""
    best: tuple[int, str] | None = None
    if len(name) > _LENGTH_MAX:
        return None
    letters = set(name)
    for other in known:
        limit = best[0] - 1 if best else most
        # Each letter that the other name does not have at all is a slip, too; most names are told apart by that.
        near = limit > 0 and abs(len(name) - len(other)) <= limit and len(letters.difference(other)) <= limit
        if near:
            distance = slips(name, other, limit)
            if distance <= limit:
                best = distance, other
    return best[1] if best else None


def slips(one: str, other: str, most: int = _LENGTH_MAX) -> int:
    """Letters left out, added, changed, or two neighbours swapped; beyond `most` any larger number."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for line, letter in enumerate(one, start=1):
        earlier, before, row = before, row, [line]
        for column, facing in enumerate(other, start=1):
            cost = min(before[column] + 1, row[-1] + 1, before[column - 1] + (letter != facing))
            swapped = line > 1 and column > 1 and letter == other[column - 2] and one[line - 2] == facing
            row.append(min(cost, earlier[column - 2] + 1) if swapped else cost)
        if min(row) > most and min(before) > most:
            return most + 1
    return row[-1]
