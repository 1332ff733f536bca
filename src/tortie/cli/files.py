"""The resources that `-f` names: files, folders, standard input."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tortie.model.errors import UsageError

if TYPE_CHECKING:
    from tortie.model.manifest import Manifest

_ENDINGS = (".yaml", ".yml", ".json")


def read_files(
    filenames: tuple[str, ...], namespace: str | None, *, recursive: bool = False, skip_empty: bool = False
) -> list[Manifest]:
    """All resources of all files, in order, each with its namespace settled. Nothing is written before all are read."""
    from tortie.model.manifest import read_manifests

    manifests: list[Manifest] = []
    for filename in filenames:
        before = len(manifests)
        for path in _paths(filename, recursive=recursive):
            text, source = read_text(path)
            manifests += read_manifests(text, source)
        if len(manifests) == before and not skip_empty:
            raise _empty(filename)
    for manifest in manifests:
        _settle_namespace(manifest, namespace)
    return manifests


def _empty(filename: str) -> UsageError:
    why = "it holds no YAML or JSON document"
    if filename == "-":
        return UsageError("no resources specified in standard input", why, "pipe some into it, or pass --skip-empty")
    place = "directory" if os.path.isdir(filename) else "file"
    fix = "check the path, or pass --skip-empty"
    return UsageError(f"no resources specified in {place} {filename}", why, fix)


def _paths(filename: str, *, recursive: bool) -> Iterator[str]:
    if filename == "-" or not os.path.isdir(filename):
        yield filename
        return
    for folder, below, files in os.walk(filename):
        below.sort()
        if not recursive:
            below.clear()
        yield from (os.path.join(folder, name) for name in sorted(files) if name.endswith(_ENDINGS))


def read_text(path: str) -> tuple[str, str]:
    """What a file, or standard input if it is -, holds, and what to call it."""
    try:
        if path == "-":
            return sys.stdin.buffer.read().decode("utf-8-sig"), "standard input"
        with open(path, encoding="utf-8-sig") as file:
            return file.read(), path
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not text", f"byte {error.start} is not UTF-8", "save it as UTF-8") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be read", error.strerror or str(error), "check the path") from None


def _settle_namespace(manifest: Manifest, namespace: str | None) -> None:
    """The flag, else the object's own, else `default`; the two may not contradict each other."""
    from tortie.model.kinds import BY_NAME

    document = manifest.document
    if not BY_NAME[document["kind"]].namespaced:
        return
    own = document["metadata"].get("namespace")
    if own and namespace and own != namespace:
        raise UsageError(
            f"resource namespace does not match client namespace. {own} != {namespace}",
            f"{manifest.place('metadata.namespace')} says {own}, -n says {namespace}",
            "leave one of the two out",
        )
    document["metadata"]["namespace"] = own or namespace or "default"
