"""A stored resource as people see it, and what becomes of the stored one when they change it. Pure."""

from __future__ import annotations

from collections.abc import Callable

from tortie.model.errors import Invalid, UsageError
from tortie.model.keys import parse_resource_key
from tortie.model.kinds import Kind
from tortie.model.light import Final
from tortie.model.policy_names import TIERED, shown
from tortie.model.wire import Document, decode, encode
from tortie.store.contract import Entry

Edit = Callable[[Document], Document]

# What people say about a new resource beside its spec; the rest of its metadata is the datastore's business.
GIVEN: Final = ("name", "namespace", "labels", "annotations")


def in_place_of(stored: Document, document: Document) -> Document:
    """Fields of the metadata that nobody knows are the document's too, because they may be of a newer Calico."""
    from tortie.model.resource import Metadata
    from tortie.model.shape import fields_of

    known = set(fields_of(Metadata)) - set(GIVEN)
    given = {field: value for field, value in document["metadata"].items() if field not in known}
    kept = {field: value for field, value in stored["metadata"].items() if field in known}
    return {**document, "metadata": {**given, **kept}}


def same_resource(before: Document, after: Document) -> Document:
    """The key says what a resource is; a change of these would store one thing under the name of another."""
    metadata = after.get("metadata")
    for field, old, new in (
        ("kind", before["kind"], after.get("kind")),
        *(
            (f"metadata.{name}", before["metadata"].get(name), metadata.get(name) if isinstance(metadata, dict) else "")
            for name in ("name", "namespace")
        ),
    ):
        if new != old:
            raise UsageError(
                f"{field} cannot be changed from {old} to {new or 'nothing'}",
                "it is part of what identifies the resource",
                "create a new resource and delete this one",
            )
    return after


def presented(kind: Kind, entry: Entry) -> Document:
    """A stored entry as people see it: with its name as given and its revision."""
    document = decode(entry.value, entry.key)
    metadata = document.get("metadata")
    if not isinstance(metadata, dict):
        metadata = document["metadata"] = {}
    if not metadata.get("name") and (key := parse_resource_key(entry.key)):
        metadata["name"] = key.name
    metadata["name"] = str(metadata.get("name", ""))
    metadata["resourceVersion"] = str(entry.revision)
    document.setdefault("kind", kind.name)
    if kind.name in TIERED:
        document["metadata"] = shown(kind, document)
    return document


def replaced(kind: Kind, key: str, present: bytes, change: Edit) -> bytes:
    from tortie.model.resource import stored_form, validate

    before = decode(present, key)
    seen = presented(kind, Entry(key, present, 0))
    after = change(seen)
    if problems := validate(after, stored=seen):
        raise Invalid(kind.describe(after["metadata"]["name"], after["metadata"].get("namespace")), problems)
    metadata = before.get("metadata") or {}
    kept = {name: metadata[name] for name in ("uid", "creationTimestamp") if name in metadata}
    stored_as = metadata.get("name")
    value = encode(stored_form({**after, "metadata": {**after["metadata"], **kept}}, stored_as=stored_as))
    if (
        value != present
        and _sorted(value) == _sorted(present)
        and encode(stored_form(seen, stored_as=stored_as)) == present
    ):
        return present  # only fields that nobody knows have changed places, as they do when they are shown
    return value


def _sorted(value: bytes) -> str:
    import json

    return json.dumps(json.loads(value), sort_keys=True)
