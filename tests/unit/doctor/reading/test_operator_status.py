"""What the operator and the API's extensions say of themselves, in every form in which kubectl shows it."""

from __future__ import annotations

import pytest
from tests.support.doctor import picture

from tortie.doctor.picture.facts import ResourceCondition, Setting

MESSAGE = "Invalid Installation provided: kubernetesProvider EKS conflicts with AKS"
YAML = f"""\
$ kubectl get tigerastatus calico -o yaml
apiVersion: operator.tigera.io/v1
kind: TigeraStatus
metadata:
  name: calico
status:
  conditions:
  - lastTransitionTime: "2024-03-05T10:00:00Z"
    message: '{MESSAGE}'
    reason: InvalidConfigurationError
    status: "True"
    type: Degraded
"""
JSON_CUT = f"""\
$ kubectl get tigerastatus calico -o json | head -20
{{
    "apiVersion": "operator.tigera.io/v1",
    "kind": "TigeraStatus",
    "metadata": {{
        "name": "calico"
    }},
    "status": {{
        "conditions": [
            {{
                "message": "{MESSAGE}",
                "reason": "InvalidConfigurationError",
                "status": "True",
                "type": "Degraded"
            }},
            {{
                "message": "the next one is cut",
                "reason": "Unkn
"""
DESCRIBED = f"""\
$ kubectl describe tigerastatus calico
Name:         calico
Namespace:
Labels:       <none>
API Version:  operator.tigera.io/v1
Kind:         TigeraStatus
Metadata:
  Creation Timestamp:  2024-03-01T10:00:00Z
Spec:
Status:
  Conditions:
    Last Transition Time:  2024-03-05T10:00:00Z
    Message:               {MESSAGE}
    Observed Generation:   3
    Reason:                InvalidConfigurationError
    Status:                True
    Type:                  Degraded
    Last Transition Time:  2024-03-05T10:00:00Z
    Message:               not yet
    Reason:                InvalidConfigurationError
    Status:                False
    Type:                  Available
Events:                    <none>
"""
BEGINNING_CUT = f"""\
$ kubectl get tigerastatus calico -o yaml | tail -6
  - lastTransitionTime: "2024-03-05T10:00:00Z"
    message: '{MESSAGE}'
    reason: InvalidConfigurationError
    status: "True"
    type: Degraded
"""


@pytest.mark.parametrize("text", [YAML, JSON_CUT, DESCRIBED, BEGINNING_CUT])
def test_a_degraded_component_with_its_words(text: str) -> None:
    condition = picture(text).of(ResourceCondition)[0]
    assert condition[1:7] == ("TigeraStatus", "calico", "Degraded", "True", "InvalidConfigurationError", MESSAGE)
    assert 8 <= condition.place.first + 7 <= 19


def test_the_table_has_a_condition_for_each_column() -> None:
    text = """\
NAME        AVAILABLE   PROGRESSING   DEGRADED   SINCE
apiserver   False       False         True       3d
calico      True        False         False      3d
"""
    found = [(c.name, c.kind, c.status) for c in picture(text).of(ResourceCondition) if c.status == "True"]
    assert found == [("apiserver", "Degraded", "True"), ("calico", "Available", "True")]


def test_an_installation_described_is_one_in_yaml() -> None:
    text = """\
$ kubectl describe installation default
Name:         default
API Version:  operator.tigera.io/v1
Kind:         Installation
Spec:
  Calico Network:
    Bgp:  Enabled
    Ip Pools:
      Cidr:           10.244.0.0/16
      Encapsulation:  IPIP
    Node Address Autodetection V 4:
      First Found:      true
  Kubernetes Provider:  EKS
Status:
  Conditions:
    Message:  bad
    Status:   True
    Type:     Degraded
"""
    seen = picture(text)
    values = {s.name: s.value for s in seen.of(Setting) if s.scope == "installation"}
    assert values == {
        "calicoNetwork.bgp": "Enabled",
        "calicoNetwork.ipPools[0].cidr": "10.244.0.0/16",
        "calicoNetwork.ipPools[0].encapsulation": "IPIP",
        "calicoNetwork.nodeAddressAutodetectionV4.firstFound": "true",
        "kubernetesProvider": "EKS",
    }
    (condition,) = seen.of(ResourceCondition)
    assert (condition.resource, condition.kind, condition.message) == ("Installation", "Degraded", "bad")


def test_an_api_that_cannot_be_discovered() -> None:
    table = """\
NAME                     SERVICE                     AVAILABLE                      AGE
v3.projectcalico.org     calico-system/calico-api    False (FailedDiscoveryCheck)   12d
v1.apps                  Local                       True                           12d
"""
    first, second = picture(table).of(ResourceCondition)
    assert (first.name, first.status, first.reason) == ("v3.projectcalico.org", "False", "FailedDiscoveryCheck")
    assert second.status == "True"
    document = """\
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata:
  name: v3.projectcalico.org
status:
  conditions:
  - message: 'failing or missing response from https://10.1.2.3:5443/apis'
    reason: FailedDiscoveryCheck
    status: "False"
    type: Available
"""
    (condition,) = picture(document).of(ResourceCondition)
    assert (condition.resource, condition.reason) == ("APIService", "FailedDiscoveryCheck")
    assert "10.1.2.3:5443" in condition.message


def test_endpoint_slices_are_endpoints_of_their_service() -> None:
    table = """\
$ kubectl get endpointslices -n calico-system
NAME                 ADDRESSTYPE   PORTS   ENDPOINTS             AGE
calico-api-ab2de     IPv4          5443    10.1.2.3,10.1.2.4     3d
calico-typha-x2xyz   IPv4          5473    <unset>               3d
"""
    values = {s.name: s.value for s in picture(table).of(Setting) if s.scope == "endpoints"}
    assert values == {"calico-api": "10.1.2.3:5443,10.1.2.4:5443", "calico-typha": ""}
    document = """\
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata:
  name: calico-typha-x2xyz
  labels: {kubernetes.io/service-name: calico-typha}
endpoints:
- addresses: [10.0.0.4]
  conditions: {ready: true}
- addresses: [10.0.0.5]
  conditions: {ready: false}
ports:
- port: 5473
"""
    values = {s.name: s.value for s in picture(document).of(Setting) if s.scope == "endpoints"}
    assert values == {"calico-typha": "10.0.0.4:5473"}
