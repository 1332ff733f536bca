"""Whether the evidence already has what a question would bring, with or without the command that brought it.

A question is one command line of several parts. Each part is known by what it asks for: the facts that its output is
read as. A part that makes no facts counts as answered where somebody typed it and its output is there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import (
    CalicoNode,
    Certificate,
    Clock,
    Condition,
    Container,
    Disk,
    Document,
    HostFile,
    Interface,
    Listener,
    Load,
    LogLine,
    Ping,
    Pool,
    PoolUse,
    PortTest,
    Route,
    RoutingRule,
    Setting,
    Unit,
    Workload,
)
from tortie.doctor.picture.picture import Picture

Match = re.Match[str]
Test = Callable[[Picture, Match], bool]

_API_PORTS: Final = (443, 6443, 16443)
_LOGS_OF: Final = (
    ("upgrade-ipam", "upgrade-ipam"), ("mount-bpffs", "mount-bpffs"), ("kube-proxy", "kube-proxy"),
    ("calico-kube-controllers", "kube-controllers"), ("typha", "typha"), ("tigera-operator", "operator"),
)  # fmt: skip
_GREPPED: Final = lazily(r"grep\s+((?:-\w+\s+(?:\d+\s+)?)*(?:-e\s+)?(?:'[^']*'|\S+)(?:\s+-e\s+(?:'[^']*'|\S+))*)")
_WORD: Final = lazily(r"'([^']*)'|(?<![\w-])(?!-)([^\s']+)")


def _any(kind: type) -> Test:
    return lambda picture, _: bool(picture.of(kind))


def _setting(*scopes: str) -> Test:
    return lambda picture, _: any(one.scope in scopes for one in picture.of(Setting))


def _addresses(picture: Picture, _: Match) -> bool:
    return bool(picture.registered()) and any(node.internal_ip for node in picture.nodes_now().values())


def _port(picture: Picture, match: Match) -> bool:
    return any(test.port == int(match[1]) for test in picture.of(PortTest))


def _listener(picture: Picture, match: Match) -> bool:
    return any(one.port == int(match[1]) for one in picture.of(Listener)) or bool(picture.commands("ss ", match[1]))


def _units(picture: Picture, match: Match) -> bool:
    names = {unit.name.removesuffix(".service") for unit in picture.of(Unit)}
    return all(word in names for word in match[1].split() if not word.startswith("-"))


def _sysctls(picture: Picture, match: Match) -> bool:
    return all(picture.settings(name, "sysctl") for name in match[1].split())


def _folder(picture: Picture, match: Match) -> bool:
    return any(file.folder.rstrip("/").startswith(match[1].rstrip("/")) for file in picture.of(HostFile))


def _logs(picture: Picture, match: Match) -> bool:
    """Lines of that program; where words are picked out of them, lines with one of these."""
    part = match.string
    program = next((known for word, known in _LOGS_OF if word in part), "")
    lines = [line for line in picture.of(LogLine) if not program or line.program == program]
    words = _picked(part)
    if words:
        return any(word in line.message.lower() for line in lines for word in words)
    return bool(lines)


def _picked(part: str) -> list[str]:
    grepped = _GREPPED.search(part)
    found = (quoted or plain for quoted, plain in _WORD.findall(grepped[1])) if grepped else ()
    return [word.strip("^$").lower() for word in found if not word.isdecimal()]


def _described(picture: Picture, match: Match) -> bool:
    """Events or states of a pod of that kind."""
    part = match.string
    asked = []
    if "Last State" in part or "Exit Code" in part:
        asked.append(any(container.last_state or container.last_reason for container in picture.of(Container)))
    if "Liveness" in part or "probe failed" in part:
        asked.append(picture.probe("liveness") is not None)
    return all(asked) if asked else bool(picture.events())


def _operator_says(picture: Picture, match: Match) -> bool:
    """The table tells that it is degraded; why stands in the whole object."""
    if "yaml" not in match.string:
        return any(one.scope == "tigerastatus" for one in picture.of(Setting))
    typed = any(picture.commands("tigerastatus", word) for word in ("yaml", "json", "describe"))
    return typed or any(document.kind == "TigeraStatus" for document in picture.of(Document))


def _kube_proxies(picture: Picture, _: Match) -> bool:
    return bool(picture.pods_now("kube-proxy"))


# The first that fits a part decides; special ones stand before general ones.
_TESTS: Final[tuple[tuple[re.Pattern[str], Test], ...]] = tuple(
    (lazily(words), test)
    for words, test in (
        (r"calicoctl node status", lambda p, _: bool(p.sessions() or p.commands("calicoctl", "status"))),
        (r"custom-columns=.*IPv4Address", _addresses),
        (r"\blogs\b", _logs),
        (r"describe (?:pod|po)\b", _described),
        (r"describe node", _any(Condition)),
        (r"grep -?\w* ?kube-proxy|get ds kube-proxy", _kube_proxies),
        (r"grep -c KUBE-SVC", lambda p, _: bool(p.numbers("KUBE-SVC"))),
        (r"tigerastatus", _operator_says),
        (r"get (?:pod,)?(?:ep|endpoints)\b", _setting("endpoints")),
        (r"get crd", _setting("crd")),
        (r"get ippools?\b", _any(Pool)),
        (r"calicoctl ipam show", _any(PoolUse)),
        (r"calicoctl get nodes?\b", lambda p, _: bool(p.of(CalicoNode) or p.registered())),
        (r"get (?:no|nodes?) -o wide", lambda p, _: any(n.internal_ip for n in p.nodes_now().values())),
        (r"get (?:no|nodes?)\b(?! -L|.*--show-labels|.*-o (?:yaml|json))", lambda p, _: bool(p.nodes_now())),
        (r"(?:get|describe) (?:ds|daemonset)\b(?!.*-o (?:yaml|json))", _any(Workload)),
        (r"^kubectl.* get pod(?:s)?\b(?!.*-o (?:yaml|json))", lambda p, _: bool(p.pods_now())),
        (r"^ip route get", lambda p, _: bool(p.commands("route", "get"))),
        (r"^ip (?:route|r)\b", _any(Route)),
        (r"^ip rule", _any(RoutingRule)),
        (r"^ip (?:-\S+ )*(?:a|addr|address|link|l)\b", _any(Interface)),
        (r"^ping ", _any(Ping)),
        (r"^nc .* (\d+)$", _port),
        (r"^ss .*:(\d+)", _listener),
        (r"^uptime|^top ", _any(Load)),
        (r"^nproc", lambda p, _: any(load.cores for load in p.of(Load)) or bool(p.commands("nproc"))),
        (r"^df ", _any(Disk)),
        (r"^systemctl (?:status|is-active) (.+)", _units),
        (r"^sysctl (.+)", _sysctls),
        (r"^(?:date|timedatectl)", _any(Clock)),
        (r"openssl (?:x509|s_client)", _any(Certificate)),
        (r"^ls .*?(/\S+)", _folder),
        (r"^curl .*(?:6443|healthz|readyz)", lambda p, _: any(t.port in _API_PORTS for t in p.of(PortTest))),
    )
)


def left_of(command: str, picture: Picture) -> str:
    """The parts of a question that are not answered yet; empty when all are."""
    return "; ".join(part for part in _parts(command) if not _answered(part, picture))


def _answered(part: str, picture: Picture) -> bool:
    for pattern, test in _TESTS:
        match = pattern.search(part)
        if match:
            return test(picture, match)
    return _typed(part, picture)


def _typed(part: str, picture: Picture) -> bool:
    """Somebody ran the same program with the same words, and its output is there."""
    head = part.partition("|")[0]
    words = [word for word in head.split() if not word.startswith(("-", "<", "'", '"', "$"))][:4]
    return len(words) > 1 and any(
        exhibit.lines and all(word in exhibit.command for word in words) for exhibit in picture.exhibits
    )


def _parts(command: str) -> Iterator[str]:
    """Cut at semicolons, unless they stand in quotes or in a loop."""
    if re.match(r"\s*(?:for|while|if) ", command) or " do " in command or "#" in command:
        yield command
        return
    part, quote = "", ""
    for letter in command:
        if letter in "'\"" and quote in ("", letter):
            quote = "" if quote else letter
        if letter == ";" and not quote:
            yield part.strip()
            part = ""
        else:
            part += letter
    if part.strip():
        yield part.strip()
