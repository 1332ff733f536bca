"""The words of BIRD's language. Every value from outside is written by one of these, or refused.

BIRD's quoted texts know no escapes, so a quotation mark or a line break in a value would end the text and begin a
statement. A function of this module either gives a word that is only a word, or raises `Unwritable`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from hashlib import sha256
from typing import Final

from tortie.model.errors import TortieError
from tortie.model.network import IP, Family, Network

SYMBOL_MAX: Final = 64
DESCRIPTION_MAX: Final = 120
_HASH_LENGTH: Final = 16
_ON_ONE_LINE: Final = 4

_SYMBOL: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_NOT_IN_QUOTED_SYMBOL: Final = re.compile(r"[^A-Za-z0-9_.:-]", re.ASCII)
_INTERFACES: Final = re.compile(r"[A-Za-z0-9_.*-]{1,15}", re.ASCII)
_COMMUNITY: Final = re.compile(r"[0-9]{1,10}(:[0-9]{1,10}){1,2}", re.ASCII)


class Unwritable(TortieError):
    """A value that BIRD's configuration cannot hold. The texts never contain a secret."""


def remark(text: str) -> str:
    """Text for a comment, which ends with its line."""
    return text if text.isprintable() else "".join(char if char.isprintable() else "?" for char in text)


def description(text: str) -> str:
    """A quoted text that only people read; what it cannot hold is replaced."""
    return '"' + remark(text).replace('"', "'")[:DESCRIPTION_MAX] + '"'


def symbol(name: str) -> str:
    """The name of a protocol."""
    if len(name) > SYMBOL_MAX or not _SYMBOL.fullmatch(name):
        why = f"a name has at most {SYMBOL_MAX} letters, digits and underscores"
        raise Unwritable(f"{name!r} cannot be the name of a protocol of BIRD", why, "name it as Mesh_10_0_0_1")
    return name


def quoted_symbol(before: str, name: str, after: str) -> str:
    """A symbol with the name of a resource in it, as Calico writes it: 'bgp_tor_importFilterV4'.

    Names that are too long are cut, and end with a hash of the whole name. The same happens to names with
    characters that a symbol cannot have, so that two names never become one symbol.
    """
    room = SYMBOL_MAX - len(before) - len(after)
    held = _NOT_IN_QUOTED_SYMBOL.sub("_", name)
    if len(held) > room or held != name:
        hashed = sha256(name.encode(errors="surrogatepass")).hexdigest()[:_HASH_LENGTH].upper()
        held = f"{held[: room - _HASH_LENGTH - 1]}_{hashed}"
    return f"'{before}{held}{after}'"


def interfaces(pattern: str) -> str:
    """A pattern of interfaces, in quotation marks."""
    if not _INTERFACES.fullmatch(pattern):
        fix = "use at most 15 letters, digits, _ . - and *, for example eth*"
        raise Unwritable(f"{pattern!r} is not an interface or a pattern of interfaces", "", fix)
    return f'"{pattern}"'


def community(text: str) -> tuple[str, str]:
    """The attribute that holds such a community, and the community: ("bgp_community", "(65000, 100)")."""
    numbers = [int(number) for number in text.split(":")] if _COMMUNITY.fullmatch(text) else []
    bits = 16 if len(numbers) == 2 else 32
    if not numbers or any(number >> bits for number in numbers):
        fix = "write it as 65000:100 or 4200000000:1:2"
        raise Unwritable(f"{text!r} is not a BGP community", "", fix)
    attribute = "bgp_community" if bits == 16 else "bgp_large_community"
    return attribute, f"({', '.join(map(str, numbers))})"


def address(ip: IP) -> str:
    # The zone of an IPv6 address can be any text.
    if ip.version == 6 and ip.scope_id is not None:
        raise Unwritable(f"{str(ip)!r} has a zone", "BIRD is told addresses without one", "leave out what follows %")
    return str(ip)


def prefix(network: Network) -> str:
    return f"{address(network.network_address)}/{network.prefixlen}"


def exactly(networks: Iterable[Network]) -> str:
    """A set of just these networks."""
    return _set(map(prefix, networks))


def within(networks: Iterable[Network]) -> str:
    """A set of these networks and everything inside them."""
    return _set(f"{prefix(network)}+" for network in networks)


def _set(members: Iterable[str]) -> str:
    listed = list(members)
    if len(listed) <= _ON_ONE_LINE:
        return f"[ {', '.join(listed)} ]"
    return "[\n    " + ",\n    ".join(listed) + "\n  ]"


def of_family(networks: Iterable[Network], family: Family) -> list[Network]:
    """Those of one family, each once, in the order of their addresses."""
    chosen = {network for network in networks if network.version == family}
    return sorted(chosen, key=lambda network: (int(network.network_address), network.prefixlen))
