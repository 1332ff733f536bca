"""The DaemonSet calico-node and the Deployment calico-kube-controllers of a lab, and the pods made from them."""

from __future__ import annotations

import copy
import json
from typing import Final

from tortie.lab.kubelet.objects import Object, hurried, letters, made_hex, made_uid, stamp
from tortie.lab.kubelet.words import (
    controllers_probes,
    controllers_words,
    errands,
    image,
    kubelet_version,
    kubernetes_minor,
    node_probes,
    node_words,
    numbers,
)
from tortie.lab.plan import LabPlan

__all__ = [
    "daemonset",
    "deployment",
    "environment_of",
    "kubelet_version",
    "kubernetes_minor",
    "pod_of",
    "static_pod",
]

NAMESPACE: Final = "kube-system"
NODE: Final = "calico-node"
CONTROLLERS: Final = "calico-kube-controllers"
_GRACE_S: Final = 30  # Kubernetes's default
_NODE_NAME: Final = {"valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "spec.nodeName"}}}


def daemonset(plan: LabPlan, classic: str, hurry: int, now: float = 0.0) -> Object:
    """calico-node as Calico's manifest has it. What single nodes of the topology set is not here: it is theirs."""
    labels = {"k8s-app": NODE}
    main: Object = {
        "name": NODE,
        "image": image("node", classic),
        "imagePullPolicy": "IfNotPresent",
        "command": list(node_words(classic)),
        "env": _node_environment(plan, classic),
        "resources": {"requests": {"cpu": "250m"}},
        **node_probes(classic, hurry),
    }
    spec = {
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "hostNetwork": True,
        "tolerations": [
            {"operator": "Exists", "effect": "NoSchedule"},
            {"key": "CriticalAddonsOnly", "operator": "Exists"},
            {"operator": "Exists", "effect": "NoExecute"},
        ],
        "serviceAccountName": NODE,
        "terminationGracePeriodSeconds": 0,
        "priorityClassName": "system-node-critical",
        "restartPolicy": "Always",
        "initContainers": _init_containers(plan, classic),
        "containers": [main],
    }
    return _owner("DaemonSet", NODE, labels, spec, plan.name, now) | {
        "status": {"desiredNumberScheduled": len(plan.nodes)}
    }


def deployment(plan: LabPlan, classic: str, hurry: int, now: float = 0.0) -> Object:
    """One pod of calico-kube-controllers, in the network of its node: what it needs is the datastore."""
    labels = {"k8s-app": CONTROLLERS}
    main: Object = {
        "name": CONTROLLERS,
        "image": image("kube-controllers", classic),
        "imagePullPolicy": "IfNotPresent",
        "command": list(controllers_words(classic)),
        "env": [_value("ENABLED_CONTROLLERS", "node"), _value("DATASTORE_TYPE", _datastore(plan))],
        **controllers_probes(classic, hurry),
    }
    spec = {
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "hostNetwork": True,
        "tolerations": [{"key": "CriticalAddonsOnly", "operator": "Exists"}],
        "serviceAccountName": CONTROLLERS,
        "terminationGracePeriodSeconds": hurried(_GRACE_S, hurry),
        "priorityClassName": "system-cluster-critical",
        "restartPolicy": "Always",
        "containers": [main],
    }
    made = _owner("Deployment", CONTROLLERS, labels, spec, plan.name, now)
    made["spec"]["replicas"] = 1
    return made


def _owner(kind: str, name: str, labels: dict[str, str], spec: Object, lab: str, now: float) -> Object:
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {
            "name": name,
            "namespace": NAMESPACE,
            "uid": made_uid(lab, kind, name),
            "generation": 1,
            "creationTimestamp": stamp(now),
            "labels": labels,
            "annotations": {"deprecated.daemonset.template.generation": "1"} if kind == "DaemonSet" else {},
        },
        "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": spec}},
    }


def _value(name: str, value: str) -> Object:
    return {"name": name, "value": value}


def _datastore(plan: LabPlan) -> str:
    return "etcdv3" if plan.store.kind == "etcd" else "embedded"


def _node_environment(plan: LabPlan, classic: str) -> list[Object]:
    """As in the manifest; a setting that not all nodes share is left to the nodes."""
    usual = {
        "DATASTORE_TYPE": _datastore(plan),
        "WAIT_FOR_DATASTORE": "true",
        "CALICO_NETWORKING_BACKEND": "bird",
        "CLUSTER_TYPE": "k8s,bgp",
        "IP": "autodetect",
        "CALICO_DISABLE_FILE_LOGGING": "true",
        "FELIX_DEFAULTENDPOINTTOHOSTACTION": "ACCEPT",
        "FELIX_IPV6SUPPORT": "true" if any(pool.cidr.version == 6 for pool in plan.pools) else "false",
        "FELIX_HEALTHENABLED": "true",
    }
    if plan.store.kind == "etcd" or (classic and numbers(classic) < (3, 0)):
        del usual["WAIT_FOR_DATASTORE"]  # as in Calico's manifest for etcd: `Skipping datastore connection test`
    settings = [dict(machine.settings) for machine in plan.nodes]
    for name in sorted({name for one in settings for name in one} - {"NODENAME"}):
        values = {one.get(name) for one in settings}
        value = values.pop() if len(values) == 1 else None
        if value is None:
            usual.pop(name, None)
        else:
            usual[name] = value
    environment = [_value(name, value) for name, value in usual.items()]
    environment.insert(1, {"name": "NODENAME", **_NODE_NAME})
    return environment


def _init_containers(plan: LabPlan, classic: str) -> list[Object]:
    return [
        {
            "name": errand.name,
            "image": image(errand.image, classic),
            "imagePullPolicy": "IfNotPresent",
            "command": list(errand.words),
            "env": [
                _value("DATASTORE_TYPE", _datastore(plan)),
                {"name": "KUBERNETES_NODE_NAME", **_NODE_NAME},
                *([_value("SLEEP", "false")] if errand.name == "install-cni" else []),
            ],
        }
        for errand in errands(classic)
    ]


def pod_of(owner: Object, node: str, address: str, now: float, serial: int = 0) -> Object:
    """The pod of a DaemonSet or Deployment on a node; the serial tells those that follow one another apart."""
    metadata, template = owner["metadata"], owner["spec"]["template"]
    generation = str(metadata["generation"])
    seed = (str(metadata["uid"]), node, generation, str(serial))
    revision = _revision(template)
    labels = dict(template["metadata"].get("labels") or {})
    owners = {"apiVersion": "apps/v1", "kind": owner["kind"], "name": metadata["name"], "uid": metadata["uid"]}
    if owner["kind"] == "DaemonSet":
        stem = metadata["name"]
        labels |= {"controller-revision-hash": revision, "pod-template-generation": generation}
    else:
        stem = f"{metadata['name']}-{revision}"
        labels["pod-template-hash"] = revision
        owners |= {"kind": "ReplicaSet", "name": stem, "uid": made_uid("ReplicaSet", stem, metadata["uid"])}
    made: Object = {
        "name": f"{stem}-{letters(5, *seed)}",
        "generateName": f"{stem}-",
        "namespace": metadata["namespace"],
        "uid": made_uid("pod", *seed),
        "creationTimestamp": stamp(now),
        "labels": labels,
        "ownerReferences": [owners | {"controller": True, "blockOwnerDeletion": True}],
    }
    annotations = template["metadata"].get("annotations")
    if annotations:
        made["annotations"] = dict(annotations)
    return _bound({"metadata": made, "spec": template["spec"]}, node, address, now)


def _revision(template: Object) -> str:
    """The same template gives the same name, as with Kubernetes."""
    digest = made_hex(16, json.dumps(template, sort_keys=True))
    return "".join("bcdfghjklmnpqrstvwxz2456789"[int(digest[at : at + 2], 16) % 27] for at in range(0, 16, 2))


def static_pod(manifest: Object, node: str, address: str, now: float) -> Object:
    """A pod from a file in the manifests folder; kubelet itself makes it known to the API server."""
    pod = copy.deepcopy(manifest)
    metadata = pod.setdefault("metadata", {})
    name = f"{metadata['name']}-{node}"
    digest = made_hex(32, json.dumps(manifest, sort_keys=True), node)
    marks = {"kubernetes.io/config.hash": digest, "kubernetes.io/config.mirror": digest}
    metadata |= {
        "name": name,
        "namespace": metadata.get("namespace") or "default",
        "uid": made_uid("static", digest),
        "creationTimestamp": stamp(now),
        "annotations": {**(metadata.get("annotations") or {}), **marks, "kubernetes.io/config.source": "file"},
        "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": node, "uid": node, "controller": True}],
    }
    return _bound(pod, node, address, now)


def _bound(pod: Object, node: str, address: str, now: float) -> Object:
    spec = copy.deepcopy(pod["spec"]) | {"nodeName": node}
    spec.setdefault("restartPolicy", "Always")
    spec.setdefault("terminationGracePeriodSeconds", _GRACE_S)
    for container in [*(spec.get("initContainers") or []), *spec["containers"]]:
        container.setdefault("image", "tortie/node")
    status = {"phase": "Pending", "hostIP": address, "startTime": stamp(now)}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": pod["metadata"], "spec": spec, "status": status}


def environment_of(container: Object, pod: Object) -> dict[str, str]:
    """The variables of a container; references to fields of its pod are looked up, others come out empty."""
    metadata, spec, status = pod["metadata"], pod["spec"], pod.get("status") or {}
    fields = {
        "spec.nodeName": spec.get("nodeName", ""),
        "spec.serviceAccountName": spec.get("serviceAccountName", ""),
        "metadata.name": metadata["name"],
        "metadata.namespace": metadata["namespace"],
        "metadata.uid": metadata["uid"],
        "status.hostIP": status.get("hostIP", ""),
        "status.podIP": status.get("podIP") or status.get("hostIP", ""),
    }
    found: dict[str, str] = {}
    for one in container.get("env") or []:
        source = one.get("valueFrom")
        value = fields.get(source.get("fieldRef", {}).get("fieldPath"), "") if source else one.get("value") or ""
        found[one["name"]] = _expanded(str(value), found)
    return found


def _expanded(text: str, known: dict[str, str]) -> str:
    """$(NAME) of a variable that stands further up, as in can-reach=$(NODEIP)."""
    for name, value in known.items():
        text = text.replace(f"$({name})", value)
    return text
