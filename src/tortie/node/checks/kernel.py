"""Judgement on the kernel: its version, its features, its network settings."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from tortie.node.checks import Check, Result

if TYPE_CHECKING:
    from tortie.host.kernel import Finding, Sysctl

KERNEL: Final = "kernel"
SETTINGS: Final = "kernel settings"
OLDEST: Final = (3, 10)
NEIGHBOURS_USUAL: Final = 1024  # the kernel's default of gc_thresh3
SETTINGS_FILE: Final = "/etc/sysctl.d/99-tortie.conf"  # read after the distribution's own files
_NAMES_SHOWN: Final = 4


class Need(NamedTuple):
    missing: Result
    purpose: str


NEEDS: Final = {
    "veth": Need("FAIL", "every pod is connected by one"),
    "vxlan": Need("FAIL", "pools with vxlanMode need it"),
    "nf_tables": Need("FAIL", "all rules are written there"),
    "ipip": Need("WARN", "only pools with ipipMode need it; vxlanMode is the other way"),
    "wireguard": Need("WARN", "only encryption between nodes (wireguardEnabled) needs it"),
    "bridge": Need("OK", "no part of Calico needs it; Docker does"),
    "dummy": Need("OK", "no part of Calico needs it; kube-proxy in IPVS mode does"),
    "tun": Need("OK", "no part of Calico needs it; VPNs do"),
    "ip_set": Need("OK", "only Calico's own Felix in iptables mode needs it"),
    "xt_set": Need("OK", "only Calico's own Felix in iptables mode needs it"),
}


def version(release: str) -> Check:
    numbers = re.match(r"(\d+)\.(\d+)", release)
    if not numbers:
        return Check("version", KERNEL, "SKIP", f"{release}: not a version as Linux writes it")
    if (int(numbers[1]), int(numbers[2])) >= OLDEST:
        return Check("version", KERNEL, "OK", release)
    wanted = ".".join(map(str, OLDEST))
    seen = f"{release}; namespaces and VXLAN as a node uses them need {wanted} (Calico itself asks for 2.6.24)"
    return Check("version", KERNEL, "FAIL", seen, f"install a kernel of at least {wanted} and boot it")


def feature(finding: Finding) -> Check:
    name, module, option, _ = finding.feature
    need = NEEDS[name]
    if finding.present:
        return Check(name, KERNEL, "OK", finding.how)
    if finding.present is None:
        fix = f"run this as root, or ask yourself: modprobe --dry-run {module}"
        return Check(name, KERNEL, "SKIP", f"not checked: {finding.how}", fix)
    seen = f"missing ({finding.how}); {need.purpose}"
    if need.missing == "OK":
        return Check(name, KERNEL, "OK", seen)
    fix = (
        f"modprobe {module}, and write {module} into /etc/modules-load.d/tortie.conf; if there is no such module, "
        f"install the distribution's extra modules (linux-modules-extra) or a kernel with {option}"
    )
    return Check(name, KERNEL, need.missing, seen, fix)


def forwarding(sysctl: Sysctl | None, name: str) -> Check:
    """Felix sets it at its start, so off is a warning; where nobody may write it, nothing will ever turn it on."""
    label = name.rpartition(".")[2] if "ipv4" in name else "ipv6 forwarding"
    if sysctl is None:
        return Check(label, SETTINGS, "SKIP", f"{name} is not visible here")
    if sysctl.value != "0":
        return Check(label, SETTINGS, "OK", f"{name} = {sysctl.value}")
    persist = f"sysctl -w {name}=1, and keep it: echo '{name} = 1' >> {SETTINGS_FILE}"
    if sysctl.writable is False:
        seen = f"{name} = 0 and /proc/sys is read-only: pods reach nothing, and a node cannot change it from here"
        return Check(label, SETTINGS, "FAIL", seen, f"on the host itself: {persist}; or run the node privileged")
    seen = f"{name} = 0: pods reach nothing until it is 1; Felix sets it at its start, a later sysctl run may undo that"
    return Check(label, SETTINGS, "WARN", seen, persist)


def ipv6(available: bool) -> Check:
    """Only asked when the settings want IPv6."""
    if available:
        return Check("ipv6", SETTINGS, "OK", "the kernel has it")
    fix = "remove ipv6.disable=1 from the kernel's command line and boot, or set IP6=none and FELIX_IPV6SUPPORT=false"
    return Check("ipv6", SETTINGS, "FAIL", "IP6 asks for IPv6, but the kernel runs without it", fix)


def rp_filter(values: Mapping[str, str]) -> Check:
    """0 and 1 are fine: Calico has its own check for pods. 2 was fatal to Felix up to v3.11, and still is inherited."""
    if not values:
        return Check("rp_filter", SETTINGS, "SKIP", "net.ipv4.conf is not visible here")
    loose = [name for name, value in values.items() if value == "2"]
    if not loose:
        modes = {"0": "off (0)", "1": "strict (1)"}
        kinds = " and ".join(sorted({modes.get(value, value) for value in values.values()}))
        return Check("rp_filter", SETTINGS, "OK", f"{kinds}; 0 and 1 suit Calico, which checks pods by its own rules")
    shown = ", ".join(loose[:_NAMES_SHOWN]) + (
        f" and {len(loose) - _NAMES_SHOWN} more" if len(loose) > _NAMES_SHOWN else ""
    )
    seen = f"loose (2) for {shown}: Felix up to v3.11 refuses to start with all=2; pods inherit default"
    strict = [f"net.ipv4.conf.{name}.rp_filter" for name in ("all", "default") if name in loose]
    strict = strict or [f"net.ipv4.conf.{loose[0]}.rp_filter"]
    commands = "; ".join(f"sysctl -w {name}=1" for name in strict)
    fix = f"{commands}; keep it in {SETTINGS_FILE}, because systemd's own file says 2; or FELIX_IGNORELOOSERPF=true"
    return Check("rp_filter", SETTINGS, "WARN", seen, fix)


def conntrack(most: Sysctl | None, used: Sysctl | None) -> Check:
    if most is None:
        seen = "nf_conntrack_max is not there: connection tracking is not loaded yet; the first rule loads it"
        return Check("conntrack", SETTINGS, "OK", seen)
    count, limit = int(used.value) if used else 0, int(most.value)
    seen = f"{count} of {limit} connections"
    # A limit of 0 stands for none at all.
    if not limit or count < limit * 0.9:
        return Check("conntrack", SETTINGS, "OK", seen)
    fix = (
        f"sysctl -w net.netfilter.nf_conntrack_max={limit * 2}, keep it in {SETTINGS_FILE}, and find who opens so many"
    )
    return Check("conntrack", SETTINGS, "WARN", f"{seen}: packets of new connections are dropped when it is full", fix)


def neighbours(limit: Sysctl | None, used: int) -> Check:
    if limit is None:
        seen = "gc_thresh3 is only visible in the host's first network namespace"
        return Check("neighbours", SETTINGS, "SKIP", seen)
    most = int(limit.value)
    seen = f"{used} of {most} entries (gc_thresh3)"
    if most >= NEIGHBOURS_USUAL and used < most * 0.8:
        return Check("neighbours", SETTINGS, "OK", seen)
    fix = f"sysctl -w net.ipv4.neigh.default.gc_thresh3={max(8192, most * 2)}, and keep it in {SETTINGS_FILE}"
    why = "the table is shared by all namespaces; when it is full, even the host loses its neighbours"
    return Check("neighbours", SETTINGS, "WARN", f"{seen}: {why}", fix)
