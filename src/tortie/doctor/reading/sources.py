"""What a person hands over, opened safely: files, folders, archives, standard input. Nothing is written or executed.

Everything is bounded: how many files, how deep archives may nest, how much they may unpack to. What is not read is
not dropped silently either: it is in `Opened.skipped`, with the reason.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from typing import BinaryIO, Final

from tortie.doctor.reading import large
from tortie.doctor.reading.archives import Budget, Skipped, kind_of_archive, members, skipped
from tortie.doctor.reading.cleaning import decode, is_text, lines_of
from tortie.doctor.reading.exhibit import Source
from tortie.doctor.reading.redaction import redacted
from tortie.doctor.words import Words
from tortie.model.errors import UsageError

WHOLE_MAX: Final = 64 << 20  # a text of another kind than a log is read up to here
HEAD: Final = 64 << 10
FILES_MAX: Final = 200_000
NESTING_MAX: Final = 2

_BINARY: Final = Words("not text", "不是文本")
_SPECIAL: Final = Words("not a regular file", "不是普通文件")
_UNREADABLE: Final = Words("cannot be read: {why}", "无法读取：{why}")
_TOO_MANY: Final = Words("more than {count} files", "文件超过 {count} 个")
_DEEP: Final = Words("an archive inside archives", "压缩包嵌套过深")
_CUT: Final = Words("only the first {size} MB were read", "只读取了前 {size} MB")


class Opened:
    """Sources one after another, so that only one need be in memory; afterwards, what was skipped."""

    def __init__(self, paths: Iterable[str], stdin: BinaryIO, needles: Iterable[str] = ()) -> None:
        self._paths, self._stdin = tuple(paths), stdin
        self._sieve = large.Sieve(needles)
        self.skipped: list[Skipped] = []
        self._budget = Budget()
        self._files = 0

    def __iter__(self) -> Iterator[Source]:
        names = _display_names(self._paths)
        for path in self._paths:
            name = names[path]
            if path == "-":
                yield from self._stream("standard input", self._stdin, 0)
            elif os.path.isdir(path):
                yield from self._folder(path, name)
            else:
                yield from self._file(path, name, wanted=True)

    def _skip(self, name: str, why: Words) -> None:
        self.skipped.append(Skipped(name, why))

    def _folder(self, top: str, shown: str) -> Iterator[Source]:
        for folder, below, files in os.walk(top):  # links to folders are not followed
            below.sort()
            for name in sorted(files):
                path = os.path.join(folder, name)
                yield from self._file(path, os.path.join(shown, os.path.relpath(path, top)), wanted=False)

    def _file(self, path: str, name: str, *, wanted: bool) -> Iterator[Source]:
        self._files += 1
        if self._files > FILES_MAX:
            if self._files == FILES_MAX + 1:
                self._skip(name, _TOO_MANY.fill(count=FILES_MAX))
            return
        try:
            # A pipe or a device found in a folder could keep us waiting for ever; a link could lead out of it.
            mode = (os.stat if wanted else os.lstat)(path).st_mode
            if not stat.S_ISREG(mode) and not (wanted and (stat.S_ISFIFO(mode) or stat.S_ISCHR(mode))):
                self._skip(name, _SPECIAL)
                return
            with open(path, "rb") as file:
                yield from self._stream(name, file, 0)
        except OSError as error:
            why = error.strerror or str(error)
            if wanted:
                raise UsageError(f"{path} cannot be read", why, "check the path") from None
            self._skip(name, _UNREADABLE.fill(why=why))

    def _stream(self, name: str, stream: BinaryIO, depth: int) -> Iterator[Source]:
        head = stream.read(HEAD)
        if kind_of_archive(head):
            if depth >= NESTING_MAX:
                self._skip(name, _DEEP)
                return
            for member in members(name, head, stream, self._budget):
                if isinstance(member, Skipped):
                    self._skip(member.name, member.why)
                else:
                    try:
                        yield from self._stream(member.name, member.stream, depth + 1)
                    except Exception as error:
                        self.skipped.append(skipped(member.name, error))
            return
        if not is_text(head):
            self._skip(name, _BINARY)
            return
        host = _node_of(name)
        if large.is_log(head):
            yield large.interesting_lines(name, head, stream, host, self._sieve)
            return
        rest = stream.read(WHOLE_MAX - len(head) + 1) if len(head) == HEAD else b""
        content = head + rest
        if len(content) > WHOLE_MAX:
            content = content[:WHOLE_MAX]
            self._skip(name, _CUT.fill(size=WHOLE_MAX >> 20))
        yield Source(name, tuple(redacted(lines_of(decode(content)))), (), host)


def open_sources(paths: Iterable[str], stdin: BinaryIO, needles: Iterable[str] = ()) -> Opened:
    """`needles` are what large logs are searched for; the catalogue of causes knows them."""
    return Opened(paths, stdin, needles)


def _display_names(paths: tuple[str, ...]) -> dict[str, str]:
    """The shortest names that still tell the paths apart."""
    last = {path: os.path.basename(path.rstrip("/")) or path for path in paths}
    counts: dict[str, int] = {}
    for name in last.values():
        counts[name] = counts.get(name, 0) + 1
    return {path: name if counts[name] == 1 else path for path, name in last.items()}


def _node_of(name: str) -> str:
    """`nodes/<node>/ip-addr.txt` belongs to that node."""
    parts = name.split("/")
    for index, part in enumerate(parts[:-2]):
        if part == "nodes":
            return parts[index + 1]
    return ""
