"""Label selectors (-l) and field selectors (--field-selector). Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from tortie.lab.kubectl.kinds import Kind, Thing, at, pairs_at

_SET: Final = re.compile(r"(?P<key>\S+)\s+(?P<how>in|notin)\s+\((?P<values>[^)]*)\)")
_COMMON: Final = ("metadata.name", "metadata.namespace")
_FIELDS: Final = {
    "Pod": (
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "spec.hostNetwork",
        "status.phase",
        "status.podIP",
        "status.nominatedNodeName",
    ),
    "Node": ("spec.unschedulable",),
    "Namespace": ("status.phase",),
    "Event": (
        "involvedObject.kind",
        "involvedObject.namespace",
        "involvedObject.name",
        "involvedObject.uid",
        "involvedObject.apiVersion",
        "involvedObject.fieldPath",
        "reason",
        "reportingComponent",
        "source",
        "type",
    ),
}

Chosen = Callable[[Thing], bool]


class BadSelector(ValueError):
    """In the words of kubectl."""


def by_labels(text: str) -> Chosen:
    rules = [_label_rule(part.strip()) for part in _parts(text) if part.strip()]
    return lambda thing: all(rule(pairs_at(thing, "metadata", "labels")) for rule in rules)


def _parts(text: str) -> list[str]:
    """Commas between rules, not those between the values of one."""
    return re.split(r",(?![^(]*\))", text)


def _label_rule(text: str) -> Callable[[Mapping[str, Any]], bool]:
    if found := _SET.fullmatch(text):
        key, values = found["key"], {value.strip() for value in found["values"].split(",")}
        if found["how"] == "in":
            return lambda labels: str(labels.get(key)) in values and key in labels
        return lambda labels: key not in labels or str(labels[key]) not in values
    for sign in ("!=", "==", "="):
        key, found_sign, value = (part.strip() for part in text.partition(sign))
        if found_sign and key:
            if sign == "!=":
                return lambda labels: str(labels.get(key, "")) != value or key not in labels
            return lambda labels: key in labels and str(labels[key]) == value
    if re.fullmatch(r"!\s*\S+", text):
        absent = text[1:].strip()
        return lambda labels: absent not in labels
    if re.fullmatch(r"[-\w./]+", text):
        return lambda labels: text in labels
    raise BadSelector(f"error: unable to parse requirement: found '{text}', expected: a key, an operator or ','")


def by_fields(text: str, kind: Kind) -> Chosen:
    rules = [_field_rule(part.strip(), kind, text) for part in text.split(",") if part.strip()]
    return lambda thing: all(rule(thing) for rule in rules)


def _field_rule(text: str, kind: Kind, whole: str) -> Chosen:
    for sign in ("!=", "==", "="):
        field, found_sign, value = (part.strip() for part in text.partition(sign))
        if not found_sign:
            continue
        if field not in (*_COMMON, *_FIELDS.get(kind.name, ())):
            resource = f"{kind.group}/{kind.version}" if kind.group else f"/{kind.version}"
            raise BadSelector(
                f'Error from server (BadRequest): Unable to find "{resource}, Resource={kind.plural}" that match label '
                f'selector "", field selector "{whole}": field label not supported: {field}'
            )
        path = ("source", "component") if field == "source" else tuple(field.split("."))
        wanted = sign != "!="
        return lambda thing: (_text(at(thing, *path), field) == value) == wanted
    raise BadSelector(f"error: invalid selector: '{text}'; can't understand '{text}'")


def _text(value: object, field: str) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if value is not None else "false" if field == "spec.unschedulable" else ""
