# ruff: noqa: E501 (evidence keeps its width)
"""YAML and JSON."""

from __future__ import annotations

from textwrap import dedent
from typing import TypeVar

import pytest
from tests.support.doctor import picture

from tortie.doctor.picture.facts import (
    CalicoNode,
    Condition,
    Container,
    Document,
    Event,
    Node,
    Pod,
    Pool,
    Probe,
    Registered,
    Setting,
    Version,
    Workload,
)
from tortie.doctor.reading.exhibit import Exhibit
from tortie.doctor.reading.readers.documents import read

T = TypeVar("T")


def facts(kind: type[T], text: str, command: str = "") -> list[T]:
    lines = tuple(dedent(text).strip("\n").splitlines())
    return [fact for fact in read(Exhibit("e", 1, lines, "", command)) if isinstance(fact, kind)]


DAEMON_SET = """
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: calico-node
  namespace: kube-system
spec:
  template:
    spec:
      initContainers:
      - name: install-cni
        image: calico/cni:v3.20.0
      containers:
      - name: calico-node
        image: calico/node:v3.20.0
        env:
        - name: IP_AUTODETECTION_METHOD
          value: "interface=eth0"
        - name: NODENAME
          valueFrom:
            fieldRef:
              fieldPath: spec.nodeName
        livenessProbe:
          exec:
            command:
            - /bin/calico-node
            - -felix-live
          failureThreshold: 6
          initialDelaySeconds: 10
          periodSeconds: 10
        ...
        resources:
          limits: {memory: 128Mi}
status:
  desiredNumberScheduled: 3
  currentNumberScheduled: 3
  numberReady: 1
"""


def test_a_daemon_set() -> None:
    (workload,) = facts(Workload, DAEMON_SET)
    assert (workload.kind, workload.desired, workload.ready) == ("DaemonSet", 3, 1)
    init, main = facts(Container, DAEMON_SET)
    assert (init.init, main.name, main.limits) == (True, "calico-node", (("memory", "128Mi"),))
    (probe,) = facts(Probe, DAEMON_SET)
    assert (probe.kind, probe.action, probe.timeout_s, probe.failure) == (
        "liveness",
        "/bin/calico-node -felix-live",
        1.0,
        6,
    )
    assert (probe.place.first, probe.place.last) == (22, 29)
    values = {(s.name, s.value) for s in facts(Setting, DAEMON_SET)}
    assert values >= {("IP_AUTODETECTION_METHOD", "interface=eth0"), ("NODENAME", "(v1:spec.nodeName)")}
    (document,) = facts(Document, DAEMON_SET)
    assert (document.kind, document.name) == ("DaemonSet", "calico-node")


def test_a_list_of_nodes_in_json() -> None:
    text = """
        {
            "apiVersion": "v1",
            "items": [
                {
                    "apiVersion": "v1",
                    "kind": "Node",
                    "metadata": {
                        "annotations": {"projectcalico.org/IPv4Address": "172.18.0.1/16"},
                        "name": "w-1"
                    },
                    "spec": {"podCIDR": "10.244.1.0/24", "taints": [{"effect": "NoSchedule", "key": "a", "value": "b"}]},
                    "status": {
                        "addresses": [{"address": "10.0.0.4", "type": "InternalIP"}],
                        "conditions": [{"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown"}],
                        "nodeInfo": {"kubeletVersion": "v1.20.1", "containerRuntimeVersion": "docker://19.3.1"}
                    }
                }
            ],
            "kind": "List"
        }
        """
    (node,) = facts(Node, text)
    assert (node.name, node.status, node.internal_ip, node.taints) == (
        "w-1",
        "NotReady",
        "10.0.0.4",
        ("a=b:NoSchedule",),
    )
    (registered,) = facts(Registered, text)
    assert (registered.node, registered.address, registered.place.first) == ("w-1", "172.18.0.1", 8)
    assert facts(Condition, text)[0].owner == "w-1"
    assert ("docker", "19.3.1") in {(v.component, v.version) for v in facts(Version, text)}


def test_a_pod_with_its_states() -> None:
    text = """
        apiVersion: v1
        kind: Pod
        metadata:
          name: calico-node-abcde
          namespace: kube-system
          ownerReferences:
          - kind: DaemonSet
            name: calico-node
        spec:
          nodeName: w-1
          containers:
          - name: calico-node
            image: calico/node:v3.20.0
        status:
          hostIP: 10.0.0.4
          phase: Running
          startTime: "2023-01-12T05:55:26Z"
          containerStatuses:
          - name: calico-node
            ready: false
            restartCount: 4
            state:
              waiting:
                reason: CrashLoopBackOff
            lastState:
              terminated:
                exitCode: 137
                reason: OOMKilled
        """
    (pod,) = facts(Pod, text)
    assert (pod.status, pod.restarts, pod.node, pod.owner) == ("CrashLoopBackOff", 4, "w-1", "DaemonSet/calico-node")
    (container,) = facts(Container, text)
    assert (container.state, container.reason, container.last_reason, container.last_exit_code) == (
        "Waiting", "CrashLoopBackOff", "OOMKilled", 137,
    )  # fmt: skip


def test_calicos_own_resources() -> None:
    text = """
        apiVersion: projectcalico.org/v3
        kind: Node
        metadata:
          name: w-1
        spec:
          bgp:
            ipv4Address: 10.0.0.4/24
        ---
        apiVersion: projectcalico.org/v3
        kind: IPPool
        metadata: {name: main}
        spec: {cidr: 10.244.0.0/16, blockSize: 26, ipipMode: Always, vxlanMode: Never, natOutgoing: true}
        ---
        apiVersion: crd.projectcalico.org/v1
        kind: FelixConfiguration
        metadata: {name: default}
        spec:
          bpfEnabled: true
          floatingIPs: Disabled
        ---
        apiVersion: crd.projectcalico.org/v1
        kind: ClusterInformation
        metadata: {name: default}
        spec:
          calicoVersion: v3.26.1
        """
    assert [n.name for n in facts(CalicoNode, text)] == ["w-1"]
    (registered,) = facts(Registered, text)
    assert (registered.via, registered.address) == ("calicoctl", "10.0.0.4")
    (pool,) = facts(Pool, text)
    assert (pool.cidr, pool.block_size, pool.ipip, pool.nat) == ("10.244.0.0/16", 26, "Always", True)
    assert ("felixconfig", "bpfEnabled", "true") in {(s.scope, s.name, s.value) for s in facts(Setting, text)}
    assert [v.version for v in facts(Version, text)] == ["v3.26.1"]


def test_config_maps_and_what_is_inside() -> None:
    text = """
        apiVersion: v1
        kind: ConfigMap
        metadata:
          name: calico-config
        data:
          calico_backend: "vxlan"
          cni_network_config: |-
            {
              "name": "k8s-pod-network",
              "plugins": [{"type": "calico", "mtu": __CNI_MTU__, "nodename": "__KUBERNETES_NODE_NAME__"}]
            }
        ---
        apiVersion: v1
        kind: ConfigMap
        metadata:
          name: kubeadm-config
        data:
          ClusterConfiguration: |
            kind: ClusterConfiguration
            kubernetesVersion: v1.28.2
            networking:
              podSubnet: 10.244.0.0/16
              serviceSubnet: 10.96.0.0/12
        """
    found = {(s.scope, s.name, s.value, s.owner) for s in facts(Setting, text)}
    assert ("configmap", "calico_backend", "vxlan", "calico-config") in found
    assert ("kubeadm", "podSubnet", "10.244.0.0/16", "kubeadm-config") in found
    assert not [s for s in found if s[0] == "cni"]  # a template is not what a node has


def test_a_cni_configuration() -> None:
    text = '{"name": "n", "cniVersion": "0.3.1", "plugins": [{"type": "calico", "mtu": 1440, "nodename": "w-1", "ipam": {"type": "calico-ipam"}}]}'
    found = {(s.scope, s.name, s.value) for s in facts(Setting, text, "cat /etc/cni/net.d/10-calico.conflist")}
    assert found >= {("cni", "mtu", "1440"), ("cni", "nodename", "w-1"), ("cni", "ipam.type", "calico-ipam")}


def test_events_and_webhooks() -> None:
    text = """
        kind: Event
        apiVersion: v1
        reason: Unhealthy
        message: 'Liveness probe failed: '
        type: Warning
        count: 7
        involvedObject: {kind: Pod, name: calico-node-abcde}
        source: {component: kubelet, host: w-1}
        ---
        kind: ValidatingWebhookConfiguration
        apiVersion: admissionregistration.k8s.io/v1
        metadata: {name: w}
        webhooks:
        - name: check.example.org
          failurePolicy: Fail
        """
    (event,) = facts(Event, text)
    assert (event.object, event.count, event.host) == ("pod/calico-node-abcde", 7, "w-1")
    assert [(s.name, s.value, s.owner) for s in facts(Setting, text)] == [
        ("failurePolicy", "Fail", "check.example.org")
    ]


def test_damage_leaves_what_is_before_it() -> None:
    text = DAEMON_SET.replace("status:", "statu: : : {[\n\t\tstatus")
    assert facts(Probe, text)
    tabs = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n\tname: calico-config\ndata:\n\tcalico_backend: bird\n"
    assert ("calico_backend", "bird") in {(s.name, s.value) for s in facts(Setting, tabs)}


@pytest.mark.timeout(60)
def test_hostile_documents_stay_small() -> None:
    bomb = "apiVersion: v1\nkind: ConfigMap\na: &a [x,x,x,x,x,x,x,x,x]\n" + "\n".join(
        f"{chr(98 + i)}: &{chr(98 + i)} [{','.join(['*' + chr(97 + i)] * 9)}]" for i in range(12)
    )
    deep = "apiVersion: v1\nkind: X\nx: " + "[" * 50_000
    nested = '{"apiVersion": ' + '{"a":' * 20_000
    many = "\n".join('{"apiVersion": "audit.k8s.io/v1", "kind": "Event", "n": 1}' for _ in range(20_000))
    for text in (bomb, deep, nested, many):
        assert len(facts(Document, text)) <= 20_000


def test_json_logs_are_no_documents() -> None:
    assert not facts(Document, '{"level":"info","kind":"x","msg":"y"}\n{"level":"info","msg":"z"}')


def test_events_of_both_apis_as_documents() -> None:
    text = """\
$ kubectl get events -o yaml
apiVersion: v1
items:
- apiVersion: v1
  count: 7
  firstTimestamp: "2024-03-05T10:00:00Z"
  lastTimestamp: "2024-03-05T10:10:00Z"
  involvedObject: {kind: Pod, name: calico-node-x7k2p}
  kind: Event
  message: |-
    Readiness probe failed: a
    b
  reason: Unhealthy
  source: {component: kubelet, host: w1}
  type: Warning
- apiVersion: events.k8s.io/v1
  kind: Event
  deprecatedCount: 3
  deprecatedLastTimestamp: "2024-03-05T10:20:00Z"
  regarding: {kind: Node, name: w1}
  note: System OOM encountered
  reason: SystemOOM
  reportingController: kubelet
  reportingInstance: w1
  type: Warning
kind: List
"""
    old, new = picture(text).of(Event)
    assert (old.count, old.over_s, old.host, old.message, old.cut) == (
        7, 600.0, "w1", "Readiness probe failed: a\nb", False,
    )  # fmt: skip
    assert (new.object, new.message, new.count, new.source, new.host) == (
        "node/w1", "System OOM encountered", 3, "kubelet", "w1",
    )  # fmt: skip
    assert new.time is not None
    assert old.time is not None
    assert new.time > old.time
