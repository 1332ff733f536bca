"""What the running kernel can do and how it is set: features, release, sysctls.

A feature is tried (`tortie.host.trial`) where trying it leaves no trace on the host; otherwise, and where it cannot be
tried, the kernel's own files are believed.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Final, NamedTuple

from tortie.host.trial import try_features


class Feature(NamedTuple):
    name: str
    module: str
    option: str  # of the kernel's build
    # Loading the module puts an interface (tunl0, dummy0) into the host's own namespace, so it is only tried where
    # the module is there already.
    leaves_interface: bool = False


FEATURES: Final = (
    Feature("veth", "veth", "CONFIG_VETH"),
    Feature("vxlan", "vxlan", "CONFIG_VXLAN"),
    Feature("nf_tables", "nf_tables", "CONFIG_NF_TABLES"),
    Feature("ipip", "ipip", "CONFIG_NET_IPIP", leaves_interface=True),
    Feature("wireguard", "wireguard", "CONFIG_WIREGUARD"),
    Feature("bridge", "bridge", "CONFIG_BRIDGE"),
    Feature("dummy", "dummy", "CONFIG_DUMMY", leaves_interface=True),
    Feature("tun", "tun", "CONFIG_TUN"),
    Feature("ip_set", "ip_set", "CONFIG_IP_SET"),
    Feature("xt_set", "xt_set", "CONFIG_NETFILTER_XT_SET"),
)

# How a kernel has a feature, as its files tell it.
BUILT_IN, LOADED, LOADABLE, ABSENT, UNKNOWN = "built in", "loaded", "loadable", "absent", "unknown"


class Finding(NamedTuple):
    feature: Feature
    present: bool | None  # None: neither tried nor known
    how: str  # how that was found out, or why it was not


class Sysctl(NamedTuple):
    name: str
    value: str
    writable: bool | None  # by us; None when we are not root, and so cannot tell


class KernelFiles:
    """What the kernel's build and its module folder say, each file read at most once."""

    def __init__(self, release: str, root: str = "/") -> None:
        self._root = root
        folder = f"lib/modules/{release}"
        self._config = self._read_config("proc/config.gz", f"boot/config-{release}", f"{folder}/config")
        self._built_in = _modules(self._read(f"{folder}/modules.builtin"))
        self._loadable = _modules(self._read(f"{folder}/modules.dep"))

    def has(self, module: str, option: str) -> str:
        if os.path.isdir(os.path.join(self._root, "sys/module", module)):
            return LOADED  # some built-in ones are listed there, too; both can be used at once
        if module in self._built_in or f"{option}=y" in self._config:
            return BUILT_IN
        if module in self._loadable:
            return LOADABLE
        if f"# {option} is not set" in self._config:
            return ABSENT
        if f"{option}=m" in self._config:
            # Inside a container the folder is often not mounted; the kernel loads modules from the host's.
            return ABSENT if self._loadable else LOADABLE
        return ABSENT if self._loadable and self._built_in else UNKNOWN

    def _read(self, name: str) -> str:
        try:
            with open(os.path.join(self._root, name), encoding="utf-8", errors="replace") as file:
                return file.read()
        except OSError:
            return ""

    def _read_config(self, packed: str, *plain: str) -> frozenset[str]:
        import gzip

        try:
            with gzip.open(os.path.join(self._root, packed), "rt", encoding="utf-8", errors="replace") as file:
                text = file.read()
        except (OSError, EOFError):
            text = ""
        return frozenset((text or next((text for name in plain if (text := self._read(name))), "")).splitlines())


def _modules(listing: str) -> frozenset[str]:
    """`kernel/drivers/net/vxlan/vxlan.ko.xz: ...` to `vxlan`; a file may spell with dashes what the kernel does not."""
    paths = (line.partition(":")[0] for line in listing.splitlines())
    return frozenset(os.path.basename(path).partition(".ko")[0].replace("-", "_") for path in paths)


def release() -> str:
    return os.uname().release


def find_features(features: Sequence[Feature] = FEATURES, files: KernelFiles | None = None) -> tuple[Finding, ...]:
    files = files or KernelFiles(release())
    known = {feature.name: files.has(feature.module, feature.option) for feature in features}
    harmless = [
        feature.name
        for feature in features
        if not feature.leaves_interface or known[feature.name] in (LOADED, BUILT_IN)
    ]
    tried = try_features(harmless) if harmless else {}
    findings = []
    for feature in features:
        trial = tried.get(feature.name)
        if trial is None or trial.works is None:
            findings.append(_believed(feature, known[feature.name], trial.why if trial else ""))
        elif trial.works:
            findings.append(Finding(feature, True, "tried in a network namespace of its own"))
        else:
            findings.append(Finding(feature, False, f"tried, and the kernel says: {trial.why}"))
    return tuple(findings)


def _believed(feature: Feature, knowledge: str, why_not_tried: str) -> Finding:
    if knowledge in (BUILT_IN, LOADED):
        return Finding(feature, True, f"{knowledge}, not tried: {why_not_tried}")
    if knowledge == LOADABLE:
        why = why_not_tried or "loading it would add an interface to the host"
        return Finding(feature, True, f"a module that can be loaded, not tried: {why}")
    if knowledge == ABSENT:
        return Finding(feature, False, "neither built in nor a module of this kernel")
    return Finding(feature, None, why_not_tried or "loading it would add an interface to the host, and no file tells")


def read_sysctl(name: str, root: str = "/proc/sys") -> Sysctl | None:
    """None when this kernel, or this namespace, has no such setting. Dots in interface names are not meant here."""
    path = os.path.join(root, *name.split("."))
    try:
        with open(path, encoding="utf-8") as file:
            value = file.read().strip()
    except OSError:
        return None
    # Root is told no only where /proc/sys is mounted read-only, as in most containers.
    return Sysctl(name, value, os.access(path, os.W_OK) if os.geteuid() == 0 else None)


def has_ipv6(root: str = "/proc/sys") -> bool:
    """Whether the kernel has IPv6 at all; interfaces may still have it switched off."""
    return os.path.isdir(os.path.join(root, "net", "ipv6"))


def rp_filters(root: str = "/proc/sys") -> dict[str, str]:
    """The reverse path filter of `all`, `default` and each interface."""
    folder = os.path.join(root, "net/ipv4/conf")
    found = {}
    try:
        names = os.listdir(folder)
    except OSError:
        return {}
    for name in sorted(names, key=lambda name: (name not in ("all", "default"), name)):
        try:
            with open(os.path.join(folder, name, "rp_filter"), encoding="utf-8") as file:
                found[name] = file.read().strip()
        except OSError:
            continue  # the interface went away meanwhile
    return found


def neighbours_known() -> int:
    """How many IPv4 neighbours this namespace has learned."""
    try:
        with open("/proc/thread-self/net/arp", encoding="utf-8") as file:
            return max(0, len(file.read().splitlines()) - 1)
    except OSError:
        return 0
