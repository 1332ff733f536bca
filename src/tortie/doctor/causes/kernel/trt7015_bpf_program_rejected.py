"""TRT7015: the kernel's verifier does not accept a BPF program of this Calico release."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Final

from tortie.doctor.causes import ways
from tortie.doctor.causes.cause import LIKELY, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.kernel.bpf_evidence import (
    BPF_EVIDENCE,
    MISMATCH,
    OBJECT_FAILED,
    kernel_of,
    of_others,
    refused_loads,
)
from tortie.doctor.causes.recovery import node_of, recovered, sick, writers
from tortie.doctor.causes.steps import Step
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Hit, Sign

VERIFIER: Final = Sign("bpf-verifier-log", "-- BEGIN PROG LOAD LOG --")
VERIFIER_OLD: Final = Sign("bpf-verifier-log-old", "-- BEGIN DUMP LOG ---")
SUMMARY: Final = Sign("bpf-verifier-summary", "processed <n> insns \\(limit <n_limit>\\)")
SAID: Final = Sign("bpf-verifier-said", "program rejected by kernel BPF verifier")
NO_BTF: Final = Sign("bpf-no-kernel-btf", "libbpf: failed to find valid kernel BTF")
BTF_ERROR: Final = Sign("bpf-vmlinux-btf-error", "libbpf: Error loading vmlinux BTF: <rest>")


class Seen:
    """What libbpf says of programs, and the verifier's own words."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.forbidden, self.rejected = refused_loads(picture)
        self.verifier = [hit for hit in picture.hits(VERIFIER, VERIFIER_OLD, SUMMARY, SAID) if not of_others(hit)]
        self.objects = [hit for hit in picture.hits(OBJECT_FAILED) if not of_others(hit)]
        self.btf = [hit for hit in picture.hits(NO_BTF, BTF_ERROR) if not of_others(hit)]
        self.mismatch = picture.hits(MISMATCH)

    @property
    def lines(self) -> list[Hit]:
        return [*self.rejected, *self.verifier, *self.btf]

    @cached_property
    def program(self) -> str:
        return next((hit.value("program") for hit in self.rejected if hit.value("program")), "")

    @cached_property
    def file(self) -> str:
        return next((hit.value("object") for hit in self.objects), "")

    @cached_property
    def kernel(self) -> str:
        return kernel_of(self.picture, node_of(writers(self.picture, *self.lines[:2])))

    @cached_property
    def culprits(self) -> tuple[Culprit, ...]:
        return culprits(
            named("program", self.program),
            named("file", self.file),
            named("version", self.kernel),
            writers(self.picture, *self.lines[:2], *self.objects[:1]),
        )


def map_differs(seen: Seen) -> Finding | None:
    return ruled_out(seen.mismatch[:1]) if seen.mismatch and not seen.rejected else None


def nothing_may_load(seen: Seen) -> Finding | None:
    return ruled_out(seen.forbidden[:1]) if seen.forbidden and not seen.rejected else None


def loads_now(seen: Seen) -> Finding | None:
    """Felix is not ready before its programs are attached."""
    well = recovered(seen.picture, [*seen.lines, *seen.objects]) if seen.lines else []
    return ruled_out(well[:1]) if well else None


def rejected(seen: Seen) -> Finding | None:
    if not seen.rejected:
        return None
    shown = seen.verifier or (seen.objects and sick(seen.picture))
    evidence = (*seen.rejected[:1], *seen.verifier[:1], *seen.objects[:1])
    return found(
        PROVEN if shown else STRONG, seen.culprits, evidence,
        program=seen.program, kernel=seen.kernel, node=node_of(seen.culprits),
        reason=seen.rejected[0].value("rest").strip()[:80],
    )  # fmt: skip


def no_kernel_btf(seen: Seen) -> Finding | None:
    """Alone it may be about a program that is loaded without it in a second attempt."""
    if not seen.btf or not seen.objects:
        return None
    evidence = (*seen.btf[:2], *seen.objects[:1])
    return found(STRONG, seen.culprits, evidence, kernel=seen.kernel, node=node_of(seen.culprits), file=seen.file)


def verifier_only(seen: Seen) -> Finding | None:
    said = [hit for hit in seen.verifier if hit.sign in (SAID.key, VERIFIER.key)]
    if not said:
        return None
    return found(LIKELY, seen.culprits, (*said[:1], *seen.objects[:1]), kernel=seen.kernel, node=node_of(seen.culprits))


def fix(picture: Picture, finding: Finding) -> Iterator[Do | Step]:
    yield do("which")
    if any("debug" in name for name in finding.objects):
        yield do("smaller")
        yield from ways.set_felix(picture, "bpfLogLevel", '"Off"')
    yield do("release")
    yield do("kernel-back")
    yield do("without")


CAUSE = Cause(
    module=__name__,
    id="bpf-program-rejected",
    code="TRT7015",
    severity="high",
    explains=(
        "init-crash", "crash-loop", "not-ready", "felix-not-ready", "log-errors", "traffic-dead", "service-dead",
        "sandbox-failed", "api-unreachable", "restarts", "killed-by-liveness",
    ),
    signs=(*BPF_EVIDENCE, VERIFIER, VERIFIER_OLD, SUMMARY, SAID, NO_BTF, BTF_ERROR),
    look=Seen,
    rules=(map_differs, nothing_may_load, loads_now, rejected, no_kernel_btf, verifier_only),
    fix=fix,
)  # fmt: skip
