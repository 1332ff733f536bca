# ruff: noqa: E501 (evidence keeps its width)
"""`kubectl describe`, whole and in parts."""

from __future__ import annotations

from textwrap import dedent
from typing import TypeVar

from tortie.doctor.picture.facts import Condition, Container, Event, Node, Pod, Probe, Registered, Setting, Version
from tortie.doctor.reading.exhibit import Exhibit
from tortie.doctor.reading.readers.describe import read

T = TypeVar("T")

POD = """
Name:                 calico-node-abcde
Namespace:            kube-system
Node:                 w-1/10.20.0.7
Start Time:           Thu, 12 Jan 2023 13:55:26 +0800
Labels:               k8s-app=calico-node
Status:               Running
IP:                   10.20.0.7
Controlled By:        DaemonSet/calico-node
Init Containers:
  install-cni:
    Container ID:  containerd://aa
    Image:         docker.io/calico/cni:v3.25.1
    Command:
      /opt/cni/bin/install
    State:          Terminated
      Reason:       Completed
      Exit Code:    0
      Started:      Thu, 12 Jan 2023 13:55:30 +0800
      Finished:     Thu, 12 Jan 2023 13:55:31 +0800
    Ready:          True
    Restart Count:  0
    Environment:
      SLEEP:                 false
      CNI_MTU:               <set to the key 'veth_mtu' of config map 'calico-config'>  Optional: false
    Mounts:
      /host/opt/cni/bin from cni-bin-dir (rw)
Containers:
  calico-node:
    Container ID:   containerd://bb
    Image:          docker.io/calico/node:v3.25.1
    State:          Waiting
      Reason:       CrashLoopBackOff
    Last State:     Terminated
      Reason:       Error
      Exit Code:    137
      Started:      Thu, 12 Jan 2023 14:00:00 +0800
      Finished:     Thu, 12 Jan 2023 14:01:10 +0800
    Ready:          False
    Restart Count:  9
    Limits:
      memory:  128Mi
    Requests:
      cpu:      250m
    Liveness:   exec [/bin/calico-node -felix-live -bird-live] delay=10s timeout=1s period=10s #success=1 #failure=6
    Readiness:  http-get http://localhost:9099/readiness delay=0s timeout=10s period=15s #success=1 #failure=3
    Environment:
      IP:                         autodetect
      IP_AUTODETECTION_METHOD:    can-reach=$(NODEIP)
    Mounts:
      /var/lib/calico from var-lib-calico (rw)
Conditions:
  Type              Status
  Initialized       True
  Ready             False
Volumes:
  lib-modules:
    Type:          HostPath (bare host directory volume)
    Path:          /lib/modules
QoS Class:       Burstable
Node-Selectors:  kubernetes.io/os=linux
Tolerations:     :NoSchedule op=Exists
                 node.kubernetes.io/not-ready:NoExecute op=Exists
Events:
  Type     Reason     Age                     From     Message
  ----     ------     ----                    ----     -------
  Warning  Unhealthy  2m4s (x52551 over 6d2h)  kubelet, w-1  Readiness probe failed: 2023-01-12 05:55:26.123 [INFO][61] confd/health.go 180: Number of node(s) with BGP peering established = 0
calico/node is not ready: BIRD is not ready: BGP not established with 10.20.0.8
  Normal   Pulled     3m                       kubelet       Container image "docker.io/calico/node:v3.25.1" already present on machine
"""

NODE = """
Name:               w-1
Roles:              <none>
Labels:             kubernetes.io/arch=amd64
                    kubernetes.io/os=linux
Annotations:        node.alpha.kubernetes.io/ttl: 0
                    projectcalico.org/IPv4Address: 172.18.0.1/16
                    projectcalico.org/IPv4IPIPTunnelAddr: 10.244.3.1
Taints:             node.kubernetes.io/unreachable:NoExecute
                    node.kubernetes.io/unreachable:NoSchedule
Unschedulable:      true
Conditions:
  Type                 Status    LastHeartbeatTime                 LastTransitionTime                Reason              Message
  ----                 ------    -----------------                 ------------------                ------              -------
  NetworkUnavailable   False     Sat, 09 May 2020 18:36:29 +0800   Sat, 09 May 2020 18:36:29 +0800   CalicoIsUp          Calico is running on this node
  Ready                Unknown   Wed, 20 May 2020 18:37:28 +0800   Thu, 21 May 2020 09:46:38 +0800   NodeStatusUnknown   Kubelet stopped posting node status.
Addresses:
  InternalIP:  10.20.0.7
  Hostname:    w-1
System Info:
  Kernel Version:             4.14.148-server
  OS Image:                   Ubuntu 16.04.6 LTS
  Architecture:               amd64
  Container Runtime Version:  docker://18.9.7
  Kubelet Version:            v1.18.2
PodCIDR:                      10.244.3.0/24
Events:              <none>
"""


def facts(kind: type[T], text: str, command: str = "", *, prose: bool = False) -> list[T]:
    lines = tuple(dedent(text).strip("\n").splitlines())
    return [fact for fact in read(Exhibit("e", 1, lines, "", command, prose)) if isinstance(fact, kind)]


def test_a_whole_pod() -> None:
    (pod,) = facts(Pod, POD)
    assert (pod.name, pod.namespace, pod.node, pod.host_ip) == ("calico-node-abcde", "kube-system", "w-1", "10.20.0.7")
    assert (pod.ready, pod.containers, pod.status, pod.restarts) == (0, 1, "CrashLoopBackOff", 9)
    assert (pod.started, pod.owner) == (1_673_502_926.0, "DaemonSet/calico-node")


def test_containers_of_a_pod() -> None:
    init, main = facts(Container, POD)
    assert (init.name, init.init, init.state, init.exit_code, init.command) == (
        "install-cni", True, "Terminated", 0, "/opt/cni/bin/install",
    )  # fmt: skip
    assert (main.reason, main.last_state, main.last_reason, main.last_exit_code) == (
        "CrashLoopBackOff",
        "Terminated",
        "Error",
        137,
    )
    assert main.last_finished is not None
    assert main.last_started is not None
    assert main.last_finished - main.last_started == 70
    assert (main.limits, main.requests) == ((("memory", "128Mi"),), (("cpu", "250m"),))
    assert (main.mounts, main.restarts, main.ready, main.pod) == (("/var/lib/calico",), 9, False, "calico-node-abcde")
    assert (main.place.first, main.place.last) == (28, 50)


def test_probes_and_environment() -> None:
    live, ready = facts(Probe, POD)
    assert (live.kind, live.action, live.timeout_s, live.failure, live.container) == (
        "liveness", "/bin/calico-node -felix-live -bird-live", 1.0, 6, "calico-node",
    )  # fmt: skip
    assert (ready.action, ready.period_s) == ("http://localhost:9099/readiness", 15.0)
    values = {(s.name, s.value, s.owner) for s in facts(Setting, POD)}
    assert ("IP_AUTODETECTION_METHOD", "can-reach=$(NODEIP)", "calico-node") in values
    assert ("SLEEP", "false", "install-cni") in values


def test_events_with_their_further_lines() -> None:
    unhealthy, pulled = facts(Event, POD)
    assert (unhealthy.reason, unhealthy.count, unhealthy.age_s) == ("Unhealthy", 52_551, 124.0)
    assert unhealthy.message.endswith("BGP not established with 10.20.0.8")
    assert (unhealthy.host, unhealthy.object) == ("w-1", "pod/calico-node-abcde")
    assert unhealthy.place.last == unhealthy.place.first + 1
    assert pulled.reason == "Pulled"


def test_a_whole_node() -> None:
    (node,) = facts(Node, NODE)
    assert (node.name, node.status, node.internal_ip) == ("w-1", "NotReady,SchedulingDisabled", "10.20.0.7")
    assert node.annotation("projectcalico.org/IPv4Address") == "172.18.0.1/16"
    assert len(node.taints) == 2
    assert (node.kernel, node.pod_cidr, node.arch) == ("4.14.148-server", "10.244.3.0/24", "amd64")
    (registered,) = facts(Registered, NODE)
    assert (registered.node, registered.address, registered.via) == ("w-1", "172.18.0.1", "annotation")
    ready = facts(Condition, NODE)[-1]
    assert (ready.kind, ready.status, ready.reason, ready.owner) == ("Ready", "Unknown", "NodeStatusUnknown", "w-1")
    assert {(v.component, v.version, v.host) for v in facts(Version, NODE)} >= {("docker", "18.9.7", "w-1")}


def test_only_the_last_state() -> None:
    (container,) = facts(
        Container,
        """
            Last State:     Terminated
              Reason:       OOMKilled
              Exit Code:    137
        """,
        'kubectl describe pod canal-abcde -n kube-system | grep -A5 "Last State"',
    )
    assert (container.pod, container.last_reason, container.last_exit_code) == ("canal-abcde", "OOMKilled", 137)


def test_only_limits() -> None:
    (container,) = facts(Container, "    Limits:\n      memory:  192Mi\n    Requests:\n")
    assert container.limits == (("memory", "192Mi"),)


def test_images_of_a_grep() -> None:
    rows = facts(Container, "    Image:         calico/cni:v3.21.5\n    Image:          calico/node:v3.21.5\n")
    assert [row.image for row in rows] == ["calico/cni:v3.21.5", "calico/node:v3.21.5"]


def test_event_rows_of_a_tail_and_old_releases() -> None:
    (event,) = facts(
        Event,
        "  Warning  Unhealthy  9s (x3 over 61m)  kubelet  Liveness probe failed: ",
        "kubectl describe pod calico-node-abcde | tail -1",
    )
    assert (event.message, event.over_s, event.object) == ("Liveness probe failed:", 3_660.0, "pod/calico-node-abcde")
    (old,) = facts(
        Event,
        "  14m  1s  52  kubelet, w-1  spec.containers{calico-node}  Warning  Unhealthy  Readiness probe failed: x",
    )
    assert (old.count, old.host, old.reason, old.over_s) == (52, "w-1", "Unhealthy", 840.0)


def test_messages_quoted_alone() -> None:
    (event,) = facts(Event, "现象是 Readiness probe failed: calico/node is not ready: BIRD is not ready", prose=True)
    assert event.reason == "Unhealthy"
    assert event.message.startswith("Readiness probe failed: calico/node")
    (sandbox,) = facts(Event, "Failed to create pod sandbox: rpc error: code = Unknown desc = boom")
    assert sandbox.reason == "FailedCreatePodSandBox"
    assert not facts(Event, "E0112 05:55:26.1 1 pod_workers.go:1] Failed to create pod sandbox: rpc error")


def test_two_pods_described_together() -> None:
    rows = facts(
        Pod, "Name:  a\nNode:  n-1/10.0.0.1\nStatus:  Running\n\n\nName:  b\nNode:  n-2/10.0.0.2\nStatus:  Pending\n"
    )
    assert [(r.name, r.node, r.status, r.place.first) for r in rows] == [
        ("a", "n-1", "Running", 1),
        ("b", "n-2", "Pending", 6),
    ]


def test_probes_that_were_pasted_below_the_events() -> None:
    text = """
    Events:
      Type     Reason     Age   From     Message
      ----     ------     ----  ----     -------
      Warning  Unhealthy  2m    kubelet  Liveness probe failed:
        Liveness:   exec [/bin/calico-node -felix-live] delay=10s timeout=2s period=15s #success=1 #failure=4
        Readiness:  exec [/bin/calico-node -felix-ready] delay=0s timeout=2s period=10s #success=1 #failure=3
    """
    found = list(read(Exhibit("e", 1, tuple(dedent(text).strip("\n").splitlines()))))
    probes = [(probe.kind, probe.timeout_s, probe.failure) for probe in found if isinstance(probe, Probe)]
    assert probes == [("liveness", 2.0, 4), ("readiness", 2.0, 3)]


def test_a_resource_whose_first_letters_were_not_copied() -> None:
    text = "ame:         v3.projectcalico.org\nAPI Version:  apiregistration.k8s.io/v1\nKind:         APIService\n"
    assert facts(Setting, text, "kubectl describe apiservice v3.projectcalico.org") == []
