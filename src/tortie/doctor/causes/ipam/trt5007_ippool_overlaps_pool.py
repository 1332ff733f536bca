"""TRT5007: a new pool overlaps another pool and is rejected."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tortie.doctor.causes.cause import STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.culprits import culprits, named
from tortie.doctor.causes.ipam.further_pool import like_the_first
from tortie.doctor.causes.steps import Step
from tortie.doctor.causes.ways import set_agent_env
from tortie.doctor.picture.facts import Pool
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Sign

OVERLAPS: Final = Sign("ippool-overlaps", "CIDR overlaps with IPPool\\(<pool>\\) CIDR <cidr>")
OVERLAPS_CUT: Final = Sign("ippool-overlaps-cut", "overlaps with IPPool\\(<pool>\\)")
REFUSED: Final = Sign("ippool-overlaps-refused", "IPPool.Spec.CIDR = '<cidr_new>'")
CREATED: Final = Sign("ippool-created", "Successfully (created|applied) <n> 'IPPool' resource")
SETTING: Final = "CALICO_IPV4POOL_CIDR"  # from which start-up makes the first pool


class Seen:
    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.hits = picture.hits(OVERLAPS) or picture.hits(OVERLAPS_CUT)
        self.refused = picture.hits(REFUSED)
        self.pools = list({pool.cidr: pool for pool in picture.of(Pool)}.values())


def created_since(seen: Seen) -> Finding | None:
    """Refused at first; with another range it was taken."""
    last = seen.hits[-1].place if seen.hits else None
    after = [hit for hit in seen.picture.hits(CREATED) if last and hit.place.source == last.source]
    after = [hit for hit in after if last and hit.place.first > last.first]
    return ruled_out(after[:1]) if after else None


def rejected(seen: Seen) -> Finding | None:
    if not seen.hits:
        return None
    new = seen.refused[-1].value("cidr_new") if seen.refused else seen.picture.value(SETTING)
    pool, cidr = seen.hits[-1].value("pool"), seen.hits[-1].value("cidr")
    blamed = culprits(named("cidr", new, cidr), named("pool", pool))
    by = "start-up" if "default IPv4" in seen.hits[-1].line or seen.picture.value(SETTING) == new else ""
    return found(STRONG, blamed, (*seen.hits[:2], *seen.refused[:1]), new=new, cidr=cidr, pool=pool, by=by)


def disjoint(seen: Seen) -> Finding | None:
    return ruled_out(seen.pools[:3]) if len(seen.pools) > 1 and not _overlapping(seen.pools) else None


def _overlapping(pools: list[Pool]) -> bool:
    import ipaddress  # only when two pools are shown

    networks = []
    for pool in pools:
        try:
            networks.append(ipaddress.ip_network(pool.cidr, strict=False))
        except ValueError:
            continue
    same = [(a, b) for i, a in enumerate(networks) for b in networks[i + 1 :] if a.version == b.version]
    return any(a.overlaps(b) for a, b in same)


def fix(picture: Picture, finding: Finding) -> Iterator[Do | Step]:
    yield do("pools")
    if finding.value("by") == "start-up":
        yield do("start-up")
        yield from set_agent_env(picture, SETTING, finding.value("cidr"))
    else:
        yield do("another-range", **like_the_first(picture))


CAUSE = Cause(
    module=__name__,
    id="ippool-overlaps-pool",
    code="TRT5007",
    severity="low",
    explains=("crash-loop", "start-terminated", "operator-degraded", "sandbox-failed", "no-address", "log-errors"),
    signs=(OVERLAPS, OVERLAPS_CUT, REFUSED, CREATED),
    look=Seen,
    rules=(created_since, rejected, disjoint),
    fix=fix,
)
