"""TRT3013: the mount step fails; an image that does not know its flag is another cause."""

# ruff: noqa: E501 - evidence stands as people paste it

from __future__ import annotations

from tests.support.doctor import finding

ID = "bpffs-mount-failed"


def test_not_a_shared_mount() -> None:
    text = """
$ kubectl -n kube-system get pod
calico-node-kc2jw   0/1   Init:CreateContainerError   0   5m
  Warning  Failed  9s (x12 over 2m)  kubelet  Error: failed to generate container "77ab" spec: failed to generate spec: path "/sys/fs" is mounted on "/sys" but it is not a shared mount
"""
    answer = finding(ID, text)
    assert answer.state == "found"
    assert answer.strength >= 0.9
    assert "/sys/fs" in answer.objects


def test_the_step_ends_with_its_code() -> None:
    text = """
$ kubectl -n calico-system describe pod calico-node-kc2jw
Name:         calico-node-kc2jw
Namespace:    calico-system
Node:         kind-w/172.19.0.3
Init Containers:
  mount-bpffs:
    Image:          calico/node:v3.25.0
    State:          Waiting
      Reason:       CrashLoopBackOff
    Last State:     Terminated
      Reason:       Error
      Exit Code:    2
    Restart Count:  6
"""
    answer = finding(ID, text)
    assert answer.state == "found"
    assert answer.strength >= 0.8
    assert "mount-bpffs" in answer.objects
    assert "/sys/fs/bpf" in answer.objects


def test_an_unknown_flag_is_another_cause() -> None:
    text = """
$ kubectl -n kube-system logs calico-node-kc2jw -c mount-bpffs
flag provided but not defined: -best-effort
"""
    assert finding(ID, text).state == "ruled-out"


def test_another_unshared_mount_is_no_matter() -> None:
    text = 'Error: path "/data" is mounted on "/" but it is not a shared mount'
    assert finding(ID, text).state != "found"


def test_docker_writes_no_quotes() -> None:
    text = """
$ kubectl -n kube-system get pod
calico-node-kc2jw   0/1   Init:RunContainerError   3   5m
  Warning  Failed  9s (x4 over 2m)  kubelet  Error: failed to start container "mount-bpffs": Error response from daemon: path /sys/fs is mounted on /sys but it is not a shared mount
"""
    answer = finding(ID, text)
    assert answer.strength >= 0.9
    assert "/sys/fs" in answer.objects


def test_its_number_alone_may_be_that_of_an_unknown_flag() -> None:
    text = """
Init Containers:
  mount-bpffs:
    Image:          docker.io/calico/node:{tag}
    State:          Waiting
      Reason:       CrashLoopBackOff
    Last State:     Terminated
      Reason:       Error
      Exit Code:    2
"""
    assert finding(ID, text.format(tag="v3.22.1")).strength < 0.8
    assert finding(ID, text.format(tag="v3.26.1")).strength >= 0.9


def test_a_kernel_that_has_no_such_folder() -> None:
    text = """
$ kubectl -n kube-system get pod -o wide
NAME                READY   STATUS     RESTARTS   AGE   IP           NODE
calico-node-kc2jw   0/1     Init:0/3   0          5m    10.7.0.35    edge-5
$ kubectl describe pod calico-node-kc2jw -n kube-system
  Warning  FailedMount  94s (x15 over 5m)  kubelet  MountVolume.SetUp failed for volume "bpffs" : hostPath type check failed: /sys/fs/bpf is not a directory
$ kubectl describe node edge-5 | grep Kernel
 Kernel Version:             4.9.140-l4t
"""
    answer = finding(ID, text)
    assert answer.strength >= 0.9
    assert {"/sys/fs/bpf", "edge-5"} <= set(answer.objects)
    assert "4.9.140-l4t" in answer.why.en
    other = text.replace("/sys/fs/bpf", "/var/lib/hobby")
    assert finding(ID, other).state != "found"
