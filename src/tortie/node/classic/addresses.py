"""Which address the release that is played takes: its own table of settings, stored address and autodetection. Pure.

Settings are taken as a person wrote them, because what cannot be meant ends that start only here, in its own words.
"""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_network
from typing import Final, NamedTuple

from tortie.addressing.choice import Message, Surroundings
from tortie.addressing.decision import InvalidAddress, parse_address_setting, variable
from tortie.addressing.methods import FIRST_FOUND, Agreed, BadMethod, CanReach, Method, parse_method
from tortie.addressing.replay import calico_decision
from tortie.addressing.versions import CalicoVersion, invalid_method
from tortie.model.network import CIDR, Family, HostNetwork, Network
from tortie.node.classic.release import Release
from tortie.node.decisions import Addressed

FAMILIES: Final[tuple[Family, ...]] = (4, 6)


class Found(NamedTuple):
    """With `failed` the start ends; the stored address of these families is forgotten before that."""

    addressed: tuple[Addressed, ...]
    messages: tuple[Message, ...]
    failed: bool = False
    forget: tuple[Family, ...] = ()

    @property
    def changed(self) -> bool:
        return any(each.decision.changed for each in self.addressed)


class MethodRefused(Exception):
    """A word that this release does not know, with its message."""


def method_of(environment: Mapping[str, str], family: Family, release: Release) -> Method:
    text = environment.get(f"{variable(family)}_AUTODETECTION_METHOD", "")
    version = CalicoVersion(*release)
    try:
        method = parse_method(text, FIRST_FOUND)
    except BadMethod as error:
        is_unknown = error.what.startswith("Invalid IP auto")
        raise MethodRefused(invalid_method(text, version) if is_unknown else error.what) from None
    if isinstance(method, Agreed):
        raise MethodRefused(invalid_method(text, version))
    return method


def destinations(environment: Mapping[str, str], release: Release) -> list[tuple[str, Family]]:
    """What the kernel has to be asked first."""
    found = []
    for family in FAMILIES:
        try:
            method = method_of(environment, family, release)
        except MethodRefused:
            continue
        if isinstance(method, CanReach):
            found.append((method.destination, family))
    return found


def find_addresses(
    environment: Mapping[str, str], stored: Mapping[Family, CIDR], surroundings: Surroundings, release: Release
) -> Found:
    """IPv4, and IPv6 where somebody asks for it or it is stored."""
    addressed: list[Addressed] = []
    messages: list[Message] = []
    for family in FAMILIES:
        told = environment.get(variable(family), "")
        try:
            setting = parse_address_setting(told, family)
            method = method_of(environment, family, release)
        except InvalidAddress as error:
            return Found((), (*messages, Message("warning", error.what)), failed=True)
        except MethodRefused as error:
            return Found((), (*messages, Message("error", str(error))), failed=True)
        before = stored.get(family)
        if family == 6 and not told and before is None:
            continue
        choice, decision = calico_decision(family, setting, before, method, surroundings, CalicoVersion(*release))
        messages += decision.messages
        if decision.failure:
            return Found((), tuple(messages), failed=True, forget=(family,) if told == "autodetect" else ())
        addressed.append(Addressed(family, choice, decision))
    if not any(each.decision.address for each in addressed):
        nothing = "no IPv4 or IPv6 addresses configured or detected, required for Calico networking"
        return Found((), (*messages, Message("error", nothing)), failed=True)
    return Found(tuple(addressed), tuple(messages))


def default_pool(network: HostNetwork, release: Release) -> Network:
    """Only this host's own addresses are looked at, and if all is taken the first is taken all the same."""
    candidates = [ip_network("192.168.0.0/16"), *(ip_network(f"172.{second}.0.0/16") for second in range(16, 32))]
    here = [address.cidr.ip for each in network.interfaces for address in each.addresses if address.cidr.version == 4]
    if release < (3, 9):
        return candidates[0]
    return next((pool for pool in candidates if not any(ip in pool for ip in here)), candidates[0])
