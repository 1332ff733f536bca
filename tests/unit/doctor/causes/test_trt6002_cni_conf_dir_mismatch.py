"""TRT6002: the runtime's directory is not the DaemonSet's."""

# ruff: noqa: E501 (pasted lines stay as long as they are)

from __future__ import annotations

from tests.support.doctor import finding

REFUSED = (
    "  Warning  FailedCreatePodSandBox  9s  kubelet  Failed to create pod sandbox: rpc error: code = Unknown desc = failed "
    'to setup network for sandbox "0a": plugin type="calico" failed (add): error getting ClusterInformation: connection is '
    "unauthorized: Unauthorized"
)


def test_crictl_and_the_daemonset_disagree() -> None:
    answer = finding(
        "cni-conf-dir-mismatch",
        f"""
$ kubectl describe pod app-1 | tail -1
{REFUSED}
root@mk-2:~# crictl info | grep -i -e confDir -e binDir
      "binDir": "/opt/cni/bin",
      "confDir": "/var/snap/runtime/args/cni-network",
$ kubectl -n kube-system get ds calico-node -o yaml | grep -B2 cni-net-dir
      - hostPath:
          path: /etc/cni/net.d
        name: cni-net-dir
""",
    )
    assert answer.state == "found"
    assert answer.strength >= 0.9
    assert "/var/snap/runtime/args/cni-network" in answer.objects


def test_two_kubeconfigs_of_different_age() -> None:
    answer = finding(
        "cni-conf-dir-mismatch",
        f"""
升级之后只有这台节点有问题。
$ kubectl describe pod app-1 | tail -1
{REFUSED}
[root@n5 ~]# ls -l --time-style=full-iso /etc/cni/net.d
total 8
-rw-r--r-- 1 root root  680 2024-04-02 10:00:00.000000000 +0000 10-calico.conflist
-rw------- 1 root root 2711 2024-04-02 10:00:01.000000000 +0000 calico-kubeconfig
[root@n5 ~]# ls -l --time-style=full-iso /var/lib/rancher/cni/net.d
total 8
-rw-r--r-- 1 root root  680 2023-11-20 08:00:00.000000000 +0000 10-calico.conflist
-rw------- 1 root root 2711 2023-11-20 08:00:01.000000000 +0000 calico-kubeconfig
[root@n5 ~]# grep conf_dir /etc/containerd/config.toml
      conf_dir = "/var/lib/rancher/cni/net.d"
""",
    )
    assert answer.state == "found"
    assert answer.strength >= 0.8
    assert "/var/lib/rancher/cni/net.d" in answer.objects


def test_one_directory_rules_it_out() -> None:
    answer = finding(
        "cni-conf-dir-mismatch",
        """
$ grep conf_dir /etc/containerd/config.toml
      conf_dir = "/etc/cni/net.d"
$ kubectl -n kube-system get ds calico-node -o yaml | grep -B2 cni-net-dir
      - hostPath:
          path: /etc/cni/net.d
        name: cni-net-dir
""",
    )
    assert answer.state == "ruled-out"


def test_a_401_alone_is_no_claim() -> None:
    assert finding("cni-conf-dir-mismatch", f"$ kubectl describe pod app-1\n{REFUSED}").strength < 0.8
