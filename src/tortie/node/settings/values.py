"""What a single value means: to the person who wrote it, and to Calico, where that is something else.

Each parser returns what is meant, with a warning where Calico would understand something else, or raises `BadField`
where nothing can be meant.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from ipaddress import IPv4Address, ip_network
from typing import Final, Literal

from tortie.model import selector
from tortie.model.errors import TortieError
from tortie.model.fields import ASNumber, BadField, Duration
from tortie.model.kinds import nearest
from tortie.model.network import Family, Network
from tortie.node.settings.setting import Meant
from tortie.node.settings.switches import FALSE, KEEP_RULE, TRUE, switch

Mode = Literal["Never", "Always", "CrossSubnet"]
Backend = Literal["bird", "vxlan", "none"]
NO_POOL: Final = "none"

_LEVELS: Final = ("panic", "fatal", "error", "warning", "info", "debug", "trace")
_BACKENDS: Final[tuple[Backend, ...]] = ("bird", "vxlan", "none")
_MODES: Final[dict[str, Mode]] = {
    "off": "Never",
    "never": "Never",
    "crosssubnet": "CrossSubnet",
    "cross-subnet": "CrossSubnet",
    "always": "Always",
}
_BLOCK_SIZES: Final[dict[Family, range]] = {4: range(20, 33), 6: range(116, 129)}
_LINK_LOCAL: Final = {4: ip_network("169.254.0.0/16"), 6: ip_network("fe80::/10")}
_SPAN_MAX: Final = 290 * 365 * 86400.0  # what Go's durations hold
_SPAN_LENGTH_MAX: Final = 60
_DECIMAL: Final = r"[-+]?(\d{1,15}\.?\d{0,15}|\.\d{1,15})"
_UID_MAX: Final = 0xFFFFFFFE


def old_networking(text: str) -> Meant[Backend]:
    """CALICO_NETWORKING, which stood here before the backend had a name."""
    if text.lower() in _BACKENDS and text.lower() != "none":
        raise BadField("is the name of a backend, not true or false", f"CALICO_NETWORKING_BACKEND={text.lower()}")
    meant = switch(KEEP_RULE)(text)
    backend: Backend = "bird" if meant.value else "none"
    why = meant.why or "this is the old form of CALICO_NETWORKING_BACKEND"
    return Meant(backend, why, f"CALICO_NETWORKING_BACKEND={backend}")


def backend(text: str) -> Meant[Backend]:
    for known in _BACKENDS:
        if text.lower() == known:
            # Whatever Calico does not know is BIRD there, so any spelling of bird is right by accident.
            same = known in (text, "bird")
            why = f"Calico knows only the lower-case form and would run BIRD; Tortie takes {known}"
            return Meant(known) if same else Meant(known, why, known)
    if text in ("gobgp", "windows-bgp"):
        why = "is a backend of other systems or earlier releases; Calico would run BIRD"
        raise BadField(why, "bird, vxlan or none")
    near = nearest(text, _BACKENDS)
    why = "is not a backend; Calico would run BIRD without a word"
    raise BadField(why, f"did you mean {near}?" if near else "bird, vxlan or none")


def level(text: str) -> Meant[str]:
    word = "warning" if text.lower() == "warn" else text.lower()
    if word in _LEVELS:
        return Meant(word)
    # As in Calico, a log level is no reason not to start.
    near = nearest(word, _LEVELS)
    right = f"did you mean {near}?" if near else f"one of {', '.join(_LEVELS)}"
    return Meant("info", "is not a log level; info is used instead, as in Calico", right)


def interval(text: str) -> Meant[float]:
    """Go's duration, in seconds. What cannot be used becomes 60 s with a warning, as in Calico."""
    if re.fullmatch(r"\d{1,9}(\.\d+)?", text, re.ASCII) and float(text) > 0:
        why = f"has no unit, so that Calico would use 60s; Tortie takes it for {text} seconds"
        return Meant(float(text), why, f"{text}s")
    try:
        seconds = span(text)
    except BadField as error:
        return Meant(60.0, f"{error}; 60s is used instead, as in Calico", error.right)
    if seconds <= 0:
        return Meant(60.0, "is not a positive span of time; 60s is used instead", Duration.right)
    return Meant(seconds)


def span(text: str) -> float:
    """The seconds that a duration of Go's stands for."""
    if len(text) > _SPAN_LENGTH_MAX:
        raise BadField(f"is not {Duration.what}", Duration.right)
    seconds = Duration.parse(text).seconds
    if abs(seconds) > _SPAN_MAX:
        raise BadField("is longer than Go's durations can be", Duration.right)
    return seconds


def duration(text: str) -> Meant[float]:
    return Meant(span(text))


def seconds(text: str) -> Meant[float]:
    """A span for Felix, which reads plain seconds where everything else of Calico reads 90s."""
    if text == "none":
        return Meant(0.0)
    if re.fullmatch(_DECIMAL, text, re.ASCII):
        return Meant(float(text))
    try:
        length = span(text)
    except BadField:
        raise BadField("is not a number of seconds", "for example 90") from None
    return Meant(length, "Felix reads plain seconds here and would take its default instead", f"{length:g}")


def as_number(text: str) -> Meant[int]:
    if bare := re.fullmatch(r"AS ?([\d.]+)", text, re.I | re.ASCII):
        ASNumber.parse(bare[1])
        raise BadField("is not an AS number in Calico's form", bare[1])
    return Meant(int(ASNumber.parse(text)))


def port(text: str) -> Meant[int]:
    if not re.fullmatch(r"\d{1,5}", text, re.ASCII) or not 0 < int(text) < 65536:
        raise BadField("is not a port", "a number from 1 to 65535")
    return Meant(int(text))


def host(text: str) -> Meant[str]:
    if bracketed := re.fullmatch(r"\[([0-9a-fA-F:.]+)\]", text):
        raise BadField("an address stands here without brackets", bracketed[1])
    if not re.fullmatch(r"[a-zA-Z0-9:._+-]{1,64}", text):
        raise BadField("is not a host name or an address", "for example localhost, 127.0.0.1 or ::1")
    return Meant(text)


def user_id(text: str) -> Meant[int]:
    if not re.fullmatch(r"\d{1,10}", text, re.ASCII) or int(text) > _UID_MAX:
        raise BadField("is not a user id", "a number, for example 1000")
    return Meant(int(text))


def number(text: str) -> Meant[float]:
    if text == "none" or re.fullmatch(_DECIMAL, text, re.ASCII):
        return Meant(0.0 if text == "none" else float(text))
    try:
        return Meant(float(int(text, 0)))
    except (ValueError, OverflowError):
        raise BadField("is not a number", "for example 1440") from None


def router_id(text: str) -> Meant[str]:
    if text.lower() == "hash":
        why = "" if text == "hash" else "Calico knows only the lower-case form; Tortie takes it for hash"
        return Meant("hash", why, "hash" if why else "")
    try:
        return Meant(str(IPv4Address(text)))
    except ValueError:
        right = "an IPv4 address, for example 10.0.0.1, or hash for one made from the node's name"
        raise BadField("is not a BGP router id, which has the form of an IPv4 address", right) from None


def words(text: str) -> Meant[tuple[str, ...]]:
    return Meant(tuple(word.strip() for word in text.split(",") if word.strip()))


def plain(text: str) -> Meant[str]:
    return Meant(text)


def mode(text: str) -> Meant[Mode]:
    if found := _MODES.get(text.lower()):
        return Meant(found)
    if text.lower() in (*TRUE, "enabled"):
        raise BadField("is not a mode", "Always, or CrossSubnet")
    if text.lower() in (*FALSE, "disabled"):
        raise BadField("is not a mode", "Never")
    near = nearest(text, ("Never", "CrossSubnet", "Always"))
    raise BadField("is not a mode", f"did you mean {near}?" if near else "Never, CrossSubnet or Always")


def block_size(family: Family) -> Callable[[str], Meant[int]]:
    sizes = _BLOCK_SIZES[family]

    def parse(text: str) -> Meant[int]:
        bare = text.removeprefix("/")
        if re.fullmatch(r"\d{1,3}", bare, re.ASCII) and int(bare) in sizes:
            if bare == text:
                return Meant(int(bare))
            raise BadField("the length of a prefix stands here without a slash", bare)
        why = f"is not the size of a block, which is from {sizes[0]} to {sizes[-1]} for IPv{family}"
        raise BadField(why, "26 is the default" if family == 4 else "122 is the default")

    return parse


def node_selector(text: str) -> Meant[str]:
    try:
        selector.parse(text)
    except TortieError as error:
        raise BadField(str(error), error.fix) from None
    return Meant(text)


def pool_cidr(family: Family) -> Callable[[str], Meant[Network | str]]:
    other = 10 - family
    example = "10.244.0.0/16" if family == 4 else "fd00:10:244::/64"

    def parse(text: str) -> Meant[Network | str]:
        if text.lower() == NO_POOL:
            why = "" if text == NO_POOL else "Calico knows only the lower-case form and would end"
            return Meant(NO_POOL, why, NO_POOL if why else "")
        if "," in text or " " in text:
            right = f"one of them here; CALICO_IPV{other}POOL_CIDR for IPv{other}; more pools with `tortie apply`"
            raise BadField("is more than one CIDR", right)
        network = _network(text, example)
        if network.version != family:
            raise BadField(f"is an IPv{network.version} CIDR", f"CALICO_IPV{other}POOL_CIDR={network}")
        if network.overlaps(_LINK_LOCAL[family]):
            raise BadField(f"overlaps the link-local range {_LINK_LOCAL[family]}", f"for example {example}")
        if text.partition("/")[0] != str(network.network_address) and _has_host_bits(text):
            return Meant(network, f"has host bits set; used as {network}, as in Calico", str(network))
        return Meant(network)

    return parse


def cidr(text: str) -> Meant[Network]:
    return Meant(_network(text, "10.96.0.0/12"))


def _network(text: str, example: str) -> Network:
    # Python also knows 10.0.0.0/255.0.0.0 and fe80::1%eth0/64, which Calico does not.
    if not re.fullmatch(r"[0-9a-fA-F.:]+/[0-9]{1,3}", text):
        missing = re.fullmatch(r"[0-9a-fA-F.:]+", text)
        why = "the length of the prefix is missing" if missing and _is_network(text) else "is not a CIDR"
        raise BadField(why, f"for example {example}")
    try:
        return ip_network(text, strict=False)
    except ValueError:
        raise BadField("is not a CIDR", f"for example {example}") from None


def _is_network(text: str) -> bool:
    try:
        ip_network(text)
    except ValueError:
        return False
    return True


def _has_host_bits(text: str) -> bool:
    return not _is_network(text)
