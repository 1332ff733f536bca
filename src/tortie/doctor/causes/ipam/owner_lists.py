"""Hosts that own blocks, named one by one: in documents, by a check, in lists of resources or of keys."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from tortie.doctor.lazily import lazily
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Sign

AFFINITY_YAML: Final = Sign("ipam-affinity-yaml", "affinity: host:<node>")
AFFINITY_CHECK: Final = Sign("ipam-affinity-check", "affinity=host:<node>")

_AFFINITY: Final = lazily(r"/ipam/v2/host/([^/\s]{1,253})/ipv[46]/block/")
_ROW: Final = lazily(r"\s{0,40}+(?:blockaffinity\S{0,80}/)?(\S{1,260})(?:-\d{1,3}){4}-\d\d(?:\s|$)", re.IGNORECASE)
_COUNTED: Final = lazily(r"\s*(?:\d+\s+)?\"?host:([\w.-]+)", re.IGNORECASE)


def owners(picture: Picture) -> list[str]:
    """Hosts named by affinities of blocks, each once."""
    names = [hit.value("node").rstrip(":,") for hit in picture.hits(AFFINITY_YAML, AFFINITY_CHECK)]
    for exhibit in picture.exhibits:
        if "affinit" in exhibit.command and len(exhibit.lines) <= 5000:
            names.extend(_owners_listed(exhibit.lines))
        elif "ipam/v2/host" in exhibit.command and len(exhibit.lines) <= 5000:
            names.extend(_in_keys(exhibit.lines))
    return list(dict.fromkeys(name for name in names if name))


def _owners_listed(lines: tuple[str, ...]) -> Iterator[str]:
    """`host:w3`, perhaps counted by uniq, and names of affinities: the node, then the block with dashes."""
    for line in lines:
        match = _COUNTED.match(line[:400]) or _ROW.match(line[:400])
        if match:
            yield match[1]


def _in_keys(lines: tuple[str, ...]) -> Iterator[str]:
    for line in lines:
        if match := _AFFINITY.search(line[:400]):
            yield match[1]
