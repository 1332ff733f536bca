"""TRT3014: Felix is given a setting that it cannot take, or that makes rules that the kernel refuses."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Final

from tortie.doctor.causes import ways
from tortie.doctor.causes.cause import HINT, LIKELY, POSSIBLE, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.recovery import node_of, recovered, sick, writers
from tortie.doctor.causes.steps import Step
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import LogLine, Setting
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Hit, Sign

REJECT: Final = Sign("felix-reject-table", "REJECT target: only valid in filter table")
RESTORE: Final = Sign("felix-restore-refused", "tables-restore command error=exit status <n_code>")
PARSE: Final = Sign("felix-parse-failed", "failed to parse config parameter <parameter>; value <rest>")
REQUIRED: Final = Sign("felix-required-invalid", "Invalid \\(required\\) config value")
NONE: Final = Sign("felix-none-refused", "Failed to parse value for <parameter>: <list> from source <rest>")
REPLACED: Final = Sign("felix-value-replaced", "Replacing invalid value with default")
UNREADABLE: Final = Sign(
    "felix-config-unreadable",
    "cannot unmarshal <kind> into Go struct field FelixConfigurationSpec.<field> of type",
)
MARKS: Final = Sign("felix-mark-bits", "Not enough mark bits available. MarkMask=<mask>")
MASKS: Final = ("iptablesMarkMask", "nftablesMarkMask")
DENY: Final = "iptablesFilterDenyAction"
DENY_ENV: Final = "FELIX_IPTABLESFILTERDENYACTION"
TABLES: Final = ("*raw", "*mangle", "*nat")  # REJECT is for *filter alone


_BEGINS: Final = lazily(r"Felix starting up|[Ll]oading configuration|config|Parsing value|Calculated")


class Seen:
    """What Felix says of its settings, and what the kernel says of the rules that they make."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.kernel = picture.hits(REJECT)
        self.restored = [hit for hit in picture.hits(RESTORE) if _rejects_early(hit.line)]
        # Typha has the same words for settings of its own.
        self.required = [hit for hit in picture.hits(REQUIRED, NONE) if "typha" not in hit.line.lower()]
        self.parse = picture.hits(PARSE)
        self.replaced = picture.hits(REPLACED)
        self.unreadable = picture.hits(UNREADABLE)
        self.marks = picture.hits(MARKS)

    @cached_property
    def deny(self) -> Setting | None:
        shown = (self.picture.setting(DENY), self.picture.setting(DENY_ENV))
        return next((one for one in shown if one and one.value.lower() == "reject"), None)

    @property
    def lines(self) -> list[Hit]:
        return [*self.kernel, *self.restored, *self.required, *self.unreadable, *self.marks]

    @cached_property
    def parameter(self) -> str:
        """As the resource spells it: the log has Go's name, IptablesBackend."""
        own = [hit for hit in self.required if hit.value("parameter")] + self._beside(self.required)
        name = next((hit.value("parameter") for hit in own), "")
        return name[:1].lower() + name[1:]

    def _beside(self, hits: list[Hit]) -> list[Hit]:
        """The reason stands on the same line, as its error."""
        lines = {hit.place.first for hit in hits}
        return [hit for hit in self.parse if hit.place.first in lines]

    @property
    def in_environment(self) -> bool:
        return any("environment variable" in hit.line for hit in (*self.required, *self.parse))

    def culprits(self, *settings: str) -> tuple[Culprit, ...]:
        return culprits(named("setting", *settings), writers(self.picture, *self.lines[:2]))


def _rejects_early(line: str) -> bool:
    """A rule of Felix's that rejects in a table where nothing can be rejected."""
    return "--jump REJECT" in line and "cali" in line and any(f'"{table}\\n' in line for table in TABLES)


def _ends_again(seen: Seen) -> bool:
    """Before Calico had probes its pods were ready all the while: the log ends with Felix, which begins anew."""
    last = max((hit.place for hit in seen.required), default=None)
    if last is None:
        return False
    behind = [
        line.message
        for line in seen.picture.of(LogLine)
        if line.place.source == last.source and line.place.first > last.first
    ]
    return any("Felix starting up" in words for words in behind) and all(_BEGINS.search(words) for words in behind)


def accepted_now(seen: Seen) -> Finding | None:
    well = recovered(seen.picture, seen.lines) if seen.lines and not _ends_again(seen) else []
    return ruled_out(well[:1]) if well else None


def rejects_too_early(seen: Seen) -> Finding | None:
    """The kernel's line may be about anybody's rule; Felix's own rule or its setting makes it Felix's."""
    if not (seen.kernel or seen.restored):
        return None
    ours = bool(seen.deny or seen.restored)
    strength = PROVEN if ours and (seen.kernel or seen.deny) else STRONG if ours else POSSIBLE
    if not ours and sick(seen.picture):
        strength = LIKELY
    who = seen.culprits(seen.deny.name if seen.deny else DENY)
    evidence = (seen.deny, *seen.restored[:1], *seen.kernel[:1])
    return found(strength, who, evidence, setting=seen.deny.name if seen.deny else DENY, node=node_of(who))


def not_accepted(seen: Seen) -> Finding | None:
    if not seen.required:
        return None
    who = seen.culprits(seen.parameter)
    reason = next((hit.value("rest").partition(" source=")[0] for hit in seen._beside(seen.required)), "")
    return found(
        STRONG, who, seen.required[:2],
        setting=seen.parameter, reason=reason[:120], node=node_of(who), env=_env(seen),
    )  # fmt: skip


def unreadable(seen: Seen) -> Finding | None:
    if not seen.unreadable:
        return None
    field = seen.unreadable[0].value("field").rpartition("spec.")[2]
    who = seen.culprits(field)
    return found(STRONG, who, seen.unreadable[:1], setting=field, node=node_of(who))


def too_few_marks(seen: Seen) -> Finding | None:
    """The mask can be read, and has fewer bits than Felix has uses for."""
    if not seen.marks:
        return None
    setting = next((name for name in MASKS if seen.picture.setting(name)), MASKS[0])
    who = culprits(named("setting", setting, "IptablesMarkMask"), writers(seen.picture, *seen.marks[:2]))
    return found(PROVEN, who, seen.marks[:2], setting=setting, mask=seen.marks[0].value("mask"), node=node_of(who))


def replaced(seen: Seen) -> Finding | None:
    """Felix goes on with its default: worth a look, and no reason why it would not start."""
    if not seen.replaced:
        return None
    name = next((hit.value("parameter") for hit in seen._beside(seen.replaced)), "")
    field = name[:1].lower() + name[1:]
    return found(HINT, seen.culprits(field), seen.replaced[:1], setting=field)


def _env(seen: Seen) -> str:
    return f"FELIX_{seen.parameter.upper()}" if seen.parameter and seen.in_environment else ""


def fix(picture: Picture, finding: Finding) -> Iterator[Do | Step]:
    yield do("see")
    if finding.rule in ("rejects-too-early", ""):
        yield do("drop")
        yield from ways.set_felix(picture, DENY, '"Drop"')
    if finding.rule != "rejects-too-early":
        yield do("unset-env" if finding.value("env") else "unset")
    if finding.rule == "unreadable":
        yield do("match-release")


CAUSE = Cause(
    module=__name__,
    id="felix-config-invalid",
    code="TRT3014",
    severity="high",
    explains=(
        "crash-loop", "not-ready", "felix-not-ready", "log-errors", "restarts", "killed-by-liveness", "sandbox-failed",
        "traffic-dead", "controllers-failing", "start-terminated",
    ),
    signs=(REJECT, RESTORE, PARSE, REQUIRED, NONE, REPLACED, UNREADABLE, MARKS),
    look=Seen,
    rules=(accepted_now, rejects_too_early, not_accepted, too_few_marks, unreadable, replaced),
    fix=fix,
)  # fmt: skip
