"""Changes to a document as `tortie patch` takes them. Pure: a patch gives a new document or an error."""

from __future__ import annotations

from typing import Any, Final

from tortie.model.errors import UsageError
from tortie.model.wire import Document

PATCHES: Final = ("strategic", "merge", "json")


def merge_patch(document: Any, patch: Any) -> Any:
    """RFC 7386, with the `$patch` directive of Kubernetes' strategic form.

    Calico's types define no merge keys for lists, so for them both forms mean the same.
    """
    if not isinstance(patch, dict):
        return patch
    directive = patch.get("$patch")
    if directive == "delete":
        return {}
    base = dict(document) if isinstance(document, dict) and directive != "replace" else {}
    for name, value in patch.items():
        if name == "$patch":
            continue
        if value is None:
            base.pop(name, None)
        else:
            base[name] = merge_patch(base.get(name), value)
    return base


def json_patch(document: Document, operations: list[Any]) -> Document:
    """RFC 6902: add, remove, replace, move, copy, test."""
    result = _copied(document)
    for number, operation in enumerate(operations, start=1):
        if not isinstance(operation, dict) or not isinstance(operation.get("path"), str):
            raise UsageError(f"operation {number} of the patch has no path", "each needs op and path", "see RFC 6902")
        result = _applied(result, operation, f"operation {number}: {operation.get('op')} {operation['path']}")
    if not isinstance(result, dict):
        raise UsageError("the patch leaves no resource", "it replaces the whole document", "patch a field of it")
    return result


def _applied(document: Any, operation: dict[str, Any], what: str) -> Any:
    path = _pointer(operation["path"], what)
    match operation.get("op"):
        case "add" | "replace" as name:
            if name == "replace":
                _at(document, path, what)
            return _put(document, path, _copied(operation.get("value")), what, replacing=name == "replace")
        case "remove":
            return _without(document, path, what)
        case "move" | "copy" as name:
            source = _pointer(str(operation.get("from", "")), what)
            value = _copied(_at(document, source, what))
            document = _without(document, source, what) if name == "move" else document
            return _put(document, path, value, what, replacing=False)
        case "test":
            if _at(document, path, what) != operation.get("value"):
                raise UsageError(what, "the stored value is a different one", "read the resource again")
            return document
    raise UsageError(what, "there is no such operation", "add, remove, replace, move, copy or test")


def _pointer(text: str, what: str) -> list[str]:
    if text and not text.startswith("/"):
        raise UsageError(what, "a path begins with /", f"/{text.replace('.', '/')}")
    return [part.replace("~1", "/").replace("~0", "~") for part in text.split("/")[1:]]


def _at(document: Any, path: list[str], what: str) -> Any:
    for part in path:
        document = document[_place(document, part, what, existing=True)]
    return document


def _place(container: Any, part: str, what: str, *, existing: bool) -> Any:
    if isinstance(container, dict):
        if existing and part not in container:
            raise UsageError(what, f"there is no field {part}", "`tortie get -o json` shows what there is")
        return part
    if isinstance(container, list):
        if part == "-" and not existing:
            return len(container)
        if part.isdecimal() and int(part) < len(container) + (not existing):
            return int(part)
        raise UsageError(what, f"the list has {len(container)} elements, not {part}", "count from 0")
    raise UsageError(what, f"{part} lies in something that has no parts", "`tortie get -o json` shows what there is")


def _put(document: Any, path: list[str], value: Any, what: str, *, replacing: bool) -> Any:
    if not path:
        return value
    parent = _at(document, path[:-1], what)
    place = _place(parent, path[-1], what, existing=replacing)
    if isinstance(parent, list) and not replacing:
        parent.insert(place, value)
    else:
        parent[place] = value
    return document


def _without(document: Any, path: list[str], what: str) -> Any:
    if not path:
        return None
    parent = _at(document, path[:-1], what)
    del parent[_place(parent, path[-1], what, existing=True)]
    return document


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copied(item) for key, item in value.items()}
    return [_copied(item) for item in value] if isinstance(value, list) else value
