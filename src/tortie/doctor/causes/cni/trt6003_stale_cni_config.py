"""TRT6003: files or bridges of another or older CNI win over Calico's."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Final

from tortie.doctor.causes.cause import (
    LIKELY,
    POSSIBLE,
    PROVEN,
    STRONG,
    Cause,
    Do,
    Finding,
    cannot_tell,
    do,
    found,
    ruled_out,
)
from tortie.doctor.causes.cni.cni_evidence import (
    CONF_DIR,
    FIND_PLUGIN,
    FIND_PLUGIN_CUT,
    OWN_FILE,
    PLUGIN_FAILED,
    conf_files,
    current,
    failing,
    is_own,
    node_of,
)
from tortie.doctor.causes.cni.pods_served import served_since
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.shared import NODENAME_MISSING
from tortie.doctor.picture.facts import HostFile, Interface, Pod, Setting, Unit
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Exhibit
from tortie.doctor.signs import Hit, Sign

FLANNEL: Final = Sign("stale-cni-flannel", "open /run/flannel/subnet.env: no such file")
CILIUM: Final = Sign("stale-cni-cilium", "unable to connect to Cilium (daemon|agent)")
CILIUM_SOCKET: Final = Sign("stale-cni-cilium-socket", "dial unix /var/run/cilium/cilium.sock")
BRIDGE: Final = Sign("stale-cni-bridge", '"<bridge>" already has an IP address different from <cidr>')
WEAVE: Final = Sign("stale-cni-weave", "http://127.0.0.1:6784/<path>")
OVN: Final = Sign("stale-cni-ovn", "failed to send CNI request: Post http://dummy/")
ANTREA: Final = Sign("stale-cni-antrea", "/var/run/antrea/cni.sock")
NO_CLUSTER_INFORMATION: Final = Sign("stale-cni-cluster-information", "error getting ClusterInformation")
WORDS: Final = (
    (FLANNEL, "flannel"), (CILIUM, "cilium"), (CILIUM_SOCKET, "cilium"), (WEAVE, "weave"), (ANTREA, "antrea"),
    (OVN, "ovn"),
)  # fmt: skip
FOREIGN: Final = (
    "flannel", "cilium", "weave", "antrea", "kube-router", "romana", "contiv", "ovn", "bridge", "kindnet", "aws-cni",
)  # fmt: skip
BRIDGES: Final = ("cni0", "flannel.1", "weave", "cilium_host", "cilium_net", "kube-bridge", "antrea-gw0")
_PARTS: Final = ("|", " -l", "selector")  # a list that was narrowed down
_OF_CALICO: Final = ("calico", "tigera", "canal")
# They call Calico themselves, or are what every runtime ships.
HARMLESS: Final = ("multus", "loopback", "podman", "istio", "linkerd", "nerdctl")

# Pods of plugins, by the beginning of their names: where they run without Calico, the plugin is the cluster's own.
PODS: Final = {
    "flannel": ("kube-flannel",), "cni0": ("kube-flannel",), "cilium": ("cilium",), "weave": ("weave-net",),
    "antrea": ("antrea",), "ovn": ("ovn",), "kindnet": ("kindnet",), "kube-router": ("kube-router",),
}  # fmt: skip


class Seen:
    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.plugin, self.errors = _named(picture)
        self.files = conf_files(picture)
        self.own = [file for file in self.files if is_own(file.name)]
        # The file that a runtime takes is the first by name; wrappers of Calico set aside.
        real = [file for file in self.files if not any(word in file.name.lower() for word in HARMLESS)]
        self.first = real[0] if real and not is_own(real[0].name) else None

    @cached_property
    def calls(self) -> list[Hit]:
        """Errors of Calico's own plugin."""
        hits = self.picture.hits(PLUGIN_FAILED, FIND_PLUGIN, FIND_PLUGIN_CUT)
        return [hit for hit in hits if hit.value("plugin").lower() in ("calico", "calico-ipam")]

    @cached_property
    def of_calico(self) -> bool:
        """Anything of Calico runs in this cluster."""
        by_systemd = any("calico" in unit.name for unit in self.picture.of(Unit))
        pods = any(word in pod.name for pod in self.picture.pods_now() for word in _OF_CALICO)
        return by_systemd or pods or bool(self.picture.calico_nodes())

    @cached_property
    def bridge(self) -> Interface | None:
        flannel = bool(self.picture.pods_now("canal", "kube-flannel"))
        links = [link for link in self.picture.of(Interface) if link.name.split("@")[0] in BRIDGES]
        return next((link for link in links if not (flannel and link.name.startswith(("flannel", "cni0")))), None)

    @cached_property
    def by_right(self) -> bool:
        """The plugin that speaks is the cluster's own: canal runs flannel, and not every cluster runs Calico."""
        if self.picture.pods_now("canal", "rke2-canal") and self.plugin in ("flannel", "cni0"):
            return True
        prefixes = next((pods for name, pods in PODS.items() if self.plugin.startswith(name)), ())
        return bool(prefixes and self.picture.pods_now(*prefixes)) and not self.picture.agents_now()

    @cached_property
    def connected(self) -> tuple[Pod, Interface] | None:
        """A pod on another plugin's bridge: its address is in that bridge's network and in none of Calico's pools."""
        pools = [network for pool in self.picture.pools_now() if (network := _network(pool.cidr))]
        bridges = [link for link in self.picture.of(Interface) if link.name.startswith(("cni", "weave", "kube-bridge"))]
        networks = [(link, network) for link in bridges for one in link.addresses if (network := _network(one))]
        if self.picture.pods_now("canal", "rke2-canal", "kube-flannel"):
            return None
        if not pools and not (self.picture.agents_now() and any(_of_a_bridge(file) for file in self.files)):
            return None  # nothing says which addresses are strange
        addresses = [(pod, address) for pod in self.picture.pods_now() if (address := _network(pod.ip))]
        strange = [one for one in addresses if not any(_within(one[1], pool) for pool in pools)]
        # Calico is at work: its agents are shown, or a pod has an address of its pools.
        if not self.picture.agents_now() and len(strange) == len(addresses):
            return None
        pairs = ((pod, link) for pod, address in strange for link, network in networks if _within(address, network))
        return next(pairs, None)

    @cached_property
    def datastores(self) -> tuple[Setting, ...]:
        """One file speaks to etcd and the other one to Kubernetes: they are of two installations."""
        etcd = self.picture.setting("etcd_endpoints", "cni")
        kubernetes = [one for one in self.picture.settings("datastore_type", "cni") if one.value == "kubernetes"]
        return (etcd, kubernetes[-1]) if etcd and kubernetes else ()


def _network(text: str) -> IPv4Network | IPv6Network | None:
    try:
        return ip_network(text, strict=False)
    except ValueError:
        return None


def _of_a_bridge(file: HostFile) -> bool:
    """What packages of runtimes bring along: it serves until a plugin is installed."""
    name = file.name.lower()
    return not is_own(name) and any(word in name for word in ("bridge", "crio", "podman", "containerd-net"))


def _within(inner: IPv4Network | IPv6Network, outer: IPv4Network | IPv6Network) -> bool:
    return inner.version == outer.version and inner[0] in outer


def _named(picture: Picture) -> tuple[str, list[Hit]]:
    """The other plugin that an error names."""
    for sign, plugin in WORDS:
        if hits := picture.hits(sign):
            return plugin, hits
    if hits := picture.hits(BRIDGE):
        return hits[0].value("bridge"), hits
    for hit in picture.hits(PLUGIN_FAILED, FIND_PLUGIN, FIND_PLUGIN_CUT):
        plugin = hit.value("plugin").lower()
        if any(word in plugin for word in FOREIGN):
            return plugin, [hit]
    return "", []


def no_own_file(seen: Seen) -> Finding | None:
    """Perhaps Calico is not even meant to be there."""
    alone = seen.first and not seen.own and (seen.by_right or not seen.errors)
    return cannot_tell() if alone else None


def sorts_first(seen: Seen) -> Finding | None:
    if not seen.first:
        return None
    fits = bool(seen.plugin) and seen.plugin.split("-")[0] in seen.first.name.lower()
    strength = PROVEN if fits else STRONG if seen.errors or current(seen.picture) else LIKELY
    own = seen.own[0].name if seen.own else OWN_FILE
    return _found(seen, strength, seen.first, (seen.first, *seen.errors[:2]), own=own)


def older_conf(seen: Seen) -> Finding | None:
    """A .conf beside the .conflist of the same name sorts first."""
    lists = {file.name for file in seen.files if file.name.endswith(".conflist")}
    older = next((file for file in seen.own if file.name.endswith(".conf") and f"{file.name}list" in lists), None)
    if not older or not (seen.errors or failing(seen.picture)):
        return None
    strength = STRONG if seen.errors or seen.datastores else LIKELY
    return _found(seen, strength, older, (older, *seen.datastores, *seen.errors[:2]), own=f"{older.name}list")


def calico_left_behind(seen: Seen) -> Finding | None:
    """The other way round: Calico was taken away, its file is still the first, and the new plugin is never asked."""
    first = next(iter(seen.files), None)
    other = next((file for file in seen.files if not is_own(file.name) and _maker(file.name)), None)
    if first is None or other is None or not is_own(first.name) or seen.picture.agents_now():
        return None
    pods = seen.picture.pods_now(*PODS[_maker(other.name)])
    words = seen.picture.hits(NODENAME_MISSING, NO_CLUSTER_INFORMATION)
    if not pods or not words:
        return None
    return _found(seen, PROVEN, first, (first, other, *words[:1], *pods[:1]), own=other.name)


def before_calico(seen: Seen) -> Finding | None:
    """No Calico is installed, and its plugin is called: the file is a former cluster's."""
    words = seen.picture.hits(NO_CLUSTER_INFORMATION)
    listed = [pod for pod in seen.picture.pods_now() if pod.name.startswith(("kube-apiserver", "kube-proxy", "etcd"))]
    whole = seen.picture.commands("get", "po", "-A") or seen.picture.commands("get", "po", "--all-namespaces")
    whole = [one for one in whole if not any(part in one.command for part in _PARTS) and len(one.lines) > 1]
    if not (words and listed and whole) or seen.of_calico:
        return None
    return _found(seen, STRONG, None, (*words[:1], *listed[:1]))


def anothers_pods(seen: Seen) -> Finding | None:
    """Another plugin's agents run, no Calico does, and the runtime calls Calico: its file was left behind."""
    called = [*seen.picture.hits(NODENAME_MISSING, NO_CLUSTER_INFORMATION), *seen.calls]
    agents = [pod for prefixes in PODS.values() for pod in seen.picture.pods_now(*prefixes)]
    if not called or not agents or seen.of_calico:
        return None
    # Calico may live in a namespace that was not asked for; whoever says to have replaced it knows better.
    replaced = seen.picture.said("cni-replaced")
    whole = any(_whole(one) for one in seen.picture.commands("get", "po"))
    ready = [pod for pod in agents if pod.all_ready]
    strength = PROVEN if whole and ready else STRONG if replaced else POSSIBLE
    file = next((file for file in seen.files if is_own(file.name)), None)
    return _found(seen, strength, file, (file, *called[:2], *(ready or agents)[:1], *replaced[:1]), own=agents[0].name)


def _whole(exhibit: Exhibit) -> bool:
    """All namespaces, or the one of the system, without a part taken out."""
    everywhere = any(word in exhibit.command for word in (" -A", "--all-namespaces", "kube-system"))
    return everywhere and len(exhibit.lines) > 1 and not any(part in exhibit.command for part in _PARTS)


def _maker(name: str) -> str:
    return next((plugin for plugin in PODS if plugin in name.lower()), "")


def served(seen: Seen) -> Finding | None:
    """The other plugin's words are old, and no file of it is there that would win."""
    running = served_since(seen.picture, seen.errors)
    return ruled_out(running[:2]) if running else None


def anothers_words(seen: Seen) -> Finding | None:
    """Only the words of another plugin."""
    if not seen.errors:
        return None
    file = next((file for file in seen.files if not is_own(file.name)), None)
    return _found(seen, POSSIBLE if seen.by_right else STRONG, file, (file, *seen.errors[:2]))


def on_anothers_bridge(seen: Seen) -> Finding | None:
    """Whoever was started before Calico's own file was there; harmless files are harmful then."""
    if not seen.connected:
        return None
    pod, link = seen.connected
    file = next((file for file in seen.files if not is_own(file.name)), None)
    blamed = culprits(
        Culprit("file", f"{file.folder.rstrip('/')}/{file.name}") if file else (),
        named("interface", link.name), named("pod", pod.name), named("address", pod.ip), named("node", pod.node),
    )  # fmt: skip
    return found(
        STRONG, blamed, (file, pod, link), pod=pod.name, pod_namespace=pod.namespace, address=pod.ip, link=link.name,
        file=f"{file.folder.rstrip('/')}/{file.name}" if file else "", node=pod.node,
    )  # fmt: skip


def stray_bridge(seen: Seen) -> Finding | None:
    if not seen.bridge or not current(seen.picture):
        return None
    blamed = culprits(named("interface", seen.bridge.name), named("node", seen.bridge.host))
    return found(POSSIBLE, blamed, (seen.bridge,), bridge=seen.bridge.name, node=seen.bridge.host)


def only_own(seen: Seen) -> Finding | None:
    return ruled_out(seen.files[:2]) if seen.files and len(seen.own) == len(seen.files) else None


def _found(seen: Seen, strength: float, file: HostFile | None, evidence: tuple[object, ...], own: str = "") -> Finding:
    name = file.name if file else ""
    folder = (file.folder if file else CONF_DIR).rstrip("/") or CONF_DIR
    node = (file.host if file else "") or node_of(seen.picture.hits(PLUGIN_FAILED), seen.picture)
    bridge = seen.bridge.name if seen.bridge else seen.plugin if seen.plugin in BRIDGES else ""
    blamed = culprits(
        Culprit("file", f"{folder}/{name}") if name else Culprit("folder", folder),
        # Calico is called, and its file is not listed: it has the name that install-cni gives it.
        named("file", f"{folder}/{OWN_FILE}" if not name and not seen.plugin else ""),
        named("interface" if seen.plugin in BRIDGES else "program", seen.plugin),
        named("interface", bridge),
        named("node", node),
    )
    return found(
        strength, blamed, (*evidence, seen.bridge), name=name, own=own, folder=folder, plugin=seen.plugin,
        file=f"{folder}/{name}" if name else "", bridge=bridge, node=node,
    )  # fmt: skip


def fix(_picture: Picture, finding: Finding) -> Iterator[Do]:
    general = not finding.rule  # of no case in particular: all that may be needed
    if general or not (finding.value("file") or finding.value("bridge")):
        yield do("look")
    if general or finding.value("file"):
        yield do("move")
    if general or finding.value("bridge"):
        yield do("bridge", bridge=finding.value("bridge").partition("@")[0])
    if finding.value("pod"):
        yield do("recreate")
    elif finding.rule not in ("older-conf", "calico-left-behind"):  # Calico's own, with the same pools
        yield do("find")


CAUSE = Cause(
    module=__name__,
    id="stale-cni-config",
    code="TRT6003",
    severity="high",
    explains=("sandbox-failed", "pod-pending", "no-address", "traffic-dead", "node-not-ready", "log-errors"),
    signs=(
        FLANNEL, CILIUM, CILIUM_SOCKET, BRIDGE, WEAVE, OVN, ANTREA, PLUGIN_FAILED, FIND_PLUGIN, FIND_PLUGIN_CUT,
        NODENAME_MISSING, NO_CLUSTER_INFORMATION,
    ),
    look=Seen,
    rules=(
        no_own_file,
        calico_left_behind,
        anothers_pods,
        before_calico,
        sorts_first,
        older_conf,
        served,
        anothers_words,
        on_anothers_bridge,
        stray_bridge,
        only_own,
    ),
    fix=fix,
)  # fmt: skip
