"""Calico's releases, as far as an address choice depends on them."""

from __future__ import annotations

import re
from typing import Final, NamedTuple, Self

from tortie.model.errors import UsageError


class BadVersion(UsageError):
    """A text that names no release of Calico."""

    code = "invalid"

    def __init__(self, text: str) -> None:
        self.text = text
        super().__init__(f"not a version of Calico: {text!r}", _lacking(text.strip()), "write it as v3.24.2")


class CalicoVersion(NamedTuple):
    major: int
    minor: int
    patch: int = 0

    @classmethod
    def parse(cls, text: str) -> Self:
        """Reads v3.24.2, 3.20 and development builds such as v3.25.0-0.dev-12, which count as their release."""
        found = re.fullmatch(r"v?([0-9]{1,4})\.([0-9]{1,4})(?:\.([0-9]{1,4}))?(?:[-+].*)?", text.strip())
        if found is None:
            raise BadVersion(text)
        return cls(*(int(part or 0) for part in found.groups()))

    def __str__(self) -> str:
        return f"v{self.major}.{self.minor}.{self.patch}"


# The newest release whose behaviour has been looked up.
LATEST: Final = CalicoVersion(3, 32, 1)

CIDR_SINCE: Final = CalicoVersion(3, 16)
INTERNAL_IP_SINCE: Final = CalicoVersion(3, 22)
# An IPv4 address without a prefix length gets the one of its interface; before, and for IPv6, it stands alone.
INTERFACE_PREFIX_SINCE: Final = CalicoVersion(3, 18)


def _lacking(text: str) -> str:
    """What keeps a text from being major.minor or major.minor.patch."""
    if not text:
        return "nothing is written"
    major = re.match(r"v?[0-9]+", text)
    if major is None:
        return "it does not begin with the number of a release, major.minor"
    rest = text[major.end() :]
    if re.match(r"\.[0-9]+", rest):
        return "only a third number, the patch, may follow major.minor"
    if rest in ("", "."):
        return "the minor number is missing: a release is at least major.minor"
    if rest.startswith("."):
        return f"the minor number is missing: {rest[1:]!r} is none, and a release is at least major.minor"
    return f"the minor number is missing: a full stop and a number have to follow {major.group()}"


def invalid_method(text: str, version: CalicoVersion = LATEST) -> str:
    """What Calico logs before it ends; the word was misspelt for years."""
    word = "autodetection" if version >= (3, 9, 0) else "autodection"
    return f"Invalid IP {word} method: {text}"


def loses_host_bits(version: CalicoVersion) -> bool:
    """Whether kubernetes-internal-ip registers 10.0.0.0/24 for a node at 10.0.0.5/24, as its first releases did."""
    return INTERNAL_IP_SINCE <= version < (3, 22, 4) or (3, 23, 0) <= version < (3, 23, 2)
