"""Trials that fail because they should: by a policy, by the way a service or a port is made, or as announced."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final

from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import PortTest, Setting
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Exhibit, Place
from tortie.doctor.reading.hearsay import meant_to_fail, was_meant
from tortie.doctor.reading.readers.statements import Sentence
from tortie.doctor.reading.readers.statements import said as stated

_DENY: Final = lazily(r"\bdeny\b|\bdenied\b|default-deny|deny-all|polic(?:y|ies)|策略|隔离|拒绝|只放行", re.IGNORECASE)
_PING: Final = lazily(r"\bping|(?<![a-z])ping|\bicmp", re.IGNORECASE)
_CLAUSE: Final = lazily(r"(?<=[,，;；:：。、()（）])|\band\b|\bbut\b")
_NOTHING: Final = Exhibit("", 1, ())
_NEAR: Final = 12  # lines below the words that announce a test
_HEALTH: Final = 9099
_METRICS: Final = (9091, 9092, 9093, 9094)
_METRICS_ON: Final = ("prometheusMetricsEnabled", "FELIX_PROMETHEUSMETRICSENABLED", "TYPHA_PROMETHEUSMETRICSENABLED")
_LOCAL: Final = "externalTrafficPolicy: Local"
_NODE_PORTS: Final = (30000, 32767)


def service_addresses(picture: Picture) -> set[str]:
    """Addresses of services that are shown to answer, though not to ping."""
    known = {one.value for one in picture.of(Setting) if one.scope == "service" and one.value not in ("", "None")}
    answered = {test.address for test in picture.of(PortTest) if test.result == "open" or test.result[:6] == "http-2"}
    return known & answered if answered & known else set()


def only_pinged(complaint: str, picture: Picture) -> bool:
    """That a service does not answer is said of pings alone, and its port answers."""
    if not _PING.search(complaint) or not service_addresses(picture):
        return False
    rest = (clause for clause in _CLAUSE.split(complaint) if not _PING.search(clause))
    kinds = {kind for clause in rest for kind, _ in stated(Sentence(clause.strip(), 0, 0))}
    return not kinds & {"service-dead", "suffers"}


def denied_by_policy(picture: Picture) -> list[Place]:
    """Below words about a policy: trials that fail, where others to the same address pass."""
    tests = picture.of(PortTest)
    passed = {test.address for test in tests if test.result == "open" or test.result[:6] == "http-2"}
    failed = [test for test in tests if test.address in passed and test.result in ("timeout", "closed")]
    told = [
        exhibit.place(len(exhibit.lines) - 1)
        for exhibit in picture.exhibits
        if exhibit.prose and exhibit.lines and _DENY.search(exhibit.text)
    ]
    return [
        # and what the shell says right below of how that ended
        test.place._replace(last=test.place.last + 1)
        for test in failed
        if any(one.source == test.place.source and 0 <= test.place.first - one.last <= _NEAR for one in told)
    ]


def announced(picture: Picture) -> list[Place]:
    """What was tried right below a line that says that it shall fail, or right above one that says that it should."""
    found = []
    meant = False
    for first, second in pairwise((*picture.exhibits, _NOTHING)):
        if first.prose:
            meant = bool(first.lines) and meant_to_fail(first.lines[-1])
        elif first.command and first.lines:
            below = second.prose and bool(second.lines) and was_meant(second.lines[0])
            if meant or (below and second.source == first.source):
                found.append(Place(first.source, first.number(0), first.number(len(first.lines) - 1)))
            meant = meant and second.command.split(" ")[:1] == first.command.split(" ")[:1]
    return found


def health_from_outside(picture: Picture) -> list[Place]:
    """Felix's port refuses others, and answers on the node itself."""
    tests = [test for test in picture.of(PortTest) if test.port == _HEALTH]
    local = [test for test in tests if test.address in ("127.0.0.1", "localhost") and test.result[:6] == "http-2"]
    return [test.place for test in tests if test.result == "refused" and test not in local] if local else []


def metrics_off(picture: Picture) -> list[Place]:
    """Nobody switched them on, and everybody is refused."""
    on = any(one.value.lower() == "true" for name in _METRICS_ON for one in picture.settings(name))
    tests = [test for test in picture.of(PortTest) if test.port in _METRICS]
    refused = [test.place for test in tests if test.result == "refused"]
    return refused if refused and len(refused) == len(tests) and not on else []


def without_endpoint(picture: Picture) -> list[Place]:
    """A port of all nodes that answers on some, where its service is for local endpoints only."""
    local = any(_LOCAL in line for exhibit in picture.exhibits for line in exhibit.lines)
    tests = [test for test in picture.of(PortTest) if _NODE_PORTS[0] <= (test.port or 0) <= _NODE_PORTS[1]]
    passed = {test.port for test in tests if test.result == "open" or test.result[:6] == "http-2"}
    return [test.place for test in tests if local and test.port in passed and test.result in ("timeout", "closed")]


def names_resolve(picture: Picture) -> bool:
    """A name was looked up in vain by nobody, not by CoreDNS either, and found by somebody."""
    if any("plugin/errors: 2 " in line and " HINFO: " not in line for one in picture.exhibits for line in one.lines):
        return False
    answers = [one.value for one in picture.of(Setting) if one.scope == "dns"]
    return bool(answers) and not any(one in ("timeout", "SERVFAIL", "unresolved") for one in answers)
