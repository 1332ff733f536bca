"""Rules of a security group as people type them: what they let in, and that nothing else gets in."""

# ruff: noqa: E501 (pasted lines stay as long as they are)

from __future__ import annotations

import pytest
from tests.support.doctor import finding

DOWN = """\
Warning  Unhealthy  2s  kubelet  Readiness probe failed: calico/node is not ready: BIRD is not ready: BGP not established with 10.0.4.7,10.0.4.9

"""
TERRAFORM = """\
resource "aws_security_group" "k8s" {
  ingress {
    from_port   = 22
    to_port     = 22
    protocol    = "tcp"
  }
  ingress {
    from_port   = 6443
    to_port     = 6443
    protocol    = "tcp"
  }
  egress {
    from_port   = 0
    to_port     = 0
    protocol    = "-1"
  }
}
"""
LISTS = (
    "安全组入站我手打下来：\n  允许  TCP  22     0.0.0.0/0\n  允许  TCP  80,443  0.0.0.0/0\n  拒绝  ALL  ALL    0.0.0.0/0\n",
    "Security group, inbound:\n\nALLOW tcp 22 0.0.0.0/0\nALLOW tcp 6443 10.0.4.0/24\nALLOW udp 53 10.0.4.0/24\n",
    "inbound rules of the sg:\n\nSSH  TCP  22  0.0.0.0/0\nCustom TCP Rule  TCP  6443  10.0.4.0/24\n"
    "All ICMP - IPv4  ICMP  All  10.0.4.0/24\nCustom TCP Rule  TCP  10250  10.0.4.0/24\n",
    "安全组规则如下：\n\n允许 TCP 22/22 0.0.0.0/0\n允许 TCP 6443/6443 10.0.4.0/24\n允许 ICMP -1/-1 0.0.0.0/0\n",
    "安全组入站规则\n\n0.0.0.0/0     TCP:22      允许\n10.0.4.0/24   TCP:6443    允许\n0.0.0.0/0     ALL         拒绝\n",
    "安全组：\n\n| 动作 | 协议 | 端口 | 源 |\n|---|---|---|---|\n| 允许 | TCP | 22 | 0.0.0.0/0 |\n"
    "| 允许 | TCP | 6443 | 10.0.4.0/24 |\n| 允许 | TCP | 2379-2380 | 10.0.4.0/24 |\n",
    TERRAFORM,
)
OPEN = (
    "Security group, inbound:\n\nALLOW tcp 22 0.0.0.0/0\nALLOW tcp 6443 10.0.4.0/24\nALLOW all all 10.0.4.0/24\nDENY all all\n",
    "安全组规则如下：\n\n允许 TCP 22 0.0.0.0/0\n允许 TCP 179 10.0.4.0/24\n允许 TCP 6443 10.0.4.0/24\n",
    "安全组规则如下：\n\n允许 TCP 22 0.0.0.0/0\n允许 TCP 1-65535 10.0.4.0/24\n允许 UDP 1-65535 10.0.4.0/24\n",
    "outbound rules of the security group:\n\nALLOW tcp 22 0.0.0.0/0\nALLOW tcp 6443 10.0.4.0/24\nALLOW udp 53 10.0.4.0/24\n",
    TERRAFORM.replace("6443", "0").replace('"tcp"', '"-1"'),
)


@pytest.mark.parametrize("listed", LISTS)
def test_a_list_without_the_port(listed: str) -> None:
    answer = finding("bgp-port-blocked", DOWN + listed)
    assert (answer.rule, answer.strength >= 0.9) == ("shown-closed", True)


@pytest.mark.parametrize("listed", OPEN)
def test_a_list_that_lets_it_in_or_says_what_goes_out(listed: str) -> None:
    assert finding("bgp-port-blocked", DOWN + listed).strength < 0.8


TUNNEL = """\
[root@os-a ~]# ip route
10.120.4.64/26 via 10.6.0.12 dev {} proto bird onlink
[root@os-a ~]# ping -c2 -W1 10.120.4.70
2 packets transmitted, 0 received, 100% packet loss, time 1021ms

"""


@pytest.mark.parametrize("listed", LISTS)
def test_the_same_list_lacks_what_tunnels_need(listed: str) -> None:
    assert finding("vxlan-port-blocked", TUNNEL.format("vxlan.calico") + listed).strength >= 0.9
    assert finding("ipip-blocked-by-cloud", TUNNEL.format("tunl0") + listed).strength >= 0.9


def test_a_list_for_everything_lets_tunnels_pass() -> None:
    assert finding("vxlan-port-blocked", TUNNEL.format("vxlan.calico") + OPEN[0]).strength < 0.8
    assert finding("ipip-blocked-by-cloud", TUNNEL.format("tunl0") + OPEN[0]).strength < 0.8
