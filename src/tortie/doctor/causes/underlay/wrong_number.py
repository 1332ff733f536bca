"""Rules that are meant for IPIP and let another protocol pass.

In /etc/protocols `ipencap` is 4, which is what Calico sends, and `ipip` is 94. Programs that look the name up there
(iptables, firewalld, Neutron of many releases) open 94.
"""

from __future__ import annotations

from typing import Final

from tortie.doctor.causes.firewall.hand_lists import hand_listed
from tortie.doctor.causes.underlay.traffic_evidence import compiled, rows
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Place
from tortie.model.tuples import NamedTuple

_LISTED: Final = r"\b(?:ACCEPT|RETURN)\s+{}\s+(?:--|\*|opt)"
_SAVED: Final = r"^\s*-[AI] \S+ .{{0,200}}?-p {} .{{0,200}}?-j (?:ACCEPT|RETURN)"
_OPENSTACK: Final = r"^\|[^|]{{0,60}}\|\s*{}\s*\|"
_FIREWALLD: Final = r"^\s*protocols:.{0,100}\bipip\b"
# Templates and commands of clouds: `IpProtocol: 94`, `--protocol 94`. Nobody looks a number up.
_WRONG, _RIGHT = "(?:94|ipip)", "(?:4|ipencap)"
_TYPED: Final = {
    _WRONG: lazily(r"(?:IpProtocol\"?\s?[:=]|--(?:ip-)?protocol[ =])\s?[\"']?(?:94|ipip)(?![\w.-])"),
    _RIGHT: lazily(r"(?:IpProtocol\"?\s?[:=]|--(?:ip-)?protocol[ =])\s?[\"']?(?:4|ipencap)(?![\w.-])"),
}


class Numbered(NamedTuple):
    """Such a rule; `printed` where a filter itself shows the number."""

    place: Place
    host: str
    printed: bool


def wrong_numbers(picture: Picture) -> list[Numbered]:
    """None where a rule beside them has the right number."""
    if _of(picture, _RIGHT):
        return []
    firewalld = rows(picture, _FIREWALLD, "firewall-cmd", needle="protocols:")
    return [*_of(picture, _WRONG), *(Numbered(row.place, row.host, False) for row in firewalld)]


def _of(picture: Picture, number: str) -> list[Numbered]:
    """In iptables' own lists `ipip` is what `-p 94` looks like; columns have the number."""
    listed = rows(picture, _LISTED.format(number), needle=" -- ")
    saved = rows(picture, _SAVED.format(number), needle="-p ")
    named = rows(picture, _OPENSTACK.format(number), "openstack", "neutron", needle="|")
    coded = rows(picture, _TYPED[number].pattern, needle="rotocol")
    typed = [one for one in hand_listed(picture) if one.owner == "accept" and compiled(number).fullmatch(one.name)]
    return [
        *(Numbered(row.place, row.host, True) for row in (*listed, *saved)),
        *(Numbered(row.place, row.host, False) for row in (*coded, *named)),
        *(Numbered(one.place, one.host, False) for one in typed),
        *_typed(picture, number),
    ]


def _typed(picture: Picture, number: str) -> list[Numbered]:
    """A command that adds such a rule, and may print nothing."""
    wanted = _TYPED[number]
    typed = (one for one in picture.exhibits if "rotocol" in one.command and "egress" not in one.command)
    return [Numbered(one.place(0), one.host, False) for one in typed if wanted.search(one.command)]
