"""TRT0001: an API that this cluster does not serve."""

# ruff: noqa: E501 - evidence stands as people paste it

from __future__ import annotations

from tests.support.doctor import finding

RESYNC = (
    "2023-02-01 07:10:00.001 [INFO][70] felix/watchercache.go 186: Failed to perform list of current data "
    "during resync "
    'ListRoot="/calico/resources/v3/projectcalico.org/kubernetesendpointslices" error=resource does not exist: '
    "KubernetesEndpointSlice with error: the server could not find the requested resource"
)


def test_slices_of_a_removed_beta() -> None:
    text = f"""
    $ kubectl get nodes
    NAME   STATUS   ROLES           AGE   VERSION
    cp-1   Ready    control-plane   30d   v1.26.1
    $ kubectl -n kube-system get ds calico-node -o jsonpath='{{..image}}'
    docker.io/calico/cni:v3.22.0 docker.io/calico/node:v3.22.0
    $ kubectl -n kube-system logs calico-node-m8d4k | tail -1
    {RESYNC}
    """
    answer = finding("version-skew", text)
    assert answer.strength >= 0.95
    assert answer.objects[0] == "v3.22.0"


def test_an_old_manifest() -> None:
    text = """
    照着旧教程安装：
    $ kubectl apply -f calico.yaml
    error: unable to recognize "calico.yaml": no matches for kind "CustomResourceDefinition" in version "apiextensions.k8s.io/v1beta1"
    """
    answer = finding("version-skew", text)
    assert answer.strength >= 0.9
    assert "CustomResourceDefinition" in answer.objects


def test_a_missing_crd_is_another_cause() -> None:
    text = "Failed error=resource does not exist: Tier(default) with error: the server could not find the requested resource"
    assert finding("version-skew", text).state != "found"


def test_the_line_of_every_start_is_harmless() -> None:
    text = (
        "2019-08-01 10:00:00.000 [INFO][8] k8s.go 300: Error getting resource "
        "Key=GlobalFelixConfig(name=CalicoVersion) "
        'Name="calicoversion" Resource="GlobalFelixConfigs" error=the server could not find the requested resource '
        "(get GlobalFelixConfigs.crd.projectcalico.org calicoversion)"
    )
    assert finding("version-skew", text).state == "cannot-tell"
    assert finding("crd-missing", text).state == "cannot-tell"


def test_what_only_kubectl_misses_is_not_needed_by_agents_that_run() -> None:
    line = 'error: unable to recognize "calico.yaml": no matches for kind "PodDisruptionBudget" in version "policy/v1beta1"\n'
    pods = "$ kubectl get pods -n kube-system | grep calico-node\ncalico-node-7cfmp   {ready}   Running   0   52m\n"
    assert finding("version-skew", line + pods.format(ready="1/1")).strength < 0.8
    assert finding("version-skew", line + pods.format(ready="0/1")).strength >= 0.9


def test_the_releases_as_people_tell_them() -> None:
    text = """
We upgraded Kubernetes from 1.24 to 1.25, since then calico-node is not ready. calico v3.20.0

2022-09-14 08:01:15.310 [WARNING][71] felix/health.go 211: Reporter is not ready. name="async_calc_graph"
"""
    assert finding("version-skew", text).strength >= 0.8
    assert finding("version-skew", text.replace("3.20.0", "3.24.5")).state != "found"
