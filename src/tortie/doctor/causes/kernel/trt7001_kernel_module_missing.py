"""TRT7001: the kernel lacks, or cannot load, a piece that Felix needs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import Final

from tortie.doctor.causes import ways
from tortie.doctor.causes.cause import LIKELY, POSSIBLE, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.kernel.absent_modules import NOT_BUILT, PROOFS, UNDETECTED, missing
from tortie.doctor.causes.kernel.bpf_evidence import kernels_shown
from tortie.doctor.causes.kernel.whose_node import node_of, said_on
from tortie.doctor.causes.recovery import recovered
from tortie.doctor.causes.steps import Step
from tortie.doctor.causes.underlay.traffic_evidence import agents_fine, encapsulation, rows, trouble
from tortie.doctor.picture.facts import Node, Route, Setting
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Hit, Sign

# flannel's own word, in canal or by itself.
NO_FLANNEL = Sign("module-no-flannel", "(flannel exited|Error registering network): operation not supported")
NO_SESSION = Sign("module-ipset-session", "ipset v<version>: Cannot open session to kernel")
BAD_ARGUMENT = Sign("module-ipset-invalid", "ipset v<version>: Kernel error received: Invalid argument")
NO_MATCH = Sign("module-no-match", "Couldn't load match '<match>'")
NO_TARGET = Sign("module-no-target", "Couldn't load target '<target>'")
NO_TABLE = Sign("module-no-table", "can't initialize iptables table '<table>': Table does not exist")
NO_TABLE_RESTORED = Sign("module-no-restore-table", "iptables-restore: unable to initialize table '<table>'")
NO_EXTENSION = Sign("module-no-extension", "Extension <extension> (revision 0|is) not supported, missing kernel module")
NO_IPIP = Sign("module-no-ipip", "Failed to add IPIP tunnel device")
NO_VXLAN = Sign("module-no-vxlan", "VXLAN tunnel device…operation not supported")
SETS_PANIC = Sign("ipsets-panic", "Failed to update IP sets after multiple retries")
REVISION = Sign("ipset-revision", "Kernel and userspace incompatible: settype <list_type> with revision <n>")
NOT_MOUNTED = Sign("module-dir-missing", "can't change directory to '/lib/modules'")
NO_TREE = Sign("module-tree-gone", "could not open moddep file '<path>'")
IPVS = Sign("module-ipvs", "IPVS proxier will not be used because … required kernel modules are not loaded: [<list>]")

TUNNELS: Final = {NO_IPIP.key: "tunl0", NO_VXLAN.key: "vxlan.calico", NO_FLANNEL.key: "flannel.1"}
COMPLAINTS = (
    NO_SESSION, BAD_ARGUMENT, NO_MATCH, NO_TARGET, NO_TABLE, NO_TABLE_RESTORED, NO_EXTENSION, NO_IPIP, NO_VXLAN,
    NO_FLANNEL,
)  # fmt: skip
# Who packs modules that are not part of the kernel's own package, by the name of the system or of its kernel.
PACKERS: Final = (
    ("raspi", r"raspi|Raspberry"),
    ("rpm", r"\.el\d|\.fc\d|CentOS|Red Hat|Rocky|AlmaLinux|Oracle Linux|Fedora"),
    ("apt", r"Ubuntu|-generic\b"),
)


class Seen:
    """What Felix and the tools complain about, and the modules that are shown to be absent."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.complaints = [
            hit
            for hit in picture.hits(*COMPLAINTS)
            if not _names_a_chain(hit) and not _of_others(hit) and _of_vxlan(picture, hit)
        ]
        self.panic = picture.hit(SETS_PANIC)
        self.proofs = picture.hits(*PROOFS)
        self.absent, self.shown = missing(picture)

    @property
    def silent(self) -> bool:
        return not self.complaints and not self.absent

    @cached_property
    def modules(self) -> list[str]:
        implied = dict.fromkeys(name for hit in self.complaints for name in _implied(hit))
        return list(self.absent or implied)

    @cached_property
    def loaded(self) -> dict[str, object]:
        """Modules that lsmod lists, or checksystem found, where something complains; another node proves nothing."""
        hosts = {said_on(self.picture, hit) for hit in self.complaints}
        return {
            setting.name.replace("-", "_"): setting
            for setting in self.picture.of(Setting)
            if setting.scope == "module" and setting.value in ("loaded", "OK") and setting.host in hosts
        }

    @cached_property
    def node(self) -> str:
        hosts = (said_on(self.picture, hit).strip("?") for hit in (*self.proofs, *self.complaints))
        return node_of(self.picture, *hosts)

    @property
    def culprits(self) -> tuple[Culprit, ...]:
        options = [f"CONFIG_{hit.value('option')}" for hit in self.picture.hits(NOT_BUILT)]
        kernels = kernels_shown(self.picture, self.node)[:1]
        return culprits(
            named("module", *self.modules),
            named("setting", *options[:3]),
            named("node", self.node),
            named("version", *kernels),
            named("program", *(["kube-proxy"] if self.asker == "kube-proxy" else [])),
        )

    @property
    def asker(self) -> str:
        """Who needs the modules: kube-proxy asks for some of them, too, and its log says so."""
        asked = [hit.command for hit in (*self.proofs, *self.complaints)]
        return "kube-proxy" if asked and all("kube-proxy" in command for command in asked) else "Felix"

    @property
    def strength(self) -> float:
        if self.absent and (self.complaints or self.panic):
            return PROVEN
        if self.complaints:
            return STRONG
        if all(name.startswith("ip_vs") for name in self.absent):
            return POSSIBLE  # kube-proxy's need, not Felix's
        return POSSIBLE if agents_fine(self.picture) or self.unneeded else LIKELY

    @property
    def unneeded(self) -> bool:
        """Nobody asks for a tunnel that no pool wants."""
        wanted = encapsulation(self.picture)
        return bool(wanted) and all(name in ("vxlan", "ipip") and name not in wanted for name in self.absent)


def newer_revision(seen: Seen) -> Finding | None:
    revision = seen.picture.hit(REVISION) if seen.silent else None
    return ruled_out((revision,)) if revision else None


def kube_proxy_needs(seen: Seen) -> Finding | None:
    ipvs = seen.picture.hit(IPVS) if seen.silent else None
    if ipvs is None:
        return None
    modules = ipvs.value("list").split() or ["ip_vs"]
    who = culprits(named("module", *modules), Culprit("program", "kube-proxy"))
    return found(POSSIBLE, who, (ipvs,), modules=modules, node=node_of(seen.picture))


def panic_only(seen: Seen) -> Finding | None:
    if not seen.silent or seen.panic is None:
        return None
    modules = ["ip_set", "xt_set"]
    return found(POSSIBLE, named("module", *modules), (seen.panic,), modules=modules, node=node_of(seen.picture))


def checksystem_passed(seen: Seen) -> Finding | None:
    passed = next(rows(seen.picture, r"\bxt_set\s+OK\b", "checksystem"), None) if seen.silent else None
    return ruled_out((passed,)) if passed else None


def container_only(seen: Seen) -> Finding | None:
    """The container cannot load modules itself; what the host has is another question, unless the kernel answers."""
    of_kernel = any(hit.sign in (UNDETECTED.key, NOT_BUILT.key) for hit in seen.proofs)
    if seen.silent or of_kernel or not seen.picture.hit(NOT_MOUNTED):
        return None
    evidence = (*seen.complaints[:1], *seen.shown)
    return found(POSSIBLE, named("module", *seen.absent), evidence, modules=seen.modules, node=seen.node)


def loaded(seen: Seen) -> Finding | None:
    if seen.absent or not seen.modules or not all(name in seen.loaded for name in seen.modules):
        return None
    return ruled_out([seen.loaded[name] for name in seen.modules], modules=seen.modules)


def tunnel_there(seen: Seen) -> Finding | None:
    """A tunnel that could not be made at once, and was made then."""
    if seen.absent or not {hit.sign for hit in seen.complaints} <= set(TUNNELS):
        return None
    names = {TUNNELS[hit.sign] for hit in seen.complaints}
    there = [link for link in seen.picture.interfaces() if link.name.split("@")[0] in names and link.addresses]
    if there:
        return ruled_out(there[:1], device=there[0].name.split("@")[0])
    through = [route for route in seen.picture.of(Route) if route.device in names and route.via]
    if through:  # the kernel takes no route through a link that is not there
        return ruled_out(through[:1], device=through[0].device)
    once = len(seen.complaints) == 1 and agents_fine(seen.picture)
    return ruled_out(seen.complaints[:1], say="said-once") if once else None


def works_now(seen: Seen) -> Finding | None:
    """Felix is not ready before its sets and rules are written; of a tunnel it only complains."""
    written = [hit for hit in seen.complaints if hit.sign not in TUNNELS]
    if seen.absent or seen.panic or len(written) < len(seen.complaints) or trouble(seen.picture):
        return None
    well = recovered(seen.picture, written) if written else []
    return ruled_out(well[:1]) if well else None


def cannot_provide(seen: Seen) -> Finding | None:
    if seen.silent:
        return None
    evidence = (*seen.shown[:2], *seen.complaints[:2], seen.panic)
    return found(seen.strength, seen.culprits, evidence, modules=seen.modules[:4], node=seen.node, program=seen.asker)


def _is_of_felix(picture: Picture, hit: Hit) -> bool:
    return not _names_a_chain(hit) and not _of_others(hit) and _of_vxlan(picture, hit)


def _names_a_chain(hit: Hit) -> bool:
    """A chain that does not exist is asked for as if it were a module's target; those are single words of capitals."""
    target = hit.value("target")
    return bool(target) and not (target.isalpha() and target.isupper())


def _of_others(hit: Hit) -> bool:
    """iptables warns whoever calls it, and some can do without: only what Felix or kube-proxy calls counts."""
    called = f"{hit.command} {hit.line}".lower()
    askers = ("felix", "calico", "kube-proxy", "cali-", "canal", "kube-postrouting", "kube-services", "proxier.go")
    return hit.sign == NO_EXTENSION.key and not any(word in called for word in askers)


def _of_vxlan(picture: Picture, hit: Hit) -> bool:
    """flannel says the same of its other backends; its configuration tells which one it is."""
    return hit.sign != NO_FLANNEL.key or any("VXLAN config:" in exhibit.text for exhibit in picture.exhibits)


def _implied(hit: Hit) -> tuple[str, ...]:
    if match := hit.value("match") or hit.value("extension"):
        return (f"xt_{match}",)
    if target := hit.value("target"):
        return (f"xt_{target}",)
    if table := hit.value("table"):
        return (f"iptable_{table}",)
    return {NO_IPIP.key: ("ipip",), NO_VXLAN.key: ("vxlan",), NO_FLANNEL.key: ("vxlan",)}.get(
        hit.sign, ("ip_set", "xt_set")
    )


def fix(picture: Picture, finding: Finding) -> Iterator[Do | Step]:
    if picture.hit(NO_TREE):
        yield do("boot")  # there is nothing to load, and no package for a kernel that was replaced
        return
    modules = dict(finding.values).get("modules")
    for module in [*modules][:3] if isinstance(modules, tuple) else []:
        yield do("load", module=module)
    kernels = kernels_shown(picture, finding.value("node"))
    systems = " ".join([*kernels, *(node.os_image for node in picture.of(Node))])
    yield do(next((f"install-{key}" for key, word in PACKERS if re.search(word, systems)), "install"))
    node = finding.value("node")
    yield from ways.restart_agent(picture, node) if node else [do("restart")]


CAUSE = Cause(
    module=__name__,
    id="kernel-module-missing",
    code="TRT7001",
    severity="high",
    explains=("crash-loop", "felix-not-ready", "not-ready", "restarts", "traffic-dead", "log-errors"),
    signs=(*COMPLAINTS, *PROOFS, SETS_PANIC, REVISION, NOT_MOUNTED, NO_TREE, IPVS),
    look=Seen,
    rules=(
        newer_revision, kube_proxy_needs, panic_only, checksystem_passed, container_only, loaded, tunnel_there,
        works_now, cannot_provide,
    ),
    fix=fix,
)  # fmt: skip
