"""TRT1004: the stored address is on no link any more, or belongs to somebody else by now."""

from __future__ import annotations

from tests.support.doctor import finding, fixes, picture

from tortie.doctor.causes.cause import LIKELY, PROVEN
from tortie.doctor.causes.nodes.trt1004_node_ip_changed import CAUSE

ID = "node-ip-changed"

BIND = """
$ kubectl logs -n kube-system calico-node-lmn0p --tail=2
bird: Mesh_10_33_0_4: Socket error: bind: Address not available
bird: Mesh_10_33_0_5: Socket error: bind: Address not available
"""
EXCHANGED = """
$ kubectl get nodes -o wide
NAME   STATUS   ROLES    AGE   VERSION   INTERNAL-IP   EXTERNAL-IP   OS-IMAGE   KERNEL-VERSION   CONTAINER-RUNTIME
x-1    Ready    master   9d    v1.21.3   10.33.0.20    <none>        Debian 11  5.10.0           containerd://1.5.2
x-2    Ready    <none>   9d    v1.21.3   10.33.0.21    <none>        Debian 11  5.10.0           containerd://1.5.2
$ kubectl -n kube-system logs calico-node-x2x2x
2022-02-02 02:02:02.002 [INFO][9] startup/startup.go 425: Determined node name: x-2
2022-02-02 02:02:02.102 [INFO][9] startup/startup.go 584: Using autodetected IPv4 address on interface ens3: 10.33.0.21/24
2022-02-02 02:02:02.120 [WARNING][9] startup/startup.go 1166: Calico node 'x-1' is already using the IPv4 address 10.33.0.21.
2022-02-02 02:02:02.120 [WARNING][9] startup/utils.go 48: Terminating
"""  # noqa: E501


def test_binding_fails_and_the_lease_is_new() -> None:
    text = BIND + "Mar 01 10:00:00 h1 dhclient[12]: bound to 10.33.0.77\n听说昨天路由器重启后这台机器的 IP 变了。\n"
    answer = finding(ID, text)
    assert answer.strength >= LIKELY


def test_the_annotation_is_on_no_interface() -> None:
    text = (
        """
    $ kubectl get node st-4 -o yaml | grep -e IPv4Address -e address
        projectcalico.org/IPv4Address: 192.168.8.14/24
    $ kubectl get node st-4 -o wide
    NAME   STATUS   ROLES    AGE    VERSION   INTERNAL-IP    EXTERNAL-IP   OS-IMAGE   KERNEL-VERSION   CONTAINER-RUNTIME
    st-4   Ready    <none>   300d   v1.22.1   192.168.8.31   <none>        Ubuntu 20  5.4.0            docker://20.10.7
    root@st-4:~# ip -br -4 addr
    lo               UNKNOWN        127.0.0.1/8
    enp1s0           UP             192.168.8.31/24
    """
        + BIND
    )
    answer = finding(ID, text)
    assert answer.strength >= PROVEN
    assert {"192.168.8.14", "st-4"} <= set(answer.objects)


def test_exchanged_addresses_blame_the_outdated_record() -> None:
    answer = finding(ID, EXCHANGED)
    assert answer.strength >= PROVEN
    assert {"x-1", "10.33.0.21"} <= set(answer.objects)
    assert finding("duplicate-node-ip", EXCHANGED).state == "ruled-out"
    assert finding("stale-node-entry", EXCHANGED).state == "ruled-out"


def test_the_outdated_record_is_corrected_before_the_other_agent_restarts() -> None:
    seen = picture("x-1:~$ ip -br -4 addr\nens3   UP   10.33.0.20/22\n" + EXCHANGED)
    steps = CAUSE.fix(seen, CAUSE.judge(seen))
    assert "kubectl annotate node x-1 projectcalico.org/IPv4Address=10.33.0.20/22 " in steps[0].command
    assert steps[0].risk == "disruptive"
    assert "x-2" in steps[-1].command


def test_leases_are_spoken_of_where_there_are_some() -> None:
    told = "节点的 DHCP 租约到期后 IP 变了。\n"
    for text, expected in ((BIND, False), (BIND + told, True)):
        seen = picture(text)
        prevent = CAUSE.prevent_for(seen, CAUSE.judge(seen))
        assert any("lease" in words.en for words in prevent) == expected


def test_the_address_of_a_whole_network_is_no_hosts() -> None:
    text = EXCHANGED.replace("address 10.33.0.21.", "address 10.33.0.0.")
    for cause in (ID, "duplicate-node-ip", "stale-node-entry"):
        assert finding(cause, text).state != "found"


def test_a_stored_address_that_is_still_there_rules_it_out() -> None:
    text = """
    $ calicoctl get node st-4 -o wide
    NAME   ASN       IPV4              IPV6
    st-4   (64512)   192.168.8.14/24
    root@st-4:~# ip -br -4 addr
    lo               UNKNOWN        127.0.0.1/8
    enp1s0           UP             192.168.8.31/24
    enp2s0           UP             192.168.8.14/24
    """
    assert finding(ID, text).strength < LIKELY


def test_the_symptom_alone_is_no_claim() -> None:
    assert finding(ID, "BIRD is not ready: BGP not established with 10.33.0.4").state != "found"


LOST_PEER = """
$ kubectl get nodes -o wide
NAME   STATUS   ROLES    AGE   VERSION   INTERNAL-IP   EXTERNAL-IP   OS-IMAGE   KERNEL-VERSION   CONTAINER-RUNTIME
x-1    Ready    master   9d    v1.21.3   10.33.0.20    <none>        Debian 11  5.10.0           containerd://1.5.2
x-2    Ready    <none>   9d    v1.21.3   10.33.0.21    <none>        Debian 11  5.10.0           containerd://1.5.2
[root@x-1 ~]# calicoctl node status
| PEER ADDRESS |     PEER TYPE     | STATE |  SINCE   |                      INFO                      |
| 10.33.0.99   | node-to-node mesh | start | 11:00:00 | Connect Socket: Host is unreachable            |
"""
LINKS = "root@x-2:~# ip -br -4 addr\nlo   UNKNOWN   127.0.0.1/8\nens3   UP   10.33.0.21/24\n"


def test_peers_that_still_call_the_old_address() -> None:
    answer = finding(ID, LOST_PEER + LINKS)
    assert (answer.rule, answer.strength) == ("peers-call-the-old", LIKELY)
    assert answer.objects[:3] == ("10.33.0.99", "10.33.0.21", "x-2")
    assert finding("autodetect-wrong-interface", LOST_PEER + LINKS).strength < LIKELY


def test_an_address_of_the_nodes_own_network_may_be_an_older_one_or_a_second_links() -> None:
    assert finding(ID, LOST_PEER).strength < LIKELY
    assert finding("autodetect-wrong-interface", LOST_PEER).strength < LIKELY
    second = LINKS + "ens4   UP   10.33.0.99/24\n"
    assert finding(ID, LOST_PEER + second).strength < LIKELY
    assert finding("autodetect-wrong-interface", LOST_PEER + second).strength >= LIKELY


def test_the_annotation_that_grep_left_of_a_described_node() -> None:
    described = (
        "$ kubectl describe node x-2 | grep -i calico\nAnnotations:   projectcalico.org/IPv4Address: 10.33.0.99/24\n"
    )
    assert finding(ID, LOST_PEER + LINKS + described).strength >= PROVEN
    assert finding(ID, LOST_PEER + LINKS + described.replace("0.99", "0.21")).strength < PROVEN


def test_a_contested_address_that_no_node_has_may_be_one_that_moves() -> None:
    text = EXCHANGED.replace("10.33.0.21/24", "10.33.0.100/24").replace("address 10.33.0.21.", "address 10.33.0.100.")
    assert finding(ID, EXCHANGED).strength >= PROVEN
    assert finding(ID, text).strength < LIKELY


MOVED = """
$ calicoctl get nodes -o wide
NAME   ASN       IPV4              IPV6
x-1    (64512)   192.168.7.20/24
x-2    (64512)   192.168.7.21/24
$ kubectl get nodes -o wide
NAME   STATUS   ROLES    AGE   VERSION   INTERNAL-IP   EXTERNAL-IP
x-1    Ready    master   9d    v1.21.3   10.33.0.20    <none>
x-2    Ready    <none>   9d    v1.21.3   10.33.0.21    <none>
Readiness probe failed: calico/node is not ready: BIRD is not ready: BGP not established with 192.168.7.21
"""


def test_a_whole_network_that_people_say_is_the_old_one() -> None:
    for told in (
        "机房搬迁，网段从 192.168.7.x 变成 10.33.0.x，所有节点都改了 IP。\n",
        "The IP addresses of all nodes changed from 192.168.7.0/24 to 10.33.0.0/24.\n",
    ):
        assert finding(ID, told + MOVED).strength >= LIKELY
        assert finding("autodetect-wrong-interface", told + MOVED).strength < LIKELY
    # Without such a word a second link is likelier; and the new network is not the old one.
    assert finding("autodetect-wrong-interface", MOVED).strength >= LIKELY
    back = "The IP addresses of all nodes changed from 10.33.0.0/24 to 192.168.7.0/24.\n"
    assert finding("autodetect-wrong-interface", back + MOVED).strength >= LIKELY


def test_all_addresses_of_the_host_in_one_line() -> None:
    record = (
        "$ kubectl describe node x-2 | grep -E 'IPv4Address|InternalIP'\n"
        "                    projectcalico.org/IPv4Address: 192.168.124.131/24\n  InternalIP:  192.168.124.140\n"
        "BIRD is not ready: BGP not established with 192.168.124.130\n"
    )
    own = "[root@x-2 ~]# hostname -I\n192.168.124.140 172.17.0.1 10.244.104.0\n"
    assert finding(ID, record + own).strength >= PROVEN
    assert finding(ID, record + own.replace("172.17.0.1", "192.168.124.131")).state != "found"  # still there
    assert finding(ID, record + own.replace("x-2", "x-9")).strength < LIKELY  # another host's


_BIND = "Jan  7 11:33:54 [localhost] docker: bird: Mesh_203_0_113_9: Socket error: bind: Address not available\n"
_OWN = "# ip a s eth0\n2: eth0: <UP> mtu 1500 state UP\n    inet 10.77.5.6/18 brd 10.77.63.255 scope global eth0\n"


def test_a_public_address_that_is_written_out_and_on_no_link() -> None:
    forms = {
        "/etc/systemd/system/calico-node.service 里\n  -e IP=8.9.10.11 \\\n  -e FELIX_LOGSEVERITYSCREEN=info \\\n\n":
            ("/etc/systemd/system/calico-node.service", "systemctl restart calico-node.service"),
        "# grep IP= /etc/systemd/system/calico-node.service\n  -e IP=8.9.10.11 \\\n":
            ("/etc/systemd/system/calico-node.service", "systemctl restart calico-node.service"),
        "# cat /etc/calico/calico.env\nIP=8.9.10.11\n": ("/etc/calico/calico.env", ""),
        "# grep -A1 'name: IP$' /opt/net/calico.yaml\n            - name: IP\n              value: \"8.9.10.11\"\n":
            ("/opt/net/calico.yaml", "kubectl apply -f /opt/net/calico.yaml"),
    }  # fmt: skip
    for text, (file, command) in forms.items():
        answer = finding("node-ip-changed", f"{_BIND}\n{text}\n{_OWN}")
        assert {"8.9.10.11", file} <= set(answer.objects), text
        assert "1:1 NAT" in answer.why.en
        assert "8.9.10.11" in answer.why.zh
        commands = fixes("node-ip-changed", f"{_BIND}\n{text}\n{_OWN}")
        assert not any("set env" in one for one in commands), text
        assert not command or any(command in one for one in commands), text


def test_an_address_that_is_written_out_and_there() -> None:
    text = "# cat /etc/calico/calico.env\nIP=10.77.5.6\n"
    assert "/etc/calico/calico.env" not in finding("node-ip-changed", f"{_BIND}\n{text}\n{_OWN}").objects


def test_a_move_as_it_is_told_in_chinese() -> None:
    text = """
机房搬迁，节点 IP 从 192.168.10.x 换成了 172.30.5.x，calico 还是老 IP：

[root@k1 ~]# calicoctl get node -o wide
NAME   ASN       IPV4               IPV6
k1     (64512)   192.168.10.41/24
k2     (64512)   192.168.10.42/24
[root@k1 ~]# kubectl get node -o wide
NAME   STATUS   ROLES    AGE    VERSION   INTERNAL-IP
k1     Ready    master   400d   v1.19.8   172.30.5.41
k2     Ready    <none>   400d   v1.19.8   172.30.5.42
"""
    assert finding("node-ip-changed", text).strength >= 0.9
    assert finding("autodetect-wrong-interface", text).strength < 0.8
