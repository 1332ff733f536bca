"""TRT7014: WireGuard is switched on where kernel or tools do not have it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from tortie.doctor.causes import ways
from tortie.doctor.causes.cause import HINT, LIKELY, POSSIBLE, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.kernel.absent_modules import NO_MODULE, NO_MODULE_BUSYBOX
from tortie.doctor.causes.kernel.bpf_evidence import kernels_shown
from tortie.doctor.causes.kernel.trt7012_felix_encap_disabled import NO_DEVICE
from tortie.doctor.causes.kernel.whose_node import node_of
from tortie.doctor.causes.steps import Step
from tortie.doctor.causes.underlay.traffic_evidence import Row, compiled, rows, unquoted
from tortie.doctor.picture.facts import Interface
from tortie.doctor.picture.picture import Picture, version_numbers
from tortie.doctor.signs import Hit, Sign

UNSUPPORTED = Sign("wireguard-unsupported", "wireguard is not supported")
NOT_POSSIBLE = Sign("wireguard-operation", "wireguard…operation not supported")
NO_TOOL = Sign("wireguard-no-tool", "wg: command not found")
NO_TOOL_ZH = Sign("wireguard-no-tool-zh", "wg: 未找到命令")
NO_LINK_TYPE = Sign("wireguard-link-type", "RTNETLINK answers: (Operation not supported|Protocol not supported)")
NO_ACCESS = Sign("wireguard-no-access", "Unable to access interface: (Protocol not supported|No such device)")
UNKNOWN_TYPE = Sign("wireguard-unknown-type", "Unknown device type")
HANDSHAKE = Sign("wireguard-handshake", "latest handshake:")
FIELD, DEVICE = "wireguardEnabled", "wireguard.cali"
_TURNED_ON = rf"\b{FIELD}\W{{1,3}}\s*true\b"
BUILT_IN = (5, 6)  # kernels from here on have it


class Seen:
    """Whether it is wanted, and what shows that a node does not have it."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        told = picture.settings(FIELD)
        self.off = [setting for setting in told if unquoted(setting.value) == "false"]
        self.enabled: list[object] = [setting for setting in told if unquoted(setting.value) == "true"]
        self.enabled += list(rows(picture, _TURNED_ON, needle=FIELD))
        self.enabled += [one.place(0) for one in picture.commands("patch") if compiled(_TURNED_ON).search(one.command)]
        # What it cannot set on a device that is there is another matter.
        self.felix = [hit for hit in picture.hits(UNSUPPORTED, NOT_POSSIBLE) if "/sys/class/net/" not in hit.line]
        self.keyless, self.with_keys = _keys(picture)

    @cached_property
    def absent(self) -> list[object]:
        modules = [hit for hit in self.picture.hits(NO_MODULE, NO_MODULE_BUSYBOX) if "wireguard" in hit.value("module")]
        links = [hit for hit in self.picture.hits(UNKNOWN_TYPE, NO_LINK_TYPE) if "wireguard" in hit.command]
        return [*modules, *self.felix, *self.picture.hits(NO_ACCESS), *links]

    @cached_property
    def weaker(self) -> list[object]:
        """Without a device or a key of its own, while the others published theirs."""
        devices = [hit for hit in self.picture.hits(NO_DEVICE) if hit.value("device").startswith("wireguard")]
        return [*devices, *(self.keyless if self.with_keys else [])]

    @cached_property
    def no_tool(self) -> list[Hit]:
        """Felix does without `wg`; a host without it has rarely been prepared."""
        return self.picture.hits(NO_TOOL, NO_TOOL_ZH)

    @cached_property
    def node(self) -> str:
        hosts = [getattr(item, "host", "") for item in (*self.absent, *self.weaker)]
        return node_of(self.picture, *(row["name"] for row in self.keyless[:1] if self.with_keys), *hosts)

    def found(self, strength: float, evidence: tuple[object, ...]) -> Finding:
        hosts = [getattr(item, "host", "") for item in (*self.absent, *self.weaker)]
        who = culprits(
            Culprit("module", "wireguard"),
            Culprit("setting", FIELD),
            Culprit("interface", DEVICE),
            named("node", *[host for host in hosts if host][:1], *(row["name"] for row in self.keyless[:3])),
            named("version", *kernels_shown(self.picture, self.node)[:1]),
        )
        return found(strength, who, evidence, say="not-there", node=self.node)


def peers_listed(seen: Seen) -> Finding | None:
    shake = seen.picture.hit(HANDSHAKE)
    return ruled_out((shake,)) if shake else None


def there(seen: Seen) -> Finding | None:
    """The device or the module is shown: what is not supported is something else."""
    links = [link for link in seen.picture.of(Interface) if link.name.startswith(DEVICE)]
    modules = list(rows(seen.picture, r"^wireguard\s+\d+\s+\d+", "lsmod"))
    shown = [*links[:1], *modules[:1]]
    return ruled_out(shown) if shown and not seen.weaker else None


def switched_off(seen: Seen) -> Finding | None:
    return ruled_out(seen.off[:1], setting=FIELD) if seen.off and not seen.enabled else None


def not_there(seen: Seen) -> Finding | None:
    if seen.enabled and seen.absent:
        return seen.found(PROVEN, (*seen.enabled[:1], *seen.absent[:2], *seen.weaker[:1]))
    if seen.enabled and seen.weaker:
        return seen.found(STRONG, (*seen.enabled[:1], *seen.weaker[:2], *seen.no_tool[:1]))
    if seen.absent:
        return seen.found(LIKELY if seen.felix else POSSIBLE, (*seen.absent[:2],))
    return seen.found(POSSIBLE, (*seen.enabled[:1], *seen.no_tool[:1])) if seen.enabled and seen.no_tool else None


def only_enabled(seen: Seen) -> Finding | None:
    who = (Culprit("module", "wireguard"), Culprit("setting", FIELD), Culprit("interface", DEVICE))
    return found(HINT, who, seen.enabled[:1]) if seen.enabled else None


def _keys(picture: Picture) -> tuple[list[Row], list[Row]]:
    """Nodes without and with a public key, where a grep asks for keys: a name, and a key below it or not."""
    without: list[Row] = []
    with_keys: list[Row] = []
    last: Row | None = None
    listed = rows(
        picture,
        r"^\s*(?:name:\s*(?P<name>\S+)|wireguardPublicKey:\s*(?P<key>\S+))\s*$",
        "wireguardPublicKey",
        "PublicKey",
    )
    for row in listed:
        if row["key"] and last:
            with_keys.append(last)
            last = None
        elif row["name"]:
            without += [last] if last else []
            last = row
    return ([*without, last] if last else without), with_keys


def fix(picture: Picture, finding: Finding) -> Iterator[Do | Step]:
    kernels = kernels_shown(picture, finding.value("node"))
    if kernels and version_numbers(kernels[0]) < BUILT_IN:
        yield do("install")
    yield do("load")
    yield do("off")
    yield from ways.set_felix(picture, FIELD, "false")


CAUSE = Cause(
    module=__name__,
    id="wireguard-missing",
    code="TRT7014",
    severity="low",
    explains=("log-errors", "traffic-dead"),
    signs=(
        UNSUPPORTED, NOT_POSSIBLE, NO_TOOL, NO_TOOL_ZH, NO_LINK_TYPE, NO_ACCESS, UNKNOWN_TYPE, HANDSHAKE, NO_MODULE,
        NO_MODULE_BUSYBOX, NO_DEVICE,
    ),
    look=Seen,
    rules=(peers_listed, there, switched_off, not_there, only_enabled),
    fix=fix,
)  # fmt: skip
