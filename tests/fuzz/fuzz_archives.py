"""Coverage-guided fuzzing of archives and odd files: `python -m tests.fuzz.fuzz_archives [corpus]`."""

from __future__ import annotations

import bz2
import gzip
import importlib
import io
import lzma
import sys
import tarfile
import zipfile
from typing import Any

atheris: Any = importlib.import_module("atheris")  # it has no types

with atheris.instrument_imports(include=["tortie.doctor.reading"], enable_loader_override=False):
    from tortie.doctor.reading.sources import open_sources


def _tar(name: str, content: bytes) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        entry = tarfile.TarInfo(name)
        entry.size = len(content)
        archive.addfile(entry, io.BytesIO(content))
    return out.getvalue()


def _zip(name: str, content: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(name, content)
    return out.getvalue()


def packed(provider: Any) -> bytes:
    """Layers of archives around some bytes, some bytes of them wrong."""
    content: bytes = provider.ConsumeBytes(300)
    for _ in range(provider.ConsumeIntInRange(0, 4)):
        kind = provider.ConsumeIntInRange(0, 4)
        name = provider.PickValueInList(["a.txt", "../../a", "/etc/a", "nodes/n1/a", "a\x1b[31m"])
        if kind < 2:
            content = (_tar, _zip)[kind](name, content)
        else:
            content = (gzip.compress, bz2.compress, lzma.compress)[kind - 2](content)
    damaged = bytearray(content)
    for _ in range(provider.ConsumeIntInRange(0, 3)):
        if damaged:
            damaged[provider.ConsumeIntInRange(0, len(damaged) - 1)] = provider.ConsumeIntInRange(0, 255)
    return bytes(damaged[: len(damaged) - provider.ConsumeIntInRange(0, 8)])


def one(data: bytes) -> None:
    provider = atheris.FuzzedDataProvider(data)
    opened = open_sources(["-"], io.BytesIO(packed(provider)))
    for source in opened:
        if any("\x1b" in line for line in source.lines) or "\x1b" in source.name or ".." in source.name.split("/"):
            raise RuntimeError(f"unsafe source {source.name!r}")
    for skipped in opened.skipped:
        if not skipped.why.en:
            raise RuntimeError(f"{skipped.name!r} was dropped silently")


if __name__ == "__main__":
    atheris.Setup(sys.argv, one)
    atheris.Fuzz()
