"""TRT4006: an admission webhook rejects Calico's own pods: it cannot be reached and fails closed, or it denies them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import Final

from tortie.doctor.causes.agent.start_evidence import lines_before
from tortie.doctor.causes.cause import POSSIBLE, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Workload
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Hit, Sign

FAILED: Final = Sign("webhook-failed", 'failed calling webhook "<webhook>": <rest>')
ADMISSION: Final = Sign("webhook-failed-admission", 'failed calling admission webhook "<webhook>": <rest>')
DENIED: Final = Sign("webhook-denied", 'admission webhook "<webhook>" denied the request')
POLICY: Final = Sign("webhook-failure-policy", "failurePolicy: Fail")
OURS: Final = ("calico", "tigera", "canal", "typha", "controller_installation")
OTHER_MAKERS: Final = ("replicaset-controller", "statefulset-controller", "job-controller")
_SERVICE: Final = lazily(r"https?://([a-z0-9-]+)\.([a-z0-9-]+)\.svc")
_UNREACHABLE: Final = lazily(
    r"no endpoints available|deadline exceeded|connection refused|i/o timeout|no route to host|no such host|"
    r"Client\.Timeout|EOF|service \\?\"[\w-]+\\?\" not found|x509|unreachable|timed out",
    re.I,
)


_ENDED: Final = lazily(r"level=fatal\b|\bF\d{4} \d\d:|\[FATAL\]|\bFATA\[")
_SERVER: Final = lazily(r"\b(?:rke2|k3s|kubeadm|kubelet|kubelite|k0s)\b|namespace:? \S{0,3}kube-system")


class Seen:
    def __init__(self, picture: Picture) -> None:
        self.failed = picture.hits(FAILED, ADMISSION)
        self.ours = [hit for hit in self.failed if _about_ours(picture, hit)]
        self.denied = [hit for hit in picture.hits(DENIED) if _about_ours(picture, hit)]
        self.policy = picture.hits(POLICY)
        rows = (row for row in picture.of(Workload) if row.desired and (row.current or 0) < row.desired)
        self.short = [row for row in rows if _is_ours(row.name)]

    @property
    def first(self) -> Hit | None:
        return next(iter(self.ours or self.failed), None)

    @property
    def webhook(self) -> str:
        return self.first.value("webhook") if self.first else ""

    @cached_property
    def culprits(self) -> tuple[Culprit, ...]:
        hits = (*self.ours, *self.failed)
        services = [match for hit in hits if (match := _SERVICE.search(hit.line + hit.text))]
        return culprits(
            named("webhook", *(hit.value("webhook") for hit in hits)),
            named("service", *(match[1] for match in services), *(f"{match[2]}/{match[1]}" for match in services)),
            Culprit("setting", "failurePolicy"),
            named("resource", *(row.name for row in self.short), *(match[2] for match in services)),
        )

    @property
    def evidence(self) -> tuple[object, ...]:
        return (*self.policy[:1], *(self.ours or self.failed)[:2], *self.short[:1])


def denied(seen: Seen) -> Finding | None:
    first = seen.first
    if first is None or _UNREACHABLE.search(first.value("rest") + first.line):
        return None
    return ruled_out((first,)) if "denied the request" in first.line else None


def denies_calico(seen: Seen) -> Finding | None:
    """It works, and has a rule that what Calico or its operator makes does not fit."""
    if seen.failed or not seen.denied:
        return None
    webhook = seen.denied[0].value("webhook")
    return found(STRONG, named("webhook", webhook), (*seen.denied[:2], *seen.short[:1]), webhook=webhook)


def rejects_calico(seen: Seen) -> Finding | None:
    if not (seen.failed and (seen.ours or seen.short)):
        return None
    strength = PROVEN if seen.policy or (seen.ours and seen.short) else STRONG
    return found(strength, seen.culprits, seen.evidence, webhook=seen.webhook)


def stops_the_server(seen: Seen) -> Finding | None:
    """The distribution's own server ends for it: neither its namespaces nor Calico's pods are made then."""
    ended = [hit for hit in seen.failed if _ENDED.search(hit.line) and _SERVER.search(f"{hit.line} {hit.command}")]
    if not ended or not _UNREACHABLE.search(ended[0].line):
        return None
    return found(STRONG, seen.culprits, (*seen.policy[:1], *ended[:2]), webhook=ended[0].value("webhook"))


def unreachable(seen: Seen) -> Finding | None:
    return found(POSSIBLE / 2, seen.culprits, seen.evidence, webhook=seen.webhook) if seen.failed else None


def _is_ours(name: str) -> bool:
    return any(word in name for word in OURS)


def _about_ours(picture: Picture, hit: Hit) -> bool:
    """The rejected object is Calico's: the line, its command or the described DaemonSet names it, not the webhook."""
    line = hit.line.replace(hit.value("webhook"), "")
    if _is_ours(line) or _is_ours(hit.command):
        return True
    if not hit.command and any(word in lines_before(picture, hit.place, 1) for word in ("operator", "calico-node")):
        return True
    events = [
        event
        for event in picture.events("FailedCreate", "ReplicaSetCreateError")
        if event.place.first == hit.place.first
    ]
    if any(event.object for event in events):
        return any(_is_ours(event.object) for event in events)
    # Of an unnamed object: Calico's agents are made by a DaemonSet, and what people deploy mostly is not.
    return "Error creating:" in line and not hit.command and not any(maker in line for maker in OTHER_MAKERS)


def fix(_picture: Picture, finding: Finding) -> Iterator[Do]:
    yield do("find")
    if finding.rule == "denies-calico":
        yield do("exempt")
        return
    yield do("ignore")
    yield do("exclude")


CAUSE = Cause(
    module=__name__,
    id="webhook-blocking",
    code="TRT4006",
    severity="critical",
    explains=("pod-not-created", "operator-degraded", "not-ready", "node-not-ready", "pod-pending"),
    signs=(FAILED, ADMISSION, DENIED, POLICY),
    look=Seen,
    rules=(denied, denies_calico, rejects_calico, stops_the_server, unreachable),
    fix=fix,
)
