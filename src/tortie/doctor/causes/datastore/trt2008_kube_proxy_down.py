"""TRT2008: nothing programs the API's service address on the node, because kube-proxy does not do its work."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import Final

from tortie.doctor.causes.cause import HINT, LIKELY, POSSIBLE, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.datastore.api_evidence import (
    BPF_REFUSED,
    BPF_SIGNS,
    CONNTRACK_DENIED,
    IPVS_MISSING,
    IPVS_PROXIER,
    KUBE_PROXY_SIGNS,
    PROXY_ENDS,
    PROXY_LIST,
    PROXY_OFF_SIGNS,
    RESTORE_FAILED,
    RULE_SIGNS,
    VIP_SIGNS,
    Trouble,
    bad_node,
    bpf_on,
    direct_answers,
    kubectl_answers,
    troubles,
    vip_rules,
    vip_troubles,
)
from tortie.doctor.causes.datastore.proxy_evidence import (
    foreign_servers,
    nodes_without_proxy,
    proxies_down,
    proxy_containers_down,
    proxy_ended,
    proxy_pods,
    proxy_switched_off,
    proxy_without_api,
)
from tortie.doctor.causes.datastore.trt2011_http_proxy_intercepts import INTERCEPTED
from tortie.doctor.causes.ipam.cluster_ranges import overlaps
from tortie.doctor.causes.steps import Step
from tortie.doctor.causes.ways import restart_agent
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Pod, Setting, Statement, Unit, Workload
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Hit

_QUOTED: Final = 120  # letters of its reason
PROXY: Final = Culprit("program", "kube-proxy")
_MODULES: Final = lazily(r"\[([a-z_][\w ]*)\]")
# Rules that are missing because they are kept elsewhere, or were not expected.
_ANOTHER_MODE: Final = lazily(
    r"\b(?:ebpf|bpf|nftables|nft|ipvs) ?(?:mode|data ?plane|模式)|\bas expected|\bof course\b|is normal|in ipvs\b"
    r"|(?:因为|由于)[^，。]{0,12}(?:ipvs|nft|ebpf)|(?:用的?是|使用|走的?是) ?(?:ipvs|nft|ebpf)",
    re.IGNORECASE,
)
_OWN_RUNTIME: Final = ("+k3s", "+rke2")  # which bring kube-proxy along


class Seen:
    """Who fails on the service address, whether it is translated, and how kube-proxy does."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.failing = [trouble for trouble in vip_troubles(picture) if trouble.how != "unreachable"]
        self.rules = vip_rules(picture)
        told = [] if self.rules else picture.said("service-rules-missing")
        self.told = [said for said in told if not _ANOTHER_MODE.search(said.text)]
        self.absent = bool(self.told) or (self.rules is not None and not self.rules.present)
        down = proxies_down(picture)
        self.pods = [one for one in down if isinstance(one, Pod)] if self.concerned else []
        self.units = [one for one in down if isinstance(one, Unit)]
        self.containers = proxy_containers_down(picture)
        self.none = [load for load in picture.of(Workload) if load.name == "kube-proxy" and load.ready == 0]
        self.switched_off = [] if proxy_pods(picture) else proxy_switched_off(picture)
        self.said = picture.said("kube-proxy-missing")
        self.complaints = [] if self.failing else picture.said("api-vip-dead")
        self.vip = self.failing[0].address if self.failing else _address(self.complaints)

    @property
    def concerned(self) -> bool:
        """A pod that is down on one node says nothing about another, where kube-proxy is ready."""
        hosts = {trouble.host for trouble in self.failing if trouble.host}
        served = {pod.node for pod in proxy_pods(self.picture) if pod.all_ready and pod.node}
        return not hosts or not hosts <= served

    @cached_property
    def cut_off(self) -> bool:
        """kube-proxy itself misses the API server at its real address: whoever cuts the two off is at fault."""
        lists = {hit.place for hit in self.picture.hits(PROXY_LIST)}
        real = [one for one in troubles(self.picture) if one.place in lists and one.address != self.vip]
        return bool(real) and not self.direct and not self.absent and not self.astray

    @cached_property
    def astray(self) -> list[Trouble]:
        """kube-proxy asks where no API server is, while the one there is shows its pods."""
        return foreign_servers(self.picture)

    @cached_property
    def own(self) -> list[Hit]:
        """kube-proxy's own words. With its rules there, or no API server at all, a failed list of Services is none."""
        hits = self.picture.hits(IPVS_PROXIER, RESTORE_FAILED, CONNTRACK_DENIED)
        hits = [hit for hit in hits if "xtables lock" not in hit.line]  # it lives, and waits for somebody else
        hits = hits or proxy_ended(self.picture)
        present = self.rules is not None and self.rules.present
        if not present and (self.rules or self.told or self.astray or direct_answers(self.picture)):
            hits = hits + proxy_without_api(self.picture)
        return hits

    @cached_property
    def missing(self) -> list[Pod]:
        """Agents without kube-proxy beside them; one that is ready has what it needs, from whomever."""
        return [pod for pod in nodes_without_proxy(self.picture) if not pod.all_ready]

    @property
    def guilty(self) -> list[Hit | Pod | Unit | Workload | object]:
        there = (*self.pods, *self.units, *self.containers, *self.none)
        return [*self.own, *there, *self.switched_off, *self.said]

    @property
    def only_missing(self) -> bool:
        return bool(self.missing) and not self.guilty and not self.absent

    @cached_property
    def troubled(self) -> bool:
        """Somebody misses the service address, or a node without kube-proxy does not come up."""
        stuck = any(not pod.all_ready for pod in self.picture.agents_now())
        return bool(self.failing or self.complaints) or bool((self.own or self.units) and (self.absent or stuck))

    @property
    def at_fault(self) -> bool:
        return self.troubled and bool(self.guilty or self.absent or self.only_missing)

    @cached_property
    def direct(self) -> list[object]:
        return [*(direct_answers(self.picture) or self.picture.said("api-direct-ok"))]

    @cached_property
    def node(self) -> str:
        lacking = self.missing if self.only_missing else []
        dead: list[Unit | Setting] = [*self.units, *self.containers]
        hosts = [*(pod.node for pod in self.pods), *(one.host for one in dead), *(pod.node for pod in lacking)]
        return bad_node(self.picture, *hosts)

    @property
    def strength(self) -> float:
        if self.cut_off:
            return POSSIBLE
        if self.guilty and self.absent and (self.direct or self.own):
            return PROVEN
        lacking = self.only_missing and proxy_pods(self.picture)
        alone = self.absent and (self.direct or kubectl_answers(self.picture))
        by_word = self.complaints and not (self.pods or self.own or self.units or self.containers)
        if (self.astray and not self.direct and not self.absent) or by_word:
            return LIKELY
        return STRONG if self.guilty or lacking or alone else LIKELY

    @property
    def modules(self) -> tuple[str, ...]:
        lines = [hit.line for hit in self.own if hit.sign == IPVS_PROXIER.key]
        return tuple(module for line in lines if (match := _MODULES.search(line)) for module in match[1].split())

    @property
    def own_pods(self) -> list[str]:
        """Those that do not run, else those whose words these are, else that of the node."""
        pods = proxy_pods(self.picture)
        spoke = [pod.name for pod in pods if any(pod.name in hit.command for hit in self.own)]
        there = [pod.name for pod in pods if self.node and pod.node == self.node]
        return [pod.name for pod in self.pods] or spoke or there


def _reason(hit: Hit) -> str:
    return hit.value("rest").strip("\"' \\")[:_QUOTED]


def _at_fault(seen: Seen, first: Culprit = PROXY, strength: float = 0.0, state: str = "", quote: str = "") -> Finding:
    """`state` is how the pod or the unit is shown."""
    blamed = culprits(
        first,
        PROXY,
        named("pod", *seen.own_pods),
        named("node", seen.node),
        named("address", seen.vip),
        named("module", *seen.modules),
    )
    place = seen.rules.place if seen.rules else None
    evidence = (
        *seen.guilty[:3],
        place,
        *seen.told[:1],
        *seen.complaints[:1],
        *seen.direct[:1],
        *seen.failing[:2],
        *seen.missing[:1],
    )
    pod = seen.own_pods[0] if seen.own_pods else ""
    return found(
        strength or seen.strength, blamed, evidence, vip=seen.vip, node=seen.node, proxy_pod=pod,
        modules=seen.modules, state=state, quote=quote,
    )  # fmt: skip


def _address(told: list[Statement]) -> str:
    named = [value for one in told for value in one.values if value.endswith(".1")]
    return named[0] if named else ""


def ebpf(seen: Seen) -> Finding | None:
    bpf = bpf_on(seen.picture) or seen.picture.hit(BPF_REFUSED)
    return ruled_out((bpf,)) if bpf else None


def rules_present(seen: Seen) -> Finding | None:
    """Where the address is seen to lead on to a server, an error of kube-proxy's is over."""
    rules = seen.rules
    told = seen.own and not (rules and rules.targets)
    quiet = not (told or seen.pods or seen.units or seen.containers)
    return ruled_out((rules.place,)) if rules and rules.present and quiet else None


def ranges_overlap(seen: Seen) -> Finding | None:
    if not seen.failing or not all(trouble.from_pod for trouble in seen.failing):
        return None
    common = overlaps(seen.picture)
    return ruled_out((seen.failing[0], *common[0].places)) if common else None


def ipvs_unusable(seen: Seen) -> Finding | None:
    return _at_fault(seen) if seen.at_fault and _says_first(seen, IPVS_PROXIER.key) else None


def conntrack_denied(seen: Seen) -> Finding | None:
    return _at_fault(seen) if seen.at_fault and _says_first(seen, CONNTRACK_DENIED.key) else None


def services_unread(seen: Seen) -> Finding | None:
    return _at_fault(seen) if seen.at_fault and _says_first(seen, PROXY_LIST.key) else None


def ends_at_once(seen: Seen) -> Finding | None:
    ended = seen.at_fault and seen.own and seen.own[0].sign in [sign.key for sign in PROXY_ENDS]
    return _at_fault(seen, quote=_reason(seen.own[0])) if ended else None


def rules_unwritten(seen: Seen) -> Finding | None:
    return _at_fault(seen) if seen.at_fault and _says_first(seen, RESTORE_FAILED.key) else None


def _says_first(seen: Seen, sign: str) -> bool:
    return bool(seen.own) and seen.own[0].sign == sign


def pod_down(seen: Seen) -> Finding | None:
    if not seen.at_fault or not seen.pods:
        return None
    return _at_fault(seen, state=seen.pods[0].status)


def unit_dead(seen: Seen) -> Finding | None:
    """kube-proxy as a systemd unit. One that failed is a trouble of its own; one that is off may be off on purpose."""
    if not seen.units:
        return None
    alone = POSSIBLE if seen.units[0].active == "inactive" else LIKELY
    strength = 0.0 if seen.troubled else alone
    return _at_fault(seen, Culprit("unit", "kube-proxy"), strength, state=seen.units[0].active)


def container_down(seen: Seen) -> Finding | None:
    if not seen.at_fault or not seen.containers:
        return None
    return _at_fault(seen, Culprit("container", "kube-proxy"), state=seen.containers[0].value)


def switched_off(seen: Seen) -> Finding | None:
    """The installation was told to leave it out, which only Calico's eBPF mode makes up for."""
    return _at_fault(seen) if seen.at_fault and seen.switched_off else None


def not_there(seen: Seen) -> Finding | None:
    return _at_fault(seen) if seen.at_fault and seen.only_missing else None


def no_rules(seen: Seen) -> Finding | None:
    return _at_fault(seen) if seen.at_fault and seen.absent else None


def not_running(seen: Seen) -> Finding | None:
    return _at_fault(seen) if seen.at_fault else None


def runs(seen: Seen) -> Finding | None:
    pods = proxy_pods(seen.picture)
    well = pods and not seen.guilty and all(pod.all_ready for pod in pods)
    return ruled_out(pods[:2]) if well and not seen.troubled else None


def silent_address(seen: Seen) -> Finding | None:
    if not seen.failing:
        return None
    late = all(trouble.how == "deadline" for trouble in seen.failing)  # a slow server looks the same
    blamed = culprits(PROXY, named("address", seen.vip), named("node", seen.node))
    return found(HINT if late else POSSIBLE, blamed, seen.failing[:2], vip=seen.vip, node=seen.node)


def fix(picture: Picture, finding: Finding) -> Iterator[Do | Step]:
    node = finding.value("node")
    if finding.rule == "unit-dead":
        yield do("unit-look")
        yield do("unit-start")
        yield from restart_agent(picture, node)
        return
    if finding.rule == "switched-off":
        yield do("switch-on")
        yield from restart_agent(picture, node)
        return
    if finding.rule == "container-down":
        yield do("container-look")
        yield do("container-restart")
        yield from restart_agent(picture, node)
        return
    pod = bool(finding.value("proxy_pod"))
    yield do("pod-look" if pod else "look")
    if finding.rule == "ipvs-unusable" or picture.hits(IPVS_MISSING):
        yield do("modules")
    if finding.rule == "services-unread" and foreign_servers(picture):
        yield do("server")
    if finding.rule == "conntrack-denied":
        yield do("conntrack")
    if finding.rule in ("not-there", "not-running") and not _brings_its_own(picture):
        yield do("install")
    else:
        yield do("pod-restart" if pod else "restart")
    yield from restart_agent(picture, node)


def _brings_its_own(picture: Picture) -> bool:
    versions = [node.version for node in picture.nodes_now().values()]
    return bool(proxy_pods(picture)) or any(mark in version for version in versions for mark in _OWN_RUNTIME)


CAUSE = Cause(
    module=__name__,
    id="kube-proxy-down",
    code="TRT2008",
    severity="critical",
    explains=(
        "api-unreachable", "init-crash", "init-stuck", "crash-loop", "service-dead", "controllers-failing",
        "datastore-error",
    ),
    signs=(
        *VIP_SIGNS, *RULE_SIGNS, *KUBE_PROXY_SIGNS, *PROXY_OFF_SIGNS, *BPF_SIGNS, BPF_REFUSED, *INTERCEPTED,
    ),
    look=Seen,
    rules=(
        ebpf, rules_present, ranges_overlap, ipvs_unusable, conntrack_denied, services_unread, ends_at_once,
        rules_unwritten,
        pod_down, unit_dead, container_down, switched_off, not_there, no_rules, not_running, runs, silent_address,
    ),
    fix=fix,
    prevents={"modules": lambda _picture, finding: finding.rule == "ipvs-unusable"},
)  # fmt: skip
