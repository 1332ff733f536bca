"""Who or what is at fault, as a typed value; how people spell it stands here and nowhere else. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal

from tortie.doctor.lazily import lazily
from tortie.model.tuples import NamedTuple

Kind = Literal[
    "node", "pod", "container", "address", "cidr", "interface", "port", "file", "unit", "program", "setting",
    "resource", "pool", "block", "image", "version", "module", "user", "webhook", "certificate", "peer", "rule",
    "message", "service", "disk", "folder",
]  # fmt: skip
LONGEST: Final = 120  # a longer one is a sentence, not a name

# Settings that have one meaning and two names: in a ConfigMap or a resource, and in the environment.
_ALIASES: Final = {
    "etcd_endpoints": ("ETCD_ENDPOINTS",),
    "ETCD_ENDPOINTS": ("etcd_endpoints",),
    "iptablesBackend": ("FELIX_IPTABLESBACKEND",),
    "nft": ("nf_tables",),
    "vxlanEnabled": ("FELIX_VXLANENABLED",),
    "ipipEnabled": ("FELIX_IPINIPENABLED",),
}
# A limit as a manifest has it, and a probe's time-out as `describe` shows it.
_QUANTITY: Final = lazily(r"(cpu|memory): (\S+)")
_TIMEOUT: Final = lazily(r"timeout=([\d.]+)s")


class Culprit(NamedTuple):
    """`name` as the evidence has it; a port with its protocol is `179/tcp`."""

    kind: Kind
    name: str

    @property
    def spellings(self) -> tuple[str, ...]:
        """The name first, then how else people write it."""
        return (self.name, *_others(self.kind, self.name))


def _others(kind: Kind, name: str) -> tuple[str, ...]:
    if kind == "port" and "/" in name:
        number, _, protocol = name.partition("/")
        return (f"{protocol}/{number}", number)
    if kind == "unit" and not name.endswith(".service"):
        return (f"{name}.service",)
    if kind == "version" and name.replace(".", "").isdecimal():
        return (f"v{name}",)
    if kind == "resource" and "/" in name:
        return (name.rpartition("/")[2],)
    if kind == "setting" and (match := _QUANTITY.fullmatch(name)):
        resource, quantity = match.groups()
        return (quantity, f"resources.limits.{resource}", f"limits.{resource}")
    if kind == "setting" and (match := _TIMEOUT.fullmatch(name)):
        return (f"timeoutSeconds: {match[1]}", "timeoutSeconds")
    if kind == "file" and "/" in name:  # a last part that is a plain word could mean anything
        last = name.rpartition("/")[2]
        return (last,) if "." in last or "-" in last else ()
    return _ALIASES.get(name, ())


def culprits(*groups: Culprit | Iterable[Culprit] | None) -> tuple[Culprit, ...]:
    """Each once, in this order, without empty names and sentences."""
    flat: list[Culprit] = []
    for group in groups:
        flat.extend((group,) if isinstance(group, Culprit) else group or ())
    usable = (one for one in flat if one.name and len(one.name) <= LONGEST and "。" not in one.name)
    return tuple(dict.fromkeys(usable))


def named(kind: Kind, *names: str) -> tuple[Culprit, ...]:
    return tuple(Culprit(kind, name) for name in names if name)


def objects(some: Iterable[Culprit]) -> tuple[str, ...]:
    """All names, then all other spellings: what a machine that reads the answer looks for."""
    every = tuple(some)
    return tuple(dict.fromkeys([*(one.name for one in every), *(other for one in every for other in one.spellings)]))
