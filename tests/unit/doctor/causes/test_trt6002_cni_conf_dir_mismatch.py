"""TRT6002: the runtime's directory is not the DaemonSet's."""

# ruff: noqa: E501 (pasted lines stay as long as they are)

from __future__ import annotations

from tests.support.doctor import finding, fixes

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


def test_a_link_on_a_good_node_does_not_excuse_the_bad_one() -> None:
    answer = finding(
        "cni-conf-dir-mismatch",
        f"""
$ kubectl describe pod app-1 | tail -1
{REFUSED}
[root@bad-1 ~]# crictl info | grep confDir
      "confDir": "/etc/cni/net.d",
$ kubectl -n kube-system get ds calico-node -o yaml | grep -B2 cni-net-dir
      - hostPath:
          path: /srv/cni
        name: cni-net-dir
[root@good-1 ~]# ls -ld /etc/cni/net.d
lrwxrwxrwx 1 root root 8 Mar 14  2023 /etc/cni/net.d -> /srv/cni
""",
    )
    assert answer.strength >= 0.9
    assert "/etc/cni/net.d" in answer.objects


def test_the_link_of_the_node_itself_rules_it_out() -> None:
    answer = finding(
        "cni-conf-dir-mismatch",
        """
[root@bad-1 ~]# crictl info | grep confDir
      "confDir": "/etc/cni/net.d",
[root@bad-1 ~]# kubectl -n kube-system get ds calico-node -o yaml | grep -B2 cni-net-dir
      - hostPath:
          path: /srv/cni
        name: cni-net-dir
[root@bad-1 ~]# ls -ld /etc/cni/net.d
lrwxrwxrwx 1 root root 8 Mar 14  2023 /etc/cni/net.d -> /srv/cni
""",
    )
    assert answer.state == "ruled-out"


def test_a_query_that_answers_with_the_path_alone() -> None:
    answer = finding(
        "cni-conf-dir-mismatch",
        """
[root@c3 ~]# crio config 2>/dev/null | grep network_dir
network_dir = "/etc/cni/net.d/"
[root@c3 ~]# kubectl get ds calico-node -n kube-system -o jsonpath='{.spec.template.spec.volumes[?(@.name=="cni-net-dir")].hostPath.path}'
/srv/k8s/cni
""",
    )
    assert answer.strength >= 0.9
    assert "/srv/k8s/cni" in answer.objects


def test_the_older_of_two_files_is_read() -> None:
    files = """
[root@c3 ~]# ls -l /etc/cni/net.d/calico-kubeconfig /srv/cni/calico-kubeconfig
-rw------- 1 root root 2840 Nov  1 03:29 /etc/cni/net.d/calico-kubeconfig
-rw------- 1 root root 2840 Nov  7 16:50 /srv/cni/calico-kubeconfig
[root@c3 ~]# date
Tue Nov  7 17:00:00 CST 2023
[root@c3 ~]# grep conf_dir /etc/containerd/config.toml
"""
    older = finding("cni-conf-dir-mismatch", f'{REFUSED}\n{files}      conf_dir = "/etc/cni/net.d"')
    assert older.strength >= 0.9
    assert older.objects[0] == "/etc/cni/net.d"


def test_the_fix_links_the_directories_and_restarts_the_runtime_of_that_node() -> None:
    commands = fixes(
        "cni-conf-dir-mismatch",
        """
[root@c3 ~]# kubectl get nodes -o wide
NAME   STATUS   ROLES    AGE   VERSION   INTERNAL-IP   EXTERNAL-IP   OS-IMAGE   KERNEL-VERSION   CONTAINER-RUNTIME
c3     Ready    <none>   20d   v1.23.4   10.7.0.3      <none>        Fedora 36  5.17.5           cri-o://1.23.2
[root@c3 ~]# crio config 2>/dev/null | grep network_dir
network_dir = "/etc/cni/net.d/"
[root@c3 ~]# kubectl get ds calico-node -n kube-system -o jsonpath='{.spec.template.spec.volumes[?(@.name=="cni-net-dir")].hostPath.path}'
/srv/k8s/cni
""",
    )
    assert commands[0] == "ssh 10.7.0.3 'mv /etc/cni/net.d /etc/cni/net.d.old && ln -s /srv/k8s/cni /etc/cni/net.d'"
    assert "ssh 10.7.0.3 'systemctl restart crio'" in commands


def test_microk8s_writes_its_folder_as_a_variable() -> None:
    answer = finding(
        "cni-conf-dir-mismatch",
        f"""
{REFUSED}
kb1$ ls -ld /etc/cni/net.d; ls -l /etc/cni/net.d
drwxr-xr-x 2 root root 4096 Feb 14  2021 /etc/cni/net.d
-rw-r--r-- 1 root root  713 May 21 08:20 10-calico.conflist
-rw------- 1 root root 2749 May 23 03:02 calico-kubeconfig
kb1$ grep conf_dir /var/snap/microk8s/current/args/containerd-template.toml
    conf_dir = "${{SNAP_DATA}}/args/cni-network"
""",
    )
    assert answer.strength >= 0.8
    assert {"/etc/cni/net.d", "/var/snap/microk8s/current/args/cni-network"} <= set(answer.objects)


EVENT = """
  Warning  FailedKillPod  63s (x417 over 91m)  kubelet  error killing pod: failed to "KillPodSandbox" for "5a0e" with KillPodSandboxError: "rpc error: code = Unknown desc = failed to destroy network for sandbox \\"9b31\\": plugin type=\\"calico\\" failed (delete): error getting ClusterInformation: connection is unauthorized: Unauthorized"
"""
BAD = """
[root@k7 ~]# ls -ld /etc/cni/net.d
drwxr-xr-x 2 root root 4096 Mar  2 09:14 /etc/cni/net.d
"""
GOOD = """
[root@k3 ~]# ls -ld /etc/cni/net.d
lrwxrwxrwx 1 root root 18 Jan 12 16:20 /etc/cni/net.d -> /var/lib/cni/net.d
"""


def test_a_link_on_good_machines_is_a_folder_on_the_bad_one() -> None:
    answer = finding("cni-conf-dir-mismatch", EVENT + BAD + GOOD)
    assert (answer.state, answer.rule, answer.strength >= 0.9) == ("found", "link-lost", True)
    assert {"/etc/cni/net.d", "/var/lib/cni/net.d"} <= set(answer.objects)


def test_folders_everywhere_are_no_lost_link() -> None:
    assert finding("cni-conf-dir-mismatch", EVENT + BAD + BAD.replace("k7", "k3")).state == "cannot-tell"


def test_two_copies_need_no_clock_to_be_compared() -> None:
    copies = """
    [root@k7 ~]# ls -l /etc/cni/net.d /var/lib/cni/net.d
    /etc/cni/net.d:
    -rw------- 1 root root 2710 Mar  2 09:14 calico-kubeconfig

    /var/lib/cni/net.d:
    -rw------- 1 root root 2710 May 20 11:40 calico-kubeconfig
    """
    answer = finding("cni-conf-dir-mismatch", EVENT + copies)
    assert (answer.rule, answer.strength >= 0.9) == ("two-copies", True)


def test_the_link_is_made_anew() -> None:
    commands = fixes("cni-conf-dir-mismatch", EVENT + BAD + GOOD)
    assert any("ln -s /var/lib/cni/net.d /etc/cni/net.d" in command for command in commands)
