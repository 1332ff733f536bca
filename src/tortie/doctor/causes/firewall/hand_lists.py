"""Rules of a packet filter as people type or paste them: a table from a console's page, a Terraform file.

What the tools of clouds print has a reader of its own (reading/readers/host_captures.py). Here no command says what the
lines are, so that several of them, and a heading or a closing rule, have to agree.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Setting
from tortie.doctor.picture.picture import Picture, remembered
from tortie.doctor.reading.exhibit import Exhibit

SCOPE: Final = "security-group"
_FEWEST: Final = 3  # rows that make a list
_LONGEST: Final = 200  # characters of a row
_PROTOCOL: Final = lazily(
    r"(?<![\w.-])(?P<name>tcp|udp|icmp|ipip|ipencap|all|any|-1|全部|所有|任意)(?![\w.-])", re.IGNORECASE
)
_VERB: Final = lazily(
    r"(?<![\w-])(?:(?P<open>allow(?:ed)?|accept|permit|允许|放行|放通)|(?P<shut>deny|denied|drop|reject|block|拒绝|禁止|丢弃))(?![\w-])",
    re.IGNORECASE,
)
_NETWORK: Final = lazily(
    r"(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}/\d{1,2}(?!\d)|::/0|\bsg-[0-9a-f]{6,}|\b(?:anywhere|self)\b", re.IGNORECASE
)
_PORTED: Final = lazily(r"(?<![\w./-])\d{1,5}(?:\s?[-/:]\s?\d{1,5})?(?![\w.])")
_TWICE: Final = lazily(r"(?<![\w./])(\d{1,5})/(\d{1,5})(?![\d.])")  # 22/22
_OF_PROTOCOL: Final = lazily(r"(?<![\w./-])(\d{1,5}(?:-\d{1,5})?)/(tcp|udp)\b", re.IGNORECASE)
_INWARD: Final = lazily(r"ingress|inbound|入方向|入站", re.IGNORECASE)
_GAP: Final = 2  # lines between rows
_WORDS: Final = 14  # more make a sentence
_OUTWARD: Final = lazily(r"egress|outbound|出方向|出站", re.IGNORECASE)
_HEADING: Final = lazily(
    r"security[- ]?group|\bsg\b|\bnsg\b|\bacl\b|firewall (?:rules?|list)|inbound|ingress|安全组|入站|入方向|防火墙规则",
    re.IGNORECASE,
)
_FIELD: Final = lazily(r"^\s*(?P<key>from_port|to_port|protocol|type)\s*=\s*\"?(?P<value>[\w-]{1,12})\"?")
_BLOCK: Final = lazily(r"^\s*(?:dynamic \")?(?P<way>ingress|egress)\"?\s*\{|^resource \"aws_security_group_rule\"")
_INLINE: Final = lazily(
    r"^\s*(?P<way>ingress|egress)\s*\{(?P<fields>[^{}]{1,180}(?:\$\{[^{}]{1,60}\}[^{}]{0,60})?)\}\s*$"
)
_PAIR: Final = lazily(r"\b(?P<key>from_port|to_port|protocol)\s*=\s*\"?(?P<value>[\w-]{1,12})\"?")
_LOOKED_ABOVE: Final = 4  # lines


@remembered
def hand_listed(picture: Picture) -> tuple[Setting, ...]:
    """Rules, as the reader of clouds gives them: the protocol, the line, and `accept` or `drop`."""
    found: list[Setting] = []
    lines: list[tuple[Exhibit, int]] = []
    for exhibit in picture.exhibits:
        if "from_port" in exhibit.text:
            found += _terraform(exhibit)
        elif not exhibit.command and not exhibit.form:
            lines += [(exhibit, index) for index in range(len(exhibit.lines))]
        else:
            lines.append((exhibit, -1))  # what stands on both sides of a command is not one list
    return (*found, *_listed(lines))


def _listed(lines: list[tuple[Exhibit, int]]) -> Iterator[Setting]:
    """Rows that stand together, with the heading above them. A row of a list may look like prose, and lie alone."""
    rows: list[Setting] = []
    above: list[str] = []
    strange, outward = 0, False
    for exhibit, index in lines:
        line = exhibit.lines[index][:_LONGEST] if index >= 0 else ""
        row = _row(exhibit, index, line) if index >= 0 else None
        if row is not None and rows and rows[-1].place.source != row.place.source:
            rows, above = [], []
        if row is not None:
            rows, strange = [*rows, *([] if outward else [row])], 0
            continue
        strange += 1 if line.strip("-+=| \t`") or index < 0 else 0
        outward = (outward or _OUTWARD.search(line) is not None) and not _INWARD.search(line)
        if rows and (strange > _GAP or index < 0):
            yield from rows if _is_list(rows, "\n".join(above)) else []
            rows, above = [], []
        above = [*above[-_LOOKED_ABOVE:], line] if line.strip() else above
        outward = outward and (bool(rows) or strange <= _LOOKED_ABOVE)
    yield from rows if _is_list(rows, "\n".join(above)) else []


def _is_list(rows: list[Setting], text: str) -> bool:
    opened = [row for row in rows if row.owner == "accept"]
    closing = any(row.owner == "drop" and row.name == "all" for row in rows)
    return len(rows) >= _FEWEST and len(opened) >= _FEWEST - 1 and (closing or _HEADING.search(text) is not None)


def _row(exhibit: Exhibit, index: int, line: str) -> Setting | None:
    protocol = _PROTOCOL.search(line)
    if not protocol or len(line.split()) > _WORDS or _OUTWARD.search(line):
        return None
    verb, network = _VERB.search(line), _NETWORK.search(line)
    name = protocol["name"].lower()
    ported = _PORTED.search(line) is not None
    if not ((verb and (network or ported or _everything(name))) or (network and ported)):
        return None
    what = "drop" if verb and verb["shut"] else "accept"
    value = _TWICE.sub(r"\1-\2", _OF_PROTOCOL.sub(r"\2 \1", line))
    return Setting(exhibit.place(index), SCOPE, "all" if _everything(name) else name, value, what, exhibit.host)


def _everything(name: str) -> bool:
    return name in ("all", "any", "-1", "全部", "所有", "任意")


def _terraform(exhibit: Exhibit) -> Iterator[Setting]:
    """`ingress { from_port = 22 … }`; each block one rule."""
    fields: dict[str, str] = {}
    way, start = "", 0
    for index, line in enumerate((*exhibit.lines, "}")):
        if inline := _INLINE.match(line[:_LONGEST]):
            pairs = {pair["key"]: pair["value"] for pair in _PAIR.finditer(inline["fields"])}
            if inline["way"] == "ingress" and "protocol" in pairs and "from_port" in pairs:
                yield _of_fields(exhibit, index, index, pairs)
        elif block := _BLOCK.match(line[:_LONGEST]):
            fields, way, start = {}, block["way"] or "", index
        elif field := _FIELD.match(line[:_LONGEST]):
            fields[field["key"]] = field["value"]
        elif line.strip().startswith("}") and "protocol" in fields and "from_port" in fields:
            if (way or fields.get("type", "ingress")) == "ingress":
                yield _of_fields(exhibit, start, index, fields)
            fields = {}


def _of_fields(exhibit: Exhibit, start: int, index: int, fields: dict[str, str]) -> Setting:
    name = fields["protocol"].lower()
    ports = f"{fields['from_port']}-{fields.get('to_port', fields['from_port'])}"
    place = exhibit.place(start, index)
    return Setting(place, SCOPE, "all" if _everything(name) else name, f"{name} {ports}", "accept", exhibit.host)
