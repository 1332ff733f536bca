"""TRT9001 and TRT8004: a tunnel that only sends, and a capture at the other end that people tell to be silent."""

# ruff: noqa: E501 (pasted lines stay as long as they are)

from __future__ import annotations

import pytest
from tests.support.doctor import finding, picture

from tortie.doctor.causes.surroundings import cloud_of

PLACE = """
[root@os-61 ~]# ip route | grep tunl0
10.120.4.64/26 via 10.6.0.12 dev tunl0 proto bird onlink
[root@os-61 ~]# ping -c2 -W1 10.120.4.70
2 packets transmitted, 0 received, 100% packet loss, time 1021ms
[root@os-61 ~]# calicoctl node status
| 10.6.0.12    | node-to-node mesh | up    | 08:20:11 | Established |

"""
IP = """\
[root@os-61 ~]# ip -s link show tunl0
7: tunl0@NONE: <NOARP,UP,LOWER_UP> mtu 1440 qdisc noqueue state UNKNOWN
    link/ipip 0.0.0.0 brd 0.0.0.0
    RX: bytes  packets  errors  dropped overrun mcast
    0          0        0       0       0       0
    TX: bytes  packets  errors  dropped carrier collsns
    41238      687      0       0       0       0
"""
FORMS = (
    IP,
    """\
[root@os-61 ~]# ifconfig tunl0
tunl0: flags=193<UP,RUNNING,NOARP>  mtu 1440
        inet 10.120.1.0  netmask 255.255.255.255
        RX packets 0  bytes 0 (0.0 B)
        RX errors 0  dropped 0  overruns 0  frame 0
        TX packets 687  bytes 41238 (40.2 KiB)
        TX errors 0  dropped 0 overruns 0  carrier 0  collisions 0
""",
    """\
[root@os-61 ~]# ifconfig tunl0
tunl0     Link encap:IPIP Tunnel  HWaddr
          UP RUNNING NOARP  MTU:1440  Metric:1
          RX packets:0 errors:0 dropped:0 overruns:0 frame:0
          TX packets:687 errors:0 dropped:0 overruns:0 carrier:0
""",
    """\
[root@os-61 ~]# cat /proc/net/dev
  eth0: 99999  900 0 0 0 0 0 0 88888 800 0 0 0 0 0 0
 tunl0:       0       0    0    0    0     0          0         0 41238 687 0 0 0 0 0 0
""",
    "[root@os-61 ~]# ethtool -S tunl0\nNIC statistics:\n     rx_packets: 0\n     tx_packets: 687\n",
    "[root@os-61 ~]# netstat -i\ntunl0            1440        0      0      0 0           687      0      0      0 ORU\n",
)


@pytest.mark.parametrize("counted", FORMS)
def test_a_tunnel_that_only_sends(counted: str) -> None:
    answer = finding("ipip-blocked-by-cloud", PLACE + counted)
    assert (answer.rule, answer.strength >= 0.8) == ("one-way-only", True)
    vxlan = finding("vxlan-port-blocked", (PLACE + counted).replace("tunl0", "vxlan.calico"))
    assert (vxlan.rule, vxlan.strength >= 0.8) == ("one-way-only", True)


@pytest.mark.parametrize("counted", FORMS)
def test_what_receives_is_not_blocked(counted: str) -> None:
    other = IP.replace("os-61", "os-64").replace("    0          0        0", "    900        15       0", 1)
    assert finding("ipip-blocked-by-cloud", PLACE + counted + other).strength < 0.8
    assert finding("vxlan-port-blocked", (PLACE + counted + other).replace("tunl0", "vxlan.calico")).strength < 0.8


def test_both_ends_only_send() -> None:
    assert finding("ipip-blocked-by-cloud", PLACE + IP + IP.replace("os-61", "os-64")).strength >= 0.9


@pytest.mark.parametrize(
    "told",
    [
        "On 64 `tcpdump -ni eth0 proto 4` is silent meanwhile.",
        "On the other node tcpdump -ni eth0 ip proto 4 shows nothing at all while I ping.",
        "I ran `tcpdump -i any ip proto 4` on the receiving worker: nothing.",
        "There was nothing in tcpdump for protocol 4 on the second VM.",
        "对端 tcpdump -ni eth0 ip proto 4 什么都没有。",
        "在目标节点上抓协议 4，一个包都没有。",
        "接收端用 `tcpdump proto 4` 抓包为空",
    ],
)
def test_told_silence_at_the_other_end(told: str) -> None:
    answer = finding("ipip-blocked-by-cloud", PLACE + told)
    assert (answer.rule, answer.strength >= 0.9) == ("told", True)
    ports = told.replace("protocol 4", "udp port 4789").replace("proto 4", "udp port 4789").replace("协议 4", "4789")
    vxlan = finding("vxlan-port-blocked", (PLACE + ports).replace("tunl0", "vxlan.calico"))
    assert (vxlan.rule, vxlan.strength >= 0.9) == ("told", True)


@pytest.mark.parametrize(
    "told",
    [
        "On 61 `tcpdump -ni eth0 proto 4` is silent meanwhile.",
        "On the sender tcpdump proto 4 shows nothing.",
        "On the other node tcpdump of proto 4 shows the packets.",
        "源端 tcpdump proto 4 什么都没有。",
        "On 64 `tcpdump port 179` is silent meanwhile.",
    ],
)
def test_silence_elsewhere_or_of_something_else(told: str) -> None:
    assert finding("ipip-blocked-by-cloud", PLACE + told).strength < 0.8


@pytest.mark.parametrize(
    "shown",
    [
        "[root@os-61 ~]# ip route\n168.63.129.16 via 10.6.0.1 dev eth0 proto static\n",
        "[root@os-61 ~]# cat /etc/resolv.conf\nnameserver 168.63.129.16\n",
    ],
)
def test_azure_by_its_wire_server(shown: str) -> None:
    assert finding("ipip-blocked-by-cloud", PLACE + shown).rule == "azure"
    assert cloud_of(picture(PLACE + shown)) == "azure"


def test_an_address_that_every_cloud_has_names_none() -> None:
    assert cloud_of(picture("[root@a ~]# ip route\n169.254.169.254 via 10.6.0.1 dev eth0 proto static\n")) == ""
    assert cloud_of(picture("[root@a ~]# cat /etc/resolv.conf\nnameserver 100.100.2.136\n")) == "alibaba"
