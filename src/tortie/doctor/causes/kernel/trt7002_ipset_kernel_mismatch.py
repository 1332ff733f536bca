"""TRT7002: a set in the kernel has a revision that the image's ipset does not understand."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from tortie.doctor.causes import ways
from tortie.doctor.causes.cause import POSSIBLE, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.kernel.bpf_evidence import kernels_shown
from tortie.doctor.causes.kernel.trt7001_kernel_module_missing import BAD_ARGUMENT, NO_SESSION, REVISION, SETS_PANIC
from tortie.doctor.causes.kernel.whose_node import node_of, said_on
from tortie.doctor.causes.recovery import recovered
from tortie.doctor.causes.steps import Step
from tortie.doctor.causes.underlay.traffic_evidence import Row, rows
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Sign

LISTED = Sign("ipset-list-failed", "Bad return code from 'ipset list <set>'")
UNPARSED = Sign("ipset-unparsed", "Failed to parse ipset <set>")
INCOMPATIBLE = Sign("ipset-incompatible", "ipset v<version>: Kernel and userspace incompatible")
ONE_BY_ONE = (3, 27, 1)  # from here on Felix reads only its own sets, so a foreign one does no harm
NFTABLES = (3, 29)


class Seen:
    """The kernel's refusals, the set they are about, and the versions of ipset in the image and on the host."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.revisions, self.refused = picture.hits(REVISION), picture.hits(INCOMPATIBLE)
        self.hits = (*self.revisions[:1], *self.refused[:1])
        self.panic = picture.hit(SETS_PANIC)
        self.type = next((hit.value("list_type") for hit in self.revisions), "")
        self.revision = next((hit.value("n") for hit in self.revisions), "")
        self.own = next((hit.value("version") for hit in self.refused), "")

    @cached_property
    def installed(self) -> list[Row]:
        """Another ipset than that of the image."""
        shown = rows(self.picture, r"^ipset v(?P<version>[\d.]+)", needle="ipset v")
        return [row for row in shown if row["version"] != self.own]

    @cached_property
    def node(self) -> str:
        return node_of(self.picture, *(said_on(self.picture, hit).strip("?") for hit in self.hits))

    @property
    def culprits(self) -> tuple[Culprit, ...]:
        sets = [hit.value("set") for hit in self.picture.hits(LISTED, UNPARSED)]
        names = rows(
            self.picture, r"^(?P<set>[A-Za-z][\w.:-]+)$", "ipset list -n", "ipset -n", "ipset list -name",
        )  # fmt: skip
        foreign = [row["set"] for row in names if not row["set"].startswith("cali")]
        kernels = kernels_shown(self.picture, self.node)[:1]
        return culprits(
            named("rule", *sets[:1], self.type),
            Culprit("program", "ipset"),
            named("rule", *foreign[:8]),
            named("version", self.own, *(row["version"] for row in self.installed[:1])),
            named("node", self.node),
            named("version", *kernels),
        )


def no_session(seen: Seen) -> Finding | None:
    other = seen.picture.hit(NO_SESSION, BAD_ARGUMENT)
    return ruled_out((other,)) if other and not seen.hits else None


def panic_only(seen: Seen) -> Finding | None:
    if seen.panic is None or seen.hits:
        return None
    return found(POSSIBLE, named("program", "ipset"), (seen.panic,), node=node_of(seen.picture))


def works_now(seen: Seen) -> Finding | None:
    """Felix is not ready before it has read the sets."""
    well = recovered(seen.picture, seen.hits) if seen.hits else []
    return ruled_out(well[:1]) if well else None


def newer_revision(seen: Seen) -> Finding | None:
    if not seen.hits:
        return None
    return found(
        PROVEN if seen.installed else STRONG, seen.culprits, (*seen.installed[:1], *seen.hits, seen.panic),
        say="newer-revision" if seen.type else "newer-set",
        type=seen.type, revision=seen.revision, own=seen.own, node=seen.node,
    )  # fmt: skip


def fix(picture: Picture, _finding: Finding) -> Iterator[Do | Step]:
    version = picture.version("calico")
    if not version or version < ONE_BY_ONE:
        yield do("upgrade")
    yield do("foreign")
    yield do("reboot")
    if version and version >= NFTABLES:
        yield do("nftables")
        yield from ways.set_felix(picture, "nftablesMode", '"Enabled"')


CAUSE = Cause(
    module=__name__,
    id="ipset-kernel-mismatch",
    code="TRT7002",
    severity="high",
    explains=("felix-not-ready", "not-ready", "crash-loop", "restarts", "log-errors"),
    signs=(REVISION, INCOMPATIBLE, LISTED, UNPARSED, SETS_PANIC, NO_SESSION, BAD_ARGUMENT),
    look=Seen,
    rules=(no_session, panic_only, works_now, newer_revision),
    fix=fix,
)
