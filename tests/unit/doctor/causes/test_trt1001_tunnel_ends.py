"""TRT1001: a VIP at the end of a tunnel, as the node itself or another one shows it."""

from __future__ import annotations

import pytest
from tests.support.doctor import finding

from tortie.doctor.causes.cause import LIKELY

ID, CHANGED = "autodetect-wrong-interface", "node-ip-changed"
PODS = """
$ kubectl get po -n kube-system -o wide | grep calico-node
calico-node-7n2bz   0/1   Running   0   213d   10.66.4.11   cp-a
calico-node-c9ktl   1/1   Running   0   213d   10.66.4.12   cp-b
calico-node-m5jg8   1/1   Running   0   213d   10.66.4.21   wk-a
"""
LINKS = "[root@cp-a ~]# ip -4 -br a show ens3\nens3             UP             10.66.4.11/24\n"
LOCAL = """
[root@cp-a ~]# ip -d link show vxlan.calico
8: vxlan.calico: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1410 qdisc noqueue state UNKNOWN mode DEFAULT group default
    link/ether 66:3e:96:31:0c:5d brd ff:ff:ff:ff:ff:ff promiscuity 0
    vxlan id 4096 local 10.66.4.200 dev ens3 srcport 0 0 dstport 4789 nolearning ageing 300
"""
FDB = """
[root@wk-a ~]# bridge fdb show dev vxlan.calico
66:3e:96:31:0c:5d dst 10.66.4.200 self permanent
66:82:57:0a:b1:44 dst 10.66.4.12 self permanent
"""
ROUTES = """
[root@wk-a ~]# ip route
10.244.12.0/26 via 10.66.4.200 dev tunl0 proto bird onlink
10.244.77.0/26 via 10.66.4.12 dev tunl0 proto bird onlink
"""
SAID = "The API server is reached by the VIP 10.66.4.200 (keepalived), pods of cp-a cannot be reached.\n"
CONFIG = """
$ cat /etc/keepalived/keepalived.conf
vrrp_instance VI_1 {
    interface ens3
    virtual_ipaddress {
        10.66.4.200
    }
}
"""


@pytest.mark.parametrize("told", [SAID, CONFIG, "cp-a 上的 Pod 不通，虚拟IP 10.66.4.200 已经漂移到 cp-b。\n"])
@pytest.mark.parametrize("shown", [LINKS + LOCAL, FDB, ROUTES])
def test_a_tunnel_ends_at_what_is_called_a_vip(shown: str, told: str) -> None:
    answer = finding(ID, told + PODS + shown)
    assert answer.strength >= LIKELY
    assert (answer.say, answer.culprits[0].name) == ("floating", "10.66.4.200")
    assert finding(CHANGED, told + PODS + shown).strength < LIKELY


def test_the_forwarding_table_names_the_node_by_the_tunnels_address() -> None:
    assert finding(ID, SAID + PODS + LOCAL.replace("local 10.66.4.200 ", "") + FDB).value("node") == "cp-a"


def test_an_address_that_nobody_calls_so_may_be_the_nodes_earlier_one() -> None:
    assert finding(CHANGED, PODS + LINKS + LOCAL).strength >= LIKELY
    assert finding(ID, PODS + LINKS + LOCAL).strength < LIKELY
    denied = "10.66.4.200 is not a VIP of ours, pods of cp-a cannot be reached.\n"
    assert finding(ID, denied + PODS + LINKS + LOCAL).strength < LIKELY


def test_while_the_vip_stands_on_its_node_tunnels_reach_it() -> None:
    here = LINKS.replace("10.66.4.11/24", "10.66.4.11/24 10.66.4.200/24")
    ready = PODS.replace("0/1", "1/1")
    assert finding(ID, SAID.partition(", pods")[0] + ".\n" + ready + here + FDB).value("node") != "wk-a"


def test_tunnels_to_the_nodes_own_addresses_are_right() -> None:
    own = FDB.replace("10.66.4.200", "10.66.4.11")
    assert finding(ID, SAID + PODS + own).state != "found"


def test_what_kube_vip_is_told() -> None:
    told = """
$ kubectl -n kube-system get ds kube-vip-ds -o yaml | grep -A1 "name: address"
        - name: address
          value: 10.66.4.200
"""
    assert finding(ID, PODS + FDB + told).strength >= LIKELY
    assert finding(ID, PODS + FDB + told.replace("kube-vip-ds", "web")).strength < LIKELY
