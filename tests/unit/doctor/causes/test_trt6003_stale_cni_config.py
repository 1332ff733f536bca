"""TRT6003: a foreign file that sorts first, or another plugin's words."""

# ruff: noqa: E501 (pasted lines stay as long as they are)

from __future__ import annotations

import pytest
from tests.support.doctor import finding, fixes

PODS = """
$ kubectl get pods -n kube-system
NAME                READY   STATUS              RESTARTS   AGE
calico-node-8tq2w   1/1     Running             0          12m
coredns-7b9f-22x9   0/1     ContainerCreating   0          12m
"""


def test_a_foreign_file_sorts_first() -> None:
    answer = finding(
        "stale-cni-config",
        f"""{PODS}
[root@lab1 ~]# ls -la /etc/cni/net.d
total 20
drwxr-xr-x 2 root root 4096 Jun  1 10:00 .
drwxr-xr-x 3 root root 4096 May  1 10:00 ..
-rw-r--r-- 1 root root  500 May  1 10:00 00-weave.conflist
-rw-r--r-- 1 root root  660 Jun  1 10:00 10-calico.conflist
-rw------- 1 root root 2700 Jun  1 10:00 calico-kubeconfig
""",
    )
    assert answer.state == "found"
    assert answer.strength >= 0.9
    assert "00-weave.conflist" in answer.objects


def test_flannels_words_on_a_calico_cluster() -> None:
    answer = finding(
        "stale-cni-config",
        f"""从 flannel 换成 calico 之后 coredns 起不来。
{PODS}
  Warning  FailedCreatePodSandBox  5s  kubelet  Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox "11": open /run/flannel/subnet.env: no such file or directory
""",
    )
    assert answer.strength >= 0.9
    assert "flannel" in answer.objects


def test_a_bridge_of_the_old_cni() -> None:
    answer = finding(
        "stale-cni-config",
        'network for pod "web-0": networkPlugin cni failed to set up pod "web-0_default" network: failed to set bridge addr: '
        '"cni0" already has an IP address different from 10.244.3.1/24',
    )
    assert answer.strength >= 0.9
    assert "cni0" in answer.objects


def test_only_calicos_files_rule_it_out() -> None:
    answer = finding("stale-cni-config", f"{PODS}\n$ ls /etc/cni/net.d\n10-calico.conflist\ncalico-kubeconfig\n")
    assert answer.state == "ruled-out"


def test_a_file_that_sorts_later_is_harmless() -> None:
    answer = finding(
        "stale-cni-config",
        f"{PODS}\n$ ls -1 /etc/cni/net.d\n10-calico.conflist\n87-podman-bridge.conflist\ncalico-kubeconfig\n",
    )
    assert answer.strength < 0.8


def test_multus_calls_calico() -> None:
    answer = finding(
        "stale-cni-config", f"{PODS}\n$ ls -1 /etc/cni/net.d\n00-multus.conf\n10-calico.conflist\ncalico-kubeconfig\n"
    )
    assert answer.strength < 0.8


def test_an_older_conf_in_the_folder_of_the_prompt() -> None:
    answer = finding(
        "stale-cni-config",
        """
5月 12 09:10:03 old-7 kubelet[811]: E0512 09:10:03.980377     811 remote_runtime.go:201] "RunPodSandbox from runtime service failed" err="rpc error: code = Unknown desc = failed to set up sandbox container \\"b5\\" network for pod \\"x\\": networkPlugin cni failed to set up pod \\"x_default\\" network: context deadline exceeded"
[root@old-7 ~]# cd /etc/cni/net.d
[root@old-7 net.d]# ls
10-calico.conf  10-calico.conflist  calico-kubeconfig
[root@old-7 net.d]# grep etcd_endpoints 10-calico.conf
    "etcd_endpoints": "http://10.1.1.1:2379",
[root@old-7 net.d]# grep datastore_type 10-calico.conflist
      "datastore_type": "kubernetes",
""",
    )
    assert answer.strength >= 0.9
    assert "10-calico.conf" in answer.objects


def test_an_older_conf_where_nothing_fails_is_no_claim() -> None:
    answer = finding(
        "stale-cni-config", "[root@old-7 ~]# ls /etc/cni/net.d\n10-calico.conf  10-calico.conflist  calico-kubeconfig"
    )
    assert answer.strength < 0.8


def test_pods_on_the_bridge_of_a_file_that_sorts_later() -> None:
    evidence = """
$ kubectl get pods -A -o wide
NAMESPACE     NAME                READY   STATUS    RESTARTS   AGE   IP            NODE   NOMINATED NODE   READINESS GATES
kube-system   calico-node-8tq2w   1/1     Running   0          9m    10.20.0.7     lab1   <none>           <none>
kube-system   coredns-7b9f-22x9   1/1     Running   0          12m   10.88.0.9     lab1   <none>           <none>
$ kubectl get ippool -o jsonpath='{.items[*].spec.cidr}'
172.30.0.0/16
[root@lab1 ~]# ls /etc/cni/net.d
10-calico.conflist  87-podman-bridge.conflist  calico-kubeconfig
[root@lab1 ~]# ip -br addr
lo               UNKNOWN        127.0.0.1/8
eth0             UP             10.20.0.7/24
cni-podman0      UP             10.88.0.1/16
"""
    answer = finding("stale-cni-config", evidence)
    assert answer.strength >= 0.9
    assert "87-podman-bridge.conflist" in answer.objects
    assert "kubectl -n kube-system delete pod coredns-7b9f-22x9" in fixes("stale-cni-config", evidence)
    assert finding("stale-cni-config", evidence.replace("10.88.0.9", "172.30.4.9")).strength < 0.8


def test_flannel_on_a_cluster_of_its_own_is_no_leftover() -> None:
    answer = finding(
        "stale-cni-config",
        """
$ kubectl get pods -n kube-flannel
NAME                    READY   STATUS             RESTARTS   AGE
kube-flannel-ds-8tq2w   0/1     CrashLoopBackOff   6          12m
  Warning  FailedCreatePodSandBox  5s  kubelet  Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox "11": open /run/flannel/subnet.env: no such file or directory
[root@lab1 ~]# ls /etc/cni/net.d
10-flannel.conflist
""",
    )
    assert answer.strength < 0.8


def test_the_fix_moves_the_file_that_was_seen() -> None:
    commands = fixes(
        "stale-cni-config", f"{PODS}\n[root@lab1 ~]# ls /etc/cni/net.d\n00-weave.conflist  10-calico.conflist\n"
    )
    assert commands[0] == "ssh lab1 'mkdir -p ~/cni-old && mv /etc/cni/net.d/00-weave.conflist ~/cni-old/'"


LEFT = """
NAME                          READY   STATUS              RESTARTS   AGE   IP            NODE
kube-flannel-ds-amd64-2dk6p   1/1     Running             0          38m   10.50.3.41    kw1
web-5c9b7c9f6d-h7k2w          0/1     ContainerCreating   0          11m   <none>        kw1

  Warning  FailedCreatePodSandBox  11m  kubelet, kw1  Failed to create pod sandbox: rpc error: code = Unknown desc = networkPlugin cni failed to set up pod "web-5c9b7c9f6d-h7k2w_default" network: stat /var/lib/calico/nodename: no such file or directory: check that the calico/node container is running and has mounted /var/lib/calico/
[root@kw1 ~]# ls /etc/cni/net.d/
10-calico.conflist  10-flannel.conflist  calico-kubeconfig
"""


def test_calico_itself_may_be_what_was_left_behind() -> None:
    answer = finding("stale-cni-config", LEFT)
    assert answer.strength >= 0.9
    assert answer.rule == "calico-left-behind"
    assert "10-calico.conflist" in answer.objects
    assert fixes("stale-cni-config", LEFT)[0].endswith("mv /etc/cni/net.d/10-calico.conflist ~/cni-old/'")


def test_calico_that_runs_was_not_left_behind() -> None:
    running = "calico-node-8tbgd   1/1   Running   0   38m   10.50.3.41   kw1\n"
    assert finding("stale-cni-config", LEFT.replace("web-5c9b", f"{running}web-5c9b", 1)).strength < 0.8


BRIDGED = """
$ kubectl get pods -o wide
NAME    READY   STATUS    RESTARTS   AGE   IP            NODE
web-1   1/1     Running   0          12m   10.244.3.17   n3
{other}
$ calicoctl get ippool
NAME                  CIDR           SELECTOR
default-ipv4-ippool   10.48.0.0/16   all()
[root@n3 ~]# ip -br a
cni0             UP             10.244.3.1/24
"""


def test_one_pod_on_a_bridge_and_another_one_in_the_pool() -> None:
    answer = finding("stale-cni-config", BRIDGED.format(other="web-0   1/1     Running   0   12m   10.48.133.5   n1"))
    assert answer.strength >= 0.9
    assert "cni0" in answer.objects


def test_a_bridge_where_nothing_shows_calico_at_work() -> None:
    answer = finding("stale-cni-config", BRIDGED.format(other="web-0   1/1     Running   0   12m   10.244.1.5   n1"))
    assert answer.strength < 0.8


FORMER = """
  Warning  FailedCreatePodSandBox  18m  kubelet  Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox "759c": plugin type="calico" failed (add): error getting ClusterInformation: Get "https://[10.96.0.1]:443/apis/crd.projectcalico.org/v1/clusterinformations/default": x509: certificate signed by unknown authority
[root@a01 ~]# kubectl get pods -A
NAMESPACE     NAME                               READY   STATUS              RESTARTS   AGE
kube-system   coredns-565d847f94-s7v9c           0/1     ContainerCreating   0          20m
kube-system   kube-apiserver-a01                 1/1     Running             3          20m
kube-system   kube-proxy-5f2lh                   1/1     Running             0          20m
"""


def test_a_plugin_that_is_called_where_no_calico_runs_was_left_behind() -> None:
    answer = finding("stale-cni-config", FORMER)
    assert (answer.rule, answer.strength >= 0.9) == ("before-calico", True)
    agent = "kube-system   calico-node-x5t9n                  1/1     Running             0          20m\n"
    assert finding("stale-cni-config", FORMER + agent).state != "found"
    assert finding("stale-cni-config", FORMER.replace("get pods -A", "get pods -A | grep -v calico")).state != "found"


@pytest.mark.parametrize(
    "change",
    [
        ("get pods -A", "get pods -A --field-selector status.phase=Pending"),
        ("error getting ClusterInformation", "stat /var/lib/calico/nodename: no such file or directory"),
        (
            "[root@a01 ~]# kubectl",
            "● calico-node.service - calico node\n   Active: active (running)\n[root@a01 ~]# kubectl",
        ),
    ],
)
def test_a_list_of_some_pods_or_a_calico_of_systemd_proves_nothing(change: tuple[str, str]) -> None:
    assert finding("stale-cni-config", FORMER.replace(*change)).strength < 0.8


WEAVE_PODS = """
root@km:~# kubectl get pods -n kube-system
NAME                      READY   STATUS              RESTARTS   AGE
coredns-558bd4d5db-8zwgk  0/1     ContainerCreating   0          22m
kube-apiserver-km         1/1     Running             0          22m
weave-net-hb4xr           2/2     Running             1          20m
"""
CALLS_CALICO = """
root@km:~# kubectl describe pod coredns-558bd4d5db-8zwgk -n kube-system | tail -1
  Warning  FailedCreatePodSandBox  2m11s (x93 over 22m)  kubelet  Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox "a36c": plugin type="calico" failed (add): stat /var/lib/calico/nodename: no such file or directory: check that the calico/node container is running and has mounted /var/lib/calico/
"""


def test_calico_is_called_where_only_another_plugin_is_installed() -> None:
    answer = finding("stale-cni-config", WEAVE_PODS + CALLS_CALICO)
    assert (answer.state, answer.rule, answer.strength >= 0.9) == ("found", "anothers-pods", True)


def test_calico_is_called_where_it_runs_beside_another_plugin() -> None:
    both = WEAVE_PODS + "calico-node-x2x7z   0/1   Init:0/3   0   22m\n"
    assert finding("stale-cni-config", both + CALLS_CALICO).rule != "anothers-pods"


def test_a_list_that_was_searched_for_the_other_plugin_shows_no_calico() -> None:
    part = WEAVE_PODS.replace("-n kube-system\n", "-n kube-system | grep -v calico\n")
    assert finding("stale-cni-config", part + CALLS_CALICO).strength < 0.8


CRIO = """
$ kubectl get pods -A -o wide
NAMESPACE       NAME                      READY   STATUS    RESTARTS   AGE   IP            NODE
calico-system   calico-node-bk7tm         1/1     Running   0          21m   172.22.1.11   cp1
kube-system     coredns-6d4b75cb6d-4m5p7  1/1     Running   0          30m   10.85.0.2     cp1
$ ls /etc/cni/net.d
100-crio-bridge.conf  10-calico.conflist  calico-kubeconfig
$ ip -br a show cni0
cni0             UP             10.85.0.1/16
"""


def test_pods_on_the_bridge_that_the_runtime_brought_along() -> None:
    answer = finding("stale-cni-config", CRIO)
    assert (answer.state, answer.rule, answer.strength >= 0.9) == ("found", "on-anothers-bridge", True)


def test_a_bridge_without_a_file_and_without_pools_says_nothing_of_addresses() -> None:
    assert finding("stale-cni-config", CRIO.replace("100-crio-bridge.conf  ", "")).rule != "on-anothers-bridge"
