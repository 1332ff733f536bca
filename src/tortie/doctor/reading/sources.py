"""What a person hands over, opened safely: files, folders, archives, standard input. Nothing is written or executed.

Everything is bounded: how many files, how deep archives may nest, how much they may unpack to. What is not read is
not dropped silently either: it is in `Opened.skipped`, with the reason.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator
from typing import BinaryIO, Final

from tortie.doctor.reading import large, long_texts
from tortie.doctor.reading.archives import Budget, Skipped, kind_of_archive, members, skipped
from tortie.doctor.reading.cleaning import decode, is_text, lines_of
from tortie.doctor.reading.exhibit import Source
from tortie.doctor.reading.redaction import redacted
from tortie.doctor.reading.special_files import open_pipe, refuse_special
from tortie.doctor.words import Words
from tortie.model.errors import UsageError
from tortie.model.measure import plain
from tortie.model.tuples import NamedTuple

WHOLE_MAX: Final = 64 << 20  # bytes of a text of another kind than a log that are held at a time
HEAD: Final = large.HEAD
FILES_MAX: Final = 200_000
NESTING_MAX: Final = 2

_BINARY_BYTES: Final = re.compile(rb"[\x01-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_BINARY: Final = Words("not text", "不是文本")
_SPECIAL: Final = Words("not a regular file", "不是普通文件")
_UNREADABLE: Final = Words("cannot be read: {why}", "无法读取：{why}")
_TOO_MANY: Final = Words("more than {count} files", "文件超过 {count} 个")
_DEEP: Final = Words("an archive inside archives", "压缩包嵌套过深")
_ALIKE: Final = Words(
    "{count} events were left out: the same was told of others before and after them",
    "省略了 {count} 条事件：前后已有内容相同的事件",
)
_ONLY_KNOWN: Final = Words(
    "after the first {size} MB, only lines with a known message were read",
    "前 {size} MB 之后，只读取了含有已知消息的行",
)


class File(NamedTuple):
    """Something to open; a file found in a folder was not `wanted` by its name."""

    path: str
    name: str  # as it is shown
    wanted: bool
    size: int


class Opened:
    """Sources one after another, so that only one need be in memory; afterwards, what was skipped."""

    def __init__(self, paths: Iterable[str], stdin: BinaryIO, needles: Iterable[str] = ()) -> None:
        self._paths, self._stdin = tuple(paths), stdin
        self.sieve = large.sieve_of(needles)
        self.skipped: list[Skipped] = []
        self._budget = Budget()
        self.reading = ""  # the name of what is being read, for whoever waits

    def __iter__(self) -> Iterator[Source]:
        for file in self.files():
            yield from self.open(file)

    def files(self) -> Iterator[File]:
        """In the order they are read; what cannot be opened is skipped on the way."""
        names = _display_names(self._paths)
        for count, file in enumerate(self._listed(names)):
            if count == FILES_MAX:
                self._skip(file.name, _TOO_MANY.fill(count=FILES_MAX))
                return
            if file.path == "-":
                yield file
                continue
            try:
                # A pipe or a device found in a folder could keep us waiting for ever; a link could lead out of it.
                found = (os.stat if file.wanted else os.lstat)(file.path)
            except OSError as error:
                self._failed(file, error)
                continue
            mode = found.st_mode
            if file.wanted:
                refuse_special(file.path, mode)
            if file.wanted or stat.S_ISREG(mode):
                yield file._replace(size=found.st_size)
            else:
                self._skip(file.name, _SPECIAL)

    def _listed(self, names: dict[str, str]) -> Iterator[File]:
        for top in self._paths:
            if top == "-":
                yield File(top, "standard input", True, 0)
            elif not os.path.isdir(top):
                yield File(top, plain(names[top]), True, 0)
            else:
                for folder, below, files in os.walk(top):  # links to folders are not followed
                    below.sort()
                    shown = os.path.normpath(os.path.join(names[top], os.path.relpath(folder, top)))
                    for name in sorted(files):
                        yield File(os.path.join(folder, name), plain(os.path.join(shown, name)), False, 0)

    def open(self, file: File) -> Iterator[Source]:
        self.reading = file.name
        if file.path == "-":
            yield from self._stream(file.name, self._stdin, 0)
            return
        try:
            pipe = stat.S_ISFIFO(os.stat(file.path).st_mode)
            with open_pipe(file.path) if pipe else open(file.path, "rb") as stream:
                for source in self._stream(file.name, stream, 0):
                    yield source._replace(size=file.size) if file.size and source.name == file.name else source
        except OSError as error:
            self._failed(file, error)

    def is_alone(self, file: File) -> bool:
        """Whether no other process can open it for us: a stream, or an archive, for which there is one budget."""
        if file.path == "-" or not os.path.isfile(file.path):
            return True
        try:
            with open(file.path, "rb") as stream:
                return bool(kind_of_archive(stream.read(512)))
        except OSError:
            return False

    def _failed(self, file: File, error: OSError) -> None:
        why = error.strerror or str(error)
        if file.wanted:
            raise UsageError(f"{file.path} cannot be read", why, "check the path") from None
        self._skip(file.name, _UNREADABLE.fill(why=why))

    def _skip(self, name: str, why: Words) -> None:
        self.skipped.append(Skipped(name, why))

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
        if not _readable(head):
            self._skip(name, _BINARY)
            return
        host = node_of(name)
        if large.is_log(head):
            yield large.put_together(name, host, self._portions(head, stream))
            return
        content = head + stream.read(WHOLE_MAX - len(head)) if len(head) == HEAD else head
        if len(content) < min(long_texts.LONG, WHOLE_MAX):
            yield Source(name, tuple(redacted(lines_of(decode(content)))), (), host, size=len(content))
            return
        whole = len(content) < WHOLE_MAX
        if not whole:  # what is cut is a line
            content += stream.readline(large.LINE_MAX)
        text = long_texts.read_long(name, host, content, None if whole else stream, self.sieve)  # type: ignore[arg-type]
        if text.events_left_out:
            self._skip(name, _ALIKE.fill(count=text.events_left_out))
        if not text.whole:
            self._skip(name, _ONLY_KNOWN.fill(size=long_texts.WHOLE >> 20))
        yield text.source

    def _portions(self, head: bytes, stream: BinaryIO) -> Iterator[large.Portion]:
        """Of a file as several processes would read it; a stream has one."""
        size = _size(stream)
        if size < large.SHARED_FROM:
            yield large.portion(stream, self.sieve, head)  # type: ignore[arg-type]
            return
        for start, stop in large.ranges(size):
            yield large.portion_of_range(stream, start, stop, self.sieve)


def open_sources(paths: Iterable[str], stdin: BinaryIO, needles: Iterable[str] = ()) -> Opened:
    """`needles` are what large logs are searched for; the catalogue of causes knows them."""
    return Opened(paths, stdin, needles)


def long_log(file: File) -> bool:
    """Whether it pays to read it in ranges."""
    if file.size < large.SHARED_FROM:
        return False
    try:
        with open(file.path, "rb") as stream:
            head = stream.read(HEAD)
            return _size(stream) >= large.SHARED_FROM and _readable(head) and large.is_log(head)
    except OSError:
        return False


def _size(stream: BinaryIO) -> int:
    """Of a regular file; nothing of everything else, an archive's member too."""
    try:
        found = os.fstat(stream.fileno())
    except OSError:
        return 0
    return found.st_size if stat.S_ISREG(found.st_mode) else 0


def _readable(head: bytes) -> bool:
    """Text, or a text with holes: a machine that lost power leaves logs with runs of zeros."""
    if is_text(head):
        return True
    rest = head.replace(b"\x00", b"")
    return len(rest) * 2 >= len(head) and len(_BINARY_BYTES.findall(rest)) * 200 <= len(rest)


def _display_names(paths: tuple[str, ...]) -> dict[str, str]:
    """The shortest names that still tell the paths apart."""
    last = {path: os.path.basename(path.rstrip("/")) or path for path in paths}
    counts: dict[str, int] = {}
    for name in last.values():
        counts[name] = counts.get(name, 0) + 1
    return {path: name if counts[name] == 1 else path for path, name in last.items()}


def node_of(name: str) -> str:
    """`nodes/<node>/ip-addr.txt` belongs to that node."""
    parts = name.split("/")
    for index, part in enumerate(parts[:-2]):
        if part == "nodes":
            return parts[index + 1]
    return ""
