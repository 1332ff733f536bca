"""TRT4007: PodSecurityPolicy or Pod Security admission rejects Calico's pods."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Final

from tortie.doctor.causes.agent.speakers import owner_at
from tortie.doctor.causes.agent.start_evidence import lines_before
from tortie.doctor.causes.cause import LIKELY, POSSIBLE, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.steps import Step
from tortie.doctor.causes.ways import restart_agent
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Workload
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Hit, Sign
from tortie.doctor.words import Words, same

PSP: Final = Sign("psp-unable-to-validate", "unable to validate against any pod security policy")
PSP_ADMIT: Final = Sign("psp-unable-to-admit", "PodSecurityPolicy: unable to admit pod")
PSA: Final = Sign("psa-violates", 'is forbidden: violates PodSecurity "<level>"')
SCC: Final = Sign("scc-unable-to-validate", "unable to validate against any security context constraint")
WEBHOOK: Final = Sign("psp-webhook", "failed calling webhook")
OURS: Final = ("calico", "tigera", "canal", "typha", "goldmane", "whisker")
LABEL: Final = "pod-security.kubernetes.io/enforce"
_POD: Final = lazily(r"pods \\?\"?([a-z0-9.-]+)\\?\"? is forbidden")


class Seen:
    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.rejected = picture.hits(PSA, PSP, PSP_ADMIT, SCC)
        self.ours = [hit for hit in self.rejected if _is_ours(picture, hit)]
        rows = picture.of(Workload)
        self.short = [row for row in rows if row.desired and (row.current or 0) < row.desired]

    @property
    def first(self) -> Hit:
        return (self.ours or self.rejected)[0]

    @property
    def admission(self) -> bool:
        return self.first.sign == PSA.key

    @property
    def level(self) -> str:
        return self.first.value("level").partition(":")[0]

    @property
    def policy(self) -> Words:
        if self.admission:
            return Words(f'Pod Security admission at level "{self.level}"', f"Pod Security 准入（级别 {self.level}）")
        return same("SecurityContextConstraints" if self.first.sign == SCC.key else "PodSecurityPolicy")

    @cached_property
    def culprits(self) -> tuple[Culprit, ...]:
        pods = [match[1] for hit in (self.ours or self.rejected) if (match := _POD.search(hit.line))]
        return culprits(
            named("pod", *pods, *(pod.rstrip("-") for pod in pods)),
            named("setting", self.level, LABEL if self.admission else "PodSecurityPolicy"),
            named("resource", self.picture.namespace, *(row.name for row in self.short)),
            named("resource", "DaemonSet/calico-node" if self.ours else ""),
            Culprit("setting", "PodSecurity"),
        )

    def found(self, strength: float, hits: list[Hit]) -> Finding:
        kind = "psa" if self.admission else "psp"
        evidence = (*hits[:2], *self.short[:1])
        return found(strength, self.culprits, evidence, say="rejects", policy=self.policy, kind=kind)


def webhook_instead(seen: Seen) -> Finding | None:
    called = seen.picture.hits(WEBHOOK)
    return ruled_out(called[:1]) if called and not seen.rejected else None


def admitted_since(seen: Seen) -> Finding | None:
    """The agents are there and ready: whoever was rejected has been let in."""
    pods = seen.picture.agents_now()
    ready = pods and all(pod.all_ready for pod in pods)
    return ruled_out(pods[:2]) if seen.rejected and ready and not seen.short else None


def rejects_calico(seen: Seen) -> Finding | None:
    return seen.found(PROVEN if seen.short else STRONG, seen.ours) if seen.ours else None


def rejects_some(seen: Seen) -> Finding | None:
    return seen.found(LIKELY if seen.short else POSSIBLE, seen.rejected) if seen.rejected else None


def _is_ours(picture: Picture, hit: Hit) -> bool:
    rejected = _POD.search(hit.line)
    if rejected and rejected[1].strip("-") and owner_at(picture, hit.place):  # whose it is stands there
        return any(word in f"{rejected[1]} {owner_at(picture, hit.place)}" for word in OURS)
    text = f"{hit.line} {hit.command}".lower()
    if any(word in text for word in OURS):
        return True
    return any(word in lines_before(picture, hit.place) for word in OURS)


def fix(picture: Picture, finding: Finding) -> Iterator[Do | Step]:
    version = picture.version("kubernetes")
    removed = bool(version and version >= (1, 25))
    yield do("psp" if finding.value("kind") == "psp" and not removed else "label")
    yield from restart_agent(picture)


CAUSE = Cause(
    module=__name__,
    id="psp-forbidden",
    code="TRT4007",
    severity="medium",
    explains=("pod-not-created", "operator-degraded", "not-ready", "node-not-ready"),
    signs=(PSP, PSP_ADMIT, PSA, SCC, WEBHOOK),
    look=Seen,
    rules=(webhook_instead, admitted_since, rejects_calico, rejects_some),
    fix=fix,
)
