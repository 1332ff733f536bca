"""TRT2013: there is no ready Typha to connect to."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Final

from tortie.doctor.causes.agent.start_evidence import unready
from tortie.doctor.causes.cause import HINT, LIKELY, POSSIBLE, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.datastore.api_evidence import TYPHA_PORT, VIP_SIGNS, Trouble, asks_vip, troubles, vip_troubles
from tortie.doctor.causes.datastore.api_trust import AFTER, EXPIRED, refusals
from tortie.doctor.causes.steps import Step
from tortie.doctor.causes.way_table import hands
from tortie.doctor.causes.ways import set_agent_env
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Event, Node, Pod, Workload
from tortie.doctor.picture.owner import owner
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Place
from tortie.doctor.signs import Hit, Sign

DISCOVERY: Final = Sign("trt2013-discovery", "Typha discovery enabled but discovery failed")
_ENDPOINTS: Final = lazily(r"(?<![\w-])(?:ep|endpoints?|endpointslices?)(?![\w-])")
NOT_FOUND: Final = Sign("trt2013-not-found", '(services|endpoints|endpointslices) "<service>" not found')
NO_READY: Final = Sign("trt2013-no-ready", "(Didn't|did not|couldn't) find any ready Typha instances")
CONNECT: Final = Sign("trt2013-connect", "Failed to connect to Typha")
CONNECTED: Final = Sign("trt2013-connected", "Connected to Typha.")
WAITS: Final = Sign("trt2013-waits", "felix is not ready: readiness probe reporting 503")
NAMES: Final = ("FELIX_TYPHAK8SNAMESPACE", "FELIX_TYPHAK8SSERVICENAME")
_REFUSED: Final = ("Unauthorized", "is forbidden", "https://", "x509", "dial tcp: lookup")
_TYPHAS_LOG: Final = lazily(r"\blogs\b.{0,200}typha")
_LOCAL_PROBE: Final = lazily(r"(?:localhost|127\.0\.0\.1):909[89]/.{0,120}(?:deadline exceeded|request canceled)")
_FELIX_WAITS: Final = "felix is not ready"
_LINES: Final = 60  # of one listing
_TOLD: Final = 120  # letters of the scheduler's reason
_SHOWN: Final = 3


def typhas(picture: Picture) -> list[Pod]:
    return [pod for pod in picture.pods_now() if "typha" in pod.name and "autoscaler" not in pod.name]


def typhas_ready(picture: Picture) -> list[Pod]:
    """Ready ones; on a node that is not Ready the status is stale."""
    nodes = picture.nodes_now()
    return [pod for pod in typhas(picture) if pod.all_ready and not is_dead(nodes.get(pod.node))]


def is_dead(node: Node | None) -> bool:
    return node is not None and "NotReady" in node.status


def typha_troubles(picture: Picture) -> list[Trouble]:
    return [trouble for trouble in troubles(picture) if trouble.port == TYPHA_PORT]


def no_endpoints_of(picture: Picture) -> Place | None:
    """`get ep calico-typha` that shows `<none>`."""
    for exhibit in picture.exhibits:
        if not _ENDPOINTS.search(exhibit.command):
            continue
        for index, line in enumerate(exhibit.lines[:_LINES]):
            if "calico-typha" in line and "<none>" in line.split():
                return exhibit.place(index)
    return None


def _api_says_no(hit: Hit) -> bool:
    """Discovery asks the API server; what that one refuses says nothing about Typha."""
    return any(word in hit.line for word in _REFUSED)


class Seen:
    """Typha's pods, its service and its Deployment; and how Felix fails to find or to reach it."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.failing = typha_troubles(picture)
        searches = [(hit, asks_vip(picture, hit) or _api_says_no(hit)) for hit in picture.hits(DISCOVERY)]
        self.discovery = [hit for hit, through_vip in searches if not through_vip]
        self.through_vip = [hit for hit, through_vip in searches if through_vip]
        missing = picture.hits(NOT_FOUND)
        self.missing = [hit for hit in missing if "typha" in hit.value("service") or "typha" in hit.line.lower()]
        self.pods, self.ready = typhas(picture), typhas_ready(picture)
        self.sick = [pod for pod in self.pods if pod not in self.ready]
        self.empty = no_endpoints_of(picture)
        self.settings = [setting for name in NAMES for setting in picture.settings(name)]
        deployed = [load for load in picture.of(Workload) if "typha" in load.name]
        self.asleep = [load for load in deployed if load.desired == 0]
        self.lacking = [load for load in deployed if load.desired and load.ready == 0]
        events = [event for event in picture.of(Event) if event.reason == "FailedScheduling"]
        self.unscheduled = [event for event in events if "typha" in event.object]

    @cached_property
    def symptom(self) -> tuple[Hit | Trouble, ...]:
        said = self.picture.hits(NO_READY, CONNECT)[:1]
        return (*self.discovery[:1], *self.missing[:1], *self.failing[:2], *said)

    @cached_property
    def without_api(self) -> bool:
        """Typha itself misses the API's service address: it is only the first to suffer."""
        return any("typha/" in one.line or _TYPHAS_LOG.search(one.command) for one in vip_troubles(self.picture))

    @cached_property
    def walled_off(self) -> bool:
        """The host's own probes of Typha and of the agent time out where host endpoints are: policy is in their way."""
        late = [event for event in self.picture.events("Unhealthy") if _LOCAL_PROBE.search(event.message)]
        return bool(late) and bool(self.picture.hits("policy-auto-hep"))

    @property
    def none(self) -> bool:
        return bool((self.sick and not self.ready) or self.empty or self.asleep or self.lacking)

    @cached_property
    def culprits(self) -> tuple[Culprit, ...]:
        return culprits(
            named("pod", *(pod.name for pod in self.sick)),
            named("service", *(hit.value("service") for hit in self.missing), "calico-typha"),
            named("setting", *(setting.name for setting in self.settings)),
            named("node", *(pod.node for pod in self.sick)),
            Culprit("port", f"{TYPHA_PORT}/tcp"),
        )

    @cached_property
    def evidence(self) -> tuple[object, ...]:
        installed = (*self.unscheduled[:1], *self.asleep[:1], *self.lacking[:1], *self.settings[:1])
        return (*self.sick[:_SHOWN], self.empty, *installed, *self.symptom)

    @property
    def agents_wait(self) -> bool:
        """As their rows show it; where none is shown, as the events of their probes do."""
        agents = self.picture.agents_now()
        if agents:
            return any(not pod.all_ready for pod in agents)
        told = any(hit.prose for hit in self.picture.hits(WAITS))
        return told or any(_FELIX_WAITS in event.message for event in self.picture.of(Event))

    @property
    def strength(self) -> float:
        if self.without_api or self.walled_off:
            return POSSIBLE
        # Pods that run and are not ready may wait for the same as the agents do.
        waits = any(pod.status != "Running" for pod in self.sick) or self.empty or self.lacking or self.asleep
        felix = self.symptom or (waits and self.agents_wait)
        shown = self.sick or self.empty or self.lacking
        return PROVEN if self.symptom and shown else STRONG if felix else POSSIBLE


def certificate_expired(seen: Seen) -> Finding | None:
    expired = [refusal for refusal in refusals(seen.picture, AFTER, EXPIRED) if refusal.server == "typha"]
    return ruled_out((expired[0].hit,)) if expired else None


def is_ready(seen: Seen) -> Finding | None:
    fits = seen.ready and not seen.missing and not seen.empty
    return ruled_out(seen.ready[:2], pod=seen.ready[0].name) if fits else None


def agents_well(seen: Seen) -> Finding | None:
    agents = seen.picture.agents_now()
    well = agents and all(pod.all_ready for pod in agents) and not unready(seen.picture)
    return ruled_out(agents[:2]) if well and not seen.pods else None


def service_missing(seen: Seen) -> Finding | None:
    if not seen.missing:
        return None
    service = seen.missing[0].value("service") or "calico-typha"
    homes = {pod.namespace for pod in seen.pods if pod.namespace}
    home = homes.pop() if len(homes) == 1 else ""
    return found(PROVEN if seen.settings else STRONG, seen.culprits, seen.evidence, service=service, home=home)


def _none(seen: Seen, reason: str = "", shown: tuple[str, ...] = ()) -> Finding:
    nodes = seen.picture.nodes_now()
    dead = [pod.name for pod in seen.sick if is_dead(nodes.get(pod.node))]
    first = seen.sick[0].name if seen.sick else ""
    return found(
        seen.strength, seen.culprits, seen.evidence, reason=reason, shown=shown, typha=first, on_dead=(*dead, "")[0],
    )  # fmt: skip


def unschedulable(seen: Seen) -> Finding | None:
    fits = seen.none and seen.unscheduled
    return _none(seen, reason=seen.unscheduled[0].message[:_TOLD]) if fits else None


def no_replicas(seen: Seen) -> Finding | None:
    return _none(seen) if seen.none and seen.asleep else None


def none_ready(seen: Seen) -> Finding | None:
    if not seen.none or not seen.sick:
        return None
    told = [(pod.name, ", ".join(word for word in (pod.status, pod.node) if word)) for pod in seen.sick[:_SHOWN]]
    return _none(seen, shown=tuple(f"{name} ({state})" if state else name for name, state in told))


def none_of_those_wanted(seen: Seen) -> Finding | None:
    if not seen.none or not seen.lacking:
        return None
    finding = _none(seen)
    return finding._replace(values=(*finding.values, ("wanted", str(seen.lacking[0].desired))))


def no_endpoints(seen: Seen) -> Finding | None:
    return _none(seen) if seen.none else None


def none_found(seen: Seen) -> Finding | None:
    searched = seen.discovery or seen.picture.hits(NO_READY)
    return found(LIKELY, seen.culprits, seen.evidence) if searched else None


def nobody_listens(seen: Seen) -> Finding | None:
    refused = [trouble for trouble in seen.failing if trouble.how == "refused"]
    if not refused:
        return None
    last = refused[-1].place
    since = [hit for hit in seen.picture.hits(CONNECTED) if hit.place.source == last.source]
    over = any(hit.place.first > last.first for hit in since)  # the next one in the list answered
    blamed = culprits(seen.culprits, named("address", refused[0].address))
    strength = POSSIBLE if over else LIKELY
    return found(strength, blamed, seen.evidence, address=refused[0].address, port=refused[0].port)


def silent(seen: Seen) -> Finding | None:
    fails = seen.failing or seen.picture.hits(CONNECT)
    return found(POSSIBLE, seen.culprits, seen.evidence) if fails else None


def asks_the_api(seen: Seen) -> Finding | None:
    return ruled_out(seen.through_vip[:1]) if seen.through_vip else None


def felix_not_ready(seen: Seen) -> Finding | None:
    waits = any(_FELIX_WAITS in event.message for event in seen.picture.of(Event))
    return found(HINT, seen.culprits, seen.pods[:1]) if waits and seen.pods else None


def fix(picture: Picture, finding: Finding) -> Iterator[Do | Step]:
    operator = "operator" in hands(owner(picture))
    yield do("look")
    if finding.rule == "service-missing":
        yield do("services")
        yield from set_agent_env(picture, "FELIX_TYPHAK8SNAMESPACE", finding.value("home"))
    elif finding.rule == "unschedulable":
        yield do("tolerate-operator" if operator else "tolerate")
    elif finding.rule == "no-replicas":
        yield do("scale-operator" if operator else "scale")
    elif finding.value("on_dead"):
        yield do("off-dead-node", typha=finding.value("on_dead"))
    elif finding.value("typha"):
        yield do("logs")


CAUSE = Cause(
    module=__name__,
    id="typha-unavailable",
    code="TRT2013",
    severity="high",
    explains=("felix-not-ready", "typha-down", "not-ready", "crash-loop", "restarts"),
    signs=(*VIP_SIGNS, DISCOVERY, NOT_FOUND, NO_READY, CONNECT, CONNECTED, WAITS, AFTER, EXPIRED),
    look=Seen,
    rules=(
        certificate_expired, is_ready, agents_well, service_missing, unschedulable, no_replicas, none_ready,
        none_of_those_wanted, no_endpoints, none_found, nobody_listens, silent, asks_the_api, felix_not_ready,
    ),
    fix=fix,
    yields_to=(
        "typha-cert-expired", "localhost-misresolved", "image-pull-failed", "rbac-forbidden", "ebpf-misconfigured",
    ),
)  # fmt: skip
