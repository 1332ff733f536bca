"""TRT7017: a map that is pinned on the node has other parameters than this release wants; its users do not load."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Final

from tortie.doctor.causes import ways
from tortie.doctor.causes.cause import LIKELY, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.kernel.bpf_evidence import BPF_EVIDENCE, MISMATCH, OBJECT_FAILED
from tortie.doctor.causes.recovery import node_of, recovered, sick, writers
from tortie.doctor.causes.steps import Step
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Hit, Sign

MISMATCH_CUT: Final = Sign("bpf-map-mismatch-cut", "couldn't reuse pinned map")
REUSING: Final = Sign("bpf-map-reusing", "libbpf: map '<map>': error reusing pinned map")
INVALID: Final = Sign("bpf-map-invalid", "libbpf: map '<map>': failed to create: Invalid argument")
REFUSED: Final = Sign("bpf-map-not-let", "libbpf: map '<map>': failed to create: Operation not permitted")


class Seen:
    """What libbpf says of pinned maps."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.mismatch = picture.hits(MISMATCH)
        cut = picture.hits(MISMATCH_CUT)
        self.cut = [] if self.mismatch else [hit for hit in cut if "permitted" not in hit.line]
        self.refused = picture.hits(REFUSED)
        self.reusing = picture.hits(REUSING)
        self.invalid = picture.hits(INVALID)
        self.objects = picture.hits(OBJECT_FAILED)

    @property
    def lines(self) -> list[Hit]:
        return [*self.mismatch, *self.cut, *self.reusing]

    @cached_property
    def path(self) -> str:
        return next((hit.value("path") for hit in self.mismatch), "")

    @cached_property
    def map(self) -> str:
        named_maps = [hit.value("map") for hit in (*self.reusing, *self.invalid)]
        return self.path.rpartition("/")[2] or next(iter(named_maps), "")

    @cached_property
    def culprits(self) -> tuple[Culprit, ...]:
        written = writers(self.picture, *self.lines[:2], *self.objects[:1])
        return culprits(named("resource", self.map), named("file", self.path), written)


def not_permitted(seen: Seen) -> Finding | None:
    return ruled_out(seen.refused[:1]) if seen.refused and not seen.mismatch else None


def loads_now(seen: Seen) -> Finding | None:
    """Felix is not ready before its programs are attached."""
    well = recovered(seen.picture, seen.lines) if seen.lines else []
    return ruled_out(well[:1]) if well else None


def differs(seen: Seen) -> Finding | None:
    if not seen.mismatch:
        return None
    failed = seen.objects or seen.invalid or sick(seen.picture)
    evidence = (*seen.mismatch[:1], *seen.invalid[:1], *seen.objects[:1])
    return found(
        PROVEN if failed else STRONG, seen.culprits, evidence,
        map=seen.map, path=seen.path, node=node_of(seen.culprits),
    )  # fmt: skip


def not_reused(seen: Seen) -> Finding | None:
    """The line that names the reason is cut off; with `Invalid argument` it can hardly be another one."""
    if not seen.cut and not (seen.reusing and seen.invalid):
        return None
    evidence = (*seen.cut[:1], *seen.reusing[:1], *seen.invalid[:1], *seen.objects[:1])
    return found(LIKELY, seen.culprits, evidence, map=seen.map, node=node_of(seen.culprits))


def fix(picture: Picture, finding: Finding) -> Iterator[Do | Step]:
    node = finding.value("node")
    yield do("compare")
    if node:
        yield from ways.drain_node(picture, node)
    else:
        yield do("drain")
    yield do("unpin")
    yield from ways.restart_agent(picture, node)
    yield do("reboot")
    yield do("release")


CAUSE = Cause(
    module=__name__,
    id="bpf-map-mismatch",
    code="TRT7017",
    severity="high",
    explains=(
        "not-ready", "felix-not-ready", "crash-loop", "init-crash", "log-errors", "traffic-dead", "service-dead",
        "sandbox-failed", "restarts", "killed-by-liveness",
    ),
    signs=(*BPF_EVIDENCE, MISMATCH_CUT, REUSING, INVALID, REFUSED),
    look=Seen,
    rules=(not_permitted, loads_now, differs, not_reused),
    fix=fix,
)  # fmt: skip
