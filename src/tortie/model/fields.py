"""The types of single fields: what Calico writes as text becomes a value that can be reasoned with.

Each type has one way in, `parse`, which either returns the value or raises `BadField` with the reason and what
would be right. Addresses are those of `ipaddress`.
"""

from __future__ import annotations

import functools
import ipaddress
import re
import warnings
from abc import ABC
from ipaddress import IPv4Address, IPv4Interface, IPv4Network, IPv6Address, IPv6Interface, IPv6Network
from typing import TYPE_CHECKING, Any, ClassVar, Self

from tortie.model import durations, selector
from tortie.model.errors import TortieError
from tortie.model.kinds import nearest

if TYPE_CHECKING:
    IPAddress = IPv4Address | IPv6Address
    IPNetwork = IPv4Network | IPv6Network
    CIDR = IPv4Network | IPv6Network
    IPInterface = IPv4Interface | IPv6Interface
else:
    # msgspec allows one custom type in a union; an abstract class with both families as its members is one type.
    class IPAddress(ABC): ...  # noqa: B024

    class IPNetwork(ABC): ...  # noqa: B024

    class CIDR(ABC): ...  # noqa: B024

    class IPInterface(ABC): ...  # noqa: B024

    for _family in (4, 6):
        IPAddress.register(getattr(ipaddress, f"IPv{_family}Address"))
        IPNetwork.register(getattr(ipaddress, f"IPv{_family}Network"))
        CIDR.register(getattr(ipaddress, f"IPv{_family}Network"))
        IPInterface.register(getattr(ipaddress, f"IPv{_family}Interface"))


class BadField(ValueError):
    """A field's value that cannot be what it has to be."""

    def __init__(self, why: str, right: str = "") -> None:
        super().__init__(why)
        self.right = right


class Selector(str):
    """A selector's text; `parsed` is its meaning."""

    @classmethod
    def parse(cls, raw: object) -> Selector:
        text = _text(raw, "a selector", "for example all() or role == 'db'")
        try:
            selector.parse(text)
        except TortieError as error:
            raise BadField(str(error), error.fix) from None
        return cls(text)

    @property
    def parsed(self) -> selector.Selector:
        return selector.parse(self)


class ASNumber(int):
    """An autonomous system: 1 to 4294967295, also written high.low."""

    @classmethod
    def parse(cls, raw: object) -> ASNumber:
        right = "a number from 1 to 4294967295, for example 64512, or the dotted form 1.10"
        text = str(raw)
        high, dot, low = text.partition(".")
        if isinstance(raw, bool | float) or not re.fullmatch(r"\d{1,10}(\.\d{1,5})?", text, re.ASCII):
            raise BadField("is not an AS number", right)
        if dot and (int(high) > 65535 or int(low) > 65535):
            raise BadField("each half of a dotted AS number is at most 65535", right)
        number = int(high) * 65536 + int(low) if dot else int(text)
        if not 0 < number <= 0xFFFFFFFF:
            raise BadField("is outside of the range of AS numbers", right)
        return cls(number)


class Protocol(str):
    """A transport protocol: a name in Calico's spelling, or a number from 1 to 255."""

    NAMES = ("TCP", "UDP", "ICMP", "ICMPv6", "SCTP", "UDPLite")

    @classmethod
    def parse(cls, raw: object) -> Protocol:
        text = str(raw)
        number = re.fullmatch(r"\d{1,3}", text, re.ASCII) and 0 < int(text) < 256
        if isinstance(raw, bool | float) or not (number or raw in cls.NAMES):
            near = nearest(text, cls.NAMES)
            right = f"one of {', '.join(cls.NAMES)} or a number from 1 to 255"
            raise BadField("is not a protocol", f"did you mean {near}?" if near else right)
        return cls(text)

    @property
    def is_icmp(self) -> bool:
        return self in ("ICMP", "1")

    @property
    def is_icmpv6(self) -> bool:
        return self in ("ICMPv6", "58")

    @property
    def has_ports(self) -> bool:
        return self in ("TCP", "UDP", "SCTP", "6", "17", "132")


class Port(str):
    """A port, a range `first:last`, or the name of a port."""

    @classmethod
    def parse(cls, raw: object) -> Port:
        right = "a port from 1 to 65535, a range as in 8000:8010, or the name of a port"
        if isinstance(raw, bool | float) or not isinstance(raw, int | str):
            raise BadField("is not a port", right)
        text = str(raw)
        bounds = text.split(":")
        if all(re.fullmatch(r"\d+", bound, re.ASCII) for bound in bounds) and len(bounds) <= 2:
            if not all(0 < int(bound) < 65536 for bound in bounds):
                raise BadField("a port is from 1 to 65535", right)
            if int(bounds[0]) > int(bounds[-1]):
                raise BadField("the range ends before it begins", f"{bounds[-1]}:{bounds[0]}")
        elif not re.fullmatch(r"[a-zA-Z0-9_.-]{1,128}", text):
            raise BadField("is neither a port, nor a range, nor a port's name", right)
        return cls(text)

    @property
    def is_named(self) -> bool:
        return not self.replace(":", "").isdigit()


class DSCP(str):
    """A packet's traffic class: a number from 0 to 63, or the name of one."""

    NAMES = (
        "DF",
        "EF",
        *(f"AF{band}{drop}" for band in range(1, 5) for drop in range(1, 4)),
        *(f"CS{band}" for band in range(7)),
    )

    @classmethod
    def parse(cls, raw: object) -> DSCP:
        text = str(raw)
        number = not isinstance(raw, bool | float) and re.fullmatch(r"\d{1,2}", text, re.ASCII) and int(text) < 64
        if not number and not (isinstance(raw, str) and raw.upper() in cls.NAMES):
            raise BadField("is not a DSCP value", f"a number from 0 to 63, or one of {', '.join(cls.NAMES)}")
        return cls(text if number else text.upper())


class Choice(str):
    """One of a few words, which people may write in any case. The value has the documented spelling.

    So has what is stored, because calicoctl refuses any other; unless it is one of those that it stores `as_written`.
    """

    names: ClassVar[tuple[str, ...]]
    as_written: ClassVar[bool] = False

    @classmethod
    def parse(cls, raw: object) -> Self:
        for name in cls.names:
            if isinstance(raw, str) and raw.lower() == name.lower():
                return cls(name)
        near = nearest(str(raw), cls.names)
        right = f"did you mean {near}?" if near else f"for example {cls.names[0]}"
        raise BadField(f"must be one of {', '.join(filter(None, cls.names))}", right)


class LogLevel(Choice):
    names = ("Trace", "Debug", "Info", "Warning", "Error", "Fatal")


class Shaped(str):
    """Text that follows a pattern."""

    form: ClassVar[str]
    what: ClassVar[str]
    right: ClassVar[str]

    @classmethod
    def parse(cls, raw: object) -> Self:
        if not isinstance(raw, str) or not re.fullmatch(cls.form, raw):
            raise BadField(f"is not {cls.what}", cls.right)
        return cls(raw)


class Duration(Shaped):
    """A span of time in Go's form: 90s, 1m30s, 500ms."""

    form = r"[-+]?(0|(([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)"
    what = "a duration"
    right = "a number with its unit, for example 30s, 1m30s or 500ms"

    @property
    def seconds(self) -> float:
        return durations.nanoseconds(self) / 1e9


class MACAddress(Shaped):
    form = r"[0-9a-fA-F]{2}([:-][0-9a-fA-F]{2}){5}"
    what = "a MAC address"
    right = "six hexadecimal bytes, for example ee:ee:ee:ee:ee:ee"


class InterfaceName(Shaped):
    form = r"[a-zA-Z0-9_.-]{1,15}|\*"
    what = "the name of a Linux interface"
    right = "at most 15 letters, digits, _ . or -, or *"


class InterfacePattern(Shaped):
    """The name of an interface in BIRD's way, where * stands for any characters."""

    form = r"[a-zA-Z0-9_.*-]{1,15}"
    what = "an interface or a pattern of interfaces"
    right = "at most 15 letters, digits, _ . - and *, for example eth*"


class InterfaceFilter(Shaped):
    """The name of an interface in iptables' way, where + at the end stands for any characters."""

    form = r"[a-zA-Z0-9:._+-]{1,15}"
    what = "an interface or a filter of interfaces"
    right = "at most 15 letters, digits, : . _ - and +, for example eth+"


class WireguardKey(Shaped):
    form = r"[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]="
    what = "a WireGuard public key"
    right = "44 characters of base64, as `wg pubkey` prints them"


class Name(str):
    """The name of a resource: labels of lower-case letters, digits and dashes, joined by dots."""

    LENGTH_MAX = 253

    @classmethod
    def parse(cls, raw: object) -> Name:
        text = _text(raw, "a name", "for example node1")
        if len(text) > cls.LENGTH_MAX:
            raise BadField(f"has {len(text)} characters", f"at most {cls.LENGTH_MAX}")
        if not _NAME.fullmatch(text):
            right = "lower-case letters, digits, - and ., beginning and ending with a letter or digit"
            lowered = re.sub(r"[^a-z0-9.-]+", "-", text.lower()).strip("-.")
            hint = f"; for example {lowered}" if _NAME.fullmatch(lowered) else ""
            raise BadField("is not a valid name", right + hint)
        return cls(text)


_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_NAME = re.compile(rf"{_LABEL}(\.{_LABEL})*")


class PeerAddress(str):
    """A BGP neighbour: an address, optionally with a port: 10.0.0.1, 10.0.0.1:1790, [fd00::1]:1790."""

    @classmethod
    def parse(cls, raw: object) -> PeerAddress:
        right = "an address, optionally with a port: 10.0.0.1:1790 or [fd00::1]:1790"
        text = _text(raw, "an address", right)
        address, port = cls._split(text)
        try:
            parse_field(IPAddress, address)
        except BadField:
            raise BadField("is not an IP address", right) from None
        if port is not None and not (re.fullmatch(r"\d{1,5}", port, re.ASCII) and 0 < int(port) < 65536):
            raise BadField("the port is not from 1 to 65535", right)
        return cls(text)

    @staticmethod
    def _split(text: str) -> tuple[str, str | None]:
        if bracketed := re.fullmatch(r"\[(.*)\]:(.*)", text):
            return bracketed[1], bracketed[2]
        if text.count(":") == 1:
            address, _, port = text.partition(":")
            return address, port
        return text, None

    @property
    def address(self) -> IPAddress:
        return ipaddress.ip_address(self._split(self)[0])

    @property
    def port(self) -> int | None:
        port = self._split(self)[1]
        return int(port) if port else None


class RegularExpression(str):
    """A pattern in Go's dialect, which is checked as far as Python's agrees with it."""

    @classmethod
    def parse(cls, raw: object) -> RegularExpression:
        text = _text(raw, "a regular expression", "for example ^en.*")
        if _PYTHON_ONLY.search(text):
            raise BadField("Go's regular expressions have no look-around and no back-references", "for example ^en.*")
        if not _GO_ONLY.search(text):
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    re.compile(text)
            except re.error as error:
                raise BadField(f"is not a regular expression: {error}", "for example ^en.*") from None
        return cls(text)


_PYTHON_ONLY = re.compile(r"(?<!\\)(\(\?([=!#(]|<[=!]|P=)|\\[1-9])")
_GO_ONLY = re.compile(r"\\[pPzQEC]|\[\[:|.\(\?[imsU-]+[:)]|\(\?[imsU-]*U")


def _text(raw: object, what: str, right: str) -> str:
    if not isinstance(raw, str):
        raise BadField(f"is not text but {type(raw).__name__}; {what} is needed", right)
    return raw


_ADDRESSES: dict[Any, tuple[Any, str, str]] = {
    IPAddress: (ipaddress.ip_address, "an IP address", "for example 10.0.0.1 or fd00::1"),
    IPv4Address: (IPv4Address, "an IPv4 address", "for example 10.0.0.1"),
    IPv6Address: (IPv6Address, "an IPv6 address", "for example fd00::1"),
    IPInterface: (ipaddress.ip_interface, "an address with its network", "for example 10.0.0.11/24"),
    IPv4Interface: (IPv4Interface, "an IPv4 address with its network", "for example 10.0.0.11/24"),
    IPv6Interface: (IPv6Interface, "an IPv6 address with its network", "for example fd00::11/64"),
    IPNetwork: (ipaddress.ip_network, "a CIDR", "for example 192.168.0.0/16"),
    CIDR: (ipaddress.ip_network, "a CIDR", "for example 192.168.0.0/16"),
    IPv4Network: (IPv4Network, "an IPv4 CIDR", "for example 192.168.0.0/16"),
    IPv6Network: (IPv6Network, "an IPv6 CIDR", "for example fd00:10:244::/64"),
}


def parse_field(kind: Any, raw: object) -> Any:
    """The way from the wire into any of these types; msgspec calls it for the types it does not know itself."""
    if kind not in _ADDRESSES:
        return kind.parse(raw)
    _, what, right = _ADDRESSES[kind]
    return _address(kind, _text(raw, what, right))


@functools.lru_cache(maxsize=4096)
def _address(kind: Any, text: str) -> Any:
    """Remembered, because a document is read several times on its way to the store."""
    make, what, right = _ADDRESSES[kind]
    # Python also knows 10.0.0.0/255.0.0.0 and fe80::1%eth0, which Calico does not.
    if not re.fullmatch(r"[0-9a-fA-F.:]+(/[0-9]{1,3})?", text):
        raise BadField(f"is not {what}", right)
    try:
        value = make(text)
    except ValueError:
        pass
    else:
        if kind is CIDR and "/" not in text:
            raise BadField("the length of the prefix is missing", str(value))
        return value
    if kind in (IPNetwork, CIDR, IPv4Network, IPv6Network):
        try:
            masked = make(text, strict=False)
        except ValueError:
            pass
        else:
            raise BadField("the CIDR has host bits set", f"{masked}, or {text.split('/')[0]}/{masked.max_prefixlen}")
    raise BadField(f"is not {what}", right)


def print_field(value: object) -> object:
    """The way back onto the wire."""
    numeric = isinstance(value, ASNumber) or (isinstance(value, Port | Protocol | DSCP) and value.isdigit())
    return int(value) if numeric else str(value)  # type: ignore[call-overload]


def is_text(kind: Any) -> bool:
    """Whether the type is one of these that are written as text, so that "" can only mean: not set."""
    return kind in _ADDRESSES or (isinstance(kind, type) and issubclass(kind, str) and kind is not str)
