"""Links, addresses, routes, rules and neighbours of a machine, in the forms of ip, ifconfig, route and /sys.

Settings made here, by scope:
- `link`: owner a link: `vxlan-id`, `dstport`, `local`, `dev` of `ip -d link`; `exists` is no when ip knows no such
  link.
- `neigh`: name an address, value REACHABLE, STALE, FAILED, INCOMPLETE, PERMANENT ..., owner the link.
- `monitor`: lines of `ip monitor`: name route-deleted, address-deleted, link-deleted or neigh-deleted, value the
  line.
- `ethtool`: name a feature or field (`driver`, `tx-checksum-ip-generic`, `Speed`), value as printed, owner the link.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Fact, Interface, Registered, Setting
from tortie.doctor.reading.exhibit import Exhibit
from tortie.doctor.reading.readers.host_commands import IP, LONG, ran, rows, segments, words_after
from tortie.doctor.reading.readers.host_routes import routes_and_rules

_HEAD: Final = lazily(r"^(?:(\d+): )?([\w.:-]+?)(?:@[\w.-]+)?: <([\w,-]*)>(.*)$")
_MTU: Final = lazily(r"\bmtu (\d+)")
_STATE: Final = lazily(r"\bstate ([A-Z]+)")
_ONE: Final = lazily(r"^(\d+): ([\w.:-]+?)(?:@[\w.-]+)?\s+inet6? (\S+)")
_INET: Final = lazily(rf"\binet6? ({IP}(?:/\d+)?)(.*)$")
_BRIEF: Final = lazily(r"^([\w.:-]+?)(?:@[\w.-]+)?\s+(UP|DOWN|UNKNOWN|LOWERLAYERDOWN|DORMANT)(?:\s+(.*))?$")
_MAC: Final = lazily(r"^(?:[0-9a-f]{2}:){5}[0-9a-f]{2}$", re.I)
_KINDS: Final = ("vxlan", "ipip", "bridge", "veth", "bond", "vlan", "wireguard", "dummy", "tun", "ipvlan", "macvlan")
_DETAIL: Final = lazily(r"\b(id|dstport|local|dev) (\S+)")
_TUNNEL: Final = lazily(rf"\bvxlan id 4096 local ({IP}) dev (\S+)")  # Calico's own VNI
_IFCONFIG: Final = lazily(r"^([\w.:-]+?):? +(?:flags=-?\d+<([^>]*)>|Link encap:(\S+))")
_NETMASK: Final = lazily(r"\binet (?:addr:)?(\d+\.\d+\.\d+\.\d+)\s.*?(?:netmask |Mask:)(\d+\.\d+\.\d+\.\d+)")
_AWKED: Final = lazily(r"([\w.-]{1,15})(?:@\w+)?:? mtu (\d+)$")  # of `ip -o link | awk '{print $2,$4,$5}'`
_SYS: Final = lazily(r"/sys/class/net/([\w.-]+)/mtu(?:\s*:\s*|\s+)(\d+)$")
_SYS_PAIR: Final = lazily(r"^([\w.-]+)[:\s]\s*(\d{3,5})$")
_NEIGH: Final = lazily(rf"^({IP}) dev (\S+)\s.*?\b(REACHABLE|STALE|DELAY|PROBE|FAILED|INCOMPLETE|PERMANENT|NOARP)\b")
_FEATURES: Final = 400  # more than any driver has
_NO_DEVICE: Final = lazily(
    r'Device "([^"]{1,64})" does not exist|Cannot find device "([^"]{1,64})"|(?<![\w.-])([\w.-]{1,64}): error fetching'
)


def read(exhibit: Exhibit) -> Iterator[Fact]:
    text = exhibit.text
    if "inet" in text or "mtu" in text or "MTU" in text:
        yield from _links(exhibit)
    if (" UP" in text or " DOWN" in text or " UNKNOWN" in text) and "STATUS" not in text:
        yield from _brief(exhibit)
    if "mtu" in exhibit.command or "/mtu" in text or "dstport" in exhibit.command or "vxlan id" in exhibit.command:
        yield from _mtus(exhibit)
    if " dev " in text:
        yield from _neighbours(exhibit)
    if "vxlan id 4096 local " in text and exhibit.host:
        yield from _tunnel_ends(exhibit)
    if "does not exist" in text or "Cannot find device" in text or "error fetching" in text:
        yield from _missing(exhibit)
    if ran(exhibit, "ethtool"):
        yield from _ethtool(exhibit)
    yield from routes_and_rules(exhibit)


def _tunnel_ends(exhibit: Exhibit) -> Iterator[Fact]:
    """Felix makes vxlan.calico on the link with the address that the node has registered."""
    for index, line in rows(exhibit):
        if end := _TUNNEL.search(line):
            yield Registered(exhibit.place(index), exhibit.host, end[1], None, "tunnel", end[2])


class _Link:
    """A link that is being read, from its first line to its last."""

    def __init__(self, name: str, index: int) -> None:
        self.name, self.first, self.last = name, index, index
        self.number: int | None = None
        self.state, self.mac, self.kind = "", "", ""
        self.mtu: int | None = None
        self.addresses: list[str] = []

    def fact(self, exhibit: Exhibit) -> Interface:
        place = exhibit.place(self.first, self.last + 1)
        addresses = tuple(dict.fromkeys(self.addresses))
        kind = self.kind or _kind_by_name(self.name)
        return Interface(place, self.name, exhibit.host, self.number, self.state, self.mtu, addresses, self.mac, kind)


def _kind_by_name(name: str) -> str:
    for prefix, kind in (("vxlan", "vxlan"), ("tunl", "ipip"), ("cali", "veth"), ("veth", "veth"), ("br-", "bridge")):
        if name.startswith(prefix):
            return kind
    return "bridge" if name in ("docker0", "cni0", "virbr0") else ""


def _links(exhibit: Exhibit) -> Iterator[Fact]:
    found: dict[str, _Link] = {}
    current: _Link | None = None
    for index, raw in enumerate(exhibit.lines):
        line = raw.strip()
        if not line or len(raw) > LONG:
            continue
        head = _HEAD.match(line) if "<" in line else None
        if head:
            current = _opened(found, head[2], index)
            current.number = int(head[1]) if head[1] else None
            mtu, state = _MTU.search(head[4]), _STATE.search(head[4])
            current.mtu = int(mtu[1]) if mtu else None
            current.state = state[1] if state else ("UP" if "UP" in head[3].split(",") else "DOWN")
            if "link/" in head[4]:
                _link_line(current, head[4][head[4].index("link/") :])
            yield from _details(exhibit, index, current, line)
            continue
        one = _ONE.match(line) if line[0].isdigit() and " inet" in line else None
        if one:
            link = _opened(found, one[2], index)
            link.number, link.last = int(one[1]), index
            link.addresses.append(one[3])
            current = None
            continue
        older = _IFCONFIG.match(line) if not raw[0].isspace() and ("flags=" in line or "encap:" in line) else None
        if older:
            current = _opened(found, older[1].rstrip(":"), index)
            current.state = "UP" if "UP" in (older[2] or "").split(",") else ("" if older[3] else "DOWN")
            mtu = _MTU.search(line)
            current.mtu = int(mtu[1]) if mtu else None
        elif line.startswith("inet"):
            _address(found, current, line, index)
        elif current and raw[0].isspace():
            current.last = index
            if line.startswith(("link/", "ether ")):
                _link_line(current, line)
            elif "MTU:" in line:
                current.mtu = int(re.sub(r"\D.*", "", line.split("MTU:")[1]) or 0) or None
                current.state = "UP" if line.startswith("UP ") else "DOWN"
            else:
                yield from _details(exhibit, index, current, line)
        elif not raw[0].isspace():
            current = None
    yield from (link.fact(exhibit) for link in found.values())


def _opened(found: dict[str, _Link], name: str, index: int) -> _Link:
    return found.setdefault(name, _Link(name, index))


def _link_line(link: _Link, line: str) -> None:
    words = line.split()
    if words[0] == "link/ipip":
        link.kind = "ipip"
    elif len(words) > 1 and _MAC.match(words[1]):
        link.mac = words[1].lower()


def _details(exhibit: Exhibit, index: int, link: _Link, line: str) -> Iterator[Fact]:
    """The driver's line of `ip -d link`."""
    first = line.split()[0]
    kind = first if first in _KINDS else next((k for k in ("vxlan", "wireguard") if f" {k} id " in line), "")
    if not kind:
        return
    link.kind = kind
    if kind == "vxlan":
        for match in _DETAIL.finditer(line):
            name = "vxlan-id" if match[1] == "id" else match[1]
            yield Setting(exhibit.place(index), "link", name, match[2], link.name, exhibit.host)


def _address(found: dict[str, _Link], current: _Link | None, line: str, index: int) -> None:
    """An inet line: of the link above it, or alone (`ip a | grep inet`), when its last word is the link."""
    masked = _NETMASK.match(line)
    if masked:
        address, rest = f"{masked[1]}/{_length(masked[2])}", ""
    else:
        match = _INET.match(line)
        if not match:
            return
        address, rest = match[1], match[2]
    words = rest.split()
    label = words[-1] if "scope" in words and words[-2:-1] != ["scope"] and "inet6" not in line[:6] else ""
    name = current.name if current else label.split(":")[0]
    if not current and not name and not ("scope" in words or masked):
        return
    link = current or _opened(found, name, index)
    link.last = index
    link.addresses.append(address)


def _length(mask: str) -> int:
    return sum(bin(int(part)).count("1") for part in mask.split(".") if part.isdecimal())


def _brief(exhibit: Exhibit) -> Iterator[Fact]:
    """Rows of `ip -br`; a bare `eno2 DOWN` counts only among others that are certain, or when ip was asked."""
    found = list(_brief_rows(exhibit))
    sure = ran(exhibit, "ip") or any(link.addresses or link.mac for link in found)
    yield from (link for link in found if sure)


def _brief_rows(exhibit: Exhibit) -> Iterator[Interface]:
    for index, line in rows(exhibit):
        match = _BRIEF.match(line) if " UP" in line or " DOWN" in line or " UNKNOWN" in line else None
        if not match or match[1].startswith("-") or match[1] == "state":
            continue
        words = (match[3] or "").split()
        addresses = tuple(word for word in words if "/" in word and (word.count(".") == 3 or ":" in word))
        mac = words[0].lower() if words and _MAC.match(words[0]) else ""
        if not addresses and not mac and words and not words[0].startswith("<"):
            continue
        place, name = exhibit.place(index), match[1]
        yield Interface(place, name, exhibit.host, None, match[2], None, addresses, mac, _kind_by_name(name))


def _mtus(exhibit: Exhibit) -> Iterator[Fact]:
    """`/sys/class/net/*/mtu` in its many pastes, and greps that leave only `mtu 1450` and `dstport 4789`."""
    device = _device(exhibit.command)
    listing = "/mtu" in exhibit.command
    for index, line in rows(exhibit):
        if len(line) > 80:
            continue
        place = exhibit.place(index)
        match = _SYS.search(line) or (_SYS_PAIR.match(line) if listing else None) or _AWKED.match(line)
        if match:
            yield Interface(place, match[1], exhibit.host, None, "", int(match[2]), (), "", _kind_by_name(match[1]))
        elif device and line.startswith(("mtu ", "dstport ", "vxlan id ", "state ")):
            name, _, value = line.rpartition(" ")
            if name == "mtu" and value.isdecimal():
                yield Interface(place, device, exhibit.host, None, "", int(value), (), "", _kind_by_name(device))
            elif name != "mtu":
                yield Setting(place, "link", name.replace(" ", "-"), value, device, exhibit.host)
        elif listing and line.isdecimal() and "/sys/class/net/" in exhibit.command:
            asked = re.findall(r"/sys/class/net/([^/\s]+)/mtu", exhibit.command)
            numbers = [i for i, text in rows(exhibit) if text.isdecimal()]
            name = exhibit.command.split("/sys/class/net/")[1].split("/")[0]
            name = asked[numbers.index(index)] if len(asked) == len(numbers) else name
            if name.replace(".", "").replace("-", "").isalnum():
                yield Interface(place, name, exhibit.host, None, "", int(line), (), "", _kind_by_name(name))


def _device(command: str) -> str:
    words: list[str] = re.findall(r"[\w.@-]+", command.split("|")[0])
    for before in ("show", "dev", "link", "ifconfig"):
        if before in words[:-1]:
            name = words[words.index(before) + 1]
            if name not in ("show", "dev", "type", "link"):
                return name
    return ""


def _neighbours(exhibit: Exhibit) -> Iterator[Fact]:
    for index, line in rows(exhibit):
        if " dev " not in line:
            continue
        if "Deleted " in line[:20]:
            kind = "neigh" if "lladdr" in line else "address" if " inet" in line else "route"
            yield Setting(exhibit.place(index), "monitor", f"{kind}-deleted", line, "", exhibit.host)
            continue
        match = _NEIGH.match(line)
        if match:
            yield Setting(exhibit.place(index), "neigh", match[1], match[3], match[2], exhibit.host)


def _missing(exhibit: Exhibit) -> Iterator[Fact]:
    for index, line in rows(exhibit):
        match = _NO_DEVICE.search(line)
        if match:
            name = match[1] or match[2] or match[3]
            yield Setting(exhibit.place(index), "link", "exists", "no", name, exhibit.host)


def _ethtool(exhibit: Exhibit) -> Iterator[Fact]:
    device = ""
    for segment in segments(exhibit.command):
        words = [word for word in words_after(segment, "ethtool") if not word.startswith("-")]
        device = words[0] if words else device
    kept = 0
    for index, line in rows(exhibit):
        name, colon, value = line.partition(":")
        if line.startswith(("Features for ", "Settings for ", "Offload parameters for ")):
            device = line.split(" for ")[1].rstrip(":")
        elif colon and value.strip() and len(name) < 60 and kept < _FEATURES:
            kept += 1
            yield Setting(exhibit.place(index), "ethtool", name.strip(), value.strip(), device, exhibit.host)
