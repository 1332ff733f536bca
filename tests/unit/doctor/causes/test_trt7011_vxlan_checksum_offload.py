"""TRT7011: what arrives at the receiver, and what the sender alone cannot show."""

from __future__ import annotations

import pytest
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


DUMP = "\n[root@esx-q ~]# tcpdump -nvi ens160 udp port 4789 -c 1" + BAD
BARE = "\n10:00:01.100203 IP (tos 0x0, ttl 64, id 5, offset 0, flags [none], proto UDP (17), length 110)" + BAD
AT_RECEIVER = (
    "[14:21] ann: took a dump on the receiving worker, ens160",
    "Mirror of one stream, taken on the RECEIVING node (tcpdump -nvi ens160 udp port 4789):",
    "Destination node (w2):",
    "在目标节点抓包：",
    "接收端抓包如下",
    "[14:21] 老王: 到对端上抓了个包",
)
ELSEWHERE = (
    "and this is what the sending node shows, captured on the sending node:",
    "发送端抓包：",
    "I could not capture on the receiver, so this is from here:",
    "抓了发往目标节点的包：",
    "captured on the source host, nothing yet from the receiver",
    "还没来得及在接收端抓，下面是源节点上抓的",
)


@pytest.mark.parametrize("told", AT_RECEIVER)
@pytest.mark.parametrize("dump", [DUMP, BARE])
def test_a_capture_told_to_be_the_receivers(told: str, dump: str) -> None:
    answer = finding("vxlan-checksum-offload", told + "\n" + dump)
    assert (answer.rule, answer.strength >= 0.8) == ("bad-on-arrival", True)


@pytest.mark.parametrize("told", ELSEWHERE)
def test_a_capture_told_to_be_the_senders_or_nobodys(told: str) -> None:
    assert finding("vxlan-checksum-offload", told + "\n" + DUMP).strength < 0.8


@pytest.mark.parametrize("told", ["[14:06] tim: yes. ping yes. curl no. dig no.", "ping 通 curl 不通"])
def test_one_sided_traffic_in_the_words_of_a_chat(told: str) -> None:
    assert finding("vxlan-checksum-offload", f"{told}\n\n{AT_RECEIVER[0]}\n{DUMP}").strength >= 0.95


def test_the_routes_of_another_host_lead_to_the_target() -> None:
    routes = "[root@esx-p ~]# ip route\n10.77.40.0/26 via {} dev vxlan.calico onlink\n"
    to_target = finding("vxlan-checksum-offload", routes.format("10.3.3.8") + DUMP)
    assert (to_target.rule, to_target.strength >= 0.8) == ("bad-on-arrival", True)
    assert finding("vxlan-checksum-offload", routes.format("10.3.3.7") + DUMP).strength < 0.8


PINGS_TOLD = "Pools use vxlanMode: Always. ping between pods works but tcp times out, from one node to another.\n"


@pytest.mark.parametrize(
    "back", ["Rolled back calico to 3.27 and it works again.", "calico 回滚到 3.27 之后就恢复了。"]
)
def test_a_release_back_helps(back: str) -> None:
    text = PINGS_TOLD + "\n[root@n1 ~]# ip route\n10.77.40.0/26 via 10.3.3.8 dev vxlan.calico onlink\n\n" + back
    assert finding("vxlan-checksum-offload", text).strength >= 0.8
    kernel = text.replace("calico to 3.27", "the kernel to 5.4").replace("calico 回滚到 3.27", "内核回滚到 5.4")
    assert finding("vxlan-checksum-offload", kernel).strength < 0.8


FAR = BARE.replace("10.3.3.7", "10.3.3.17").replace("10.3.3.8", "10.3.3.18")


@pytest.mark.parametrize(
    "told", ["同事在 {0} 抓的：", "captured on .{0} :", "dump on node{0} of the pair:", "在 {1} 上抓包："]
)
def test_a_capture_at_a_machine_that_is_called_by_its_address(told: str) -> None:
    for number, sure in (("18", True), ("17", False)):
        text = told.format(number, f"10.3.3.{number}")
        assert (finding("vxlan-checksum-offload", text + "\n" + FAR).strength >= 0.8) is sure


OF_ANOTHER = """
[root@esx-a ~]# curl -m 5 http://10.96.7.1/
curl: (28) Connection timed out after 5001 milliseconds
[root@{taken} ~]# tcpdump -nvi ens160 udp port 4789 -c 1"""


def test_a_request_of_another_machine_arrives_where_it_is_captured() -> None:
    there = finding("vxlan-checksum-offload", OF_ANOTHER.format(taken="esx-b") + BAD)
    assert there.strength >= 0.8
    assert finding("vxlan-checksum-offload", OF_ANOTHER.format(taken="esx-a") + BAD).strength < 0.8


def test_a_node_that_was_asked_for_a_port_of_nodes_passes_it_on() -> None:
    text = OF_ANOTHER.format(taken="esx-b").replace("10.96.7.1/", "10.3.3.7:31080/")
    assert finding("vxlan-checksum-offload", text + BAD).strength < 0.8


def test_where_the_pod_runs_is_the_receiver() -> None:
    text = "Captured on esx-b, where the {pod} is:\n\n[root@esx-b ~]# tcpdump -nvi ens160 udp port 4789 -c 1" + BAD
    assert finding("vxlan-checksum-offload", text.format(pod="pod")).strength >= 0.8
    assert finding("vxlan-checksum-offload", text.format(pod="client pod")).strength < 0.8


KERNEL = "[ 1423.035722] UDP: bad checksum. From 10.3.3.7:27503 to 10.3.3.8:{port} ulen 75"


def test_the_kernel_that_receives_says_so() -> None:
    assert finding("vxlan-checksum-offload", TESTS + KERNEL.format(port=4789)).strength >= 0.9
    assert finding("vxlan-checksum-offload", TESTS + KERNEL.format(port=5060)).strength < 0.8


def test_a_service_that_answers_after_sixty_three_seconds() -> None:
    text = "Calico with VXLAN. A {what} on another node takes {seconds} seconds to answer, TCP connects at last."
    found = finding("vxlan-checksum-offload", text.format(what="ClusterIP service", seconds=63))
    assert (found.rule, found.strength >= 0.8) == ("after-six-repetitions", True)
    assert finding("vxlan-checksum-offload", text.format(what="ClusterIP service", seconds=30)).strength < 0.8
    assert finding("vxlan-checksum-offload", text.format(what="image pull", seconds=63)).strength < 0.8


def test_a_person_may_say_that_it_is_vxlan() -> None:
    card = "[root@esx-b ~]# ethtool -i ens160\ndriver: vmxnet3\n"
    assert (
        finding(
            "vxlan-checksum-offload",
            "We run Calico 3.23 with VXLAN between our nodes, since last year.\n" + TESTS + card,
        ).strength
        >= 0.8
    )
    assert (
        finding(
            "vxlan-checksum-offload",
            "We run Calico 3.23 with IPIP between our nodes, since last year.\n" + TESTS + card,
        ).strength
        < 0.8
    )


def test_the_counter_as_netstat_has_it() -> None:
    counter = "[root@esx-b ~]# netstat -su | grep -i csum\n    InCsumErrors: {n}\n"
    assert finding("vxlan-checksum-offload", TESTS + counter.format(n=1532)).strength >= 0.9
    assert finding("vxlan-checksum-offload", TESTS + counter.format(n=0)).strength < 0.8
    of_all = counter.format(n=1532).replace("-su", "-s")  # TCP has such a counter, too
    assert finding("vxlan-checksum-offload", TESTS + of_all).strength < 0.8


def test_a_packet_with_names_reads_like_a_sentence() -> None:
    named = BAD.replace("10.3.3.7.41822 > 10.3.3.8.4789", "box.test1.41822 > 10.3.3.8.vxlan").replace("    box", "box")
    text = TESTS + "[root@esx-b ~]# tcpdump -vi ens160 udp port 4789 -c 1" + named
    assert finding("vxlan-checksum-offload", text).strength >= 0.9


SENT = """
[root@{sender} ~]# tcpdump -nvi eth0 udp port 4789 -c 1
    10.3.3.7.41822 > 10.3.3.8.4789: [bad udp cksum 0x0e1c -> 0x93ab!] VXLAN, flags [I] (0x08), vni 4096
"""
NONE = """
[root@{receiver} ~]# timeout 20 tcpdump -nvi eth0 udp port 4789
0 packets captured
"""


def test_what_another_machine_waits_for_in_vain_was_caught_at_the_sender() -> None:
    text = SENT.format(sender="esx-a") + NONE.format(receiver="esx-b")
    assert finding("vxlan-checksum-offload", text).state == "ruled-out"
    assert finding("vxlan-port-blocked", text).strength >= 0.9


def test_a_name_that_is_made_of_an_address() -> None:
    own = finding("vxlan-checksum-offload", TESTS + SENT.format(sender="ip-10-3-3-7"))
    assert own.strength < 0.8
    assert finding("vxlan-checksum-offload", TESTS + SENT.format(sender="ip-10-3-3-8")).strength >= 0.9


def test_sixty_three_seconds_that_are_asked_about_or_timed_otherwise() -> None:
    asked = "Calico with VXLAN. The service on the other node takes 63 s? No, it is a minute, and then it fails.\n"
    assert finding("vxlan-checksum-offload", asked).strength < 0.8
    timed = "\n$ time curl -s http://10.96.7.1/\n504\n\nreal    1m0.041s\n"
    told = "Calico with VXLAN. A ClusterIP service on another node takes 63 seconds to answer.\n"
    assert finding("vxlan-checksum-offload", told + timed).strength < 0.8
