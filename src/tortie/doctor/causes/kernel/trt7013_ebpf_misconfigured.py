"""TRT7013: the eBPF dataplane is on and what it needs is not there."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from tortie.doctor.causes import ways
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
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.datastore.api_evidence import (
    BPF_REFUSED,
    BPF_SIGNS,
    RESTORE_FAILED,
    RULE_SIGNS,
    VIP_SIGNS,
    bpf_on,
    direct_answers,
    kubernetes_endpoints,
    vip_rules,
    vip_troubles,
    vips,
)
from tortie.doctor.causes.datastore.bpf_ordered import bpf_ordered
from tortie.doctor.causes.datastore.proxy_evidence import (
    proxy_pods,
)
from tortie.doctor.causes.kernel.bpf_evidence import kernels_shown, too_old
from tortie.doctor.causes.steps import Step
from tortie.doctor.causes.surroundings import has_operator
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Setting, Workload
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Place
from tortie.doctor.signs import Hit, Sign
from tortie.doctor.texts import Text, Value
from tortie.model.tuples import NamedTuple

NO_CONFIGMAP = Sign("trt7013-no-configmap", 'configmaps "kubernetes-services-endpoint" not found')
HEALTHZ = Sign("trt7013-healthz", "BPF Proxy Healthz server failed")
HEALTHZ_PORT = Sign("trt7013-healthz-port", ":10256: bind: address already in use")
NO_BPFFS = Sign("trt7013-no-bpffs", "BPF filesystem is not mounted")
IPVS_CAME = Sign("trt7013-ipvs-came", "kube-proxy mode changed")
ALONE = ("kernel", "no-bpffs", "ipvs-left")  # problems that have nothing to do with where the API server is
HOST, ENDPOINT = "KUBERNETES_SERVICE_HOST", "kubernetes-services-endpoint"
ENDPOINT_NAMED = Sign("trt7013-endpoint-named", ENDPOINT)
_CONFIGMAPS = lazily(r"\bget +(?:cm|configmaps?)(?: +-|$)")


class Problem(NamedTuple):
    """Something that the mode needs and that is not so."""

    word: str  # of the texts
    evidence: tuple[object, ...]
    address: str = ""
    kernel: str = ""


class Seen:
    """The mode, what it needs, and whether the API's service address works."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.on = bpf_on(picture)
        self.healthz, self.kernel = picture.hits(HEALTHZ, HEALTHZ_PORT), picture.hits(BPF_REFUSED, NO_BPFFS)
        self.of_felix = [hit for hit in self.healthz if hit.sign == HEALTHZ.key]
        self.failing, self.loopback = vip_troubles(picture), _loopback(picture)
        self.proxies = [pod for pod in proxy_pods(picture) if pod.status in ("", "Running")]
        self.rules = vip_rules(picture)

    @property
    def in_this_mode(self) -> bool:
        return bool(self.on or self.of_felix or self.kernel)

    @property
    def absent(self) -> bool:
        return self.rules is not None and not self.rules.present

    @cached_property
    def proxy_runs(self) -> bool:
        daemons = [one for one in self.picture.of(Workload) if one.name == "kube-proxy" and (one.desired or 0) > 0]
        return bool(self.proxies or daemons)

    @cached_property
    def problems(self) -> list[Problem]:
        missing, restore = self.picture.hits(NO_CONFIGMAP), self.picture.hits(RESTORE_FAILED)
        every: list[Problem] = []
        if missing or self.unlisted:
            every.append(Problem("no-endpoint", (*missing[:1], *self.unlisted[:1])))
        if self.loopback:
            every.append(Problem("loopback", (self.loopback[0],), self.loopback[0].value))
        if self.healthz and (self.on or self.of_felix):
            every.append(Problem("port-taken", (*self.healthz[:2],)))
        if restore or (self.absent and self.proxy_runs):
            every.append(Problem("two-proxies", (*restore[:2], *self.proxies[:1])))
        if len(self.ipvs) > 1 or (self.ipvs and not self.proxy_runs):
            every.append(Problem("ipvs-left", (*self.ipvs[:2],)))
        if self.kernel:
            if self.refused:
                shown = [one for one in self.picture.versions("kernel") if one.version in self.old[:1]]
                every.append(Problem("kernel", (self.refused[0], *shown[:1]), "", next(iter(self.old), "")))
            else:
                every.append(Problem("no-bpffs", (self.kernel[0],)))
        return every

    @cached_property
    def ipvs(self) -> list[Hit]:
        """Felix starts anew for kube-proxy's link of the ipvs mode, which an ended kube-proxy leaves behind."""
        return self.picture.hits(IPVS_CAME) if self.on else []

    @cached_property
    def refused(self) -> list[Hit]:
        """The kernel is not one that the mode can work with, in Felix's own words."""
        return [hit for hit in self.kernel if hit.sign == BPF_REFUSED.key]

    @cached_property
    def old(self) -> list[str]:
        """The kernels that it is about: those of the machine that says so, as far as they are too old."""
        shown = kernels_shown(self.picture, self.refused[0].host) if self.refused else []
        return [kernel for kernel in shown if too_old(kernel)] or shown[:1]

    @cached_property
    def unlisted(self) -> list[Place]:
        """Lists of all ConfigMaps where it would be, without it, while nothing else leads to the API server."""
        if not self.failing or self.proxy_runs or any(map(_is_listed, self.picture.hits(ENDPOINT_NAMED))):
            return []
        space = "tigera-operator" if has_operator(self.picture) else self.picture.namespace
        lists = (e for e in self.picture.exhibits if e.lines and _CONFIGMAPS.search(e.command) and space in e.command)
        return [e.place(0) for e in lists if e.lines[0].split()[:2] == ["NAME", "DATA"] and "|" not in e.command]

    @property
    def culprits(self) -> tuple[Culprit, ...]:
        return culprits(
            named("interface", "kube-ipvs0" if self.ipvs else ""),
            Culprit("setting", "bpfEnabled"),
            named("version", *self.old[:3]),
            *(() if self.only_host else (Culprit("resource", ENDPOINT), Culprit("setting", HOST))),
            Culprit("program", "kube-proxy"),
            named("port", "10256" if self.healthz else ""),
            named("address", *(setting.value for setting in self.loopback)),
            named("address", *(trouble.address for trouble in self.failing[:1])),
            named("pod", *(pod.name for pod in proxy_pods(self.picture))),
        )

    @property
    def only_host(self) -> bool:
        words = {problem.word for problem in self.problems}
        return bool(words) and words <= {"kernel", "ipvs-left"}

    @property
    def vip(self) -> str:
        return next(iter(vips(self.picture)), "")


def _is_listed(hit: Hit) -> bool:
    """The ConfigMap itself; a container's reference to it (`name: …`) is no proof that it is there."""
    before = hit.line.partition(ENDPOINT)[0].rstrip(" \"'")
    return not before.endswith(("name:", 'name":'))


def _loopback(picture: Picture) -> list[Setting]:
    return [s for s in picture.settings(HOST) if s.value.startswith("127.") or s.value in ("localhost", "::1")]


def other_mode(seen: Seen) -> Finding | None:
    off = seen.picture.setting("bpfEnabled") or seen.picture.setting("FELIX_BPFENABLED")
    return ruled_out((off,)) if off and not seen.in_this_mode else None


def prerequisites_missing(seen: Seen) -> Finding | None:
    problems = seen.problems
    if not seen.in_this_mode or not problems:
        return None
    wanted = seen.on or (seen.refused and not seen.proxy_runs)  # who took kube-proxy away counts on the mode
    suffering = seen.failing or seen.absent or (seen.ipvs and not seen.proxy_runs)
    strength = PROVEN if wanted and suffering else STRONG if seen.on else LIKELY
    if seen.kernel and not seen.failing and len(problems) == 1:
        strength = LIKELY
    shown = [item for problem in problems for item in problem.evidence]
    evidence = (seen.on, *shown, seen.rules, *seen.failing[:2])
    words = [problem.word for problem in problems]
    told = dict(zip(("first", "second", "third", "fourth", "fifth"), map(_told, problems), strict=False))
    values: dict[str, Value] = {"vip": seen.vip, "problems": words, **told}
    return found(strength, seen.culprits, evidence, say="", aside=False, **values)


def _told(problem: Problem) -> Value:
    return Text(
        __name__, f"word {problem.word}", (("address", problem.address), ("setting", HOST), ("kernel", problem.kernel))
    )


def service_fails(seen: Seen) -> Finding | None:
    """What is missing is not shown; two that program the same addresses are suspect."""
    if not seen.in_this_mode or not seen.failing:
        return None
    evidence = (seen.on, *seen.proxies[:1], *seen.failing[:2])
    return found(LIKELY if seen.proxy_runs else POSSIBLE, seen.culprits, evidence, vip=seen.vip)


def nothing_missing(seen: Seen) -> Finding | None:
    return cannot_tell() if seen.in_this_mode else None


def fix(picture: Picture, finding: Finding) -> Iterator[Do | Step]:
    told = dict(finding.values).get("problems")
    problems = set(told) if isinstance(told, tuple) else set()
    for alone in ALONE:
        if alone in problems:
            yield do(alone)
    if problems.difference(ALONE) or not problems:
        yield from _endpoint(picture, "create-endpoint" if "no-endpoint" in problems else "endpoint")
        yield from ways.restart_agent(picture)
        yield do("proxy-off")
    if "two-proxies" in problems:
        yield do("proxy-stays")
        yield from ways.set_felix(picture, "bpfKubeProxyIptablesCleanupEnabled", "false")
    dataplane = picture.setting("linuxDataplane") or bpf_ordered(picture)
    if dataplane and dataplane.value.upper() == "BPF":
        yield do("off-installation")
    else:
        yield do("off")
        yield from ways.set_felix(picture, "bpfEnabled", "false")
    if "kernel" in problems and any(load.desired == 0 for load in picture.of(Workload) if load.name == "kube-proxy"):
        yield do("proxy-back")


def _endpoint(picture: Picture, key: str) -> Iterator[Do]:
    """The API server as it is reached without any proxy."""
    space = "tigera-operator" if has_operator(picture) else picture.namespace
    known = [(one.address, "6443") for one in kubernetes_endpoints(picture)]
    known += [(test.address, str(test.port)) for test in direct_answers(picture)]
    host, port = next((one for one in known if one[0] and not one[0].startswith("127.")), ("", "6443"))
    yield do(key, where=space, api_host=host, api_port=port)


CAUSE = Cause(
    module=__name__,
    id="ebpf-misconfigured",
    code="TRT7013",
    severity="high",
    explains=(
        "api-unreachable", "init-crash", "crash-loop", "service-dead", "not-ready", "felix-not-ready",
        "datastore-error", "controllers-failing",
    ),
    signs=(
        *VIP_SIGNS, *RULE_SIGNS, *BPF_SIGNS, RESTORE_FAILED, NO_CONFIGMAP, ENDPOINT_NAMED, HEALTHZ, HEALTHZ_PORT,
        BPF_REFUSED, NO_BPFFS, IPVS_CAME,
    ),
    look=Seen,
    rules=(other_mode, prerequisites_missing, service_fails, nothing_missing),
    fix=fix,
)  # fmt: skip
