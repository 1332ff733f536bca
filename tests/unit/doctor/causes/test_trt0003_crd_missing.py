"""TRT0003: a type of Calico's own that the API server does not know."""

# ruff: noqa: E501 - evidence stands as people paste it

from __future__ import annotations

from tests.support.doctor import finding


def test_the_api_server_does_not_know_it() -> None:
    text = """
    $ kubectl -n calico-system logs calico-node-5c8jq | tail -1
    2024-06-01 01:00:00.000 [ERROR][9] startup/startup.go 158: failed to query default config error=resource does not exist: IPAMConfig(default) with error: the server could not find the requested resource (get IPAMConfigs.crd.projectcalico.org default)
    """
    answer = finding("crd-missing", text)
    assert answer.strength >= 0.9
    assert "ipamconfigs.crd.projectcalico.org" in answer.objects


def test_asked_for_and_not_found() -> None:
    text = """
    升级后 kube-controllers 报错：
    2024-06-01 01:00:00.000 [ERROR][1] main.go 200: resource does not exist: BGPFilter with error: the server could not find the requested resource
    $ kubectl get crd bgpfilters.crd.projectcalico.org
    Error from server (NotFound): customresourcedefinitions.apiextensions.k8s.io "bgpfilters.crd.projectcalico.org" not found
    """
    answer = finding("crd-missing", text)
    assert answer.strength >= 0.95
    assert answer.objects[0] == "bgpfilters.crd.projectcalico.org"


def test_a_missing_object_is_normal() -> None:
    text = (
        "2024-06-01 01:00:00.000 [INFO][9] startup.go 158: resource does not exist: BGPConfiguration(default) "
        "with error: "
        'bgpconfigurations.crd.projectcalico.org "default" not found'
    )
    assert finding("crd-missing", text).state == "cannot-tell"


def test_a_type_of_kubernetes_is_another_cause() -> None:
    text = (
        "resource does not exist: KubernetesEndpointSlice with error: the server could not find the requested resource"
    )
    assert finding("crd-missing", text).strength < 0.8


def test_kubectl_without_calicos_api_server_lacks_no_definition() -> None:
    line = 'error: resource mapping not found for name: "pool" namespace: "" from "pool.yaml": no matches for kind "IPPool" in version "{version}"\n'
    pods = "$ kubectl get pods -n kube-system | grep calico-node\ncalico-node-7qj2c   {ready}   Running   0   20d\n"
    assert (
        finding("crd-missing", line.format(version="projectcalico.org/v3") + pods.format(ready="0/1")).state != "found"
    )
    own = line.format(version="crd.projectcalico.org/v1")
    assert finding("crd-missing", own + pods.format(ready="0/1")).strength >= 0.9
    assert finding("crd-missing", own + pods.format(ready="1/1")).state == "ruled-out"


def test_what_a_person_tells_of_the_start_is_over_where_all_is_well() -> None:
    text = """
helm-install restarted twice ("no matches for kind "Installation" in version "operator.tigera.io/v1"") before the crd chart was through.

$ kubectl get pods -A
NAMESPACE         NAME                READY   STATUS    RESTARTS   AGE
calico-system     calico-node-5ztrl   {ready}     Running   0          16m
$ kubectl get tigerastatus
NAME     AVAILABLE   PROGRESSING   DEGRADED   SINCE
calico   {available}        False         False      15m
"""
    assert finding("crd-missing", text.format(ready="1/1", available="True ")).state == "ruled-out"
    assert finding("crd-missing", text.format(ready="0/1", available="False")).strength >= 0.8


WAITS = """
    {"level":"error","ts":"2023-05-05T05:55:55Z","msg":"Could not wait for Cache to sync","controller":"tigera-installation-controller","error":"failed to wait for tigera-installation-controller caches to sync: timed out waiting for cache to be synced"}
    $ kubectl get crd | grep tigera
    apiservers.operator.tigera.io                         2023-05-05T05:40:01Z
    imagesets.operator.tigera.io                          2023-05-05T05:40:01Z
    tigerastatuses.operator.tigera.io                     2023-05-05T05:40:02Z
"""


def test_the_operator_waits_for_a_kind_that_is_not_in_the_list() -> None:
    answer = finding("crd-missing", WAITS)
    assert (answer.state, answer.strength >= 0.95) == ("found", True)
    assert answer.objects[0] == "installations.operator.tigera.io"


def test_the_operator_waits_and_the_kind_is_there() -> None:
    listed = WAITS + "    installations.operator.tigera.io                      2023-05-05T05:40:02Z\n"
    assert finding("crd-missing", listed).state != "found"
