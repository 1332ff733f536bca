"""Who owns the agent's installation: what is changed by hand on an object of somebody else's is changed back, or lost.

Two things decide: the way in which Calico was installed (operator, manifest, canal), and the platform that may hold
that in its own hands (RKE2's charts, kops' addons, kubespray's variables ...).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Final

from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import (
    Document,
    HostFile,
    Interface,
    Node,
    Pod,
    ResourceCondition,
    Route,
    Setting,
    Unit,
    Workload,
)
from tortie.doctor.picture.host_pods import is_agent
from tortie.doctor.picture.picture import Picture, remembered
from tortie.doctor.reading.exhibit import Place
from tortie.model.tuples import NamedTuple

# Platforms that install Calico themselves: the way of installing is theirs, and a change has to be made with them.
KEEPS: Final = ("rke", "rke2", "microk8s", "kops", "kubespray", "kubekey", "openshift", "eks", "aks", "gke")
_LONGEST: Final = 400  # lines of an exhibit that are looked through for words
_LINE: Final = 600  # characters

# Versions of kubelet and names of operating systems that only one platform has.
_VERSIONS: Final = (("+rke2", "rke2"), ("+k3s", "k3s"), ("-eks-", "eks"), ("-gke.", "gke"))
_SYSTEMS: Final = (("Talos", "talos"), ("CoreOS 4", "openshift"), ("Linux CoreOS", "openshift"))
_LABELS: Final = (
    ("kops.k8s.io/", "kops"), ("microk8s.io/", "microk8s"), ("eks.amazonaws.com/", "eks"),
    ("kubernetes.azure.com/", "aks"), ("cloud.google.com/gke-", "gke"), ("node.openshift.io/", "openshift"),
    ("rke.cattle.io/external-ip", "rke"), ("rke.cattle.io/internal-ip", "rke"), ("rke2.io/", "rke2"),
    ("k3s.io/", "k3s"), ("p2p.k3s.cattle.io/", "k3s"), ("talos.dev/", "talos"),
)  # fmt: skip
_PODS: Final = (
    ("rke2-", "rke2"), ("helm-install-rke2-", "rke2"), ("rke-", "rke"), ("kops-controller-", "kops"),
    ("aws-node-", "eks"), ("nginx-proxy-", "kubespray"), ("helm-install-traefik", "k3s"), ("svclb-traefik", "k3s"),
)  # fmt: skip
# What paths, units, commands and people say. Each word belongs to one platform alone.
_WORDS: Final = (
    ("rke2", r"/var/lib/rancher/rke2|/etc/rancher/rke2|\brke2-(?:server|agent|canal|calico)\b|\bRKE ?2\b"),
    ("k3s", r"/(?:var/lib|etc)/rancher/k3s|\bk3s(?:-agent)?\.service\b|\bk3s (?:kubectl|crictl|server|agent)\b"),
    ("rke", r"\brke up\b|rancher/hyperkube|rke-network-plugin|\bRKE ?1\b"),
    ("microk8s", r"/(?:var/)?snap/microk8s|\bmicrok8s[ .]|snap\.microk8s\."),
    ("kops", r"\bkops (?:create|edit|update|rolling-update|get|export|replace|toolbox)\b|/opt/kops\b|kops\.k8s\.io/"),
    ("kubespray", r"\b[Kk]ubespray\b"),
    ("kubekey", r"\b[Kk]ube[Kk]ey\b|\bkk (?:create|add|upgrade|delete) (?:cluster|nodes)\b"),
    ("openshift", r"\bopenshift-(?:\w+)\b|\bOpenShift\b|\boc (?:get|describe|adm|logs|debug)\b"),
    ("eks", r"eks\.amazonaws\.com/|\baws eks\b|\beksctl\b"),
    ("talos", r"\btalosctl\b|\bTalos\b"),
    ("aks", r"kubernetes\.azure\.com/|\baz aks\b"),
    ("gke", r"cloud\.google\.com/gke-"),
)  # fmt: skip
_OPERATOR: Final = r"tigera-operator|operator\.tigera\.io|\btigerastatus\b|\bcalico-system\b"
_MANIFEST: Final = (
    r"\b(?:calico|calico-typha|calico-etcd|calico-bpf|calico-vxlan|calico-policy-only|custom-calico)\.yaml\b"
    r"|rbac-kdd(?:-calico)?\.yaml|kubernetes-datastore/calico-networking"
)
_CANAL: Final = r"\bcanal\.yaml\b|\bcanal-config\b|\brke2-canal\b"
_CALICO_CHART: Final = r"\brke2-calico\b|\bcni: \"?calico\b|\b[Tt]ypha\b"
_NOT_IT: Final = lazily(
    r"\bnot (?:using |on |an? )?|\binstead of |\bunlike |\bwithout |不是|没有用|没用|而非", re.IGNORECASE
)


class Owner(NamedTuple):
    """`way`: operator, canal, manifest; `platform`: rke2, k3s, kops ...; either is empty where nothing tells."""

    way: str = ""
    platform: str = ""
    evidence: tuple[Place, ...] = ()  # of the way, then of the platform

    @property
    def name(self) -> str:
        """Who has to be asked for a change: the platform where it keeps Calico itself, else the way."""
        return self.platform if self.platform in KEEPS or not self.way else self.way


@remembered
def owner(picture: Picture) -> Owner:
    way, shown = _way(picture)
    platform, told = _platform(picture)
    if platform == "rke2" and not way and (found := _chart_of_calico(picture)):
        way, shown = "operator", found
    return Owner(way, platform, (*shown, *told))


def _chart_of_calico(picture: Picture) -> tuple[Place, ...]:
    """RKE2 installs canal, which has neither Typha nor Calico's VXLAN, unless it is told to install Calico."""
    links = [link.place for link in picture.of(Interface) if link.name == "vxlan.calico"]
    links += [route.place for route in picture.of(Route) if route.device == "vxlan.calico"]
    return (links[0],) if links else _said(picture, _CALICO_CHART)


def _way(picture: Picture) -> tuple[str, tuple[Place, ...]]:
    agents = list(_agents(picture))
    canal = [place for place, name, _ in agents if "canal" in name]
    if canal:
        return "canal", (canal[0],)
    operated = [place for place, _, namespace in agents if namespace == "calico-system"]
    operated += [c.place for c in picture.of(ResourceCondition) if c.resource in ("TigeraStatus", "Installation")]
    operated += [s.place for s in picture.of(Setting) if s.scope == "tigerastatus" or _of_installation(s)]
    operated += [pod.place for pod in picture.of(Pod) if pod.name.startswith("tigera-operator")]
    if operated:
        return "operator", (operated[0],)
    applied = [place for place, _, namespace in agents if namespace == "kube-system"]
    if applied:
        return "manifest", (applied[0],)
    for word, way in ((_CANAL, "canal"), (_OPERATOR, "operator"), (_MANIFEST, "manifest")):
        if places := _said(picture, word):
            return way, places
    return "", ()


def _agents(picture: Picture) -> Iterator[tuple[Place, str, str]]:
    """Pods and workloads of the agent: place, name, namespace."""
    for pod in picture.agents_now():
        yield pod.place, pod.name, pod.namespace
    for workload in picture.of(Workload):
        if is_agent(workload.name):
            yield workload.place, workload.name, workload.namespace


def _of_installation(setting: Setting) -> bool:
    """A field of the resource itself; a word that its fields share with others has no owner."""
    return setting.scope == "installation" and bool(setting.owner)


def _platform(picture: Picture) -> tuple[str, tuple[Place, ...]]:
    for name, place in (*_of_nodes(picture), *_of_pods(picture), *_of_machines(picture)):
        return name, (place,)
    for name, word in _WORDS:
        if places := _said(picture, word):
            return name, places
    return "", ()


def _of_nodes(picture: Picture) -> Iterator[tuple[str, Place]]:
    for node in picture.of(Node):
        for mark, name in _VERSIONS:
            if mark in node.version:
                yield name, node.place
        for mark, name in _SYSTEMS:
            if mark in node.os_image:
                yield name, node.place
    for node in picture.of(Node):
        keys = [key for key, _ in (*node.labels, *node.annotations)]
        for mark, name in _LABELS:
            if any(key.startswith(mark) for key in keys):
                yield name, node.place


def _of_pods(picture: Picture) -> Iterator[tuple[str, Place]]:
    for pod in picture.of(Pod):
        for mark, name in _PODS:
            if pod.name.startswith(mark):
                yield name, pod.place
        if pod.namespace.startswith("openshift-"):
            yield "openshift", pod.place
    for setting in picture.settings("kubernetesProvider"):
        provider = setting.value.lower().strip()
        if provider in ("eks", "aks", "gke", "openshift", "rke2"):
            yield provider, setting.place


def _of_machines(picture: Picture) -> Iterator[tuple[str, Place]]:
    for unit in picture.of(Unit):
        for mark, name in (("rke2-", "rke2"), ("k3s", "k3s"), ("snap.microk8s", "microk8s")):
            if unit.name.startswith(mark) and unit.active != "not-found":
                yield name, unit.place
    for file in picture.of(HostFile):
        for mark, name in (("/rancher/rke2", "rke2"), ("/rancher/k3s", "k3s"), ("/snap/microk8s", "microk8s")):
            if mark in file.folder:
                yield name, file.place
    for document in picture.of(Document):
        release = _release(document)
        if release.startswith("rke2-"):
            yield "rke2", document.place


def _release(document: Document) -> str:
    """The release of Helm that made a resource."""
    metadata = document.body.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    return str(annotations.get("meta.helm.sh/release-name", "")) if isinstance(annotations, dict) else ""


def _said(picture: Picture, word: str) -> tuple[Place, ...]:
    """Where a command, an output or a person has this word; not where a person says that it is not so."""
    pattern = _compiled(word)
    for exhibit in picture.exhibits:
        if exhibit.command and pattern.search(exhibit.command[:_LINE]):
            number = exhibit.command_lines[0] if exhibit.command_lines else exhibit.first
            return (Place(exhibit.source, number, number),)
        for index, line in enumerate(exhibit.lines[:_LONGEST]):
            match = pattern.search(line[:_LINE])
            if match and not (exhibit.prose and _NOT_IT.search(line[max(0, match.start() - 20) : match.start()])):
                return (exhibit.place(index),)
    return ()


@cache
def _compiled(word: str) -> re.Pattern[str]:
    return re.compile(word)
