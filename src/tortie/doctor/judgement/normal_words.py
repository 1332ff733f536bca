"""Words that programs print while all is well, and how each is seen; the sentences are in `normal.txt`."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final

from tortie.doctor.judgement.meant_trials import names_resolve
from tortie.doctor.judgement.normal_entry import Normal
from tortie.doctor.judgement.standing import operator_content
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.addresses import public
from tortie.doctor.picture.facts import LogLine, Route, Setting
from tortie.doctor.picture.picture import Picture

_PORTS_OF_NODES: Final = ("179", "4789", "8472", "5473", "6443", "10250", "2379", "2380", "51820", "51821", "53", "443")
_LOCK: Final = "holding the xtables lock"
_FEW: Final = 2
# A client gave up a request of its own, and the server has nobody to answer.
_GONE_CLIENTS: Final = lazily(
    r"err=\"apiserver received an error that is not an metav1\.Status: .{0,120}?context canceled"
    r"|apiserver was unable to write a (?:JSON|fallback JSON) response: http: Handler timeout|\"Post-timeout activity"
)
_SELDOM_S: Final = 600.0  # programs that write rules try again within a minute or two


def _only_late_packets(picture: Picture) -> bool:
    """Of connections that are closed already; what would begin one is let through."""
    lines = [line for one in picture.exhibits for line in one.lines if "[UFW BLOCK]" in line and "IN=" in line]
    return all(" RST " in line or " FIN " in line for line in lines) and not any(" SYN " in line for line in lines)


def _only_strangers(picture: Picture) -> bool:
    """From addresses out in the world, at no link of pods, for no port that nodes need of each other."""
    lines = [line for one in picture.exhibits for line in one.lines if "[UFW BLOCK]" in line and "IN=" in line]
    return all(_of_a_stranger(line) for line in lines)


def _of_a_stranger(line: str) -> bool:
    link = line.partition("IN=")[2].partition(" ")[0]
    port = line.partition(" DPT=")[2].partition(" ")[0]
    inner = link.startswith(("cali", "tunl", "vxlan", "wireguard")) or "OUT=cali" in line
    return not inner and port not in _PORTS_OF_NODES and public(line.partition(" SRC=")[2].partition(" ")[0])


def _seldom_waits(picture: Picture) -> bool:
    """Somebody waited for the lock of iptables now and then, and got it with the next attempt."""
    lines = [one for one in picture.of(LogLine) if _LOCK in one.message]
    moments = [one.time if one.time is not None else one.of_some_year for one in lines]
    known = sorted(one for one in moments if one is not None)
    if len(known) < len(lines) or len(lines) == 1:
        return len(lines) <= _FEW
    return bool(known) and all(later - earlier >= _SELDOM_S for earlier, later in pairwise(known))


def _served_by_calico(picture: Picture) -> bool:
    """Calico's API server is available, as the one in front of it says."""
    states = [one.value for one in picture.of(Setting) if one.scope == "apiservice"]
    return operator_content(picture) or (bool(states) and all(one.startswith("True") for one in states))


def _no_vxlan(picture: Picture) -> bool:
    """Pods go through another tunnel, or through none."""
    if any(route.device == "vxlan.calico" for route in picture.of(Route)):
        return False
    return not any(pool.vxlan in ("Always", "CrossSubnet") for pool in picture.pools_now())


def _started_since(picture: Picture) -> bool:
    """Every pod that had no network had one of its containers started later."""
    started = {event.object: event.age_s for event in picture.events("Started") if event.age_s is not None}
    failed = picture.events("FailedCreatePodSandBox")
    return bool(failed) and all(
        event.age_s is not None and started.get(event.object, float("inf")) <= event.age_s for event in failed
    )


WORDS: Final = (
    Normal(
        "before-the-agent",
        needles=("FailedCreatePodSandBox", "Failed to create pod sandbox"),
        seen=lazily(
            r"(?:FailedCreatePodSandBox|Failed to create pod sandbox).*(?:calico/nodename: no such file|cni plugin not "
            r"initialized|cni config uninitialized)"
        ),
        about=lazily(r"sandbox|nodename|warning|event|告警|事件", re.IGNORECASE),
        applies=_started_since,
    ),
    Normal(
        "bird-known-already",
        needles=("Netlink: File exists", "KIF: "),
        seen=lazily(
            r"\bbird6?: (?:Netlink: File exists|KIF: (?:Invalid interface address \S+ for \S+|"
            r"Received address message for unknown interface \d+))"
        ),
        about=lazily(r"netlink|\bkif\b|lxdfan", re.IGNORECASE),
        applies=lambda picture: not picture.sessions_down(),
    ),
    Normal(
        "gone-clients",
        needles=("metav1.Status", "http: Handler timeout", "Post-timeout activity"),
        seen=_GONE_CLIENTS,
        covers=_GONE_CLIENTS,
        about=lazily(r"context canceled|unhandled error|handler timeout|metav1\.Status|post-timeout", re.IGNORECASE),
        applies=_served_by_calico,
    ),
    Normal(
        "other-tunnel",
        needles=('ifaceName="vxlan.calico"', "ifaceName=vxlan.calico"),
        seen=lazily(
            r"^[^\[]{0,60}\[(?:INFO|DEBUG)\][^\"]{0,120}?(?:doesn't exist|down/gone|"
            r"Interface missing)[^\"]{0,120}\"?vxlan\.calico"
        ),
        about=lazily(r"vxlan|interface|ipip|misconfig|logs?\b|日志|网卡|接口", re.IGNORECASE),
        applies=_no_vxlan,
    ),
    Normal(
        "unchanged-vteps",
        needles=("VTEP information has not changed",),
        seen=lazily(r"VTEP information has not changed, skipping duplicate update"),
        about=lazily(r"vtep|tunnel|duplicate|logs?\b|message|日志|告警", re.IGNORECASE),
    ),
    Normal(
        "bridge-neighbours",
        needles=("received neighbor message with invalid family", "received neighbour message with invalid family"),
        seen=lazily(r"rtnl: received neighbou?r message with invalid family"),
        about=lazily(r"neighbo|logs?\b|networkd|rtnl|message|日志|报错|告警", re.IGNORECASE),
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
        seen=lazily(r"Failed to delete neighbor FDB entry .*error=invalid argument|FDB entry .*IP:(?:22[4-9]|23\d)\."),
        about=lazily(r"\bfdb\b|neighbo|multicast|warnings?|public|logged|logs?\b|组播|邻居|告警|日志", re.IGNORECASE),
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
        applies=names_resolve,
    ),
    Normal(
        "strangers-blocked",
        needles=("[UFW BLOCK]",),
        seen=lazily(r"\[UFW BLOCK\] IN="),
        covers=lazily(r"\[UFW BLOCK\] IN="),
        about=lazily(r"\bufw|block|dropp?|拦截|丢弃", re.IGNORECASE),
        applies=_only_strangers,
    ),
    Normal(
        "lock-waits",
        needles=(_LOCK,),
        seen=lazily(_LOCK),
        covers=lazily(rf"{_LOCK}|Sync failed; retrying in"),
        about=lazily(r"xtables|iptables|\block\b|log", re.IGNORECASE),
        applies=_seldom_waits,
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
