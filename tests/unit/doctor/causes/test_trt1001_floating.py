"""TRT1001: a VIP of keepalived or kube-vip was registered as a node's address."""

from __future__ import annotations

import pytest
from tests.support.doctor import finding, fixes

ID = "autodetect-wrong-interface"

DOWN = """\
$ calicoctl node status
| PEER ADDRESS | PEER TYPE         | STATE | SINCE    | INFO    |
| 10.66.4.200  | node-to-node mesh | start | 03:11:02 | Passive |
| 10.66.4.12   | node-to-node mesh | up    | 01:11:02 | Established |
"""
CALICOCTL = """\
$ calicoctl get nodes -o wide
NAME    ASN       IPV4             IPV6
cp-a    (64512)   10.66.4.200/32
cp-b    (64512)   10.66.4.12/24
wk-a    (64512)   10.66.4.21/24
"""
ANNOTATIONS = """\
$ kubectl get nodes -o custom-columns='NAME:.metadata.name,CALICO:.metadata.annotations.projectcalico\\.org/IPv4Address'
NAME   CALICO
cp-a   10.66.4.200/32
cp-b   10.66.4.12/24
wk-a   10.66.4.21/24
"""
NODES = """\
$ kubectl get nodes -o wide
NAME   STATUS   ROLES    AGE   VERSION   INTERNAL-IP    EXTERNAL-IP   OS-IMAGE   KERNEL-VERSION   CONTAINER-RUNTIME
cp-a   Ready    master   9d    v1.23.3   10.66.4.11     <none>        Debian 11  5.10.0           containerd://1.5.2
cp-b   Ready    master   9d    v1.23.3   10.66.4.12     <none>        Debian 11  5.10.0           containerd://1.5.2
"""
LOG = """\
[root@cp-a ~]# crictl logs 4f3 2>&1 | grep autodetected
2023-03-01 03:10:01.201 [INFO][9] startup/startup.go 584: Using autodetected IPv4 address on interface ens3: 10.66.4.200/32
"""  # noqa: E501
ON_LINK = """\
[root@cp-a ~]# ip -4 a show dev ens3
2: ens3: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc mq state UP group default qlen 1000
    inet 10.66.4.11/24 brd 10.66.4.255 scope global ens3
    inet 10.66.4.200/32 scope global ens3
"""
BRIEF = "[root@cp-a ~]# ip -br -4 a\nens3  UP  10.66.4.11/24 10.66.4.200/32\n"
ELSEWHERE = """\
[root@cp-b ~]# ip -br -4 a
ens3   UP   10.66.4.12/24 10.66.4.200/24
$ calicoctl get nodes -o wide
NAME    ASN       IPV4             IPV6
cp-a    (64512)   10.66.4.200/24
cp-b    (64512)   10.66.4.12/24
"""
BARE = "$ calicoctl get nodes -o wide\nNAME   ASN   IPV4   IPV6\ncp-a   (64512)   10.66.4.200/{}\n"


@pytest.mark.parametrize(
    "shown",
    [CALICOCTL, ANNOTATIONS, NODES + LOG, LOG + ON_LINK, BARE.format(32) + BRIEF, BARE.format(24) + BRIEF, ELSEWHERE],
)
def test_whatever_tells_that_it_is_a_vip(shown: str) -> None:
    answer = finding(ID, DOWN + shown)
    assert (answer.state, answer.say, answer.strength >= 0.9) == ("found", "floating", True)
    assert answer.objects[0] == "10.66.4.200"


def test_in_clouds_every_address_is_a_32() -> None:
    every = CALICOCTL.replace("/24", "/32")
    assert finding(ID, DOWN + every).say != "floating"
    other_site = CALICOCTL.replace("10.66.4.12/24", "10.99.1.12/24").replace("10.66.4.21/24", "10.99.1.21/24")
    assert finding(ID, DOWN + other_site).say != "floating"


def test_the_nodes_own_address_is_no_vip() -> None:
    own = NODES.replace("10.66.4.11 ", "10.66.4.200")
    assert finding(ID, DOWN + CALICOCTL + own).say != "floating"
    written = (
        "$ kubectl -n kube-system get ds calico-node -o yaml | grep -A1 'name: IP$'\n- name: IP\n  value: 10.66.4.200\n"
    )
    assert finding(ID, DOWN + written + CALICOCTL).say != "floating"


def test_an_address_that_two_hosts_exchanged_is_none() -> None:
    single = ELSEWHERE.replace("10.66.4.12/24 10.66.4.200/24", "10.66.4.200/24").replace(
        "cp-b    (64512)   10.66.4.12/24\n", ""
    )
    assert finding(ID, DOWN + single).say != "floating"


def test_the_method_that_is_advised_cannot_take_it() -> None:
    new = "$ calico-node -v\nv3.26.1\n"
    commands = fixes(ID, DOWN + new + CALICOCTL)
    assert any("kubernetes-internal-ip" in command for command in commands)
    old = "现场：k8s v1.19.8，VIP 由 keepalived 管理。\n"
    commands = fixes(ID, old + DOWN + CALICOCTL + ON_LINK)
    assert any("status.hostIP" in command for command in commands)
    assert not any("METHOD=cidr" in command or "METHOD=can-reach" in command for command in commands)


def test_while_all_sessions_stand_it_is_only_an_aside() -> None:
    up = DOWN.replace("start", "up   ").replace("Passive ", "Established")
    answer = finding(ID, up + CALICOCTL)
    assert answer.aside or answer.state != "found"
