"""A resource: metadata, spec, sometimes status. Parse, defaults, rules, and the form in which it is stored."""

from __future__ import annotations

import functools
import importlib
import re
from collections.abc import Iterator
from typing import Any, ClassVar, Literal, cast

import msgspec

from tortie.model.errors import Invalid, Problem
from tortie.model.fields import BadField, Name
from tortie.model.kinds import BY_NAME, Kind
from tortie.model.shape import Always, Part, convert, problems_in, rewritten, spelled, value_of
from tortie.model.wire import Document, encode

__all__ = [
    "Condition",
    "Metadata",
    "Resource",
    "Spec",
    "label_problems",
    "stored_form",
    "stored_value",
    "type_of",
    "typed",
    "validate",
    "with_changes",
]

_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_LABEL_KEY = re.compile(r"([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_ANNOTATIONS_MAX_BYTES = 256 * 1024
_LABEL_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")


class Metadata(Part, frozen=True, kw_only=True):
    name: str
    generateName: str = ""
    namespace: str = ""
    selfLink: str = ""
    uid: str = ""
    resourceVersion: str = ""
    generation: int = 0
    creationTimestamp: str | None = None
    deletionTimestamp: str | None = None
    deletionGracePeriodSeconds: int | None = None
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    ownerReferences: tuple[dict[str, Any], ...] = ()
    finalizers: tuple[str, ...] = ()
    managedFields: tuple[dict[str, Any], ...] = ()


class Spec(Part, frozen=True, kw_only=True):
    """A resource's specification. `problems` are the rules that hold within it."""

    def problems(self) -> Iterator[Problem]:
        """Field paths are relative to the spec."""
        return iter(())


class Condition(Part, frozen=True, kw_only=True):
    """One thing that is or is not so with a resource, as controllers report it in its status."""

    type: str
    status: Literal["True", "False", "Unknown"]
    observedGeneration: int = 0
    lastTransitionTime: Always[str | None] = None
    reason: Always[str] = ""
    message: Always[str] = ""


class Resource(Part, frozen=True, kw_only=True):
    """Any resource. Each kind narrows `spec` to its own type."""

    kind: str
    apiVersion: Literal["projectcalico.org/v3"]
    metadata: Metadata
    spec: Spec = Spec()

    # Kinds of which there is one per cluster, or one per cluster and node.
    only_names: ClassVar[re.Pattern[str] | None] = None
    names_help: ClassVar[str] = ""

    @classmethod
    def complete(cls, spec: Document) -> Document:
        """The spec with the defaults that Calico writes out when it stores the resource."""
        return spec

    @classmethod
    def complete_status(cls, status: Document) -> Document:
        """The same for the status, of a kind that keeps defaults there."""
        return status

    @classmethod
    def derive(cls, metadata: Document, spec: Document) -> Document:  # noqa: ARG003 - the kinds that care do
        """The metadata with what Calico adds to it from the resource's name and its completed spec."""
        return metadata

    def problems(self) -> Iterator[Problem]:
        """Rules that need more than the spec, such as the resource's name."""
        return iter(())

    def problems_replacing(self, stored: Resource) -> Iterator[Problem]:  # noqa: ARG002 - the kinds that care do
        """What may not change once the resource exists."""
        return iter(())


@functools.cache
def type_of(kind: Kind) -> type[Resource]:
    """Kinds are imported when they are first needed; a command that prints a table needs none."""
    return cast(type[Resource], getattr(importlib.import_module(f"tortie.model.resources.{kind.module}"), kind.name))


def typed(document: Document) -> Resource:
    """The typed value of a document that somebody else has stored. Fields unknown to us are passed over."""
    kind = BY_NAME[document["kind"]]
    resource_type = type_of(kind)
    try:
        return convert(document, resource_type)
    except msgspec.ValidationError:
        # The long way round finds all that is wrong, or that it was only a null where Go reads a zero.
        problems = list(problems_in(document, resource_type, known=[document]))
    if problems:
        metadata = document.get("metadata")
        raise Invalid(kind.describe(str(metadata.get("name", "")) if isinstance(metadata, dict) else ""), problems)
    return value_of(document, resource_type)


def validate(document: Document, *, stored: Document | None = None) -> list[Problem]:
    """Everything that is wrong with a document that is about to be stored in place of `stored`."""
    kind = BY_NAME[document["kind"]]
    resource_type = type_of(kind)
    problems = list(problems_in(document, resource_type, known=[stored]))
    problems += _metadata_problems(kind, document, resource_type)
    if problems:
        return problems
    resource = value_of(document, resource_type)
    problems += [problem._replace(field=f"spec.{problem.field}") for problem in resource.spec.problems()]
    problems += resource.problems()
    if stored is not None and not problems:
        try:
            before = typed(stored)
        except Invalid:  # what makes no sense cannot bind what replaces it
            return problems
        problems += resource.problems_replacing(before)
    return problems


def stored_form(document: Document, *, stored_as: str | None = None) -> Document:
    """Byte for byte what Calico stores: defaults filled in, spelled its way, without what only an answer carries.

    `stored_as` is the name that is stored, where that is not the one that people gave (see policy_names).
    """
    resource_type = type_of(BY_NAME[document["kind"]])
    metadata = {
        name: value for name, value in document["metadata"].items() if name not in ("resourceVersion", "selfLink")
    }
    spec = resource_type.complete(dict(document.get("spec") or {}))
    metadata = resource_type.derive(metadata, spec)
    if stored_as is not None:
        metadata["name"] = stored_as
    whole = {**document, "metadata": metadata, "spec": spec}
    if status := document.get("status"):
        whole["status"] = resource_type.complete_status(status)
    return spelled(whole, resource_type)


def stored_value(document: Document) -> bytes:
    """For programs that change a part of what others wrote: where the rest breaks the rules, it stays as it is."""
    try:
        return encode(document if validate(document, stored=document) else stored_form(document))
    except Exception:
        return encode(document)


def with_changes(document: Document, value: Resource) -> Document:
    """The read-modify-write of a typed value: `document` is what was read, `value` what it shall be."""
    return rewritten(document, value)


def _metadata_problems(kind: Kind, document: Document, resource_type: type[Resource]) -> Iterator[Problem]:
    metadata = document.get("metadata")
    if not isinstance(metadata, dict):
        return
    name = metadata.get("name")
    if isinstance(name, str):
        yield from _name_problems(kind, name, resource_type)
    if kind.namespaced and not metadata.get("namespace"):
        yield Problem("metadata.namespace", "", f"{kind.name} lives in a namespace", "set it, or pass -n NAMESPACE")
    elif kind.namespaced and not _NAMESPACE.fullmatch(str(metadata["namespace"])):
        right = "at most 63 lower-case letters, digits and -, beginning and ending with a letter or digit"
        yield Problem("metadata.namespace", metadata["namespace"], "is not a namespace's name", right)
    if not kind.namespaced and metadata.get("namespace"):
        yield Problem("metadata.namespace", metadata["namespace"], f"{kind.name} is not namespaced", "leave it out")
    labels = metadata.get("labels")
    if isinstance(labels, dict):
        yield from label_problems(labels, "metadata.labels")
    annotations = metadata.get("annotations")
    if isinstance(annotations, dict):
        size = sum(len(f"{key}{value}".encode(errors="replace")) for key, value in annotations.items())
        if size > _ANNOTATIONS_MAX_BYTES:
            why, right = f"annotations of {size:,} bytes are too large", f"at most {_ANNOTATIONS_MAX_BYTES:,} bytes"
            yield Problem("metadata.annotations", f"{len(annotations)} annotations", why, right)


def label_problems(labels: dict[str, Any], where: str) -> Iterator[Problem]:
    for key, value in labels.items():
        if not _LABEL_KEY.fullmatch(str(key)):
            yield Problem(f"{where}.{key}", value, "is not a label's name", "letters, digits, - _ . and one /")
        elif isinstance(value, str) and not _LABEL_VALUE.fullmatch(value):
            right = "at most 63 letters, digits, - _ and ., beginning and ending with a letter or digit"
            yield Problem(f"{where}.{key}", value, "is not a label's value", right)


def _name_problems(kind: Kind, name: str, resource_type: type[Resource]) -> Iterator[Problem]:
    if resource_type.only_names is not None:
        if not resource_type.only_names.fullmatch(name):
            why = f"{kind.name} has a fixed name"
            yield Problem("metadata.name", name, why, resource_type.names_help)
    elif not name:
        yield Problem("metadata.name", name, "a name is needed", "lower-case letters, digits, - and .")
    else:
        try:
            Name.parse(name)
        except BadField as bad:
            yield Problem("metadata.name", name if len(name) <= 60 else name[:57] + "...", str(bad), bad.right)
