"""The types of FelixConfiguration's fields: words, patterns, and the few that have fields of their own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from tortie.model.errors import Problem
from tortie.model.fields import Choice, Duration, IPInterface, Shaped
from tortie.model.resources.checks import PORTS, outside
from tortie.model.shape import Part

Switch = Literal["Enabled", "Disabled"]
ClientAuth = Literal["RequireAndVerifyClientCert", "RequireAnyClientCert", "VerifyClientCertIfGiven", "NoClientCert"]


class IptablesBackend(Choice):
    names = ("Auto", "Legacy", "NFT")


class ChainInsertMode(Choice):
    names = ("Insert", "Append")
    as_written = True


class EndpointToHostAction(Choice):
    names = ("Drop", "Accept", "Return")


class AllowAction(Choice):
    names = ("Accept", "Return")


class DenyAction(Choice):
    names = ("Drop", "Reject")


class RouteSource(Choice):
    names = ("CalicoIPAM", "WorkloadIPs")
    as_written = True


class ServiceLoopPrevention(Choice):
    names = ("Drop", "Reject", "Disabled")


class WorkloadSourceSpoofing(Choice):
    names = ("Disabled", "Any")


class BPFLogLevel(Choice):
    names = ("Off", "Info", "Debug", "")  # Calico writes "" where nothing is set


class BPFServiceMode(Choice):
    names = ("Tunnel", "DSR")


class BPFMapScaling(Choice):
    names = ("Disabled", "DoubleIfFull")
    as_written = True


class BPFEnforceRPF(Choice):
    names = ("Disabled", "Strict", "Loose")
    as_written = True


class LogPrefix(Shaped):
    form = r"[a-zA-Z0-9%: /_-]*"
    what = "a prefix for log lines"
    right = "letters, digits, blanks, % : / _ and -"


class RateLimit(Shaped):
    form = r"[1-9][0-9]{0,3}/(second|minute|hour|day)"
    what = "a rate"
    right = "a number up to 9999 and its unit, for example 10/second"


class HostName(Shaped):
    form = r"[a-zA-Z0-9:._+-]{1,64}"
    what = "a host name or an address"
    right = "at most 64 letters, digits, : . _ + and -"


class KeyValueList(Shaped):
    form = r"(\s*\w+=[^,]*)?(,(\s*\w+=[^,]*)?)*|\s*"
    what = "a list of settings"
    right = "key=value pairs with commas between them, for example SNATFullyRandom=true,MASQFullyRandom=false"


class Region(Shaped):
    form = r"[a-z0-9]([-a-z0-9]{0,44}[a-z0-9])?"
    what = "the name of a region"
    right = "at most 46 lower-case letters, digits and -"


class ConntrackTimeout(Shaped):
    form = r"([0-9]+(\.[0-9]+)?(ms|s|h|m|us))+|Auto"
    what = "a timeout"
    right = "a duration such as 60s, or Auto"


class HealthTimeoutOverride(Part, frozen=True, kw_only=True):
    name: str
    timeout: Duration

    def problems(self) -> Iterator[Problem]:
        if not re.fullmatch(r"[a-zA-Z0-9_ -]+", self.name):
            yield Problem("name", self.name, "is not the name of a component", "letters, digits, blanks, _ and -")
        if self.timeout.startswith("-"):
            yield Problem("timeout", self.timeout, "should not be negative", "for example 90s")


class ProtoPort(Part, frozen=True, kw_only=True):
    protocol: Literal["TCP", "UDP", "SCTP"]
    port: int
    net: IPInterface | None = None

    def problems(self) -> Iterator[Problem]:
        yield from outside(self, {"port": PORTS})


class RouteTableRange(Part, frozen=True, kw_only=True):
    min: int
    max: int

    def problems(self) -> Iterator[Problem]:
        if not 1 <= self.min <= self.max <= 250:
            why = "must be a range of route table indices within 1..250"
            yield Problem("max", f"{self.min}..{self.max}", why, "for example min: 1, max: 250")


class RouteTableIDRange(Part, frozen=True, kw_only=True):
    min: int
    max: int

    def problems(self) -> Iterator[Problem]:
        yield from outside(self, {"min": (1, 0xFFFFFFFF), "max": (1, 0xFFFFFFFF)})
        if self.min > self.max:
            yield Problem("min", self.min, "min value cannot be greater than max value", f"at most {self.max}")


class BPFConntrackTimeouts(Part, frozen=True, kw_only=True):
    creationGracePeriod: ConntrackTimeout | None = None
    tcpSynSent: ConntrackTimeout | None = None
    tcpEstablished: ConntrackTimeout | None = None
    tcpFinsSeen: ConntrackTimeout | None = None
    tcpResetSeen: ConntrackTimeout | None = None
    udpTimeout: ConntrackTimeout | None = None
    genericTimeout: ConntrackTimeout | None = None
    icmpTimeout: ConntrackTimeout | None = None
