"""TRT2008: kube-proxy fails and the service address with it; a time-out alone is never a claim."""

from __future__ import annotations

import pytest
from tests.support.doctor import finding
from tests.support.fixes import fixes

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


def test_a_unit_that_is_dead() -> None:
    evidence = f"""
        {LOG}
        [root@farm-3 ~]# systemctl status kube-proxy
        ● kube-proxy.service - Kubernetes Kube-Proxy Server
           Loaded: loaded (/etc/systemd/system/kube-proxy.service; enabled; vendor preset: enabled)
           Active: failed (Result: exit-code) since Tue 2023-03-28 15:45:10 UTC; 3min ago
        """
    answer = finding("kube-proxy-down", evidence)
    assert answer.strength >= 0.9
    assert {"kube-proxy", "kube-proxy.service", "farm-3"} <= set(answer.objects)
    commands = fixes("kube-proxy-down", evidence)
    assert "ssh farm-3 'systemctl enable --now kube-proxy'" in commands
    assert not any("rollout restart ds/kube-proxy" in command for command in commands)


def test_a_failed_unit_alone_is_claimed_and_one_that_is_off_is_not() -> None:
    status = "$ systemctl is-active kube-proxy\n{}"
    assert finding("kube-proxy-down", status.format("failed")).strength >= 0.8
    assert finding("kube-proxy-down", status.format("inactive")).strength < 0.8


def test_a_unit_that_there_is_not_or_that_runs_again() -> None:
    missing = "$ systemctl status kube-proxy\nUnit kube-proxy.service could not be found."
    assert finding("kube-proxy-down", missing).state == "cannot-tell"
    asked = "$ systemctl is-active kube-proxy\n{}\n"
    again = asked.format("failed") + asked.format("active")
    assert finding("kube-proxy-down", again).state == "cannot-tell"


def test_a_unit_beside_pods_that_run() -> None:
    answer = finding(
        "kube-proxy-down",
        """
        $ systemctl is-active kube-proxy
        inactive
        $ kubectl -n kube-system get pod -o wide
        NAME               READY   STATUS    RESTARTS   AGE   IP         NODE
        kube-proxy-p9w2c   1/1     Running   0          9m    10.7.7.3   farm-3
        """,
    )
    assert answer.state == "ruled-out"


def test_the_fix_names_the_pod_and_restarts_it() -> None:
    commands = fixes(
        "kube-proxy-down",
        f"""
        {LOG}
        $ kubectl -n kube-system get pod -o wide | grep -e proxy -e calico-node
        calico-node-2lq8r   0/1   Init:Error         4 (50s ago)   9m   10.7.7.3   farm-3   <none>   <none>
        kube-proxy-p9w2c    0/1   CrashLoopBackOff   6 (90s ago)   9m   10.7.7.3   farm-3   <none>   <none>
        """,
    )
    assert "kubectl -n kube-system delete pod kube-proxy-p9w2c" in commands
    assert "kubectl -n kube-system delete pod calico-node-2lq8r" in commands


def test_a_container_beside_kubelet() -> None:
    evidence = f"""
        {LOG}
        root@farm-3:~# docker ps -a | grep kube-proxy
        4c2f1e77d5a0   rancher/hyperkube:v1.18.20   "/opt/rke/entrypoi..."   6 minutes ago   {{}}   kube-proxy
        """
    answer = finding("kube-proxy-down", evidence.format("Restarting (255) 20 seconds ago"))
    assert answer.strength >= 0.9
    assert "ssh farm-3 'docker restart kube-proxy'" in fixes(
        "kube-proxy-down", evidence.format("Restarting (255) 20 seconds ago")
    )
    assert finding("kube-proxy-down", evidence.format("Up 6 minutes")).strength < 0.8


def test_a_proxy_that_waits_for_the_lock_of_another_program_is_not_down() -> None:
    text = """
$ kubectl get pod -n kube-system -o wide
NAME                READY   STATUS    RESTARTS   AGE   IP          NODE
calico-node-r8x2m   0/1     Running   2          40d   10.8.1.17   k-17
kube-proxy-4mmz9    1/1     Running   0          40d   10.8.1.17   k-17
$ kubectl -n kube-system logs kube-proxy-4mmz9 --tail=2
E0311 07:19:02.511201       1 proxier.go:1584] "Failed to execute iptables-restore" err="exit status 4 (Another app is \
currently holding the xtables lock. Stopped waiting after 5s.\\n)"
I0311 07:19:02.511240       1 proxier.go:859] "Sync failed" retryingTime="30s"
""".replace("\\\n", "")
    assert finding("kube-proxy-down", text).state != "found"


def test_the_pod_of_another_node_is_not_to_blame() -> None:
    def pods(node: str) -> str:
        return f"""
        {LOG}
        $ kubectl -n kube-system get pod -o wide | grep -e proxy -e calico-node
        calico-node-2lq8r   0/1   Init:Error   4 (50s ago)   9m   10.7.7.3   farm-3   <none>   <none>
        kube-proxy-p9w2c    1/1   Running      0             9m   10.7.7.2   {node}   <none>   <none>
        kube-proxy-x7x2q    0/1   Pending      0             9m   <none>     farm-9   <none>   <none>
        """

    assert finding("kube-proxy-down", pods("farm-3")).strength < 0.8
    assert finding("kube-proxy-down", pods("farm-2")).strength >= 0.9


def test_cut_off_from_the_server_itself() -> None:
    exited = f"""
        [root@farm-3 ~]# crictl ps -a
        CONTAINER       IMAGE           CREATED          STATE    NAME          ATTEMPT   POD ID
        1a2b3c4d5e6f7   0bb39497ab33b   2 minutes ago    Exited   kube-proxy    14        aa11bb22cc33d
        [root@farm-3 ~]# crictl logs 9a8b7c
        {TIMEOUT}
        """
    lists = """
        [root@farm-3 ~]# crictl logs 1a2b3c
        E0610 07:11:20.371120  1 reflector.go:147] failed to list *v1.Service: Get \
        "https://10.7.7.1:6443/api/v1/services": dial tcp 10.7.7.1:6443: i/o timeout
        """
    assert finding("kube-proxy-down", exited).strength >= 0.9
    assert finding("kube-proxy-down", exited + lists).strength < 0.8


def test_an_error_that_is_over_by_now() -> None:
    error = (
        f'E0224 11:19:02.004119  1 proxier.go:1613] "Failed to execute iptables-restore" err="exit status 4"\n{LOG}\n'
    )
    rule = """
        [root@farm-3 ~]# iptables-save -t nat | grep default/kubernetes:https
        -A KUBE-SEP-QFPQ3W -p tcp -m comment --comment "default/kubernetes:https" -j DNAT --to-destination 10.7.7.1:6443
        """
    assert finding("kube-proxy-down", error).strength >= 0.9
    assert finding("kube-proxy-down", error + rule).state == "ruled-out"


def test_a_listing_that_was_cut_lacks_others_too() -> None:
    def listing(*others: str) -> str:
        rows = "\n".join(f"{name}-farm-1   1/1   Running   0   9m   10.7.7.1   farm-1" for name in others)
        head = "NAME   READY   STATUS   RESTARTS   AGE   IP   NODE"
        agent = "calico-node-2lq8r   0/1   Init:Error   4   9m   10.7.7.3   farm-3"
        return f"{LOG}\n$ kubectl -n kube-system get pods -o wide\n{head}\n{agent}\n{rows}\n"

    whole = listing("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
    assert finding("kube-proxy-down", whole).strength >= 0.8
    assert finding("kube-proxy-down", listing("etcd", "kube-apiserver")).strength < 0.8


def test_ipvs_and_nftables_have_no_rules_of_iptables() -> None:
    none = f"{LOG}\n[root@farm-3 ~]# iptables-save -t nat | grep -c KUBE-SVC\n0\n"
    ipvs = """
        [root@farm-3 ~]# ipvsadm -Ln
        IP Virtual Server version 1.2.1 (size=4096)
        Prot LocalAddress:Port Scheduler Flags
          -> RemoteAddress:Port           Forward Weight ActiveConn InActConn
        TCP  10.233.0.1:443 rr
          -> 10.7.7.1:6443                Masq    1      0          3
        """
    nft = """
        [root@farm-3 ~]# nft list table ip kube-proxy | grep 10.233.0.1
                10.233.0.1 . tcp . 443 : goto service-2QRHZV4L-default/kubernetes/tcp/https
        """
    assert finding("kube-proxy-down", none).strength >= 0.8
    assert finding("kube-proxy-down", none + ipvs).state == "ruled-out"
    assert finding("kube-proxy-down", none + nft).state == "ruled-out"


def test_a_table_of_ipvs_without_its_command() -> None:
    log = 'Get "https://10.96.0.1:443/api/v1/nodes/n1": dial tcp 10.96.0.1:443: i/o timeout\n\n'
    head = """IP Virtual Server version 1.2.1 (size=4096)
Prot LocalAddress:Port Scheduler Flags
  -> RemoteAddress:Port           Forward Weight ActiveConn InActConn
"""
    row = "TCP  10.96.0.1:443 rr\n  -> 10.1.0.4:6443                Masq    1      0          0\n"
    assert finding("kube-proxy-down", log + head).strength >= 0.8
    assert finding("kube-proxy-down", log + head + row).state == "ruled-out"


OPERATOR = (
    '{"level":"error","logger":"setup","msg":"unable to start manager","error":"Get '
    '\\"https://10.17.0.1:443/api?timeout=32s\\": dial tcp 10.17.0.1:443: i/o timeout"}'
)


@pytest.mark.parametrize(
    "setting",
    [
        "disable-kube-proxy: true",
        'disable-kube-proxy: "true"',
        "--disable-kube-proxy=true",
        "kubeadm init --skip-phases=addon/kube-proxy",
    ],
)
def test_a_cluster_that_was_installed_without_it(setting: str) -> None:
    answer = finding(
        "kube-proxy-down",
        f"$ cat config.yaml\n{setting}\n$ kubectl logs -n tigera-operator tigera-operator-x\n{OPERATOR}",
    )
    assert (answer.state, answer.rule) == ("found", "switched-off")
    assert answer.strength >= 0.9


def test_without_it_on_purpose() -> None:
    text = f"$ cat config.yaml\ndisable-kube-proxy: true\n$ kubectl logs x\n{OPERATOR}\n"
    text += "$ kubectl get felixconfig -o yaml\n  bpfEnabled: true\n"
    assert finding("kube-proxy-down", text).state == "ruled-out"


def test_a_setting_that_took_no_effect() -> None:
    pods = "$ kubectl get pods -n kube-system\nkube-proxy-p9w2c   1/1   Running   0   9m\n"
    assert (
        finding("kube-proxy-down", f"$ cat config.yaml\ndisable-kube-proxy: true\n{pods}{OPERATOR}").rule
        != "switched-off"
    )


@pytest.mark.parametrize(
    "told",
    [
        "There are no KUBE-SVC rules at all on this node, on the others there are.",
        "ipvsadm -Ln shows nothing on that node, on the masters it lists all services.",
        "The KUBE-SERVICES chain is missing on this node.",
        "这个节点 iptables 里一条 KUBE-SVC 都没有，其他节点都有。",
    ],
)
def test_missing_rules_that_are_only_told(told: str) -> None:
    answer = finding("kube-proxy-down", f"Calico does not come up on one worker. {told}\n\n{LOG}")
    assert (answer.state, answer.rule, answer.strength >= 0.7) == ("found", "no-rules", True)


@pytest.mark.parametrize(
    "told",
    [
        "There are no KUBE-SVC rules missing.",
        "Are there no KUBE-SVC rules on that node?",
        "There are no KUBE-SVC rules since kube-proxy runs in IPVS mode.",
        "No iptables rules for services blocked.",
        "iptables 没有拦截 service 的规则。",
    ],
)
def test_rules_that_are_not_told_to_be_missing(told: str) -> None:
    answer = finding("kube-proxy-down", f"Calico does not come up on one worker. {told}\n\n{LOG}")
    assert answer.rule != "no-rules"
    assert answer.strength < 0.7


def test_what_is_shown_counts_more_than_what_is_told() -> None:
    shown = "# iptables-save -t nat | grep -c KUBE-SVC\n140\n"
    answer = finding("kube-proxy-down", f"There are no KUBE-SVC rules on this node.\n\n{LOG}\n{shown}")
    assert answer.state == "ruled-out"


ASTRAY = """
        kube-proxy's log:
        E0612 02:11:09.330011       1 reflector.go:140] vendor/k8s.io/client-go/informers/factory.go:150: Failed to \
watch *v1.Service: failed to list *v1.Service: Get "https://172.31.9.4:6443/api/v1/services?limit=500": dial tcp \
172.31.9.4:6443: connect: connection refused

        NAME                               READY   STATUS     RESTARTS   AGE    IP            NODE
        calico-node-6f2zd                  0/1     Init:0/3   0          18m    172.31.9.41   k8s-w1
        kube-apiserver-k8s-m               1/1     Running    0          25m    {server}   k8s-m
        kube-proxy-x4p9j                   1/1     Running    0          102d   172.31.9.41   k8s-w1
"""


def test_a_proxy_that_asks_where_no_api_server_is() -> None:
    answer = finding("kube-proxy-down", VIP_FAILS + ASTRAY.format(server="172.31.9.40"))
    assert (answer.rule, answer.strength >= 0.8) == ("services-unread", True)
    assert "kubectl -n kube-system edit cm kube-proxy" in fixes(
        "kube-proxy-down", VIP_FAILS + ASTRAY.format(server="172.31.9.40")
    )


def test_a_proxy_that_asks_the_api_server_there_is() -> None:
    assert finding("kube-proxy-down", VIP_FAILS + ASTRAY.format(server="172.31.9.4")).strength < 0.8
    shown = "        $ {asked} | grep server:\n            server: https://172.31.9.4:6443\n"
    balanced = VIP_FAILS + ASTRAY.format(server="172.31.9.40") + shown
    assert finding("kube-proxy-down", balanced.format(asked="cat /etc/kubernetes/admin.conf")).strength < 0.8
    own = "kubectl -n kube-system get cm kube-proxy -o yaml"
    assert finding("kube-proxy-down", balanced.format(asked=own)).strength >= 0.8


def test_somebody_elses_log_is_not_kube_proxys() -> None:
    other = ASTRAY.format(server="172.31.9.40").replace("kube-proxy's log:", "the scheduler's log:")
    assert finding("kube-proxy-down", VIP_FAILS + other).strength < 0.8


def test_all_of_it_is_told() -> None:
    dead = "The service address 10.96.0.1:443 does not answer on the bad node, {direct}. "
    crash = "The kube-proxy pod on that node is in CrashLoopBackOff."
    text = dead.format(direct="the API at https://172.30.1.5:6443 answers ok") + crash
    answer = finding("kube-proxy-down", text)
    assert (answer.rule, answer.strength >= 0.8) == ("not-running", True)
    assert "10.96.0.1" in answer.objects
    assert finding("kube-proxy-down", crash).strength < 0.8
    gateway = "The gateway 10.1.0.1 does not answer. " + crash
    assert finding("kube-proxy-down", gateway).strength < 0.8


LISTED = """
        $ kubectl get pods -n kube-system -o wide | egrep '{asked}'
        calico-node-2w9jk   1/1   Running    0   70d   10.80.0.1   kn1   <none>   <none>
        calico-node-mlqzc   0/1   Init:0/3   0   62m   10.80.0.4   kn4   <none>   <none>
        kube-proxy-7zzdx    1/1   Running    0   70d   10.80.0.1   kn1   <none>   <none>
"""


def test_a_node_without_kube_proxy_in_a_listing_that_was_searched_for_both() -> None:
    answer = finding("kube-proxy-down", VIP_FAILS + LISTED.format(asked="calico-node|kube-proxy"))
    assert (answer.rule, answer.strength >= 0.9) == ("not-there", True)
    assert "kn4" in answer.objects
    assert finding("kube-proxy-down", VIP_FAILS + LISTED.format(asked="kn1|mlqzc")).strength < 0.8


ENDED = """
        $ kubectl -n kube-system logs {pod}
        E0303 10:11:02.411400       1 run.go:74] "command failed" err="failed complete: unrecognized feature gate: \
SupportIPVSProxyMode"
"""


def test_it_ends_at_its_start() -> None:
    answer = finding("kube-proxy-down", VIP_FAILS + ENDED.format(pod="kube-proxy-t5x9w"))
    assert (answer.rule, answer.strength >= 0.9) == ("ends-at-once", True)
    assert "unrecognized feature gate" in answer.why.en
    assert finding("kube-proxy-down", VIP_FAILS + ENDED.format(pod="kube-scheduler-m1")).strength < 0.8
    assert finding("kube-proxy-down", ENDED.format(pod="kube-proxy-t5x9w")).strength < 0.8
