"""TRT6004: the runtime names plugin and directory; other plugins are another cause."""

from __future__ import annotations

from tests.support.doctor import finding, fixes


def event(plugin: str, folder: str) -> str:
    return (
        "  Warning  FailedCreatePodSandBox  2s (x8 over 1m)  kubelet  Failed to create pod sandbox: rpc error: code = "
        f'Unknown desc = failed to setup network for sandbox "ee": failed to find plugin "{plugin}" in path [{folder}]'
    )


def test_the_event_names_the_directory() -> None:
    answer = finding("cni-binary-missing", f"$ kubectl describe pod a-1 | tail -1\n{event('calico', '/usr/lib/cni')}")
    assert answer.state == "found"
    assert answer.strength >= 0.9
    assert "/usr/lib/cni" in answer.objects
    assert "calico" in answer.objects


def test_the_binary_lies_elsewhere() -> None:
    answer = finding(
        "cni-binary-missing",
        f"""
calico-node 都是 1/1，但所有新 Pod 都起不来。
$ kubectl describe pod a-1 | tail -1
{event("calico", "/usr/libexec/cni")}
[root@c8 ~]# grep -n bin_dir /etc/containerd/config.toml
54:      bin_dir = "/usr/libexec/cni"
[root@c8 ~]# ls -l /opt/cni/bin
total 60000
-rwxr-xr-x 1 root root 39771200 Jan  2 10:00 calico
-rwxr-xr-x 1 root root 39771200 Jan  2 10:00 calico-ipam
""",
    )
    assert answer.strength >= 0.95
    assert "/usr/libexec/cni" in answer.objects


def test_install_cni_finds_no_directory() -> None:
    answer = finding(
        "cni-binary-missing",
        """
        $ kubectl logs calico-node-z -c install-cni
        2023-01-01 00:00:00.000 [INFO][1] cni-installer/<nil> <nil>: /host/opt/cni/bin is not writeable, skipping
        2023-01-01 00:00:00.000 [FATAL][1] cni-installer/<nil> <nil>: found no writeable directory, exiting
        """,
    )
    assert answer.strength >= 0.8


def test_another_plugin_is_another_cause() -> None:
    answer = finding("cni-binary-missing", f"$ kubectl describe pod a-1\n{event('weave-net', '/opt/cni/bin')}")
    assert answer.state == "ruled-out"


def test_a_secondary_directory_is_harmless() -> None:
    answer = finding("cni-binary-missing", 'level=info msg="/host/secondary-bin-dir is not writeable, skipping"')
    assert answer.state == "cannot-tell"


def test_a_binary_that_is_gone_from_the_right_directory_is_written_again() -> None:
    commands = fixes(
        "cni-binary-missing", f"$ kubectl describe pod a-1\n{event('calico', '/opt/cni/bin /opt/cni/bin')}"
    )
    assert not any("systemctl restart" in command for command in commands)
    assert any("-c install-cni" in command for command in commands)


def test_a_directory_that_differs_is_compared_first() -> None:
    commands = fixes("cni-binary-missing", f"$ kubectl describe pod a-1\n{event('calico', '/usr/lib/cni')}")
    assert "ls -l /opt/cni/bin/calico /usr/lib/cni/calico" in commands[0]


def test_pods_that_run_since_have_found_their_plugin() -> None:
    text = """
$ kubectl get events
38m   Warning   FailedCreatePodSandBox   pod/web-7d9fbd5bb-4xq6n   Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox "0bee": failed to find plugin "calico" in path [/home/kubernetes/bin]
$ kubectl get pods -o wide
web-7d9fbd5bb-4xq6n   {ready}   38m   10.220.41.6    w9
"""  # noqa: E501
    assert finding("cni-binary-missing", text.format(ready="2/2   Running             0")).state == "ruled-out"
    assert finding("cni-binary-missing", text.format(ready="0/2   ContainerCreating   0")).strength >= 0.8


CHAINED = """
[root@m2 net.d]# cat 10-calico.conflist
{
  "name": "k8s-pod-network",
  "plugins": [
    {"type": "calico", "ipam": {"type": "calico-ipam"}},
    {"type": "portmap", "snat": true, "capabilities": {"portMappings": true}}
  ]
}
"""
LISTED = """
[root@m2 bin]# pwd
/opt/cni/bin
[root@m2 bin]# ls -l
total 70556
-rwxr-xr-x 1 root root 36573184 Jul 14 17:20 calico
-rwxr-xr-x 1 root root 35676160 Jul 14 17:20 calico-ipam
"""
INVALID = """
[root@m2 bin]# journalctl -u kubelet | tail -1
W0714 19:02:10.126902 711 cni.go:237] Unable to update cni config: no valid networks found in /etc/cni/net.d
"""


def test_a_chained_plugin_is_not_in_the_folder() -> None:
    answer = finding("cni-binary-missing", CHAINED + LISTED + INVALID)
    assert (answer.state, answer.rule, answer.strength >= 0.95) == ("found", "chained-absent", True)
    assert answer.culprits[0].name == "portmap"
    assert "/opt/cni/bin" in answer.objects


def test_a_list_of_some_files_says_nothing_of_others() -> None:
    part = LISTED.replace("ls -l", "ls -l | grep calico")
    assert finding("cni-binary-missing", CHAINED + part).state == "cannot-tell"


def test_a_list_of_named_files_says_nothing_of_others() -> None:
    named = """
    [root@m2 ~]# ls -l /opt/cni/bin/calico /opt/cni/bin/calico-ipam
    -rwxr-xr-x 1 root root 36573184 Jul 14 17:20 /opt/cni/bin/calico
    -rwxr-xr-x 1 root root 35676160 Jul 14 17:20 /opt/cni/bin/calico-ipam
    """
    assert finding("cni-binary-missing", CHAINED + named).state == "cannot-tell"


def test_all_chained_plugins_are_there() -> None:
    whole = LISTED + "-rwxr-xr-x 1 root root 35676160 Jul 14 17:20 portmap\n"
    assert finding("cni-binary-missing", CHAINED + whole).state == "cannot-tell"


def test_a_plugin_that_nobody_misses_is_a_doubt() -> None:
    assert finding("cni-binary-missing", CHAINED + LISTED).strength < 0.8


def test_an_invalid_file_alone_is_a_doubt() -> None:
    answer = finding("cni-binary-missing", INVALID)
    assert (answer.state, answer.strength < 0.8) == ("found", True)


def test_what_calicos_own_list_chains_is_known_without_it() -> None:
    files = """
    [root@m2 ~]# ls /etc/cni/net.d
    10-calico.conflist  calico-kubeconfig
    """
    answer = finding("cni-binary-missing", LISTED + files + INVALID)
    assert (answer.rule, 0.9 <= answer.strength < 0.95) == ("chained-absent", True)
    assert answer.culprits[0].name == "portmap"
    assert finding("cni-binary-missing", LISTED + files).state == "cannot-tell"
    whole = LISTED + "-rwxr-xr-x 1 root root 35676160 Jul 14 17:20 portmap\n"
    assert finding("cni-binary-missing", whole + files + INVALID).rule != "chained-absent"


KUBELET = """
[root@m2 ~]# systemctl cat kubelet
ExecStart=/srv/k8s/bin/kubelet \\
  --network-plugin=cni \\
  --cni-conf-dir=/etc/cni/net.d \\
  --cni-bin-dir={folder} \\
  --v=2
"""
CONF = """
[root@m2 ~]# ls /etc/cni/net.d
10-calico.conflist  calico-kubeconfig
[root@m2 ~]# ls /opt/cni/bin
bandwidth  calico  calico-ipam  host-local  loopback  portmap  tuning
"""
DOCKER = (
    "E0714 19:02:10.126902 711 kubelet.go:2187] Container runtime network not ready: NetworkReady=false "
    "reason:NetworkPluginNotReady message:docker: network plugin is not ready: cni config uninitialized\n"
)


def test_kubelet_looks_for_plugins_elsewhere() -> None:
    text = KUBELET.format(folder="/srv/cni/bin") + CONF
    proven = finding("cni-binary-missing", text + INVALID)
    assert (proven.state, proven.rule, proven.strength >= 0.95) == ("found", "elsewhere", True)
    assert proven.culprits[0].name == "/srv/cni/bin"
    assert finding("cni-binary-missing", text + DOCKER).strength >= 0.9
    assert any("restart kubelet" in command for command in fixes("cni-binary-missing", text + DOCKER))


def test_another_folder_that_nothing_suffers_from_is_a_doubt() -> None:
    assert finding("cni-binary-missing", KUBELET.format(folder="/srv/cni/bin") + CONF).strength < 0.8


def test_one_of_several_folders_is_the_right_one() -> None:
    for folders in ("/srv/cni/bin,/opt/cni/bin", "/opt/cni/bin,/srv/cni/bin"):
        assert finding("cni-binary-missing", KUBELET.format(folder=folders) + CONF + INVALID).rule != "elsewhere"
    crio = '[root@m2 ~]# crio config | grep -A3 dirs\nplugin_dirs = [\n  "/usr/libexec/cni",\n  "/opt/cni/bin/",\n]\n'
    for text in (crio, crio.replace("\n  ", " ").replace(",\n]", "]")):
        assert finding("cni-binary-missing", text + CONF + INVALID).rule != "elsewhere"
