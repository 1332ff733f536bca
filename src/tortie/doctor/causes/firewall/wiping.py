"""Who loads the rules of a host anew, and takes those of Calico and kube-proxy away by that.

Felix and kube-proxy put theirs back at their next look, half a minute or more later; what CNI plugins wrote when a pod
started (ports of the host) stays away until that pod starts again.
"""

from __future__ import annotations

import re
from typing import Final

from tortie.doctor.causes.nodes.bgp_evidence import same_host
from tortie.doctor.causes.underlay.traffic_evidence import compiled, counted
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import LogLine
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Place
from tortie.model.tuples import NamedTuple

_ANEW: Final = r"systemctl (?:try-)?(?:re)?(?:start|load)(?:-or-restart)? (?:-\S+ )?"
_AGAIN: Final = r"(?:re)?(?:start|load)"
_BY_HAND: Final = {
    "firewalld": rf"\bfirewall-cmd (?:-\S+ )?--(?:complete-)?reload|{_ANEW}firewalld|service firewalld {_AGAIN}",
    "nftables": rf"{_ANEW}nftables|service nftables {_AGAIN}|\bnft -f \S|\bnft flush ruleset",
    "netfilter-persistent": rf"\bnetfilter-persistent (?:reload|start)|{_ANEW}netfilter-persistent",
    "iptables": rf"{_ANEW}iptables|service iptables {_AGAIN}|\biptables-restore (?:<|/)|\biptables -F(?:\s|;|$)",
    "ufw": rf"\bufw (?:--force )?(?:reload|enable)|{_ANEW}ufw",
}
_REMEMBERED: Final = lazily(r"\s*\d{1,6}\*?\s+(\S.*)")
_UNITS: Final = ("firewalld", "nftables", "netfilter-persistent", "iptables", "ufw")
_LOGGED: Final = lazily(r"\breload|(?:Started|Starting|Reloaded|Reloading|Finished) ", 0)
_SETTING: Final = "FlushAllOnReload=yes"  # of firewalld, and its default since 0.8
_KEPT: Final = "FlushAllOnReload=no"
_LONG_AGO: Final = lazily(
    r"\blast (?:week|month|year|time)\b|\b(?:weeks?|months?|years?) ago\b|上周|上星期|上个月|去年|之前", re.IGNORECASE
)
_FLUSH: Final = "flush ruleset"
_RULES: Final = ("cali", "KUBE", "CNI-")
_LISTS: Final = lazily(r"\bnft list|ip6?tables(?:-nft|-legacy)?(?:-save| )")
_LEAST: Final = 3


class Wiping(NamedTuple):
    """The program, where it is shown to load its rules, and where those of others are gone or told to be."""

    program: str
    loads: tuple[Place, ...]
    gone: tuple[Place, ...]  # counted, and none left
    told: tuple[Place, ...]  # people say what a reload breaks
    empties: tuple[Place, ...]  # its own setting or file that clears all tables
    host: str


def wiping(picture: Picture) -> Wiping | None:
    kept = any(_KEPT in exhibit.text for exhibit in picture.exhibits if not exhibit.prose)
    told = [] if kept else [one for one in picture.said("broken-by-reload") if not _LONG_AGO.search(one.text)]
    loads = [(name, place, host) for name, place, host in (*_typed(picture), *_logged(picture))]
    if not (told or loads):
        return None
    text = " ".join(one.text.lower() for one in told)
    named = next((name for name in _UNITS if name in text or (name == "firewalld" and "firewall-cmd" in text)), "")
    program = named if told and named else loads[0][0] if loads else ""
    if not program:
        return None
    own = [one for one in loads if one[0] == program]
    return Wiping(
        program, tuple(place for _, place, _ in own[:2]), tuple(_counted_away(picture)),
        tuple(one.place for one in told[:1]), tuple(_empties(picture, program)), next((h for _, _, h in own if h), ""),
    )  # fmt: skip


def _typed(picture: Picture) -> list[tuple[str, Place, str]]:
    """At a prompt, or as the shell's history has it."""
    typed = [(one.command, one.place(0), one.host) for one in picture.exhibits if one.command]
    typed += [
        (match[1], one.place(index), one.host)
        for one in picture.exhibits
        if "history" in one.command
        for index, line in enumerate(one.lines)
        if (match := _REMEMBERED.match(line))
    ]
    return [
        (name, place, host)
        for command, place, host in typed
        for name, pattern in _BY_HAND.items()
        if compiled(pattern).search(command)
    ]


def _logged(picture: Picture) -> list[tuple[str, Place, str]]:
    """Its own words, or systemd's about it."""
    found = []
    for line in picture.of(LogLine):
        for name in _UNITS:
            own = line.program == name or (line.program == "systemd" and _names(line.message, name))
            if own and _LOGGED.search(line.message):
                found.append((name, line.place, line.host))
    return found


def _names(message: str, name: str) -> bool:
    """A unit, also before its description (`firewalld - dynamic …`), or what RHEL calls that of iptables."""
    return (
        f"{name}." in message
        or f" {name} - " in message
        or (name == "iptables" and "IPv4 firewall with iptables" in message)
    )


def _counted_away(picture: Picture) -> list[Place]:
    """Rules of Calico or kube-proxy counted twice: many, then hardly any. It takes the two ends as evidence.

    Where an agent is ready, none of either kind says the same: it has written its own.
    """
    seen: dict[tuple[str, str], tuple[int, Place]] = {}
    for part, number, exhibit in counted(picture):
        word = next((name for name in _RULES if name in part), "")
        if not word or not _LISTS.search(part):
            continue
        place = exhibit.place(0, max(1, len(exhibit.lines)))
        many, before = seen.get((exhibit.host, word), (0, place))
        if many >= _LEAST and number * 10 <= many:
            return [before, place]
        seen[exhibit.host, word] = (number, place)
    ready = {pod.node for pod in picture.agents_now() if pod.all_ready}
    for host in dict.fromkeys(host for host, _ in seen):
        none = [seen[host, word][1] for word in _RULES[:2] if seen.get((host, word), (1,))[0] == 0]
        if len(none) == len(_RULES[:2]) and any(same_host(host, node) for node in ready):
            return none
    return []


def _empties(picture: Picture, program: str) -> list[Place]:
    wanted = {"firewalld": _SETTING, "nftables": _FLUSH}.get(program, "")
    lines = (
        exhibit.place(index)
        for exhibit in picture.exhibits
        for index, line in enumerate(exhibit.lines if wanted and wanted in exhibit.text else ())
        if wanted in line and not line.lstrip().startswith("#")
    )
    return list(lines)[:1]
