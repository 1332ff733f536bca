"""TRT7008: a link manager of the host takes Calico's interfaces into its care, and routes or links vanish."""

from __future__ import annotations

from collections.abc import Sequence
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
from tortie.doctor.causes.underlay.traffic_evidence import compiled, rows
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Place
from tortie.doctor.signs import Hit, Sign
from tortie.doctor.words import Words

CONNECTING = Sign("nm-connecting", "connecting \\(getting IP configuration\\)")
STATE_CHANGE = Sign("nm-state-change", "device \\(<device>\\): state change: … 'managed'")
ROUTE_DELETED = Sign("nm-route-deleted", "Deleted <ip> dev cali<rest>")
ROUTE_REFUSED = Sign("nm-network-down", "Failed to add route…network is down")
CONF_DIR = "/etc/NetworkManager/conf.d/calico.conf"
DEVICES = ("cali", "tunl", "vxlan.calico", "vxlan-v6.calico", "wireguard.cali")
_NMCLI = (
    r"^(?P<device>(?:cali|tunl|vxlan|wireguard\.cali)[\w.@-]*)\s+\S+\s+"
    r"(?P<state>unmanaged|connecting|connected|disconnected)"
)
_NETWORKCTL = (
    r"(?P<device>(?:cali|tunl|vxlan)[\w.@-]*)\s+(?:ether|tunnel|vxlan|ipip|none)\s+\S+\s+"
    r"(?P<state>configuring|configured|failed|unmanaged)"
)
_STATUS = r"^\s*State:\s+\S+\s+\((?P<state>configuring|configured|unmanaged)\)"
_FILE = r"^\s*Network File:\s+(?P<file>/\S+)"
_DEVICE = r"\b(?P<device>cali[0-9a-f]{11}|cali[\w-]+|tunl0|vxlan(?:-v6)?\.calico)\b"
UNMANAGED = (
    "unmanaged-devices=interface-name:cali*;interface-name:tunl*;interface-name:vxlan.calico;"
    "interface-name:vxlan-v6.calico;interface-name:wireguard.cali"
)


class Link(NamedTuple):
    """One of Calico's links as a manager lists it."""

    device: str
    state: str
    place: Place
    host: str


def judge(picture: Picture) -> Finding:
    connecting = [hit for hit in picture.hits(CONNECTING) if any(name in hit.line for name in DEVICES)]
    changes = [hit for hit in picture.hits(STATE_CHANGE) if hit.value("device").startswith(DEVICES)]
    listed = [Link(row["device"], row["state"], row.place, row.host) for row in rows(picture, _NMCLI, "nmcli")]
    networkd = _networkd(picture)
    busy = [link for link in networkd if link.state != "unmanaged"]
    hands_on: list[object] = [*connecting, *changes, *busy]
    lost: list[Hit] = [*picture.hits(ROUTE_DELETED), *picture.hits(ROUTE_REFUSED)]
    said = picture.said("network-lost-sometimes")
    manager = "systemd-networkd" if busy and not (connecting or changes) else "NetworkManager"
    devices = [hit.value("device") for hit in changes] + [link.device for link in (*listed, *busy)]
    files = [row["file"] for row in rows(picture, _FILE, "networkctl", needle="Network File")]
    objects = (
        manager,
        *dict.fromkeys(devices[:4]),
        *files[:2],
        "unmanaged-devices",
        CONF_DIR,
        _host(connecting, changes, listed, busy),
    )
    if hands_on:
        why = Words(
            f"{manager} manages Calico's interface{'s' if len(set(devices)) > 1 else ''} "
            f"{', '.join(dict.fromkeys(devices[:2]))}, "
            "so that routes to pods vanish.",
            f"{manager} 接管了 Calico 的接口 {'、'.join(dict.fromkeys(devices[:2]))}，导致 pod 路由丢失。",
        )
        strength = PROVEN if lost else STRONG if connecting or changes or said else LIKELY
        return found(strength, why, objects, (*hands_on[:2], *lost[:2], *said[:1]), manager=manager)
    handed = [link for link in (*listed, *networkd) if link.state == "unmanaged"]
    if handed and len(handed) == len(listed) + len(networkd):
        return ruled_out(Words("Calico's interfaces are unmanaged", "Calico 的接口未被托管"), handed[:2])
    if lost:
        why = Words("routes to pods are deleted; by whom is not shown", "pod 路由被删除，但没有显示由谁删除")
        return found(
            LIKELY if picture.hits(ROUTE_DELETED) and said else POSSIBLE,
            why,
            objects,
            (*lost[:2], *said[:1]),
            manager=manager,
        )
    return cannot_tell(Words("nmcli and networkctl are not shown", "没有 nmcli 或 networkctl 的输出"))


def _networkd(picture: Picture) -> list[Link]:
    """What systemd-networkd does with Calico's links: its list, and its status of one of them."""
    rows_listed = rows(picture, _NETWORKCTL, "networkctl")
    links = [Link(row["device"], row["state"], row.place, row.host) for row in rows_listed]
    for exhibit in picture.exhibits:
        if "networkctl status" not in exhibit.command:
            continue
        head = next((line for line in exhibit.lines if line.lstrip().startswith("●")), "")
        device = compiled(_DEVICE).search(head or exhibit.command)
        for index, line in enumerate(exhibit.lines):
            state, file = compiled(_STATUS).search(line), compiled(_FILE).search(line)
            if device and (state or file):
                word = state["state"] if state else "configured"
                links.append(Link(device["device"], word, exhibit.place(index), exhibit.host))
    return links


def _host(*groups: Sequence[object]) -> str:
    return next((host for group in groups for item in group if (host := getattr(item, "host", ""))), "")


def fix(_picture: Picture, finding: Finding) -> tuple[Step, ...]:
    if finding.value("manager") == "systemd-networkd":
        text = "[Match]\\nName=cali* tunl* vxlan.calico vxlan-v6.calico wireguard.cali\\n[Link]\\nUnmanaged=yes\\n"
        return (
            Step(
                Words(
                    "Tell systemd-networkd to leave Calico's links alone", "让 systemd-networkd 不再管理 Calico 的接口"
                ),
                f"printf '{text}' > /etc/systemd/network/00-calico.network",
            ),
            Step(Words("Let it read that", "使配置生效"), "networkctl reload", "disruptive"),
        )
    return (
        Step(
            Words("Tell NetworkManager to leave Calico's interfaces alone", "让 NetworkManager 不再管理 Calico 的接口"),
            f"printf '[keyfile]\\n{UNMANAGED}\\n' > {CONF_DIR}",
        ),
        Step(Words("Let it read that", "使配置生效"), "systemctl reload NetworkManager", "disruptive"),
    )


CAUSE = Cause(
    id="networkmanager-interference",
    code="TRT7008",
    severity="high",
    name=Words("link manager interferes", "网络管理程序干扰"),
    what=Words(
        "NetworkManager, systemd-networkd or another link manager manages cali*, tunl* or vxlan devices and "
        "removes pod routes.",
        "NetworkManager、systemd-networkd 等程序接管了 cali*、tunl*、vxlan 设备，导致 pod 路由或链路消失。",
    ),
    explains=("traffic-dead", "service-dead", "log-errors", "restarts"),
    look_alikes=(
        (
            "policy-routing-override",
            Words("there the /32 routes stay, an ip rule is ahead", "/32 路由仍在，但有 ip rule 抢先"),
        ),
        ("firewalld-interference", Words("there an nft reject counter grows", "nft reject 计数增长")),
        ("sysctl-forwarding-off", Words("there ip_forward is 0", "ip_forward 为 0")),
    ),
    signs=(CONNECTING, STATE_CHANGE, ROUTE_DELETED, ROUTE_REFUSED),
    judge=judge,
    ask=Ask(
        "nmcli dev | grep -e cali -e tunl -e vxlan; networkctl list | grep -e cali -e tunl; timeout 60 ip "
        "monitor route | grep cali",
        Words("managed interfaces, or routes that are deleted", "查看接口是否被托管、路由是否被删除"),
    ),
    fix=fix,
    verify=(
        Step(Words("All of them are unmanaged", "全部显示 unmanaged"), "nmcli dev | grep -e cali -e tunl -e vxlan"),
    ),
    prevent=(Words("Ship the file with the node image.", "把该文件放进节点镜像。"),),
)
