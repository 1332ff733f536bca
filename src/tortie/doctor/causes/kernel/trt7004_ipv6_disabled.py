"""TRT7004: Felix programs IPv6 on a host whose kernel has none."""

from __future__ import annotations

from collections.abc import Iterator

from tortie.doctor.causes import ways
from tortie.doctor.causes.cause import LIKELY, POSSIBLE, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.kernel.trt7001_kernel_module_missing import NO_TABLE as TABLE_4
from tortie.doctor.causes.kernel.trt7001_kernel_module_missing import NO_TABLE_RESTORED as INIT_4
from tortie.doctor.causes.kernel.whose_node import node_of, said_on
from tortie.doctor.causes.recovery import recovered
from tortie.doctor.causes.steps import Step
from tortie.doctor.causes.underlay.traffic_evidence import unquoted
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Hit, Sign

SAVE_6 = Sign("ipv6-save-failed", "ip6tables(-legacy|-nft)?-save command failed")
RESTORE_6 = Sign("ipv6-restore-failed", "ip6tables(-legacy|-nft)?-restore… failed")
TABLE_6 = Sign("ipv6-no-table", "can't initialize ip6tables table '<table>'")
INIT_6 = Sign("ipv6-no-restore-table", "ip6tables-restore: unable to initialize table '<table>'")
SAVE_4 = Sign("ipv4-save-failed", "iptables(-legacy|-nft)?-save command failed… ipVersion=0x4")
FAMILY = Sign("ipv6-family", "Address family not supported by protocol")
BOOT = Sign("ipv6-boot-disabled", "ipv6.disable=1")
SUPPORT = "FELIX_IPV6SUPPORT"


class Seen:
    """Calls of ip6tables that fail, whether IPv4's fail alike, and what switched IPv6 off."""

    def __init__(self, picture: Picture) -> None:
        self.failing, self.boot = picture.hits(SAVE_6, RESTORE_6, TABLE_6, INIT_6), picture.hit(BOOT)
        self.support = picture.setting(SUPPORT)
        refused = [hit for hit in picture.hits(FAMILY) if _of_netfilter(hit)]
        self.family = next(iter(refused), None)
        # Felix's own line about its IPv6 tables, with what the tool answered
        self.failing += [hit for hit in refused if "ipVersion=0x6" in hit.line]
        self.old = picture.hit(SAVE_4, TABLE_4, INIT_4)
        hosts = [said_on(picture, hit).strip("?") for hit in (*self.failing[:1], self.boot) if hit]
        self.node = node_of(picture, *hosts) if self.failing else ""

        self.well = recovered(picture, self.failing) if self.failing or self.family else []

    @property
    def culprits(self) -> tuple[Culprit, ...]:
        return culprits(
            Culprit("setting", SUPPORT),
            named("setting", "ipv6.disable=1" if self.boot else ""),
            Culprit("module", "ip6_tables"),
            Culprit("program", "ip6tables"),
            named("node", self.node),
        )


def not_supported(seen: Seen) -> Finding | None:
    off = seen.support and unquoted(seen.support.value) == "false"
    return ruled_out((seen.support,), setting=SUPPORT) if off else None


def works_now(seen: Seen) -> Finding | None:
    """Felix ends after some attempts; an agent that is ready has its tables."""
    return ruled_out(seen.well[:1]) if seen.well else None


def ipv4_too(seen: Seen) -> Finding | None:
    return ruled_out((seen.old, seen.failing[0])) if seen.failing and seen.old else None


def only_ipv6_fails(seen: Seen) -> Finding | None:
    if not seen.failing:
        return None
    proof = seen.boot or seen.family or seen.support
    evidence = (seen.boot, seen.support, *seen.failing[:2], seen.family)
    return found(PROVEN if proof else STRONG, seen.culprits, evidence, node=seen.node)


def off_at_boot(seen: Seen) -> Finding | None:
    return found(LIKELY, seen.culprits, (seen.boot, seen.family)) if seen.boot and seen.family else None


def family_missing(seen: Seen) -> Finding | None:
    return found(POSSIBLE, seen.culprits, (seen.family,)) if seen.family else None


def _of_netfilter(hit: Hit) -> bool:
    """Any program that opens a socket of IPv6 says so, too: a web server that listens on [::], for one."""
    return any(word in f"{hit.line} {hit.command}".lower() for word in ("ip6tables", "felix", "calico", "ipversion"))


def fix(picture: Picture, _finding: Finding) -> Iterator[Do | Step]:
    yield from ways.set_agent_env(picture, SUPPORT, "false")
    yield do("kernel-line" if picture.hit(BOOT) else "modules")


CAUSE = Cause(
    module=__name__,
    id="ipv6-disabled",
    code="TRT7004",
    severity="medium",
    explains=("crash-loop", "restarts", "felix-not-ready", "not-ready", "log-errors"),
    signs=(SAVE_6, RESTORE_6, TABLE_6, INIT_6, SAVE_4, TABLE_4, INIT_4, FAMILY, BOOT),
    look=Seen,
    rules=(not_supported, works_now, ipv4_too, only_ipv6_fails, off_at_boot, family_missing),
    fix=fix,
)
