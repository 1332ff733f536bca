"""TRT2008: kube-proxy fails and the service address with it; a time-out alone is never a claim."""

from __future__ import annotations

from tests.support.doctor import finding

TIMEOUT = (
    "2024-04-04 04:04:04.404 [ERROR][1] cni-installer/<nil> <nil>: Unable to create token for CNI kubeconfig "
    "error=Post "
    '"https://10.233.0.1:443/api/v1/namespaces/kube-system/serviceaccounts/calico-node/token": dial tcp '
    "10.233.0.1:443: "
    "i/o timeout"
)
LOG = f"$ kubectl -n kube-system logs calico-node-2lq8r -c install-cni\n{TIMEOUT}"


def test_it_crashes() -> None:
    answer = finding(
        "kube-proxy-down",
        f"""
        {LOG}
        $ kubectl -n kube-system get pod -o wide | grep -e proxy -e calico-node
        calico-node-2lq8r   0/1   Init:Error         4 (50s ago)   9m   10.7.7.3   farm-3   <none>   <none>
        kube-proxy-p9w2c    0/1   CrashLoopBackOff   6 (90s ago)   9m   10.7.7.3   farm-3   <none>   <none>
        """,
    )
    assert answer.state == "found"
    assert answer.strength >= 0.9
    assert answer.objects[0] == "kube-proxy"
    assert "farm-3" in answer.objects


def test_no_rules_although_the_api_answers() -> None:
    answer = finding(
        "kube-proxy-down",
        f"""
        节点加入后 calico 一直 Init，防火墙已关。

        {LOG}
        [root@farm-3 ~]# iptables-save -t nat | grep -c KUBE-SVC
        0
        [root@farm-3 ~]# curl -k https://10.7.7.1:6443/healthz
        ok
        """,
    )
    assert answer.strength >= 0.9


def test_conntrack_denied() -> None:
    answer = finding(
        "kube-proxy-down",
        f"""
        {LOG}
        $ kubectl -n kube-system logs kube-proxy-p9w2c
        F0404 04:00:00.000000       1 server.go:495] open /proc/sys/net/netfilter/nf_conntrack_max: permission denied
        """,
    )
    assert answer.strength >= 0.8


def test_time_out_alone() -> None:
    assert finding("kube-proxy-down", LOG).strength < 0.8


def test_rules_are_there() -> None:
    answer = finding(
        "kube-proxy-down",
        f"""
        {LOG}
        # iptables-save -t nat | grep 'default/kubernetes:https'
        -A KUBE-SEP-ABC -p tcp -m comment --comment "default/kubernetes:https" -m tcp -j DNAT --to-destination \
        10.7.7.1:6443
        """,
    )
    assert answer.state == "ruled-out"


def test_ebpf_is_another_matter() -> None:
    answer = finding(
        "kube-proxy-down",
        f"""
        {LOG}
        $ kubectl get felixconfiguration default -o yaml | grep bpf
          bpfEnabled: true
        # iptables-save | grep -c KUBE-SVC
        0
        """,
    )
    assert answer.state == "ruled-out"


UNREAD = """
        worker-9 # journalctl -u kube-proxy -n1 --no-pager
        Mar 02 11:20:01 worker-9 kube-proxy[811]: E0302 11:20:01.110000 811 reflector.go:140] Failed to watch \
*v1.Service: failed to list *v1.Service: Get "https://172.22.0.9:6443/api/v1/services?limit=500": dial tcp \
172.22.0.9:6443: connect: no route to host
"""
VIP_FAILS = """
        2023-03-02 11:20:05.190 [ERROR][1] cni-installer/<nil> <nil>: Unable to create token for CNI kubeconfig \
error=Post "https://10.96.0.1:443/api/v1/namespaces/kube-system/serviceaccounts/calico-node/token": dial tcp \
10.96.0.1:443: i/o timeout
"""


def test_a_proxy_that_cannot_read_services_and_a_search_that_finds_no_rule() -> None:
    answer = finding(
        "kube-proxy-down",
        VIP_FAILS
        + UNREAD
        + """
        [root@worker-9 ~]# iptables-save -t nat | grep 'default/kubernetes:https'
        [root@worker-9 ~]# curl -sk https://172.22.0.20:6443/livez
        ok
        """,
    )
    assert answer.strength >= 0.9
    assert "kube-proxy" in answer.objects


def test_a_proxy_that_could_not_read_services_once_and_has_its_rules() -> None:
    answer = finding(
        "kube-proxy-down",
        VIP_FAILS
        + UNREAD
        + """
        [root@worker-9 ~]# iptables-save -t nat | grep -c KUBE-SVC
        140
        """,
    )
    assert answer.strength < 0.8


def test_agents_that_are_ready_do_not_miss_a_proxy() -> None:
    answer = finding(
        "kube-proxy-down",
        VIP_FAILS
        + """
        $ kubectl get po -n kube-system -o wide
        NAME                 READY   STATUS    RESTARTS   AGE   IP           NODE
        calico-node-4d7zn    1/1     Running   0          88d   10.48.2.10   pm1
        calico-node-hk5rw    1/1     Running   0          88d   10.48.2.11   pn1
        kube-apiserver-pm1   1/1     Running   0          88d   10.48.2.10   pm1
        """,
    )
    assert answer.strength < 0.8
