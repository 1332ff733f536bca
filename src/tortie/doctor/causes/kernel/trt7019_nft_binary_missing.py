"""TRT7019: Felix wants to speak to nftables, and the program nft is not there, or too old."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Final

from tortie.doctor.causes import ways
from tortie.doctor.causes.cause import LIKELY, POSSIBLE, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.recovery import node_of, recovered, writers
from tortie.doctor.causes.steps import Step
from tortie.doctor.picture.facts import Container, Setting
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Hit, Sign

CLIENT: Final = Sign("nft-no-client", "Failed to create knftables client")
NOT_FOUND: Final = Sign("nft-not-found", "could not find nftables binary")
NO_FILE: Final = Sign("nft-no-file", 'exec: "nft": executable file not found in $PATH')
TOO_OLD: Final = Sign("nft-too-old", "nft version must be <needed> or later")
NOT_RUN: Final = Sign("nft-not-run", "could not run nftables command: <rest>")
NFT_MODE_SINCE: Final = (3, 29)


class Seen:
    """What knftables says when Felix makes its client."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.client = picture.hits(CLIENT)
        self.missing = picture.hits(NOT_FOUND, NO_FILE)
        self.old = picture.hits(TOO_OLD)
        self.failed = picture.hits(NOT_RUN)

    @property
    def lines(self) -> list[Hit]:
        return [*self.client, *self.missing, *self.old, *self.failed]

    @cached_property
    def mode(self) -> Setting | None:
        """Who asked for nftables."""
        asked = (self.picture.setting("nftablesMode"), self.picture.setting("FELIX_NFTABLESMODE"))
        return next((one for one in asked if one and one.value.lower() != "disabled"), None)

    @cached_property
    def image(self) -> Container | None:
        boxes = (box for box in self.picture.containers("calico-node") if box.image)
        return next(boxes, None)

    @cached_property
    def culprits(self) -> tuple[Culprit, ...]:
        written = writers(self.picture, *self.lines[:2])
        image, setting = self.image.image if self.image else "", self.mode.name if self.mode else ""
        return culprits(Culprit("program", "nft"), named("image", image), named("setting", setting), written)


def works_now(seen: Seen) -> Finding | None:
    well = recovered(seen.picture, seen.lines) if seen.lines else []
    return ruled_out(well[:1]) if well else None


def not_there(seen: Seen) -> Finding | None:
    if not seen.missing:
        return None
    felix = seen.client or any("felix" in hit.line or "calico" in hit.line for hit in seen.missing)
    strength = PROVEN if seen.client else STRONG if felix else LIKELY
    evidence = (*seen.missing[:1], *seen.client[:1], seen.mode, seen.image)
    return found(strength, seen.culprits, evidence, node=node_of(seen.culprits), setting=_asked(seen))


def too_old(seen: Seen) -> Finding | None:
    if not seen.old:
        return None
    needed = seen.old[0].value("needed")
    evidence = (*seen.old[:1], *seen.client[:1], seen.mode)
    return found(PROVEN if seen.client else STRONG, seen.culprits, evidence, needed=needed, node=node_of(seen.culprits))


def does_not_run(seen: Seen) -> Finding | None:
    """It is there and fails: then it is the kernel's or a right that is missing, not the program."""
    if not seen.client or not seen.failed:
        return None
    return found(
        POSSIBLE, seen.culprits, (*seen.client[:1], *seen.failed[:1]),
        reason=seen.failed[0].value("rest")[:120], node=node_of(seen.culprits),
    )  # fmt: skip


def no_client(seen: Seen) -> Finding | None:
    """Which of the reasons is not shown; the program that is missing is by far the most frequent one."""
    if not seen.client:
        return None
    evidence = (*seen.client[:1], seen.mode)
    return found(LIKELY, seen.culprits, evidence, node=node_of(seen.culprits), setting=_asked(seen))


def _asked(seen: Seen) -> str:
    return f"{seen.mode.name}={seen.mode.value}" if seen.mode else ""


def fix(picture: Picture, finding: Finding) -> Iterator[Do | Step]:
    """What somebody switched on is switched off first; an image takes longer."""
    yield do("there")
    if finding.value("setting"):
        yield from _with_iptables(picture)
    yield do("image")
    yield from ways.edit_agent(picture)
    yield do("host")
    release = picture.version("calico")
    if not finding.value("setting") and (release is None or release >= NFT_MODE_SINCE):
        yield from _with_iptables(picture)


def _with_iptables(picture: Picture) -> Iterator[Do | Step]:
    yield do("iptables")
    yield from ways.set_felix(picture, "nftablesMode", '"Disabled"')


CAUSE = Cause(
    module=__name__,
    id="nft-binary-missing",
    code="TRT7019",
    severity="high",
    explains=(
        "crash-loop", "not-ready", "felix-not-ready", "log-errors", "restarts", "killed-by-liveness", "sandbox-failed",
        "traffic-dead", "service-dead",
    ),
    signs=(CLIENT, NOT_FOUND, NO_FILE, TOO_OLD, NOT_RUN),
    look=Seen,
    rules=(works_now, not_there, too_old, does_not_run, no_client),
    fix=fix,
)  # fmt: skip
