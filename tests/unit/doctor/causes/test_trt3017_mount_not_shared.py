"""TRT3017: found by the runtime's word; /sys has a cause of its own, and what was shared since is over."""

# ruff: noqa: E501 - evidence stands as people paste it

from __future__ import annotations

from tests.support.doctor import finding

EVENT = (
    "$ kubectl -n calico-system describe pod csi-node-driver-8wq2f\n"
    '  Warning  Failed  12s (x4 over 50s)  kubelet  Error: failed to generate container "5c1d" spec: failed to '
    'generate spec: path "{path}" is mounted on "{mount}" but it is not a shared {kind}\n'
)
KUBELET = EVENT.format(path="/var/lib/kubelet", mount="/", kind="mount")
FINDMNT = "[root@rail ~]# findmnt -o TARGET,PROPAGATION /\nTARGET PROPAGATION\n/      {how}\n"


def test_the_runtime_s_word_proves_it() -> None:
    answer = finding("mount-not-shared", KUBELET + FINDMNT.format(how="private"))
    assert (answer.rule, answer.strength >= 0.95) == ("not-shared", True)
    assert answer.objects[0] == "/var/lib/kubelet"


def test_both_wordings_and_a_quoted_one() -> None:
    slave = EVENT.format(path="/var/run/calico", mount="/run", kind="or slave mount")
    assert finding("mount-not-shared", slave).objects[:2] == ("/var/run/calico", "/run")
    text = "报错 path /var/lib/kubelet is mounted on / but it is not a shared mount，calico 的 csi 起不来"
    assert finding("mount-not-shared", text).strength >= 0.9


def test_a_line_without_its_beginning_is_likely() -> None:
    answer = finding("mount-not-shared", '…ounted on "/" but it is not a shared or slave mount')
    assert (answer.rule, answer.strength >= 0.8) == ("path-cut", True)


def test_sys_is_another_cause() -> None:
    text = EVENT.format(path="/sys/fs", mount="/sys", kind="mount")
    assert finding("mount-not-shared", text).state == "ruled-out"


def test_a_mount_that_failed_otherwise_says_nothing() -> None:
    text = 'MountVolume.SetUp failed for volume "bpffs" : hostPath type check failed: /sys/fs/bpf is not a directory'
    assert finding("mount-not-shared", text).state == "cannot-tell"


def test_a_mount_that_was_shared_since() -> None:
    assert finding("mount-not-shared", KUBELET + FINDMNT.format(how="shared")).rule == "shared-now"


def test_agents_that_run_have_another_trouble_than_the_pod_that_was_refused() -> None:
    refused = """
$ kubectl describe pod -n monitoring node-exporter-4hk2p | tail -1
  Warning  Failed  2s (x4 over 31s)  kubelet  Error: failed to start container "node-exporter": Error response from daemon: path / is mounted on / but it is not a shared or slave mount
"""
    agents = "$ kubectl get pods -n kube-system | grep calico-node\ncalico-node-7qj2c   {ready}   Running   0   9m\n"
    assert finding("mount-not-shared", refused).strength >= 0.9
    assert finding("mount-not-shared", refused + agents.format(ready="0/1")).strength < 0.8
