"""BIRD's own answers: birdcl show protocols, show route, show status; and the lines of its configuration.

A session whose info says Established is up, whatever its state: after a graceful restart BIRD writes `wait`, and a
setting `waiting` of scope `bird` (value the state, owner the peer) keeps that.

Settings of scope `bird`: `router-id`, `server-time`, `last-reboot`, `last-reconfiguration`, `status` of show status;
with a protocol as owner `bgp-state`, `neighbor-address`, `neighbor-as`, `local-as`, `last-error`, `source-address`,
`routes` of show protocols all; of bird.cfg `local-as`, `neighbor` (value `10.0.0.1 as 64512`), `passive`, `password`,
`source-address`, `router-id`, with the protocol block as owner where it is shown. Routes of show route have table
`bird` and the protocol's name as protocol.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Fact, Route, Session, Setting
from tortie.doctor.reading.exhibit import Exhibit
from tortie.doctor.reading.readers.host_commands import rows

_ROW: Final = lazily(
    r"^(?:\d{4}-)?(?P<name>\S+)\s+BGP\s+(?P<table>\S+)\s+(?P<state>up|start|down|stop|wait|feed|flush)"
    r"(?:\s+(?P<since>\d[\d:.-]*(?: \d\d:\d\d(?::\d\d(?:\.\d+)?)?)?))?\s*(?P<info>.*)$"
)
_PEER: Final = lazily(r"^(Mesh|Node|Global)_([0-9A-Fa-f_]+?)(?:_port_\d+)?$")
_KINDS: Final = {"Mesh": "node-to-node mesh", "Node": "node specific", "Global": "global"}
_DETAILS: Final = {
    "BGP state": "bgp-state",
    "Neighbor address": "neighbor-address",
    "Neighbor AS": "neighbor-as",
    "Local AS": "local-as",
    "Last error": "last-error",
    "Source address": "source-address",
    "Routes": "routes",
    "Neighbor ID": "neighbor-id",
}
_STATUS: Final = (
    ("Router ID is ", "router-id"),
    ("Current server time is ", "server-time"),
    ("Last reboot on ", "last-reboot"),
    ("Last reconfiguration on ", "last-reconfiguration"),
    ("Daemon is ", "status"),
    ("Graceful restart recovery ", "graceful-restart"),
    ("Wait timer is ", "wait-timer"),
)
_ROUTE: Final = lazily(
    r"^(?P<dest>[0-9a-fA-F.:]+/\d+)\s+(?:via (?P<via>\S+)(?: on (?P<dev>\S+))?|dev (?P<link>\S+)"
    r"|(?P<kind>blackhole|unreachable|prohibit))\s+\[(?P<proto>\S+)"
)
_CONFIG: Final = (
    (lazily(r"^local (?:\S+ )?as (\d+)"), "local-as"),
    (lazily(r"^neighbor (\S+(?: port \d+)? as \d+)"), "neighbor"),
    (lazily(r"^passive (\w+)"), "passive"),
    (lazily(r"^password (\S.*?);"), "password"),
    (lazily(r"^source address ([^\s;]+)"), "source-address"),
    (lazily(r"^router id ([^\s;]+)"), "router-id"),
)
_BLOCK: Final = lazily(r"^protocol bgp (\S+)")


def read(exhibit: Exhibit) -> Iterator[Fact]:
    text = exhibit.text
    if " BGP " in text or "\tBGP" in text:
        yield from _protocols(exhibit)
    if "Router ID is" in text or "Daemon is" in text or "Last reconfiguration on" in text:
        yield from _status(exhibit)
    if "] " in text and ("/0)" in text or " [i]" in text or "bird" in exhibit.command) and "log" not in exhibit.command:
        yield from _routes(exhibit)
    if "neighbor " in text or "local as " in text or "router id " in text or "protocol bgp " in text:
        yield from _configuration(exhibit)


def peer_of(name: str) -> tuple[str, str]:
    """The address in a protocol's name and the kind of its session; empty when the name has no address."""
    match = _PEER.match(name)
    if not match:
        return "", ""
    address = match[2].replace("_", "." if match[2].count("_") == 3 else ":")
    return address, _KINDS[match[1]]


def standing(state: str, info: str) -> str:
    """The state of a session: one that is Established is up, also while BIRD waits for other peers."""
    return "up" if info.startswith("Established") else state


def _protocols(exhibit: Exhibit) -> Iterator[Fact]:
    sessions: list[Session] = []
    for index, line in rows(exhibit):
        match = _ROW.match(line) if " BGP" in line.replace("\t", " ") and "|" not in line else None
        if match:
            peer, kind = peer_of(match["name"])
            since = match["since"] or ""
            place, info = exhibit.place(index), " ".join(match["info"].split())
            state = standing(match["state"], info)
            if state != match["state"]:
                yield Setting(place, "bird", "waiting", match["state"], peer or match["name"], exhibit.host)
            sessions.append(Session(place, peer, state, info, kind, since, exhibit.host, match["name"]))
        elif sessions and ":" in line:
            name, _, value = line.partition(":")
            field = _DETAILS.get(name.strip())
            if not field:
                continue
            value = value.strip()
            owner = sessions[-1]
            yield Setting(exhibit.place(index), "bird", field, value, owner.name, exhibit.host)
            if field == "neighbor-address" and not owner.peer:
                sessions[-1] = owner._replace(peer=value)
            elif field == "last-error" and value and value not in owner.info:
                sessions[-1] = owner._replace(info=f"{owner.info} {value}".strip())
    yield from (session for session in sessions if session.peer or "bird" in exhibit.command or len(sessions) > 1)


def _status(exhibit: Exhibit) -> Iterator[Fact]:
    for index, line in rows(exhibit):
        for words, name in _STATUS:
            at = line.find(words)
            if 0 <= at <= 6:
                yield Setting(exhibit.place(index), "bird", name, line[at + len(words) :], "", exhibit.host)


def _routes(exhibit: Exhibit) -> Iterator[Fact]:
    for index, line in rows(exhibit):
        match = _ROUTE.match(line) if "[" in line and line[0] in "0123456789abcdefABCDEF:" else None
        if match:
            yield Route(
                exhibit.place(index),
                match["dest"],
                exhibit.host,
                match["via"] or "",
                match["dev"] or match["link"] or "",
                match["proto"].rstrip("]"),
                match["kind"] or "",
                "bird",
                line,
            )


def _configuration(exhibit: Exhibit) -> Iterator[Fact]:
    block = ""
    for index, line in rows(exhibit):
        if not line[0].islower():
            continue
        opened = _BLOCK.match(line)
        if opened:
            block = opened[1]
            continue
        for pattern, name in _CONFIG:
            match = pattern.match(line)
            if match:
                value = "(set)" if name == "password" else match[1]  # a secret is never repeated
                yield Setting(exhibit.place(index), "bird", name, value, block, exhibit.host)
