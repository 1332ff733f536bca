"""TRT7010: pods or tunnels send packets larger than the path lets through."""

from __future__ import annotations

from typing import NamedTuple

from tortie.doctor.causes.legacy import (
    LIKELY,
    POSSIBLE,
    PROVEN,
    STRONG,
    Ask,
    Cause,
    Finding,
    Step,
    cannot_tell,
    found,
    ruled_out,
)
from tortie.doctor.causes.underlay.traffic_evidence import encapsulation, host_of, restart_agents, rows, uplink
from tortie.doctor.picture.facts import Ping, Route
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Sign
from tortie.doctor.words import Words

NEEDS_UPDATE = Sign("mtu-needs-update", "device MTU needs to be updated…new=<n_new> old=<n_old>")
NOT_SET = Sign("mtu-not-set", "Failed to set vxlan tunnel device MTU")
FRAG_NEEDED = Sign("mtu-frag-needed", "Frag needed and DF set")
TOO_LONG = Sign("mtu-too-long", "local error: Message too long")
CLIENT_HELLO = Sign("mtu-client-hello", "TLS handshake, Client hello")
SERVER_HELLO = Sign("mtu-server-hello", "TLS handshake, Server hello")
OVERHEAD = {"ipip": 20, "vxlan": 50, "wireguard": 60}
TUNNEL_KIND = {"tunl0": "ipip", "vxlan.calico": "vxlan", "wireguard.cali": "wireguard"}
LARGE = 1200  # a ping with at least so much payload tests the size of packets


class Conflict(NamedTuple):
    """Something that sends packets of `sent` bytes where only `fits` pass."""

    sender: str
    sent: int
    limit: str
    fits: int
    facts: tuple[object, ...]
    host: str = ""


def judge(picture: Picture) -> Finding:
    conflict, said = _conflict(picture), picture.said("large-packets-stall")
    refused = picture.hits(NOT_SET)
    update = next((hit for hit in picture.hits(NEEDS_UPDATE) if _grows(hit.value("n_new"), hit.value("n_old"))), None)
    setting = picture.setting("veth_mtu") or picture.setting("mtu")
    small, large = _pings(picture)
    frag = picture.hit(FRAG_NEEDED)
    objects = (
        "veth_mtu",
        *((conflict.sender, conflict.limit, str(conflict.sent), conflict.host) if conflict else ()),
        "mtu",
        setting.value if setting else "",
        update.value("n_new") if update else "",
        "vxlan.calico" if update or refused else "",
        *[host for hit in (update, *refused[:1]) if hit and (host := host_of(picture, hit))],
    )
    stalled: tuple[object, ...] = (*large[:1], frag, *said[:1])
    if conflict:
        why = Words(
            f"{conflict.sender} sends packets of up to {conflict.sent} bytes, but {conflict.limit} lets only "
            f"{conflict.fits} through.",
            f"{conflict.sender} 最大发送 {conflict.sent} 字节，而 {conflict.limit} 只允许 {conflict.fits}。",
        )
        strong = bool(said or frag or (small and large) or refused)
        return found(
            PROVEN if strong else LIKELY,
            why,
            objects,
            (*conflict.facts, setting, update, *refused[:1], *stalled),
            fits=str(conflict.fits),
        )
    if update and refused:
        why = Words(
            f"Felix wants MTU {update.value('n_new')} on the tunnel and the kernel allows only "
            f"{update.value('n_old')}.",
            f"Felix 想把隧道 MTU 设为 {update.value('n_new')}，而内核只允许 {update.value('n_old')}。",
        )
        return found(STRONG, why, objects, (update, refused[0], setting, *stalled), fits=update.value("n_old"))
    if large and (small or said):
        why = Words(
            f"Packets of {large[0].size} bytes of payload do not pass to {large[0].address}, small ones do.",
            f"负载 {large[0].size} 字节的包到不了 {large[0].address}，小包可以。",
        )
        return found(STRONG, why, (*objects, large[0].address, large[0].host), (*stalled, *small[:1]))
    if frag:
        why = Words("a device on the path says that packets are too large", "路径上的设备返回“需要分片”")
        return found(LIKELY, why, (*objects, frag.host), (frag,))
    hello = picture.hit(CLIENT_HELLO)
    if said or (hello and not picture.hit(SERVER_HELLO)):
        why = Words(
            "small packets pass and large ones stall, as with a wrong MTU", "小包通、大包卡住，符合 MTU 不匹配的现象"
        )
        return found(POSSIBLE, why, objects, (*said[:1], hello))
    passed = [ping for ping in picture.of(Ping) if ping.ok and (ping.size or 0) >= LARGE]
    if passed:
        return ruled_out(Words("large packets pass", "大包可以通过"), passed[:1])
    return cannot_tell(Words("interface MTUs and large pings are not shown", "没有接口 MTU，也没有大包 ping 测试"))


def _grows(new: str, old: str) -> bool:
    return new.isdecimal() and old.isdecimal() and int(new) > int(old)


def _pings(picture: Picture) -> tuple[list[Ping], list[Ping]]:
    """Small ones that pass, and large ones that do not."""
    pings = picture.of(Ping)
    # "Message too long" is this host's own refusal: the packet exceeds the link's MTU, as it should.
    own = {(hit.command, hit.host) for hit in picture.hits(TOO_LONG)}
    refused = {
        (exhibit.source, exhibit.number(index))
        for exhibit in picture.exhibits
        if (exhibit.command, exhibit.host) in own
        for index in range(len(exhibit.lines))
    }
    large = [p for p in pings if not p.ok and (p.size or 0) >= LARGE]
    lost = [p for p in large if (p.place.source, p.place.last) not in refused and "too long" not in p.text]
    # Below the size that gets lost, to the same address: close by it is as good as tiny.
    least = {p.address: min(other.size or 0 for other in lost if other.address == p.address) for p in lost}
    return [p for p in pings if p.ok and (p.size or 56) < max(LARGE, least.get(p.address, 0))], lost


def _mtus(picture: Picture) -> dict[str, dict[str, tuple[int, object]]]:
    """Host to link to MTU."""
    hosts: dict[str, dict[str, tuple[int, object]]] = {}
    for link in picture.interfaces():
        if link.mtu:
            hosts.setdefault(link.host, {})[link.name.partition("@")[0]] = (link.mtu, link)
    for row in rows(picture, r"^(?P<link>[a-z][\w.-]*)(?:@\w+)?:?\s+(?:mtu\s+)?(?P<mtu>\d{3,5})$", "/mtu", "mtu"):
        hosts.setdefault(row.host, {}).setdefault(row["link"], (int(row["mtu"]), row))
    return hosts


def _conflict(picture: Picture) -> Conflict | None:
    hosts, kinds = _mtus(picture), encapsulation(picture)
    path = _path(picture, hosts)
    for host, links in hosts.items():
        tunnels = {name: links[name] for name in TUNNEL_KIND if name in links}
        pods = [(name, *links[name]) for name in links if name.startswith("cali")]
        carrying = {n: t for n, t in tunnels.items() if TUNNEL_KIND[n] in kinds or (not kinds and len(tunnels) == 1)}
        for name, (mtu, fact) in carrying.items():
            if path and mtu > path[1] - OVERHEAD[TUNNEL_KIND[name]]:
                return Conflict(name, mtu, path[0], path[1] - OVERHEAD[TUNNEL_KIND[name]], (fact, path[2]), host)
            for pod, pod_mtu, pod_fact in pods:
                if pod_mtu > mtu:
                    return Conflict(pod, pod_mtu, name, mtu, (pod_fact, fact), host)
        if path and not carrying:
            overhead = max((OVERHEAD[kind] for kind in kinds if kind in OVERHEAD), default=0)
            for pod, pod_mtu, pod_fact in pods:
                if pod_mtu > path[1] - overhead:
                    return Conflict(pod, pod_mtu, path[0], path[1] - overhead, (pod_fact, path[2]), host)
    return _by_setting(picture, path, kinds)


def _by_setting(picture: Picture, path: tuple[str, int, object] | None, kinds: set[str]) -> Conflict | None:
    """A fixed pod MTU that the uplink cannot carry with this encapsulation."""
    setting = picture.setting("veth_mtu") or picture.setting("mtu", "cni") or picture.setting("mtu", "installation")
    value = setting.value.strip("\"' ") if setting else ""
    if not setting or not path or not value.isdecimal() or int(value) == 0:
        return None
    overhead = max((OVERHEAD[kind] for kind in kinds if kind in OVERHEAD), default=0)
    if int(value) <= path[1] - overhead:
        return None
    return Conflict(setting.name, int(value), path[0], path[1] - overhead, (setting, path[2]))


def _path(picture: Picture, hosts: dict[str, dict[str, tuple[int, object]]]) -> tuple[str, int, object] | None:
    """The smallest of the hosts' uplinks: (link, MTU, fact). Of several links of one host the default "
    "route's counts."""
    default = {route.host: route.device for route in picture.of(Route) if route.destination == "default"}
    best: list[tuple[str, int, object]] = []
    for host, links in hosts.items():
        out = [(name, mtu, fact) for name, (mtu, fact) in links.items() if uplink(name)]
        chosen = [item for item in out if item[0] == default.get(host)] or sorted(out, key=lambda item: -item[1])[:1]
        best += chosen
    return min(best, key=lambda item: item[1], default=None)


def fix(picture: Picture, _finding: Finding) -> tuple[Step, ...]:
    if picture.namespace == "calico-system":
        change = Step(
            Words("Let Calico work the MTU out by itself", "让 Calico 自动计算 MTU"),
            'kubectl patch installation default --type merge -p \'{"spec":{"calicoNetwork":{"mtu":0}}}\'',
            "disruptive",
        )
    else:
        change = Step(
            Words("Let Calico work the MTU out by itself", "让 Calico 自动计算 MTU"),
            f'kubectl -n {picture.namespace} patch cm calico-config --type merge -p \'{{"data":{{"veth_mtu":"0"}}}}\'',
        )
    return (
        change,
        restart_agents(picture),
        Step(
            Words("Recreate the pods: running ones keep their MTU", "重建业务 pod：已运行的 pod 不会改变 MTU"),
            "kubectl rollout restart deployment -n <namespace>",
            "disruptive",
        ),
    )


CAUSE = Cause(
    id="mtu-mismatch",
    code="TRT7010",
    severity="medium",
    name=Words("MTU does not fit", "MTU 不匹配"),
    what=Words(
        "The MTU of pods or of the tunnel is larger than the path between nodes allows after encapsulation.",
        "pod 或隧道的 MTU 大于节点间路径在封装后所能承载的大小。",
    ),
    explains=("traffic-dead", "service-dead", "log-errors"),
    look_alikes=(
        ("vxlan-checksum-offload", Words("there even a SYN is lost", "连 SYN 都会丢失")),
        ("conntrack-full", Words("there load decides, not size", "取决于负载而不是包大小")),
    ),
    signs=(NEEDS_UPDATE, NOT_SET, FRAG_NEEDED, TOO_LONG, CLIENT_HELLO, SERVER_HELLO),
    judge=judge,
    ask=Ask(
        "ip -d link | grep -e mtu | grep -e cali -e vxlan -e tunl -e <uplink>; ping -M do -s 1472 <peer node>; "
        "ping -M do -s <tunnel mtu - 28> <remote pod>",
        Words("small passes and large does not", "小包通、大包不通"),
    ),
    fix=fix,
    verify=(
        Step(
            Words("A full-sized packet passes", "满长度的包可以通过"), "ping -M do -s <pod mtu - 28> -c 2 <remote pod>"
        ),
    ),
    prevent=(Words("Automatic MTU, and the same MTU on all uplinks.", "使用自动 MTU，并统一所有上联口的 MTU。"),),
)
