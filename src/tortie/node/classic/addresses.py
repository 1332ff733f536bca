"""Which address the release that is played takes: its own table of settings, stored address and autodetection. Pure.

Settings are taken as a person wrote them, because what cannot be meant ends that start only here, in its own words
and in its order: what was said before it stands in the log.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from tortie.addressing.calico import choose_like_calico, since
from tortie.addressing.choice import Choice, Surroundings
from tortie.addressing.decision import AddressDecision, Source, variable
from tortie.addressing.exclusions import exclusions
from tortie.addressing.methods import FIRST_FOUND, Agreed, BadMethod, CanReach, parse_method
from tortie.addressing.patterns import BadPattern, Patterns
from tortie.addressing.versions import INTERFACE_PREFIX_SINCE, CalicoVersion, invalid_method
from tortie.model.network import CIDR, Family
from tortie.node.classic.release import Release
from tortie.node.classic.words import GoError
from tortie.node.classic.words_of_go import Ends, Line, cidr_or_ip, go_ip
from tortie.node.decisions import Addressed

FAMILIES: Final[tuple[Family, ...]] = (4, 6)


class Found(NamedTuple):
    """With `failed` the start ends, and a node that was stored before is first rid of its address; with `ended` the
    start ends as it is. `addresses` is what stood in the record by then, in memory."""

    lines: tuple[Line, ...]
    addressed: tuple[Addressed, ...] = ()
    addresses: Mapping[Family, CIDR | None] = {}
    changed: bool = False
    failed: bool = False
    ended: bool = False


def destinations(environment: Mapping[str, str]) -> list[tuple[str, Family]]:
    """What the kernel has to be asked first."""
    found = []
    for family in FAMILIES:
        try:
            method = parse_method(_method_text(environment, family), FIRST_FOUND)
        except BadMethod:
            continue
        if isinstance(method, CanReach):
            found.append((method.destination, family))
    return found


def find_addresses(
    environment: Mapping[str, str], stored: Mapping[Family, CIDR], surroundings: Surroundings, release: Release
) -> Found:
    """IPv4, and IPv6 where somebody asks for it or it is stored."""
    walk = _Walk(environment, stored, surroundings, release)
    try:
        changed = walk.whole()
    except _Undetected:
        return Found(tuple(walk.lines), addresses=walk.values, failed=True)
    except Ends as over:
        return Found((*walk.lines, *over.lines), addresses=walk.values, ended=True)
    return Found(tuple(walk.lines), walk.addressed(), walk.values, changed)


class _Undetected(Exception):
    """Nothing was found, and nothing is stored."""


class _Walk:
    def __init__(
        self,
        environment: Mapping[str, str],
        stored: Mapping[Family, CIDR],
        surroundings: Surroundings,
        release: Release,
    ) -> None:
        self._environment = environment
        self._stored = stored
        # Calico meets the interface with the highest index first, wherever it looks an address up.
        self._network = surroundings.network._replace(interfaces=surroundings.network.interfaces[::-1])
        self._surroundings = surroundings
        self._release = release
        self._version = CalicoVersion(*release)
        self._choices: dict[Family, Choice] = {}
        self._sources: dict[Family, Source] = {}
        self.values: dict[Family, CIDR | None] = dict(stored)
        self.lines: list[Line] = []

    def whole(self) -> bool:
        """Whether an address changed."""
        for family in FAMILIES:
            self._family(family)
        if self._release.knows_none and not self._release.wants_an_address and self._nobody_asks():
            raise Ends(Line("warning", "No IP Addresses configured, and autodetection is not enabled"))
        changed = next((family for family in FAMILIES if self._is_changed(family)), None)
        if changed:
            self._say("info", f"Node IPv{changed} changed, will check for conflicts")
        if self._release.wants_an_address and not any(self.values.values()):
            self._without_addresses()
        return changed is not None

    def addressed(self) -> tuple[Addressed, ...]:
        return tuple(
            Addressed(family, self._choices.get(family), self._decision(family, cidr))
            for family, cidr in self.values.items()
            if cidr is not None
        )

    def _decision(self, family: Family, cidr: CIDR) -> AddressDecision:
        owned = self._network.owner(cidr.ip)
        source = self._sources.get(family, "stored")
        changed = cidr != self._stored.get(family)
        return AddressDecision(cidr, owned[0].name if owned else "", source, changed, owned is not None)

    def _family(self, family: Family) -> None:
        told = self._environment.get(variable(family), "")
        before = self.values.get(family)
        if told == "autodetect" or (family == 4 and not told and before is None):
            self._detect(family, before)
        elif told == "none" and self._release.knows_none:
            if before is not None and self._release.tells_disabled:
                self._say("info", f"Autodetection for IPv{family} disabled, keeping existing value: {before}")
                self._confirm(family)
        else:
            if told:
                self._take(family, told)
            self._confirm(family)

    def _detect(self, family: Family, before: CIDR | None) -> None:
        choice = self._chosen(family)
        if choice is not None:
            self._choices[family] = choice
            self.lines += [Line(message.level, message.text) for message in choice.messages]
        if choice is not None and choice.chosen is not None:
            self.values[family] = choice.chosen
            self._sources[family] = "autodetected"
        elif before is None:
            nothing = f"Couldn't autodetect an IPv{family} address. If auto-detecting, choose a different autodetection"
            self._say("warning", f"{nothing} method. Otherwise provide an explicit address.")
            raise _Undetected
        else:
            kept = f"Autodetection of IPv{family} address failed, keeping existing value: {before}"
            self._say("warning", kept)
            self._confirm(family)

    def _chosen(self, family: Family) -> Choice | None:
        """None for a method that is known, but not with that value."""
        text = _method_text(self._environment, family)
        try:
            method = parse_method(text, FIRST_FOUND)
        except BadMethod as error:
            if not error.what.startswith("Invalid IP auto"):
                self._refuse(family, text, error)
                return None
            method = Agreed()
        if isinstance(method, Agreed) or self._version < since(method):
            raise Ends(Line("error", invalid_method(text, self._version)))
        return choose_like_calico(method, family, self._surroundings, self._version)

    def _refuse(self, family: Family, text: str, error: BadMethod) -> None:
        name, _, value = text.partition("=")
        if name == "cidr":
            self._say("error", error.what)
            return
        patterns = re.split(r"\s*,\s*", value)
        excluding = name == "skip-interface"
        why = str(error.why)
        try:
            Patterns((*exclusions(self._version), *patterns) if excluding else patterns)
        except BadPattern as refused:
            why = str(refused)
        self._say("warning", "Invalid interface regex", error=GoError(why))
        how = "while excluding" if excluding else "using interface regexes"
        shown = " ".join(patterns)
        self._say("warning", f"Unable to auto-detect an IPv{family} address {how} [{shown}]: {why}")

    def _take(self, family: Family, told: str) -> None:
        text = self._with_prefix(told) if family == 4 and self._version >= INTERFACE_PREFIX_SINCE else told
        cidr = cidr_or_ip(text)
        name = variable(family)
        if cidr is None or cidr.version != family:
            raise Ends(Line("warning", f"Environment does not contain a valid IPv{family} address: {name}={text}"))
        self._say("info", f"Using IPv{family} address from environment: {name}={text}")
        self.values[family] = cidr
        self._sources[family] = "environment"

    def _with_prefix(self, told: str) -> str:
        """An IPv4 address with the prefix length of its interface."""
        if "/" in told:
            return told
        ip = go_ip(told)
        if ip is None or ip.version != 4:
            self._say("warning", f"Attempt to get the local CIDR: {told} failed, {told} is invalid.")
            return told
        owned = self._network.owner(ip)
        if owned is None:
            self._say("warning", f"Unable to find matching host interface for IP {told}")
            return told
        self._say("info", "Including CIDR information from host interface.", CIDR=str(owned[1].cidr))
        return str(owned[1].cidr)

    def _confirm(self, family: Family) -> None:
        cidr = self.values.get(family)
        if cidr is None:
            return
        owned = self._network.owner(cidr.ip)
        if owned:
            level = "debug" if self._release.confirms_quietly else "info"
            self._say(level, f"IPv{family} address {cidr.ip} discovered on interface {owned[0].name}")
        else:
            self._say("warning", f"Unable to confirm IPv{family} address {cidr.ip} is assigned to this host")

    def _is_changed(self, family: Family) -> bool:
        before, now = self._stored.get(family), self.values.get(family)
        if self._release.bare and before is not None and now is not None:
            return before.ip != now.ip
        return before != now

    def _nobody_asks(self) -> bool:
        return self._environment.get("IP", "") == "none" and self._environment.get("IP6", "") in ("", "none")

    def _without_addresses(self) -> None:
        what = "No IPv4 or IPv6 addresses configured or detected"
        if self._environment.get("CALICO_NETWORKING_BACKEND") != "none":
            raise Ends(Line("error", f"{what}, required for Calico networking"))
        level = "info" if self._release >= (3, 24) else "warning"
        self._say(level, f"{what}. Some features may not work properly.")

    def _say(self, level: str, text: str, **fields: object) -> None:
        self.lines.append(Line(level, text, fields))


def _method_text(environment: Mapping[str, str], family: Family) -> str:
    return environment.get(f"{variable(family)}_AUTODETECTION_METHOD", "")
