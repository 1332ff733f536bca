"""One command, many hosts: its output taken apart where each host's answer begins.

Known are ansible's headers and results of plays, loops over ssh, pdsh and clush, and banners such as
`=== node-1 ===`. A part keeps the lines of its host; its command is what ran there, with the loop's variable filled in.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Final

from tortie.doctor.reading.exhibit import Exhibit
from tortie.doctor.reading.plays import results
from tortie.doctor.reading.prose import hosts_in
from tortie.model.tuples import NamedTuple

_LONGEST: Final = 5_000  # lines; an answer of several hosts is not longer
_MOST: Final = 64  # turns of a loop
_ANSIBLE: Final = r"^(\S+) \| (?:CHANGED|SUCCESS|FAILED!?|UNREACHABLE!?)(?: \| rc=\d+)?(?: \(stdout\))? (?:>>|=>)"
_ANSIBLE_DOES: Final = r"\s(?:-a|--args)[ =](?:\"([^\"]*)\"|'([^']*)')"
_LOOP: Final = r"\bfor\s+(\w+)\s+in\s+([^;\n]{1,1000}+);\s*do\b(.*?)(?:;?\s*\bdone\b|$)"
_PARALLEL: Final = r"(?:^|[\s|;&/])(?:pdsh|clush|pssh|parallel-ssh)\s"
_ANSWERED: Final = r"^([A-Za-z0-9][\w.-]*): ?"
_BANNER: Final = (
    r"^\s{0,4}(?:={2,}|-{2,}|#{2,}|\*{2,}|>{2,}|<{2,}|\+{2,})\s?"
    r"(?:(?:host|node|on|节点|主机)[ :=]\s*)?([A-Za-z0-9][\w.-]{0,62})"
    r"\s?(?:={2,}|-{2,}|#{2,}|\*{2,}|>{2,}|<{2,}|\+{2,})\s*$"
)
_COUNTED: Final = r"(?:step|test|case|part|phase|round|run|section|log|try|attempt|time|table|file)[-_]?\d"
_ADDRESS: Final = r"(?:\d{1,3}\.){3}\d{1,3}"


class _Part(NamedTuple):
    start: int
    host: str
    command: str
    lead: int = 0  # characters before the answer in each of its lines: the host's name


def apart(exhibit: Exhibit, known: frozenset[str] = frozenset()) -> Iterator[Exhibit]:
    """The exhibit itself, or one for each host whose answer it holds."""
    parts = [] if exhibit.prose or len(exhibit.lines) > _LONGEST else _parts(exhibit, known)
    if not parts:
        yield exhibit
        return
    if parts[0].start > 0:
        yield _slice(exhibit, _Part(0, exhibit.host, exhibit.command), parts[0].start)
    for part, stop in zip(parts, [*(later.start for later in parts[1:]), len(exhibit.lines)], strict=True):
        yield _slice(exhibit, part, stop)


def banner_host(line: str, known: frozenset[str]) -> str:
    """The host that a line such as `=== node-1 ===` announces; empty for other lines."""
    if line.lstrip()[:2] not in ("==", "--", "##", "**", ">>", "<<", "++"):
        return ""
    match = _compiled(_BANNER).match(line)
    if not match or _compiled(_COUNTED).match(match[1].lower()):
        return ""
    name: str = match[1]
    sure = name in known or _compiled(_ADDRESS).fullmatch(name) or name in hosts_in(name)
    return name if sure else ""


def _slice(exhibit: Exhibit, part: _Part, stop: int) -> Exhibit:
    lines = tuple(line[part.lead :] for line in exhibit.lines[part.start : stop])
    return exhibit._replace(
        first=exhibit.number(part.start), lines=lines, host=part.host or exhibit.host, command=part.command,
        numbers=exhibit.numbers[part.start : stop],
    )  # fmt: skip


def _parts(exhibit: Exhibit, known: frozenset[str]) -> list[_Part]:
    command, lines = exhibit.command, exhibit.lines
    if " | " in exhibit.text and (" >>" in exhibit.text or " => " in exhibit.text):
        does = _compiled(_ANSIBLE_DOES).search(command)
        inner = (does[1] or does[2] or "") if does else command
        marks = _marks(lines, lambda line: _first(_compiled(_ANSIBLE).match(line)))
        if marks:
            return [_Part(index, host, inner) for index, host in marks]
    if ": [" in exhibit.text and (plays := results(lines)):
        return [_Part(index, host, "" if host else command) for index, host in plays]
    loop = _compiled(_LOOP).search(command) if "for " in command else None
    if loop and re.search(rf"\bssh\b[^;|]*?\$\{{?{loop[1]}\b", loop[3]):
        parts = _looped(lines, loop[1], loop[2], loop[3].strip())
        if parts:
            return parts
    if _compiled(_PARALLEL).search(command):
        return _prefixed(lines, command)
    if not command or loop or "ssh" in command or "echo" in command:
        marks = _marks(lines, lambda line: banner_host(line, known))
        return [_Part(index, host, command) for index, host in marks]
    return []


def _first(match: re.Match[str] | None) -> str:
    return match[1] if match else ""


def _marks(lines: tuple[str, ...], host_of: Callable[[str], str]) -> list[tuple[int, str]]:
    return [(index, host) for index, line in enumerate(lines) if (host := host_of(line))]


def _looped(lines: tuple[str, ...], name: str, values: str, body: str) -> list[_Part]:
    """The turns of `for h in a b; do ssh $h …; done`, where the output shows which lines are whose."""
    turns = {}
    for value in [word.strip("'\"") for word in values.split()][:_MOST]:
        if "$" in value or "`" in value or "{" in value or "*" in value:
            return []
        does = re.sub(rf"\$(?:{name}\b|\{{{name}\}})", lambda _, value=value: value, body)  # type: ignore[misc]
        turns[value] = (_reached(does) or value, does)
    shown = [(index, line.strip()) for index, line in enumerate(lines) if line.strip()]
    if not shown or not turns:
        return []
    named = {**{host: host for host, _ in turns.values()}, **{value: host for value, (host, _) in turns.items()}}
    does_on = dict(turns.values())
    marks = _in_turn(shown, named, list(does_on))
    if marks and marks[0][0] == shown[0][0]:
        return [_Part(index, host, does_on[host]) for index, host in marks]
    if "hostname" in body or "uname -n" in body:
        own = [(index, line) for index, line in shown if re.fullmatch(r"[A-Za-z][\w.-]*", line)]
        if len(shown) % len(turns) == 0:  # as many lines from each
            own = [pair for pair in shown[:: len(shown) // len(turns)] if pair in own]
        if len(own) == len(turns) and own[0][0] == shown[0][0]:
            turned = zip(own, turns.values(), strict=True)
            return [_Part(index, host, does) for (index, host), (_, does) in turned]
    begun = [(index, re.match(r"\s*([\w.@-]+)[\s:,|=]*", lines[index])) for index, _ in shown]
    if all(begin and begin[1] in named for _, begin in begun):
        return [_Part(i, named[b[1]], does_on[named[b[1]]], b.end()) for i, b in begun if b]
    if len(shown) == len(turns) and ";" not in body and "&&" not in body:
        return [_Part(index, host, does) for (index, _), (host, does) in zip(shown, turns.values(), strict=True)]
    return []


def _in_turn(shown: list[tuple[int, str]], named: dict[str, str], order: list[str]) -> list[tuple[int, str]]:
    """Lines that are a host's name, where its turn is: a name may also be an answer (`cat nodename`)."""
    hosts = [(index, named.get(line.strip("=-#*:<>+[] "), "")) for index, line in shown]
    each = len(shown) // len(order)
    if each > 1 and [host for _, host in hosts[::each]] == order:  # as many lines from each
        return hosts[::each]
    marks: list[tuple[int, str]] = []
    for index, host in hosts:
        if host and (not marks or order.index(host) > order.index(marks[-1][1])):
            marks.append((index, host))
    return marks


def _prefixed(lines: tuple[str, ...], command: str) -> list[_Part]:
    """Lines of pdsh and clush: each begins with its host. Neighbours of one host belong together."""
    parts: list[_Part] = []
    for index, line in enumerate(lines):
        match = _compiled(_ANSWERED).match(line)
        if not match:
            if not parts:
                return []
            if parts[-1].host:  # something else follows
                parts.append(_Part(index, "", command))
            continue
        if not parts or parts[-1].host != match[1] or parts[-1].lead != match.end():
            parts.append(_Part(index, match[1], command, match.end()))
    return parts


def _reached(command: str) -> str:
    from tortie.doctor.reading.commands import effective

    match = re.search(r"\bssh\s.*", command)
    return effective(match[0]).host if match else ""


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.DOTALL if pattern is _LOOP else 0)
