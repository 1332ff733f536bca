"""TRT8001: a port that fails where the machine answers; never by symptoms alone."""

from __future__ import annotations

from tests.support.doctor import finding
from tests.support.fixes import fixes

from tortie.doctor.causes.cause import LIKELY, PROVEN

ID = "bgp-port-blocked"

NODES = """
$ kubectl get nodes -o wide
NAME   STATUS   ROLES    AGE   VERSION   INTERNAL-IP   EXTERNAL-IP   OS-IMAGE   KERNEL-VERSION   CONTAINER-RUNTIME
r-1    Ready    master   9d    v1.21.3   10.6.0.11     <none>        Rocky 8    4.18.0           containerd://1.5.2
r-2    Ready    <none>   9d    v1.21.3   10.6.0.12     <none>        Rocky 8    4.18.0           containerd://1.5.2
"""
STATUS = """
[root@r-2 ~]# calicoctl node status
IPv4 BGP status
+--------------+-------------------+-------+----------+--------------------------------+
| PEER ADDRESS |     PEER TYPE     | STATE |  SINCE   |              INFO              |
+--------------+-------------------+-------+----------+--------------------------------+
| 10.6.0.11    | node-to-node mesh | start | 03:04:05 | Connect Socket: Connection     |
|              |                   |       |          | timed out                      |
+--------------+-------------------+-------+----------+--------------------------------+
"""
PING = """
[root@r-2 ~]# ping -c 2 10.6.0.11
PING 10.6.0.11 (10.6.0.11) 56(84) bytes of data.
64 bytes from 10.6.0.11: icmp_seq=1 ttl=64 time=0.3 ms
64 bytes from 10.6.0.11: icmp_seq=2 ttl=64 time=0.2 ms
"""
TELNET = """
[root@r-2 ~]# telnet 10.6.0.11 179
Trying 10.6.0.11...
telnet: connect to address 10.6.0.11: Connection timed out
"""


def test_the_port_fails_and_ping_works() -> None:
    answer = finding(ID, NODES + STATUS + PING + TELNET)
    assert answer.strength >= PROVEN
    assert "179" in answer.objects


def test_a_security_group_without_the_port() -> None:
    text = (
        STATUS
        + """
    $ openstack security group rule list k8s-nodes
    +-----------+-------------+-----------+-------------+
    | ID        | IP Protocol | IP Range  | Port Range  |
    +-----------+-------------+-----------+-------------+
    | a1b2c3d4  | tcp         | 0.0.0.0/0 | 22:22       |
    | a1b2c3d5  | tcp         | 10.6.0.0/24 | 6443:6443 |
    | a1b2c3d6  | icmp        | 0.0.0.0/0 |             |
    +-----------+-------------+-----------+-------------+
    """
    )
    assert finding(ID, text).strength >= LIKELY


def test_a_rule_rejects_the_port() -> None:
    text = (
        STATUS
        + """
    [root@r-1 ~]# iptables -S INPUT
    -P INPUT ACCEPT
    -A INPUT -p tcp -m tcp --dport 179 -j DROP
    """
    )
    assert finding(ID, text).strength >= LIKELY


def test_chinese_words_say_so() -> None:
    text = "节点之间可以互相 ping 通，但是 telnet 179 端口不通。\n" + STATUS
    assert finding(ID, text).strength >= LIKELY


def test_sockets_time_out_towards_a_ready_node() -> None:
    answer = finding(ID, NODES + STATUS)
    assert answer.strength >= LIKELY


def test_a_peer_that_does_not_answer_ping_is_away() -> None:
    dead = (
        PING.split("64 bytes")[0]
        + "\n--- 10.6.0.11 ping statistics ---\n2 packets transmitted, 0 received, 100% packet loss, time 1001ms\n"
    )
    text = NODES.replace("r-1    Ready ", "r-1    NotReady") + STATUS + dead
    assert finding(ID, text).strength < LIKELY


def test_an_open_port_rules_it_out() -> None:
    text = (
        NODES + STATUS + "[root@r-2 ~]# nc -vz 10.6.0.11 179\nConnection to 10.6.0.11 179 port [tcp/bgp] succeeded!\n"
    )
    assert finding(ID, text).state == "ruled-out"


def test_a_foreign_address_rules_it_out() -> None:
    assert finding(ID, NODES + STATUS.replace("| 10.6.0.11    |", "| 172.18.0.1   |")).state == "ruled-out"


def test_redacted_addresses_stay_a_candidate() -> None:
    answer = finding(ID, STATUS.replace("10.6.0.11 ", "x.x.x.x   "))
    assert answer.strength < LIKELY


def test_the_complaint_alone_is_no_claim() -> None:
    assert finding(ID, "BIRD is not ready: BGP not established with 10.6.0.11").strength < LIKELY


def test_the_fix_is_that_of_the_firewall_shown() -> None:
    ufw = """
[root@r-1 ~]# ufw status
Status: active

To                         Action      From
--                         ------      ----
22/tcp                     ALLOW       Anywhere
"""
    assert "ufw allow 179/tcp" in fixes(ID, STATUS + PING + TELNET + ufw)
    group = """
$ openstack security group rule list k8s-nodes
| a1b2c3d4  | tcp         | 0.0.0.0/0 | 22:22       |
"""
    rule = "openstack security group rule create --protocol tcp --dst-port 179 --remote-group k8s-nodes k8s-nodes"
    assert rule in fixes(ID, STATUS + group)


SESSIONS = """
$ calicoctl node status
| 192.168.100.12 | node-to-node mesh | start | 09:11:02 | {} |
"""
UFW = "$ sudo ufw status\nStatus: active\n\nTo          Action      From\n--          ------      ----\n"
UFW += "22/tcp      ALLOW       Anywhere\n"


def test_a_network_that_ufw_trusts_needs_no_port() -> None:
    down = SESSIONS.format("Connect")
    assert finding("bgp-port-blocked", UFW + down).strength >= 0.9
    assert finding("bgp-port-blocked", UFW + "Anywhere    ALLOW       192.168.100.0/24\n" + down).strength < 0.8
    assert finding("bgp-port-blocked", UFW + "Anywhere    ALLOW       10.0.0.0/24\n" + down).strength >= 0.9


def test_a_socket_that_is_refused_was_let_through() -> None:
    assert finding("bgp-port-blocked", UFW + SESSIONS.format("Active Socket: Connection refused")).strength < 0.8
