"""TRT0002: manifest and images of two releases."""

# ruff: noqa: E501 - evidence stands as people paste it

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


def test_a_flag_that_a_person_gave() -> None:
    asked = "$ kubectl exec -n kube-system calico-node-7qj2c -- calico-node -show-status\nflag provided but not defined: -show-status\n"
    assert finding("manifest-image-skew", asked).state != "found"
    etcd = "$ etcdctl --cacert=/etc/etcd/ca.pem endpoint health\nIncorrect Usage.\n\nflag provided but not defined: -cacert\n"
    assert finding("manifest-image-skew", etcd).state != "found"
    step = (
        "$ kubectl logs -n kube-system calico-node-7qj2c -c mount-bpffs\nflag provided but not defined: -best-effort\n"
    )
    assert finding("manifest-image-skew", step).strength >= 0.9


def test_an_account_that_came_after_its_daemonset() -> None:
    event = '12m  Warning  FailedCreate  daemonset/calico-node  Error creating: pods "calico-node-" is forbidden: error looking up service account kube-system/calico-node: serviceaccount "calico-node" not found\n'
    pods = "$ kubectl get pods -n kube-system | grep calico-node\ncalico-node-7cfmp   1/1   Running   0   12m\n"
    assert finding("manifest-image-skew", event).strength >= 0.9
    assert finding("manifest-image-skew", event + pods).state != "found"
