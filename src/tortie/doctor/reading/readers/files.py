"""Files of a machine as listings show them: ls, find, stat; and the text of small files.

Settings made here, by scope:
- `file`: name a path, value the text of the file as cat showed it (at most 40 lines), or `missing`, `denied` when a
  command could not get at it.
- `hosts`: name a host name of /etc/hosts, value its address. `resolv`: `nameserver`, `search`, `options` of
  resolv.conf.
- `selinux`: name a path, value the context that ls -Z shows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Fact, HostFile, Setting
from tortie.doctor.reading.exhibit import Exhibit
from tortie.doctor.reading.readers.host_commands import IP, ran, rows, segments, words_after
from tortie.doctor.reading.readers.host_times import moment

_MODE: Final = lazily(r"^([-dlbcps?][rwxsStT?-]{9})[.+@]?\s+(.*)$")
_STAMP: Final = lazily(
    r"\s(\d{4}-\d\d-\d\d \d\d:\d\d(?::\d\d(?:\.\d+)?)?(?: [+-]\d{4})?|[A-Z][a-z]{2} +\d{1,2} +(?:\d\d:\d\d|\d{4})"
    r"|\d{1,2} [A-Z][a-z]{2} +(?:\d\d:\d\d|\d{4})|\d{1,2}月 +\d{1,2} +(?:\d\d:\d\d|\d{4})"
    r"|(?<=\d )\d\d:\d\d(?::\d\d)?)\s+(\S.*)$"  # of a style that somebody asked for
)
_FULL_TIME: Final = lazily(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?(?: [+-]\d{4})?")
_ABSOLUTE: Final = lazily(r"(?:^|[\s'\"])(/[^\s'\":]+)")
_CONTEXT: Final = lazily(r"\b(\w+_u:\w+_r:\w+:s\d\S*)")
_LOST: Final = lazily(
    r"^(?:ls|cat|stat|find|head|tail|grep|bash|sh|-bash|file):.*?[‘'\"`]?(/[^\s'’\"`:]+)[’'\"`]?: "
    r"(No such file or directory|Permission denied|Not a directory)"
)
_STATS: Final = lazily(r"^File: [‘'\"`]?(/[^’'\"`]+)")
KEPT: Final = 400
_SMALL: Final = 40
_SECRETS: Final = ("token:", "PRIVATE KEY", "key-data", "password")  # such files are not carried along


def read(exhibit: Exhibit) -> Iterator[Fact]:
    text = exhibit.text
    if "No such file" in text or "Permission denied" in text or "Not a directory" in text:
        yield from _lost(exhibit)
    if "rw" in text or "r-x" in text or "r--" in text:
        yield from _long(exhibit)
    if ran(exhibit, "ls", "ll"):
        yield from _short(exhibit)
    if ran(exhibit, "find"):
        yield from _found(exhibit)
    if ran(exhibit, "stat"):
        yield from _stat_brief(exhibit)
    if "File: " in text and "Modify: " in text:
        yield from _stat(exhibit)
    if ran(exhibit, "cat", "more", "less"):
        yield from _content(exhibit)


def _paths(exhibit: Exhibit, *programs: str) -> list[str]:
    found: list[str] = []
    for segment in segments(exhibit.command):
        found += [word.strip("'\"()") for word in words_after(segment, *programs) if not word.startswith("-")]
    return [path for path in found if path.startswith(("/", "~", "."))]


def _split(path: str) -> tuple[str, str]:
    folder, _, name = path.rstrip("/").rpartition("/")
    return folder or "/", name


def _folders(exhibit: Exhibit) -> list[str]:
    """Folders that were listed, without globs: `/etc/cni/net.d/*` lists the files themselves."""
    paths = _paths(exhibit, "ls", "ll")
    here = [exhibit.folder] if exhibit.folder and not paths else []
    return [path.rstrip("/") or "/" for path in paths if "*" not in path] or here


def _lost(exhibit: Exhibit) -> Iterator[Fact]:
    for index, line in rows(exhibit):
        match = _LOST.match(line)
        if match:
            value = "denied" if match[2].startswith("Perm") else "missing"
            yield Setting(exhibit.place(index), "file", match[1], value, "", exhibit.host)


def _long(exhibit: Exhibit) -> Iterator[Fact]:
    folders = _folders(exhibit)
    itself = re.search(r"\bls\s{1,8}(?:\S{1,200}\s{1,8}){0,12}?-\w{0,8}d", exhibit.command) is not None
    folder = folders[0] if folders else ""
    kept = 0
    for index, raw in enumerate(exhibit.lines):
        line = raw.strip()
        if line.startswith("/") and line.endswith(":") and " " not in line:
            folder = line[:-1].rstrip("/") or "/"
            continue
        match = _MODE.match(line) if line[:1] in ("-", "d", "l", "s", "c", "b", "p") else None
        if not match or kept >= KEPT:
            continue
        stamp = _STAMP.search(f" {match[2]}")
        context = _CONTEXT.search(match[2])
        name = stamp[2] if stamp else match[2].split()[-1] if context or itself else ""
        if not name or name in (".", ".."):
            continue
        kept += 1
        name, _, target = name.partition(" -> ")
        own, base = _split(name) if "/" in name else (folder, name)
        if context:
            path = name if "/" in name else f"{folder}/{name}"
            yield Setting(exhibit.place(index), "selinux", path, context[1], "", exhibit.host)
        modified = moment(stamp[1]) if stamp and stamp[1][:4].isdecimal() and "-" in stamp[1] else None
        yield HostFile(exhibit.place(index), own, base, exhibit.host, match[1], modified, target)


def _short(exhibit: Exhibit) -> Iterator[Fact]:
    folders = _folders(exhibit)
    if not folders and "*" not in exhibit.command:
        return
    folder = folders[0] if folders else ""
    counted = bool(re.search(r"\|\s*(?:wc|xargs|awk|md5sum)\b", exhibit.command))
    long = re.search(r"\bls\s{1,8}(?:\S{1,200}\s{1,8}){0,12}?-\w{0,8}[lgo]", exhibit.command)
    if counted or long or ran(exhibit, "ll"):
        return
    kept = 0
    for index, line in rows(exhibit):
        if line.startswith("/") and line.endswith(":"):
            folder = line[:-1].rstrip("/") or "/"
            continue
        if line.startswith(("ls:", "total ", "^C", "command terminated", "Error", "$", "#")) or _MODE.match(line):
            continue
        if line[0] in '{["<' or "=" in line or '": ' in line:  # another command's answer begins
            return
        for name in line.split():
            own, base = _split(name) if name.startswith("/") else (folder, name)
            if kept < KEPT and any(letter.isalnum() for letter in name):
                kept += 1
                yield HostFile(exhibit.place(index), own, base, exhibit.host)


def _found(exhibit: Exhibit) -> Iterator[Fact]:
    kept = 0
    for index, line in rows(exhibit):
        if line.startswith("/") and " " not in line and not line.endswith(":") and kept < KEPT:
            kept += 1
            folder, name = _split(line)
            yield HostFile(exhibit.place(index), folder, name, exhibit.host)


def _stat(exhibit: Exhibit) -> Iterator[Fact]:
    path, mode, first = "", "", 0
    for index, line in rows(exhibit):
        if match := _STATS.match(line):
            path, mode, first = match[1].strip(), "", index
        elif match := re.match(r"^Access: \(\d+/([-\w]{10})\)", line):
            mode = match[1]
        elif line.startswith("Modify: ") and path:
            folder, name = _split(path)
            place = exhibit.place(first, index + 1)
            yield HostFile(place, folder, name, exhibit.host, mode, moment(line[8:]))


def _stat_brief(exhibit: Exhibit) -> Iterator[Fact]:
    """`stat -c '%y %n'`, in either order: a time and a path on a line."""
    for index, line in rows(exhibit):
        time, path = _FULL_TIME.search(line), _ABSOLUTE.search(line)
        if time and path:
            folder, name = _split(path[1])
            yield HostFile(exhibit.place(index), folder, name, exhibit.host, "", moment(time.group()))


def _content(exhibit: Exhibit) -> Iterator[Fact]:
    paths = [path for path in _paths(exhibit, "cat", "more", "less") if "*" not in path]
    lines = list(rows(exhibit))
    if not paths or not lines:
        return
    if any(path.endswith("/hosts") for path in paths):
        for index, line in lines:
            match = re.match(rf"^({IP})\s+([^#]+)", line)
            for name in match[2].split() if match else ():
                yield Setting(exhibit.place(index), "hosts", name, match[1] if match else "", "", exhibit.host)
    if any(path.endswith("resolv.conf") for path in paths):
        for index, line in lines:
            name, _, value = line.partition(" ")
            if name in ("nameserver", "search", "options", "domain"):
                yield Setting(exhibit.place(index), "resolv", name, value.strip(), "", exhibit.host)
    lost = _LOST.match(lines[0][1]) is not None
    single = len(paths) == 1 and len(segments(exhibit.command)) == 1 and "|" not in exhibit.command
    secret = any(word in exhibit.text for word in _SECRETS)
    if single and len(lines) <= _SMALL and not lost and not secret:
        text = "\n".join(line for _, line in lines)
        place = exhibit.place(lines[0][0], lines[-1][0] + 1)
        yield Setting(place, "file", paths[0], text, "", exhibit.host)
    elif len(paths) == len(lines) and len(paths) > 1:
        for path, (index, line) in zip(paths, lines, strict=True):
            if not _LOST.match(line):
                yield Setting(exhibit.place(index), "file", path, line, "", exhibit.host)
