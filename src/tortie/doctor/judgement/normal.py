"""What looks wrong and is not: how Calico is made, and words that programs print while all is well.

Each entry knows by which lines it is seen, which trials fail by design, and which complaints are only about it. It
never makes a cluster healthy: it takes away what would otherwise stand unexplained, and the answer tells people why.
The sentences are in `normal.txt`, one section for each key; lines of logs that mean nothing are in
`grave_lines.HARMLESS`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Final

from tortie.doctor.diagnosis import Checked, Unexplained
from tortie.doctor.judgement.meant_trials import (
    announced,
    denied_by_policy,
    health_from_outside,
    metrics_off,
    service_addresses,
    without_endpoint,
)
from tortie.doctor.judgement.standing import without_bgp
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Ping, Route, Setting
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Place
from tortie.doctor.reading.readers.statements import Sentence
from tortie.doctor.reading.readers.statements import said as stated
from tortie.doctor.texts import sections

_CLAUSE: Final = lazily(r"(?<=[,，;；:：。、()（）])|\band\b|\bbut\b")
_NEVER: Final = lazily(r"(?!)")
_GATEWAY: Final = "169.254.1.1"


class Normal:
    """An entry; it counts where one of its lines is shown, or an address that it names was pinged in vain."""

    def __init__(
        self,
        key: str,
        *,
        needles: tuple[str, ...] = (),  # one of these is on a line that shows it
        seen: re.Pattern[str] = _NEVER,  # a line that shows it
        about: re.Pattern[str] = _NEVER,  # a part of a complaint that is about it
        covers: re.Pattern[str] = _NEVER,  # a line or an event that is nothing but this
        pings: Callable[[Picture], set[str]] = lambda _: set(),  # addresses that do not answer to ping
        fails: Callable[[Picture], list[Place]] = lambda _: [],  # trials that fail because they should
        applies: Callable[[Picture], bool] = lambda _: True,
    ) -> None:
        self.key, self.needles, self.seen, self.about = key, needles, seen, about
        self.covers, self.pings, self.fails, self.applies = covers, pings, fails, applies


def _names_resolve(picture: Picture) -> bool:
    """A name was looked up in vain by nobody, not by CoreDNS either, and found by somebody."""
    if any("plugin/errors: 2 " in line and " HINFO: " not in line for one in picture.exhibits for line in one.lines):
        return False
    answers = [one.value for one in picture.of(Setting) if one.scope == "dns"]
    return bool(answers) and not any(one in ("timeout", "SERVFAIL", "unresolved") for one in answers)


def _only_late_packets(picture: Picture) -> bool:
    """Of connections that are closed already; what would begin one is let through."""
    lines = [line for one in picture.exhibits for line in one.lines if "[UFW BLOCK]" in line and "IN=" in line]
    return all(" RST " in line or " FIN " in line for line in lines) and not any(" SYN " in line for line in lines)


def _no_ipip(picture: Picture) -> bool:
    """No pool asks for it, and no route leads through its tunnel."""
    if any(route.device == "tunl0" for route in picture.of(Route)):
        return False
    return not any(pool.ipip in ("Always", "CrossSubnet") for pool in picture.pools_now())


def _policy_only(picture: Picture) -> bool:
    """Another plugin gives the addresses, Calico only the policies."""
    return any(
        word in line for exhibit in picture.exhibits for line in exhibit.lines for word in ("AzureVNET", "AmazonVPC")
    )


_ENTRIES: Final = (
    Normal(
        "pod-gateway",
        needles=(_GATEWAY,),
        seen=lazily(r"\b169\.254\.1\.1\b"),
        about=lazily(
            r"(?<!response for )169\.254\.1\.1|gateway|网关|^\W*也 ?ping 不通\W*$|ee:ee|\bmac\b|/32|mask|掩码|"
            r"ping it|placeholder"
            r"|looks? (?:broken|wrong|odd)",
            re.IGNORECASE,
        ),
        pings=lambda _: {_GATEWAY},
    ),
    Normal(
        "service-ping",
        pings=service_addresses,
        about=lazily(r"ping|icmp|cluster-?ip", re.IGNORECASE),
    ),
    Normal(
        "pod-cidr",
        needles=("podCIDR", "podcidr", "PodCIDR", "PODCIDR", "pod CIDR"),
        seen=lazily(r"pod ?cidr", re.IGNORECASE),
        about=lazily(
            r"pod ?cidr|(?:ips?|address(?:es)?|range|subnet)s?\b.{0,60}\b(?:assigned|range|cidr|subnet|inside|node)"
            r"|网段|node\d* has \d|can't be right",
            re.IGNORECASE,
        ),
    ),
    Normal(
        "edge-address",
        needles=("Running",),
        seen=lazily(r"(?:1/1|2/2|3/3) +Running .* \d+\.\d+\.\d+\.(?:0|255) "),
        about=lazily(r"network (?:ip|address)|broadcast|网络地址|广播地址|\.0\b|\.255\b", re.IGNORECASE),
    ),
    Normal(
        "borrowed",
        needles=("BORROWING-NODE",),
        seen=lazily(r"BORROWING-NODE"),
        about=lazily(r"网段|borrow|借|明细|/32|not in (?:the|its|their) (?:block|range|subnet)", re.IGNORECASE),
    ),
    Normal(
        "tunnel-addresses",
        needles=("node tunnel IPs",),
        seen=lazily(r"Found [1-9]\d* node tunnel IPs"),
        about=lazily(r"leak|泄漏|泄露|in use|don't match|more ips|对不上|多出", re.IGNORECASE),
    ),
    Normal(
        "own-blackhole",
        needles=("blackhole ",),
        seen=lazily(r"^\s*blackhole \d[\d.]*(?:/\d+)? +(?:proto|dev)"),
        about=lazily(r"black ?hole|黑洞|\bip r(?:oute)? del|delet\w+ (?:one|it|them|the route)", re.IGNORECASE),
    ),
    Normal(
        "one-side-passive",
        needles=("passive on",),
        seen=lazily(r"^\s*passive on"),
        about=lazily(r"passive|被动", re.IGNORECASE),
    ),
    Normal(
        "no-bird",
        needles=("BIRD", "bird"),
        seen=lazily(
            r"None of the BGP backend processes|BIRD is not running|no need to run a BGP daemon|bird.{0,20}not running"
        ),
        about=lazily(r"\bbird|\bbgp|peers?\b", re.IGNORECASE),
        applies=lambda picture: without_bgp(picture) or _policy_only(picture),
    ),
    Normal(
        "other-socket",
        needles=("/var/run/bird/bird",),
        seen=lazily(r"dial unix /var/run/bird/bird6?\.ctl"),
        about=lazily(r"bird\.ctl|socket|calicoctl|status", re.IGNORECASE),
        applies=lambda picture: any(
            "/var/run/calico/bird.ctl" in line or ("bird.ctl" in line and "/var/run/calico" in exhibit.command)
            for exhibit in picture.exhibits
            for line in exhibit.lines
        ),
    ),
    Normal(
        "policy-only",
        needles=("AzureVNET", "AmazonVPC"),
        seen=lazily(r"AzureVNET|AmazonVPC"),
        about=lazily(r"return nothing|no (?:ip ?pools?|resources)|pools?\b|vxlan\.calico|tunl0", re.IGNORECASE),
    ),
    Normal(
        "flexvolume",
        needles=("nodeagent~uds",),
        seen=lazily(r"nodeagent~uds"),
        about=lazily(r"flex ?vol|nodeagent", re.IGNORECASE),
    ),
    Normal(
        "usage-report",
        needles=("report usage",),
        seen=lazily(r"Failed to report usage"),
        about=lazily(r"usage", re.IGNORECASE),
    ),
    Normal(
        "conflict-retried",
        needles=("the object has been modified",),
        seen=lazily(r"conflicted, retrying"),
    ),
    Normal(
        "multicast-neighbours",
        needles=("neighbor FDB entry",),
        seen=lazily(r"Failed to delete neighbor FDB entry .*IP:(?:22[4-9]|23\d)\."),
    ),
    Normal(
        "without-btf",
        needles=("Retrying without BTF",),
        seen=lazily(r"Retrying without BTF"),
        about=lazily(r"\bbtf\b|libbpf|map creation|\bmap\b", re.IGNORECASE),
    ),
    Normal(
        "nameserver-limit",
        needles=("Nameserver limits", "DNSConfigForming"),
        seen=lazily(r"Nameserver limits (?:were )?exceeded"),
        covers=lazily(r"Nameserver limits (?:were )?exceeded"),
        about=lazily(r"nameserver|resolv\.conf|DNSConfigForming|warning", re.IGNORECASE),
    ),
    Normal(
        "loop-probe",
        needles=(" HINFO: ",),
        seen=lazily(r"plugin/errors: 2 \d+\.\d+\. HINFO: "),
        covers=lazily(r"plugin/errors: 2 \d+\.\d+\. HINFO: "),
        about=lazily(r"hinfo|coredns", re.IGNORECASE),
        applies=_names_resolve,
    ),
    Normal(
        "health-port",
        fails=health_from_outside,
        about=lazily(r"9099|health|monitoring|target|blackbox|监控|探测", re.IGNORECASE),
    ),
    Normal(
        "policy-denies",
        fails=denied_by_policy,
        about=lazily(r"polic|deny|denied|block|策略|隔离|拒绝", re.IGNORECASE),
    ),
    Normal(
        "meant-to-fail",
        fails=announced,
        about=lazily(r"[\"“]timed out[\"”]|test cases?|用例|期望|预期", re.IGNORECASE),
    ),
    Normal(
        "late-packets",
        needles=("[UFW BLOCK]",),
        seen=lazily(r"\[UFW BLOCK\] .* (?:RST|FIN) "),
        covers=lazily(r"\[UFW BLOCK\] .* (?:RST|FIN) "),
        about=lazily(r"\bufw|blocked|packets", re.IGNORECASE),
        applies=_only_late_packets,
    ),
    Normal(
        "metrics-off",
        fails=metrics_off,
        about=lazily(r"9091|9092|metrics|targets?|scrape|monitor|prometheus|监控|指标", re.IGNORECASE),
    ),
    Normal(
        "local-endpoints",
        needles=("externalTrafficPolicy: Local", "has no local endpoints"),
        seen=lazily(r"externalTrafficPolicy: Local|has no local endpoints"),
        fails=without_endpoint,
        about=lazily(r"node ?port|only (?:on )?one node|every node|部分节点|一个节点", re.IGNORECASE),
    ),
    Normal(
        "dummy-links",
        needles=("nodelocaldns", "kube-ipvs0"),
        seen=lazily(r"(?:nodelocaldns|kube-ipvs0)\b.*\bDOWN\b"),
        about=lazily(r"169\.254\.|\bdown\b|nodelocaldns|kube-ipvs0|nameserver|link", re.IGNORECASE),
    ),
    Normal(
        "unused-tunnel",
        needles=("tunl0@NONE",),
        seen=lazily(r"\btunl0@NONE\b"),
        about=lazily(r"tunl0|\bipip\b|proto 4\b|encaps|隧道", re.IGNORECASE),
        applies=_no_ipip,
    ),
    Normal(
        "openapi-models",
        needles=("error building openapi models",),
        seen=lazily(r"error building openapi models"),
        covers=lazily(r"error building openapi models|\$root\.definitions\..*has invalid property"),
        about=lazily(r"openapi|anyof", re.IGNORECASE),
    ),
    Normal(
        "unknown-frames",
        needles=("LLDP", "0x88cc", "STP 802.1"),
        seen=lazily(r"\bLLDP, length|ether proto 0x88cc|STP 802\.1"),
        about=lazily(r"rx_dropped|dropped?\b|丢包|计数|counter", re.IGNORECASE),
    ),
)  # fmt: skip


class Normals:
    """Which entries this evidence shows, and what they account for."""

    def __init__(self, picture: Picture) -> None:
        self._picture = picture

    @cached_property
    def _shown(self) -> dict[Normal, Place]:
        """The entries that count, with where each is seen first."""
        found = {**self._pinged_in_vain(), **self._failed_on_purpose}
        for exhibit in self._picture.exhibits:
            text = "\n".join((exhibit.command, *exhibit.lines)) if exhibit.lines else ""
            for entry in _ENTRIES:
                if entry not in found and any(needle in text for needle in entry.needles):
                    asked = 0 if entry.seen.search(exhibit.command) else None
                    index = next((at for at, line in enumerate(exhibit.lines) if entry.seen.search(line)), asked)
                    if index is not None:
                        found[entry] = exhibit.place(index)
        return {entry: found[entry] for entry in _ENTRIES if entry in found and entry.applies(self._picture)}

    def _pinged_in_vain(self) -> dict[Normal, Place]:
        failed = {ping.address: ping.place for ping in self._picture.of(Ping) if not ping.ok}
        places = {entry: [failed[one] for one in entry.pings(self._picture) if one in failed] for entry in _ENTRIES}
        return {entry: min(where) for entry, where in places.items() if where}

    @cached_property
    def _failed_on_purpose(self) -> dict[Normal, Place]:
        places = {entry: entry.fails(self._picture) for entry in _ENTRIES}
        return {entry: min(where) for entry, where in places.items() if where}

    def accounts_for(self, item: Unexplained) -> bool:
        """A trial that fails by design, words that mean nothing, or a complaint that is about nothing else."""
        if item.kind == "complaint":
            return self._is_only_about(item.text)
        if any(entry.covers.search(item.text) for entry in self._shown) or self._pinged(item.place):
            return True
        on_purpose = [place for entry in self._failed_on_purpose for place in entry.fails(self._picture)]
        return item.kind == "trial" and any(
            place.source == item.place.source and place.first <= item.place.last and item.place.first <= place.last
            for place in on_purpose
        )

    def _pinged(self, place: Place) -> bool:
        addresses = {address for entry in self._shown for address in entry.pings(self._picture)}
        return any(
            ping.address in addresses and ping.place.source == place.source
            and ping.place.first <= place.last and place.first <= ping.place.last
            for ping in self._picture.of(Ping)
        )  # fmt: skip

    def _is_only_about(self, complaint: str) -> bool:
        clauses = _CLAUSE.split(complaint)
        rest = [one for one in clauses if not any(entry.about.search(one) for entry in self._shown)]
        if len(rest) == len(clauses):
            return False
        return not any(kind == "suffers" for one in rest for kind, _ in stated(Sentence(one.strip(), 0, 0)))

    def told(self) -> Iterator[Checked]:
        for entry, place in self._shown.items():
            yield Checked(sections(__name__)[entry.key].words, (place,))
