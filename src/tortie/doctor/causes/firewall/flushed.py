"""Rules that somebody takes out of the kernel again and again: a script, a job of cron, a tool that hardens hosts.

Felix looks at its rules every now and then, and says when the jump into its chains has gone; it puts them back at once,
so that whoever looks a minute later finds all in order.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from tortie.doctor.causes.shared import JUMP_GONE
from tortie.doctor.causes.underlay.traffic_evidence import rows
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import FilterRule, Unit
from tortie.doctor.picture.picture import Picture
from tortie.doctor.picture.places import exhibit_at
from tortie.doctor.reading.exhibit import Exhibit, Place
from tortie.doctor.signs import Hit
from tortie.model.tuples import NamedTuple

_IDS: Final = lazily(r"actualRuleIDs=\[\]string\{([^}]{0,400})\}")
_CLOCK: Final = lazily(r"\b(?P<day>\d{4}-\d\d-\d\d)[ T](?P<hour>\d\d):(?P<minute>\d\d):\d\d")
_PERIODS: Final = (60, 30, 20, 15)  # minutes
_APART: Final = 10
_CUT: Final = lazily(r"\|\s*(?:grep|head|tail|awk|sed)\b")
_JOB: Final = r"\bCMD \((?P<what>[^()]{1,200})\)"
_LINE: Final = r"^\s*(?:[\d*/,-]{1,20}\s{1,8}){5}(?:root\s{1,8})?(?P<what>/\S.{0,200})$"
_OF_FILTERS: Final = lazily(r"iptables|nft|firewall|\bfw|_fw|harden|secur|baseline|ruleset|rules", re.IGNORECASE)
_SCRIPT: Final = lazily(r"(?<![\w./-])[\w./-]{1,120}\.(?:sh|py|pl|bash)\b|/(?:usr|opt|etc|root|home)/[\w./-]{1,120}")
# What distributions put there.
_USUAL: Final = (
    "0anacron", "0hourly", "mcelog.cron", "sysstat", "raid-check", "dnf", "yum", "logrotate", "man-db", "mlocate",
    "plocate", "apt-compat", "dpkg", "e2scrub", "popularity", "update-notifier", "bsdmainutils", "placeholder",
    "anacron", "rhsmd", "mdadm", "ntp", "chrony", "locate", "google-chrome", "unbound", "spamassassin", "aptitude",
)  # fmt: skip


class Flushed(NamedTuple):
    """Where Felix says that its jump was gone, a list without it, and what may have taken it away."""

    gone: tuple[Place, ...]
    bare: tuple[Place, ...]
    jobs: tuple[Place, ...]
    scripts: tuple[str, ...]
    regular: bool  # at the same minute of hours or parts of hours
    host: str


def jumps_gone(picture: Picture) -> list[Hit]:
    return [hit for hit in picture.hits(JUMP_GONE) if not hit.prose and _all_gone(hit)]


def flushed(picture: Picture) -> Flushed | None:
    hits = jumps_gone(picture)
    firewalld = any(u.name.startswith("firewalld") and u.active == "active" for u in picture.of(Unit))
    if not hits or firewalld:
        return None
    host = next((hit.host for hit in hits if hit.host), "")
    bare = list(_without_calico(picture))
    jobs = list(_jobs(picture))
    return Flushed(
        tuple(hit.place for hit in hits[:2]), tuple(bare[:2]), tuple(place for place, _ in jobs[:1]),
        tuple(dict.fromkeys(name for _, name in jobs))[:2], _regular(hits), host,
    )  # fmt: skip


def _all_gone(hit: Hit) -> bool:
    """A rule of another program has no name here; one of Calico's has."""
    ids = _IDS.search(hit.line)
    return ids is not None and not ids[1].strip('", ')


def _regular(hits: list[Hit]) -> bool:
    """At the same minute of several hours, or of parts of hours."""
    clocks = [match for hit in hits if (match := _CLOCK.search(hit.line))]
    times = sorted({(match["day"], int(match["hour"]) * 60 + int(match["minute"])) for match in clocks})
    apart = {(day, minute // _APART) for day, minute in times}
    return len(apart) > 1 and any(max(m % every for _, m in times) - min(m % every for _, m in times) <= 1
                                  for every in _PERIODS)  # fmt: skip


def _without_calico(picture: Picture) -> Iterator[Place]:
    """All rules of FORWARD, and none of them leads to Calico's chain."""
    every = [rule for rule in picture.of(FilterRule) if rule.chain == "FORWARD" and rule.table in ("", "filter")]
    lists: dict[tuple[str, int], tuple[Exhibit, list[FilterRule]]] = {}
    for rule in every:
        if shown := exhibit_at(picture, rule.place):
            lists.setdefault((shown.source, shown.number(0)), (shown, []))[1].append(rule)
    for shown, listed in lists.values():
        jumps = any(rule.verdict.startswith("cali") for rule in listed)
        if not jumps and any(rule.policy for rule in listed) and not _CUT.search(shown.command):
            yield from (rule.place for rule in listed)


def _jobs(picture: Picture) -> Iterator[tuple[Place, str]]:
    """Jobs that look after packet filters by their name, and files of cron that no distribution puts there."""
    for row in (*rows(picture, _JOB, needle="CMD ("), *rows(picture, _LINE, "cron")):
        script = _SCRIPT.search(row["what"])
        if _OF_FILTERS.search(row["what"]):
            yield row.place, script.group() if script else row["what"].split()[0]
    for exhibit in picture.exhibits:
        if "/etc/cron." in exhibit.command:
            yield from _files(exhibit)


def _files(exhibit: Exhibit) -> Iterator[tuple[Place, str]]:
    for index, line in enumerate(exhibit.lines):
        for name in re.split(r"\s+", line.strip()) if not line.rstrip().endswith(":") else ():
            known = name.startswith(_USUAL) or not re.fullmatch(r"[A-Za-z][\w.-]{2,60}", name)
            if not known and (_OF_FILTERS.search(name) or name.endswith(".sh")):
                yield exhibit.place(index), name
