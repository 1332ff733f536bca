"""TRT3007: `localhost` is resolved to nothing or to a foreign address, so the health endpoint cannot be used."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Final

from tortie.doctor.causes.agent.speakers import of_another
from tortie.doctor.causes.agent.start_evidence import as_culprits, hosts_of, kills, node_of, sick_names, unready
from tortie.doctor.causes.cause import LIKELY, POSSIBLE, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.steps import Step
from tortie.doctor.causes.ways import restart_agent, set_agent_env
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Listener, PortTest
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Place
from tortie.doctor.signs import Hit, Sign
from tortie.doctor.texts import Text

LOOKUP: Final = Sign("localhost-lookup", "lookup localhost")
CANNOT_ASSIGN: Final = Sign("localhost-cannot-assign", "listen tcp <where>: bind: cannot assign requested address")
DIALLED: Final = Sign("localhost-dialled", 'localhost:<port>/<path>(")?: dial tcp <rest>')
LITERAL: Final = Sign("localhost-literal", '127.0.0.1:<port>/<path>(")?: dial tcp <rest>')
FELIX, TYPHA = "9099", "9098"
HEALTH_PORTS: Final = (FELIX, TYPHA)
READERS: Final = ("cat", "getent", "grep", "head", "less", "more", "ssh")
_ADDRESS: Final = lazily(r"^(?:\[(?P<v6>[0-9a-fA-F:.]+)\]|(?P<v4>[\d.]+)):(?P<port>\d+)\b")
_SERVER: Final = lazily(r"lookup localhost on \[?([0-9a-fA-F.:]+?)\]?:53", re.I)


class Seen:
    """What was asked for `localhost`, which address came back, and what the hosts file says."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        asked = [hit for hit in picture.hits(LOOKUP) if not of_another(picture, hit)]
        self.lookups = [hit for hit in asked if "localhost." not in hit.line.partition("lookup ")[2][:11]]
        self.bound = [(hit, ip) for hit in picture.hits(CANNOT_ASSIGN) if (ip := _foreign(hit.value("where")))]
        self.dialled = [(hit, ip) for hit in picture.hits(DIALLED) if (ip := _foreign(hit.value("rest")))]
        self.hosts, self.shown = _hosts_file(picture)
        self.servers = [match[1] for hit in self.lookups if (match := _SERVER.search(hit.line))]
        self.addresses = [ip for _, ip in (*self.bound, *self.dialled)]
        self.hits = [*self.lookups[:2], *(hit for hit, _ in (*self.bound[:2], *self.dialled[:2]))]

    @cached_property
    def culprits(self) -> tuple[Culprit, ...]:
        return culprits(
            Culprit("setting", "localhost"),
            named("address", *self.addresses),
            Culprit("file", "/etc/hosts"),
            named("address", *self.servers),
            as_culprits([*hosts_of(self.picture, *self.hits), *sick_names(self.picture)]),
            Culprit("setting", "FELIX_HEALTHHOST"),
        )

    @property
    def port(self) -> str:
        """Typha's, where only Typha complains."""
        lines = " ".join(f"{hit.line} {hit.command}" for hit in self.hits)
        return TYPHA if "typha" in lines.lower() or (TYPHA in lines and FELIX not in lines) else FELIX

    def found(
        self,
        strength: float,
        more: Iterable[object] = (),
        *,
        server: str = "",
        address: str = "",
        answers: Text | str = "",
    ) -> Finding:
        return found(
            strength, self.culprits, (*self.shown, *self.hits, *more), node=node_of(self.picture, self.culprits),
            port=self.port, server=server, address=address, answers=answers,
        )  # fmt: skip


def over(seen: Seen) -> Finding | None:
    """Readiness asks the same endpoint: an agent that is ready has it."""
    pods = seen.picture.agents_now() if seen.lookups or seen.addresses else []
    ready = pods and all(pod.all_ready for pod in pods) and not unready(seen.picture)
    goes_on = seen.picture.said("keeps-restarting", "suffers") or kills(seen.picture) or seen.port == TYPHA
    return ruled_out(pods[:2]) if ready and not goes_on else None


def lookup_fails(seen: Seen) -> Finding | None:
    if not seen.lookups:
        return None
    strength = PROVEN if seen.hosts is False else STRONG
    return seen.found(strength, server=next(iter(seen.servers), ""))


def foreign_address(seen: Seen) -> Finding | None:
    real = [ip for ip in seen.addresses if ip != "::1"]
    if not real:
        return None
    return seen.found(PROVEN if seen.hosts is False else STRONG, address=real[0])


def only_ipv6(seen: Seen) -> Finding | None:
    if not seen.dialled:
        return None
    v4 = _answers_on_v4(seen.picture)
    strength = STRONG if v4 else LIKELY if seen.hosts is False else POSSIBLE
    return seen.found(strength, v4, answers=Text(__name__, "word answers") if v4 else "")


def line_missing(seen: Seen) -> Finding | None:
    return seen.found(POSSIBLE) if seen.hosts is False else None


def another_hosts_line(seen: Seen) -> Finding | None:
    """Nothing is resolved where an address stands: the line was edited, or comes from another host."""
    odd = [(hit, ip) for hit in seen.picture.hits(LITERAL) if (ip := _foreign(hit.value("rest")))]
    return ruled_out([odd[0][0]], address=odd[0][1]) if odd else None


def line_there(seen: Seen) -> Finding | None:
    return ruled_out(seen.shown) if seen.hosts else None


def _foreign(where: str) -> str:
    """The address of `1.2.3.4:9099…` when it is a health port and not 127.0.0.1."""
    match = _ADDRESS.match(where)
    address = (match["v6"] or match["v4"]) if match else ""
    return address if match and match["port"] in HEALTH_PORTS and not address.startswith("127.") else ""


def _hosts_file(picture: Picture) -> tuple[bool | None, list[Place]]:
    """Whether the hosts file, or getent, maps localhost to 127.0.0.1; None when neither was shown."""
    for exhibit in (*picture.commands("/etc/hosts"), *picture.commands("getent", "localhost")):
        lines = [line.split("#")[0].split() for line in exhibit.lines]
        cut_out = "grep" in exhibit.command and "localhost" not in exhibit.command
        if cut_out or not exhibit.command.removeprefix("sudo ").startswith(READERS):
            continue
        good = any(words[:1] == ["127.0.0.1"] and "localhost" in words[1:] for words in lines)
        return good, [exhibit.place(0, len(exhibit.lines))]
    return None, []


def _answers_on_v4(picture: Picture) -> list[Listener | PortTest | Hit]:
    listening: list[Listener | PortTest | Hit] = [
        item for item in picture.of(Listener) if item.port == 9099 and item.address.startswith("127.")
    ]
    tried = [
        item
        for item in picture.of(PortTest)
        if item.port == 9099 and item.address.startswith("127.") and item.result.startswith(("open", "http"))
    ]
    return [*listening[:1], *tried[:1]]


def fix(picture: Picture, finding: Finding) -> Iterator[Do | Step]:
    yield do("line")
    yield do("order")
    if finding.value("port") == TYPHA:
        yield do("restart-typha")
        yield do("typha")
        return
    yield from restart_agent(picture, finding.value("node"))
    yield do("instead")
    yield from set_agent_env(picture, "FELIX_HEALTHHOST", "127.0.0.1")


CAUSE = Cause(
    module=__name__,
    id="localhost-misresolved",
    code="TRT3007",
    severity="high",
    explains=(
        "killed-by-liveness", "crash-loop", "restarts", "not-ready", "felix-not-ready", "typha-down", "log-errors",
    ),
    signs=(LOOKUP, CANNOT_ASSIGN, DIALLED, LITERAL),
    look=Seen,
    rules=(over, lookup_fails, foreign_address, only_ipv6, line_missing, another_hosts_line, line_there),
    fix=fix,
    yields_to=("loopback-down",),
)  # fmt: skip
