"""TRT0009: Calico's own API server (projectcalico.org/v3) does not answer; kubectl and the operator wait for it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import Final

from tortie.doctor.causes.cause import HINT, POSSIBLE, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.release.operator_evidence import degraded, states, well_now
from tortie.doctor.causes.underlay.traffic_evidence import rows
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import ResourceCondition
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Place
from tortie.doctor.signs import Hit, Sign
from tortie.doctor.texts import Text

API: Final = "v3.projectcalico.org"
LIST: Final = Sign(
    "calico-api-list", "resource list for projectcalico.org/v3: the server is currently unable to handle the request"
)
GROUPS: Final = Sign(
    "calico-api-groups",
    "projectcalico.org/v3: the server is currently unable to handle the request",
)
STALE: Final = Sign("calico-api-stale", "stale GroupVersion discovery: projectcalico.org/v3")
AGGREGATOR: Final = Sign("calico-api-aggregator", "v3.projectcalico.org failed with: <rest>")
CHECK: Final = Sign(
    "calico-api-check", "failing or missing response from https://<list>/apis/projectcalico.org/v3<rest>"
)
NOT_ALLOWED: Final = Sign("calico-api-not-allowed", "subject with cn=<cn> is not in the allowed list")
POOLS: Final = Sign("calico-api-pools", "IP pools while Calico API server is unavailable")
WAITING: Final = Sign("calico-api-waiting", "Waiting for Tigera API server to be ready")
NO_SECRET: Final = Sign("calico-api-no-secret", 'secret "calico-apiserver-certs" not found')
UNABLE: Final = (LIST, GROUPS, STALE, AGGREGATOR, CHECK)
WAITS: Final = (POOLS, WAITING)
_POD: Final = "calico-apiserver"
_NAMED: Final = "requestheader-allowed-names"
_UNREACHABLE: Final = lazily(
    r"i/o timeout|deadline exceeded|Client\.Timeout|connection refused|no route to host|Service Unavailable", re.I
)
# A row of `kubectl get apiservice` whose heading was cut off, as by grep.
_ROW: Final = r"^(?:apiservice\S*/)?v3\.projectcalico\.org\s+\S+\s+(?P<status>True|False)(?: \((?P<reason>\w+)\))?"
_REMOVING: Final = lazily(
    r"\bkubectl delete (?:-\S+ )*(?:installations?|apiservers?|tigerastatus)\b|\bhelm (?:uninstall|delete)\b[^;|]{0,80}"
    r"(?:calico|tigera)|\bkubectl delete [^;|]{0,80}tigera-operator\.ya?ml"
)
_REMOVED: Final = r"^calico-(?:apiserver|system)\s+Terminating\b|Installation object is terminating"
_WAITS: Final = ("API server is unavailable", "Waiting for Tigera API server")
# While one of these holds, pods have no network, or no pod starts: that API server is one of many.
_NETWORK: Final = (
    "ipip-blocked-by-cloud", "vxlan-port-blocked", "cloud-src-dst-check", "bgp-port-blocked", "kube-proxy-down",
    "autodetect-wrong-interface", "firewalld-interference", "sysctl-forwarding-off", "mtu-mismatch",
    "vxlan-checksum-offload", "datastore-unreachable", "apiserver-certs-expired", "apiserver-port-blocked",
    "http-proxy-intercepts", "image-pull-failed", "webhook-blocking", "disk-pressure", "rbac-forbidden",
    "installation-invalid", "cni-binary-missing", "ippool-exhausted", "node-overloaded", "crd-missing",
)  # fmt: skip


class Seen:
    """What the API's aggregator, kubectl, the operator and that server's own pods say."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        shown = [one for one in picture.of(ResourceCondition) if one.resource == "APIService" and one.name == API]
        shown = shown or [
            ResourceCondition(row.place, "APIService", API, "Available", row["status"], row["reason"])
            for row in rows(picture, _ROW, "apiservice", needle=API)
        ]
        self.service = shown[-1] if shown else None
        self.unable = picture.hits(*UNABLE)
        self.waits = [one for one in degraded(picture) if any(words in one.message for words in _WAITS)]
        self.waiting = [hit for hit in picture.hits(*WAITS) if not self.waits]
        self.pods = picture.pods_now(_POD)
        self.sick_pods = [pod for pod in self.pods if pod.containers is not None and not pod.all_ready]
        self.no_secret = picture.hits(NO_SECRET)
        self.refused = [hit for hit in picture.hits(NOT_ALLOWED) if self._is_ours(hit)]

    def _is_ours(self, hit: Hit) -> bool:
        """Every server behind the aggregator says it so; metrics-server's is another one's."""
        said = f"{hit.command} {hit.line}"
        return "metrics-server" not in said and (_POD in said or bool(self.down or self.unable))

    @property
    def down(self) -> bool:
        return self.service is not None and self.service.status == "False"

    @property
    def well(self) -> list[ResourceCondition]:
        if self.service is not None:
            return [self.service] if self.service.status == "True" else []
        return well_now(self.picture, "apiserver") if not self.sick_pods else []

    @cached_property
    def network_sick(self) -> bool:
        """Agents that are not ready: then every pod is in trouble, that server's among them."""
        if any(one.name == "calico" for one in degraded(self.picture)):
            return True
        return any(pod.containers is not None and not pod.all_ready for pod in self.picture.agents_now())

    @cached_property
    def no_server(self) -> bool:
        """The operator's list has no part `apiserver`, and no pod of it is in a list of all pods."""
        listed = {one.name for one in states(self.picture, "tigerastatus")}
        whole = bool(self.picture.pods_now("calico-kube-controllers"))
        return "calico" in listed and "apiserver" not in listed and whole and not self.pods

    @cached_property
    def why(self) -> str:
        """The word for why it does not answer, as far as it is shown."""
        said = " ".join(hit.line for hit in self.unable) + (self.service.message if self.service else "")
        if self.no_secret:
            return "secret"
        if self.no_server:
            return "none"
        if self.sick_pods or (self.service and self.service.reason == "MissingEndpoints"):
            return "pods"
        return "path" if _UNREACHABLE.search(said) else ""

    @cached_property
    def culprits(self) -> tuple[Culprit, ...]:
        return culprits(
            Culprit("resource", f"apiservice/{API}") if self.down or self.unable else (),
            named("resource", *(f"tigerastatus/{one.name}" for one in self.waits), *self._parts),
            named("pod", *(pod.name for pod in self.sick_pods[:2])),
            Culprit("program", _POD),
        )

    @property
    def _parts(self) -> list[str]:
        """Who waits, where the message was shown without its name."""
        rows = states(self.picture, "tigerastatus", "ippools", "tiers", "apiserver") if self.waiting else ()
        return [f"tigerastatus/{one.name}" for one in rows if "degraded=True" in one.value]

    @cached_property
    def evidence(self) -> list[object]:
        shown: list[object] = [self.service] if self.down else []
        own = [*self.no_secret[:1], *self.sick_pods[:1]]
        said = self.unable[:1] if not (self.service and self.service.message) else []
        return [*shown, *self.waits[:1], *self.waiting[:1], *said, *own]

    def found(self, strength: float) -> Finding:
        why = Text(__name__, f"word {self.why}") if self.why else ""
        namespace = next((pod.namespace for pod in self.pods if pod.namespace), _POD)
        return found(
            strength, self.culprits, self.evidence, why=why, word=self.why,
            pod=next((pod.name for pod in self.sick_pods), ""), api_namespace=namespace,
        )  # fmt: skip


def answers(seen: Seen) -> Finding | None:
    return ruled_out(seen.well[:1]) if seen.well else None


def not_allowed(seen: Seen) -> Finding | None:
    if not seen.refused:
        return None
    cn = seen.refused[-1].value("cn")
    who = culprits(Culprit("setting", _NAMED), named("user", cn), Culprit("program", _POD), seen.culprits)
    evidence = (seen.refused[-1], *seen.evidence[:2])
    return found(PROVEN if seen.down or seen.unable else STRONG, who, evidence, cn=cn, word="not-allowed")


def being_removed(seen: Seen) -> Finding | None:
    """Whoever takes Calico away takes its API server away, too: what hangs then is something else."""
    gone = next(rows(seen.picture, _REMOVED), None)
    typed = next((e for e in seen.picture.exhibits if e.command_lines and _REMOVING.search(e.command)), None)
    place = gone.place if gone else Place(typed.source, *typed.command_lines[:1] * 2) if typed else None
    if place is None or not (seen.down or seen.unable or seen.waits or seen.waiting):
        return None
    hint = seen.found(HINT)
    return hint._replace(evidence=(place, *hint.evidence))


def discovery_fails(seen: Seen) -> Finding | None:
    if not seen.down and not seen.unable:
        return None
    if seen.network_sick:
        return seen.found(POSSIBLE)
    return seen.found(PROVEN if seen.down else STRONG)


def operator_waits(seen: Seen) -> Finding | None:
    if not seen.waits and not seen.waiting:
        return None
    return seen.found(POSSIBLE if seen.network_sick else STRONG)


def pods_fail(seen: Seen) -> Finding | None:
    """Their reason may be anything that stops a pod."""
    some = seen.sick_pods and len(seen.sick_pods) == len(seen.pods)
    return seen.found(POSSIBLE) if some or seen.no_secret else None


def fix(picture: Picture, finding: Finding) -> Iterator[Do]:
    del picture
    word = finding.value("word")
    if word == "not-allowed":
        yield do("allowed")
        yield do("allow")
        return
    if word == "none":
        yield do("see")
        yield do("install")
        return
    yield do("see")
    yield do("log")
    if word == "secret":
        yield do("secret")
    elif word == "path":
        yield do("path")
    else:
        yield do("repair")


CAUSE = Cause(
    module=__name__,
    id="calico-apiserver-unavailable",
    code="TRT0009",
    severity="medium",
    explains=(
        "operator-degraded", "terminating-stuck", "others-failing", "controllers-failing", "status-stale", "log-errors",
    ),
    signs=(*UNABLE, *WAITS, NOT_ALLOWED, NO_SECRET),
    look=Seen,
    rules=(answers, not_allowed, being_removed, discovery_fails, operator_waits, pods_fail),
    fix=fix,
    yields_to=_NETWORK,
)  # fmt: skip
