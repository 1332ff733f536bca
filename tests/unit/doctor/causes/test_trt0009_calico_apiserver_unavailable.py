"""TRT0009: Calico's API server, and only Calico's, does not answer."""

# ruff: noqa: E501 - evidence stands as people paste it

from __future__ import annotations

import pytest
from tests.support.doctor import finding, picture

from tortie.doctor.causes.catalogue import cause_named
from tortie.doctor.causes.cause import LIKELY, PROVEN

ID = "calico-apiserver-unavailable"
ROW = """\
$ kubectl get apiservice
NAME                   SERVICE                       AVAILABLE                      AGE
v1.apps                Local                         True                           90d
v3.projectcalico.org   calico-apiserver/calico-api   False (FailedDiscoveryCheck)   90d
"""
KUBECTL = """\
$ kubectl get ns
E0412 11:03:20.223597   36334 memcache.go:255] couldn't get resource list for projectcalico.org/v3: the server is currently unable to handle the request
NAME      STATUS   AGE
default   Active   90d
"""
LOG = """\
$ kubectl -n calico-apiserver logs deploy/calico-apiserver --tail=1
E1116 01:33:31.112911       1 authentication.go:63] "Unable to authenticate the request" err="[x509: subject with cn=aggregator is not in the allowed list, x509: certificate signed by unknown authority]"
"""
OPERATOR = """\
$ kubectl get tigerastatus
NAME      AVAILABLE   PROGRESSING   DEGRADED   SINCE
calico    True        False         False      12d
tiers     False       False         True       2h
$ kubectl get tigerastatus tiers -o jsonpath='{.status.conditions[?(@.type=="Degraded")].message}'
Waiting for Tigera API server to be ready
"""
SICK = """\
$ kubectl -n calico-system get pods
NAME                READY   STATUS    RESTARTS   AGE
calico-node-8t2hx   0/1     Running   4          20m
"""


def test_the_apiservice_is_decisive() -> None:
    answer = finding(ID, ROW)
    assert answer.strength >= PROVEN
    assert "v3.projectcalico.org" in answer.objects


def test_kubectl_complains_about_its_group() -> None:
    assert finding(ID, KUBECTL).strength >= LIKELY


def test_the_operator_waits_for_it() -> None:
    assert finding(ID, OPERATOR).strength >= LIKELY


def test_a_certificate_whose_name_is_not_accepted() -> None:
    answer = finding(ID, LOG + ROW)
    assert answer.strength >= PROVEN
    assert answer.objects[0] == "requestheader-allowed-names"
    assert "aggregator" in answer.why.en
    cause, seen = cause_named(ID), picture(LOG + ROW)
    assert cause is not None
    assert "aggregator" in cause.fix(seen, cause.judge(seen))[-1].text.zh


def test_the_api_of_metrics_server_is_not_calicos() -> None:
    text = ROW.replace(
        "v3.projectcalico.org   calico-apiserver/calico-api", "v1beta1.metrics.k8s.io kube-system/metrics"
    )
    assert finding(ID, text).state == "cannot-tell"
    assert finding(ID, LOG.replace("calico-apiserver", "metrics-server")).state == "cannot-tell"


def test_an_api_that_answers_now_is_no_trouble() -> None:
    assert finding(ID, KUBECTL + ROW.replace("False (FailedDiscoveryCheck)", "True")).state == "ruled-out"


def test_where_agents_are_sick_it_is_only_one_of_many() -> None:
    answer = finding(ID, ROW + SICK)
    assert answer.state == "found"
    assert answer.strength < LIKELY


def test_a_row_whose_heading_grep_has_cut_off() -> None:
    text = "$ kubectl get apiservice | grep projectcalico.org/v3 -e v3.projectcalico\nv3.projectcalico.org   calico-apiserver/calico-api   {state}   40d\n"
    assert finding(ID, text.format(state="False (FailedDiscoveryCheck)")).strength >= 0.9
    assert finding(ID, text.format(state="True")).state == "ruled-out"


def test_where_the_network_is_degraded_that_server_is_one_of_many() -> None:
    text = """
couldn't get resource list for projectcalico.org/v3: the server is currently unable to handle the request
$ kubectl get tigerastatus
NAME        AVAILABLE   PROGRESSING   DEGRADED   SINCE
apiserver   False       False         True       30m
calico      {calico}      30m
"""
    assert finding(ID, text.format(calico="False       True          True ")).strength < 0.8
    assert finding(ID, text.format(calico="True        False         False")).strength >= 0.9


STALE_GROUP = (
    "unable to retrieve the complete list of server APIs: projectcalico.org/v3: stale GroupVersion discovery: "
)


@pytest.mark.parametrize(
    "removing",
    [
        "$ kubectl delete installations.operator.tigera.io/default\n^C",
        "$ helm uninstall calico -n tigera-operator\nrelease uninstalled",
        "$ kubectl get ns\ncalico-apiserver   Terminating   63d\ncalico-system      Terminating   63d",
    ],
)
def test_who_removes_calico_removes_its_api_server(removing: str) -> None:
    said = f"$ kubectl get ns calico-system -o yaml\n{STALE_GROUP}projectcalico.org/v3"
    assert finding("calico-apiserver-unavailable", f"{removing}\n{said}").strength < 0.8
    assert finding("calico-apiserver-unavailable", f"shop   Terminating   3d\n{said}").strength >= 0.8
