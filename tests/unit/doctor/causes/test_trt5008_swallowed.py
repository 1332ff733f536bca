"""TRT5008: the machine's own network lies inside of a pool, and blocks are cut out of it."""

from __future__ import annotations

import pytest
from tests.support.doctor import finding, picture

ID = "cidr-overlap"

SICK = "When the addons start, the gateway cannot ping this machine any more.\n"
POOL = """\
$ kubectl get ippools -o jsonpath='{.items[*].spec}'
{"blockSize":26,"cidr":"10.1.0.0/16","vxlanMode":"Always"}
"""
ROUTES = """\
$ ip r
default via 10.1.8.1 dev enp1s0 proto dhcp src 10.1.9.40 metric 100
10.1.8.0/22 dev enp1s0 proto kernel scope link src 10.1.9.40
blackhole 10.1.8.0/26 proto 80
10.1.8.5 dev cali1f2e3d4c5b6 scope link
"""
OLD = """\
$ route -n
Destination     Gateway         Genmask         Flags Metric Ref    Use Iface
0.0.0.0         10.1.8.1        0.0.0.0         UG    100    0        0 enp1s0
10.1.8.0        -               255.255.255.192 !     0      -        0 -
10.1.8.0        0.0.0.0         255.255.252.0   U     100    0        0 enp1s0
"""
ROWS = """\
$ calicoctl get ippool -o wide
NAME                  CIDR          NAT    IPIPMODE   VXLANMODE   DISABLED   DISABLEBGPEXPORT   SELECTOR
default-ipv4-ippool   10.1.0.0/16   true   Never      Always      false      false              all()
"""
LINK = "$ ip -br -4 a\nenp1s0   UP   10.1.9.40/22\n"


@pytest.mark.parametrize("pool", [POOL, ROWS])
@pytest.mark.parametrize("routes", [LINK + ROUTES, LINK + OLD])
def test_a_block_covers_the_gateway(pool: str, routes: str) -> None:
    answer = finding(ID, SICK + routes + pool)
    assert (answer.rule, answer.say, answer.aside) == ("network-in-block", "gateway-in-block", False)
    assert answer.strength >= 0.95
    assert {"10.1.0.0/16", "10.1.8.1"} <= set(answer.objects)


def test_the_gateway_is_in_the_pool_and_the_machine_is_not() -> None:
    small = POOL.replace("10.1.0.0/16", "10.1.8.0/24")
    assert finding(ID, SICK + LINK + ROUTES + small).say == "gateway-in-block"
    beside = ROUTES.replace("10.1.8.0/26", "10.1.8.64/26").replace("10.1.8.5 ", "10.1.8.70 ")
    assert finding(ID, SICK + LINK + beside + small).state != "found"  # cut out of the network, perhaps on purpose


def test_a_block_lies_beside_the_machine() -> None:
    beside = ROUTES.replace("10.1.8.0/26", "10.1.10.64/26").replace("10.1.8.5 ", "10.1.10.70 ")
    answer = finding(ID, SICK + LINK + beside + POOL)
    assert (answer.say, answer.strength >= 0.9) == ("network-in-block", True)


def test_where_nobody_suffers_it_is_an_aside() -> None:
    assert finding(ID, LINK + ROUTES + POOL).aside


def test_blocks_elsewhere_and_black_holes_of_others_are_none() -> None:
    apart = LINK.replace("10.1.9.40/22", "192.0.2.4/24") + ROUTES.replace("10.1.8.1 ", "192.0.2.1 ")
    assert finding(ID, SICK + apart.replace("10.1.8.0/22", "192.0.2.0/24") + POOL).state == "ruled-out"
    other = POOL.replace("10.1.0.0/16", "10.99.0.0/16")
    assert finding(ID, SICK + LINK + ROUTES + other).state == "ruled-out"


TOLD = [
    "As soon as the first pods start, the machine drops off the network.",
    "The node goes deaf every time microk8s comes up.",
    "microk8s is enabled, my ssh session freezes at that very moment.",
    "Pod 一启动，主机就断网。",
    "集群起来之后节点失联，只能重启。",
    "机器 ping 不通，停掉 microk8s 马上恢复。",
]


@pytest.mark.parametrize("told", TOLD)
def test_told_in_prose_with_both_ranges(told: str) -> None:
    answer = finding(ID, f"{told}\n" + LINK + POOL)
    assert (answer.rule, answer.aside, answer.strength >= 0.9) == ("machine-lost", False, True)
    free = POOL.replace("10.1.0.0/16", "10.99.0.0/16")
    assert finding(ID, f"{told}\n" + LINK + free).state == "ruled-out"


@pytest.mark.parametrize(
    "told",
    [
        "Pods are started on the node, and one of them dies after an hour.",
        "Once the node is gone, pods start on another machine.",
        "节点下线之后 Pod 在其他节点启动。",
        "Does the machine go offline when pods start?",
    ],
)
def test_other_stories_are_not_this_one(told: str) -> None:
    assert not picture(told).said("host-lost-with-pods")


@pytest.mark.parametrize("address", ["10.0.0.300/24", "10.0.x.y/24"])
def test_addresses_that_are_none_are_passed_over(address: str) -> None:
    text = f"""
        $ ip addr
        2: eth0: <BROADCAST,UP> mtu 1500
            inet {address} scope global eth0
        $ ip route
        blackhole 10.0.0.0/26 proto bird
        $ calicoctl get ippool -o wide
        pods   10.0.0.0/16   true   Never      Always      false      all()
        """
    assert finding("cidr-overlap", text).strength < 0.8
