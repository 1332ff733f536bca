"""TRT7005: the kernel's reverse-path filter is loose, and this Felix refuses to run with it."""

from __future__ import annotations

from collections.abc import Iterator

from tortie.doctor.causes import ways
from tortie.doctor.causes.cause import PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.kernel.whose_node import node_of, said_on
from tortie.doctor.causes.recovery import recovered
from tortie.doctor.causes.steps import Step
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Sign

LOOSE = Sign("rpf-loose-fatal", "Kernel's RPF check is set to 'loose'")
REQUIRED = Sign("rpf-loose-required", "Calico requires net.ipv4.conf.all.rp_filter to be set to 0 or 1")
KEY = "net.ipv4.conf.all.rp_filter"
CHECK_GONE = (3, 12)  # the check no longer exists from here on


class Seen:
    """Felix's own words, and the value of the sysctl: of several machines that of the one that has the wrong one."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.hits, self.version = picture.hits(LOOSE, REQUIRED), picture.version("calico")
        loose = [setting for setting in picture.settings(KEY) if setting.value == "2"]
        self.setting = loose[-1] if self.hits and loose else picture.setting(KEY)


def runs_now(seen: Seen) -> Finding | None:
    """Felix ends itself at this check: an agent that is ready has passed it."""
    loose = seen.setting and seen.setting.value == "2"
    well = recovered(seen.picture, seen.hits) if seen.hits and not loose else []
    return ruled_out(well[:1]) if well else None


def refused(seen: Seen) -> Finding | None:
    if not seen.hits:
        return None
    setting = seen.setting if seen.setting and seen.setting.value == "2" else None
    file = setting.owner if setting and setting.scope == "sysctl-file" else ""
    hosts = [said_on(seen.picture, hit).strip("?") for hit in seen.hits[:1]]
    node = node_of(seen.picture, *hosts, setting.host if setting else "")
    who = culprits(Culprit("setting", KEY), named("node", node), named("file", file))
    strength = PROVEN if setting else STRONG
    return found(strength, who, (seen.setting, *seen.hits[:2]), setting=KEY, node=node, file=file)


def release_without_check(seen: Seen) -> Finding | None:
    return ruled_out() if seen.version and seen.version >= CHECK_GONE else None


def accepted(seen: Seen) -> Finding | None:
    if seen.setting and seen.setting.value in ("0", "1"):
        return ruled_out((seen.setting,), setting=KEY, value=seen.setting.value)
    return None


def fix(picture: Picture, finding: Finding) -> Iterator[Do | Step]:
    yield do("now")
    yield do("keep")
    if finding.value("file").startswith("/etc/"):  # others belong to packages, and ours goes before them
        yield do("file")
    node = finding.value("node")
    yield from ways.restart_agent(picture, node) if node else [do("restart")]


CAUSE = Cause(
    module=__name__,
    id="rpf-loose",
    code="TRT7005",
    severity="high",
    explains=("crash-loop", "not-ready"),
    signs=(LOOSE, REQUIRED),
    look=Seen,
    rules=(runs_now, refused, release_without_check, accepted),
    fix=fix,
)
