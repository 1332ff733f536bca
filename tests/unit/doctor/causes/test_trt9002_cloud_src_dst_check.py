"""TRT9002: bare pod addresses vanish in the cloud."""

from __future__ import annotations

from tests.support.doctor import finding

ROUTES = """
[ec2-user@a1 ~]$ ip route | grep bird
10.130.9.0/26 via 10.0.3.22 dev eth0 proto bird
[ec2-user@a1 ~]$ ping -c2 -W1 10.130.9.5
2 packets transmitted, 0 received, 100% packet loss, time 1021ms
"""


def test_captures_on_both_ends() -> None:
    text = (
        ROUTES
        + """
[ec2-user@a1 ~]$ sudo tcpdump -ni eth0 host 10.130.9.5 -c 1
11:00:00.1 IP 10.130.2.7 > 10.130.9.5: ICMP echo request, id 1, seq 1, length 64
[ec2-user@a2 ~]$ sudo timeout 10 tcpdump -ni eth0 host 10.130.9.5
0 packets captured
"""
    )
    answer = finding("cloud-src-dst-check", text)
    assert answer.strength >= 0.95
    assert "eth0" in answer.objects


def test_the_check_is_on() -> None:
    text = (
        ROUTES
        + """
$ aws ec2 describe-instance-attribute --instance-id i-0123456789abcdef0 --attribute sourceDestCheck
{
    "InstanceId": "i-0123456789abcdef0",
    "SourceDestCheck": { "Value": true }
}
"""
    )
    answer = finding("cloud-src-dst-check", text)
    assert answer.strength >= 0.9
    assert "SourceDestCheck" in answer.objects


def test_a_tunnel_rules_it_out() -> None:
    text = "[root@a ~]# ip route | grep tunl0\n10.88.7.0/26 via 10.1.1.5 dev tunl0 proto bird onlink\n"
    assert finding("cloud-src-dst-check", text).state == "ruled-out"


def test_the_symptom_alone_is_no_claim() -> None:
    assert finding("cloud-src-dst-check", ROUTES).strength < 0.8


def test_only_tunnels_fail() -> None:
    text = """
    We run on OpenStack.
    [root@os-1 ~]# ip route
    10.50.1.0/26 via 172.20.1.2 dev eth0 proto bird
    10.50.2.0/26 via 172.20.2.2 dev tunl0 proto bird onlink
    [root@os-1 ~]# ping -c 1 10.50.1.7
    1 packets transmitted, 1 received, 0% packet loss, time 0ms
    [root@os-1 ~]# ping -c 1 10.50.2.9
    1 packets transmitted, 0 received, 100% packet loss, time 0ms
    """
    assert finding("cloud-src-dst-check", text).state == "ruled-out"


def test_the_answer_of_the_cloud_over_several_lines() -> None:
    text = """
    admin@ec-1:~$ ip route | grep bird
    100.80.5.0/26 via 172.20.40.7 dev eth0 proto bird
    $ aws ec2 describe-instance-attribute --instance-id i-0fedcba9876543210 --attribute sourceDestCheck
    {
        "InstanceId": "i-0fedcba9876543210",
        "SourceDestCheck": {
            "Value": true
        }
    }
    """
    assert finding("cloud-src-dst-check", text).strength >= 0.9


PORT = """
$ openstack port show k8s-w1 -f yaml -c port_security_enabled -c allowed_address_pairs
allowed_address_pairs:
- ip_address: {}
port_security_enabled: true
$ calicoctl get ippool -o wide
NAME      CIDR            NAT    IPIPMODE   VXLANMODE   DISABLED   DISABLEBGPEXPORT   SELECTOR
default   10.130.0.0/16   true   Never      Never       false      false              all()
"""


def test_pairs_that_let_the_pods_pass() -> None:
    assert finding("cloud-src-dst-check", PORT.format("10.130.0.0/16") + ROUTES).state == "ruled-out"
    assert finding("cloud-src-dst-check", PORT.format("10.77.0.0/16") + ROUTES).strength >= 0.95


def test_a_check_that_nobody_feels() -> None:
    assert finding("cloud-src-dst-check", PORT.format("10.77.0.0/16")).strength < 0.8


def test_routes_of_one_protocol_do_not_repeat_its_name() -> None:
    text = """
[ec2-user@a1 ~]$ ip route show proto {}
10.130.9.0/26 via 10.0.3.22 dev eth0 onlink
[ec2-user@a1 ~]$ aws ec2 describe-instance-attribute --instance-id i-0fedcba9876543210 --attribute sourceDestCheck
    "SourceDestCheck": {{ "Value": true }}
"""
    assert finding("cloud-src-dst-check", text.format("80")).strength >= 0.9
    assert finding("cloud-src-dst-check", text.format("static")).strength < 0.8
