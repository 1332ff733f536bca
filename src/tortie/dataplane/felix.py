"""The settings of Felix that the dataplane obeys, each from the first of its sources that says something. Pure.

As in Calico: the environment, then the FelixConfiguration of this node, then the one of the cluster. A value that
cannot be meant is passed over, and told.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from ipaddress import IPv4Address, IPv6Address
from typing import Any, Final, NamedTuple, TypeVar

from tortie.dataplane.things import BOOT

T = TypeVar("T")

# Links that are the machine's own, by the names that Linux gives them.
DEFAULT_MTU_PATTERN: Final = r"^((en|wl|ww|sl|ib)[Pcopsvx].*|(eth|wlan|wwan).*)"
_OTHER_NAMES: Final = {"ipipMTU": "IPINIPMTU", "ipipEnabled": "IPINIPENABLED"}
_TRUE: Final = ("true", "1", "yes", "y", "t", "on", "enable", "enabled")
_FALSE: Final = ("false", "0", "no", "n", "f", "off", "disable", "disabled")


class FelixSettings(NamedTuple):
    vxlan_enabled: bool | None = None  # None: as the pools want it
    vxlan_port: int = 4789
    vxlan_vni: int = 4096
    vxlan_mtu: int = 0  # 0: what the host's links leave over
    vxlan_mtu6: int = 0
    ipip_mtu: int = 0
    nat_address: IPv4Address | None = None
    nat_spares_hosts: bool = False
    nat_ports: tuple[int, int] | None = None
    nat_interfaces: str = ""
    route_source4: IPv4Address | None = None
    route_source6: IPv6Address | None = None
    route_protocol: int = BOOT
    external_removed: bool = True
    forwarding: bool = True
    mtu_pattern: str = DEFAULT_MTU_PATTERN
    priority4: int = 1024
    priority6: int = 1024
    interface_prefix: str = "cali"
    ipv6: bool = True


def read_felix(
    environment: Mapping[str, str], own: Mapping[str, Any], default: Mapping[str, Any]
) -> tuple[FelixSettings, tuple[str, ...]]:
    """`own` and `default` are specs; the notes say which values were passed over."""
    notes: list[str] = []

    def find(field: str, meant: Callable[[Any], T], otherwise: T) -> T:
        variable = f"FELIX_{_OTHER_NAMES.get(field, field.upper())}"
        sources: Sequence[tuple[str, Any]] = (
            (variable, environment.get(variable)),
            (f"{field} of this node's FelixConfiguration", own.get(field)),
            (f"{field} of the FelixConfiguration default", default.get(field)),
        )
        for source, value in sources:
            if value is None or value == "":
                continue
            try:
                return meant(value)
            except (ValueError, OverflowError, RecursionError) as error:
                notes.append(f"{source} is {value!r}, which is {error}; it is passed over")
        return otherwise

    usual = FelixSettings()
    settings = FelixSettings(
        vxlan_enabled=find("vxlanEnabled", _switch, None),
        vxlan_port=find("vxlanPort", _within(1, 65535), usual.vxlan_port),
        vxlan_vni=find("vxlanVNI", _within(1, (1 << 24) - 1), usual.vxlan_vni),
        vxlan_mtu=find("vxlanMTU", _within(0, 65535), 0),
        vxlan_mtu6=find("vxlanMTUV6", _within(0, 65535), 0),
        ipip_mtu=find("ipipMTU", _within(0, 65535), 0),
        nat_address=find("natOutgoingAddress", _ipv4, None),
        nat_spares_hosts=find("natOutgoingExclusions", lambda told: told == "IPPoolsAndHostIPs", False),
        nat_ports=find("natPortRange", _ports, None),
        nat_interfaces=find("iptablesNATOutgoingInterfaceFilter", _interface, ""),
        route_source4=find("deviceRouteSourceAddress", _ipv4, None),
        route_source6=find("deviceRouteSourceAddressIPv6", _ipv6, None),
        route_protocol=find("deviceRouteProtocol", _within(1, 255), usual.route_protocol),
        external_removed=find("removeExternalRoutes", _switch, True),
        forwarding=find("ipForwarding", _switch, True),
        mtu_pattern=find("mtuIfacePattern", _pattern, usual.mtu_pattern),
        priority4=find("ipv4NormalRoutePriority", _within(1, 2147483646), usual.priority4),
        priority6=find("ipv6NormalRoutePriority", _within(1, 2147483646), usual.priority6),
        interface_prefix=find("interfacePrefix", _prefix, usual.interface_prefix),
        ipv6=find("ipv6Support", _switch, True),
    )
    return settings, tuple(notes)


def _ipv4(value: object) -> IPv4Address:
    """From text: Python would take a number, too."""
    return IPv4Address(str(value))


def _ipv6(value: object) -> IPv6Address:
    return IPv6Address(str(value))


def _switch(value: object) -> bool:
    text = str(value).lower()
    if text not in (*_TRUE, *_FALSE):
        raise ValueError("neither true nor false")
    return text in _TRUE


def _within(least: int, most: int) -> Callable[[object], int]:
    def number(value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int | str) or not re.fullmatch(r"\d{1,10}", str(value)):
            raise ValueError("no number")
        if not least <= int(value) <= most:
            raise ValueError(f"not from {least} to {most}")
        return int(value)

    return number


def _ports(value: object) -> tuple[int, int]:
    first, _, last = str(value).partition(":")
    port = _within(1, 65535)
    found = port(first), port(last or first)
    if found[0] > found[1]:
        raise ValueError("a range that ends before it begins")
    return found


def _interface(value: object) -> str:
    """As iptables writes it: a plus sign at the end stands for anything."""
    text = str(value)
    if not re.fullmatch(r"[a-zA-Z0-9_.-]{1,15}\+?", text):
        raise ValueError("no name of a link")
    return text


def _pattern(value: object) -> str:
    try:
        re.compile(str(value))
    except re.error as error:
        raise ValueError(f"no regular expression: {error}") from None
    return str(value)


def _prefix(value: object) -> str:
    """Calico allows several; the first is the one by which we know links of pods."""
    text = str(value).split(",")[0].strip()
    if not re.fullmatch(r"[a-zA-Z0-9_.-]{1,14}", text):
        raise ValueError("no beginning of a link's name")
    return text
