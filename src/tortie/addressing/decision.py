"""Which address a node registers: what its settings say, what it had before, and what was found, in Calico's table.

Pure. Whatever the world did comes out as a value with its failure and its fix; a stored address is replaced, but
never lost. Messages are Calico's where Calico says the same thing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import Enum
from ipaddress import ip_interface
from typing import Final, Literal, NamedTuple

from tortie.addressing.choice import Choice, Message, Rejected
from tortie.addressing.patterns import exactly
from tortie.model.errors import TortieError, UsageError
from tortie.model.kinds import nearest
from tortie.model.network import CIDR, Family, HostNetwork

Source = Literal["autodetected", "environment", "stored", "none"]


class Wish(Enum):
    """What IP or IP6 may say, other than an address."""

    UNSET = ""
    AUTODETECT = "autodetect"
    DISABLED = "none"


UNSET: Final = Wish.UNSET
AUTODETECT: Final = Wish.AUTODETECT
DISABLED: Final = Wish.DISABLED


class Given(NamedTuple):
    """An address that a person wrote; without a prefix length it still has to get the one of its interface."""

    cidr: CIDR
    had_prefix: bool


AddressSetting = Wish | Given


class AddressDecision(NamedTuple):
    """`address` is None with a `failure`, or because none is wanted. A `fix` alone is advice: the start goes on."""

    address: CIDR | None
    interface: str  # the one that has the address; "" when none has
    source: Source
    changed: bool  # against what is stored
    confirmed: bool  # an interface of this host has the address
    failure: str = ""
    fix: str = ""
    messages: tuple[Message, ...] = ()  # those of the choice first


class Habits(NamedTuple):
    """Where Calico's releases and Tortie differ about an address that a person or a record names."""

    interface_prefix: bool = True  # a bare address gets the prefix length of its interface; else it stands alone
    compares_prefix: bool = True  # a prefix length other than the interface's is mentioned


class InvalidAddress(UsageError):
    """What IP or IP6 says is neither an address of that family nor one of the words."""

    code = "invalid"

    def __init__(self, family: Family, text: str, why: str, right: str) -> None:
        what = f"Environment does not contain a valid IPv{family} address: {variable(family)}={text}"
        super().__init__(what, why, right)


_OWN_HABITS: Final = Habits()


def variable(family: Family) -> str:
    return "IP" if family == 4 else "IP6"


def parse_address_setting(text: str | None, family: Family) -> AddressSetting:
    told = (text or "").strip()
    for wish in Wish:
        if told == wish.value:
            return wish
    given = ip_interface(told) if _is_address(told) else None
    if given is None:
        raise InvalidAddress(family, told, "it is neither an address nor a known word", _right_form(family, told))
    if given.version != family:
        right = f"{variable(given.version)}={told}" if _unusable(given) is None else _right_form(family, "")
        raise InvalidAddress(family, told, f"it is an IPv{given.version} address", right)
    if unusable := _unusable(given):
        raise InvalidAddress(family, told, unusable, _right_form(family, ""))
    return Given(given, "/" in told)


def wants_choice(family: Family, setting: AddressSetting, stored: CIDR | None) -> bool:
    """Whether autodetection runs at all. IPv6 is only looked for when somebody asks for it."""
    return setting is AUTODETECT or (setting is UNSET and family == 4 and stored is None)


def decide(
    family: Family,
    setting: AddressSetting,
    stored: CIDR | None,
    choice: Choice | None,
    network: HostNetwork,
    habits: Habits = _OWN_HABITS,
) -> AddressDecision:
    """`choice` is what autodetection came to, where `wants_choice` says that it has to run."""
    if isinstance(setting, Given):
        return _given(family, setting, stored, network, habits)
    if wants_choice(family, setting, stored):
        if choice is None:
            raise AssertionError("autodetection has to run first")
        return _detected(family, stored, choice, network, habits)
    if stored is None:
        return AddressDecision(None, "", "none", changed=False, confirmed=False)
    kept = Message("info", f"Autodetection for IPv{family} disabled, keeping existing value: {stored}")
    fix = f"set {variable(family)}=autodetect: then the address is looked for at every start"
    return _settled(family, stored, "stored", stored, network, (kept,) if setting is DISABLED else (), fix, habits)


def no_address_error(decisions: Iterable[AddressDecision]) -> TortieError | None:
    """Why this node cannot take part in networking, if it cannot: a family failed, or neither is wanted."""
    taken = list(decisions)
    for decision in taken:
        if decision.failure:
            return TortieError(decision.failure, fix=decision.fix)
    if any(decision.address for decision in taken):
        return None
    return TortieError(
        "no IPv4 or IPv6 addresses configured or detected, required for Calico networking",
        "IP and IP6 ask for none, and none is stored",
        "set IP=autodetect (or IP6=autodetect), or CALICO_NETWORKING_BACKEND=none for policy alone",
    )


def _given(
    family: Family, setting: Given, stored: CIDR | None, network: HostNetwork, habits: Habits
) -> AddressDecision:
    cidr, told, messages = setting.cidr, str(setting.cidr), []
    if not setting.had_prefix:
        if not habits.interface_prefix:
            told = str(cidr.ip)
        elif owned := network.owner(cidr.ip):
            # A lone address would be a subnet of its own, and every peer seem to be in another one.
            cidr = owned[1].cidr
            told = str(cidr)
            messages.append(Message("info", f'Including CIDR information from host interface. CIDR="{cidr}"'))
        else:
            told = str(cidr.ip)
            messages.append(Message("warning", f"Unable to find matching host interface for IP {cidr.ip}"))
    name = variable(family)
    messages.append(Message("info", f"Using IPv{family} address from environment: {name}={told}"))
    fix = f"correct {name}, set {name}=autodetect, or give {cidr.ip} to an interface of this host"
    return _settled(family, cidr, "environment", stored, network, tuple(messages), fix, habits)


def _detected(
    family: Family, stored: CIDR | None, choice: Choice, network: HostNetwork, habits: Habits
) -> AddressDecision:
    if choice.chosen is not None:
        fix = "wait: the address has just left this host, and what replaces it will be found"
        settled = _settled(family, choice.chosen, "autodetected", stored, network, choice.messages, fix, habits)
        return settled._replace(interface=settled.interface or choice.interface)
    fix = choice.fix or (_ways_to_say_which(family, choice.tied) if choice.tied else _ways_to_find_one(family))
    tie = _both(choice.tied)
    if stored is not None:
        kept = f"Autodetection of IPv{family} address failed, keeping existing value: {stored}"
        why = f"Autodetection cannot tell {tie} apart, so nothing changes." if tie else ""
        messages = [*choice.messages, Message("warning", kept), *([Message("warning", why)] if why else [])]
        settled = _settled(family, stored, "stored", stored, network, tuple(messages), fix, habits)
        return settled._replace(fix=fix)
    nothing = (
        f"Couldn't autodetect an IPv{family} address. If auto-detecting, choose a different autodetection method. "
        "Otherwise provide an explicit address."
    )
    failure = choice.failure or f"Unable to auto-detect an IPv{family} address"
    if tie and not choice.failure:
        failure = f"Unable to auto-detect an IPv{family} address: {tie} suit equally well"
    messages = [*choice.messages, Message("warning", nothing)]
    return AddressDecision(None, "", "none", False, False, failure, fix, tuple(messages))


def _settled(
    family: Family,
    address: CIDR,
    source: Source,
    stored: CIDR | None,
    network: HostNetwork,
    messages: tuple[Message, ...],
    fix: str,
    habits: Habits,
) -> AddressDecision:
    owned = network.owner(address.ip)
    changed = address != stored
    told = [*messages, *_confirmation(family, address, source, network, habits)]
    if changed:
        told.append(Message("info", f"Node IPv{family} changed, will check for conflicts"))
    interface = owned[0].name if owned else ""
    return AddressDecision(
        address, interface, source, changed, owned is not None, fix="" if owned else fix, messages=tuple(told)
    )


def _confirmation(family: Family, address: CIDR, source: Source, network: HostNetwork, habits: Habits) -> list[Message]:
    owned = network.owner(address.ip)
    if owned is None:
        return [Message("warning", f"Unable to confirm IPv{family} address {address.ip} is assigned to this host")]
    if source == "autodetected":
        return []
    interface, there = owned
    told = [Message("info", f"IPv{family} address {address.ip} discovered on interface {interface.name}")]
    length = there.cidr.network.prefixlen
    if habits.compares_prefix and length != address.network.prefixlen:
        # Where pools say CrossSubnet, the length decides which peers are reached without a tunnel.
        text = f"IPv{family} address {address} differs in its prefix length from interface {interface.name}, /{length}"
        told.append(Message("info", text))
    return told


def _both(tied: tuple[Rejected, ...]) -> str:
    return " and ".join(
        f"{each.address} on {each.interface}" + (f" ({each.reason})" if each.reason else "") for each in tied
    )


def _ways_to_say_which(family: Family, tied: tuple[Rejected, ...]) -> str:
    name = variable(family)
    interfaces = list(dict.fromkeys(each.interface for each in tied))
    if len(interfaces) > 1:
        ways = [f"{name}_AUTODETECTION_METHOD=interface={exactly(interface)}" for interface in interfaces]
    else:
        ways = [f"{name}={each.address}" for each in tied]
    return "say which one: " + " or ".join(ways)


def _ways_to_find_one(family: Family) -> str:
    name = variable(family)
    return f"set {name} to an address of this host, or {name}_AUTODETECTION_METHOD to a method that finds one"


def _is_address(text: str) -> bool:
    # Python also reads 10.0.0.1/255.0.0.0 and fe80::1%eth0, which Calico does not.
    if not re.fullmatch(r"[0-9a-fA-F.:]+(/[0-9]{1,3})?", text):
        return False
    try:
        ip_interface(text)
    except ValueError:
        return False
    return True


def _unusable(cidr: CIDR) -> str | None:
    """Why no peer could ever reach it there."""
    if cidr.ip.is_unspecified:
        return "it stands for no address at all"
    if cidr.ip.is_loopback:
        return "every host has it for itself, so no peer can reach it"
    if cidr.ip.is_multicast or str(cidr.ip) == "255.255.255.255":
        return "it belongs to a group of hosts, not to one"
    if cidr.version == 6 and cidr.ip.is_link_local:
        return "it is only good on one link, which cannot be named here"
    if cidr.version == 4 and cidr.network.prefixlen < 31 and cidr.ip == cidr.network.network_address:
        return f"it is the network {cidr.network} itself, not an address in it"
    return None


def _right_form(family: Family, told: str) -> str:
    name = variable(family)
    if re.match(r"(first-found|interface|skip-interface|can-reach|cidr|kubernetes-internal-ip)(=|$)", told):
        return f"{name}=autodetect and {name}_AUTODETECTION_METHOD={told}"
    if word := nearest(told, (AUTODETECT.value, DISABLED.value)):
        return f"{name}={word}"
    for part in re.split(r"[\s,;]+", told):
        try:
            meant = ip_interface(part)
        except ValueError:
            continue
        if meant.version == family and _unusable(meant) is None:
            return f"{name}={meant if '/' in part else meant.ip}"
    example = "10.0.0.11/24" if family == 4 else "fd00::11/64"
    return f"{name}=autodetect, {name}=none, or an address of this host as in {name}={example}"
