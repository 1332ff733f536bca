"""TRT3008: the loopback interface is down or has lost 127.0.0.1."""

from __future__ import annotations

from typing import Final

from tortie.doctor.causes.agent.start_evidence import culprits, sick_names
from tortie.doctor.causes.kubelet.node_evidence import NODE_SIGNS, overload
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
from tortie.doctor.causes.shared import DIAL_FAILED
from tortie.doctor.picture.facts import Interface, Ping
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Hit, Sign
from tortie.doctor.words import Words

LO_DOWN: Final = Sign("loopback-state-down", "1: lo: <list> state DOWN")
NO_ROUTE: Final = ("network is unreachable", "no route to host", "host is unreachable")
WITH_ADDRESSES: Final = ("addr", "ip a", "ifconfig")  # commands whose answer would show an address


def judge(picture: Picture) -> Finding:
    dials = [
        hit for hit in picture.hits(DIAL_FAILED) if hit.value("ip").startswith("127.") and "refused" not in hit.text
    ]
    unroutable = [hit for hit in dials if any(word in hit.text.lower() for word in NO_ROUTE)]
    links = [link for link in picture.of(Interface) if link.name == "lo"]
    broken = [link for link in links if _is_down(link) or _lost_address(picture, link)]
    pings = [ping for ping in picture.of(Ping) if ping.address.startswith("127.") or ping.address == "localhost"]
    down = picture.hits(LO_DOWN)
    objects = [
        "lo", "127.0.0.1", *(link.host for link in broken), *(ping.host for ping in pings),
        *culprits(picture, *down[:1], *dials[:2]), *sick_names(picture),
    ]  # fmt: skip
    lost = any(not _is_down(link) for link in broken) and not down
    what = ("has lost 127.0.0.1", "丢失了 127.0.0.1") if lost else ("is down", "未启用")
    why = Words(
        f"The loopback interface lo {what[0]}, so nothing on 127.0.0.1 can be reached, the health endpoint included.",
        f"回环接口 lo {what[1]}，127.0.0.1 上的一切都不可达，包括健康端点。",
    )
    failed = [ping for ping in pings if not ping.ok]
    evidence = (*broken[:1], *down[:1], *failed[:1], *dials[:2])
    if broken or down:
        return found(PROVEN if dials or failed else STRONG, why, objects, evidence)
    if [ping for ping in pings if ping.ok]:
        return ruled_out(Words("127.0.0.1 answers a ping", "127.0.0.1 可以 ping 通"), pings[:1])
    if failed:
        return found(STRONG, why, objects, evidence)
    if links and any(link.addresses for link in links):
        return ruled_out(Words("lo is up and has 127.0.0.1", "lo 已启用且有 127.0.0.1"), links[:1])
    return _by_dials(picture, dials, unroutable, objects)


def _by_dials(picture: Picture, dials: list[Hit], unroutable: list[Hit], objects: list[str]) -> Finding:
    if unroutable:
        why = Words(
            "127.0.0.1 has no route: lo is down or has lost its address.", "127.0.0.1 没有路由：lo 未启用或丢失了地址。"
        )
        return found(LIKELY, why, objects, unroutable[:2])
    if dials and not overload(picture):
        why = Words(
            "Connections to 127.0.0.1 time out; a loopback that is down would do this, an overloaded host as well.",
            "连接 127.0.0.1 超时；回环接口未启用会如此，主机过载也会。",
        )
        return found(POSSIBLE, why, objects, dials[:2])
    return cannot_tell(Words("the state of lo is not shown", "没有 lo 的状态"))


def _is_down(link: Interface) -> bool:
    return link.state.upper() == "DOWN"


def _lost_address(picture: Picture, link: Interface) -> bool:
    """No 127.0.0.1 on lo, in an answer that would have shown it."""
    if any(address.startswith("127.") for address in link.addresses):
        return False
    for exhibit in picture.exhibits:
        numbers = exhibit.numbers or range(exhibit.first, exhibit.first + len(exhibit.lines))
        if exhibit.source == link.place.source and link.place.first in numbers:
            asked = any(word in exhibit.command for word in WITH_ADDRESSES) and " -6" not in exhibit.command
            return asked and "grep" not in exhibit.command and "awk" not in exhibit.command
    return False


def fix(picture: Picture, finding: Finding) -> tuple[Step, ...]:
    return (
        Step(
            Words("Bring lo up with its address", "启用 lo 并恢复地址"),
            "ip link set lo up; ip addr replace 127.0.0.1/8 dev lo",
        ),
        Step(
            Words("Find what took it down, or the next reboot repeats it", "找出是谁关闭了它，否则重启后会重现"),
            "journalctl -b --no-pager | grep -iw lo | tail -20; grep -rnw lo /etc/network /etc/netplan "
            "/etc/systemd/network /etc/NetworkManager",
        ),
    )


CAUSE = Cause(
    id="loopback-down",
    code="TRT3008",
    severity="high",
    name=Words("loopback is down", "回环接口未启用"),
    what=Words(
        "lo is down or lost 127.0.0.1: the host is reachable, and everything on 127.0.0.1 times out.",
        "lo 未启用或丢失了 127.0.0.1：主机可达，但 127.0.0.1 上的一切都超时。",
    ),
    explains=("killed-by-liveness", "crash-loop", "not-ready", "felix-not-ready", "restarts"),
    look_alikes=(
        ("localhost-misresolved", Words("another address than 127.0.0.1 is dialled", "所连地址不是 127.0.0.1")),
        ("node-overloaded", Words("ping to 127.0.0.1 works, load is high", "127.0.0.1 可 ping 通，但负载很高")),
    ),
    signs=(LO_DOWN, DIAL_FAILED, *NODE_SIGNS),
    judge=judge,
    ask=Ask(
        "ip addr show lo; ping -c1 127.0.0.1",
        Words("lo down or without 127.0.0.1 is this cause", "lo 为 DOWN 或没有 127.0.0.1，就是此原因"),
    ),
    fix=fix,
    verify=(Step(Words("It answers", "有应答"), "ping -c1 127.0.0.1"),),
    prevent=(Words("Exclude lo from network scripts and managers.", "让网络脚本与网络管理程序忽略 lo。"),),
)
