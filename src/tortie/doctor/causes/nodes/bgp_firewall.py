"""Packet filters, as far as they concern BGP: rules, zones and security groups that do not let TCP 179 in."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from functools import cache
from typing import Final

from tortie.doctor.causes.firewall.hand_lists import hand_listed
from tortie.doctor.causes.nodes.bgp_evidence import BGP_PORT
from tortie.doctor.picture.facts import Setting
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Sign

RULE: Final = Sign("trt8001-rule-dport", "--dport 179 … -j (DROP|REJECT)")
UFW: Final = Sign("trt8001-ufw-blocked", "[UFW BLOCK] … DPT=179")
PROHIBITED: Final = Sign("trt8001-prohibited", "tcp port 179 unreachable")
FIREWALL_SIGNS: Final = (RULE, UFW, PROHIBITED)
_EVERYTHING: Final = ("any", "all", "-1", "none")


def closed(picture: Picture) -> list[object]:
    """Evidence of filters that keep BGP out, the plainest first."""
    return [*picture.hits(*FIREWALL_SIGNS), *_rules(picture), *_zones(picture), *_groups(picture), *_ufw(picture)]


def _of(picture: Picture, scope: str) -> list[Setting]:
    return [setting for setting in picture.of(Setting) if setting.scope == scope]


def _rules(picture: Picture) -> list[Setting]:
    """Rules that drop or reject port 179, and INPUT chains that let some ports in, not this one, and end closed."""
    rules = _of(picture, "firewall")
    chains: dict[str, list[Setting]] = defaultdict(list)
    for rule in rules:
        if "INPUT" in rule.name.upper() and not rule.name.startswith("cali-"):
            chains[rule.host].append(rule)
    naming = [rule for rule in rules if rule.owner in ("drop", "reject") and _names_port(rule.value)]
    return [*naming, *(end for chain in chains.values() if (end := _closed_end(chain)))]


def _closed_end(chain: list[Setting]) -> Setting | None:
    """The rule that takes what is left, in a chain that lets ports in and not this one."""
    accepting = [rule for rule in chain if rule.owner == "accept"]
    admitting = [rule for rule in accepting if "port" in rule.value.lower() + rule.name or "dpt" in rule.value]
    closing = [r for r in chain if r.owner in ("drop", "reject", "policy-drop") and not _any_port(r.value)]
    if not admitting or any(_admits(rule.value) for rule in admitting):
        return None
    return closing[-1] if closing else None


def _zones(picture: Picture) -> list[Setting]:
    """Zones of firewalld whose list of open ports lacks 179."""
    zones: dict[tuple[str, str], dict[str, Setting]] = defaultdict(dict)
    rich: dict[tuple[str, str], str] = defaultdict(str)
    for setting in _of(picture, "firewalld"):
        zones[setting.host, setting.owner][setting.name] = setting
        if setting.name == "rich rules":
            rich[setting.host, setting.owner] += setting.value
    got = []
    for key, fields in zones.items():
        ports = fields.get("ports")
        if ports is None or fields.get("target", ports).value == "ACCEPT" or key[1] == "trusted":
            continue
        services = fields["services"].value.split() if "services" in fields else []
        if "bgp" in services or any(covers(port) for port in _ranges(ports.value)):
            continue
        if "accept" not in rich[key]:
            got.append(ports)
    return got


def _groups(picture: Picture) -> list[Setting]:
    """A security group that lists TCP ports without this one and without a rule for everything."""
    rows = [row for row in _of(picture, "security-group") if row.name] or [*hand_listed(picture)]
    rows = [row for row in rows if row.owner != "drop"]
    tcp = [row for row in rows if row.name == "tcp"]
    if not tcp or any(row.name in _EVERYTHING for row in rows):
        return []
    open_to_it = [row for row in tcp if not _ports_of(row.value) or any(covers(p) for p in _ports_of(row.value))]
    return [] if open_to_it else tcp[:2]


def _ufw(picture: Picture) -> list[Setting]:
    rows = _of(picture, "ufw")
    state = next((row for row in rows if row.name == "state"), None)
    ports = [row for row in rows if row.name != "state"]
    if state is None or state.value != "active" or not ports:
        return []
    return [] if any(covers(port) for row in ports for port in _ranges(row.name)) else [state]


@cache
def _address() -> re.Pattern[str]:
    return re.compile(r"(?:\d{1,3}\.){3}\d{1,3}(?:/\d{1,2})?|::/0|[0-9a-f]{8}-[0-9a-f-]{27}|sg-\w+|[0-9a-f]{12,}")


def _ports_of(line: str) -> list[str]:
    """Ports of a cloud's rule, once addresses and ids are out of the way."""
    plain = _address().sub(" ", line.lower())
    found = re.findall(r"(?<![\w./-])(\d{1,5})(?:\s?[:-]\s?(\d{1,5}))?(?![\w./])", plain)
    return [f"{first}-{last or first}" for first, last in found]


def _ranges(text: str) -> Iterable[str]:
    return [part.split("/")[0] for part in text.replace(",", " ").split()]


def covers(ports: str, port: int = BGP_PORT) -> bool:
    """Whether `30000-32767` or `179` holds a port."""
    first, _, last = ports.replace(":", "-").partition("-")
    return first.isdecimal() and (last or first).isdecimal() and int(first) <= port <= int(last or first)


def _any_port(rule: str) -> bool:
    return "dport" in rule or "dpt" in rule


def _names_port(rule: str) -> bool:
    return bool(re.search(r"(?:dports? |dpts?:)[\d,:{ ]*\b(?:179|bgp)\b", rule))


def _admits(rule: str) -> bool:
    listed = re.search(r"(?:dports? |dpts?:)\{?\s*([\d,:\- ]+|bgp)", rule)
    if listed is None:
        return False
    return listed[1].strip() == "bgp" or any(covers(part) for part in listed[1].replace(",", " ").split())
