"""TRT7009: a rule before the main table."""

from __future__ import annotations

from tests.support.doctor import finding

RULES = """
[root@aws-3 ~]# ip rule
0:      from all lookup local
30400:  from 10.8.1.33 lookup 30400
32766:  from all lookup main
32767:  from all lookup default
"""


def test_nm_cloud_setup() -> None:
    text = (
        RULES
        + """
    [root@aws-3 ~]# ip route show table 30400
    default via 10.8.1.1 dev eth0 proto static
    [root@aws-3 ~]# systemctl list-timers | grep nm-cloud
    Tue 2022-05-03 09:15:00 UTC 3min left nm-cloud-setup.timer nm-cloud-setup.service
    """
    )
    answer = finding("policy-routing-override", text)
    assert answer.strength >= 0.9
    assert "nm-cloud-setup" in answer.objects


def test_a_multi_homing_script_and_a_dead_pod() -> None:
    text = """
    主机 ping 不通本机的 pod：
    [root@bm-1 ~]# ping -c2 -W1 10.244.3.9
    2 packets transmitted, 0 received, 100% packet loss, time 1003ms
    [root@bm-1 ~]# ip rule
    0:\tfrom all lookup local
    1000:\tfrom 172.20.4.11 lookup 101
    32766:\tfrom all lookup main
    32767:\tfrom all lookup default
    """
    answer = finding("policy-routing-override", text)
    assert answer.strength >= 0.8
    assert "1000" in answer.objects


def test_only_the_three_usual_rules() -> None:
    text = """
    [root@bm-1 ~]# ip rule
    0:      from all lookup local
    32766:  from all lookup main
    32767:  from all lookup default
    """
    assert finding("policy-routing-override", text).state == "ruled-out"


def test_a_mark_of_wireguard_is_its_own() -> None:
    text = """
    [root@bm-1 ~]# ip rule
    0:      from all lookup local
    99:     not from all fwmark 0x100000/0x100000 lookup 1
    32766:  from all lookup main
    """
    assert finding("policy-routing-override", text).state == "ruled-out"


TAILSCALE = """
    Pods on this machine cannot reach anything behind the VPN, the host can.
    [root@ts-1 ~]# ip rule
    0:      from all lookup local
    5210:   from all fwmark 0x80000/0xff0000 lookup main
    5270:   from all lookup 52
    32766:  from all lookup main
    32767:  from all lookup default
    [root@ts-1 ~]# kubectl exec web-0 -- ping -c1 100.64.0.1
    1 packets transmitted, 0 received, 100% packet loss, time 0ms
"""


def test_marks_that_two_programs_share() -> None:
    answer = finding("policy-routing-override", TAILSCALE)
    assert answer.strength >= 0.8
    assert "iptablesMarkMask" in answer.objects


def test_calico_uses_other_marks_already() -> None:
    told = "    $ kubectl get felixconfiguration default -o yaml | grep -i mark\n      iptablesMarkMask: 4278190080\n"
    assert finding("policy-routing-override", TAILSCALE + told).state == "ruled-out"


def test_the_vpn_alone_is_no_fault() -> None:
    rules, _, _ = TAILSCALE.partition("    [root@ts-1 ~]# kubectl")
    rules = rules[rules.index("    [root@ts-1") :]
    elsewhere = (
        "    [root@ts-1 ~]# ping -c1 10.2.3.4\n    1 packets transmitted, 0 received, 100% packet loss, time 0ms\n"
    )
    assert finding("policy-routing-override", rules).state == "ruled-out"
    assert finding("policy-routing-override", rules + elsewhere).strength < 0.8


TO_PODS = """
    [root@dual-1 ~]# ip rule
    0:      from all lookup local
    100:    from all to 10.42.0.0/16 lookup 200
    32766:  from all lookup main
    32767:  from all lookup default
    [root@dual-1 ~]# ip route show table 200
    default via 192.168.50.1 dev eth1
    [root@dual-1 ~]# ip route
    10.42.7.0/26 via 10.42.7.0 dev vxlan.calico onlink
    [root@dual-1 ~]# ping -c1 10.42.7.12
    1 packets transmitted, 0 received, 100% packet loss, time 0ms
"""


def test_a_rule_that_leads_pods_of_other_nodes_to_an_uplink() -> None:
    assert finding("policy-routing-override", TO_PODS).strength >= 0.8


def test_a_rule_for_another_network_or_a_table_with_the_tunnel_is_no_fault() -> None:
    other = TO_PODS.replace("to 10.42.0.0/16", "to 172.20.0.0/16")
    tunnel = TO_PODS.replace("default via 192.168.50.1 dev eth1", "10.42.7.0/26 via 10.42.7.0 dev vxlan.calico onlink")
    assert finding("policy-routing-override", other).state == "ruled-out"
    assert finding("policy-routing-override", tunnel).state == "ruled-out"
