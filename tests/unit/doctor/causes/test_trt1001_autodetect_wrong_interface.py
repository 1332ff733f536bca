"""TRT1001: a registered address that is nobody's InternalIP, told in every way that pastes tell it."""

from __future__ import annotations

from tests.support.doctor import finding, picture
from tests.unit.doctor.judgement.test_healthy import judged

from tortie.doctor.causes.cause import LIKELY
from tortie.doctor.causes.nodes.trt1001_autodetect_wrong_interface import CAUSE

ID = "autodetect-wrong-interface"

ANNOTATION = """
$ kubectl get nodes -o custom-columns='NAME:.metadata.name,INTERNAL:.status.addresses[0].address,CALICO:.metadata.annotations.projectcalico\\.org/IPv4Address'  # noqa: E501
NAME     INTERNAL       CALICO
edge-1   10.71.3.4      10.71.3.4/24
edge-2   10.71.3.5      192.168.56.102/24
edge-3   10.71.3.6      10.71.3.6/24
$ kubectl -n kube-system describe pod calico-node-vvb2k | tail -1
  Warning  Unhealthy  3s (x70 over 11m)  kubelet, edge-1  Readiness probe failed: calico/node is not ready: BIRD is not ready: BGP not established with 192.168.56.102  # noqa: E501
"""  # noqa: E501

SECOND_NIC = """
[root@db-1 ~]# kubectl get nodes -o wide
NAME   STATUS   ROLES    AGE   VERSION   INTERNAL-IP    EXTERNAL-IP   OS-IMAGE   KERNEL-VERSION   CONTAINER-RUNTIME
db-1   Ready    master   9d    v1.21.3   10.9.8.7       <none>        Debian 11  5.10.0           containerd://1.5.2
db-2   Ready    <none>   9d    v1.21.3   10.9.8.8       <none>        Debian 11  5.10.0           containerd://1.5.2
db-3   Ready    <none>   9d    v1.21.3   10.9.8.9       <none>        Debian 11  5.10.0           containerd://1.5.2
[root@db-1 ~]# calicoctl node status
Calico process is running.

IPv4 BGP status
+---------------+-------------------+-------+----------+--------------------------------+
| PEER ADDRESS  |     PEER TYPE     | STATE |  SINCE   |              INFO              |
+---------------+-------------------+-------+----------+--------------------------------+
| 10.9.8.8      | node-to-node mesh | up    | 06:02:41 | Established                    |
| 172.30.5.9    | node-to-node mesh | start | 06:02:40 | Connect Socket: Network        |
|               |                   |       |          | unreachable                    |
+---------------+-------------------+-------+----------+--------------------------------+
"""

CONFLICT = """
每台虚拟机都是 vagrant 起的，第二台起不来：

2021-06-01 03:10:01.001 [INFO][9] startup/startup.go 425: Determined node name: vg-2
2021-06-01 03:10:01.201 [INFO][9] startup/startup.go 584: Using autodetected IPv4 address on interface eth0: 10.0.2.15/24
2021-06-01 03:10:01.230 [WARNING][9] startup/startup.go 1166: Calico node 'vg-1' is already using the IPv4 address 10.0.2.15.
2021-06-01 03:10:01.230 [WARNING][9] startup/utils.go 48: Terminating

$ kubectl get nodes -o wide
NAME   STATUS   ROLES    AGE   VERSION   INTERNAL-IP      EXTERNAL-IP   OS-IMAGE     KERNEL-VERSION   CONTAINER-RUNTIME
vg-1   Ready    master   12m   v1.20.7   192.168.33.11    <none>        Ubuntu 20    5.4.0            docker://20.10.6
vg-2   Ready    <none>   10m   v1.20.7   192.168.33.12    <none>        Ubuntu 20    5.4.0            docker://20.10.6
"""  # noqa: E501

UNKNOWN = """
$ kubectl -n kube-system get pod -o wide | grep calico-node
calico-node-a1b2c   0/1   Running   0   3d   10.3.0.21   st-1   <none>   <none>
calico-node-d4e5f   0/1   Running   0   3d   10.3.0.22   st-2   <none>   <none>
$ kubectl -n kube-system logs calico-node-a1b2c --tail 2
bird: BGP: Unexpected connect from unknown address 10.3.0.22 (port 42811)
$ kubectl -n kube-system describe pod calico-node-a1b2c | tail -2
  Warning  Unhealthy  5s (x900 over 2h)  kubelet  Readiness probe failed: 2023-01-02 10:00:00.100 [INFO][99] confd/health.go 180: Number of node(s) with BGP peering established = 0  # noqa: E501
calico/node is not ready: BIRD is not ready: BGP not established with 100.101.7.7
"""  # noqa: E501

MOVED = """
$ kubectl -n calico-system logs calico-node-77mzt | grep -i autodet
2023-05-10 01:00:00.100 [INFO][9] startup/autodetection_methods.go 103: Using autodetected IPv4 address on interface bond0: 10.55.0.8/24
2023-05-11 08:31:12.400 [INFO][71] monitor-addresses/autodetection_methods.go 103: Using autodetected IPv4 address on interface tun0: 10.8.0.6/24
2023-05-11 08:31:12.410 [INFO][71] monitor-addresses/startup.go 768: Updated node IP addresses
"""  # noqa: E501

RIGHT = """
$ kubectl get nodes -o wide
NAME   STATUS   ROLES    AGE   VERSION   INTERNAL-IP    EXTERNAL-IP   OS-IMAGE   KERNEL-VERSION   CONTAINER-RUNTIME
p-1    Ready    master   9d    v1.21.3   10.1.1.1       <none>        Debian 11  5.10.0           containerd://1.5.2
p-2    Ready    <none>   9d    v1.21.3   10.1.1.2       <none>        Debian 11  5.10.0           containerd://1.5.2
$ calicoctl get nodes -o wide
NAME   ASN       IPV4          IPV6
p-1    (64512)   10.1.1.1/24
p-2    (64512)   10.1.1.2/24
root@p-2:~# calicoctl node status
IPv4 BGP status
+--------------+-------------------+-------+----------+------------------------------+
| PEER ADDRESS |     PEER TYPE     | STATE |  SINCE   |             INFO             |
+--------------+-------------------+-------+----------+------------------------------+
| 10.1.1.1     | node-to-node mesh | start | 08:00:00 | Active Socket: Connection    |
|              |                   |       |          | timed out                    |
+--------------+-------------------+-------+----------+------------------------------+
root@p-2:~# ip -br a
lo               UNKNOWN        127.0.0.1/8
eth0             UP             10.1.1.2/24
br-0a1b2c3d4e5f  UP             172.20.0.1/16
"""


def test_the_annotation_differs_from_the_internal_ip() -> None:
    answer = finding(ID, ANNOTATION)
    assert answer.state == "found"
    assert answer.strength >= LIKELY
    assert {"192.168.56.102", "edge-2"} <= set(answer.objects)


def test_a_peer_of_the_mesh_is_nobodys_and_one_node_is_missing() -> None:
    answer = finding(ID, SECOND_NIC)
    assert answer.strength >= LIKELY
    assert "172.30.5.9" in answer.objects
    assert "db-3" in answer.objects


def test_every_machine_has_the_same_nat_address() -> None:
    answer = finding(ID, CONFLICT)
    assert answer.strength >= LIKELY
    assert answer.objects[0] == "10.0.2.15"
    assert "eth0" in answer.objects


def test_a_node_knocks_from_its_good_address() -> None:
    answer = finding(ID, UNKNOWN)
    assert answer.strength >= LIKELY
    assert {"100.101.7.7", "st-2"} <= set(answer.objects)


def test_a_vpn_came_up_while_running() -> None:
    answer = finding(ID, MOVED)
    assert answer.strength >= LIKELY
    assert {"10.8.0.6", "tun0"} <= set(answer.objects)


def test_passive_against_the_order_of_addresses() -> None:
    text = """
    $ kubectl get pods -n kube-system -o wide | grep calico-node
    calico-node-1aaaa   0/1   Running   0   1d   10.20.0.40   kn-1   <none>   <none>
    calico-node-2bbbb   0/1   Running   0   1d   10.20.0.31   kn-2   <none>   <none>
    kn-1:~ # calicoctl node status
    IPv4 BGP status
    +--------------+-------------------+-------+----------+---------+
    | PEER ADDRESS |     PEER TYPE     | STATE |  SINCE   |  INFO   |
    +--------------+-------------------+-------+----------+---------+
    | 10.20.0.31   | node-to-node mesh | start | 08:00:00 | Passive |
    +--------------+-------------------+-------+----------+---------+
    """
    answer = finding(ID, text)
    assert answer.strength >= LIKELY
    assert "kn-1" in answer.objects


def test_right_addresses_rule_it_out_whatever_bridges_exist() -> None:
    assert finding(ID, RIGHT).state == "ruled-out"


def test_a_complaint_alone_is_no_claim() -> None:
    text = "Readiness probe failed: calico/node is not ready: BIRD is not ready: BGP not established with 10.1.2.3,10.1.2.4"  # noqa: E501
    assert finding(ID, text).strength < LIKELY


def test_an_external_router_is_not_a_node() -> None:
    text = RIGHT.replace("| 10.1.1.1     | node-to-node mesh |", "| 172.31.9.1   | global            |")
    assert finding(ID, text).strength < LIKELY


def test_the_method_fits_the_release() -> None:
    for image, method in (
        ("v3.26.1", "kubernetes-internal-ip"),
        ("v3.17.0", "cidr=10.71.3.0/24"),
        ("v3.9.5", "can-reach=10.71.3.4"),
    ):
        seen = picture(
            ANNOTATION + f"\n$ kubectl describe ds calico-node | grep Image\n    Image:  calico/node:{image}\n"
        )
        assert method in CAUSE.fix(seen, CAUSE.judge(seen))[0].command


def test_the_method_fits_the_age_of_the_cluster_where_no_release_is_shown() -> None:
    seen = picture(SECOND_NIC.replace("v1.21.3", "v1.13.2"))
    assert "can-reach=10.9.8.7" in CAUSE.fix(seen, CAUSE.judge(seen))[0].command


def test_nodes_are_in_a_network_as_long_as_their_link_says() -> None:
    links = "edge-1:~$ ip -br -4 addr\neth0    UP   10.71.3.4/22\n    Image:  calico/node:v3.17.0\n"
    seen = picture(ANNOTATION + links)
    assert "cidr=10.71.0.0/22'" in CAUSE.fix(seen, CAUSE.judge(seen))[0].command


def test_a_method_that_is_set_already_is_not_set_again() -> None:
    setting = "$ kubectl -n kube-system exec calico-node-x -- env\nIP_AUTODETECTION_METHOD=kubernetes-internal-ip\n"
    seen = picture(ANNOTATION + setting + "    Image:  calico/node:v3.26.1\n")
    first = CAUSE.fix(seen, CAUSE.judge(seen))[0].command
    assert "set env" not in first
    assert "delete pod" in first
    assert "edge-2" in first


def test_the_network_behind_a_bridge_is_looked_at_before_it_is_removed() -> None:
    text = ANNOTATION.replace("192.168.56.102", "172.20.0.1") + (
        "root@edge-2:~# ip -br a\neth0  UP  10.71.3.5/24\nbr-0a1b2c3d4e5f  UP  172.20.0.1/16\n"
    )
    seen = picture(text)
    look, remove = CAUSE.fix(seen, CAUSE.judge(seen))[-2:]
    assert ("docker network inspect 0a1b2c3d4e5f" in look.command, look.risk) == (True, "safe")
    assert ("docker network rm 0a1b2c3d4e5f" in remove.command, remove.risk) == (True, "disruptive")


def test_a_dead_kubelets_annotation_is_an_aside() -> None:
    text = """
    $ kubectl describe node old-7
    Name:               old-7
    Annotations:        projectcalico.org/IPv4Address: 172.29.0.7/24
    Conditions:
      Type    Status    LastHeartbeatTime                 LastTransitionTime                Reason              Message
      ----    ------    -----------------                 ------------------                ------              -------
      Ready   Unknown   Wed, 20 May 2020 18:37:28 +0800   Thu, 21 May 2020 09:46:38 +0800   NodeStatusUnknown   Kubelet stopped posting node status.  # noqa: E501
    Addresses:
      InternalIP:  10.4.4.7
      Hostname:    old-7
    """  # noqa: E501
    answer = finding(ID, text)
    assert answer.state == "found"
    assert answer.aside


def test_start_up_ends_over_an_address_that_every_machine_has() -> None:
    text = """
    $ kubectl get nodes -o wide
    NAME   STATUS     ROLES    AGE   VERSION   INTERNAL-IP    EXTERNAL-IP
    vm-a   Ready      master   9m    v1.27.4   172.28.128.5   <none>
    vm-b   NotReady   <none>   4m    v1.27.4   172.28.128.6   <none>
    $ kubectl -n kube-system logs calico-node-vvvvv
    2023-08-12 03:20:44.902 [INFO][9] startup/utils.go 139: Determined node name: vm-b
    2023-08-12 03:20:44.941 [INFO][9] startup/autodetection_methods.go 103: Using autodetected IPv4 address on interface enp0s3: 10.0.2.15/24
    2023-08-12 03:20:44.952 [WARNING][9] startup/startup.go 986: Calico node 'vm-a' is already using the IPv4 address 10.0.2.15.
    2023-08-12 03:20:44.961 [WARNING][9] startup/utils.go 49: Terminating
    """  # noqa: E501
    answer = finding(ID, text)
    assert answer.strength >= LIKELY
    assert not answer.aside
    assert "10.0.2.15" in answer.objects


def test_the_record_of_a_node_that_was_removed_is_no_link() -> None:
    text = """
    $ kubectl get nodes -o wide
    NAME   STATUS   ROLES    AGE   VERSION   INTERNAL-IP   EXTERNAL-IP
    k1     Ready    <none>   9d    v1.18.2   10.0.0.7      <none>
    k2     Ready    <none>   9d    v1.18.2   10.0.0.8      <none>
    $ calicoctl get nodes -o wide
    NAME   ASN       IPV4           IPV6
    k1     (64512)   10.0.0.7/24
    k3     (64512)   10.41.7.9/24
    Readiness probe failed: calico/node is not ready: BIRD is not ready: BGP not established with 10.41.7.9
    """
    assert finding(ID, text).strength < LIKELY
    assert finding(ID, text.replace("k3 ", "k2 ")).strength >= LIKELY


def test_a_tunnel_on_another_link_shows_the_address_that_was_chosen() -> None:
    text = """
$ kubectl get nodes -o wide | awk '{print $1,$2,$5,$6}'
NAME STATUS VERSION INTERNAL-IP
agent1 Ready v1.31.5 10.20.0.12
agent3 Ready v1.31.5 10.20.0.14
agent3# ip -d link show dev vxlan.calico | tail -1
    vxlan id 4096 local 10.30.3.14 dev enX2 srcport 0 0 dstport 4789 nolearning ttl auto ageing 300
agent3# ip -br -4 addr
enX1             UP             10.20.0.14/24
enX2             UP             10.30.3.14/24
"""
    answer = finding(ID, text)
    assert answer.strength >= 0.8
    assert "enX2" in answer.objects
    assert finding(ID, text.replace("local 10.30.3.14 dev enX2", "local 10.20.0.14 dev enX1")).strength < 0.8


def test_annotations_whose_names_were_cut_away_belong_to_who_carries_the_address() -> None:
    answer = finding(
        "autodetect-wrong-interface",
        """
        The pods on w2 cannot reach those on w1.
        $ kubectl get nodes -o wide
        NAME   STATUS   ROLES           AGE   VERSION   INTERNAL-IP     EXTERNAL-IP   OS-IMAGE             KERNEL
        w1     Ready    control-plane   3d    v1.27.2   192.168.7.105   <none>        Ubuntu 22.04.2 LTS   5.15.0-75
        w2     Ready    <none>          3d    v1.27.2   192.168.7.106   <none>        Ubuntu 22.04.2 LTS   5.15.0-75
        root@w1:~# kubectl get nodes -o yaml | grep projectcalico.org/IPv4Address
              projectcalico.org/IPv4Address: 100.101.24.103/32
              projectcalico.org/IPv4Address: 192.168.7.106/24
        root@w1:~# ip -br -4 a
        eno1             UP             192.168.7.105/24
        tailscale0       UNKNOWN        100.101.24.103/32
        """,
    )
    assert answer.state == "found"
    assert answer.strength >= 0.9
    assert "tailscale0" in answer.objects


def test_who_is_registered_as_it_knocks_is_only_not_known_yet() -> None:
    rows = ("NAME   ASN       IPV4           IPV6", "st-1   (64512)   10.3.0.21/24", "st-2   (64512)   10.3.0.22/24")
    shown = "\n".join(("$ calicoctl get nodes -o wide", *rows, ""))
    other = UNKNOWN.replace("100.101.7.7", "10.3.0.23")
    assert finding("autodetect-wrong-interface", other).strength >= 0.9
    assert finding("autodetect-wrong-interface", other + shown).strength < 0.8


def test_the_link_below_a_tunnel_carries_the_registered_address() -> None:
    answer = finding(
        "autodetect-wrong-interface",
        """
        $ kubectl get nodes -o wide | awk '{print $1,$2,$6}'
        NAME STATUS INTERNAL-IP
        gnu-1 Ready 10.20.8.21
        gnu-2 Ready 10.20.8.22
        $ kubectl get nodes -o yaml | grep -e ' name: gnu' -e projectcalico.org/IPv4Address
              projectcalico.org/IPv4Address: 172.22.40.21/24
            name: gnu-1
        $ ip -d link show dev vxlan.calico
        11: vxlan.calico: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1450 qdisc noqueue state UNKNOWN mode DEFAULT
            vxlan id 4096 local 172.22.40.21 dev storage0 srcport 0 0 dstport 4789 nolearning ttl auto ageing 300
        """,
    )
    assert answer.state == "found"
    assert "storage0" in answer.objects


ACCOUNTS = """
账号 A 的 VPC（172.28.0.0/16）里有一套集群，打通账号 B 的 VPC（172.20.0.0/16）后，把一台机器 172.20.196.48 加为 node。

| 172.28.138.128 | node-to-node mesh | up    | 2021-11-09 | Established |
| 172.20.196.48  | node-to-node mesh | start | 01:50:43   | Connect     |
"""


def test_a_node_of_another_network_that_the_person_knows_is_no_odd_one() -> None:
    assert finding("autodetect-wrong-interface", ACCOUNTS).strength < 0.8


def test_an_address_at_which_a_kubelet_answers_is_a_nodes() -> None:
    test = "$ nc -zv 172.20.0.1 10250\nConnection to 172.20.0.1 10250 port [tcp/*] succeeded!\n"
    table = """
        | 172.28.138.128 | node-to-node mesh | up    | 2021-11-09 | Established |
        | 172.20.0.1     | node-to-node mesh | start | 01:50:43   | Connect     |
        """
    assert finding("autodetect-wrong-interface", table).strength >= 0.45
    assert finding("autodetect-wrong-interface", table + test).strength < 0.45


# What kube-proxy and its kin put on every node

_SERVICE = """
        [root@stork-2 ~]# kubectl get nodes -o wide
        NAME      STATUS     ROLES    AGE    VERSION   INTERNAL-IP
        stork-1   Ready      master   120d   v1.18.3   192.168.9.11
        stork-2   NotReady   <none>   120d   v1.18.3   192.168.9.12
        stork-3   Ready      <none>   120d   v1.18.3   192.168.9.13
        calico/node is not ready: BIRD is not ready: BGP not established with {missing}
        [root@stork-2 ~]# ip addr show {link}
        7: {link}: <BROADCAST,NOARP> mtu 1500 qdisc noop state DOWN group default
            inet 10.96.0.1/32 scope global {link}
            inet {address}/32 scope global {link}
"""


def test_what_kube_proxy_has_on_its_link_is_nobodys_registered_address() -> None:
    for link in ("kube-ipvs0", "nodelocaldns"):
        for address in ("192.168.9.11", "192.168.44.7"):
            shown = _SERVICE.format(missing=address, link=link, address=address)
            answer = finding("autodetect-wrong-interface", shown)
            assert answer.strength < 0.8 or link not in answer.objects, (link, address)
    shown = _SERVICE.format(missing="192.168.9.11", link="kube-ipvs0", address="192.168.9.11")
    told = judged("节点连不上 master，其他地址都通\n" + shown)
    assert told.verdict == "undetermined"
    assert "192.168.9.11/32" in told.unexplained[0].text


def test_a_link_of_kube_proxy_that_the_log_says_was_chosen() -> None:
    log = (
        "2020-05-08 10:11:12.131 [INFO][8] startup.go 256: Using autodetected IPv4 address on interface kube-ipvs0: "
        "10.96.0.10/32\n"
    )
    shown = _SERVICE.format(missing="10.96.0.10", link="kube-ipvs0", address="10.96.0.10")
    answer = finding("autodetect-wrong-interface", shown + "[root@stork-3 ~]# docker logs 5e1\n" + log)
    assert answer.strength >= 0.9
    assert "kube-ipvs0" in answer.objects


def test_a_bridge_that_every_host_has_does_not_tell_whose_it_is() -> None:
    shown = """
        [root@stork-2 ~]# calicoctl node status
        | 172.17.0.1   | node-to-node mesh | start | 09:00:00 | Connect |
        [root@stork-2 ~]# ip addr show docker0
        3: docker0: <NO-CARRIER,BROADCAST,MULTICAST,UP> mtu 1500 qdisc noqueue state DOWN
            inet 172.17.0.1/16 scope global docker0
    """
    answer = finding("autodetect-wrong-interface", shown)
    assert answer.strength >= 0.8
    assert "stork-2" not in answer.objects


RECORDS = """
$ calicoctl get node -o wide
NAME     ASN         IPV4             IPV6
heron    (unknown)   172.19.0.1/16
stork    (unknown)   10.81.4.9/21
ibis     (unknown)   10.81.4.10/21
"""


def test_a_record_with_docker_s_own_address_is_the_odd_one_among_those_of_the_others() -> None:
    answer = finding(ID, RECORDS)
    assert (answer.state, answer.strength >= LIKELY) == ("found", True)
    assert answer.culprits[0].name == "172.19.0.1"
    # a second site whose nodes really have such addresses, and one other node to compare with, say nothing
    assert finding(ID, RECORDS.replace("10.81.4.10/21", "172.19.0.7/16")).state != "found"
    assert finding(ID, RECORDS.replace("ibis     (unknown)   10.81.4.10/21\n", "")).state != "found"
