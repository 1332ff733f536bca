"""TRT8008: packets of pods that the host's own filter refuses."""

from __future__ import annotations

from tests.support.doctor import finding, picture

from tortie.doctor.causes.catalogue import cause_named
from tortie.doctor.causes.cause import LIKELY, PROVEN, STRONG

ID = "host-firewall-blocks-pods"
BLOCKED = "mole:~# dmesg | grep UFW\n[ 812.330189] [UFW BLOCK] IN=cali9e1b0f4c77a OUT= MAC=ee:ee:ee:ee:ee:ee SRC=10.1.77.193 DST=192.168.7.20 LEN=60 PROTO=TCP SPT=44012 DPT=16443 WINDOW=64860 RES=0x00 SYN URGP=0\n"  # noqa: E501
FAILS = '[ERROR] plugin/kubernetes: Get "https://10.96.0.1:443/version": dial tcp 10.96.0.1:443: i/o timeout\n'
FORWARD = """
[root@xa-w2 ~]# iptables -nvL FORWARD
Chain FORWARD (policy ACCEPT 0 packets, 0 bytes)
 pkts bytes target     prot opt in     out     source               destination
 220K  187M cali-FORWARD  all  --  *      *       0.0.0.0/0            0.0.0.0/0            /* cali:wUHhoiAYhphO9Mso */
 7701  461K REJECT     all  --  *      *       0.0.0.0/0            0.0.0.0/0            reject-with icmp-host-prohibited
"""  # noqa: E501
PING = "$ kubectl exec t -- ping -c2 10.233.71.9\n2 packets transmitted, 0 packets received, 100% packet loss\n"
SERVICE = "[root@xa-w2 ~]# systemctl is-active iptables\nactive\n"


def test_the_kernel_says_which_packets_of_pods_ufw_blocks() -> None:
    answer = finding(ID, BLOCKED + FAILS)
    assert answer.strength >= PROVEN
    assert answer.culprits[0].name == "ufw"
    assert answer.value("port") == "16443"


def test_other_loggers_have_the_same_fields() -> None:
    text = BLOCKED.replace("[UFW BLOCK]", "iptables denied:")
    assert finding(ID, text + FAILS).strength >= PROVEN


def test_forwarding_is_refused_by_a_service_that_runs() -> None:
    answer = finding(ID, FORWARD + PING + SERVICE)
    assert answer.strength >= STRONG
    assert "iptables" in answer.objects


def test_a_rule_that_nobody_keeps_is_not_claimed() -> None:
    assert finding(ID, FORWARD + PING).strength < LIKELY


def test_strangers_that_are_blocked_say_nothing_of_pods() -> None:
    scanner = BLOCKED.replace("IN=cali9e1b0f4c77a", "IN=enp1s0").replace("DPT=16443", "DPT=3389")
    assert finding(ID, scanner + FAILS).state == "cannot-tell"


def test_calicos_own_log_rules_drop_nothing() -> None:
    assert finding(ID, BLOCKED.replace("[UFW BLOCK]", "calico-packet:") + FAILS).state == "cannot-tell"


def test_a_block_without_any_trouble_is_not_claimed_for_a_port_nobody_needs() -> None:
    assert finding(ID, BLOCKED.replace("DPT=16443", "DPT=22")).strength < LIKELY


def test_firewalld_is_a_cause_of_its_own() -> None:
    assert finding(ID, FORWARD + PING + "$ systemctl is-active firewalld\nactive\n").state == "ruled-out"


def test_ufw_that_is_off_by_now_is_history() -> None:
    assert finding(ID, BLOCKED + "mole:~# ufw status\nStatus: inactive\n").state == "ruled-out"


def test_a_rule_without_packets_says_nothing() -> None:
    assert finding(ID, FORWARD.replace(" 7701  461K REJECT", "    0     0 REJECT") + PING + SERVICE).state != "found"


def test_the_fix_fits_the_firewall() -> None:
    def commands(text: str) -> str:
        seen = picture(text)
        cause = cause_named(ID)
        assert cause is not None
        return " ".join(step.command for step in cause.fix(seen, cause.judge(seen)))

    assert "ufw allow in on cali+" in commands(BLOCKED + FAILS)
    assert "ufw" not in commands(FORWARD + PING + SERVICE).replace("UFW BLOCK", "")


KEPT = """
pod to pod communication between nodes is broken, after `systemctl stop iptables` everything works.

[root@c-219 ~]# systemctl is-active firewalld iptables
inactive
active
/ # ping -c2 10.244.201.9
From 10.71.60.219 icmp_seq=1 Destination Host Prohibited
[root@c-219 ~]# iptables -nvL FORWARD --line-numbers
Chain FORWARD (policy ACCEPT 0 packets, 0 bytes)
num   pkts bytes target            prot opt in     out     source               destination
1    51204 4301K cali-FORWARD      all  --  *      *       0.0.0.0/0            0.0.0.0/0            /* cali:wUHhoiAYhphO9Mso */
4    29604 2190K REJECT            all  --  *      *       0.0.0.0/0            0.0.0.0/0            reject-with icmp-host-prohibited
5        0     0 ACCEPT            all  --  *      *       0.0.0.0/0            0.0.0.0/0            /* cali:S93hcgKJrXEqnTfs */ mark match 0x10000/0x10000
"""  # noqa: E501


def test_a_service_that_loads_the_rules_at_each_start_keeps_them() -> None:
    assert finding(ID, KEPT).strength >= STRONG
    assert finding("leftover-iptables", KEPT).strength < LIKELY
    assert finding("firewalld-interference", KEPT).state == "ruled-out"
    unkept = KEPT.replace("inactive\nactive", "inactive\ninactive")
    assert finding("leftover-iptables", unkept).strength >= LIKELY


def test_a_chain_that_drops_whatever_is_forwarded() -> None:
    """Calico's accept in a chain of its own does not help; a rule in this chain does."""
    text = """
    root@d12:~# systemctl is-active nftables
    active
    root@d12:~# nft list ruleset
    table inet filter {
        chain forward {
            type filter hook forward priority filter; policy drop;
            ct state established,related accept
        }
    }
    root@d12:~# kubectl exec t -- ping -c2 8.8.8.8
    2 packets transmitted, 0 packets received, 100% packet loss
    """
    answer = finding("host-firewall-blocks-pods", text)
    assert (answer.rule, answer.strength >= 0.9) == ("forwarding-closed", True)
    let = text.replace("established,related accept", 'established,related accept\n        iifname "cali*" accept')
    assert finding("host-firewall-blocks-pods", let).strength < 0.8
    own = text.replace("table inet filter", "table ip filter").replace("chain forward", "chain FORWARD")
    assert finding("host-firewall-blocks-pods", own).strength < 0.8


ORACLE = """
pods on different nodes cannot reach each other
# iptables -L FORWARD --line-numbers -n
Chain FORWARD (policy ACCEPT)
num  target     prot opt source               destination
1    REJECT     all  --  0.0.0.0/0            0.0.0.0/0            reject-with icmp-host-prohibited
2    cali-FORWARD  all  --  0.0.0.0/0            0.0.0.0/0            /* cali:wUHhoiAYhphO9Mso */
# systemctl is-enabled netfilter-persistent
enabled
"""


def test_a_rule_before_calicos_chain_needs_no_counter() -> None:
    assert finding("host-firewall-blocks-pods", ORACLE).strength >= 0.9
    lines = ORACLE.splitlines()
    lines[5], lines[6] = lines[6].replace("2 ", "1 ", 1), lines[5].replace("1 ", "2 ", 1)
    assert finding("host-firewall-blocks-pods", "\n".join(lines)).strength < 0.8
    assert finding("host-firewall-blocks-pods", ORACLE.replace("\nenabled", "\ndisabled")).strength < 0.8


PACKET = (
    "May 31 10:02:17 hm-1 kernel: [872112.77] [UFW BLOCK] IN=cali4b9bb1e1a3f OUT= SRC=10.42.17.65 DST=10.3.9.12 LEN=40 "
    "PROTO=TCP SPT={} DPT={} WINDOW=0 RES=0x00 {} URGP=0\n"
)


def test_the_last_packets_of_a_connection_say_nothing_and_those_that_begin_one_decide() -> None:
    late, begins = PACKET.format(8080, 41732, "RST"), PACKET.format(50110, 10250, "SYN")
    assert finding("host-firewall-blocks-pods", late).state != "found"
    both = finding("host-firewall-blocks-pods", late + begins)
    assert (both.state, both.strength, both.value("port")) == ("found", LIKELY, "10250")
    dead = (
        "$ kubectl exec a -- curl -m3 http://10.3.9.12:8080\ncurl: (28) Connection timed out after 3001 milliseconds\n"
    )
    assert finding("host-firewall-blocks-pods", late + dead).state == "found"
