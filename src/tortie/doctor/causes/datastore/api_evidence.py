"""Questions about the API server, its service address (the VIP) and who programs it, which several causes ask."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from ipaddress import ip_address
from typing import Final

from tortie.doctor.causes.datastore.bpf_ordered import bpf_ordered
from tortie.doctor.causes.datastore.service_address import (
    DIAL_CUT,
    RANGES,
    VIP_RULE,
    cut_off,
    first_of_ranges,
    ruled_for,
)
from tortie.doctor.causes.shared import API_DEADLINE, DIAL_FAILED
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.addresses import public
from tortie.doctor.picture.facts import Number, Ping, Pod, PortTest, Setting
from tortie.doctor.picture.picture import Picture
from tortie.doctor.picture.places import exhibit_at
from tortie.doctor.reading.exhibit import Exhibit, Place
from tortie.doctor.signs import Hit, Sign
from tortie.model.tuples import NamedTuple

KUBERNETES_SERVICE: Final = Sign("api-kubernetes-service", "kubernetes ClusterIP <ip>")
NFT_RULE: Final = Sign("api-nft-rule", "default/kubernetes/tcp/https")  # kube-proxy in its nftables mode
IPVS_MISSING: Final = Sign("api-ipvs-missing", "Can't initialize ipvs: <rest>")
IPVS_PROXIER: Final = Sign("api-ipvs-proxier", "Can't use the IPVS proxier<rest>")
PROXY_LIST: Final = Sign("api-proxy-list", "failed to list *v1.(Service|Endpoints|EndpointSlice): <rest>")
RESTORE_FAILED: Final = Sign("api-restore-failed", "Failed to execute iptables-restore")
# How kube-proxy ends at its start; each has its own run of text, since that is what long logs are searched for.
PROXY_ENDS: Final = (
    Sign("api-proxy-ended", 'Error running ProxyServer" err=<rest>'),
    Sign("api-proxy-failed", 'command failed" err=<rest>'),
    Sign("api-proxy-incomplete", "failed complete: <rest>"),
    Sign("api-proxy-unfit", "invalid configuration: <rest>"),
    Sign("api-proxy-no-proxier", "unable to create proxier: <rest>"),
)
CONNTRACK_DENIED: Final = Sign("api-conntrack-denied", "nf_conntrack_max: permission denied")
BPF_ON: Final = Sign("api-bpf-on", 'bpfEnabled(")?:( )?(")?true')
BPF_DATAPLANE: Final = Sign("api-bpf-dataplane", 'linuxDataplane(")?:( )?(")?BPF')
BPF_INVENTORY: Final = Sign("api-bpf-inventory", "calico_bpf_enabled: true")
BPF_ENV: Final = Sign("api-bpf-env", 'FELIX_BPFENABLED(=|: )(")?true')
PROXY_VARIABLE: Final = Sign("api-proxy-variable", "HTTPS_PROXY=<value>")
PROXY_VARIABLE_PLAIN: Final = Sign("api-proxy-variable-plain", "HTTP_PROXY=<value>")
NO_PROXY: Final = Sign("api-no-proxy", "NO_PROXY=<value><rest>")
NO_PROXY_SHORT: Final = Sign("api-no-proxy-short", "NO_PROXY=<value>")
PROXY_OFF: Final = Sign("api-proxy-off", 'disable-kube-proxy(")?(: |=)(")?true')
PROXY_SKIPPED: Final = Sign("api-proxy-skipped", "skip-phases(=| )addon/kube-proxy")
VIP_SIGNS: Final = (DIAL_FAILED, DIAL_CUT, API_DEADLINE, KUBERNETES_SERVICE)
# The mode was asked for, and Felix went back to iptables: kube-proxy was left out on purpose.
BPF_REFUSED = Sign("trt7013-old-kernel", "BPF dataplane mode enabled but not supported by the kernel")
RULE_SIGNS: Final = (VIP_RULE, NFT_RULE, IPVS_MISSING)
KUBE_PROXY_SIGNS: Final = (IPVS_PROXIER, RESTORE_FAILED, CONNTRACK_DENIED, PROXY_LIST, *PROXY_ENDS)
PROXY_OFF_SIGNS: Final = (PROXY_OFF, PROXY_SKIPPED)
BPF_SIGNS: Final = (BPF_ON, BPF_DATAPLANE, BPF_ENV, BPF_INVENTORY)

ETCD_PORTS: Final = (2379, 2380, 4001)
TYPHA_PORT: Final = 5473
API_PORTS: Final = (6443, 443, 8443, 16443, 7443, 9443, 6444, 5443)
COMMON_PORTS: Final = (443, 8443, 9443, 5443)  # of those, where other servers listen, too
ANSWERS: Final = ("open", "tls-error")
_SOCKET = lazily(r"(?<![\d.])((?:\d{1,3}\.){3}\d{1,3}):(\d{2,5})(?!\d)")
# Of a test at a port that many servers share: what makes it one of the API server.
_API_PATH = lazily(r"/(?:healthz|livez|readyz|version|apis?)(?![\w-])")
_API_NAME = lazily(
    r"(?<![a-z])(?:kube\w*|k8s|k3s|rke2?|eks|aks|gke|azmk8s|apiserver|master\d*|cluster|lb|vip)(?![a-z])", re.I
)
_API_SETTINGS: Final = ("server", "controlPlaneEndpoint", "KUBERNETES_SERVICE_HOST")
_OWN_NETWORK: Final = (".local", ".lan", ".internal", ".intra", ".corp", ".home", ".svc")
_ADDRESS = lazily(r"(?:\d{1,3}\.){3}\d{1,3}")
_ITEM = lazily(r"\s*+-?\s*+ip:\s*+((?:\d{1,3}\.){3}\d{1,3})")
_POD_PROGRAMS: Final = (
    "kube-controllers", "coredns", "metrics-server", "plugin/", "kube-dns", "provisioner",
    "failed to initialize datastore", "failed to verify datastore", "failed to reach apiserver",
)  # fmt: skip
_RULE_WORDS: Final = ("KUBE-S", "KUBE-NODE", "default/kubernetes")
_LINES_READ = 400  # of one exhibit that answers a question; such answers are short


class Trouble(NamedTuple):
    """Somebody could not connect to an address: a line of a log, or a trial."""

    address: str
    port: int
    how: str  # timeout, refused, no-route, unreachable, closed; deadline: no answer in time, perhaps after connecting
    place: Place
    host: str = ""
    command: str = ""
    line: str = ""
    tried: bool = False  # somebody tried on purpose

    @property
    def from_pod(self) -> bool:
        """Said by a program on the pod network; Calico's agent, Typha and init containers use the host's."""
        said = f"{self.command} {self.line}".lower()
        return any(word in said for word in _POD_PROGRAMS)

    @property
    def own_host_only(self) -> bool:
        """Silence on the loopback: who does not listen there refuses at once, so the host's own network is at fault."""
        return self.address.startswith("127.") and self.how in ("timeout", "no-route", "unreachable")


def how_failed(text: str) -> str:
    low = text.lower()
    if "deadline" in low:
        return "deadline"
    if "refused" in low or "拒绝" in low:
        return "refused"
    if "network is unreachable" in low or "网络不可达" in low:
        return "unreachable"
    if "no route" in low or "host is unreachable" in low or "没有到主机的路由" in low:
        return "no-route"
    return "timeout"


# Many causes ask the same of one finished picture, so the answers to the two costly questions are kept.
@lru_cache(maxsize=1)
def troubles(picture: Picture) -> list[Trouble]:
    """All failed connections that name address and port, log lines first."""
    nodes = {pod.name: pod.node for pod in picture.of(Pod) if pod.node}
    found = [
        Trouble(
            hit.value("ip"), int(hit.value("port")), how_failed(hit.text), hit.place, said_on(hit, nodes), hit.command,
            hit.line,
        )
        for hit in picture.hits(DIAL_FAILED, API_DEADLINE)
    ]  # fmt: skip
    found += [
        Trouble(
            hit.value("ip"), int(hit.value("port")), how_failed(words), hit.place, said_on(hit, nodes), hit.command,
            hit.line,
        )
        for hit, words in cut_off(picture)
    ]  # fmt: skip
    for test in picture.of(PortTest):
        if test.result in ("timeout", "refused", "closed", "unreachable"):
            how = how_failed(test.text) if test.result == "unreachable" else test.result
            found.append(Trouble(test.address, test.port, how, test.place, test.host, "", test.text, True))
    return found


def said_on(hit: Hit, nodes: dict[str, str]) -> str:
    """The machine where a line was written: kubectl shows logs of pods that run elsewhere."""
    if "kubectl" not in hit.command or "logs" not in hit.command:
        return hit.host
    return next((nodes[word] for word in hit.command.replace("/", " ").split() if word in nodes), "")


# The service address


@lru_cache(maxsize=1)
def vips(picture: Picture) -> list[str]:
    """Service addresses of the API server: named as such, else private ones ending in .1 that are asked at 443."""
    named = [setting.value for setting in picture.settings("KUBERNETES_SERVICE_HOST")]
    named += [hit.value("ip") for hit in picture.hits(KUBERNETES_SERVICE)]
    named += ruled_for(picture)
    own, first = set(picture.internal_ips().values()), first_of_ranges(picture)
    asked = dict.fromkeys(trouble.address for trouble in troubles(picture) if trouble.port == 443)
    named += [address for address in asked if address not in own and (address in first or _first_of_range(address))]
    return list(dict.fromkeys(address for address in named if address))


def _first_of_range(address: str) -> bool:
    try:
        parsed = ip_address(address)
    except ValueError:
        return False
    return parsed.is_private and parsed.packed[-1] == 1 and not parsed.is_loopback


def vip_troubles(picture: Picture) -> list[Trouble]:
    known = set(vips(picture))
    return [trouble for trouble in troubles(picture) if trouble.port == 443 and trouble.address in known]


def service_range(picture: Picture, vip: str = "") -> str:
    """The network of service addresses as it is configured; else the API's own address as a network."""
    told = (setting.value.split(",")[0].strip("\"' ") for name in RANGES for setting in picture.settings(name))
    return next((value for value in told if "/" in value), f"{vip}/32" if _ADDRESS.fullmatch(vip) else "")


def asks_vip(picture: Picture, hit: Hit) -> bool:
    """The line asks the API server through its service address."""
    text = f"{hit.line} {hit.text}"
    return any(f"{vip}:443" in text or f"https://{vip}/" in text for vip in vips(picture))


# The API server asked directly


def _api_tests(picture: Picture) -> Iterator[PortTest]:
    known = vips(picture)
    for test in picture.of(PortTest):
        local = test.address in ("localhost",) or test.address.startswith("127.")
        if test.port in API_PORTS and test.address not in known and not local and not _of_the_web(picture, test):
            yield test


def _of_the_web(picture: Picture, test: PortTest) -> bool:
    """At 443 the whole world listens: a name out there is the API server's only where something says so."""
    if test.port not in COMMON_PORTS or test.address in picture.internal_ips().values():
        return False
    named = "." in test.address and not _ADDRESS.fullmatch(test.address) and ":" not in test.address
    if not (named and not test.address.endswith(_OWN_NETWORK)) and not public(test.address):
        return False
    exhibit = exhibit_at(picture, test.place)
    by_path = exhibit is not None and _API_PATH.search(f"{exhibit.command} {test.text}")
    told = (setting for name in _API_SETTINGS for setting in picture.settings(name))
    return not (by_path or _API_NAME.search(test.address) or any(test.address in setting.value for setting in told))


def answered(test: PortTest) -> bool:
    """Something listens and was reached; code 000 is curl's word for no answer."""
    return test.result in ANSWERS or (test.result.startswith("http-") and not test.result.endswith("-000"))


def direct_answers(picture: Picture) -> list[PortTest]:
    return [test for test in _api_tests(picture) if answered(test)]


def direct_failures(picture: Picture) -> list[PortTest]:
    return [test for test in _api_tests(picture) if not answered(test)]


def alive_otherwise(picture: Picture, addresses: set[str]) -> list[Ping | PortTest]:
    """The machine is there: it answers ping, or another port than the API's."""
    pings: list[Ping | PortTest] = [ping for ping in picture.of(Ping) if ping.ok and ping.address in addresses]
    others = (22, 179, 2379, 10250)
    return pings + [t for t in picture.of(PortTest) if t.address in addresses and t.port in others and answered(t)]


def kubectl_answers(picture: Picture) -> Exhibit | None:
    """The API server served somebody: kubectl showed pods or nodes of the cluster."""
    rows = {pod.place.source for pod in picture.of(Pod)}
    shown = (e for e in picture.commands("kubectl", "get") if e.source in rows and len(e.lines) > 1)
    return next(shown, None)


# Who programs the service address


class Rules(NamedTuple):
    """Whether the service address is translated on a node, as far as somebody looked."""

    present: bool
    place: Place
    targets: tuple[str, ...] = ()


def vip_rules(picture: Picture) -> Rules | None:
    """None when nobody looked."""
    if rules := [hit for hit in picture.hits(VIP_RULE) if "no endpoints" not in hit.value("rest")]:
        found = (match[1] for hit in rules for match in _SOCKET.finditer(_after_to(hit.value("rest"))))
        return Rules(True, rules[0].place, tuple(dict.fromkeys(found)))
    by_ipvs = [table for exhibit in picture.exhibits if (table := _by_ipvs(exhibit))]
    if there := next((rules for rules in by_ipvs if rules.present), None):
        return there  # such nodes have no rules of iptables to count
    if nft := picture.hit(NFT_RULE):
        return Rules(True, nft.place)
    counts: list[Number] = [n for word in _RULE_WORDS for n in picture.numbers(word) if "kubectl" not in n.command]
    if counts:
        return Rules(counts[-1].value > 0, counts[-1].place)
    if missing := picture.hit(IPVS_MISSING):
        return Rules(False, missing.place)
    if nothing := _asked_in_vain(picture):
        return Rules(False, nothing)
    return next(iter(by_ipvs), None)


def _by_ipvs(exhibit: Exhibit) -> Rules | None:
    """Of the command, or a table that is known by its head; beside that one other lines may name sockets."""
    lines = exhibit.lines[:_LINES_READ]
    if "ipvsadm" not in exhibit.command:
        if exhibit.command or not any(line.startswith("IP Virtual Server version") for line in lines):
            return None
        lines = tuple(line for line in lines if line.lstrip().startswith(("TCP ", "UDP ", "-> ")))
    sockets = [match for line in lines if (match := _SOCKET.search(line))]
    shown = exhibit.place(0, len(exhibit.lines))
    if any(match[2] == "443" for match in sockets):
        real = tuple(dict.fromkeys(m[1] for m in sockets if m[2] in ("6443", "8443", "16443")))
        return Rules(True, shown, real)
    empty = not sockets and any("Virtual Server" in line for line in exhibit.lines)
    return Rules(False, shown) if empty else None


def _asked_in_vain(picture: Picture) -> Place | None:
    """A search of the rules for the service address that printed nothing, and more was typed after it."""
    words = (*_RULE_WORDS, *vips(picture))
    for exhibit in picture.commands("iptables", "grep"):
        asked = any(word in exhibit.command for word in words) and "-v" not in exhibit.command.split()
        if asked and not any(exhibit.lines) and exhibit is not picture.exhibits[-1]:
            return Place(exhibit.source, exhibit.first, exhibit.first)
    return None


def _after_to(rule: str) -> str:
    at = rule.find("to-destination")
    return rule[at:] if at >= 0 else rule[rule.find("to:") :] if "to:" in rule else ""


class Endpoint(NamedTuple):
    """Where the `kubernetes` service leads, by endpoints, rules or IPVS."""

    address: str
    place: Place


def kubernetes_endpoints(picture: Picture) -> list[Endpoint]:
    found: dict[str, Place] = {}
    known = vips(picture)
    for exhibit in picture.exhibits:
        if _asks_endpoints(exhibit.command):
            for index, line in enumerate(exhibit.lines[:_LINES_READ]):
                for address in _endpoints_on(line, exhibit.command, known):
                    found.setdefault(address, exhibit.place(index))
    if rules := vip_rules(picture):
        for target in rules.targets:
            found.setdefault(target, rules.place)
    return [Endpoint(address, place) for address, place in found.items()]


def _asks_endpoints(command: str) -> bool:
    by_kubectl = command.startswith(("kubectl", "sudo kubectl", "k "))
    # What agents in eBPF mode are told to use instead of the service: a balancer is right there.
    return (
        by_kubectl
        and "kubernetes-services-endpoint" not in command
        and any(word in command for word in (" ep", "endpoint", "svc", "service"))
    )


def _endpoints_on(line: str, command: str, known: list[str]) -> list[str]:
    """Addresses that a line shows behind the `kubernetes` service."""
    alone = "kubernetes" in command and "endpointslice" not in command  # nothing else was asked for
    words = line.split()
    row = words[:1] == ["kubernetes"] or words[:2] == ["default", "kubernetes"]
    if row or (alone and ("Endpoints:" in line or "jsonpath" in command)):
        return [] if "ClusterIP" in line else [each for each in _ADDRESS.findall(line) if each not in known]
    item = _ITEM.match(line) if alone else None
    return [item[1]] if item else []


def bpf_on(picture: Picture) -> Hit | Setting | None:
    """What says that Felix runs the eBPF dataplane."""
    for name in ("bpfEnabled", "FELIX_BPFENABLED"):
        setting = picture.setting(name)
        if setting:
            return setting if setting.value.lower() == "true" else None
    dataplane = picture.setting("linuxDataplane")
    if dataplane and dataplane.value == "BPF":
        return dataplane
    return picture.hit(*BPF_SIGNS) or bpf_ordered(picture)


def agents_well(picture: Picture) -> bool:
    """Agents are shown, and all of them are ready now: nobody suffers from what is only found."""
    agents = picture.agents_now()
    return bool(agents) and all(pod.all_ready for pod in agents)


def bad_node(picture: Picture, *hosts: str) -> str:
    """The node a finding is about: a host that was named, else the only node whose agent is not ready."""
    named = [host for host in hosts if host]
    if named:
        return named[0]
    sick = list(dict.fromkeys(pod.node for pod in picture.agents_now() if pod.node and not pod.all_ready))
    return sick[0] if len(sick) == 1 else ""
