"""The rules of policies and profiles: what a packet has to look like, and what happens to it then."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from tortie.model.errors import Problem
from tortie.model.fields import CIDR, Name, Port, Protocol, Selector
from tortie.model.resources.checks import misplaced_global, outside, repeated, too_long, too_many, under
from tortie.model.shape import Part

Action = Literal["Allow", "Deny", "Log", "Pass"]
Direction = Literal["ingress", "egress"]

_EVERYTHING = ("0.0.0.0/0", "::/0")
_BESIDES_SERVICES = ("selector", "notSelector", "namespaceSelector", "nets", "notNets", "serviceAccounts")


class ICMPFields(Part, frozen=True, kw_only=True):
    type: int | None = None
    code: int | None = None

    def problems(self) -> Iterator[Problem]:
        yield from outside(self, {"type": (0, 254), "code": (0, 255)})
        if self.code is not None and self.type is None:
            yield Problem("code", self.code, "ICMP code specified without an ICMP type", "set the type too")


class ServiceMatch(Part, frozen=True, kw_only=True):
    name: Name = Name("")
    namespace: Name = Name("")


class ServiceAccountMatch(Part, frozen=True, kw_only=True):
    names: tuple[str, ...] = ()
    selector: Selector = Selector("")


class HTTPPath(Part, frozen=True, kw_only=True):
    exact: str = ""
    prefix: str = ""

    def problems(self) -> Iterator[Problem]:
        if bool(self.exact) == bool(self.prefix):
            why = "both exact and prefix are set" if self.exact else "neither exact nor prefix is set"
            yield Problem("exact", self.exact, why, "set one of the two")
        for name, path in (("exact", self.exact), ("prefix", self.prefix)):
            if path and (not path.startswith("/") or set(path) & set("? #")):
                right = "a path that starts with / and has no blank, ? or #"
                yield Problem(name, path, "is not the path of an HTTP request", right)


class HTTPMatch(Part, frozen=True, kw_only=True):
    methods: tuple[str, ...] = ()
    paths: tuple[HTTPPath, ...] = ()

    def problems(self) -> Iterator[Problem]:
        yield from repeated("methods", self.methods)
        yield from too_many(self, {"methods": 20, "paths": 20})
        for index, path in enumerate(self.paths):
            yield from under(f"paths[{index}]", path.problems())


class RuleMetadata(Part, frozen=True, kw_only=True):
    annotations: dict[str, str] = {}


class EntityRule(Part, frozen=True, kw_only=True):
    """One end of a packet's way."""

    nets: tuple[CIDR, ...] = ()
    selector: Selector = Selector("")
    namespaceSelector: Selector = Selector("")
    services: ServiceMatch | None = None
    ports: tuple[Port, ...] = ()
    notNets: tuple[CIDR, ...] = ()
    notSelector: Selector = Selector("")
    notPorts: tuple[Port, ...] = ()
    serviceAccounts: ServiceAccountMatch | None = None

    def problems(self) -> Iterator[Problem]:
        yield from misplaced_global(self, "selector", "notSelector")
        yield from too_long(self, "selector", "notSelector", "namespaceSelector")
        yield from too_many(self, {"nets": 256, "notNets": 256, "ports": 50, "notPorts": 50})
        if "global(" in self.namespaceSelector and self.namespaceSelector.strip(" \t") != "global()":
            why = "global() cannot be combined with other selectors"
            yield Problem("namespaceSelector", self.namespaceSelector, why, "global() alone")
        for index, net in enumerate(self.notNets):
            if str(net) in _EVERYTHING:
                why = "a rule that excludes every address never matches"
                yield Problem(f"notNets[{index}]", net, why, "a smaller range, or no rule at all")
        if self.services is not None:
            yield from self._service_problems(self.services)

    def _service_problems(self, services: ServiceMatch) -> Iterator[Problem]:
        if not services.name:
            yield Problem("services.name", "", "must specify a service name", "the name of a Kubernetes service")
        for name in _BESIDES_SERVICES:
            if getattr(self, name):
                why = f"cannot be combined with {name}: a service brings its own addresses"
                yield Problem("services", services.name, why, "make two rules of it")


class Rule(Part, frozen=True, kw_only=True):
    action: Action
    ipVersion: Literal[4, 6] | None = None
    protocol: Protocol | None = None
    icmp: ICMPFields | None = None
    notProtocol: Protocol | None = None
    notICMP: ICMPFields | None = None
    source: EntityRule = EntityRule()
    destination: EntityRule = EntityRule()
    http: HTTPMatch | None = None
    metadata: RuleMetadata | None = None

    def problems(self) -> Iterator[Problem]:
        for name, entity in (("source", self.source), ("destination", self.destination)):
            yield from under(name, entity.problems())
            yield from self._port_problems(name, entity)
        yield from self._icmp_problems()
        yield from self._family_problems()
        if self.http is not None:
            yield from self._http_problems(self.http)

    def _port_problems(self, name: str, entity: EntityRule) -> Iterator[Problem]:
        for field, ports in (("ports", entity.ports), ("notPorts", entity.notPorts)):
            if ports and (self.protocol is None or not self.protocol.has_ports):
                why = "rules that specify ports must set protocol to TCP or UDP or SCTP"
                yield Problem(f"{name}.{field}", ", ".join(ports), why, "protocol: TCP")
            if ports and name == "destination" and entity.services is not None:
                why = "cannot specify ports with a service, which brings its own"
                yield Problem(f"{name}.{field}", ", ".join(ports), why, "leave the ports out")

    def _icmp_problems(self) -> Iterator[Problem]:
        for name, icmp in (("icmp", self.icmp), ("notICMP", self.notICMP)):
            if icmp is not None:
                yield from under(name, icmp.problems())
        if self.icmp is not None and (self.protocol is None or not (self.protocol.is_icmp or self.protocol.is_icmpv6)):
            why = "rules that specify ICMP fields must set protocol to ICMP or ICMPv6"
            yield Problem("icmp", self.protocol or "", why, "protocol: ICMP")
        for name, protocol in (("protocol", self.protocol), ("notProtocol", self.notProtocol)):
            if protocol is None or self.ipVersion is None:
                continue
            if (protocol.is_icmp and self.ipVersion != 4) or (protocol.is_icmpv6 and self.ipVersion != 6):
                why = f"{name} {protocol} does not exist in IPv{self.ipVersion}"
                yield Problem("ipVersion", self.ipVersion, why, "4 with ICMP, 6 with ICMPv6")

    def _family_problems(self) -> Iterator[Problem]:
        seen: set[int] = set()
        for name, entity in (("source", self.source), ("destination", self.destination)):
            for field, nets in (("nets", entity.nets), ("notNets", entity.notNets)):
                versions = {net.version for net in nets}
                value = ", ".join(map(str, nets))
                if self.ipVersion is not None and versions - {self.ipVersion}:
                    why = f"rule IP version doesn't match CIDR version: ipVersion is {self.ipVersion}"
                    yield Problem(f"{name}.{field}", value, why, "CIDRs of that family only")
                elif versions and len(versions | seen) > 1:
                    why = "rule contains both IPv4 and IPv6 CIDRs"
                    yield Problem(f"{name}.{field}", value, why, "a rule for each family")
                seen |= versions

    def _http_problems(self, http: HTTPMatch) -> Iterator[Problem]:
        yield from under("http", http.problems())
        if self.protocol not in (None, "TCP", "6"):
            why = "rules that specify HTTP fields must set protocol to TCP or leave it out"
            yield Problem("protocol", self.protocol, why, "protocol: TCP")
        if self.action != "Allow":
            yield Problem("http", self.action, "HTTP matches are only valid for Allow rules", "action: Allow")


def rule_problems(rules: tuple[Rule, ...], direction: Direction, *, in_namespace: bool = True) -> Iterator[Problem]:
    """`in_namespace`: a service without a namespace is in the policy's own."""
    outer, inner = ("source", "destination") if direction == "ingress" else ("destination", "source")
    for index, rule in enumerate(rules):
        where = f"{direction}[{index}]"
        yield from under(where, rule.problems())
        if misplaced := getattr(rule, inner).services:
            why = f"services are not allowed in the {inner} of an {direction} rule"
            yield Problem(f"{where}.{inner}.services", misplaced.name, why, f"use them in the {outer}")
        services = getattr(rule, outer).services
        if services is not None and not services.namespace and not in_namespace:
            why = "a policy without a namespace must specify that of the service"
            yield Problem(f"{where}.{outer}.services.namespace", "", why, "for example default")
        if rule.http is not None and direction == "egress":
            yield Problem(f"{where}.http", "", "HTTP matches are not allowed in egress rules", "use an ingress rule")
