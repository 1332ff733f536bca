"""TRT0005: a failed pull of what the network needs; a full disk and a bystander's image are something else."""

# ruff: noqa: E501 (pasted lines stay as long as they are)

from __future__ import annotations

from tests.support.doctor import finding


def test_the_registry_is_not_resolved() -> None:
    answer = finding(
        "image-pull-failed",
        """
        内网环境部署，节点没有外网：
        Events:
          Type     Reason   Age                From     Message
          ----     ------   ----               ----     -------
          Normal   Pulling  20s (x3 over 70s)  kubelet  Pulling image "docker.io/calico/cni:v3.27.2"
          Warning  Failed   19s (x3 over 70s)  kubelet  Failed to pull image "docker.io/calico/cni:v3.27.2": rpc error: code = Unknown desc = failed to resolve reference "docker.io/calico/cni:v3.27.2": failed to do request: Head "https://registry-1.docker.io/v2/calico/cni/manifests/v3.27.2": dial tcp: lookup registry-1.docker.io: no such host
          Warning  Failed   19s (x3 over 70s)  kubelet  Error: ErrImagePull
        """,
    )
    assert answer.state == "found"
    assert answer.strength >= 0.9
    assert "docker.io/calico/cni:v3.27.2" in answer.objects


def test_the_table_and_a_back_off() -> None:
    answer = finding(
        "image-pull-failed",
        """
        $ kubectl get pod -n calico-system
        NAME                READY   STATUS                  RESTARTS   AGE
        calico-node-zz8xk   0/1     Init:ImagePullBackOff   0          14m
        $ kubectl describe pod -n calico-system calico-node-zz8xk | tail -1
          Normal   BackOff  3m (x41 over 13m)  kubelet  Back-off pulling image "mirror.corp/calico/pod2daemon-flexvol:v3.99.0"
        """,
    )
    assert answer.strength >= 0.8
    assert "mirror.corp/calico/pod2daemon-flexvol:v3.99.0" in answer.objects


def test_a_full_disk_is_another_cause() -> None:
    answer = finding(
        "image-pull-failed",
        'Warning  Failed  1s  kubelet  Failed to pull image "calico/node:v3.26.1": rpc error: code = Unknown desc = failed to '
        "register layer: Error processing tar file: write /usr/bin/bpftool: no space left on device",
    )
    assert answer.state == "ruled-out"


def test_a_bystanders_image_is_an_aside() -> None:
    answer = finding(
        "image-pull-failed",
        """
        $ kubectl get pod -A
        NAMESPACE     NAME                READY   STATUS             RESTARTS   AGE
        kube-system   calico-node-aaaaa   0/1     CrashLoopBackOff   9          1h
        shop          front-0             0/1     ImagePullBackOff   0          1h
        $ kubectl describe pod front-0 -n shop | tail -1
          Warning  Failed  1s  kubelet  Failed to pull image "shop/front:v9": rpc error: code = NotFound desc = manifest unknown
        """,
    )
    assert answer.aside


def test_nothing_pulled() -> None:
    assert finding("image-pull-failed", "$ kubectl get nodes\nNAME STATUS\nw1 Ready").state == "cannot-tell"


def test_it_was_pulled_after_all() -> None:
    event = '  Warning  Failed  31m  kubelet  Failed to pull image "docker.io/calico/cni:v3.26.1": rpc error: code = DeadlineExceeded desc = context deadline exceeded\n'
    pods = "$ kubectl get pods -A\nNAMESPACE     NAME                       READY   STATUS   RESTARTS   AGE\nkube-system   calico-node-gk7vr          {row}   0   35m\nkube-system   coredns-76f75df574-7h2kp   1/1     Running   0   40m\n"
    assert finding("image-pull-failed", event + pods.format(row="1/1     Running")).state == "ruled-out"
    assert finding("image-pull-failed", event + pods.format(row="0/1     Init:ImagePullBackOff")).strength >= 0.9


def test_a_name_that_is_none_of_an_image() -> None:
    text = """
  Warning  InspectFailed  3s (x5 over 20s)  kubelet  Failed to apply default image tag "harbor.corp/calico/cni:v3.26.1:v3.26.1": couldn't parse image {word} "harbor.corp/calico/cni:v3.26.1:v3.26.1": invalid reference format
calico-node-8kq2l   0/1   Init:InvalidImageName   0   30s
"""
    for word in ("name", "reference"):
        assert finding("image-pull-failed", text.format(word=word)).strength >= 0.9


def test_nothing_waits_for_a_tool_of_people() -> None:
    text = """
$ kubectl get pods -A
NAMESPACE     NAME                READY   STATUS         RESTARTS   AGE
default       {name}   0/1     ErrImagePull   0          20s
kube-system   calico-node-7qj2c   0/1     Running        0          9m
  Warning  Failed  6s  kubelet  Failed to pull image "{image}": rpc error: code = NotFound desc = not found
"""
    assert finding("image-pull-failed", text.format(name="calicoctl        ", image="calico/ctl:v9.99")).strength < 0.8
    assert (
        finding("image-pull-failed", text.format(name="calico-typha-x2q9", image="calico/typha:v9.99")).strength >= 0.9
    )
