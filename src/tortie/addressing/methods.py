"""The ways to find a node's address: what IP_AUTODETECTION_METHOD and IP6_AUTODETECTION_METHOD may say.

Each method also holds its own name, because two NamedTuples with equal fields are equal whatever their type.
"""

from __future__ import annotations

import re
from ipaddress import IPv4Interface, IPv6Interface, ip_address, ip_interface
from typing import Final, NamedTuple

from tortie.addressing.patterns import BadPattern, Patterns
from tortie.addressing.versions import CIDR_SINCE, INTERNAL_IP_SINCE, LATEST, CalicoVersion, invalid_method
from tortie.model.errors import UsageError
from tortie.model.network import CIDR, Network


class FirstFound(NamedTuple):
    name: str = "first-found"

    def __str__(self) -> str:
        return self.name


class ByInterface(NamedTuple):
    patterns: tuple[str, ...]
    name: str = "interface"

    def __str__(self) -> str:
        return f"{self.name}={','.join(self.patterns)}"


class SkipInterface(NamedTuple):
    patterns: tuple[str, ...]
    name: str = "skip-interface"

    def __str__(self) -> str:
        return f"{self.name}={','.join(self.patterns)}"


class CanReach(NamedTuple):
    destination: str
    name: str = "can-reach"

    def __str__(self) -> str:
        return f"{self.name}={self.destination}"


class InCIDRs(NamedTuple):
    cidrs: tuple[CIDR, ...]  # as written, with host bits
    name: str = "cidr"

    @property
    def networks(self) -> tuple[Network, ...]:
        return tuple(cidr.network for cidr in self.cidrs)

    def __str__(self) -> str:
        return f"{self.name}={','.join(map(str, self.cidrs))}"


class KubernetesInternalIP(NamedTuple):
    suffix: str = ""  # Calico only looks at how the word begins
    name: str = "kubernetes-internal-ip"

    def __str__(self) -> str:
        return self.name + self.suffix


class Agreed(NamedTuple):
    """Tortie's own: what the other nodes and the default route agree with."""

    name: str = "agreed"

    def __str__(self) -> str:
        return self.name


Method = FirstFound | ByInterface | SkipInterface | CanReach | InCIDRs | KubernetesInternalIP | Agreed

FIRST_FOUND: Final = FirstFound()
KUBERNETES_INTERNAL_IP: Final = KubernetesInternalIP()
AGREED: Final = Agreed()

_WORDS: Final = ("first-found", "kubernetes-internal-ip", "agreed")
_TAKE_A_VALUE: Final = ("interface", "skip-interface", "can-reach", "cidr")
_FORMS: Final = (
    "agreed, first-found, interface=<pattern>, skip-interface=<pattern>, can-reach=<address or name>, "
    "cidr=<network>, or kubernetes-internal-ip"
)
# What other programs and the Tigera operator call the same things.
_ALIASES: Final = {
    **{"nic": "interface", "dev": "interface", "device": "interface", "iface": "interface", "if": "interface"},
    **{"skip": "skip-interface", "reach": "can-reach", "cidrs": "cidr", "network": "cidr", "subnet": "cidr"},
    **{"nodeinternalip": "kubernetes-internal-ip", "internal-ip": "kubernetes-internal-ip"},
    **{"kubernetes": "kubernetes-internal-ip", "autodetect": "agreed", "auto": "agreed", "default": "agreed"},
}
_BLANKS: Final = "\t\n\f\r "


class BadMethod(UsageError):
    """A method that cannot be meant; `right` is the nearest form that can, or empty."""

    code = "invalid"

    def __init__(self, text: str, what: str, why: str, right: str = "", *, fix: str = "") -> None:
        self.text = text
        self.right = right
        super().__init__(what, why, f"write {right}" if right else fix or f"write one of: {_FORMS}")


def parse_method(text: str, default: Method = AGREED) -> Method:
    """Reads what Calico reads, and Tortie's own `agreed`; no text at all means the default."""
    if text == "":
        return default
    for word in (FIRST_FOUND, AGREED):
        if text == word.name:
            return word
    name, equals, value = text.partition("=")
    if equals and name in ("interface", "skip-interface"):
        patterns = _listed(value)
        _check(text, name, patterns)
        return ByInterface(patterns) if name == "interface" else SkipInterface(patterns)
    if equals and name == "cidr":
        return InCIDRs(tuple(_network(text, part) for part in _listed(value)))
    if equals and name == "can-reach":
        if not value.strip():
            why = "it names no destination, and Calico then takes 127.0.0.1"
            raise BadMethod(text, invalid_method(text), why, "can-reach=<address or name>")
        return CanReach(value)
    if text.startswith(KUBERNETES_INTERNAL_IP.name):
        return KubernetesInternalIP(text.removeprefix(KUBERNETES_INTERNAL_IP.name))
    right = _nearest_form(text)
    raise BadMethod(text, invalid_method(text), _difference(text, right), right)


def notes(method: Method, version: CalicoVersion = LATEST) -> tuple[str, ...]:
    """What a person should know about a method that can be read, but may not do what they think."""
    found = []
    match method:
        case InCIDRs():
            found += [
                f"{cidr} has host bits: it means the network {cidr.network}"
                for cidr in method.cidrs
                if cidr.ip != cidr.network.network_address
            ]
            if version < CIDR_SINCE:
                found.append(_too_new(method, CIDR_SINCE, version))
        case KubernetesInternalIP():
            if method.suffix:
                found.append(f"{method.suffix!r} after {method.name} is ignored")
            if version < INTERNAL_IP_SINCE:
                found.append(_too_new(method, INTERNAL_IP_SINCE, version))
        case ByInterface() | SkipInterface():
            found += [note for pattern in method.patterns if (note := _pattern_note(method, pattern))]
        case CanReach():
            if method.destination != method.destination.strip():
                found.append(f"{method.destination!r} has blanks around it, and nothing is called that")
        case FirstFound() | Agreed():
            pass
    return tuple(found)


def _too_new(method: Method, since: CalicoVersion, version: CalicoVersion) -> str:
    return f"{method.name} came with {since}; {version} ends its start with: {invalid_method(str(method), version)}"


def _pattern_note(method: ByInterface | SkipInterface, pattern: str) -> str:
    if not pattern:
        effect = "so every interface is taken" if isinstance(method, ByInterface) else "so every interface is skipped"
        return f"{method} holds an empty pattern, which matches every name, {effect}"
    if pattern != pattern.strip(_BLANKS):
        return f"the pattern {pattern!r} begins or ends with a blank, which no interface name has"
    if re.fullmatch(r"[0-9A-Za-z_-]*[0-9A-Za-z]\*", pattern):
        stem = pattern[:-1]
        return (
            f"{pattern} is a regular expression, not a file name: it means {stem[:-1] + ' and ' if stem[1:] else ''}"
            f"any number of {stem[-1]}, anywhere in a name; ^{stem} means every name that begins with {stem}"
        )
    return ""


def _listed(value: str) -> tuple[str, ...]:
    return tuple(re.split(rf"[{_BLANKS}]*,[{_BLANKS}]*", value))


def _check(text: str, name: str, patterns: tuple[str, ...]) -> None:
    try:
        Patterns(patterns)
    except BadPattern as error:
        fix = (
            f"correct it, as in {name}=^eth0$; it is a regular expression of Go, without look-ahead and back-references"
        )
        raise BadMethod(text, "Invalid interface regex", str(error), _mended(name, patterns), fix=fix) from None


def _mended(name: str, patterns: tuple[str, ...]) -> str:
    """What most likely was meant: a file name pattern such as *eth, or a bracket that was never closed."""
    for tail in ("", "]", ")"):
        mended = [re.sub(r"^\*", ".*", pattern).rstrip("\\") for pattern in patterns]
        mended[-1] += tail
        try:
            Patterns(mended)
        except BadPattern:
            continue
        return f"{name}={','.join(mended)}"
    return ""


def _network(text: str, part: str) -> CIDR:
    cidr = go_cidr(part)
    if cidr is not None:
        return cidr
    what = f'Invalid CIDR "{part}" for IP autodetection method: {text}'
    tidy = part.strip().strip("'\"")
    if not tidy:
        raise BadMethod(text, what, "there is an empty place in the list", _without_empty(text))
    if (cidr := go_cidr(tidy)) is not None:
        raise BadMethod(text, what, "it has blanks or quotes", text.replace(part, tidy))
    try:
        lenient = ip_interface(tidy)  # also reads netmasks and single addresses
    except ValueError:
        why = "it is not a network in the form 10.0.0.0/24 or fd00::/64"
        raise BadMethod(text, what, why, fix="write cidr=<network>") from None
    if "/" in tidy:
        raise BadMethod(text, what, "the length of the prefix has to be a number", f"cidr={lenient.network}")
    right = f"cidr={lenient.ip}/{_likely_length(lenient)}"
    raise BadMethod(text, what, "a network needs the length of its prefix", right)


def _likely_length(cidr: CIDR) -> int:
    """10.1.0.0 most likely means 10.1.0.0/16; an address that ends in no zero means itself."""
    if isinstance(cidr, IPv6Interface):
        return 64 if str(cidr.ip).endswith("::") else 128
    return 8 * len(re.sub(r"(\.0)+$", "", str(cidr.ip)).split("."))


def _without_empty(text: str) -> str:
    name, _, value = text.partition("=")
    parts = ",".join(part for part in _listed(value) if part.strip())
    return f"{name}={parts}" if parts else f"{name}=<network>"


def go_cidr(text: str) -> CIDR | None:
    """As Go's ParseCIDR reads it: a prefix length is needed, a netmask or a zone is refused."""
    if not re.fullmatch(r"[0-9A-Fa-f.:]+/[0-9]{1,4}", text):
        return None
    try:
        cidr = ip_interface(text)
    except ValueError:
        return None
    length = cidr.network.prefixlen
    if isinstance(cidr, IPv6Interface) and length >= 96 and (mapped := cidr.ip.ipv4_mapped) is not None:
        return IPv4Interface(f"{mapped}/{length - 96}")
    return cidr


def _difference(text: str, right: str) -> str:
    if right and re.sub(r"[\s'\"]", "", text) == re.sub(r"\s", "", right):
        return "blanks and quotes count"
    if right and text.lower() == right.lower():
        return "upper and lower case count"
    return "no method is called that"


def _nearest_form(text: str) -> str:
    tidy = text.strip().strip("'\"").strip()
    if not tidy:
        return ""
    name, separator, value = _parted(tidy)
    known = _meant(name)
    if known in _WORDS:
        return known
    if known in _TAKE_A_VALUE and separator:
        return _if_readable(f"{known}={value}")
    if known in _TAKE_A_VALUE and not separator:
        return f"{known}=<{'network' if known == 'cidr' else 'destination' if known == 'can-reach' else 'pattern'}>"
    return "" if separator else _if_readable(_bare(tidy))


def _parted(text: str) -> tuple[str, str, str]:
    # A colon stands inside IPv6 addresses too, so it only counts behind a word.
    found = re.fullmatch(r"([A-Za-z][A-Za-z_-]*)\s*([=:]|\s)\s*(.*)", text, re.DOTALL)
    return (found.group(1), found.group(2), found.group(3)) if found else (text, "", "")


def _meant(name: str) -> str:
    from tortie.model.kinds import nearest

    plain = name.lower().replace("_", "-")
    if plain in _ALIASES:
        return _ALIASES[plain]
    return nearest(plain, (*_WORDS, *_TAKE_A_VALUE)) or ""


def _bare(text: str) -> str:
    """A value without its method: an address, a network, a host's name or an interface's."""
    if all(go_cidr(part) for part in _listed(text)):
        return f"cidr={text}"
    try:
        return f"can-reach={ip_address(text)}"
    except ValueError:
        pass
    if re.fullmatch(r"(?:[A-Za-z0-9-]+\.)+[A-Za-z]{2,}", text):
        return f"can-reach={text}"
    return f"interface={text}" if re.fullmatch(r"[!-~]+", text) and "=" not in text else ""


def _if_readable(form: str) -> str:
    """A suggestion has to be right itself."""
    try:
        parse_method(form)
    except BadMethod as error:
        return error.right
    return form
