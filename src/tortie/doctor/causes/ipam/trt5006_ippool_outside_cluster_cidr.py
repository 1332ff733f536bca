"""TRT5006: the operator refuses a pool outside of the platform's pod network and stops reconciling."""

from __future__ import annotations

from typing import Final

from tortie.doctor.causes.cause import STRONG, Cause, Finding, found, ruled_out
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.release.operator_evidence import well_now
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Sign

OUTSIDE: Final = Sign(
    "ippool-outside-platform",
    "IPPool <pool> is not within the platform's configured pod network CIDR(\\(s\\))? [<list_cidrs>]",
)
# YAML doubles the quote of `platform's`, and folds the message anywhere.
OUTSIDE_YAML: Final = Sign("ippool-outside-platform-yaml", "IPPool <cidr_pool> is not within the platform")
RANGES: Final = Sign("ippool-outside-ranges", "configured pod network CIDR(\\(s\\))? [<list_cidrs>]")
OUTSIDE_CUT: Final = Sign("ippool-outside-platform-cut", "is not within the platform's configured pod network")
UNRESOLVED: Final = Sign(
    "ippool-outside-unresolved", "Could not resolve CalicoNetwork IPPool and kubeadm configuration"
)
# Where both ranges are set, and where the operator complains.
SETTINGS: Final = (
    Culprit("resource", "Installation"), Culprit("setting", "podSubnet"), Culprit("resource", "tigerastatus"),
)  # fmt: skip


class Seen:
    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.outside = picture.hits(OUTSIDE) or picture.hits(OUTSIDE_YAML)
        self.cut = picture.hits(OUTSIDE_CUT, UNRESOLVED)
        self.unresolved = picture.hits(UNRESOLVED)

    @property
    def platform(self) -> list[str]:
        """The platform's ranges: in the refusal itself, or where YAML has put the rest of it."""
        listed = (hit.value("list_cidrs") for hit in (self.outside[-1], *reversed(self.picture.hits(RANGES))))
        return next((text for text in listed if text), "").replace(",", " ").split()


def not_degraded(seen: Seen) -> Finding | None:
    well = well_now(seen.picture, "calico", "ippools") if seen.outside or seen.cut else []
    return ruled_out(well[:1]) if well else None


def outside(seen: Seen) -> Finding | None:
    if not seen.outside:
        return None
    pool = seen.outside[-1].value("pool") or seen.outside[-1].value("cidr_pool")
    blamed = culprits(named("cidr", pool, *seen.platform), SETTINGS)
    evidence = (*seen.outside[:2], *seen.unresolved[:1])
    return found(STRONG, blamed, evidence, pool=pool, platform=seen.platform)


def unresolved(seen: Seen) -> Finding | None:
    if not seen.cut:
        return None
    subnet = seen.picture.value("podSubnet")
    blamed = culprits(named("cidr", seen.picture.value("cidr"), subnet), SETTINGS)
    return found(STRONG, blamed, (*seen.cut[:2], *seen.unresolved[:1]), platform=[subnet] if subnet else "")


CAUSE = Cause(
    module=__name__,
    id="ippool-outside-cluster-cidr",
    code="TRT5006",
    severity="medium",
    explains=("operator-degraded", "status-stale", "log-errors"),
    signs=(OUTSIDE, OUTSIDE_YAML, RANGES, OUTSIDE_CUT, UNRESOLVED),
    look=Seen,
    rules=(not_degraded, outside, unresolved),
)
