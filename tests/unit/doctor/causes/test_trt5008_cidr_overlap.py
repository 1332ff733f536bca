"""TRT5008: a range contains node addresses; disjoint ranges rule it out, an overlap without symptoms is an aside."""

from __future__ import annotations

from tests.support.doctor import finding

CONTROLLERS = """
        $ kubectl -n kube-system logs calico-kube-controllers-64f-q8n
        2023-03-30 10:10:10.100 [ERROR][1] client.go 290: Error getting cluster information config error=Get \
        "https://10.96.0.1:443/apis/crd.projectcalico.org/v1/clusterinformations/default": dial tcp \
        10.96.0.1:443: i/o timeout
"""
NODES = """
        $ kubectl get nodes -o wide
        NAME   STATUS   ROLES           AGE   VERSION   INTERNAL-IP    EXTERNAL-IP
        pve1   Ready    control-plane   3h    v1.27.3   10.244.7.11    <none>
        pve2   Ready    <none>          3h    v1.27.3   10.244.7.12    <none>
"""


def pool(cidr: str) -> str:
    return f"""
        $ calicoctl get ippool -o wide
        NAME                  CIDR              NAT    IPIPMODE   VXLANMODE   DISABLED   DISABLEBGPEXPORT   SELECTOR
        default-ipv4-ippool   {cidr}     true   Always     Never       false      false              all()
"""


def test_nodes_inside_the_pool() -> None:
    answer = finding("cidr-overlap", CONTROLLERS + NODES + pool("10.244.0.0/16"))
    assert answer.state == "found"
    assert answer.strength >= 0.9
    assert not answer.aside
    assert "10.244.0.0/16" in answer.objects


def test_nodes_inside_the_service_range() -> None:
    answer = finding(
        "cidr-overlap",
        """
        部分节点访问不了 apiserver：
        dial tcp 10.0.0.1:443: i/o timeout

        # kubectl -n kube-system get cm kubeadm-config -o yaml | grep -e podSubnet -e serviceSubnet
              podSubnet: 10.244.0.0/16
              serviceSubnet: 10.0.0.0/16
        # kubectl get nodes -o wide
        NAME   STATUS   ROLES    AGE   VERSION   INTERNAL-IP   EXTERNAL-IP
        a1     Ready    master   3h    v1.19.3   10.0.8.2      <none>
        """,
    )
    assert answer.strength >= 0.8
    assert "10.0.0.0/16" in answer.objects


def test_disjoint() -> None:
    assert finding("cidr-overlap", CONTROLLERS + NODES + pool("172.16.0.0/16")).state == "ruled-out"


def test_without_symptoms_it_is_an_aside() -> None:
    answer = finding("cidr-overlap", NODES + pool("10.244.0.0/16"))
    assert answer.aside


def test_the_time_out_of_pods_alone() -> None:
    assert finding("cidr-overlap", CONTROLLERS).state == "cannot-tell"


STATUS = """
        [root@node-3 ~]# calicoctl node status
        IPv4 BGP status
        +--------------+-------------------+-------+----------+---------------------------+
        | PEER ADDRESS |     PEER TYPE     | STATE |  SINCE   |           INFO            |
        +--------------+-------------------+-------+----------+---------------------------+
        | 10.244.7.12  | node-to-node mesh | start | 15:42:03 | Active Socket: Connection refused |
        +--------------+-------------------+-------+----------+---------------------------+
"""
BLACKHOLE = """
        [root@pve2 ~]# ip route
        default via 10.244.7.1 dev eth0
        blackhole 10.244.7.0/26 proto bird
"""
AVOIDED = """
        [root@pve2 ~]# tortie node explain
          not 10.244.7.12/24 on eth0: it lies in the pool 10.244.0.0/16, where pods live
"""


def test_a_block_that_is_owned_and_holds_node_addresses_proves_it() -> None:
    answer = finding("cidr-overlap", NODES + pool("10.244.0.0/16") + STATUS + BLACKHOLE + AVOIDED)
    assert (answer.state, answer.aside) == ("found", False)
    assert answer.strength >= 0.95


def test_either_of_them_is_strong() -> None:
    for told in (BLACKHOLE, AVOIDED):
        answer = finding("cidr-overlap", NODES + pool("10.244.0.0/16") + STATUS + told)
        assert (answer.aside, 0.9 <= answer.strength < 0.95) == (False, True)


def test_without_trouble_it_stays_an_aside() -> None:
    answer = finding("cidr-overlap", NODES + pool("10.244.0.0/16") + BLACKHOLE)
    assert (answer.state, answer.aside) == ("found", True)


def test_a_name_server_inside_of_the_pool_never_answers_pods() -> None:
    text = """
    [root@m1 ~]# cat /etc/resolv.conf
    nameserver 100.100.2.136
    [root@m1 ~]# kubectl -n kube-system logs coredns-66bff467f8-7hx2m --tail=1
    [ERROR] plugin/errors: 2 example.com. A: read udp 100.112.61.199:60114->100.100.2.136:53: i/o timeout
    [root@m1 ~]# calicoctl get ippool -o wide
    NAME                  CIDR            NAT    IPIPMODE   VXLANMODE   DISABLED   SELECTOR
    default-ipv4-ippool   100.64.0.0/10   true   Always     Never       false      all()
    """
    answer = finding("cidr-overlap", text)
    assert answer.strength >= 0.9
    assert {"100.64.0.0/10", "100.100.2.136"} <= set(answer.objects)
    assert finding("cidr-overlap", text.replace("100.64.0.0/10", "10.20.0.0/16")).state != "found"


def test_ranges_that_overlap_each_other_and_no_name_server() -> None:
    ranges = "kubeadm-config:\n    networking:\n      podSubnet: 10.96.0.0/16\n      serviceSubnet: 10.96.0.0/12\n\n"
    lookup = (
        "$ kubectl exec busybox -- nslookup kubernetes.default\n;; connection timed out; no servers could be reached\n"
    )
    assert finding("cidr-overlap", ranges).aside
    answer = finding("cidr-overlap", ranges + lookup)
    assert (answer.aside, answer.strength >= 0.8) == (False, True)
    apart = ranges.replace("podSubnet: 10.96", "podSubnet: 10.244")
    assert finding("cidr-overlap", apart + lookup).state != "found"


def test_the_internet_lies_in_no_range_of_the_cluster() -> None:
    shown = """
$ calicoctl get ippool -o wide
NAME     CIDR             NAT    IPIPMODE   VXLANMODE   DISABLED   SELECTOR
main     192.168.0.0/16   true   Always     Never       false      all()
$ kubectl get nodes -o wide
NAME   STATUS   ROLES    AGE   VERSION   INTERNAL-IP    EXTERNAL-IP   OS-IMAGE   KERNEL-VERSION   CONTAINER-RUNTIME
elm    Ready    <none>   9d    v1.27.3   192.168.7.11   <none>        Debian     6.1.0            containerd://1.7.2
$ kubectl -n kube-system get pods
NAME                READY   STATUS    RESTARTS   AGE
calico-node-7xk2p   1/1     Running   0          9d
"""
    trial = "$ kubectl exec dbg -- ping -c1 {}\n1 packets transmitted, 0 packets received, 100% packet loss\n"
    assert not finding("cidr-overlap", shown + trial.format("192.168.7.11")).aside
    assert finding("cidr-overlap", shown + trial.format("8.8.8.8")).aside


BLOCKS = """
        $ ip r | grep 10.244
        10.244.7.0/24 dev ens18 proto kernel scope link src 10.244.7.11
        blackhole 10.244.7.0/26 proto bird
"""


def test_a_nodes_address_in_a_block_and_somebody_suffers() -> None:
    answer = finding("cidr-overlap", "Pods on pve2 cannot be reached.\n" + NODES + pool("10.244.0.0/16") + BLOCKS)
    assert answer.strength >= 0.8
    assert not answer.aside


def test_a_nodes_address_in_a_block_and_nobody_complains() -> None:
    assert finding("cidr-overlap", NODES + pool("10.244.0.0/16") + BLOCKS).aside


INIT = """
        I started it with `kubeadm init --pod-network-cidr=10.244.0.0/16`.
"""


def test_the_range_that_kubeadm_was_started_with() -> None:
    assert finding("cidr-overlap", INIT + CONTROLLERS + NODES).strength >= 0.8
    typed = "$ kubeadm init --pod-network-cidr 10.244.0.0/16\n[init] Using Kubernetes version: v1.27.3\n"
    assert finding("cidr-overlap", typed + CONTROLLERS + NODES).strength >= 0.8


def test_a_range_of_kubeadms_that_was_changed_since() -> None:
    again = "Then again with --pod-network-cidr=172.20.0.0/16.\n"
    assert finding("cidr-overlap", INIT + again + CONTROLLERS + NODES).state != "found"
    assert finding("cidr-overlap", INIT + CONTROLLERS + NODES + pool("172.20.0.0/16")).state == "ruled-out"


def test_pods_that_have_their_addresses_elsewhere() -> None:
    pods = """
        NAMESPACE   NAME    READY   STATUS    RESTARTS   AGE   IP            NODE
        shop        web-0   1/1     Running   0          3h    172.20.4.9    pve2
"""
    assert finding("cidr-overlap", INIT + CONTROLLERS + NODES + pods).state != "found"


def trial(address: str) -> str:
    return f"""
        $ kubectl exec -it shell -- nc -vz -w 4 {address} 2049
        nc: connect to {address} port 2049 (tcp) timed out: Operation now in progress
        command terminated with exit code 1
"""


def test_a_machine_beside_the_nodes_inside_of_the_pool() -> None:
    answer = finding("cidr-overlap", NODES + pool("10.244.0.0/16") + trial("10.244.7.60"))
    assert answer.strength >= 0.8
    assert not answer.aside


def test_a_machine_elsewhere_is_not_in_the_way() -> None:
    assert finding("cidr-overlap", NODES + pool("10.244.0.0/16") + trial("172.31.7.60")).aside


WIDE = """
$ calicoctl get ippool -o wide
NAME     CIDR         NAT     IPIPMODE   VXLANMODE   DISABLED   SELECTOR
main     10.0.0.0/8   {nat}   {ipip}     Never       false      all()
"""
FROM_POD = """
[root@m1 ~]# kubectl exec app-0 -- curl -sv -m5 http://{name}:8080/
*   Trying 10.77.3.40:8080...
curl: (28) Connection timed out after 5001 milliseconds
"""
FROM_HOST = "[root@m1 ~]# curl -s -o /dev/null -w '%{http_code}\\n' http://10.77.3.40:8080/\n200\n"
LEFT = "[root@m1 ~]# tcpdump -ni eth0 host 10.77.3.40\n09:00:01.000001 IP 10.5.1.9.40112 > 10.77.3.40.8080: Flags [S], seq 1, length 0\n"  # noqa: E501


def outer(name: str = "crm.corp.example", nat: str = "true", ipip: str = "Always", host: str = FROM_HOST) -> str:
    return WIDE.format(nat=nat, ipip=ipip) + FROM_POD.format(name=name) + host


def test_a_service_outside_whose_address_lies_in_the_pool() -> None:
    answer = finding("cidr-overlap", outer())
    assert (answer.strength >= 0.9, answer.objects[:2]) == (True, ("10.0.0.0/8", "10.77.3.40"))
    assert finding("cidr-overlap", outer() + LEFT).strength >= 0.95
    assert finding("cidr-overlap", outer("10.77.3.40") + LEFT).strength >= 0.9
    assert finding("nat-outgoing-off", outer() + LEFT).state == "ruled-out"


def test_who_says_that_it_is_outside() -> None:
    told = (
        "10.77.3.40 is the legacy billing VM, outside of the cluster.\n",
        "10.77.3.40 是集群外的物理机。\n",
        "[root@m1 ~]# ip route get 10.77.3.40\n10.77.3.40 via 172.16.0.1 dev eth0 src 172.16.0.9 uid 0\n",
    )
    for text in told:
        assert finding("cidr-overlap", text + outer("10.77.3.40")).strength >= 0.9, text
    pods = "$ kubectl get pods -A -o wide\nNAMESPACE NAME READY STATUS RESTARTS AGE IP NODE\nx app-0 1/1 Running 0 1d 10.5.1.9 m1\n"  # noqa: E501
    assert finding("cidr-overlap", pods + outer("10.77.3.40")).strength >= 0.8


def test_a_pod_that_is_not_reached_is_none_outside() -> None:
    pods = "$ kubectl get pods -o wide\nNAME READY STATUS RESTARTS AGE IP NODE\ncrm-0 1/1 Running 0 1d 10.77.3.40 m2\n"
    assert finding("cidr-overlap", pods + outer() + LEFT).state != "found"
    # Routed without a tunnel, a packet of one pod for another looks the same.
    assert finding("cidr-overlap", outer("10.77.3.40", ipip="Never") + LEFT).strength < 0.8
    inner = outer("crm.shop.svc.cluster.local", ipip="Never")
    assert finding("cidr-overlap", inner).strength < 0.8


def test_what_nobody_reaches_or_has_no_nat_at_all() -> None:
    dead = FROM_HOST.replace("\n200\n", "\ncurl: (28) Connection timed out after 5001 milliseconds\n")
    assert finding("cidr-overlap", outer(host=dead)).state != "found"
    assert finding("cidr-overlap", outer(nat="false")).strength < 0.8


SIX = """
$ calicoctl get ippool -o wide
NAME     CIDR              NAT     IPIPMODE   VXLANMODE   DISABLED   SELECTOR
four     10.61.0.0/16      true    Always     Never       false      all()
six      {cidr}     true    Never      Always      false      all()
$ ip -6 addr show eth0
2: eth0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 state UP
    inet6 fd50:0:0:1::11/64 scope global
    inet6 fe80::1/64 scope link
Pods on other nodes cannot be reached over IPv6.
[root@w1 ~]# ip -6 route
blackhole fd50:0:0:1::/122 dev lo proto bird metric 1024 error -22 pref medium
"""


def test_ranges_of_ipv6_overlap_as_well() -> None:
    answer = finding("cidr-overlap", SIX.format(cidr="fd50::/48"))
    assert (answer.state, answer.objects[:2]) == ("found", ("fd50::/48", "fd50:0:0:1::11"))
    assert finding("cidr-overlap", SIX.format(cidr="fd61::/48")).state != "found"
    both = (
        "kubeadm-config:\n    podSubnet: 10.244.0.0/16,fd50::/56\n    serviceSubnet: 10.96.0.0/16,fd50:0:0:10::/108\n\n"
    )
    assert finding("cidr-overlap", both).state == "found"
    assert finding("cidr-overlap", both.replace("fd50:0:0:10::", "fd51::")).state != "found"


def test_a_pods_log_tells_of_a_machine_whose_address_lies_in_the_pool() -> None:
    text = """
        192.168.41.12 is our controller, a VM that is not part of the cluster.

        $ kubectl logs -n shop stock-0 | tail -1
        E0724 09:20:55.530833       1 stock.go:202] Get http://192.168.41.12/identity/: dial tcp 192.168.41.12:80: connect: connection timed out
        $ curl -s -o /dev/null -w '%{http_code}\\n' http://192.168.41.12/identity/
        200
        $ kubectl get pod -n shop -o wide
        NAME      READY   STATUS    RESTARTS   AGE   IP              NODE
        stock-0   1/1     Running   0          41m   192.168.19.70   jay
        $ calicoctl get ippool -o wide
        NAME                  CIDR             NAT    IPIPMODE   VXLANMODE   DISABLED   SELECTOR
        default-ipv4-ippool   192.168.0.0/16   true   Always     Never       false      all()
        """  # noqa: E501
    answer = finding("cidr-overlap", text)
    assert (answer.rule, answer.strength >= 0.9) == ("service-outside", True)
    assert finding("cidr-overlap", text.replace("192.168.0.0/16", "10.244.0.0/16")).state != "found"


POOL = """
$ calicoctl get ippool -o wide
NAME                  CIDR             NAT    IPIPMODE   VXLANMODE   DISABLED   SELECTOR
default-ipv4-ippool   192.168.0.0/16   true   Always     Never       false      all()
"""


def test_a_lan_and_machines_that_are_told_lie_in_the_pool() -> None:
    told = """
    The master is 192.168.86.150, and an NFS server (192.168.86.160) stands beside it.
    My local network is 192.168.86.0/24. Mounts of the NFS server from pods hang.
    """
    answer = finding("cidr-overlap", told + POOL)
    assert (answer.state, answer.rule, answer.strength >= 0.9) == ("found", "network-told", True)
    assert answer.culprits[0].name == "192.168.0.0/16"
    assert finding("cidr-overlap", told.replace("192.168.", "10.20.") + POOL).state != "found"


def test_one_machine_that_pods_do_not_get_to() -> None:
    told = "\nPods cannot reach the server 192.168.2.55 of our office network.\n"
    assert finding("cidr-overlap", told + POOL).strength >= 0.8


def test_addresses_of_pods_that_are_told_are_pods() -> None:
    told = """
    The pod on node-1 (192.168.3.4) cannot reach the pod on node-2 (192.168.5.6), it times out. My nodes have chosen
    192.168.185.0/24 and 192.168.244.0/24 for the pod networks.
    """
    assert finding("cidr-overlap", told + POOL).state != "found"


def test_a_told_network_that_nobody_suffers_from() -> None:
    told = "\nMy local network is 192.168.86.0/24, the master is 192.168.86.150.\n"
    assert finding("cidr-overlap", told + POOL).state != "found"


def test_a_network_beside_nodes_that_are_elsewhere_matters_to_whoever_goes_there() -> None:
    told = "\nPods on different nodes do not reach each other. Our office network is 192.168.10.0/24.\n"
    nodes = """
    $ kubectl get nodes -o wide
    NAME   STATUS   ROLES    AGE   VERSION    INTERNAL-IP   EXTERNAL-IP
    a1     Ready    master   40d   v1.19.16   10.61.0.11    <none>
    """
    assert finding("cidr-overlap", told + POOL + nodes).strength < 0.8
    lost = "\nPods cannot reach the office network 192.168.10.0/24.\n"
    assert finding("cidr-overlap", lost + POOL + nodes).strength >= 0.8


def test_a_range_that_is_said_to_be_in_use_elsewhere() -> None:
    told = "\nOur pod cidr is in the same range as the NAT network; pods cannot connect to 192.168.3.50.\n"
    answer = finding("cidr-overlap", told + POOL)
    assert (answer.state, answer.rule, answer.strength >= 0.8) == ("found", "overlap-told", True)
    assert finding("cidr-overlap", "\nThe pods of both nodes are in the same subnet.\n" + POOL).state != "found"
