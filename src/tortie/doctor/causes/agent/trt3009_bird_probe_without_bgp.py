"""TRT3009: the backend runs no BGP daemon, and the probes still ask BIRD."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import Final

from tortie.doctor.causes.agent.start_evidence import (
    START_SIGNS,
    as_culprits,
    hosts_of,
    kills,
    settled,
    sick_names,
)
from tortie.doctor.causes.cause import POSSIBLE, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.steps import Step
from tortie.doctor.causes.surroundings import has_operator
from tortie.doctor.causes.ways import set_config_map
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Probe, Setting
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Hit, Sign

NO_DAEMON: Final = Sign("bird-probe-no-daemon", "CALICO_NETWORKING_BACKEND is <backend> - no need to run a BGP daemon")
# As a person tells it, in the middle of a sentence.
TOLD: Final = Sign(
    "bird-probe-told",
    'calico_backend(")?( )?(:|=|is|to|set to|changed to|from bird to|改成|改为|设为|设置为|改成了)( )?(")?(vxlan|none)',
)
NO_SOCKET: Final = Sign(
    "bird-probe-no-socket", "dial unix /var/run/<folder>/<socket>: connect: no such file or directory"
)
NOT_LIVE: Final = Sign("bird-probe-not-live", "bird/confd is not live")
FLAG: Final = Sign("bird-probe-flag", "-bird-live")
READY_FLAG: Final = Sign("bird-probe-ready-flag", "-bird-ready")
FLAGS: Final = ("-bird-live", "-bird-ready")
_BACK: Final = lazily(r"(?:\bback\b|\bnow\b|\bagain\b|改回|换回|恢复)[^.。]{0,20}bird", re.IGNORECASE)
WITHOUT_BGP: Final = ("vxlan", "none")


class Seen:
    """The backend, the probes that ask BIRD, and those that fail for it."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        said = picture.hits(NO_DAEMON)
        self.said = [hit for hit in said if hit.value("backend").strip("'\"") in WITHOUT_BGP]
        self.setting = _backend(picture)
        self.told = [] if self.setting or self.said else _told(picture)
        self.asking = _asking(picture)
        self.failing = [hit for hit in picture.hits(NO_SOCKET, NOT_LIVE) if "bird" in hit.text.lower()]

    @property
    def backend(self) -> str:
        if self.said:
            return self.said[0].value("backend")
        if self.told:
            return next(way for way in WITHOUT_BGP if way in self.told[-1].text.lower())
        return self.setting.value.strip("'\"") if self.setting else ""

    @property
    def flags(self) -> list[str]:
        return [flag for flag in FLAGS if any(flag in _flags(item) for item in self.asking)]

    @cached_property
    def culprits(self) -> tuple[Culprit, ...]:
        hits = [*self.failing[:2], *self.said[:1]]
        return culprits(
            named("setting", *(self.flags or FLAGS), "livenessProbe", "readinessProbe", "calico_backend", self.backend),
            Culprit("setting", "CALICO_NETWORKING_BACKEND"),
            as_culprits([*hosts_of(self.picture, *hits), *sick_names(self.picture)]),
            Culprit("container", "calico-node"),
        )

    @property
    def evidence(self) -> tuple[object, ...]:
        probes = (*self.asking[:2], *self.failing[:2])
        return (self.setting, *self.said[:1], *self.told[-1:], *probes, *kills(self.picture)[:1])


def backend_bird(seen: Seen) -> Finding | None:
    runs_bird = seen.backend and seen.backend not in WITHOUT_BGP
    return ruled_out((seen.setting,), backend=seen.backend) if runs_bird else None


def agents_ready(seen: Seen) -> Finding | None:
    pods = settled(seen.picture)
    return ruled_out(pods[:2]) if pods else None


def bird_not_asked(seen: Seen) -> Finding | None:
    probes = [probe for kind in ("liveness", "readiness") if (probe := seen.picture.probe(kind))]
    right = seen.backend and not seen.asking and not seen.failing
    return ruled_out(probes) if right and probes else None


def bird_asked(seen: Seen) -> Finding | None:
    if not seen.backend or not (seen.asking or seen.failing):
        return None
    strength = PROVEN if seen.failing and not seen.told else STRONG
    asked = " ".join(seen.flags) or "BIRD"
    return found(strength, seen.culprits, seen.evidence, backend=seen.backend, asked=asked)


def vxlan_only(seen: Seen) -> Finding | None:
    pools = seen.picture.settings("CALICO_IPV4POOL_VXLAN")
    vxlan = [pool for pool in pools if pool.value in ("Always", "CrossSubnet")]
    no_ipip = any(setting.value == "Never" for setting in seen.picture.settings("CALICO_IPV4POOL_IPIP"))
    if seen.failing and vxlan and no_ipip:
        return found(POSSIBLE, seen.culprits, (*vxlan[:1], *seen.evidence))
    return None


def _backend(picture: Picture) -> Setting | None:
    """The last backend that is a value; describe shows only a reference to the ConfigMap."""
    names = ("calico_network_backend", "calico_backend", "CALICO_NETWORKING_BACKEND")  # the first one is kubespray's
    named = [setting for name in names for setting in picture.settings(name)]
    return next((setting for setting in reversed(named) if setting.value.strip("'\"") in ("bird", *WITHOUT_BGP)), None)


def _told(picture: Picture) -> list[Hit]:
    """What a person says it is set to, unless it was set back."""
    return [hit for hit in picture.hits(TOLD) if hit.prose and not _BACK.search(hit.line)]


def _asking(picture: Picture) -> list[Probe | Hit]:
    """Probes whose command asks BIRD: as definitions, or their flags in a part of a manifest."""
    probes = [probe for probe in picture.of(Probe) if "-bird-" in probe.action]
    flags = [hit for hit in picture.hits(FLAG, READY_FLAG) if not hit.prose and "time " not in hit.command]
    return [*probes, *flags]


def _flags(item: Probe | Hit) -> str:
    return item.action if isinstance(item, Probe) else item.text


def fix(picture: Picture, finding: Finding) -> Iterator[Do | Step]:
    del finding
    if has_operator(picture):
        yield do("operator")
        return
    liveness = picture.probe("liveness")
    # Before v3.9 liveness asked Felix by HTTP, never BIRD, and calico-node had no flag for it.
    yield do("felix-ready-only" if liveness and liveness.action.startswith("http") else "felix-only")
    yield do("instead")
    yield from set_config_map(picture, "calico_backend", "bird")


CAUSE = Cause(
    module=__name__,
    id="bird-probe-without-bgp",
    code="TRT3009",
    severity="medium",
    explains=("killed-by-liveness", "not-ready", "bird-not-ready", "crash-loop", "restarts"),
    signs=(NO_DAEMON, TOLD, NO_SOCKET, NOT_LIVE, FLAG, READY_FLAG, *START_SIGNS),
    look=Seen,
    rules=(backend_bird, agents_ready, bird_not_asked, bird_asked, vxlan_only),
    fix=fix,
)
