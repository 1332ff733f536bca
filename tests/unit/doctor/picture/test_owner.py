"""Who owns the agent's installation, by every kind of evidence."""

from __future__ import annotations

import pytest
from tests.support.doctor import picture

from tortie.doctor.picture.owner import owner

PODS = "$ kubectl get pods -A\nNAMESPACE   NAME   READY   STATUS   RESTARTS   AGE\n"
NODES = (
    "$ kubectl get nodes -o wide\n"
    "NAME   STATUS   ROLES   AGE   VERSION   INTERNAL-IP   EXTERNAL-IP   OS-IMAGE   KERNEL-VERSION"
    "   CONTAINER-RUNTIME\n"
)


def node(version: str, system: str = "Ubuntu 22.04.3 LTS") -> str:
    return (
        f"{NODES}w1   Ready   <none>   41d   {version}   10.0.0.4   <none>   {system}   5.15.0   containerd://1.7.2\n"
    )


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (f"{PODS}calico-system   calico-node-x7k2p   1/1   Running   0   3d\n", "operator"),
        (f"{PODS}kube-system   calico-node-x7k2p   1/1   Running   0   3d\n", "manifest"),
        (f"{PODS}kube-system   canal-x7k2p   2/2   Running   0   3d\n", "canal"),
        (f"{PODS}kube-system   rke2-canal-x7k2p   2/2   Running   0   3d\n", "rke2"),
        (f"{PODS}tigera-operator   tigera-operator-5f8d-abc   1/1   Running   0   3d\n", "operator"),
        (node("v1.27.4+rke2r1"), "rke2"),
        (node("v1.27.4+k3s1"), "k3s"),
        (node("v1.27.4-eks-8ccc7ba"), "eks"),
        (node("v1.29.0", "Talos (v1.6.1)"), "talos"),
        ("# ls /var/snap/microk8s/current/args/cni-network\ncalico-kubeconfig\n", "microk8s"),
        ("$ microk8s kubectl get nodes\nNAME   STATUS   ROLES   AGE   VERSION\nn1   Ready   <none>   1d   v1.28.1\n",
         "microk8s"),
        ("$ kops rolling-update cluster --yes\ndone\n", "kops"),
        ("The cluster was made with kubespray and calico does not start any more.\n", "kubespray"),
        ("用 KubeKey 部署的集群，calico 起不来。\n", "kubekey"),
        ("$ oc get pods -n calico-system\nNAME   READY   STATUS   RESTARTS   AGE\n"
         "calico-node-x7   1/1   Running   0   1d\n", "openshift"),
        ("$ systemctl status rke2-agent\n● rke2-agent.service - Rancher Kubernetes Engine v2 (agent)\n"
         "   Active: active (running) since Tue 2024-03-05 10:00:00 UTC\n", "rke2"),
        ("We installed it with kubectl apply -f calico.yaml and nothing else.\n", "manifest"),
        ("$ kubectl get tigerastatus\nNAME     AVAILABLE   PROGRESSING   DEGRADED   SINCE\n"
         "calico   True        False         False      3d\n", "operator"),
    ],
)  # fmt: skip
def test_owner(text: str, name: str) -> None:
    found = owner(picture(text))
    assert found.name == name
    assert found.evidence


def test_k3s_leaves_calico_to_whoever_installed_it() -> None:
    found = owner(picture(node("v1.27.4+k3s1") + f"{PODS}calico-system   calico-node-x7   1/1   Running   0   3d\n"))
    assert (found.way, found.platform, found.name) == ("operator", "k3s", "operator")


def test_rke2_keeps_the_operator_in_its_own_chart() -> None:
    found = owner(picture(node("v1.27.4+rke2r1") + f"{PODS}calico-system   calico-node-x7   1/1   Running   0   3d\n"))
    assert (found.way, found.platform, found.name) == ("operator", "rke2", "rke2")


def test_nobody_is_named_without_evidence() -> None:
    assert owner(picture("BGP is not established with 10.0.0.5. We are not using kubespray.\n")).name == ""


@pytest.mark.parametrize(
    ("shown", "way"),
    [
        ("$ ip -d link show\n11: vxlan.calico: <BROADCAST,UP> mtu 1450 qdisc noqueue state UNKNOWN\n", "operator"),
        ("RKE2 with `cni: calico` in its config\n", "operator"),
        ("calico-node and typha are all 1/1\n", "operator"),
        ("everything is default\n", ""),
    ],
)
def test_rke2_installs_canal_unless_calico_shows(shown: str, way: str) -> None:
    seen = owner(picture(f"RKE2 v1.31.5 on Debian\n\n{shown}"))
    assert (seen.platform, seen.way) == ("rke2", way)
