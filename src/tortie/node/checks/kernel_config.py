"""Judgement on a kernel by its configuration alone, be it the running one or one that is yet to be booted. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from tortie.node.checks import Check
from tortie.node.checks.kernel import KERNEL, NEEDS, Need

if TYPE_CHECKING:
    from tortie.host.kernel import Feature

_HOW: Final = {"y": "built in", "m": "a module"}


class Option(NamedTuple):
    name: str
    option: str
    need: Need


# What a running kernel shows by itself, and a file has to be asked for.
BESIDES: Final = (
    Option("namespaces", "CONFIG_NET_NS", Need("FAIL", "every pod has one of its own")),
    Option("nf_conntrack", "CONFIG_NF_CONNTRACK", Need("FAIL", "masquerading and policies follow connections")),
    Option("masquerade", "CONFIG_NFT_MASQ", Need("WARN", "pools with natOutgoing need it")),
    Option("tcp_md5", "CONFIG_TCP_MD5SIG", Need("WARN", "only BGP sessions with a password need it")),
)


def options(features: tuple[Feature, ...], found: Mapping[str, str], path: str) -> Iterator[Check]:
    """One check for each feature, by the option that builds it."""
    for feature in features:
        yield _judged(Option(feature.name, feature.option, NEEDS[feature.name]), found, path)
    for option in BESIDES:
        yield _judged(option, found, path)


def _judged(wanted: Option, found: Mapping[str, str], path: str) -> Check:
    value = found.get(wanted.option, "n")
    if value in _HOW:
        return Check(wanted.name, KERNEL, "OK", f"{wanted.option}={value}: {_HOW[value]}")
    said = (
        f"{wanted.option} is not set in {path}" if wanted.option in found else f"{path} does not name {wanted.option}"
    )
    seen = f"{said}; {wanted.need.purpose}"
    if wanted.need.missing == "OK":
        return Check(wanted.name, KERNEL, "OK", seen)
    fix = f"build the kernel with {wanted.option}=m, or take the distribution's own"
    return Check(wanted.name, KERNEL, wanted.need.missing, seen, fix)
