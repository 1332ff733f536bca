"""TRT7011: what arrives at the receiver, and what the sender alone cannot show."""

from __future__ import annotations

from tests.support.doctor import finding

BAD = """
    10.3.3.7.41822 > 10.3.3.8.4789: [bad udp cksum 0x0e1c -> 0x93ab!] VXLAN, flags [I] (0x08), vni 4096
IP 10.77.12.3.51100 > 10.77.40.6.80: Flags [S], cksum 0x1122 (incorrect -> 0x9981), seq 77, win 64860, length 0
"""
TESTS = """
[root@esx-a ~]# ping -c1 10.77.40.6
64 bytes from 10.77.40.6: icmp_seq=1 ttl=62 time=0.5 ms
1 packets transmitted, 1 received, 0% packet loss, time 0ms
[root@esx-a ~]# curl -m 5 http://10.77.40.6/
curl: (28) Connection timed out after 5001 milliseconds
"""


def test_bad_sums_at_the_receiver() -> None:
    answer = finding("vxlan-checksum-offload", TESTS + "[root@esx-b ~]# tcpdump -nvi ens160 udp port 4789 -c 1" + BAD)
    assert answer.strength >= 0.95
    assert "ens160" in answer.objects


def test_counter_and_one_sided_traffic() -> None:
    text = (
        TESTS
        + """
[root@esx-b ~]# nstat -az | grep UdpInCsum
UdpInCsumErrors                 48211              0.0
[root@esx-b ~]# ethtool -i ens160 | head -1
driver: vmxnet3
"""
    )
    assert finding("vxlan-checksum-offload", text).strength >= 0.9


def test_a_bad_sum_at_the_sender_is_normal() -> None:
    text = """
[root@esx-a ~]# ip -4 addr show ens160
2: ens160: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc mq state UP group default qlen 1000
    inet 10.3.3.7/24 brd 10.3.3.255 scope global ens160
[root@esx-a ~]# tcpdump -nvi ens160 udp port 4789 -c 1"""
    assert finding("vxlan-checksum-offload", text + BAD).strength < 0.8


def test_nothing_arrives() -> None:
    text = """
[root@esx-a ~]# tcpdump -nvi ens160 udp port 4789 -c 1
    10.3.3.7.41822 > 10.3.3.8.4789: VXLAN, flags [I] (0x08), vni 4096
[root@esx-b ~]# timeout 10 tcpdump -nvi ens160 udp port 4789
0 packets captured
"""
    assert finding("vxlan-checksum-offload", text).state == "ruled-out"


def test_the_receiver_counts_none() -> None:
    text = """
NAME                READY   STATUS    RESTARTS   AGE   IP         NODE
calico-node-aaaaa   1/1     Running   0          9d    10.3.3.7   esx-a
calico-node-bbbbb   1/1     Running   0          9d    10.3.3.8   esx-b

[root@esx-a ~]# tcpdump -nvi ens160 udp port 4789 -c 1    (the client runs here)"""
    at_sender = text + BAD
    assert finding("vxlan-checksum-offload", at_sender).state == "cannot-tell"
    clean = (
        at_sender
        + "\n[root@esx-b ~]# nstat -az UdpInCsumErrors\nUdpInCsumErrors                 0                  0.0\n"
    )
    assert finding("vxlan-checksum-offload", clean).state == "ruled-out"


def test_quick_once_the_offload_is_off() -> None:
    text = """
curl from a node to a ClusterIP whose pod is elsewhere takes about a minute.

[root@esx-a ~]# time curl -so /dev/null http://10.99.3.4:8080/
real    1m3.118s
[root@esx-a ~]# ethtool -K vxlan.calico tx-checksum-ip-generic off
[root@esx-a ~]# time curl -so /dev/null http://10.99.3.4:8080/
real    0m0.021s
"""
    answer = finding("vxlan-checksum-offload", text)
    assert answer.strength >= 0.9
    assert "vxlan.calico" in answer.objects


def test_sums_inside_of_the_tunnel_that_the_receiver_refuses() -> None:
    text = """
    # tcpdump -ni ens1f0 -vv 'udp port 4789 and host 10.80.2.18'
        10.80.2.18.47213 > 10.80.2.13.4789: [udp sum ok] VXLAN, flags [I] (0x08), vni 4096
    IP (tos 0x0, ttl 63, id 50122, offset 0, flags [DF], proto TCP (6), length 1109)
        10.42.140.77.41522 > 10.42.91.14.50051: Flags [P.], cksum 0x3a41 (incorrect -> 0xc19e), seq 1:1058, ack 1, win 502, length 1057
    # kubectl exec srv -- nstat -az TcpInCsumErrors
    TcpInCsumErrors                 18834              0.0
    # ethtool -i ens1f0
    driver: i40e
    """  # noqa: E501
    assert finding("vxlan-checksum-offload", text).strength >= 0.9
    counted_none = text.replace("18834", "0")
    assert finding("vxlan-checksum-offload", counted_none).strength < 0.8  # a sender sees the same


PINGS_ONLY = """
$ kubectl exec a -- ping -c1 10.244.2.8
64 bytes from 10.244.2.8: seq=0 ttl=62 time=0.4 ms
$ kubectl exec a -- nc -zv -w3 10.244.2.8 8080
nc: 10.244.2.8 (10.244.2.8:8080): Connection timed out
$ calicoctl get ippool -o wide
NAME                  CIDR            NAT    IPIPMODE   VXLANMODE   DISABLED   SELECTOR
default-ipv4-ippool   10.244.0.0/16   true   Never      Always      false      all()
"""
CARD = "[root@n1 ~]# ethtool -i ens192\ndriver: vmxnet3\nversion: 1.5.0.0-k-NAPI\n"
ON = "[root@n1 ~]# ethtool -k ens192 | grep generic\ntx-checksum-ip-generic: on\n"
POLICY = "$ kubectl get networkpolicy -n shop\nNAME        POD-SELECTOR   AGE\nonly-ping   <none>         2d\n"


def test_offload_is_on_nearly_everywhere() -> None:
    assert finding("vxlan-checksum-offload", PINGS_ONLY + CARD).strength >= 0.8
    assert finding("vxlan-checksum-offload", PINGS_ONLY + ON).strength < 0.8
    assert finding("vxlan-checksum-offload", PINGS_ONLY + CARD.replace("vmxnet3", "virtio_net")).strength < 0.8


def test_a_policy_may_let_pings_through_alone() -> None:
    assert finding("vxlan-checksum-offload", PINGS_ONLY + CARD + POLICY).strength < 0.8


def test_sums_that_grow_are_of_the_tunnel_that_people_name() -> None:
    text = """
    The pool is {}. Requests to pods of other nodes hang.

    [root@w2 ~]# nstat -az | grep UdpInCsum
    UdpInCsumErrors                 18233              0.0
    [root@w2 ~]# nstat -az | grep UdpInCsum
    UdpInCsumErrors                 18251              0.0
    [root@w1 ~]# ethtool -k eth0 | grep tx-checksum-ip-generic
    tx-checksum-ip-generic: on
    """
    assert finding("vxlan-checksum-offload", text.format("VXLAN")).strength >= 0.9
    assert finding("vxlan-checksum-offload", text.format("not encapsulated")).strength < 0.8
