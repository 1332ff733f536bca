"""Packets are shown to leave one machine, and a person says what came to the other one."""

from __future__ import annotations

import pytest
from tests.support.doctor import finding

SENT = """
Pods of the other node do not answer since we moved to this cloud.

$ calicoctl node status
| 10.9.1.12    | node-to-node mesh | up    | 08:14:20 | Established |

[root@box-a ~]# ip route | grep bird
172.30.44.0/26 via 10.9.1.12 dev tunl0 proto bird onlink

[root@box-a ~]# tcpdump -ni eth0 host 10.9.1.12
09:01:12.114170 IP 10.9.1.11 > 10.9.1.12: IP 172.30.17.130 > 172.30.44.9: ICMP echo request, id 6, seq 1, length 64 (ipip-proto-4)
09:01:13.113911 IP 10.9.1.11 > 10.9.1.12: IP 172.30.17.130 > 172.30.44.9: ICMP echo request, id 6, seq 2, length 64 (ipip-proto-4)
"""  # noqa: E501


@pytest.mark.parametrize(
    "said",
    [
        "on 10.9.1.12 I see nothing of it in eth0, only the bgp keepalives.",
        "box-b (10.9.1.12), same filter: only BGP, nothing with proto-4.",
        "The receiving node: tcpdump shows no packets at all on its eth0.",
        "在 10.9.1.12 上抓包，什么都没有。",
    ],
)
def test_nothing_came_to_the_other_end(said: str) -> None:
    assert finding("ipip-blocked-by-cloud", f"{SENT}\n{said}\n").strength >= 0.9


@pytest.mark.parametrize(
    "said",
    [
        "on 10.9.1.12 they arrive at eth0, but nothing on the cali interface.",
        "on 10.9.1.12 I see the requests in eth0, no reply goes back.",
        "on 10.9.1.12 nothing in dmesg, no errors in the logs of felix either.",
        "10.9.1.12: no packets are dropped by iptables rules.",
        "On box-a nothing else is seen on eth0.",
        "10.9.1.11 sees nothing come back from 10.9.1.12.",
    ],
)
def test_another_observation(said: str) -> None:
    assert finding("ipip-blocked-by-cloud", f"{SENT}\n{said}\n").strength < 0.8


def test_the_receiver_shows_only_what_else_was_asked_for() -> None:
    text = f"""{SENT}
[root@box-b ~]# tcpdump -ni eth0 'proto 4 or port 179'
09:01:12.330514 IP 10.9.1.11.179 > 10.9.1.12.46011: Flags [P.], seq 1:20, ack 20, win 509, length 19: BGP
"""
    assert finding("ipip-blocked-by-cloud", text).strength >= 0.95


def test_inside_of_the_tunnel_they_have_no_cover() -> None:
    text = f"""{SENT}
[root@box-b ~]# tcpdump -ni tunl0 'proto 4 or icmp'
09:01:12.330514 IP 172.30.17.130 > 172.30.44.9: ICMP echo request, id 6, seq 1, length 64
"""
    assert finding("ipip-blocked-by-cloud", text).strength < 0.8


def test_a_capture_that_is_cut_short_still_shows_the_protocol() -> None:
    text = f"""{SENT}
[root@box-b ~]# tcpdump -ni eth0 'proto 4 or port 179'
09:01:12.330514 IP 10.9.1.11 > 10.9.1.12: ip-proto-4 84
"""
    assert finding("ipip-blocked-by-cloud", text).state == "ruled-out"


BARE = """
We run on OpenStack. Pods of the other node cannot be reached.

[root@box-a ~]# ip route
172.30.44.0/26 via 10.9.1.12 dev eth0 proto 80 onlink
[root@box-a ~]# tcpdump -nni eth0 icmp and host 172.30.44.9
16:03:44.118021 IP 172.30.17.130 > 172.30.44.9: ICMP echo request, id 12, seq 1, length 64
"""


def test_bare_addresses_do_not_come_in() -> None:
    text = f"""{BARE}
[root@box-b ~]# tcpdump -nni eth0 icmp
16:03:44.201127 IP 10.9.1.11 > 10.9.1.12: ICMP echo request, id 31, seq 40, length 64
^C (my ping of the node in the other window. nothing with 172.30 for minutes)
"""
    assert finding("cloud-src-dst-check", text).strength >= 0.9


def test_what_nodes_say_to_each_other_is_another_matter() -> None:
    text = """
    We run on OpenStack. BGP is not established.

    [root@box-a ~]# ip route
    172.30.44.0/26 via 10.9.1.12 dev eth0 proto 80 onlink
    [root@box-a ~]# tcpdump -nni eth0 port 179
    16:03:44.118021 IP 10.9.1.11.40112 > 10.9.1.12.179: Flags [S], seq 1, win 64240, length 0
    on 10.9.1.12 tcpdump shows nothing.
    """
    assert finding("cloud-src-dst-check", text).strength < 0.8


TERRAFORM = """
Terraform of the workers:

  ingress { from_port = 0 to_port = 65535 protocol = "tcp" self = true }
  ingress { from_port = 0 to_port = 0 protocol = 94 self = true }
  egress  { from_port = 0 to_port = 0 protocol = "-1" cidr_blocks = ["0.0.0.0/0"] }
"""
DEAD = SENT + "\n[root@box-a ~]# ping -c2 -W1 172.30.44.9\n2 packets transmitted, 0 received, 100% packet loss\n"


def test_the_number_in_terraform() -> None:
    answer = finding("ipip-blocked-by-cloud", DEAD + TERRAFORM)
    assert (answer.rule, answer.strength >= 0.8) == ("wrong-number", True)


@pytest.mark.parametrize("number", ["4", '"4"', '"ipencap"', '"-1"'])
def test_the_right_number_in_terraform(number: str) -> None:
    answer = finding("ipip-blocked-by-cloud", DEAD + TERRAFORM.replace("protocol = 94", f"protocol = {number}"))
    assert answer.strength < 0.8


def test_the_number_in_a_command() -> None:
    text = DEAD + "\n$ aws ec2 authorize-security-group-ingress --group-id sg-0a1b2c3d4e5f --protocol 94 \n"
    assert finding("ipip-blocked-by-cloud", text).rule == "wrong-number"
    assert finding("ipip-blocked-by-cloud", text.replace(" 94 ", " 4 ")).rule != "wrong-number"


RULES = """
Containers of two hosts cannot reach each other.

$ calicoctl node status
| 10.9.1.12    | node-to-node mesh | up    | 08:14:20 | Established |

source host:
[1095:113880] -A cali-OUTPUT -p ipv4 -m comment --comment "cali:Km" -m comment --comment "Allow IPIP packets to other Calico hosts" -j ACCEPT
dest host:
[0:0] -A cali-INPUT -p ipv4 -m comment --comment "cali:kL" -m comment --comment "Allow IPIP packets from Calico hosts" -j ACCEPT
"""  # noqa: E501


def test_the_rules_of_both_ends_count() -> None:
    answer = finding("ipip-blocked-by-cloud", RULES)
    assert (answer.rule, answer.strength >= 0.8) == ("met-no-rule", True)


def test_some_came() -> None:
    assert finding("ipip-blocked-by-cloud", RULES.replace("[0:0]", "[7:588]")).strength < 0.8


def test_of_the_other_end_no_rule_is_shown() -> None:
    assert finding("ipip-blocked-by-cloud", RULES[: RULES.index("dest host")]).strength < 0.8


def test_the_other_node_is_down() -> None:
    text = f"""{BARE}
[root@box-a ~]# ping -c2 10.9.1.12
2 packets transmitted, 0 received, 100% packet loss, time 1020ms

on 10.9.1.12 nothing is seen on eth0, no packets.
"""
    assert finding("cloud-src-dst-check", text).state == "ruled-out"


def test_all_of_the_sender_was_asked_for() -> None:
    heard = """
[root@box-b ~]# tcpdump -ni eth0 'host 10.9.1.11'
09:01:12.330514 IP 10.9.1.11.179 > 10.9.1.12.46011: Flags [P.], seq 1:20, ack 20, win 509, length 19: BGP
"""
    assert finding("ipip-blocked-by-cloud", SENT + heard).rule == "lost"
    of_bgp = heard.replace("'host 10.9.1.11'", "port 179 and host 10.9.1.11")
    assert finding("ipip-blocked-by-cloud", SENT + of_bgp).strength < 0.8
