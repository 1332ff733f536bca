"""TRT6006: files are right and calico-node is ready, yet the runtime has loaded nothing."""

# ruff: noqa: E501 (pasted lines stay as long as they are)

from __future__ import annotations

from tests.support.doctor import finding, fixes

READY = """
$ kubectl -n kube-system get pod -o wide | grep calico-node
calico-node-77xqz   1/1     Running   0          22m   10.3.3.9   rx9   <none>   <none>
"""
CONDITION = (
    "  Ready            False   Tue, 02 Apr 2024 10:00:00 +0000   Tue, 02 Apr 2024 09:40:00 +0000   KubeletNotReady   "
    "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns "
    "error: cni plugin not initialized"
)


def test_the_directory_was_removed_under_it() -> None:
    answer = finding(
        "runtime-cni-watch-lost",
        f"""{READY}
$ kubectl describe node rx9 | grep -i ready
{CONDITION}
[root@rx9 ~]# journalctl -u containerd | grep -i cni | tail -1
Apr 02 09:31:10 rx9 containerd[812]: time="2024-04-02T09:31:10Z" level=error msg="failed to reload cni configuration after receiving fs change event(REMOVE        \\"/etc/cni/net.d\\")" error="cni config load failed: no network config found in /etc/cni/net.d: cni plugin not initialized: failed to load cni config"
""",
    )
    assert answer.state == "found"
    assert answer.strength >= 0.9
    assert "containerd" in answer.objects


def test_the_file_is_newer_than_the_runtime() -> None:
    answer = finding(
        "runtime-cni-watch-lost",
        f"""kubeadm reset 之后重新加入，节点一直 NotReady。
{READY}
$ kubectl describe node rx9 | grep Ready
{CONDITION}
[root@rx9 ~]# ls -la --time-style=full-iso /etc/cni/net.d
total 16
-rw-r--r-- 1 root root  660 2024-04-02 09:38:00.000000000 +0000 10-calico.conflist
-rw------- 1 root root 2700 2024-04-02 09:38:00.000000000 +0000 calico-kubeconfig
[root@rx9 ~]# systemctl show containerd -p ActiveEnterTimestamp
ActiveEnterTimestamp=Mon 2024-03-18 08:00:00 UTC
""",
    )
    assert answer.state == "found"
    assert answer.strength >= 0.8


def test_normal_while_calico_node_starts() -> None:
    answer = finding(
        "runtime-cni-watch-lost",
        f"{READY.replace('1/1     Running', '0/1     Init:1/3')}\n$ kubectl describe node rx9\n{CONDITION}",
    )
    assert answer.state == "ruled-out"


def test_the_condition_alone_is_no_claim() -> None:
    assert finding("runtime-cni-watch-lost", f"$ kubectl describe node rx9\n{CONDITION}").strength < 0.8


def test_a_missing_plugin_is_another_cause() -> None:
    answer = finding(
        "runtime-cni-watch-lost",
        f'{READY}\n{CONDITION}\nfailed to setup network: failed to find plugin "calico" in path [/opt/cni/bin]',
    )
    assert answer.state == "ruled-out"


def test_the_fix_restarts_what_the_node_runs() -> None:
    nodes = """
$ kubectl get nodes -o wide
NAME   STATUS     ROLES    AGE   VERSION        INTERNAL-IP   EXTERNAL-IP   OS-IMAGE   KERNEL-VERSION   CONTAINER-RUNTIME
rx9    NotReady   <none>   20d   v1.27.4+k3s1   10.3.3.9      <none>        Debian 12  6.1.0            containerd://1.7.1-k3s1
"""
    commands = fixes("runtime-cni-watch-lost", f"{READY}{nodes}$ kubectl describe node rx9 | grep Ready\n{CONDITION}")
    assert any(command.endswith("'systemctl restart k3s-agent'") for command in commands)


def reload_failed(
    event: str, error: str = "no network config found in /etc/cni/net.d: cni plugin not initialized"
) -> str:
    return (
        'May 09 21:34:46 rx9 containerd[1063]: time="2024-05-09T21:34:46Z" level=error msg="failed to reload cni configuration '
        f'after receiving fs change event({event})" error="cni config load failed: {error}: failed to load cni config"\n'
    )


def test_both_spellings_of_the_directory_that_went_away() -> None:
    for event in (r"REMOVE        \"/etc/cni/net.d\"", r"\"/etc/cni/net.d\": REMOVE", r"RENAME \"/etc/cni/net.d\""):
        assert finding("runtime-cni-watch-lost", reload_failed(event)).strength >= 0.9


def test_a_file_that_went_away_is_no_directory() -> None:
    for file in (".kubernetes-cni-keep", "10-calico.conflist"):
        for event in (rf"REMOVE        \"/etc/cni/net.d/{file}\"", rf"\"/etc/cni/net.d/{file}\": REMOVE"):
            assert finding("runtime-cni-watch-lost", reload_failed(event)).strength < 0.8


def test_a_file_that_cannot_be_parsed_was_read() -> None:
    broken = "failed to load CNI config list file /etc/cni/net.d/10-calico.conflist: error parsing configuration list: unexpected end of JSON input"
    listed = "[root@rx9 ~]# ls /etc/cni/net.d\n10-calico.conflist  calico-kubeconfig\n"
    text = READY + listed + reload_failed(r"\"/etc/cni/net.d/calico-kubeconfig\": WRITE", broken)
    assert finding("runtime-cni-watch-lost", text).state == "ruled-out"


def test_kubelet_itself_reads_the_directory_anew_all_the_time() -> None:
    said = (
        "E1103 15:40:22.902114   21877 kubelet.go:2187] Container runtime network not ready: NetworkReady=false "
        "reason:NetworkPluginNotReady message:docker: network plugin is not ready: cni config uninitialized\n"
    )
    files = "[root@rx9 ~]# ls /etc/cni/net.d\n10-calico.conflist  calico-kubeconfig\n"
    answer = finding("runtime-cni-watch-lost", READY + said + files)
    assert (answer.state, answer.rule) == ("ruled-out", "kubelet-reads")
