"""TRT7012: Felix is told not to encapsulate while the pool wants it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Final

from tortie.doctor.causes import ways
from tortie.doctor.causes.cause import HINT, LIKELY, POSSIBLE, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.steps import Step
from tortie.doctor.causes.underlay.traffic_evidence import pools_with, rows, unquoted
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Sign
from tortie.model.tuples import NamedTuple

LOG_VXLAN = Sign("encap-log-vxlan", "VXLANEnabled:false")
LOG_VXLAN_VALUE = Sign("encap-value-vxlan", "value for VXLANEnabled: false")
LOG_IPIP = Sign("encap-log-ipip", "IpInIpEnabled:false")
LOG_IPIP_VALUE = Sign("encap-value-ipip", "value for IpInIpEnabled: false")
NO_DEVICE = Sign("encap-no-device", 'Device "<device>" does not exist')


class Kind(NamedTuple):
    """One encapsulation, and its names."""

    name: str
    field: str
    env: str
    device: str
    mode: str  # of pools
    logs: tuple[Sign, ...]


KINDS: Final = (
    Kind("vxlan", "vxlanEnabled", "FELIX_VXLANENABLED", "vxlan.calico", "vxlanMode", (LOG_VXLAN, LOG_VXLAN_VALUE)),
    Kind("ipip", "ipipEnabled", "FELIX_IPINIPENABLED", "tunl0", "ipipMode", (LOG_IPIP, LOG_IPIP_VALUE)),
)


class Switched:
    """An encapsulation that is switched off somewhere, who wants it, and whether its device is there."""

    def __init__(self, picture: Picture, kind: Kind) -> None:
        self.kind = kind
        told = [s for name in (kind.field, kind.env) for s in picture.settings(name) if unquoted(s.value) == "false"]
        self.by_hand: list[object] = [
            *told,
            *rows(picture, rf"\b{kind.field}\W{{1,3}}\s*false\b", needle=kind.field),
        ]
        self.off: list[object] = [*self.by_hand, *picture.hits(*kind.logs)]
        self.absent = [hit for hit in picture.hits(NO_DEVICE) if hit.value("device") == kind.device]
        self.link = next((link for link in picture.interfaces() if link.name == kind.device), None)
        self.modes, self.pools = picture.settings(kind.mode), picture.pools_now()
        wanting = [setting for setting in self.modes if unquoted(setting.value) in ("always", "crosssubnet")]
        self.wanted: list[object] = [*pools_with(picture, kind.name), *wanting]

    @property
    def device_there(self) -> bool:
        return self.link is not None and self.link.state.upper() != "DOWN" and not self.absent

    @property
    def unwanted(self) -> bool:
        return not self.wanted and bool(self.never)

    @cached_property
    def never(self) -> list[object]:
        """Pools that say that they do without it."""
        pools = [p for p in self.pools if (p.ipip if self.kind.name == "ipip" else p.vxlan).lower() == "never"]
        return [*(setting for setting in self.modes if unquoted(setting.value) == "never"), *pools]

    @property
    def strength(self) -> float:
        if self.by_hand:
            return (PROVEN if self.absent else STRONG) if self.wanted else LIKELY if self.absent else POSSIBLE
        return (STRONG if self.absent else LIKELY) if self.wanted else POSSIBLE if self.absent else HINT


class Seen:
    def __init__(self, picture: Picture) -> None:
        self.switched = [one for kind in KINDS if (one := Switched(picture, kind)).off]


def switched_off(seen: Seen) -> Finding | None:
    missing = [one for one in seen.switched if not one.device_there and not one.unwanted]
    if not missing:
        return None
    one = max(missing, key=lambda item: item.strength)
    kind, pool = one.kind, getattr(one.wanted[0], "name", "") if one.wanted else ""
    who = culprits(
        Culprit("setting", kind.field),
        Culprit("resource", "FelixConfiguration"),
        Culprit("interface", kind.device),
        named("pool", pool),
    )
    evidence = (*one.off[:2], *one.wanted[:1], *one.absent[:1])
    return found(
        one.strength, who, evidence, say="switched-off" if one.wanted else "device-absent",
        field=kind.field, env=kind.env, device=kind.device, encapsulation=kind.name,
    )  # fmt: skip


def device_exists(seen: Seen) -> Finding | None:
    there = next((one for one in seen.switched if one.device_there), None)
    return ruled_out((there.link,), device=there.kind.device) if there else None


def not_wanted(seen: Seen) -> Finding | None:
    free = next((one for one in seen.switched if one.unwanted), None)
    return ruled_out(free.never[:1], encapsulation=free.kind.name) if free else None


def fix(picture: Picture, finding: Finding) -> Iterator[Do | Step]:
    in_env = picture.settings(finding.value("env"))
    if in_env:
        yield do("env")
    if not in_env or picture.settings(finding.value("field")):
        yield do("field")
        yield from ways.restart_agent(picture)


CAUSE = Cause(
    module=__name__,
    id="felix-encap-disabled",
    code="TRT7012",
    severity="medium",
    explains=("traffic-dead", "service-dead"),
    signs=(LOG_VXLAN, LOG_VXLAN_VALUE, LOG_IPIP, LOG_IPIP_VALUE, NO_DEVICE),
    look=Seen,
    rules=(switched_off, device_exists, not_wanted),
    fix=fix,
)
