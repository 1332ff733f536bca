"""TRT7008: what link managers say to do with Calico's links, and what a new start of networkd takes away."""

from __future__ import annotations

import pytest
from tests.support.doctor import finding

LOST = "Pods on this node lose their network some seconds after their start.\n"


@pytest.mark.parametrize(
    ("line", "program"),
    [
        (
            "Jul  3 18:25:51 l1 NetworkManager[6043]: <info> (calid55687f8218): device state change: disconnected "
            "-> prepare (reason 'none') [30 40 0]",
            "NetworkManager",
        ),
        (
            "Jul  3 18:25:51 l1 NetworkManager[6043]: <info> Activation (calid55687f8218) starting connection 'W'",
            "NetworkManager",
        ),
        (
            "Jul 03 18:25:51 l1 systemd-networkd[431]: calid55687f8218: Configuring with /etc/systemd/a.network.",
            "systemd-networkd",
        ),
        (
            "Jul 03 18:25:51 l1 dhclient[2211]: DHCPDISCOVER on calid55687f8218 to 255.255.255.255 port 67",
            "dhclient",
        ),
        ("Jul 03 18:25:51 l1 dhcpcd[611]: calid55687f8218: soliciting a DHCP lease", "dhcpcd"),
    ],
)
def test_a_manager_sets_up_a_pods_link(line: str, program: str) -> None:
    answer = finding("networkmanager-interference", LOST + "$ journalctl -b | tail -1\n" + line)
    assert answer.strength >= 0.9
    assert answer.objects[0] == program
    assert "calid55687f8218" in answer.objects


@pytest.mark.parametrize(
    "line",
    [
        "Jul 03 18:25:51 l1 systemd-networkd[431]: calid55687f8218: Link UP",
        "Jul 03 18:25:51 l1 systemd-networkd[431]: calid55687f8218: Gained carrier",
        "Jul 03 18:25:51 l1 NetworkManager[604]: <info>  [1720023951.1] device (calid55687f8218): state change: "
        "disconnected -> prepare (reason 'none', sys-iface-state: 'external')",
        "Jul 03 18:25:51 l1 NetworkManager[604]: <info>  [1720023951.1] manager: (calid55687f8218): new Veth device",
        "Jul 03 18:25:51 l1 dhclient[2211]: DHCPDISCOVER on eth0 to 255.255.255.255 port 67",
    ],
)
def test_a_link_that_is_only_watched(line: str) -> None:
    assert finding("networkmanager-interference", LOST + "$ journalctl -b | tail -1\n" + line).strength < 0.8


COUNTS = """
root@w-1:~# ip route | grep -c cali
14
root@w-1:~# systemctl restart {}; ip route | grep -c cali
{}
"""


def test_routes_are_counted_before_and_after_networkd_starts_anew() -> None:
    answer = finding("networkmanager-interference", COUNTS.format("systemd-networkd", 0))
    assert answer.strength >= 0.9
    assert "systemd-networkd" in answer.objects
    assert finding("networkmanager-interference", COUNTS.format("systemd-networkd", 14)).strength < 0.8
    assert finding("networkmanager-interference", COUNTS.format("kubelet", 0)).strength < 0.8


@pytest.mark.parametrize(
    "said",
    [
        "Whenever systemd-networkd is restarted by an update, all pods of that node lose their routes.",
        "All pods on the node are unreachable after systemd-networkd restarts.",
        "We ran netplan apply, and the pods of that node were cut off.",
        "重启 systemd-networkd 后，该节点上的 pod 全部断网。",
    ],
)
def test_people_say_when_it_happens(said: str) -> None:
    assert finding("networkmanager-interference", said).strength >= 0.8


@pytest.mark.parametrize(
    "said",
    [
        "We restarted systemd-networkd and the pods work as before.",
        "I gave worker2 a new address and ran netplan apply; since then pods on worker2 are unreachable.",
        "Pods are unreachable after calico-node restarts; systemd-networkd does not manage cali links.",
    ],
)
def test_and_when_it_does_not(said: str) -> None:
    assert finding("networkmanager-interference", said).strength < 0.8
