"""Which resources a person means: all of a kind, some by their names, or those that files name."""

from __future__ import annotations

from tortie.cli.options import one_source, scope_of
from tortie.model.kinds import Kind, find_kind
from tortie.model.light import Any, NamedTuple


class Named(NamedTuple):
    kind: Kind
    name: str
    namespace: str | None
    revision: str | None = None  # that the file names as seen


class Selection(NamedTuple):
    kind: Kind | None  # None: files name them, perhaps of several kinds
    namespace: str | None  # in which a whole kind is meant
    single: tuple[Named, ...]  # empty: the whole kind


def select(
    kind: str | None,
    names: tuple[str, ...],
    namespace: str | None,
    *,
    filenames: tuple[str, ...],
    usage: str,
    **reading: Any,
) -> Selection:
    one_source(kind, filenames, usage)
    if kind:
        found = find_kind(kind)
        scope = scope_of(found, namespace)
        return Selection(found, scope, tuple(Named(found, name, scope) for name in names))
    from tortie.cli.files import read_files
    from tortie.store.resources import identity

    manifests = read_files(filenames, namespace, **reading)
    single = [
        Named(*identity(manifest.document), manifest.document["metadata"].get("resourceVersion"))
        for manifest in manifests
    ]
    return Selection(None, None, tuple(single))
