"""Packet filters of clouds: what a security group lets in, and how one more port gets in."""

from __future__ import annotations

from tortie.doctor.causes.firewall.hand_lists import hand_listed
from tortie.doctor.causes.steps import Step, step_of
from tortie.doctor.causes.surroundings import cloud_of
from tortie.doctor.causes.underlay.traffic_evidence import compiled
from tortie.doctor.causes.ways import open_port
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Exhibit, Place
from tortie.model.tuples import NamedTuple


class SecurityGroup(NamedTuple):
    """What a cloud's packet filter lets in."""

    place: Place
    name: str
    protocols: frozenset[str]
    ports: frozenset[str]
    everything: bool  # a rule for any protocol


_GROUP_COMMANDS = ("security group", "security-group", "nsg", "firewall-rules", "describe-security-groups")
_GROUP_NAME = (
    r"(?:rule list|--nsg-name|--group-ids?|--group-names?|group show|--security-group(?:-id)?)[ =]+"
    r"(?P<name>[A-Za-z][\w.-]*)"
)
_PORTS = r"(?<![\w./-])\d{1,5}(?:[:/-]\d{1,5})?(?![\w.])"
_ADDRESSES = r"(?:\d{1,3}\.){3}\d{1,3}(?:/\d{1,2})?"
_PROTOCOL = r"(?<![\w/.-])(?P<protocol>tcp|udp|icmp|ipip|ipencap|any|all|esp)(?![\w.-])"
_NETWORK = r"(?!0\.0\.0\.0/0)\d+(?:\.\d+){3}/\d+"
# Numbers are protocols at the head of a line or cell and in quotes; elsewhere they are ports.
_PROTOCOL_NUMBER = r"(?:^\s*|[\"'\[|]\s*)(?P<protocol>-1|4|94)(?![\w.-])"


def security_groups(picture: Picture) -> list[SecurityGroup]:
    printed = [_group(exhibit) for exhibit in picture.exhibits if any(w in exhibit.command for w in _GROUP_COMMANDS)]
    return printed or _by_hand(picture)


def _by_hand(picture: Picture) -> list[SecurityGroup]:
    """A table that a person typed: all of it one group, without a name."""
    rows = [row for row in hand_listed(picture) if row.owner == "accept"]
    if not rows:
        return []
    ports = {text for row in rows for text in compiled(_PORTS).findall(compiled(_ADDRESSES).sub(" ", row.value))}
    protocols = frozenset(row.name for row in rows)
    everything = "all" in protocols
    return [
        SecurityGroup(rows[0].place, "", protocols, frozenset(port.replace("/", "-") for port in ports), everything)
    ]


def _group(exhibit: Exhibit) -> SecurityGroup:
    named = compiled(_GROUP_NAME).search(exhibit.command) or compiled(r"(?P<name>\bsg-[0-9a-f]{6,})").search(
        exhibit.text
    )
    inbound = [line for line in exhibit.lines if "egress" not in line.lower()]
    patterns = (compiled(_PROTOCOL), compiled(_PROTOCOL_NUMBER))
    protocols = {m["protocol"].lower() for line in inbound for pattern in patterns for m in pattern.finditer(line)}
    ports = {m for line in inbound for m in compiled(r"\b\d{2,5}(?:[:-]\d{2,5})?\b").findall(line)}
    everything = bool(protocols & {"any", "all", "-1"}) or any(_any_protocol(line) for line in inbound)
    return SecurityGroup(
        exhibit.place(0, max(1, len(exhibit.lines))),
        named["name"] if named else "",
        frozenset(protocols),
        frozenset(ports),
        everything,
    )


def _any_protocol(line: str) -> bool:
    """OpenStack writes None for any protocol; such rules for every address are those for what goes out."""
    cells = [cell.strip() for cell in line.split("|")]
    narrow = "ingress" in cells or any(compiled(_NETWORK).fullmatch(cell) for cell in cells)
    return len(cells) > 4 and cells[2] == "None" and narrow


def covers(ports: frozenset[str] | set[str], port: int) -> bool:
    """Whether a list of ports and ranges (`1:65535`, `30000-32767`) contains a port."""
    for text in ports:
        low, _, high = text.replace(":", "-").partition("-")
        if low.isdecimal() and int(low) <= port <= int(high if high.isdecimal() else low):
            return True
    return False


def let_in(picture: Picture, port: str, protocol: str) -> tuple[Step, ...]:
    """A port between the nodes; in the group that is shown, where the evidence shows one and not its cloud."""
    groups = security_groups(picture)
    group = groups[0].name if groups else ""
    known = {"group": group} if group else {}
    steps = [step.fill(known) for step in open_port(picture, port, protocol)]
    if groups and not cloud_of(picture):
        tool = "openstack" if any(exhibit.command.startswith("openstack") for exhibit in picture.exhibits) else "any"
        own = step_of(__name__, f"group {tool}", {"port": port, "protocol": protocol, "group": group})
        return (own, *steps)
    return tuple(steps)
