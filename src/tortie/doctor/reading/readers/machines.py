"""Lists of machines as clouds and hypervisors print them: who has which address by the word of whom gives them out."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_address
from typing import Final

from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Fact, Machine
from tortie.doctor.reading.exhibit import Exhibit

_MOST: Final = 2_000  # lines
_COMMAND: Final = lazily(
    r"\bgcloud\b.{0,80}\binstances list\b|\baws\b.{0,80}\bdescribe-instances\b|\baz vm (?:list|list-ip-addresses)\b"
    r"|\bopenstack\b.{0,40}\bserver list\b|\bnova list\b|\bhcloud server list\b|\bdoctl compute droplet list\b"
    r"|\bvirsh\b.{0,40}\b(?:net-dhcp-leases|domifaddr)\b|\bmultipass list\b|\b(?:lxc|incus) (?:list|ls)\b"
)
_HEADER: Final = lazily(
    r"\s*NAME\s.{0,120}\bINTERNAL_IP\b|\s*VirtualMachine\s.{0,60}\bPrivateIPAddresses\b"
    r"|\|\s*ID\s*\|\s*Name\s*\|\s*Status\s*\|.{0,80}\bNetworks\s*\||\s*ID\s+NAME\s+STATUS\s+IPV4\s"
    r"|\s*Expiry Time\s+MAC address\s+Protocol\s+IP address\s"
)
_DOMAIN: Final = lazily(r"\bdomifaddr\s+(?:--?domain[ =])?([\w.-]+)")
_APART: Final = lazily(r"[\s|,;=()\"'\[\]]+")
_ADDRESS: Final = lazily(r"(?:\d{1,3}\.){3}\d{1,3}(?:/\d{1,2})?")
_NAME: Final = lazily(r"[A-Za-z0-9][A-Za-z0-9._-]{0,252}")
# A machine that is not running keeps its address in such a list.
_STOPPED: Final = frozenset(("terminated", "stopped", "stopping", "shutoff", "off", "deallocated", "suspended"))


def read(exhibit: Exhibit) -> Iterator[Fact]:
    if exhibit.prose or len(exhibit.lines) > _MOST:
        return
    if not _COMMAND.search(exhibit.command) and not any(_HEADER.match(line) for line in exhibit.lines[:3]):
        return
    domain = _DOMAIN.search(exhibit.command)
    for index, line in enumerate(exhibit.lines):
        words = [word for word in _APART.split(line) if word]
        addresses = _private([word.partition("/")[0] for word in words if _ADDRESS.fullmatch(word)])
        names = [word for word in words if _NAME.fullmatch(word) and any(c.isalpha() for c in word)]
        names += [domain[1]] if domain else []
        if addresses and names and not line.lstrip().startswith(("{", "}", '"')):
            stopped = any(name.lower() in _STOPPED for name in names)
            yield Machine(exhibit.place(index), tuple(names), tuple(addresses), stopped)


def _private(addresses: list[str]) -> list[str]:
    """Those of networks between machines, where there are some: the public one is translated on the way."""
    inner = [one for one in addresses if _is_private(one)]
    return inner or addresses


def _is_private(address: str) -> bool:
    try:
        return ip_address(address).is_private
    except ValueError:
        return False
