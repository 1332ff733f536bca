"""Rules that a job takes away at its time, and packets that the policy of FORWARD drops."""

from __future__ import annotations

from tests.support.doctor import finding

FELIX = """
Every hour pods cannot be reached for half a minute.

[root@wren ~]# crictl logs c0ffee
2023-05-18 03:01:09.671 [WARNING][74] felix/table.go 677: Detected out-of-sync inserts, marking for resync actualRuleIDs=[]string{} chainName="FORWARD" expectedRuleIDs=[]string{"tVnHkvAo15HuiPy0"} ipVersion=0x4 table="filter"
2023-05-18 04:01:47.205 [WARNING][74] felix/table.go 677: Detected out-of-sync inserts, marking for resync actualRuleIDs=[]string{} chainName="FORWARD" expectedRuleIDs=[]string{"tVnHkvAo15HuiPy0"} ipVersion=0x4 table="filter"
"""  # noqa: E501
LIST = """
[root@wren ~]# iptables -S FORWARD
-P FORWARD DROP
-A FORWARD -m state --state RELATED,ESTABLISHED -j ACCEPT
-A FORWARD -j REJECT --reject-with icmp-host-prohibited
"""
CRON = """
[root@wren ~]# ls /etc/cron.hourly
0anacron  lock_down_rules.sh  mcelog.cron
"""


def test_felix_and_a_list_without_its_jump() -> None:
    answer = finding("host-firewall-blocks-pods", FELIX + LIST + CRON)
    assert (answer.rule, answer.strength >= 0.9) == ("emptied", True)
    assert answer.objects[0] == "lock_down_rules.sh"


def test_at_the_same_minute_of_two_hours() -> None:
    assert finding("host-firewall-blocks-pods", FELIX).strength == 0.8


def test_once_may_be_anything() -> None:
    once = "\n".join(FELIX.splitlines()[:-1])
    assert finding("host-firewall-blocks-pods", once).strength < 0.8


def test_another_program_has_put_its_rule_before() -> None:
    moved = FELIX.replace("actualRuleIDs=[]string{}", 'actualRuleIDs=[]string{"", "tVnHkvAo15HuiPy0"}')
    assert finding("host-firewall-blocks-pods", moved).strength < 0.8


def test_firewalld_is_a_cause_of_its_own() -> None:
    running = "[root@wren ~]# systemctl is-active firewalld\nactive\n"
    assert finding("host-firewall-blocks-pods", FELIX + running).strength < 0.8


FIRST = """
NodePort answers only on the node on which the pod runs. Pod to pod between nodes works.

$ for i in 85 86; do curl -m 3 -so /dev/null -w "%{http_code}\\n" 10.2.88.$i:32745; done
000
200
[root@wren ~]# iptables -vL FORWARD
Chain FORWARD (policy DROP 3 packets, 188 bytes)
 pkts bytes target     prot opt in     out     source               destination
76887  119M cali-FORWARD  all  --  any    any     anywhere             anywhere             /* cali:wUHhoiAYhphO9Mso */
    0     0 ACCEPT     all  --  docker0 docker0  anywhere             anywhere
"""
LATER = """
[root@wren ~]# iptables -vL FORWARD
Chain FORWARD (policy DROP 9 packets, 548 bytes)
 pkts bytes target     prot opt in     out     source               destination
79240  121M cali-FORWARD  all  --  any    any     anywhere             anywhere             /* cali:wUHhoiAYhphO9Mso */
"""


def test_the_policy_drops_what_is_forwarded_for_a_node_port() -> None:
    answer = finding("host-firewall-blocks-pods", FIRST + LATER)
    assert (answer.rule, answer.strength >= 0.8) == ("dropped-by-default", True)


def test_a_counter_that_stands_still_is_from_before() -> None:
    assert finding("host-firewall-blocks-pods", FIRST + LATER.replace("DROP 9", "DROP 3")).strength < 0.8


def test_nothing_comes_to_a_policy_behind_an_accept_for_all() -> None:
    accept = "    9   548 ACCEPT     all  --  any    any     anywhere             anywhere\n"
    assert finding("host-firewall-blocks-pods", FIRST + LATER + accept).strength < 0.8


def test_a_node_port_that_no_node_answers_has_another_trouble() -> None:
    assert finding("host-firewall-blocks-pods", FIRST.replace("\n200\n", "\n000\n") + LATER).strength < 0.8


JOURNAL = """
[root@wren ~]# journalctl --since 10:00 | grep iptables
Mar 11 10:02:01 wren systemd[1]: Starting IPv4 firewall with iptables...
"""


def test_the_journal_says_who() -> None:
    once = "\n".join(FELIX.splitlines()[:-1])
    answer = finding("host-firewall-blocks-pods", f"{once}\n{JOURNAL}")
    assert (answer.strength >= 0.9, answer.objects[0]) == (True, "iptables")


def test_rules_of_others_are_nameless() -> None:
    foreign = FELIX.replace("actualRuleIDs=[]string{}", 'actualRuleIDs=[]string{"", ""}')
    assert finding("host-firewall-blocks-pods", foreign).strength == 0.8


def test_once_and_nobody_suffers() -> None:
    once = "\n".join(FELIX.splitlines()[3:-1])
    assert finding("host-firewall-blocks-pods", f"{once}\n{JOURNAL}").strength < 0.8


def test_of_firewalld_by_the_journal() -> None:
    text = f"""{FELIX}
[root@wren ~]# systemctl is-active firewalld
active
[root@wren ~]# journalctl --since 03:00 | grep firewalld
May 18 03:01:02 wren systemd[1]: Reloading firewalld - dynamic firewall daemon...
"""
    assert finding("firewalld-interference", text).strength >= 0.9
    assert finding("firewalld-interference", text.replace("[]string{}", '[]string{"tVnHkvAo15HuiPy0"}')).strength < 0.8
