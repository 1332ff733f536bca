"""Links, addresses, routes, rules: whole, brief, grepped, old."""

from __future__ import annotations

from tests.support.doctor import source

from tortie.doctor.picture.facts import Fact, Interface, Route, RoutingRule, Setting
from tortie.doctor.reading.exhibit import Exhibit
from tortie.doctor.reading.readers import ip


def facts(text: str, command: str = "") -> list[Fact]:
    return list(ip.read(Exhibit("e", 1, source(text).lines, "m1", command)))


def links(text: str, command: str = "") -> dict[str, Interface]:
    return {fact.name: fact for fact in facts(text, command) if isinstance(fact, Interface)}


def test_whole_listing() -> None:
    found = links(
        """
        1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536 qdisc noqueue state UNKNOWN group default qlen 1000
            link/loopback 00:00:00:00:00:00 brd 00:00:00:00:00:00
            inet 127.0.0.1/8 scope host lo
        2: bond0.7@bond0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 9000 qdisc noqueue state UP group default
            link/ether 52:54:00:aa:bb:cc brd ff:ff:ff:ff:ff:ff
            inet 10.20.30.40/24 brd 10.20.30.255 scope global dynamic noprefixroute bond0.7
               valid_lft forever preferred_lft forever
            inet 10.20.30.41/24 scope global secondary bond0.7:1
            inet6 fe80::1/64 scope link
        7: tunl0@NONE: <NOARP,UP,LOWER_UP> mtu 1480 qdisc noqueue state UNKNOWN
            link/ipip 0.0.0.0 brd 0.0.0.0
        """
    )
    assert list(found) == ["lo", "bond0.7", "tunl0"]
    bond = found["bond0.7"]
    assert (bond.state, bond.mtu, bond.mac, bond.index) == ("UP", 9000, "52:54:00:aa:bb:cc", 2)
    assert bond.addresses == ("10.20.30.40/24", "10.20.30.41/24", "fe80::1/64")
    assert (found["tunl0"].kind, found["tunl0"].mtu) == ("ipip", 1480)


def test_remnants_of_a_grep() -> None:
    found = links(
        "    inet 10.1.2.3/22 brd 10.1.3.255 scope global ens18\n    inet 10.1.2.9/22 scope global secondary ens18"
    )
    assert found["ens18"].addresses == ("10.1.2.3/22", "10.1.2.9/22")


def test_one_line_and_brief() -> None:
    one = links("2: eth0    inet 10.1.1.1/24 brd 10.1.1.255 scope global eth0\\       valid_lft forever")
    assert one["eth0"].addresses == ("10.1.1.1/24",)
    brief = links(
        "eth0@if7   UP   10.1.1.1/24 fe80::1/64\neno2   DOWN\nvxlan.calico UNKNOWN 66:aa:bb:cc:dd:ee <BROADCAST,UP>"
    )
    assert (brief["eth0"].addresses[0], brief["eno2"].state) == ("10.1.1.1/24", "DOWN")
    assert brief["vxlan.calico"].mac == "66:aa:bb:cc:dd:ee"


def test_both_generations_of_ifconfig() -> None:
    found = links(
        """
        eth0: flags=4163<UP,BROADCAST,RUNNING,MULTICAST>  mtu 1500
                inet 10.4.4.4  netmask 255.255.240.0  broadcast 10.4.15.255
                ether 52:54:00:11:22:33  txqueuelen 1000  (Ethernet)

        eth1      Link encap:Ethernet  HWaddr 52:54:00:11:22:44
                  inet addr:10.5.5.5  Bcast:10.5.5.255  Mask:255.255.255.0
                  UP BROADCAST RUNNING MULTICAST  MTU:1400  Metric:1
        """
    )
    assert (found["eth0"].addresses, found["eth0"].mtu) == (("10.4.4.4/20",), 1500)
    assert (found["eth1"].addresses, found["eth1"].mtu, found["eth1"].state) == (("10.5.5.5/24",), 1400, "UP")


def test_details_of_vxlan() -> None:
    found = facts(
        """
        9: vxlan.calico: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1410 qdisc noqueue state UNKNOWN mode DEFAULT
            link/ether 66:00:00:00:00:01 brd ff:ff:ff:ff:ff:ff promiscuity 0
            vxlan id 4096 local 10.0.0.1 dev eth0 srcport 0 0 dstport 8472 nolearning ttl auto ageing 300
        """
    )
    values = {fact.name: fact.value for fact in found if isinstance(fact, Setting)}
    assert (values["vxlan-id"], values["dstport"], values["dev"]) == ("4096", "8472", "eth0")


def test_sizes_from_sys_and_greps() -> None:
    assert (
        links("ens3 1500\ncali1 1440", "for i in *; do echo $i $(cat /sys/class/net/$i/mtu); done")["cali1"].mtu == 1440
    )
    assert links("/sys/class/net/eth0/mtu:1460", "grep . /sys/class/net/*/mtu")["eth0"].mtu == 1460
    assert links("1450", "cat /sys/class/net/vxlan.calico/mtu")["vxlan.calico"].mtu == 1450
    both = links("1500\n1480", "cat /sys/class/net/eth0/mtu /sys/class/net/tunl0/mtu")
    assert (both["eth0"].mtu, both["tunl0"].mtu) == (1500, 1480)


def test_routes() -> None:
    found = [
        fact
        for fact in facts(
            """
            default via 10.0.0.254 dev eth0 proto dhcp metric 100
            10.7.1.0/26 via 10.0.0.2 dev tunl0 proto bird onlink
            blackhole 10.7.2.0/26 proto bird
            10.7.2.5 dev cali0123 scope link
            10.0.0.9 dev eth0 lladdr 52:54:00:00:00:09 STALE
            """
        )
        if isinstance(fact, Route)
    ]
    assert [(r.destination, r.via, r.device, r.protocol, r.kind) for r in found] == [
        ("default", "10.0.0.254", "eth0", "dhcp", ""),
        ("10.7.1.0/26", "10.0.0.2", "tunl0", "bird", ""),
        ("10.7.2.0/26", "", "", "bird", "blackhole"),
        ("10.7.2.5", "", "cali0123", "", ""),
    ]


def test_an_unreachable_answer_takes_its_address_from_the_command() -> None:
    (route,) = facts("RTNETLINK answers: Network is unreachable", "ip route get 10.96.0.1")
    assert isinstance(route, Route)
    assert (route.destination, route.kind) == ("10.96.0.1", "unreachable")


def test_old_routes() -> None:
    found = facts(
        "Destination Gateway Genmask Flags Metric Ref Use Iface\n0.0.0.0 10.0.0.1 0.0.0.0 UG 100 0 0 eth0\n"
        "10.9.0.0 0.0.0.0 255.255.0.0 U 0 0 0 eth0"
    )
    assert [(r.destination, r.via) for r in found if isinstance(r, Route)] == [
        ("default", "10.0.0.1"),
        ("10.9.0.0/16", ""),
    ]


def test_rules_neighbours_monitor() -> None:
    found = facts(
        """
        0:	from all lookup local
        30400:	from 10.0.0.5 lookup 30400 proto static
        10.0.0.8 dev eth0  FAILED
        Deleted 10.7.2.5 dev cali0123 scope link
        """
    )
    rules = [fact for fact in found if isinstance(fact, RoutingRule)]
    assert (rules[1].priority, rules[1].selector, rules[1].table) == (30400, "from 10.0.0.5", "30400")
    settings = {(fact.scope, fact.name): fact.value for fact in found if isinstance(fact, Setting)}
    assert settings["neigh", "10.0.0.8"] == "FAILED"
    assert settings["monitor", "route-deleted"].startswith("Deleted")


def test_features_of_a_card() -> None:
    found = facts("driver: ena\ntx-checksum-ip-generic: off [fixed]", "ethtool -i eth1; ethtool -k eth1")
    assert [(f.owner, f.name, f.value) for f in found if isinstance(f, Setting)] == [
        ("eth1", "driver", "ena"),
        ("eth1", "tx-checksum-ip-generic", "off [fixed]"),
    ]


def test_routes_of_the_protocol_that_was_asked_for() -> None:
    row = "10.130.9.0/26 via 10.0.3.22 dev eth0 onlink"
    asked = {"ip route show proto 80": "80", "ip -4 r s proto bird": "bird", "ip route show": ""}
    routes = {command: next(iter(facts(row, command))) for command in asked}
    assert {command: route.protocol for command, route in routes.items() if isinstance(route, Route)} == asked
