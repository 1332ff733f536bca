"""Packet filters of a machine: iptables, nft, firewalld, ufw; and the tables of kube-proxy and ipset.

Rules are facts of their own (FilterRule, RuleCount, see filter_rules.py). Causes that only look for a port have the
same lines as settings.

Settings made here, by scope:
- `firewall`: name the chain, value the rule or policy line, owner what it does: drop, reject, accept, policy-drop,
  policy-accept. Accepting rules are kept only when they name ports or protocols; chains of Calico and Kubernetes only
  when they drop or reject.
- `iptables`: `backend` is nf_tables or legacy (owner `container` when asked through an exec); `legacy-tables` is
  present; `kubernetes-service` a rule of kube-proxy's for default/kubernetes:https.
- `firewalld`: `state`, `zone`, and each field of --list-all (`ports`, `services`, `protocols`, `target`, `rich
  rules`) with the zone as owner. `ufw`: `state`; a port or service with its line.
- `ipvs`: name a virtual address and port, value a real server; `available` is no when the kernel has none.
- `ipset`: name a set, value its number of entries, owner its type where shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Fact, Setting, Version
from tortie.doctor.reading.exhibit import Exhibit
from tortie.doctor.reading.readers.filter_rules import filter_rules, rule_counts
from tortie.doctor.reading.readers.host_commands import ran, rows

KEPT: Final = 400  # rules of one exhibit
_BACKEND: Final = lazily(r"^(?:ip6?tables(?:-save|-restore)? )v?(\d+\.\d+[\d.]*)(?: \((nf_tables|legacy)\))?")
_SAVED: Final = lazily(r"^(?:\[\d+:\d+\] )?-A (\S+) .*?-j (\w+)")
_POLICY: Final = lazily(r"^(?:-P (\S+) (ACCEPT|DROP)|:(\S+) (ACCEPT|DROP) \[|Chain (\S+) \(policy (ACCEPT|DROP))")
_CHAIN: Final = lazily(r"^Chain (\S+) \(")
_LISTED: Final = lazily(r"^(?:\d+ +)?(?:\d+[KMG]? +\d+[KMG]? +)?(ACCEPT|DROP|REJECT)\s+(?:\S+)\s+(?:--|all|\S+)\s")
_NFT_CHAIN: Final = lazily(r"^chain ([\w-]+) \{")
_NFT_ASKED: Final = lazily(r"\bchain \w+ [\w-]+ ([\w-]+)")
_NFT_POLICY: Final = lazily(r"\bhook (\w+) .*policy (\w+)")
_NFT_END: Final = lazily(r"(?:^|\s)(drop|reject|accept)(?:\s+with .*|\s+comment .*)?$")
_RULES: Final = ("-A ", "-P ", ":", "[", "Chain ", "ACCEPT", "DROP", "REJECT")
_OWN: Final = ("cali", "KUBE", "DOCKER")
_IPSET: Final = lazily(r"^ipset v?(\d+\.\d+)")
_FIELDS: Final = (
    "target", "icmp-block-inversion", "interfaces", "sources", "services", "ports", "protocols", "masquerade",
    "forward-ports", "source-ports", "icmp-blocks", "rich rules", "forward",
)  # fmt: skip


def read(exhibit: Exhibit) -> Iterator[Fact]:
    text, command = exhibit.text, exhibit.command
    if "iptables" in text or "ip6tables" in text or "ipset v" in text:
        yield from _backends(exhibit)
    if (
        "-A " in text
        or "-P " in text
        or "Chain " in text
        or (" [" in text and "*filter" in text)
        or ran(exhibit, "iptables")
    ):
        yield from _iptables(exhibit)
        yield from filter_rules(exhibit)
    elif " hook " in text or ran(exhibit, "nft"):
        yield from filter_rules(exhibit)
    if "ptables" in command:
        yield from rule_counts(exhibit)
    if ran(exhibit, "nft") or " hook " in text:
        yield from _nft(exhibit)
    if "firewall-cmd" in command or "firewall-cmd" in text or "icmp-block" in text:
        yield from _firewalld(exhibit)
    if ran(exhibit, "ufw"):
        yield from _ufw(exhibit)
    if "ipvsadm" in command or "initialize ipvs" in text or "IP Virtual Server" in text:
        yield from _ipvs(exhibit)
    if "Number of entries:" in text or "Type: hash:" in text:
        yield from _ipsets(exhibit)


def _backends(exhibit: Exhibit) -> Iterator[Fact]:
    owner = "container" if " exec " in f" {exhibit.command} " else ""
    for index, line in rows(exhibit):
        place = exhibit.place(index)
        if match := _BACKEND.match(line):
            yield Version(place, "iptables", match[1], exhibit.host)
            if match[2]:
                yield Setting(place, "iptables", "backend", match[2], owner, exhibit.host)
        elif "iptables-legacy tables present" in line:
            yield Setting(place, "iptables", "legacy-tables", "present", owner, exhibit.host)
        elif match := _IPSET.match(line):
            yield Version(place, "ipset", match[1], exhibit.host)


def _iptables(exhibit: Exhibit) -> Iterator[Fact]:
    chain, kept = "", 0
    asked = re.search(
        r"iptables\b.{0,200}?\s-\w{0,6}[LS]\w{0,6}\s{1,8}+(?:-\S{1,60}+\s{1,8}+){0,8}+([A-Za-z][\w-]{1,60}+)",
        exhibit.command,
    )
    if asked:
        chain = asked[1]
    for index, line in rows(exhibit):
        if kept >= KEPT:
            return
        if not line.startswith(_RULES) and not line[0].isdigit():
            continue
        place = exhibit.place(index)
        if match := _POLICY.match(line):
            chain = match[1] or match[3] or match[5]
            verdict = (match[2] or match[4] or match[6]).lower()
            yield Setting(place, "firewall", chain, line, f"policy-{verdict}", exhibit.host)
        elif match := _CHAIN.match(line):
            chain = match[1]
        elif match := _SAVED.match(line):
            if "default/kubernetes:https" in line:
                yield Setting(place, "iptables", "kubernetes-service", line, "", exhibit.host)
            elif _worth(match[1], match[2], line):
                kept += 1
                yield Setting(place, "firewall", match[1], line, match[2].lower(), exhibit.host)
        elif (match := _LISTED.match(line)) and _worth(chain, match[1], line):
            kept += 1
            yield Setting(place, "firewall", chain, line, match[1].lower(), exhibit.host)


def _worth(chain: str, verdict: str, line: str) -> bool:
    if verdict in ("DROP", "REJECT"):
        return True
    return verdict == "ACCEPT" and not chain.startswith(_OWN) and ("dpt" in line or "dport" in line or "-p " in line)


def _nft(exhibit: Exhibit) -> Iterator[Fact]:
    asked = _NFT_ASKED.search(exhibit.command)
    chain, kept = asked[1] if asked else "", 0
    for index, line in rows(exhibit):
        if kept >= KEPT:
            return
        place = exhibit.place(index)
        if opened := _NFT_CHAIN.match(line):
            chain = opened[1]
        elif policy := _NFT_POLICY.search(line):
            yield Setting(place, "firewall", chain or policy[1], line, f"policy-{policy[2]}", exhibit.host)
        elif verdict := _NFT_END.search(line):
            worth = verdict[1] != "accept" or "port" in line or "protocol" in line or "l4proto" in line
            if worth and not (verdict[1] == "accept" and chain.startswith(_OWN)):
                kept += 1
                yield Setting(place, "firewall", chain, line, verdict[1], exhibit.host)


def _firewalld(exhibit: Exhibit) -> Iterator[Fact]:
    zone = ""
    asked = re.search(r"--list-(ports|services|protocols|rich-rules|sources)", exhibit.command)
    for index, line in rows(exhibit):
        place = exhibit.place(index)
        name, colon, value = line.partition(":")
        if line in ("running", "not running", "FirewallD is not running"):
            state = "not running" if "not" in line else "running"
            yield Setting(place, "firewalld", "state", state, "", exhibit.host)
        elif match := re.fullmatch(r"([\w-]+)(?: \((?:active|default|default, active)\))?", line):
            if not asked and len(exhibit.lines) > 1:
                zone = match[1]
                yield Setting(place, "firewalld", "zone", zone, "", exhibit.host)
            elif asked:
                yield Setting(place, "firewalld", asked[1].replace("-", " "), line, zone, exhibit.host)
        elif colon and name in _FIELDS:
            yield Setting(place, "firewalld", name, value.strip(), zone, exhibit.host)
        elif asked:
            yield Setting(place, "firewalld", asked[1].replace("-", " "), line, zone, exhibit.host)
        elif line.startswith("rule "):
            yield Setting(place, "firewalld", "rich rules", line, zone, exhibit.host)


def _ufw(exhibit: Exhibit) -> Iterator[Fact]:
    for index, line in rows(exhibit):
        if line.startswith("Status:"):
            yield Setting(exhibit.place(index), "ufw", "state", line[7:].strip(), "", exhibit.host)
        elif match := re.match(r"^(?:\[ *\d+\] )?(\S+)(?: \(v6\))?\s+(ALLOW|DENY|REJECT|LIMIT)\b", line):
            yield Setting(exhibit.place(index), "ufw", match[1], line, match[2].lower(), exhibit.host)


def _ipvs(exhibit: Exhibit) -> Iterator[Fact]:
    service, kept = "", 0
    for index, line in rows(exhibit):
        words = line.split()
        place = exhibit.place(index)
        if "initialize ipvs" in line:
            yield Setting(place, "ipvs", "available", "no", "", exhibit.host)
        elif words[0] in ("TCP", "UDP") and len(words) >= 3 and ":" in words[1]:
            service = words[1]
        elif words[0] == "->" and service and len(words) >= 2 and ":" in words[1] and kept < KEPT:
            kept += 1
            yield Setting(place, "ipvs", service, words[1], "", exhibit.host)


def _ipsets(exhibit: Exhibit) -> Iterator[Fact]:
    name, kind = "", ""
    for index, line in rows(exhibit):
        if line.startswith("Name: "):
            name = line[6:]
        elif line.startswith("Type: "):
            kind = line[6:]
        elif line.startswith("Number of entries: ") and name:
            yield Setting(exhibit.place(index), "ipset", name, line[19:], kind, exhibit.host)
