"""An address that somebody wrote out for the agent (`IP=203.0.113.7`), and the file in which it is written."""

from __future__ import annotations

import re
from typing import Final

from tortie.doctor.causes.nodes.bgp_addresses import inner_link
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.addresses import public
from tortie.doctor.picture.facts import Interface, Setting
from tortie.doctor.picture.picture import Picture, remembered
from tortie.model.tuples import NamedTuple

_FILE: Final = lazily(
    r"(?<![\w./-])(/[\w.@/-]{1,200}\.(?:service|conf|env|ya?ml|sh|j2))(?![\w/-])|(/etc/default/[\w-]{1,60})"
)
_NEAR: Final = 6  # lines above a setting in which somebody says where it stands


class Fixed(NamedTuple):
    """`own`: the only address that the machine shows instead; empty where it shows several."""

    address: str
    setting: Setting
    file: str = ""
    own: str = ""
    link: Interface | None = None

    @property
    def translated(self) -> bool:
        """A cloud's public address: it is translated outside, and the machine itself never has it."""
        return public(self.address) and not (self.own and public(self.own))


@remembered
def fixed_nowhere(picture: Picture) -> Fixed | None:
    """The last one written, where links are shown and none has it."""
    links = [one for one in picture.of(Interface) if one.addresses and one.name != "lo" and not inner_link(one.name)]
    for setting in reversed(picture.settings("IP", "env")):
        address = setting.value.partition("/")[0]
        own = [one for one in links if not setting.host or not one.host or one.host == setting.host]
        shown = [text.partition("/")[0] for link in own for text in link.addresses if "." in text]
        if not re.fullmatch(r"\d{1,3}(?:\.\d{1,3}){3}", address) or not shown or address in shown:
            continue
        return Fixed(address, setting, _file(picture, setting), shown[0] if len(shown) == 1 else "", own[0])
    return None


def _file(picture: Picture, setting: Setting) -> str:
    """Of the command that showed it, or of the words above it."""
    above: list[tuple[int, str]] = []
    for exhibit in picture.exhibits:
        if exhibit.source != setting.place.source:
            continue
        inside = any(exhibit.number(index) == setting.place.first for index in range(len(exhibit.lines)))
        if inside and (match := _FILE.search(exhibit.command)):
            return str(match[0])
        above += [(exhibit.number(index), line) for index, line in enumerate(exhibit.lines)]
    near = [line for number, line in above if 0 <= setting.place.first - number <= _NEAR]
    return next((match[0] for line in reversed(near) if (match := _FILE.search(line[:500]))), "")
