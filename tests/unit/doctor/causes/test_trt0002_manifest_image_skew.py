"""TRT0002: manifest and images of two releases."""

from __future__ import annotations

from tests.support.doctor import finding


def test_an_unknown_flag() -> None:
    text = """
    $ kubectl -n kube-system logs calico-node-7ttqn -c mount-bpffs
    flag provided but not defined: -best-effort
    Usage of Calico:
      -bird-live
    $ kubectl -n kube-system get ds calico-node -o yaml | grep image:
            image: registry.example/calico/node:v3.20.1
            image: registry.example/calico/cni:v3.20.1
    """
    answer = finding("manifest-image-skew", text)
    assert answer.strength >= 0.9
    assert {"-best-effort", "v3.20.1"} <= set(answer.objects)


def test_a_missing_account() -> None:
    text = (
        "2024-01-01 00:00:00.000 [ERROR][1] cni-installer/install.go 500: Unable to create token for CNI kubeconfig "
        'error=serviceaccounts "calico-cni-plugin" not found'
    )
    answer = finding("manifest-image-skew", text)
    assert answer.strength >= 0.9
    assert "calico-cni-plugin" in answer.objects


def test_mixed_tags_on_a_failing_node() -> None:
    text = """
    $ kubectl -n kube-system get pods -l k8s-app=calico-node
    NAME                READY   STATUS                  RESTARTS   AGE
    calico-node-7ttqn   0/1     Init:CrashLoopBackOff   9          21m
    $ kubectl -n kube-system describe pod calico-node-7ttqn | grep Image:
        Image:         docker.io/calico/cni:v3.19.1
        Image:          docker.io/calico/node:v3.26.4
    """
    assert finding("manifest-image-skew", text).strength >= 0.8


def test_one_release_is_no_fault() -> None:
    text = """
    $ kubectl -n kube-system describe pod calico-node-7ttqn | grep Image:
        Image:         docker.io/calico/cni:v3.26.4
        Image:          docker.io/calico/node:v3.26.4
    """
    assert finding("manifest-image-skew", text).state == "cannot-tell"


def test_the_tag_that_a_command_wrote() -> None:
    text = """
    $ kubectl -n kube-system set image ds/calico-node mount-bpffs=hub.lan/mirror/calico-node:v3.21.4
    $ kubectl -n kube-system logs calico-node-7ttqn -c mount-bpffs
    flag provided but not defined: -best-effort
    """
    assert "v3.21.4" in " ".join(finding("manifest-image-skew", text).objects)
