"""A bundle of evidence in the making: a folder of its own, and in the end one archive that only its owner can read."""

from __future__ import annotations

import json
import os
import shutil
import tarfile
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from tortie import __version__
from tortie.model.errors import TortieError

MASKED: Final = ("tokens", "keys", "passwords", "certificates")


class Bundle:
    """`folder` is filled by others; `pack` makes the archive. Afterwards only the archive is left, unless `keep`."""

    def __init__(self, name: str, *, into: str | None = None, keep: bool = False) -> None:
        """`name`: of the archive, which gets a time; `into`: its folder, else a new one below that of the system."""
        self._name = f"{name}-{time.strftime('%Y%m%d_%H%M%S', time.gmtime())}"
        self._keep = keep
        try:
            self._work = tempfile.mkdtemp(prefix="calico")
            self._into = into or self._work
            self.folder = Path(self._work, self._name)
            self.folder.mkdir(mode=0o700)
        except OSError as error:
            raise _unwritten(tempfile.gettempdir(), error) from None

    def __enter__(self) -> Bundle:
        return self

    def __exit__(self, *_: object) -> None:
        if not self._keep:
            shutil.rmtree(self.folder, ignore_errors=True)
            if not os.listdir(self._work):
                os.rmdir(self._work)

    @property
    def work(self) -> str:
        return self._work

    def write(self, path: str, text: str) -> None:
        target = self.folder / path
        try:
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with target.open("a", encoding="utf-8", errors="backslashreplace") as file:
                file.write(text)
        except OSError as error:
            raise _unwritten(str(target), error) from None

    def say(self, **more: Any) -> None:
        """meta.json: when, by what, on which host, and what is masked."""
        collected = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        meta = {"collected": collected, "version": __version__, "host": os.uname().nodename, "masked": MASKED, **more}
        self.write("meta.json", json.dumps(meta, ensure_ascii=False) + "\n")

    def pack(self) -> str:
        """The path of the archive, whole or not there."""
        target = os.path.join(self._into, f"{self._name}.tar.gz")
        beside = f"{target}.{os.getpid()}.part"
        try:
            descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as out, tarfile.open(fileobj=out, mode="w:gz") as archive:
                archive.add(self.folder, arcname=self._name)
            os.replace(beside, target)
        except BaseException as error:
            with suppress(OSError):
                os.unlink(beside)
            if isinstance(error, OSError):
                raise _unwritten(target, error) from None
            raise
        return target


def _unwritten(path: str, error: OSError) -> TortieError:
    return TortieError(
        f"{path} cannot be written", error.strerror or str(error), "check path, rights and space; TMPDIR"
    )
