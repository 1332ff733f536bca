"""Faults of the way that pods' packets take: not forwarded, filtered, or too large for the path."""

from __future__ import annotations

from typing import Final

from tortie.lab.faults.deeds import Deed, Filter, RestartNode, RunHelper, SetKernel
from tortie.lab.faults.fault import Fault, Scene
from tortie.lab.words import Pair

FORWARDING: Final = "net.ipv4.ip_forward"
LARGEST: Final = 1400  # what the path lets through; links and tunnels believe in more

# No answer that says "fragmentation needed": that makes the hole a black one.
_BLACK_HOLE: Final = """table bridge {table} {
	chain forward {
		type filter hook forward priority 0;
		ip saddr ADDRESS ip length > LARGEST counter drop
		ip daddr ADDRESS ip length > LARGEST counter drop
	}
}
"""

_NO_VXLAN: Final = """table inet {table} {
	chain input {
		type filter hook input priority 0;
		udp dport 4789 counter drop
	}
}
"""


def _forwarding_off(scene: Scene) -> tuple[Deed, ...]:
    # Programs that harden a host come again; one write alone might be put right by the next one who needs it.
    return (
        SetKernel(scene.node.name, FORWARDING, "0"),
        RunHelper(scene.node.name, "hardening", ("sysctl-again", FORWARDING, "0")),
    )


def _rp_filter(scene: Scene) -> tuple[Deed, ...]:
    return (SetKernel(scene.node.name, "net.ipv4.conf.all.rp_filter", "2"), RestartNode(scene.node.name))


def _black_hole(scene: Scene) -> tuple[Deed, ...]:
    rules = _BLACK_HOLE.replace("ADDRESS", str(scene.node.address)).replace("LARGEST", str(LARGEST))
    return (Filter("switch", rules, "bridge"),)


def _no_vxlan(scene: Scene) -> tuple[Deed, ...]:
    return (Filter(scene.node.name, _NO_VXLAN),)


FAULTS: Final = (
    Fault(
        name="forwarding-off",
        cause="sysctl-forwarding-off",
        code="TRT7006",
        summary=Pair("a hardening program keeps net.ipv4.ip_forward at 0", "加固程序把 net.ipv4.ip_forward 一直设为 0"),
        shows=Pair(
            "Pods of the node reach nobody, agents and sessions stay green, in both modes.",
            "该节点的 pod 谁也到不了，而 calico-node 与会话都正常，两种模式皆然。",
        ),
        plan=_forwarding_off,
    ),
    Fault(
        name="rp-filter",
        cause="rpf-loose",
        code="TRT7005",
        summary=Pair("net.ipv4.conf.all.rp_filter is 2, then the node restarts", "rp_filter 设为 2，随后节点重启"),
        shows=Pair(
            "Calico up to 3.11 ends: `Kernel's RPF check is set to 'loose'`. Later releases and Tortie do not mind.",
            "Calico 3.11 及以前退出：`Kernel's RPF check is set to 'loose'`。之后的版本与 Tortie 不受影响。",
        ),
        plan=_rp_filter,
        needs=("kubelet",),
        spared=True,
        release="3.8",
    ),
    Fault(
        name="mtu-black-hole",
        cause="mtu-mismatch",
        code="TRT7010",
        summary=Pair("the path to the node drops packets above 1400 bytes", "到该节点的路径丢弃超过 1400 字节的包"),
        shows=Pair(
            "Small packets pass and large ones vanish without a word: ping works, `ping -M do -s 1472` does not, in "
            "both modes.",
            "小包能过，大包无声消失：ping 通，`ping -M do -s 1472` 不通，两种模式皆然。",
        ),
        plan=_black_hole,
        needs=("two-nodes", "vxlan"),
    ),
    Fault(
        name="vxlan-port-dropped",
        cause="vxlan-port-blocked",
        code="TRT8004",
        summary=Pair("a firewall on the node drops UDP 4789", "节点上的防火墙丢弃 UDP 4789"),
        shows=Pair(
            "Pods on other nodes do not reach this node's through the tunnel, agents are 1/1, in both modes.",
            "其他节点的 pod 经隧道到不了该节点的 pod，而 calico-node 都是 1/1，两种模式皆然。",
        ),
        plan=_no_vxlan,
        needs=("two-nodes", "vxlan"),
    ),
)
