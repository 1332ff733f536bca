"""Nodes and pods of a lab without kubelets, and the pods that people have made in any lab. Pure.

Their agents are plain processes there: what the keeper and the agents say of them is put into the form that a kubelet
would use. Nobody has seen any events.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from tortie.lab.kubectl.kinds import Thing, items_at
from tortie.lab.kubectl.times import stamp
from tortie.lab.kubelet.conditions import NodeFacts, NodeHealth, node_object
from tortie.lab.kubelet.objects import made_uid
from tortie.lab.kubelet.template import daemonset, pod_of
from tortie.lab.plan import LabPlan
from tortie.lab.status import STARTING, STOPPED, NodeStatus

_SIGNALLED: Final = 128


def plain_owner(plan: LabPlan, began: float) -> Thing:
    """The DaemonSet that there would be; nobody waits in front of an agent that is started directly."""
    owner = daemonset(plan, "", 1, began)
    owner["spec"]["template"]["spec"].pop("initContainers", None)
    return owner


def plain_node(node: NodeStatus, machine: NodeFacts, now: float) -> Thing:
    """The machine is there as long as its lab is."""
    health = NodeHealth(now, now, calico="up" if node.ready else None)
    facts = machine._replace(name=node.name, address=node.address)
    made = node_object(facts, health, None, now)
    for told in items_at(made, "status", "conditions"):
        told["lastTransitionTime"] = stamp(facts.created_at)
    return made


def plain_pod(node: NodeStatus, owner: Thing, began: float, now: float) -> Thing:
    if node.phase != STOPPED:  # nobody starts it again within a pod: pod and process begin together
        began = max(began, now - node.age_s)
    pod = pod_of(owner, node.name, node.address, began)
    started = stamp(began)
    ready = "True" if node.ready else "False"
    pod["status"] |= {
        "phase": "Running",
        "podIP": node.address,
        "podIPs": [{"ip": node.address}],
        "conditions": [
            _condition("Initialized", "True", began),
            _condition("Ready", ready, began),
            _condition("ContainersReady", ready, began),
            _condition("PodScheduled", "True", began),
        ],
        "containerStatuses": [
            {
                "name": container["name"],
                "image": container["image"],
                "imageID": "",
                "containerID": f"process://{node.pid}" if node.pid else "",
                "ready": node.ready,
                "restartCount": 0,
                "started": node.phase not in (STOPPED, STARTING),
                "state": _state(node, started, now),
                "lastState": {},
            }
            for container in items_at(pod, "spec", "containers")
        ],
    }
    return pod


def _condition(kind: str, status: str, when: float) -> dict[str, Any]:
    return {"type": kind, "status": status, "lastProbeTime": None, "lastTransitionTime": stamp(when)}


def _state(node: NodeStatus, started: str, now: float) -> dict[str, Any]:
    if node.phase != STOPPED:
        return {"running": {"startedAt": started}}
    if not node.pid:
        return {"waiting": {"reason": "ContainerCreating"}}
    code = _SIGNALLED + node.signal if node.signal else node.exit_code or 0
    times = {"startedAt": started, "finishedAt": stamp(now)}
    return {"terminated": {"exitCode": code, "reason": "Error" if code else "Completed", **times}}


def made_pods(told: Iterable[Mapping[str, Any]], addresses: Mapping[str, str], now: float) -> list[Thing]:
    """Pods of `tortie lab pod run`: a network and a name, without any program."""
    return [_made_pod(pod, addresses.get(str(pod["node"]), ""), now) for pod in told]


def _made_pod(pod: Mapping[str, Any], host: str, now: float) -> Thing:
    began, runs = stamp(now - float(pod["age_s"])), pod["state"] == "running"
    state: dict[str, Any] = {"running": {"startedAt": began}} if runs else {"waiting": {"reason": "ContainerCreating"}}
    told: dict[str, Any] = {"name": "pod", "image": "tortie/pod", "imageID": "", "restartCount": 0, "lastState": {}}
    told |= {"containerID": f"containerd://{pod['container']}" if runs else "", "ready": runs, "state": state}
    metadata: dict[str, Any] = {"name": pod["name"], "namespace": pod["namespace"], "creationTimestamp": began}
    metadata["uid"] = made_uid("made", str(pod["namespace"]), str(pod["name"]), str(pod["container"]))
    if pod["state"] == "ending":
        metadata |= {"deletionTimestamp": stamp(now), "deletionGracePeriodSeconds": 30}
    addresses = [str(each).partition("/")[0] for each in pod["addresses"]]
    ready = "True" if runs else "False"
    kinds = (("Initialized", "True"), ("Ready", ready), ("ContainersReady", ready), ("PodScheduled", "True"))
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"nodeName": pod["node"], "containers": [{"name": "pod", "image": "tortie/pod"}]},
        "status": {
            "phase": "Running" if runs else "Pending",
            "hostIP": host,
            **({"podIP": addresses[0], "podIPs": [{"ip": each} for each in addresses]} if addresses else {}),
            "startTime": began,
            "conditions": [_condition(kind, status, now - float(pod["age_s"])) for kind, status in kinds],
            "containerStatuses": [told],
        },
    }
