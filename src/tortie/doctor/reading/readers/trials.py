"""Somebody tried something over the network: nc, telnet, curl, wget, /dev/tcp, openssl s_client; ping, arping, dig.

PortTest.result is open, refused, timeout, unreachable, reset, closed, tls-error or http-<code> (for HTTP answers, so
`http-200` is an open port, too). Settings: scope `dns`, name what was asked, value an address, NXDOMAIN, SERVFAIL,
timeout or unresolved, owner the tool; scope `arping`, name an address, value a MAC or `none`; scope `etcd`, name an
endpoint or `cluster`, value healthy or unhealthy.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Fact, PortTest, Setting
from tortie.doctor.reading.exhibit import Exhibit
from tortie.doctor.reading.readers.host_commands import IP, option, ran, rows, segments, words_after
from tortie.doctor.reading.readers.host_pings import lookups, pings
from tortie.doctor.reading.readers.web_answers import CURL_EXITS as _CURL
from tortie.doctor.reading.readers.web_answers import Answer, answer, named, style
from tortie.model.tuples import NamedTuple

_TOOLS: Final = ("nc", "ncat", "netcat", "telnet", "curl", "wget", "openssl", "bash", "nmap")
_PORTS: Final = {"https": 443, "http": 80}
_UDP: Final = lazily(r"\b(?:nc|ncat|netcat)\s(?:\S{1,100}\s{1,8}){0,12}?-[a-z0-9]{0,8}u")
_URL: Final = lazily(r"\b(https?)://(\[[^\]]+\]|[^\s/:'\"]+)(?::(\d+))?")
_DEV_TCP: Final = lazily(r"/dev/(?:tcp|udp)/([^/\s'\")$]+)/(?:(\d+)|\$\{?\w)")
_PLACED: Final = (
    lazily(rf"Ncat: (Connected) to ({IP}|[\w.-]+):(\d+)"),
    lazily(r"Connection to (?P<a>\S+) (?P<p>\d+) port \[.*(?P<r>succeeded)"),
    lazily(r"nc: connect to (?P<a>\S+)(?: \([^)]*\))? port (?P<p>\d+) \(\w+\):? (?P<r>.+)"),
    lazily(r"\[(?P<a>[^][]{1,80})\] (?P<p>\d+)(?: \([^)]*\))? ?:? (?P<r>open|Connection (?:refused|timed)|.*rout.*)"),
    lazily(r"^(?:nc: )?\S+ \((?P<a>[^\s:()]+|\[[^\]]+\]):(?P<p>\d+)\):? (?P<r>open|\w.*)"),
    lazily(r"/dev/tcp/(?P<a>[^/\s]+)/(?P<p>\d+): (?P<r>.+)"),
    lazily(
        r"[Ff]ailed (?:to )?connect to (?P<a>[^\s:;]+|\[[^\]]+\])(?: port |:)(?P<p>\d+)"
        r"(?: after \d+ ms)?[:;,] (?P<r>.+)"
    ),
    lazily(r"connect to (?P<a>\S+) port (?P<p>\d+)(?: from \S+ port \d+)? failed: (?P<r>.+)"),
    lazily(r"[Cc]onnecting to \S{1,100}?(?:\((?P<a>[^)]{1,60})\)\|)?:?(?P<p>\d+)?\.\.\. (?P<r>connected|failed: .+)"),
    lazily(
        r"^(?P<a>[\w.-]+)[: ](?P<p>\d+) (?:is )?(?P<r>open|closed|ok|fail\w*|timeout|refused|unreachable|reachable)$",
        re.I,
    ),
)  # fmt: skip
_BARE: Final = (
    (lazily(r"^Ncat: (?!Version|Connected)(.+)"), ("nc", "ncat")),
    (lazily(r"^telnet: (?:Unable to connect to remote host|connect to address \S+): (.+)"), ("telnet",)),
    (lazily(r"^(Connected) to \S+\.$"), ("telnet",)),
    (lazily(r"^bash: connect: (.+)"), ("bash",)),
    (lazily(r"^(\d{1,5})[: ] ?(open|closed|ok|timeout|refused|fail(?:ed)?)$", re.I), ("/dev/tcp", "nc", "loop")),
    (lazily(r"^connect(?:: )?:?errno=(\d+)"), ("openssl",)),
    (lazily(r"^(CONNECTED)\("), ("openssl",)),
    (lazily(r"^wget: (can't connect.*|download timed out.*|.*timed out.*)"), ("wget",)),
    (lazily(r"^curl: \((\d+)\) (.+)"), ("curl",)),
)
_WORDS: Final = (
    ("refused", "refused"),
    ("timed out", "timeout"),
    ("timeout", "timeout"),
    ("no route", "unreachable"),
    ("unreachable", "unreachable"),
    ("reset", "reset"),
    ("succeeded", "open"),
    ("connected", "open"),
    ("open", "open"),
    ("ok", "open"),
    ("reachable", "open"),
    ("in progress", "timeout"),
    ("closed", "closed"),
    ("fail", "closed"),
    ("拒绝", "refused"),
    ("超时", "timeout"),
    ("路由", "unreachable"),  # 没有到主机的路由
    ("不可达", "unreachable"),
)
# What people print for each turn of a loop: `10.0.0.1:6443 ok`, `10.0.0.2 6443 -> failed (28)`.
_LOOPED: Final = lazily(
    rf"^(?P<a>{IP})(?::| +)(?P<p>\d{{1,5}})(?: *(?:->|=>|:))? +(?P<r>ok|open|succeeded|failed|fail|closed|refused|"
    r"time(?:d )?out|unreachable|filtered)(?: *\(?(?:rc=|exit )?(?P<code>\d{1,3})\)?)?$",
    re.IGNORECASE,
)
_SCANNED: Final = lazily(r"^Nmap scan report for (?:\S+ \()?([^\s()]+)\)?$")
_SCANNED_PORT: Final = lazily(r"^(\d{1,5})/tcp\s+(open|closed|filtered)(?:\s|$)")
_SCAN_STATES: Final = {"open": "open", "closed": "refused", "filtered": "timeout"}  # nothing came back, or a refusal
_ERRNO: Final = {"111": "refused", "110": "timeout", "113": "unreachable", "101": "unreachable", "104": "reset"}
_MARKS: Final = ("onnect", "CONNECT", "open", "close", "refuse", "succeed", "timed", "imeout", "ok", "fail",
                 "rout", "reach", "curl: (", "Ncat:", "rror", "OPEN", "CLOSED", "Open", "Closed")  # fmt: skip
_LONGEST: Final = 600  # characters of an outcome


class Target(NamedTuple):
    address: str
    port: int
    tool: str
    source: str = ""  # an address or a link


def read(exhibit: Exhibit) -> Iterator[Fact]:
    text = exhibit.text
    command = exhibit.command
    tried = bool(command) and ("/dev/tcp" in command or ran(exhibit, *_TOOLS))
    shown = any(mark in text for mark in ("Ncat:", "curl: (", "telnet: ", "nc: ", "succeeded!", "/dev/tcp/"))
    if "/tcp" in text and ("Nmap scan report for " in text or ran(exhibit, "nmap")):
        yield from _scanned(exhibit)
    elif tried and "for " in command and len(turns := list(_looped(exhibit))) > 1:
        yield from turns
    elif (tried or shown) and not _UDP.search(command):  # what nc says of UDP means nothing
        yield from _ports(exhibit, targets(command) if tried else [])
    yield from pings(exhibit)
    yield from lookups(exhibit)
    if "health" in text and ("2379" in text or "etcd" in command or "cluster is" in text):
        yield from _etcd(exhibit)


def _looped(exhibit: Exhibit) -> Iterator[Fact]:
    tool = next((tool for tool in ("curl", "wget", "nc", "telnet") if tool in exhibit.command), "loop")
    for index, line in rows(exhibit):
        match = _LOOPED.match(line)
        if match and not _UDP.search(exhibit.command):
            said = match["r"].lower()
            code = _CURL.get(match["code"] or "", "closed") if tool == "curl" else "closed"
            result = code if said.startswith("fail") else "open" if said == "ok" else meaning(said) or "closed"
            yield _tried(exhibit, index, Target(match["a"], int(match["p"]), tool), result, line)


def _scanned(exhibit: Exhibit) -> Iterator[Fact]:
    """nmap's table of ports, below the host that was asked."""
    words = words_after(exhibit.command, "nmap")
    address = next((word for word in reversed(words) if re.fullmatch(IP, word)), "")
    for index, line in rows(exhibit):
        if report := _SCANNED.match(line):
            address = report[1]
        elif address and (port := _SCANNED_PORT.match(line)):
            target = Target(address, int(port[1]), "nmap")
            yield _tried(exhibit, index, target, _SCAN_STATES[port[2]], line)


def targets(command: str) -> list[Target]:
    """What a command tries, in order: one per call, loops unrolled."""
    found: list[Target] = []
    for segment in segments(command):
        device = _DEV_TCP.search(segment)
        if device:
            found.append(Target(device[1], int(device[2] or 0), "/dev/tcp"))  # in a loop the answers name the ports
            continue
        for tool in ("curl", "wget"):
            words = words_after(segment, tool)
            source = option(words, "--interface") or option(words, "--bind-address")
            for url in _URL.finditer(" ".join(words)):
                found.append(Target(url[2].strip("[]"), int(url[3] or _PORTS[url[1]]), tool, source))
                break
            else:
                ends = [word for word in words if word != source and re.fullmatch(rf"{IP}(:\d+)?(/\S*)?", word)]
                if ends:
                    address, _, port = ends[-1].split("/")[0].partition(":")
                    found.append(Target(address, int(port or _PORTS["http"]), tool, source))
        words = words_after(segment, "openssl")
        where = option(words, "-connect") if "s_client" in words else ""
        if ":" in where and where.rpartition(":")[2].isdecimal():
            found.append(Target(where.rpartition(":")[0].strip("[]"), int(where.rpartition(":")[2]), "openssl"))
        words = words_after(segment, "nc", "ncat", "netcat", "telnet")
        tool = "telnet" if "telnet" in segment else "nc"
        source = option(words, "-b" if tool == "telnet" else "-s")
        plain = [word for word in words if not word.startswith("-") and word != source]
        for address, port in pairwise(plain):
            if port.isdecimal() and not address.isdecimal():
                found.append(Target(address, int(port), tool, source))
                break
    return found


def meaning(words: str) -> str:
    """What the words of a tool mean as a result; empty when nothing."""
    lowered = words.lower()
    return next((result for word, result in _WORDS if word in lowered), "")


def _ports(exhibit: Exhibit, asked: list[Target]) -> Iterator[Fact]:
    turn = 0
    answered = False
    web = [target for target in asked if target.tool in ("curl", "wget")]
    if len(web) > 1 and len(web) == len(asked) and "curl: (6)" not in exhibit.text:
        yield from _http(exhibit, web)
        return
    twice = "/dev/tcp/" in exhibit.text  # bash tells a failure twice, the second time with the address
    waited = "awaiting response" in exhibit.text
    for index, line in rows(exhibit):
        if len(line) > _LONGEST or not any(mark in line for mark in _MARKS):
            continue
        if "[udp" in line or (twice and line.startswith("bash: connect:")) or (waited and line.endswith("connected.")):
            continue
        if line.startswith("curl: (6)"):
            yield Setting(exhibit.place(index), "dns", line.rsplit(" ", 1)[-1], "unresolved", "curl", exhibit.host)
            answered = True
            continue
        placed = _placed(line)
        if placed and (asked or not line[0].isalnum() or ":" in line or "port" in line):
            address, port, words = placed
            target = asked[min(turn, len(asked) - 1)] if asked else Target("", 0, line.split(":")[0].split()[0].lower())
            curl = re.match(r"curl: \((\d+)\)", line)
            result = meaning(words) or (_CURL.get(curl[1], "closed") if curl else "")
            if not result:
                continue
            target = target._replace(address=(address or target.address).strip("[]"), port=port or target.port)
            if target.port:
                yield _tried(exhibit, index, target, result, line)
                turn, answered = turn + (not line.startswith("*")), True
            continue
        bare = _bare(line)
        if bare:
            result, said = bare
            meant = next((t for t in asked if said and str(t.port) == said), None)
            meant = meant or (asked[min(turn, len(asked) - 1)] if asked else None)
            if meant and (meant.tool != "curl" or not line.startswith("CONNECTED")):
                port = int(said) if said.isdecimal() else meant.port
                if port:
                    yield _tried(exhibit, index, meant._replace(port=port), result, line)
                turn, answered = turn + 1, True
    if not answered and (web or ("$?" in exhibit.command and asked)):
        yield from _http(exhibit, web or asked)
    elif asked and not answered:
        yield from _silent(exhibit, asked)


def _tried(exhibit: Exhibit, index: int, target: Target, result: str, line: str) -> PortTest:
    return PortTest(
        exhibit.place(index), target.address, target.port, result, exhibit.host, target.tool, line,
        source=target.source,
    )  # fmt: skip


def _placed(line: str) -> tuple[str, int, str] | None:
    """An outcome that itself says where it was tried."""
    if line.startswith("Ncat: Connected"):
        match = _PLACED[0].search(line)
        return (match[2], int(match[3]), "connected") if match else None
    for pattern in _PLACED[1:]:
        match = pattern.search(line)
        if match:
            return match["a"] or "", int(match["p"] or 0), match["r"]
    return None


def _bare(line: str) -> tuple[str, str] | None:
    """An outcome without an address: (result, port or empty)."""
    for pattern, tools in _BARE:
        match = pattern.match(line)
        if not match:
            continue
        if tools == ("curl",):
            return meaning(match[2]) if match[1] in ("7", "56") and meaning(match[2]) else _CURL.get(
                match[1], "closed"
            ), ""
        if "loop" in tools:
            return meaning(match[2]), match[1]
        result = _ERRNO.get(match[1], "closed") if match[1].isdecimal() else meaning(match[1])
        return (result, "") if result else None
    return None


def _http(exhibit: Exhibit, asked: list[Target]) -> Iterator[Fact]:
    """curl and wget that were answered: by status line, by `-w %{http_code}`, or by a body."""
    lines = [(index, line) for index, line in rows(exhibit) if not line.startswith("*")]
    form = style(exhibit.command)
    turn, done = 0, set[int]()
    for index, line in lines:
        told, said = named(line, [target.address for target in asked], done)
        turn = min(turn if told is None else told, len(asked) - 1)
        target = asked[turn]
        got = _loud(said) or answer(said, form, target.tool) if said else None
        if not got:
            continue
        if turn not in done or not got.exit:
            yield _tried(exhibit, index, target, got.result, line)
        done.add(turn)
        turn += got.exit or not form.exits
    web = asked[0].tool in ("curl", "wget")
    if not done and lines and web and "openssl" not in exhibit.command and not exhibit.prose:
        index, line = lines[0]
        if not line.startswith(("^C", "bash:", "-bash:", "sh:", "Error", "error", "command terminated")):
            ok = line.startswith(("ok", '{"health"'))
            yield _tried(exhibit, index, asked[0], "http-200" if ok else "open", line)


def _loud(said: str) -> Answer | None:
    """An error of curl between the answers of other targets."""
    if not said.startswith("curl: ("):
        return None
    placed, bare = _placed(said), _bare(said)
    result = (meaning(placed[2]) if placed else "") or (bare[0] if bare else "")
    return Answer(result) if result else None


def _silent(exhibit: Exhibit, asked: list[Target]) -> Iterator[Fact]:
    """`Trying 10.0.0.1...` and then only ^C: nothing came back."""
    for index, line in rows(exhibit):
        if line.startswith("Trying ") and asked[0].tool == "telnet":
            yield _tried(exhibit, index, asked[0], "timeout", line)
            return


def _etcd(exhibit: Exhibit) -> Iterator[Fact]:
    for index, line in rows(exhibit):
        match = re.search(
            r"(https?://\S{1,200}?:\d{1,5}|member \S{1,100}|cluster) is (healthy|unhealthy|unreachable|degraded)", line
        )
        if match:
            yield Setting(exhibit.place(index), "etcd", match[1], match[2], "", exhibit.host)
