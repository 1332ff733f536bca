"""TRT7010: what sends more than fits."""

from __future__ import annotations

from tests.support.doctor import finding, fixes, picture

from tortie.doctor.causes.catalogue import cause_named


def test_pods_larger_than_the_tunnel() -> None:
    text = """
    Image pulls between nodes hang, ping is fine.
    [root@vx-2 ~]# ip link | grep mtu
    2: ens192: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc mq state UP mode DEFAULT group default qlen 1000
    5: vxlan.calico: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1450 qdisc noqueue state UNKNOWN mode DEFAULT group default
    9: cali77ab01c2d3e@if3: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc noqueue state UP mode DEFAULT group default
    """
    answer = finding("mtu-mismatch", text)
    assert answer.strength >= 0.8
    assert "veth_mtu" in answer.objects


def test_large_pings_are_lost() -> None:
    text = """
    [root@vx-2 ~]# ping -M do -s 1472 -c 2 10.61.0.9
    PING 10.61.0.9 (10.61.0.9) 1472(1500) bytes of data.
    2 packets transmitted, 0 received, 100% packet loss, time 1010ms
    [root@vx-2 ~]# ping -c 2 10.61.0.9
    PING 10.61.0.9 (10.61.0.9) 56(84) bytes of data.
    64 bytes from 10.61.0.9: icmp_seq=1 ttl=64 time=0.41 ms
    2 packets transmitted, 2 received, 0% packet loss, time 1001ms
    """
    answer = finding("mtu-mismatch", text)
    assert answer.strength >= 0.8


def test_fitting_sizes_are_no_fault() -> None:
    text = """
    [root@vx-2 ~]# ip link | grep mtu
    2: ens192: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc mq state UP mode DEFAULT group default qlen 1000
    5: vxlan.calico: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1450 qdisc noqueue state UNKNOWN mode DEFAULT group default
    9: cali77ab01c2d3e@if3: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1450 qdisc noqueue state UP mode DEFAULT group default
    """
    assert finding("mtu-mismatch", text).strength < 0.8


def test_no_encapsulation_needs_no_room() -> None:
    text = """
    [root@l2-1 ~]# ip route | grep bird
    10.50.2.0/26 via 10.9.0.12 dev eth0 proto bird
    [root@l2-1 ~]# ip link | grep mtu
    2: eth0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc mq state UP mode DEFAULT group default qlen 1000
    9: cali77ab01c2d3e@if3: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc noqueue state UP mode DEFAULT group default
    """
    assert finding("mtu-mismatch", text).strength < 0.8


def test_the_own_refusal_of_a_host_is_normal() -> None:
    text = """
    [root@vx-2 ~]# ping -M do -s 1472 -c 1 10.88.7.12
    ping: local error: Message too long, mtu=1450
    1 packets transmitted, 0 received, +1 errors, 100% packet loss, time 0ms
    [root@vx-2 ~]# ping -c 1 10.88.7.12
    64 bytes from 10.88.7.12: icmp_seq=1 ttl=62 time=0.5 ms
    """
    assert finding("mtu-mismatch", text).strength < 0.8


def test_two_sizes_close_to_each_other() -> None:
    text = """
    [root@vx-2 ~]# ping -M do -s 1372 -c 1 10.88.7.12
    1 packets transmitted, 1 received, 0% packet loss, time 0ms
    [root@vx-2 ~]# ping -M do -s 1422 -c 1 10.88.7.12
    1 packets transmitted, 0 received, 100% packet loss, time 0ms
    """
    assert finding("mtu-mismatch", text).strength >= 0.9


def test_links_that_awk_cut_down() -> None:
    text = """
    Small requests between nodes pass, large ones hang.
    [root@vx-2 ~]# ip -o link | awk '{print $2,$4,$5}' | grep mtu
    ens3: mtu 1400
    vxlan.calico: mtu 1400
    cali77ab01c2d3e@if3: mtu 1400
    """
    answer = finding("mtu-mismatch", text)
    assert answer.strength >= 0.8
    assert {"vxlan.calico", "1400"} <= set(answer.objects)


def test_nodes_that_talk_through_a_vpn() -> None:
    text = """
    [root@vp-1 ~]# ip link | grep mtu
    2: eth0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc mq state UP mode DEFAULT group default qlen 1000
    3: wg0: <POINTOPOINT,NOARP,UP,LOWER_UP> mtu 1420 qdisc noqueue state UNKNOWN mode DEFAULT group default
    5: tunl0@NONE: <NOARP,UP,LOWER_UP> mtu 1440 qdisc noqueue state UNKNOWN mode DEFAULT group default qlen 1000
    [root@vp-1 ~]# ip route
    default via 192.0.2.1 dev eth0
    10.9.0.0/24 dev wg0 proto kernel scope link src 10.9.0.1
    10.50.2.0/26 via 10.9.0.2 dev tunl0 proto bird onlink
    """
    answer = finding("mtu-mismatch", text)
    assert answer.strength >= 0.8
    assert {"wg0", "tunl0"} <= set(answer.objects)
    cause = cause_named("mtu-mismatch")
    assert cause is not None
    # Calico does not look at such links when it finds the MTU by itself.
    assert any('"veth_mtu":"1400"' in step.command for step in cause.fix(picture(text), answer))


def test_the_uplink_towards_the_nodes_counts_not_that_of_the_default_route() -> None:
    """A route through VXLAN names an address inside of the tunnel; the nodes' own say which card carries it."""
    text = """
    root@w1:~# ip link
    2: eno1: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc mq state UP mode DEFAULT group default qlen 1000
    3: ens1f0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 9000 qdisc mq state UP mode DEFAULT group default qlen 1000
    7: vxlan.calico: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 8950 qdisc noqueue state UNKNOWN mode DEFAULT group default
    root@w1:~# ip route
    default via 10.1.0.1 dev eno1 proto static
    10.1.0.0/24 dev eno1 proto kernel scope link src 10.1.0.21
    10.50.0.0/24 dev ens1f0 proto kernel scope link src 10.50.0.21
    10.244.8.0/26 via 10.244.8.0 dev vxlan.calico onlink
    """
    nodes = """
    root@w1:~# kubectl get nodes -o wide
    NAME  STATUS  ROLES   AGE  VERSION  INTERNAL-IP  EXTERNAL-IP
    w1    Ready   <none>  9d   v1.27.3  10.50.0.21   <none>
    w2    Ready   <none>  9d   v1.27.3  10.50.0.22   <none>
    """
    assert finding("mtu-mismatch", text + nodes).state == "cannot-tell"
    assert finding("mtu-mismatch", text + nodes.replace("10.50.", "10.1.")).strength >= 0.8


def test_a_host_that_pings_the_internet_learns_the_size_of_its_line() -> None:
    text = """
    $ ping -M do -s 1472 {}
    PING {} 1472(1500) bytes of data.
    From 192.168.1.1 icmp_seq=1 Frag needed and DF set (mtu = 1492)
    """
    assert finding("mtu-mismatch", text.format("8.8.8.8", "8.8.8.8")).state == "cannot-tell"
    assert finding("mtu-mismatch", text.format("10.42.3.8", "10.42.3.8")).strength >= 0.8


NARROW = """
Small requests work, anything bigger hangs.

| 10.12.0.12 | node-to-node mesh | up | 21:10:44 | Established |

node-1:~# ip link
2: eth0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc pfifo_fast state UP mode DEFAULT group default qlen 1000
4: tunl0@NONE: <NOARP,UP,LOWER_UP> mtu 1480 qdisc noqueue state UNKNOWN mode DEFAULT group default qlen 1
node-1:~# ping -M do -c 3 -s 1472 10.12.0.12
PING 10.12.0.12 (10.12.0.12) 1472(1500) bytes of data.
3 packets transmitted, 0 received, 100% packet loss, time 2041ms
node-1:~# ping -M do -c 3 -s 1422 10.12.0.12
3 packets transmitted, 3 received, 0% packet loss, time 2002ms
"""


def test_a_path_that_is_narrower_than_its_links_gets_an_mtu_by_hand() -> None:
    """The agent would find the link's MTU, and set what fails already."""
    answer = finding("mtu-mismatch", NARROW)
    assert (answer.rule, answer.say) == ("large-lost", "narrow-path")
    assert "eth0" in answer.objects
    assert any('"veth_mtu":"1430"' in command for command in fixes("mtu-mismatch", NARROW))


def test_a_link_that_refuses_what_it_cannot_carry_is_no_narrow_path() -> None:
    small = NARROW.replace("mtu 1500", "mtu 1450")
    assert finding("mtu-mismatch", small).say != "narrow-path"


def test_what_a_pod_is_pinged_with_says_nothing_of_the_path_alone() -> None:
    assert finding("mtu-mismatch", NARROW.replace("-s 1422 10.12.0.12", "-s 1422 10.244.4.4")).say != "narrow-path"


OVER_VPN = """
All nodes talk over a wireguard VPN (wg0). Uploads and longer API calls die, small pages work.

2: eth0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc noqueue state UP mode DEFAULT group default qlen 1000
3: wg0: <POINTOPOINT,NOARP,UP,LOWER_UP> mtu 1420 qdisc noqueue state UNKNOWN mode DEFAULT group default qlen 1
5: tunl0@NONE: <NOARP,UP,LOWER_UP> mtu 1440 qdisc noqueue state UNKNOWN mode DEFAULT group default qlen 1
"""


def test_the_nodes_talk_over_a_vpn_that_a_person_names() -> None:
    answer = finding("mtu-mismatch", OVER_VPN)
    assert answer.strength >= 0.9
    assert "wg0" in answer.objects
    assert (
        finding("mtu-mismatch", OVER_VPN.replace("All nodes talk over a wireguard VPN (wg0). ", "")).rule != "too-large"
    )


DIND = """
docker build inside of our runner pod (dind) hangs in `apt-get update`, small downloads are fine.
$ kubectl exec runner-x7 -c dind -- ip link
1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536 qdisc noqueue state UNKNOWN qlen 1000
2: docker0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc noqueue state UP
4: eth0@if93: <BROADCAST,MULTICAST,UP,LOWER_UP,M-DOWN> mtu 1450 qdisc noqueue state UP
"""


def test_docker_inside_of_a_pod_sends_more_than_the_pod() -> None:
    answer = finding("mtu-mismatch", DIND)
    assert (answer.state, answer.rule, answer.strength >= 0.9) == ("found", "docker-in-a-pod", True)
    assert "docker0" in answer.objects
    assert finding("mtu-mismatch", DIND.replace("1500", "1450")).rule != "docker-in-a-pod"


def test_a_bridge_of_docker_on_a_node_is_nobodys_way() -> None:
    node = DIND.replace("$ kubectl exec runner-x7 -c dind -- ip link", "[root@n1 ~]# ip link").replace("@if93", "")
    assert finding("mtu-mismatch", node).rule != "docker-in-a-pod"


OVER_WG = """
[root@hk ~]# ip a
2: eth0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc mq state UP group default qlen 1000
    inet 203.0.113.21/24 brd 203.0.113.255 scope global eth0
3: wg0: <POINTOPOINT,NOARP,UP,LOWER_UP> mtu 1420 qdisc noqueue state UNKNOWN group default qlen 1000
    inet 10.88.0.1/24 scope global wg0
6: tunl0@NONE: <NOARP,UP,LOWER_UP> mtu 1440 qdisc noqueue state UNKNOWN group default qlen 1000
    inet 10.244.120.64/32 scope global tunl0
[root@hk ~]# kubectl get node -o wide
NAME   STATUS   ROLES           AGE   VERSION   INTERNAL-IP   EXTERNAL-IP
hk     Ready    control-plane   5d    v1.25.4   10.88.0.1     <none>
"""


def test_the_link_that_carries_the_nodes_address_is_the_way_to_nodes() -> None:
    answer = finding("mtu-mismatch", OVER_WG)
    assert (answer.state, answer.rule) == ("found", "too-large")
    assert {"tunl0", "wg0"} <= set(answer.objects)
    assert finding("mtu-mismatch", OVER_WG.replace("10.88.0.1     <none>", "203.0.113.21  <none>")).state != "found"


def test_a_setting_that_is_told() -> None:
    told = """
    large downloads stall. veth_mtu in calico-config is "1430".
    [root@hk ~]# ip link show enp7s0
    2: enp7s0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1400 qdisc mq state UP group default qlen 1000
    """
    assert finding("mtu-mismatch", told).rule == "too-large"
    assert finding("mtu-mismatch", told.replace("1430", "1380")).rule != "too-large"


def test_a_capture_shows_that_a_router_would_have_to_cut_packets() -> None:
    capture = """
    [root@n2 ~]# tcpdump -nni any icmp
    14:02:11.511223 IP 10.3.0.1 > 10.3.0.12: ICMP 10.3.0.13 unreachable - need to frag (mtu 1400), length 556
    """
    assert finding("mtu-mismatch", capture).strength >= 0.8
    assert finding("mtu-mismatch", "From a pod large requests hang, small ones are fine.\n" + capture).strength >= 0.9


TRACED = """
[root@a1 ~]# tracepath -n 10.80.2.11
 1?: [LOCALHOST]                      pmtu 1500
 1:  10.80.1.1                                             0.412ms
 2:  10.80.1.1                                             0.390ms pmtu 1438
     Resume: pmtu 1438 hops 2 back 2
[root@a1 ~]# ip -o link show tunl0
5: tunl0@NONE: <NOARP,UP,LOWER_UP> mtu 1480 qdisc noqueue state UNKNOWN mode DEFAULT group default qlen 1000
"""


def test_the_path_between_nodes_lets_less_through_than_the_tunnel_sends() -> None:
    answer = finding("mtu-mismatch", TRACED)
    assert (answer.rule, answer.value("fits")) == ("too-large", "1418")
    assert finding("mtu-mismatch", TRACED.replace("1438", "1500")).state != "found"
    assert finding("mtu-mismatch", TRACED.replace("10.80.2.11", "8.8.8.8")).state != "found"


VPN = """
{told}
root@n2:~# ip link | grep mtu
2: eth0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc pfifo_fast state UP mode DEFAULT group default qlen 1000
3: wg0: <POINTOPOINT,NOARP,UP,LOWER_UP> mtu 1420 qdisc noqueue state UNKNOWN mode DEFAULT group default qlen 1
7: tunl0@NONE: <NOARP,UP,LOWER_UP> mtu {mtu} qdisc noqueue state UNKNOWN mode DEFAULT group default qlen 1
root@n2:~# ip r | grep tunl0
192.168.103.64/26 via 172.16.0.4 dev tunl0 proto bird onlink
"""


def test_all_traffic_between_nodes_goes_through_the_only_vpn() -> None:
    for told in (
        "Big POSTs hang. All node traffic goes through a VPN between them.",
        "The nodes are connected over WireGuard; large requests hang.",
        "节点之间走 WireGuard，大包卡住。",
    ):
        answer = finding("mtu-mismatch", VPN.format(told=told, mtu=1440))
        assert (answer.rule, answer.strength >= 0.8, "wg0" in answer.objects) == ("too-large", True, True), told
        assert finding("mtu-mismatch", VPN.format(told=told, mtu=1400)).rule != "too-large"


def test_a_vpn_that_people_log_in_over_is_no_way_between_nodes() -> None:
    for told in ("I connect to the nodes over a VPN. Big POSTs hang.", "Users come in through a VPN."):
        assert finding("mtu-mismatch", VPN.format(told=told, mtu=1440)).rule != "too-large", told
