"""Resources and files whose values are settings: ConfigMaps, Calico's configuration kinds, kubelet's, CNI's."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from tortie.doctor.picture.facts import Fact, Setting, Version
from tortie.doctor.reading.readers.values import dicts, flat, get, name_of, text

if TYPE_CHECKING:
    from tortie.doctor.reading.readers.resources import Where

# Kinds whose spec is told value by value, and the scope of the settings.
_SPECS: Final = {
    "FelixConfiguration": "felixconfig", "BGPConfiguration": "bgpconfig", "BGPPeer": "bgppeer", "IPPool": "ippool",
    "Installation": "installation", "KubeControllersConfiguration": "kubecontrollersconfig",
    "IPReservation": "ipreservation",
    "ClusterInformation": "clusterinformation", "BlockAffinity": "blockaffinity", "IPAMConfig": "ipamconfig",
    "IPAMConfiguration": "ipamconfig",
}  # fmt: skip
# Kinds that are configuration as a whole.
_WHOLE: Final = {
    "KubeletConfiguration": "kubelet", "KubeProxyConfiguration": "kube-proxy", "ClusterConfiguration": "kubeadm",
    "InitConfiguration": "kubeadm", "JoinConfiguration": "kubeadm",
}  # fmt: skip
_PRESENT: Final = {
    "CustomResourceDefinition": "crd", "ClusterRole": "clusterrole", "ClusterRoleBinding": "clusterrolebinding",
}  # fmt: skip
_MAX_VALUE: Final = 4_000


def settings(kind: str, body: dict[str, object], where: Where) -> Iterator[Fact]:
    name = name_of(body)
    if kind in _SPECS:
        yield from _spec(_SPECS[kind], body, where, name)
    elif kind in _WHOLE:
        yield from _config(_WHOLE[kind], body, where, name)
    elif kind in _PRESENT and name:
        yield Setting(where.of(body), _PRESENT[kind], name, "present")
    elif kind == "ConfigMap":
        yield from _config_map(name, get(body, "data"), where)
    elif kind in ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"):
        for hook in dicts(body.get("webhooks")):
            policy = text(hook.get("failurePolicy")) or "Fail"
            yield Setting(where.of(hook), "webhook", "failurePolicy", policy, text(hook.get("name")) or name)
    else:
        yield from _of_the_api(kind, body, where, name)


def _spec(scope: str, body: dict[str, object], where: Where, name: str) -> Iterator[Fact]:
    spec = get(body, "spec") or {}
    for key, value, parent, own in flat(spec):
        yield Setting(where.key(parent, own), scope, key, text(value), name)
    version = text(get(spec, "calicoVersion")) or (text(get(body, "status", "calicoVersion")))
    if version:
        yield Version(where.key(spec, "calicoVersion"), "calico", version)


def _of_the_api(kind: str, body: dict[str, object], where: Where, name: str) -> Iterator[Fact]:
    """Where services lead, and which APIs there are."""
    if kind == "Service":
        yield Setting(where.of(body), "service", name, text(get(body, "spec", "clusterIP")))
    elif kind == "Endpoints":
        yield Setting(where.of(body), "endpoints", name, ",".join(_addresses(body)))
    elif kind == "EndpointSlice":
        service = text(get(body, "metadata", "labels", "kubernetes.io/service-name")) or name
        yield Setting(where.of(body), "endpoints", service, ",".join(_slice_addresses(body)))
    elif kind == "APIResourceList":
        version = text(body.get("groupVersion"))
        yield Setting(where.of(body), "api-version", version, "present")
        for resource in dicts(body.get("resources")):
            yield Setting(
                where.of(body), "api-resource", text(resource.get("name")), version, text(resource.get("kind"))
            )
    elif kind == "APIService":
        state = next((c for c in dicts(get(body, "status", "conditions")) if c.get("type") == "Available"), {})
        reason = text(state.get("reason"))
        told = f"{text(state.get('status'))} ({reason})" if reason and state.get("status") != "True" else ""
        yield Setting(where.of(body), "apiservice", name, told or text(state.get("status")))


def _addresses(body: dict[str, object]) -> Iterator[str]:
    for subset in dicts(body.get("subsets")):
        ports = [text(port.get("port")) for port in dicts(subset.get("ports"))] or [""]
        for address in dicts(subset.get("addresses")):
            for port in ports:
                yield f"{text(address.get('ip'))}:{port}" if port else text(address.get("ip"))


def _slice_addresses(body: dict[str, object]) -> Iterator[str]:
    """Those that are ready; a slice that does not say has ready ones."""
    ports = [text(port.get("port")) for port in dicts(body.get("ports"))] or [""]
    for endpoint in dicts(body.get("endpoints")):
        if get(endpoint, "conditions", "ready") is False:
            continue
        addresses = endpoint.get("addresses")
        for address in addresses if isinstance(addresses, list) else ():
            yield f"{text(address)}:{ports[0]}" if ports[0] else text(address)


def _config(scope: str, body: object, where: Where, owner: str) -> Iterator[Fact]:
    """Every value under its own name; the dotted one too where it is nested (networking.podSubnet and podSubnet)."""
    for key, value, parent, own in flat(body):
        if key in ("apiVersion", "kind") or key.startswith("metadata."):
            continue
        yield Setting(where.key(parent, own), scope, own, text(value), owner)
        if key == "kubernetesVersion":
            yield Version(where.key(parent, own), "kubernetes", text(value))


def _config_map(name: str, data: object, where: Where) -> Iterator[Fact]:
    if not isinstance(data, dict):
        return
    for key, value in data.items():
        held = text(value)
        place = where.key(data, str(key))
        yield Setting(place, "configmap", str(key), held[:_MAX_VALUE], name)
        if "\n" not in held or len(held) > 200_000:
            continue
        scope = {"ClusterConfiguration": "kubeadm", "config.conf": "kube-proxy", "kubelet": "kubelet"}.get(str(key), "")
        if scope or key in ("cni_network_config", "cni-conf.json"):
            inner = _inner(held)
            if isinstance(inner, dict):
                within = where.within(place)
                yield from _config(scope, inner, within, name) if scope else cni(inner, within, "cni-template")


def _inner(held: str) -> object:
    """The document inside of a value. Placeholders of Calico's template stand for numbers and texts."""
    from tortie.doctor.reading.readers.yaml_tree import load

    tree = load(re.sub(r":\s*(__\w+__)", r': "\1"', held))
    return tree.body if tree else None


def is_cni(body: dict[str, object]) -> bool:
    kinds = {text(body.get("type")), *(text(plugin.get("type")) for plugin in dicts(body.get("plugins")))}
    return "kind" not in body and ("cniVersion" in body or bool(kinds & {"calico", "calico-ipam", "flannel", "bridge"}))


def cni(body: dict[str, object], where: Where, scope: str = "cni") -> Iterator[Fact]:
    """nodename, mtu, type, ipam.type, kubernetes.kubeconfig, etcd_endpoints ...; the owner is the plugin's type."""
    plugins = list(dicts(body.get("plugins"))) or [body]
    for key in ("name", "cniVersion"):
        if key in body and body not in plugins:
            yield Setting(where.key(body, key), scope, f"network.{key}", text(body[key]))
    for plugin in plugins:
        for key, value, parent, own in flat(plugin):
            yield Setting(where.key(parent, own), scope, key, text(value), text(plugin.get("type")))
