"""The configuration that a kernel was built with, out of a file: /boot/config-…, .config, /proc/config.gz."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from tortie.model.errors import UsageError

_PACKED: Final = b"\x1f\x8b"
_MOST: Final = 16 << 20  # a whole one has a quarter of a megabyte
_SET: Final = re.compile(r"(CONFIG_\w+)=(.*)")
_UNSET: Final = re.compile(r"# (CONFIG_\w+) is not set")
_TITLE: Final = re.compile(r"#\s*(?:Linux/\S+|Linux kernel version:?)\s+(\d\S*)")


class KernelConfig(NamedTuple):
    path: str
    options: dict[str, str]  # y, m, n for what is expressly left out, or another value
    release: str = ""  # as its title says, if it has one


def read_kernel_config(path: str) -> KernelConfig:
    """Raises UsageError if it cannot be read, or is none."""
    try:
        with open(path, "rb") as file:
            content = file.read(_MOST)
    except OSError as error:
        raise UsageError(f"{path} cannot be read", error.strerror or str(error), "check --kernel-config") from None
    if content.startswith(_PACKED):
        content = _unpacked(content, path)
    return parse_kernel_config(content.decode(errors="replace"), path)


def parse_kernel_config(text: str, path: str) -> KernelConfig:
    options: dict[str, str] = {}
    release = ""
    for line in text.splitlines():
        if given := _SET.fullmatch(line.strip()):
            options[given[1]] = given[2].strip('"')
        elif absent := _UNSET.match(line):
            options[absent[1]] = "n"
        elif not release and (title := _TITLE.match(line)):
            release = title[1]
    if not options:
        fix = "/boot/config-$(uname -r), or zcat /proc/config.gz > config"
        raise UsageError(f"{path} is no configuration of a kernel", "no line of it is CONFIG_NAME=value", fix)
    return KernelConfig(path, options, release)


def _unpacked(content: bytes, path: str) -> bytes:
    import gzip
    import io
    import zlib

    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
            return file.read(_MOST)
    except (OSError, EOFError, zlib.error) as error:
        raise UsageError(f"{path} cannot be unpacked", str(error), "was it cut? copy it again") from None
