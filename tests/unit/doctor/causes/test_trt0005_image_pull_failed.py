"""TRT0005: a failed pull of what the network needs; a full disk and a bystander's image are something else."""

# ruff: noqa: E501 (pasted lines stay as long as they are)

from __future__ import annotations

import pytest
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


def test_a_pull_by_hand_that_failed() -> None:
    text = """
    root@wren:~# crictl pull docker.io/calico/node:v3.26.1
    FATA[0030] pulling image failed: rpc error: code = Unknown desc = failed to resolve reference "docker.io/calico/node:v3.26.1": dial tcp 44.2.3.4:443: i/o timeout
    """
    answer = finding("image-pull-failed", text)
    assert (answer.state, answer.strength >= 0.9) == ("found", True)
    assert "docker.io/calico/node:v3.26.1" in answer.objects


def test_a_pull_by_hand_that_went_well_later_is_over() -> None:
    text = """
    root@wren:~# docker pull calico/node:v3.26.1
    Error response from daemon: Get "https://registry-1.docker.io/v2/": net/http: request canceled (Client.Timeout exceeded while awaiting headers)
    root@wren:~# docker pull calico/node:v3.26.1
    Status: Downloaded newer image for calico/node:v3.26.1
    """
    assert finding("image-pull-failed", text).state == "cannot-tell"


def test_an_applications_pull_by_hand_is_no_ground() -> None:
    text = "$ docker pull shop/front:9\nError response from daemon: pull access denied for shop/front"
    assert finding("image-pull-failed", text).state == "cannot-tell"


@pytest.mark.parametrize(
    "told",
    [
        "The worker has no access to docker.io, so the calico images were never pulled.",
        "kubelet is unable to pull the calico image on this node.",
        "新节点 NotReady，看了下是 calico 的镜像拉不下来。",
        "calico/cni 镜像下载失败，节点一直 NotReady。",
    ],
)
def test_people_tell_it(told: str) -> None:
    assert finding("image-pull-failed", told).strength >= 0.8


@pytest.mark.parametrize(
    "told",
    [
        "The calico images were pulled without trouble.",
        "The site has no access to quay.io, calico comes from our mirror.",
        "Our shop image cannot be pulled, its registry is down.",
        "calico 镜像都拉下来了，节点还是 NotReady。",
        "Could it be that the calico images were not pulled?",
    ],
)
def test_what_is_not_that(told: str) -> None:
    assert finding("image-pull-failed", told).strength < 0.8


def test_an_agent_that_crashes_has_its_image() -> None:
    text = (
        "calico 的镜像一开始拉不下来，换了国内源。\n"
        "$ kubectl get pod -n kube-system\nNAME READY STATUS RESTARTS AGE\ncalico-node-zz8xk 0/1 CrashLoopBackOff 7 14m"
    ).replace("\\\n", "\n")
    assert finding("image-pull-failed", text).strength < 0.8


def test_kubelets_journal_names_the_container() -> None:
    line = (
        "Mar 14 10:22:31 n1 kubelet[10233]: E0314 10:22:31.550 10233 kuberuntime_manager.go:864] init container "
        "&Container{Name:upgrade-ipam,Image:docker.io/calico/cni:v3.24.1,Command:[/opt/cni/bin/calico-ipam -upgrade],Args:[]} "
        "start failed in pod calico-node-5f7bh_kube-system(1c3a): ErrImagePull: rpc error: code = DeadlineExceeded desc = "
        "context deadline exceeded"
    )
    answer = finding("image-pull-failed", line)
    assert (answer.state, answer.strength >= 0.9) == ("found", True)
    assert "docker.io/calico/cni:v3.24.1" in answer.objects
