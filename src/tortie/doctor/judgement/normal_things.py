"""How Calico and Kubernetes are made, where that looks wrong; the sentences are in `normal.txt`."""

from __future__ import annotations

import re
from typing import Final

from tortie.doctor.judgement.meant_trials import (
    announced,
    denied_by_policy,
    health_from_outside,
    metrics_off,
    names_resolve,
    service_addresses,
    without_endpoint,
)
from tortie.doctor.judgement.memory import only_page_cache
from tortie.doctor.judgement.normal_entry import Normal
from tortie.doctor.judgement.standing import without_bgp
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Route
from tortie.doctor.picture.picture import Picture

_TRACED: Final = lazily(r"^traceroute to (\d[\d.]+|\S+(?= \())")
_HOP: Final = lazily(r"\s*\d+ +\S")
_GATEWAY: Final = "169.254.1.1"


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


def _reflected(picture: Picture) -> bool:
    """A node is a reflector, and none is alone."""
    marks = ("routeReflectorClusterID", "route-reflector", "route reflector", "反射")
    told = (line for one in picture.exhibits for line in (one.command, *one.lines))
    return not picture.sessions_down() and any(mark in line for line in told for mark in marks)


def _canal(picture: Picture) -> bool:
    """Flannel carries the packets there, Calico only the policies."""
    return any("canal" in pod.name for pod in picture.agents_now())


def _arrived(picture: Picture) -> bool:
    """Every trace ends at the address that it was for."""
    ends = [_TRACED.search(line) for one in picture.exhibits for line in one.lines if line.startswith("traceroute to ")]
    lines = [line for one in picture.exhibits for line in one.lines]
    return bool(ends) and all(
        end is not None and any(_HOP.match(line) and f" {end[1]} " in line for line in lines) for end in ends
    )


MADE_SO: Final = (
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
        "reflected-routes",
        needles=("node specific",),
        seen=lazily(r"\| node specific +\| up "),
        about=lazily(
            r"reflect|topolog|next ?hop|\bmesh\b|(?:go|goes|went|route[sd]?|traffic) (?:\w+ ){0,4}through|"
            r"only \w+ peers?"
            r"|反射|下一跳|拓扑",
            re.IGNORECASE,
        ),
        applies=_reflected,
    ),
    Normal(
        "no-reverse-name",
        needles=("in-addr.arpa", "dig -x", "ip6.arpa"),
        seen=lazily(r"in-addr\.arpa.*\b(?:PTR|NXDOMAIN)|\bdig .*-x |ip6\.arpa"),
        covers=lazily(r"server can't find \S+\.(?:in-addr|ip6)\.arpa"),
        about=lazily(r"\bptr\b|reverse|dig -x|in-addr|反向|反解|returns? (?:no answers?|nothing)", re.IGNORECASE),
        applies=names_resolve,
    ),
    Normal(
        "firewall-tool-off",
        needles=("Status: inactive",),
        seen=lazily(r"^Status: inactive"),
        about=lazily(r"\bufw\b|firewall|防火墙", re.IGNORECASE),
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
        needles=("node tunnel IPs", "TunnelAddress"),
        seen=lazily(r"Found [1-9]\d* node tunnel IPs|type: (?:ipip|vxlan|vxlanV6|wireguard)TunnelAddress"),
        about=lazily(
            r"leak|泄漏|泄露|in use|don't match|more ips|对不上|多出|no pod|duplicate|released?\b|vxlan\.calico|tunl0",
            re.IGNORECASE,
        ),
    ),
    Normal(
        "tunnel-hop",
        needles=("traceroute to ",),
        seen=lazily(r"^traceroute to \d"),
        about=lazily(r"trace ?route|\bhops?\b|tunnel|路由跟踪|跳", re.IGNORECASE),
        applies=_arrived,
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
        applies=lambda picture: without_bgp(picture) or _policy_only(picture) or _canal(picture),
    ),
    Normal(
        "policy-only",
        needles=("AzureVNET", "AmazonVPC"),
        seen=lazily(r"AzureVNET|AmazonVPC"),
        about=lazily(r"return nothing|no (?:ip ?pools?|resources)|pools?\b|vxlan\.calico|tunl0", re.IGNORECASE),
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
        "page-cache",
        needles=("inactive_file ", "inactive_anon "),
        seen=lazily(r"^\s*(?:total_)?inactive_(?:file|anon) \d+"),
        about=lazily(r"memory|\bmem\b|\bleak|\boom\b|page ?cache|cadvisor|内存|泄[漏露]", re.IGNORECASE),
        applies=only_page_cache,
        measured=True,
    ),
    Normal(
        "dummy-links",
        needles=("nodelocaldns", "kube-ipvs0"),
        seen=lazily(r"(?:nodelocaldns|kube-ipvs0)\b.*\bDOWN\b|Ignore kube-ipvs0 that is not UP"),
        about=lazily(
            r"169\.254\.|\bdown\b|nodelocaldns|kube-ipvs0|nameserver|\blinks?\b|interface (?:up|down)|网卡",
            re.IGNORECASE,
        ),
    ),
    Normal(
        "unused-tunnel",
        needles=("tunl0@NONE",),
        seen=lazily(r"\btunl0@NONE\b"),
        about=lazily(r"tunl0|\bipip\b|proto 4\b|encaps|隧道", re.IGNORECASE),
        applies=_no_ipip,
    ),
)  # fmt: skip
