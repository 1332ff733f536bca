"""TRT7016: the agent may not load any BPF program: lockdown, a container without privileges, or no locked memory."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Final

from tortie.doctor.causes import ways
from tortie.doctor.causes.cause import POSSIBLE, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.kernel.bpf_evidence import (
    BPF_EVIDENCE,
    OBJECT_FAILED,
    bpf_mode,
    of_others,
    refused_loads,
    unprivileged,
)
from tortie.doctor.causes.recovery import node_of, recovered, writers
from tortie.doctor.causes.steps import Step
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Hit, Sign

PROBE: Final = Sign("bpf-probe-refused", "Error in bpf_object__probe_<rest>")
BASIC: Final = Sign("bpf-basic-refused", "t load basic 'r0 = 0' BPF program")
MAP: Final = Sign("bpf-map-refused", "failed to create: Operation not permitted\\(-1\\)")
MAP_TOOL: Final = Sign("bpf-map-tool-refused", "map create failed: Operation not permitted")
MAP_OLD: Final = Sign("bpf-map-old-refused", "libbpf: failed to create map \\(name: '<map>'\\): <rest>")
PINNED: Final = Sign("bpf-pinned-refused", "t retrieve pinned map '<path>': Operation not permitted")
FELIX: Final = Sign("bpf-felix-refused", "error loading object operation not permitted")
WIPE: Final = Sign("bpf-xdp-not-wiped", "failed to wipe the XDP state")
LOCKDOWN: Final = Sign("bpf-kernel-lockdown", "is restricted; see man kernel_lockdown")
_REFUSED: Final = ("operation not permitted", "permission denied")


class Seen:
    """Lines in which the kernel refuses the attempt itself, and what would refuse it."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        forbidden, self.rejected = refused_loads(picture)
        # A probe also fails, with another error, where the kernel lacks something: that is no refusal.
        asked = [hit for hit in picture.hits(PROBE, MAP_OLD) if _is_refused(hit.value("rest"))]
        basic = [hit for hit in picture.hits(BASIC) if hit.prose or _is_refused(hit.line)]
        others = picture.hits(MAP, MAP_TOOL, PINNED, FELIX)
        self.refused = [hit for hit in (*asked, *basic, *others, *forbidden) if not of_others(hit)]
        self.wiping = picture.hits(WIPE)
        self.lockdown = [hit for hit in picture.hits(LOCKDOWN) if "bpf" in hit.line.lower()]
        self.objects = picture.hits(OBJECT_FAILED)

    @cached_property
    def culprits(self) -> tuple[Culprit, ...]:
        written = writers(self.picture, *self.refused[:2], *self.wiping[:1], *self.lockdown[:1])
        what = "lockdown" if self.lockdown else "nonPrivileged" if unprivileged(self.picture) else ""
        return culprits(named("setting", what), written, Culprit("message", "Operation not permitted"))


def _is_refused(text: str) -> bool:
    return any(words in text.lower() for words in _REFUSED)


def verifier(seen: Seen) -> Finding | None:
    """Where one program is looked at and rejected, others may be loaded."""
    return ruled_out(seen.rejected[:1]) if seen.rejected and not seen.refused else None


def loads_now(seen: Seen) -> Finding | None:
    lines = [*seen.refused, *seen.wiping]
    well = recovered(seen.picture, lines) if lines else []
    return ruled_out(well[:1]) if well else None


def lockdown(seen: Seen) -> Finding | None:
    if not seen.refused or not seen.lockdown:
        return None
    return found(PROVEN, seen.culprits, (*seen.lockdown[:1], *_lines(seen)), node=node_of(seen.culprits))


def no_privileges(seen: Seen) -> Finding | None:
    document = unprivileged(seen.picture)
    if not seen.refused or document is None:
        return None
    return found(PROVEN, seen.culprits, (document, *_lines(seen)), node=node_of(seen.culprits))


def refused(seen: Seen) -> Finding | None:
    return found(STRONG, seen.culprits, _lines(seen), node=node_of(seen.culprits)) if seen.refused else None


def not_wiped(seen: Seen) -> Finding | None:
    """Felix cleans up XDP in every mode; why it could not is what libbpf says beside this line."""
    return found(POSSIBLE, seen.culprits, seen.wiping[:1], node=node_of(seen.culprits)) if seen.wiping else None


def _lines(seen: Seen) -> tuple[Hit, ...]:
    return (*seen.refused[:2], *seen.wiping[:1], *seen.objects[:1])


def fix(picture: Picture, finding: Finding) -> Iterator[Do | Step]:
    yield do("why-refused")
    if finding.rule in ("lockdown", ""):
        yield do("lockdown")
    if finding.rule == "no-privileges":
        yield do("privileges-operator")
    elif finding.rule != "lockdown":
        yield do("privileges")
        yield from ways.edit_agent(picture)
        yield do("memory")
    if bpf_mode(picture) is None:
        yield do("no-xdp")
        yield from ways.set_felix(picture, "xdpEnabled", "false")


CAUSE = Cause(
    module=__name__,
    id="bpf-not-permitted",
    code="TRT7016",
    severity="high",
    explains=(
        "crash-loop", "init-crash", "not-ready", "felix-not-ready", "log-errors", "restarts", "killed-by-liveness",
        "traffic-dead", "service-dead", "sandbox-failed",
    ),
    signs=(*BPF_EVIDENCE, PROBE, BASIC, MAP, MAP_TOOL, MAP_OLD, PINNED, FELIX, WIPE, LOCKDOWN),
    look=Seen,
    rules=(verifier, loads_now, lockdown, no_privileges, refused, not_wiped),
    fix=fix,
    yields_to=("selinux-denied",),
)  # fmt: skip
