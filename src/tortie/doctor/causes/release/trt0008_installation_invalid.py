"""TRT0008: the operator refuses the Installation and no longer applies anything of it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Final

from tortie.doctor.causes.cause import POSSIBLE, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.release.operator_evidence import degraded, reason_in, well_now
from tortie.doctor.causes.steps import Step
from tortie.doctor.causes.way_table import choose
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Setting
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Sign

INVALID: Final = Sign("installation-invalid", "Invalid Installation provided<rest>")
COMPUTED: Final = Sign("installation-invalid-computed", "Invalid computed config<rest>")
POOLS: Final = Sign("installation-invalid-pools", "error validating IP pool configuration<rest>")
SIGNS: Final = (INVALID, COMPUTED, POOLS)
_WORDS: Final = ("Invalid Installation provided", "Invalid computed config", "error validating IP pool configuration")
# The operator's own class of reasons; it has it for a few things that end by themselves, too.
_CLASS: Final = "InvalidConfigurationError"
_OUTSIDE: Final = "is not within the platform"
_PATH: Final = lazily(r"\bspec\.[A-Za-z][\w.]*\w|\b(?:nodeSelector|natOutgoing|ipPool\.encapsulation|HostPorts)\b")
_PARTS: Final = ("calico", "ippools", "default")


class Seen:
    """The operator's verdict about the Installation, by status or by log, and what it says to be wrong."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.sick = [one for one in degraded(picture) if one.message.startswith(_WORDS)]
        self.hits = picture.hits(*SIGNS)
        self.unsaid = [one for one in degraded(picture) if one.reason == _CLASS and not one.message]

    @cached_property
    def reason(self) -> str:
        for one in self.sick:
            for words in _WORDS:
                if one.message.startswith(words) and (said := one.message.removeprefix(words).strip(": '\"")):
                    return said
        return next((said for hit in reversed(self.hits) if (said := reason_in(hit))), "")

    @cached_property
    def path(self) -> str:
        """The field, as far as the reason names one: spec.calicoNetwork.linuxPolicySetupTimeoutSeconds."""
        match = _PATH.search(self.reason)
        return match[0] if match else ""

    @property
    def field(self) -> str:
        return self.path.rpartition(".")[2]

    @cached_property
    def shown(self) -> list[Setting]:
        """The field in the Installation itself."""
        return self.picture.settings(self.field, "installation")[-1:] if self.field else []

    @cached_property
    def culprits(self) -> tuple[Culprit, ...]:
        return culprits(
            named("setting", self.field, self.path),
            Culprit("resource", "installation/default"),
            named("resource", *(f"tigerastatus/{one.name}" for one in self.sick if one.resource == "TigeraStatus")),
        )


def pool_outside(seen: Seen) -> Finding | None:
    """It has a cause of its own."""
    said = [*(one for one in seen.sick if _OUTSIDE in one.message), *(hit for hit in seen.hits if _OUTSIDE in hit.line)]
    return ruled_out(said[:1]) if said else None


def accepted_since(seen: Seen) -> Finding | None:
    """Every operator says it once while an Installation is being written; its status is the last word."""
    well = well_now(seen.picture, *_PARTS)
    return ruled_out(well[:2]) if seen.hits and not seen.sick and well else None


def refused(seen: Seen) -> Finding | None:
    if not seen.sick and not seen.hits:
        return None
    strength = PROVEN if seen.sick and seen.reason else STRONG
    evidence = (*(seen.sick[:1] or seen.hits[-1:]), *seen.shown)
    say = "refused" if seen.reason else "refused-somehow"
    return found(strength, seen.culprits, evidence, say=say, reason=seen.reason, field=seen.field)


def reason_not_shown(seen: Seen) -> Finding | None:
    return found(POSSIBLE, seen.culprits, seen.unsaid[:1]) if seen.unsaid else None


def not_degraded(seen: Seen) -> Finding | None:
    well = well_now(seen.picture, *_PARTS)
    return ruled_out(well[:1]) if well else None


def fix(picture: Picture, finding: Finding) -> Iterator[Do | Step]:
    yield do("read")
    hand = choose(picture, "edit").way.hand
    key = "rke2" if hand == "rke2-calico" else "edit"
    yield do(key if finding.value("field") else f"{key}-any")


CAUSE = Cause(
    module=__name__,
    id="installation-invalid",
    code="TRT0008",
    severity="high",
    explains=("operator-degraded", "status-stale", "log-errors", "pod-not-created"),
    signs=SIGNS,
    look=Seen,
    rules=(pool_outside, accepted_since, refused, reason_not_shown, not_degraded),
    fix=fix,
    yields_to=("ippool-outside-cluster-cidr",),
)
