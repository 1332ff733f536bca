"""TRT9001: protocol 4 leaves and does not arrive."""

from __future__ import annotations

from tests.support.doctor import finding

ROUTES = """
[root@os-a ~]# calicoctl node status | grep mesh
| 10.6.0.12    | node-to-node mesh | up    | 08:20:11 | Established |
[root@os-a ~]# ip route | grep tunl0
10.120.4.64/26 via 10.6.0.12 dev tunl0 proto bird onlink
[root@os-a ~]# ping -c2 -W1 10.120.4.70
2 packets transmitted, 0 received, 100% packet loss, time 1021ms
"""


def test_captures_on_both_ends() -> None:
    text = (
        ROUTES
        + """
[root@os-a ~]# tcpdump -ni ens3 ip proto 4 -c 1
11:00:00.1 IP 10.6.0.11 > 10.6.0.12: IP 10.120.1.0 > 10.120.4.70: ICMP echo request, id 1, seq 1, length 64 (ipip-proto-4)
[root@os-b ~]# timeout 10 tcpdump -ni ens3 ip proto 4
listening on ens3, link-type EN10MB (Ethernet), capture size 262144 bytes
0 packets captured
"""  # noqa: E501
    )
    answer = finding("ipip-blocked-by-cloud", text)
    assert answer.strength >= 0.95
    assert "tunl0" in answer.objects


def test_the_security_group_lacks_it() -> None:
    text = (
        ROUTES
        + """
$ aws ec2 describe-security-groups --group-ids sg-0a1b2c3d4e5f --query 'SecurityGroups[].IpPermissions[].IpProtocol'
[ "tcp", "udp", "icmp" ]
"""
    )
    answer = finding("ipip-blocked-by-cloud", text)
    assert answer.strength >= 0.9
    assert "sg-0a1b2c3d4e5f" in answer.objects


def test_the_symptom_alone_is_no_claim() -> None:
    assert finding("ipip-blocked-by-cloud", ROUTES).strength < 0.8


def test_other_devices_rule_it_out() -> None:
    text = "[root@a ~]# ip route | grep vxlan\n10.88.7.0/26 via 10.88.7.0 dev vxlan.calico onlink\n"
    assert finding("ipip-blocked-by-cloud", text).state == "ruled-out"


def test_a_person_tells_what_the_group_allows() -> None:
    text = """
    Pods on different nodes cannot ping each other. The security group allows tcp, udp and icmp between the nodes.

    $ ip route | grep tunl0
    10.30.1.64/26 via 192.168.7.12 dev tunl0 proto bird onlink
    """
    assert finding("ipip-blocked-by-cloud", text).strength >= 0.8
    opened = text.replace("tcp, udp and icmp", "all protocols")
    assert finding("ipip-blocked-by-cloud", opened).strength < 0.8


def test_a_silent_tunnel_may_be_where_they_arrive() -> None:
    text = """
tcpdump -ni ens3 ip proto 4
11:00:00.1 IP 10.6.0.11 > 10.6.0.12: IP 10.120.1.0 > 10.120.4.70: ICMP echo request, id 1, seq 1, length 64 (ipip-proto-4)
tcpdump -ni {}
listening on {}, link-type EN10MB (Ethernet), capture size 262144 bytes
0 packets captured
"""  # noqa: E501
    prompted = text.replace("tcpdump -ni", "$ tcpdump -ni")
    assert finding("ipip-blocked-by-cloud", prompted.format("tunl0", "tunl0")).state != "found"
    assert finding("ipip-blocked-by-cloud", prompted.format("ens3 ip proto 4", "ens3")).strength >= 0.9


def test_a_group_without_it_where_nothing_is_missed() -> None:
    pool = """
$ calicoctl get ippool -o wide
NAME      CIDR            NAT    IPIPMODE      VXLANMODE   DISABLED   DISABLEBGPEXPORT   SELECTOR
default   10.120.0.0/16   true   CrossSubnet   Never       false      false              all()
$ openstack security group rule list k8s
+------+-------------+-----------+-----------+------------+
| ID   | IP Protocol | Ethertype | IP Range  | Port Range |
+------+-------------+-----------+-----------+------------+
| 0b0a | tcp         | IPv4      | 0.0.0.0/0 | 1:65535    |
| 0b0b | icmp        | IPv4      | 0.0.0.0/0 |            |
+------+-------------+-----------+-----------+------------+
"""
    assert finding("ipip-blocked-by-cloud", pool).strength < 0.8
    assert finding("ipip-blocked-by-cloud", pool + ROUTES).strength >= 0.9


def test_they_arrive_where_another_node_sends_them() -> None:
    cloud = "We run on AWS.\n" + ROUTES
    capture = """
[root@{} ~]# tcpdump -ni ens3 ip proto 4 -c 1
11:00:00.1 IP 10.6.0.11 > 10.6.0.12: IP 10.120.1.0 > 10.120.4.70: ICMP echo request, id 1, seq 1, length 64 (ipip-proto-4)
"""  # noqa: E501
    assert finding("ipip-blocked-by-cloud", cloud + capture.format("os-a")).strength >= 0.8
    assert finding("ipip-blocked-by-cloud", cloud + capture.format("os-b")).state == "ruled-out"


def test_services_and_the_world_answer_no_pings() -> None:
    service = "[root@os-a ~]# kubectl get svc web\nweb    ClusterIP   10.120.4.70   <none>        80/TCP    5d\n"
    cloud = "We run on AWS.\n" + ROUTES
    assert finding("ipip-blocked-by-cloud", cloud).strength >= 0.8
    assert finding("ipip-blocked-by-cloud", cloud + service).strength < 0.8
    assert finding("ipip-blocked-by-cloud", cloud.replace("10.120.4.70", "8.8.8.8")).strength < 0.8


def test_a_pod_beside_it_answers() -> None:
    cloud = "We run on AWS.\n" + ROUTES
    other = "[root@os-a ~]# ping -c2 10.120.4.71\n2 packets transmitted, 2 received, 0% packet loss, time 1021ms\n"
    assert finding("ipip-blocked-by-cloud", cloud).strength >= 0.8
    assert finding("ipip-blocked-by-cloud", cloud + other).state == "ruled-out"


def test_captures_under_a_persons_own_labels() -> None:
    sent = "IP 10.6.0.11 > 10.6.0.12: IP 10.120.1.0 > 10.120.4.70: ICMP echo request, id 1, seq 1, length 64"
    text = f"""
node1: tcpdump -ni ens3 proto 4
11:00:00.100000 {sent} (ipip-proto-4)
node2: tcpdump -ni ens3 proto 4
listening on ens3, link-type EN10MB (Ethernet), capture size 262144 bytes
"""
    assert finding("ipip-blocked-by-cloud", ROUTES + text + "0 packets captured\n").strength >= 0.95
    assert finding("ipip-blocked-by-cloud", ROUTES + text + f"11:00:00.200000 {sent}\n").state == "ruled-out"
