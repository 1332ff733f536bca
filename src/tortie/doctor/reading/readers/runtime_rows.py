"""What rows of `docker ps`, `crictl ps` and their --format say beside name and state: ids, and published ports."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Fact, Setting
from tortie.doctor.reading.exhibit import Exhibit
from tortie.doctor.reading.readers.host_commands import rows

_ID: Final = lazily(r"^([0-9a-f]{12,64})\s")
_RUNS: Final = lazily(r"\s(?:Up \w|Running\s)")
_K8S: Final = lazily(r"(?:^|[\s/])k8s_([^_\s]+)_([^_\s]+)_")
_CRI: Final = lazily(r"\sRunning\s+(\S+)\s+\d+\s+[0-9a-f]{8,64}(?:\s+(\S+))?")
_PORT: Final = lazily(r"(?:^|[\s,])(?:[\d.]+|\[?:{2,3}\]?):?(\d{1,5})->(\d{1,5})/(tcp|udp)")
_NAME: Final = lazily(r"^[\w][\w.-]*$")


def details(exhibit: Exhibit) -> Iterator[Fact]:
    for index, line in rows(exhibit):
        if (id_ := _ID.match(line)) and _RUNS.search(line) and (named := _named(line)):
            yield Setting(exhibit.place(index), "runtime-id", id_[1], named[0], named[1], exhibit.host)
        if "->" in line:
            yield from _published(exhibit, index, line)


def _named(line: str) -> tuple[str, str] | None:
    """Container and pod of a row; docker's own containers have no pod."""
    if inside := _K8S.search(line) or _CRI.search(line):
        return inside[1], inside[2] or ""
    last = line.split()[-1]
    return (last, "") if _NAME.match(last) else None


def _published(exhibit: Exhibit, index: int, line: str) -> Iterator[Fact]:
    words = line.split()
    name = words[-1] if _ID.match(line) and _NAME.match(words[-1]) else words[0]
    seen: set[str] = set()
    for match in _PORT.finditer(line):
        if match[3] == "tcp" and match[1] not in seen and _NAME.match(name):
            seen.add(match[1])
            yield Setting(exhibit.place(index), "published-port", match[1], match[2], name, exhibit.host)
