"""TRT7008: an address or a default route on a pod's link was put there by a program of the host."""

from __future__ import annotations

import pytest
from tests.support.doctor import finding, fixes, picture

from tortie.doctor.picture.facts import Interface

BROKEN = "Since the cluster runs here the machine has no internet any more, pages do not load.\n"
IFCONFIG = """\
ifconfig says:

cali1f2e3d4c5b6: flags=-28605<UP,BROADCAST,RUNNING,MULTICAST,DYNAMIC>  mtu 1500
        inet 169.254.77.12  netmask 255.255.0.0  broadcast 169.254.255.255
        ether ee:ee:ee:ee:ee:ee  txqueuelen 0  (Ethernet)

eno2: flags=4163<UP,BROADCAST,RUNNING,MULTICAST>  mtu 1500
        inet 10.20.30.7  netmask 255.255.255.0  broadcast 10.20.30.255
"""
IP_A = """\
pi@pi4:~ $ ip a show dev cali1f2e3d4c5b6
7: cali1f2e3d4c5b6@if3: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1450 qdisc noqueue state UP group default
    link/ether ee:ee:ee:ee:ee:ee brd ff:ff:ff:ff:ff:ff link-netnsid 0
    inet 169.254.77.12/16 brd 169.254.255.255 scope global noprefixroute cali1f2e3d4c5b6
"""
BRIEF = "pi@pi4:~ $ ip -br -4 a\neth0  UP  10.20.30.7/24\ncali1f2e3d4c5b6@if3  UP  169.254.77.12/16\n"
ROUTES = "$ ip r\ndefault dev cali1f2e3d4c5b6 scope link\n10.20.30.0/24 dev eno2 proto kernel scope link\n"
OLD_ROUTES = """\
$ route -n
Destination     Gateway         Genmask         Flags Metric Ref    Use Iface
0.0.0.0         0.0.0.0         0.0.0.0         U     205    0        0 cali1f2e3d4c5b6
10.20.30.0      0.0.0.0         255.255.255.0   U     202    0        0 eth0
"""
NETWORK = "$ ip route\ndefault via 10.20.30.1 dev eth0\n"
NETWORK += "169.254.0.0/16 dev cali1f2e3d4c5b6 scope link src 169.254.77.12\n"


def test_links_of_ifconfig_belong_together_below_a_sentence() -> None:
    links = {link.name: link.addresses for link in picture(IFCONFIG).of(Interface)}
    assert links == {"cali1f2e3d4c5b6": ("169.254.77.12/16",), "eno2": ("10.20.30.7/24",)}


@pytest.mark.parametrize("shown", [IFCONFIG, IP_A, BRIEF, ROUTES, OLD_ROUTES, NETWORK])
def test_whatever_shows_it(shown: str) -> None:
    answer = finding("networkmanager-interference", BROKEN + shown)
    assert (answer.state, answer.rule, answer.strength >= 0.9) == ("found", "addressed", True)
    assert "cali1f2e3d4c5b6" in answer.objects


@pytest.mark.parametrize(
    ("running", "program"),
    [
        ("$ systemctl is-active connman\nactive\n", "connman"),
        ("$ systemctl status dhcpcd\n● dhcpcd.service - DHCP\n   Active: active (running) since Mon\n", "dhcpcd"),
        ("$ pgrep -a dhcpcd\n612 /usr/sbin/dhcpcd -w -q\n", "dhcpcd"),
        ("$ ps -ef | grep conn\nroot  512  1  0 10:02 ?  00:00:01 /usr/sbin/connmand -n\n", "connman"),
        (
            "$ journalctl -b | grep cali | tail -1\n"
            "Jan 30 11:02:10 pi4 dhcpcd[612]: cali1f2e3d4c5b6: using IPv4LL address 169.254.77.12\n",
            "dhcpcd",
        ),
    ],
)
def test_the_program_that_runs_there_is_at_fault(running: str, program: str) -> None:
    answer = finding("networkmanager-interference", BROKEN + ROUTES + running)
    assert (answer.strength >= 0.95, answer.objects[0]) == (True, program)


def test_its_own_words_suffice() -> None:
    said = """
    装完集群后主机上不了外网。
    [root@nuc-2 ~]# journalctl -u connman | tail -2
    Jan 30 11:02:10 nuc-2 connmand[733]: cali1f2e3d4c5b6 {add} address 169.254.77.12/16 label cali1f2e3d4c5b6 family 2
    """
    answer = finding("networkmanager-interference", said)
    assert (answer.strength >= 0.95, answer.objects[:2]) == (True, ("connman", "cali1f2e3d4c5b6"))


def test_a_program_that_is_only_spoken_of_is_named() -> None:
    answer = finding("networkmanager-interference", "树莓派系统，网络由 dhcpcd 管理，现在主机断网了。\n" + ROUTES)
    assert (answer.strength, answer.objects[0]) == (0.92, "dhcpcd")
    denied = finding("networkmanager-interference", "主机断网了，这台没有 dhcpcd。\n" + ROUTES)
    assert "dhcpcd" not in denied.objects


def test_each_program_has_its_own_setting() -> None:
    unit = "$ systemctl is-active {}\nactive\n"
    assert any(
        "NetworkInterfaceBlacklist" in command and "/etc/connman/main.conf" in command
        for command in fixes("networkmanager-interference", BROKEN + ROUTES + unit.format("connman"))
    )
    commands = fixes("networkmanager-interference", BROKEN + ROUTES + unit.format("dhcpcd"))
    assert any("denyinterfaces" in command for command in commands)
    assert "ip route del default dev cali1f2e3d4c5b6" in commands
    commands = fixes("networkmanager-interference", BROKEN + NETWORK + unit.format("wickedd"))
    assert "systemctl disable --now wicked" in commands
    assert not any(command.startswith("ip route del default") for command in commands)
    assert any("list-units" in command for command in fixes("networkmanager-interference", BROKEN + ROUTES))


def test_the_default_route_of_a_pod_is_none_of_the_host() -> None:
    inside = "$ kubectl exec -it web-0 -- ip route\ndefault via 169.254.1.1 dev eth0\n169.254.1.1 dev eth0 scope link\n"
    assert finding("networkmanager-interference", BROKEN + inside).state == "cannot-tell"
    own = "$ ip r\ndefault via 10.20.30.1 dev eth0\n10.1.63.193 dev cali1f2e3d4c5b6 scope link\n"
    assert finding("networkmanager-interference", BROKEN + own).state == "cannot-tell"
    cloud = "$ ip r\ndefault via 10.20.30.1 dev eth0\n"
    cloud += "169.254.169.254 via 10.20.30.1 dev eth0\n169.254.0.0/16 dev eth0\n"
    assert finding("networkmanager-interference", BROKEN + cloud).state == "cannot-tell"


def test_where_all_is_well_an_address_alone_is_no_claim() -> None:
    pods = "$ kubectl -n kube-system get pods\ncalico-node-5k2jv   1/1   Running   0   12d\n"
    assert finding("networkmanager-interference", BRIEF + pods).strength < 0.8
