"""Archives read member by member from a stream, never unpacked to disk, within a budget of bytes and members."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import BinaryIO, Final

from tortie.doctor.words import Words
from tortie.model.tuples import NamedTuple

BYTES_MAX: Final = 8 << 30  # all archives of one run may unpack to this much
MEMBERS_MAX: Final = 200_000
RATIO_MAX: Final = 300  # no text packs better than this for long
RATIO_FROM: Final = 64 << 20  # below this nobody cares
ZIP_MAX: Final = 1 << 30  # a zip has its table at the end: one that comes from a pipe is held in memory

_BOMB: Final = Words("it unpacks to far more than it should; the rest was not read", "解压后体积异常，其余部分未读取")
_BROKEN: Final = Words("the archive is damaged: {why}", "压缩包已损坏：{why}")
_SPECIAL: Final = Words("not a regular file", "不是普通文件")
_LOCKED: Final = Words("it is encrypted", "已加密")


class Member(NamedTuple):
    name: str
    stream: BinaryIO


class Skipped(NamedTuple):
    name: str
    why: Words


class Spent(Exception):
    """The budget is used up."""


class Budget:
    """What unpacking may still produce, over all archives of one run."""

    def __init__(self, total: int = BYTES_MAX) -> None:
        self._left = total
        self._members = MEMBERS_MAX

    def take(self, count: int) -> None:
        self._left -= count
        if self._left < 0:
            raise Spent

    def member(self) -> None:
        self._members -= 1
        if self._members < 0:
            raise Spent


class _Counted(io.RawIOBase):
    """A stream whose bytes are counted against a budget, and against what they were unpacked from."""

    def __init__(self, stream: BinaryIO, budget: Budget, packed: _Tally | None = None) -> None:
        self._stream, self._budget, self._packed = stream, budget, packed
        self._out = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        got = self._stream.read(min(len(buffer), 1 << 20))
        self._out += len(got)
        self._budget.take(len(got))
        if self._packed and self._out > RATIO_FROM and self._out > RATIO_MAX * max(1, self._packed.count):
            raise Spent
        buffer[: len(got)] = got
        return len(got)


class _Tally(io.RawIOBase):
    """A stream that begins with bytes already read, and counts what goes through it."""

    def __init__(self, head: bytes, rest: BinaryIO) -> None:
        self._head, self._rest = head, rest
        self.count = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        size = len(buffer)
        got = self._head[:size] if self._head else self._rest.read(size)
        self._head = self._head[size:]
        self.count += len(got)
        buffer[: len(got)] = got
        return len(got)


def kind_of_archive(head: bytes) -> str:
    """By its first bytes; empty for everything else."""
    if head.startswith(b"\x1f\x8b"):
        return "gz"
    if head.startswith(b"BZh"):
        return "bz2"
    if head.startswith(b"\xfd7zXZ\x00"):
        return "xz"
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return "zip"
    return "tar" if head[257:262] == b"ustar" else ""


def members(name: str, head: bytes, rest: BinaryIO, budget: Budget) -> Iterator[Member | Skipped]:
    """Each member in turn; its stream is good until the next one is asked for."""
    try:
        if kind_of_archive(head) == "zip":
            yield from _zip(name, head, rest, budget)
        else:
            yield from _packed(name, head, rest, budget)
    except Exception as error:
        yield skipped(name, error)


def skipped(name: str, error: Exception) -> Skipped:
    """Why an archive or a member of one was given up; what is no fault of an archive goes on."""
    import lzma
    import tarfile
    import zipfile
    import zlib

    if isinstance(error, Spent):
        return Skipped(name, _BOMB)
    if isinstance(error, RuntimeError) and ("password" in str(error) or "encrypted" in str(error)):
        return Skipped(name, _LOCKED)
    unknown = NotImplementedError  # a way of packing
    broken = (tarfile.TarError, zipfile.BadZipFile, lzma.LZMAError, zlib.error, EOFError, OSError, ValueError, unknown)
    if isinstance(error, broken):
        why = str(error).replace("{", "(").replace("}", ")") or type(error).__name__
        return Skipped(name, _BROKEN.fill(why=why))
    raise error


def _packed(name: str, head: bytes, rest: BinaryIO, budget: Budget) -> Iterator[Member | Skipped]:
    kind = kind_of_archive(head)
    tally = _Tally(head, rest)
    counted: io.RawIOBase = _Counted(_unpacked(kind, io.BufferedReader(tally)), budget, tally)
    stream: io.BufferedReader = io.BufferedReader(counted, 1 << 20)
    inner = stream.peek(512)
    if kind == "tar" or inner[257:262] == b"ustar":
        yield from _tar(name, stream, budget)
    else:
        budget.member()
        yield Member(name, stream)


def _unpacked(kind: str, stream: BinaryIO | io.BufferedReader) -> BinaryIO:
    if kind == "gz":
        import gzip

        return gzip.GzipFile(fileobj=stream)  # type: ignore[return-value]
    if kind == "bz2":
        import bz2

        return bz2.BZ2File(stream)  # type: ignore[return-value]
    if kind == "xz":
        import lzma

        return lzma.LZMAFile(stream)  # type: ignore[return-value]
    return stream


def _tar(name: str, stream: io.BufferedReader, budget: Budget) -> Iterator[Member | Skipped]:
    import tarfile

    with tarfile.open(fileobj=stream, mode="r|") as archive:
        for entry in archive:
            budget.member()
            shown = f"{name}/{_harmless(entry.name)}"
            if entry.isdir():
                continue
            content = archive.extractfile(entry) if entry.isreg() else None
            if content is None:
                yield Skipped(shown, _SPECIAL)
            else:
                yield Member(shown, content)  # type: ignore[arg-type]


def _zip(name: str, head: bytes, rest: BinaryIO, budget: Budget) -> Iterator[Member | Skipped]:
    import zipfile

    content: BinaryIO
    if _can_go_back(rest):
        rest.seek(0)
        content = rest
    else:
        packed = head + rest.read(ZIP_MAX)
        content = io.BytesIO(packed)
    with zipfile.ZipFile(content) as archive:
        for entry in archive.infolist():
            budget.member()
            if entry.is_dir():
                continue
            shown = f"{name}/{_harmless(entry.filename)}"
            with archive.open(entry) as packed_member:
                tally = _Tally(b"", io.BytesIO())
                tally.count = entry.compress_size
                counted = _Counted(packed_member, budget, tally)  # type: ignore[arg-type]
                yield Member(shown, io.BufferedReader(counted, 1 << 16))


def _can_go_back(stream: BinaryIO) -> bool:
    """A file of its own. What comes out of another archive cannot, whatever it says of itself: tarfile's members say
    that they can, or fail over the question, as Python has it.
    """
    return isinstance(getattr(stream, "raw", None), io.FileIO) and stream.seekable()


def _harmless(name: str) -> str:
    """A member's name as it is shown; names are never used as paths."""
    from tortie.model.measure import plain

    parts = [part for part in name.replace("\\", "/").split("/") if part not in ("", ".", "..")]
    return plain("/".join(parts))[:300] or "unnamed"
