"""TRT2012: `network is unreachable` for the service address."""

# ruff: noqa: E501 - evidence stands as people paste it

from __future__ import annotations

import pytest
from tests.support.doctor import finding, picture
from tests.support.fixes import fixes

from tortie.doctor.judgement.judge import judge

UNREACHABLE = (
    '2021-07-07 07:07:07.777 [FATAL][1] cni-installer: error=Get "https://10.96.0.1:443/api": dial tcp 10.96.0.1:443: '
    "connect: network is unreachable"
)


def test_no_default() -> None:
    answer = finding(
        "no-default-route",
        f"""
        iso-4# crictl logs 55d
        {UNREACHABLE}
        iso-4# ip route
        192.168.56.0/24 dev enp0s8 proto kernel scope link src 192.168.56.14
        """,
    )
    assert answer.state == "found"
    assert answer.strength >= 0.95
    assert "10.96.0.1" in answer.objects


def test_the_line_alone_is_clear() -> None:
    answer = finding("no-default-route", f"内网隔离环境，日志：\n{UNREACHABLE}")
    assert answer.strength >= 0.9


def test_the_kernel_was_asked() -> None:
    answer = finding(
        "no-default-route",
        """
        $ kubectl logs calico-node-x -c install-cni
        dial tcp 10.43.0.1:443: connect: network is unreachable
        [root@z ~]# ip route get 10.43.0.1
        RTNETLINK answers: Network is unreachable
        """,
    )
    assert answer.strength >= 0.95


def test_a_time_out_is_not_it() -> None:
    answer = finding("no-default-route", "$ kubectl logs calico-node-x\ndial tcp 10.96.0.1:443: i/o timeout")
    assert answer.state == "ruled-out"


def test_another_address_is_not_the_service() -> None:
    answer = finding("no-default-route", "dial tcp 151.101.1.6:443: connect: network is unreachable")
    assert answer.strength < 0.8


def test_the_node_is_where_the_route_was_asked_and_not_where_kubectl_ran() -> None:
    answer = finding(
        "no-default-route",
        """
        [root@admin-1 ~]# kubectl logs -n kube-system calico-node-zz9zz --tail=1
        2020-05-28 07:44:19.037 [INFO][8] startup.go 373: Hit error connecting to datastore - retry error=Get \
https://10.96.0.1:443/api/v1/nodes/foo: dial tcp 10.96.0.1:443: connect: network is unreachable
        [root@edge-4 ~]# ip route get 10.96.0.1
        RTNETLINK answers: Network is unreachable
        """,
    )
    assert answer.strength >= 0.9
    assert "edge-4" in answer.objects
    assert "admin-1" not in answer.objects


def test_the_route_is_added_where_it_is_missing() -> None:
    commands = fixes(
        "no-default-route",
        f"""
        iso-4# crictl logs 55d
        {UNREACHABLE}
        iso-4# ip route
        192.168.56.0/24 dev enp0s8 proto kernel scope link src 192.168.56.14
        """,
    )
    assert "ssh iso-4 'ip route add 10.96.0.1/32 dev enp0s8'" in commands


def test_another_error_is_told_in_the_readers_language() -> None:
    answer = finding("no-default-route", "$ kubectl logs calico-node-x\ndial tcp 10.96.0.1:443: i/o timeout")
    assert "a time-out" in answer.why.en
    assert "超时" in answer.why.zh


def test_the_route_is_there_by_now() -> None:
    pods = "calico-node-4kq2z   0/1   CrashLoopBackOff   9   34m   192.168.56.14   iso-4   <none>   <none>\n"
    table = "# ip route\n{}192.168.56.0/24 dev enp0s8 proto kernel scope link src 192.168.56.14\n"
    full = table.format("default via 192.168.56.1 dev enp0s8\n")
    assert finding("no-default-route", f"{pods}{UNREACHABLE}\n{full}").strength < 0.8
    assert finding("no-default-route", f"{pods}{UNREACHABLE}\n{table.format('')}").strength >= 0.9


PODS = """\
$ kubectl get pods -A -o wide
NAMESPACE     NAME                    READY   STATUS              RESTARTS   AGE   IP           NODE
default       shop-5d8f4f88b-9xk2p    0/1     ContainerCreating   0          26m   <none>       box-b
kube-system   calico-node-6k9np       1/1     Running             1          2d    10.77.0.2    box-b
Warning  FailedCreatePodSandBox  4s (x99 over 25m)  kubelet  Failed to create pod sandbox: rpc error: code = Unknown \
desc = failed to setup network for sandbox "c929c2851f89": error getting ClusterInformation: Get \
"https://[10.152.183.1]:443/apis/crd.projectcalico.org/v1/clusterinformations/default": \
dial tcp 10.152.183.1:443: connect: network is unreachable
"""
IP_R = "{}\n10.77.0.0/24 dev ens9 proto kernel scope link src 10.77.0.2\nblackhole 10.1.111.128/26 proto 80\n"
ROUTE_N = """\
{}
Kernel IP routing table
Destination     Gateway         Genmask         Flags Metric Ref    Use Iface
10.77.0.0       0.0.0.0         255.255.255.0   U     0      0        0 ens9
"""
TABLES = [
    IP_R.format("root@box-b:~# ip r"),
    IP_R.format("root@box-b:~# ip -4 route ls"),
    IP_R.format("root@box-b:~# ip route show table main"),
    IP_R.format("$ ssh box-b 'ip r'"),
    ROUTE_N.format("root@box-b:~# /sbin/route -n"),
    ROUTE_N.format("root@box-b:~# netstat -rn"),
    ROUTE_N.format("路由表如下："),
]


@pytest.mark.parametrize("table", TABLES)
def test_agents_that_started_before_the_route_went_do_not_hide_it(table: str) -> None:
    answer = finding("no-default-route", PODS + table)
    assert (answer.strength >= 0.95, answer.say) == (True, "no-default")
    judged = judge(picture(PODS + table))
    assert [one.cause.id for one in judged.causes] == ["no-default-route"]


def test_a_route_that_covers_services_is_a_route() -> None:
    covered = IP_R.format("root@box-b:~# ip r") + "10.152.0.0/16 dev ens9 scope link\n"
    assert finding("no-default-route", PODS + covered).strength < 0.8
    filtered = IP_R.format("root@box-b:~# ip r | grep -v default")
    assert finding("no-default-route", PODS + filtered).say == "unreachable"


GATEWAY = """
        root@iso-4:~# tcpdump -nni cali77aa01
        10:10:10.101010 ARP, Request who-has 169.254.1.1 tell 10.88.4.7, length 28
        10:10:11.101010 ARP, Request who-has 169.254.1.1 tell 10.88.4.7, length 28
        root@iso-4:~# ip route
        {}192.168.56.0/24 dev bond0 proto kernel scope link src 192.168.56.14
        10.88.4.7 dev cali77aa01 scope link
"""


def test_pods_gateway_is_silent_without_a_default_route() -> None:
    answer = finding("no-default-route", GATEWAY.format(""))
    assert (answer.state, answer.strength >= 0.95) == ("found", True)
    assert "iso-4" in answer.objects
    assert "ip route add default dev bond0" in str(fixes("no-default-route", GATEWAY.format("")))


def test_a_pods_own_default_route_is_not_the_nodes() -> None:
    inside = """
        / # ip r
        default via 169.254.1.1 dev eth0
        169.254.1.1 dev eth0 scope link
"""
    assert finding("no-default-route", inside + GATEWAY.format("")).strength >= 0.95


def test_with_a_default_route_the_silence_has_another_reason() -> None:
    text = GATEWAY.format("default via 192.168.56.1 dev bond0\n        ")
    assert finding("no-default-route", text).state != "found"


RULES = """
vm-7 ~ # iptables-save -t nat | grep 14.0.0.1/32
-A KUBE-SERVICES -d 14.0.0.1/32 -p tcp -m comment --comment "default/kubernetes:https cluster IP" -m tcp --dport 443 -j KUBE-SVC-NPX46M4PTMTKRN6Y
"""
BARE = """
vm-7 ~ # ip ro
192.168.56.0/24 dev enp0s8 proto kernel scope link src 192.168.56.14
"""


def cut(rest: str) -> str:
    said = 'Unable to create token for CNI kubeconfig error=Post "https://14.0.0.1:443/api/v1": dial tcp 14.0.0.1:443: '
    return f"vm-7 ~ # crictl logs 55d\n{said}{rest}\n"


def test_the_end_of_the_line_is_lost_and_the_range_is_a_public_one() -> None:
    answer = finding("no-default-route", cut("connect: ne") + RULES + BARE)
    assert answer.strength >= 0.95
    assert answer.objects[0] == "14.0.0.1"


def test_the_range_may_be_named_by_its_setting() -> None:
    answer = finding(
        "no-default-route", cut("connect: netw") + "$ cat kubeadm.yaml\nserviceSubnet: 14.0.0.0/16\n" + BARE
    )
    assert answer.strength >= 0.95


@pytest.mark.parametrize("rest", ["connect: no", "connect: conn", "connect: connection ref", "i/o tim", "co"])
def test_other_errors_that_are_cut_are_others(rest: str) -> None:
    assert finding("no-default-route", cut(rest) + RULES + BARE).state != "found"


def test_a_public_address_that_is_asked_at_443_is_no_service() -> None:
    assert finding("no-default-route", cut("connect: ne") + BARE).state != "found"


def test_the_address_of_a_balancer_is_not_the_services_own() -> None:
    outside = RULES.replace("cluster IP", "loadbalancer IP")
    assert finding("no-default-route", cut("connect: ne") + outside + BARE).state != "found"
