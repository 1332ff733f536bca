"""What a container's memory is: what its programs hold, or files that the kernel keeps as long as nobody needs room."""

from __future__ import annotations

from typing import Final

from tortie.doctor.lazily import lazily
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Exhibit

_STAT: Final = lazily(r"^\s*(rss|anon|cache|file|failcnt|oom_kill|oom) (\d{1,18})\s*$")
_HELD: Final = ("rss", "anon")  # by the first and the second version of cgroups
_KEPT: Final = ("cache", "file")
_TIMES: Final = 3  # as much cache as is held by programs
_MOST_HELD: Final = 400 << 20  # bytes; calico-node of a large cluster
_KILLED: Final = ("OOMKilled", "oom-kill", "emory cgroup out of memory")


def only_page_cache(picture: Picture) -> bool:
    """Little is held, all else is cache, and nobody was killed for it."""
    lines = (line for exhibit in picture.exhibits for line in exhibit.lines)
    if any(word in line for line in lines for word in _KILLED):
        return False
    if any(_refused(exhibit) for exhibit in picture.exhibits if "failcnt" in exhibit.command):
        return False
    stats = [stat for exhibit in picture.exhibits if (stat := _stat(exhibit))]
    return bool(stats) and all(_is_cache(stat) for stat in stats)


def _stat(exhibit: Exhibit) -> dict[str, int]:
    """memory.stat of one container; nothing where it is cut short of either number."""
    found = {match[1]: int(match[2]) for line in exhibit.lines if (match := _STAT.match(line))}
    return found if any(key in found for key in _HELD) and any(key in found for key in _KEPT) else {}


def _refused(exhibit: Exhibit) -> bool:
    """`cat memory.usage_in_bytes memory.failcnt`: how often there was not enough, a number by its place alone."""
    files = exhibit.command.split()[1:]
    at = next((index for index, name in enumerate(files) if name.endswith("failcnt")), 0)
    return at >= len(exhibit.lines) or exhibit.lines[at].strip() != "0"


def _is_cache(stat: dict[str, int]) -> bool:
    held = next(stat[key] for key in _HELD if key in stat)
    kept = next(stat[key] for key in _KEPT if key in stat)
    return held <= _MOST_HELD and kept >= _TIMES * held and not any(stat.get(key) for key in ("failcnt", "oom_kill"))
