"""Rules of packet filters one by one, with the packets they met: iptables -L, -S and -save, nft list.

Chains of Kubernetes and Calico have thousands of rules; of those only what refuses, and what the kernel's own chains
jump to, becomes a fact.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Fact, FilterRule, RuleCount
from tortie.doctor.reading.exhibit import Exhibit
from tortie.doctor.reading.readers.host_commands import rows, segments

KEPT: Final = 1_000  # rules of one exhibit
_HOOKS: Final = ("PREROUTING", "INPUT", "FORWARD", "OUTPUT", "POSTROUTING")
_OWN: Final = ("cali", "KUBE", "DOCKER", "CNI-")
_DECIDES: Final = ("ACCEPT", "DROP", "REJECT")
_TRANSLATES: Final = ("MASQUERADE", "SNAT")
_UNITS: Final = {"": 1, "K": 1_000, "M": 1_000_000, "G": 1_000_000_000, "T": 1_000_000_000_000}
_CHAIN: Final = lazily(r"^Chain (\S+) \((?:policy (\w+)(?: (\d+)([KMGT]?) packets)?|(?:\d+|-\d+) references)")
# num? pkts bytes target prot opt in out source destination, or without counters: target prot opt source destination.
_COUNTED: Final = lazily(
    r"^(?:\d+ +)?(\d+)([KMGT]?) +\d+[KMGT]? +([\w.:-]+) +(\S+) +(\S+) +(\S+) +(\S+) +(\S+) +(\S+)(?: +(.*))?$"
)
_PLAIN: Final = lazily(
    r"^(?:\d+ +)?([A-Za-z][\w.:-]*) +(all|tcp|udp|icmp|icmpv6|ipip|ipencap|sctp|esp|\d{1,3}) +(--|-f|!f) +(\S+) +(\S+)"
    r"(?: +(.*))?$"
)
_SAVED: Final = lazily(r"^(?:\[(\d+):\d+\] )?-[AI] (\S+)(?: (.*))?$")
_TARGET: Final = lazily(r"(?:^| )(?:-j|-g) (\S+)")
_COUNTERS: Final = lazily(r"(?:^| )-c (\d+) \d+")
_POLICY: Final = lazily(r"^(?:-P (\S+) (\w+)(?: -c (\d+))?|:(\S+) (ACCEPT|DROP|REJECT) \[(\d+):\d+\])")
_COMMENT: Final = lazily(r"/\*[^*]{0,300}\*/|-m comment --comment (?:\"[^\"]{0,300}\"|\S+)")
_ANYTHING: Final = ("0.0.0.0/0", "::/0", "anywhere", "*", "any", "all", "--", "0")
_HARMLESS: Final = lazily(r"reject-with \S+|--reject-with \S+")
_NFT_TABLE: Final = lazily(r"^table (\w+ [\w.-]+|[\w.-]+) \{")
_NFT_CHAIN: Final = lazily(r"^chain ([\w.-]+) \{")
_NFT_ASKED: Final = lazily(r"\bchain (\w+ [\w.-]+) ([\w.-]+)")
_NFT_HOOK: Final = lazily(r"\bhook (\w+)\b")
_NFT_POLICY: Final = lazily(r"\bpolicy (accept|drop)")
_NFT_RULE: Final = lazily(
    r"(?:^|.* )(?:(accept|drop|reject|return|queue)|(?:jump|goto) ([\w.-]+))"
    r"(?: with [\w ,-]{1,80})?(?: # handle \d+)?(?: comment \"[^\"]{0,300}\")?$"
)
_NFT_NAT: Final = lazily(
    r"(?:^|.* )(masquerade|snat)(?: (?:ip6? )?to (\S{1,60}))?(?: [\w, -]{1,40})?(?: # handle \d+)?$"
)
_NFT_COUNTER: Final = lazily(r"\bcounter packets (\d+) bytes \d+ ?")
_ASKED: Final = lazily(
    r"ip6?tables\S{0,40}(?: -\S{1,60}){0,8}? -\w{0,6}[LS]\w{0,6} (?:-\S{1,60} ){0,8}([A-Za-z][\w-]{1,60})"
)
_BY_COUNT: Final = lazily(r"\bwc\b|grep\s{1,8}(?:-\w{1,12}\s{1,8}){0,8}-\w{0,8}c")
_IN_TABLE: Final = lazily(r"(?:-t ?|--table[ =])(\w+)")
_WRITTEN_BY: Final = lazily(r"^# (?:Generated|Completed) (?:by|on) ?(ip6?tables|xtables)(-nft|-legacy)?-save v([\d.]+)")
_COUNTS: Final = lazily(r"ip6?tables(-legacy|-nft)?(?:-save\b|\s+(?:-t \w+ )?-\w*[SL])[^;|]*\|(.*)")
_WORDS: Final = lazily(r"grep\s+(?:-\w+\s+)*[\"']?([\w^:-]+)")


def filter_rules(exhibit: Exhibit) -> Iterator[Fact]:
    if " hook " in exhibit.text or "chain " in exhibit.text or "nft " in exhibit.command:
        yield from _nft(exhibit)
    yield from _iptables(exhibit)


def backend_of(exhibit: Exhibit) -> str:
    """Which kernel tables the list shows, as far as the command or the list itself says."""
    command = exhibit.command
    if "iptables-legacy" in command or "ip6tables-legacy" in command or "xtables-legacy" in command:
        return "legacy"
    if "tables-nft" in command or "iptables-legacy tables present" in exhibit.text:
        return "nft"
    for line in exhibit.lines[:40]:
        if written := _WRITTEN_BY.match(line):
            if written[1] == "xtables" or written[2] == "-nft":
                return "nft"
            return "legacy" if written[2] == "-legacy" else ""
    return ""


def rule_counts(exhibit: Exhibit) -> Iterator[RuleCount]:
    """`iptables-legacy-save | wc -l`, several of them, or in a loop: one number for each."""
    if "ptables" not in exhibit.command or len(exhibit.lines) > 40:
        return
    asked = [match for segment in segments(exhibit.command) if (match := _COUNTS.search(segment))]
    asked = [match for match in asked if _BY_COUNT.search(match[2])]
    found = [
        (i, number) for i, line in rows(exhibit) if (number := re.fullmatch(r"(?:[\w-]{1,30}[:=]? )?(\d{1,9})", line))
    ]
    if not asked or len(asked) != len(found):
        return
    for match, (index, number) in zip(asked, found, strict=True):
        words = _WORDS.search(match[2])
        backend = (match[1] or "").lstrip("-")
        counted = words[1].lstrip("^") if words else ""
        yield RuleCount(exhibit.place(index), backend, int(number[1]), "" if counted == "-A" else counted, exhibit.host)


def _iptables(exhibit: Exhibit) -> Iterator[Fact]:
    asked = _ASKED.search(exhibit.command)
    inside = _IN_TABLE.search(exhibit.command) if "ptables" in exhibit.command else None
    chain, table, backend = asked[1] if asked else "", inside[1] if inside else "", backend_of(exhibit)
    kept = counted = 0
    last = None
    for index, line in rows(exhibit):
        if line[0] == "*" and line[1:].isalpha():
            table = line[1:]
            continue
        rule = _policy(line) or _saved(line) or _listed(line, chain)
        if rule is None:
            continue
        counted += line.startswith(("-A", "["))
        last = index
        chain = rule.chain
        if rule.verdict and kept < KEPT and _worth(rule):
            kept += 1
            hook = chain.lower() if chain in _HOOKS else ""
            place = exhibit.place(index)
            yield rule._replace(place=place, table=table, hook=hook, backend=backend, host=exhibit.host)
    whole = "*filter" in exhibit.lines or "-save" in exhibit.command
    if whole and last is not None and counted and not re.search(r"\|\s*(?:grep|head|tail|sed|awk)", exhibit.command):
        yield RuleCount(exhibit.place(last), backend, counted, "", exhibit.host)


def _policy(line: str) -> FilterRule | None:
    if match := _POLICY.match(line):
        packets = match[3] or match[6]
        return _rule(match[1] or match[4], match[2] or match[5], "", int(packets) if packets else None, policy=True)
    if match := _CHAIN.match(line):
        packets = int(match[3]) * _UNITS[match[4]] if match[3] else None
        return _rule(match[1], match[2] or "", "", packets, policy=True)
    return None


def _saved(line: str) -> FilterRule | None:
    match = _SAVED.match(line) if line.startswith(("-A ", "-I ", "[")) else None
    target = _TARGET.search(match[3] or "") if match else None
    if not match or not target:
        return None
    counters = _COUNTERS.search(match[3])
    packets = match[1] or (counters[1] if counters else None)
    matches = (
        _COUNTERS.sub(" ", match[3].replace(target[0], " ", 1)) if counters else match[3].replace(target[0], " ", 1)
    )
    return _rule(match[2], target[1], _tidy(matches), int(packets) if packets else None)


def _listed(line: str, chain: str) -> FilterRule | None:
    """A row of `iptables -L`: columns that match anything are left out."""
    if not chain:
        return None
    if match := _COUNTED.match(line):
        columns = zip(("-p", "opt", "-i", "-o", "-s", "-d"), match.groups()[3:9], strict=True)
        return _rule(chain, match[3], _cells(columns, match[10]), int(match[1]) * _UNITS[match[2]])
    if (match := _PLAIN.match(line)) and match[1] not in ("target", "pkts", "num"):
        return _rule(chain, match[1], _cells((("-p", match[2]), ("-s", match[4]), ("-d", match[5])), match[6]), None)
    return None


def _rule(chain: str, verdict: str, matches: str, packets: int | None, policy: bool = False) -> FilterRule:
    return FilterRule(_NOWHERE, chain, verdict, "", matches, packets, policy=policy)


def _cells(columns: Iterable[tuple[str, str]], rest: str | None) -> str:
    said = [f"{name} {cell}" for name, cell in columns if cell not in _ANYTHING]
    return _tidy(" ".join([*said, rest or ""]))


def _tidy(matches: str) -> str:
    return " ".join(_HARMLESS.sub(" ", _COMMENT.sub(" ", matches)).split())


def _worth(rule: FilterRule) -> bool:
    if rule.chain in _HOOKS or rule.refuses:
        return True
    return rule.verdict in (*_DECIDES, *_TRANSLATES) and not rule.chain.startswith(_OWN)


def _nft(exhibit: Exhibit) -> Iterator[Fact]:
    asked = _NFT_ASKED.search(exhibit.command)
    table, chain, hook, kept = (asked[1], asked[2], "", 0) if asked else ("", "", "", 0)
    for index, line in rows(exhibit):
        if match := _NFT_TABLE.match(line):
            table, chain, hook = match[1], "", ""
        elif match := _NFT_CHAIN.match(line):
            chain, hook = match[1], ""
        elif chain and (found := _NFT_HOOK.search(line)):
            hook, policy = found[1], _NFT_POLICY.search(line)
            if policy:
                yield FilterRule(
                    exhibit.place(index), chain, policy[1].upper(), table, "", None, hook, "nft", True, exhibit.host
                )
        elif chain and kept < KEPT and (match := _NFT_RULE.match(line)):
            counter = _NFT_COUNTER.search(line)
            verdict = match[1].upper() if match[1] else match[2]
            before = line[: match.start(1)] if match[1] else line[: match.start(2) - len("jump ")]
            matches = _NFT_COUNTER.sub("", before).strip()
            rule = FilterRule(
                exhibit.place(index), chain, verdict, table, matches, int(counter[1]) if counter else None, hook, "nft",
                False, exhibit.host,
            )  # fmt: skip
            if hook or _worth(rule):
                kept += 1
                yield rule
        elif chain and kept < KEPT and not chain.startswith(_OWN) and (match := _NFT_NAT.match(line)):
            kept += 1
            yield _translating(exhibit, index, line, match)._replace(chain=chain, table=table, hook=hook)


def _translating(exhibit: Exhibit, index: int, line: str, match: re.Match[str]) -> FilterRule:
    counter = _NFT_COUNTER.search(line)
    matches = _NFT_COUNTER.sub("", line[: match.start(1)]).strip() + (f" to:{match[2]}" if match[2] else "")
    rule = _rule("", match[1].upper(), matches.strip(), int(counter[1]) if counter else None)
    return rule._replace(place=exhibit.place(index), backend="nft", host=exhibit.host)


_NOWHERE: Final = Exhibit("", 0, ("",)).place(0)
