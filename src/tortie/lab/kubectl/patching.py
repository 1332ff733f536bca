"""Changes to objects as kubectl makes them: patches, variables, annotations. Pure: each gives a new object."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from tortie.lab.kubectl.kinds import Thing, at, items_at

# Lists whose elements are told apart by a field; all other lists are replaced as a whole.
_MERGE_KEYS: Final = {
    "containers": "name",
    "initContainers": "name",
    "ephemeralContainers": "name",
    "env": "name",
    "volumes": "name",
    "volumeMounts": "mountPath",
    "ports": "containerPort",
    "imagePullSecrets": "name",
    "hostAliases": "ip",
    "ownerReferences": "uid",
    "conditions": "type",
}
RESTARTED: Final = "kubectl.kubernetes.io/restartedAt"


class BadChange(ValueError):
    """In the words of kubectl."""


def strategic(document: Any, patch: Any, field: str = "") -> Any:
    """A patch in Kubernetes' own form: elements of known lists are merged by their key."""
    if isinstance(patch, Mapping):
        directive = patch.get("$patch")
        if directive == "delete":
            return {}
        base = dict(document) if isinstance(document, Mapping) and directive != "replace" else {}
        for name, value in patch.items():
            if name.startswith(("$patch", "$setElementOrder", "$retainKeys")):
                continue
            if name.startswith("$deleteFromPrimitiveList/"):
                kept = name.partition("/")[2]
                base[kept] = [each for each in base.get(kept) or [] if each not in value]
            elif value is None:
                base.pop(name, None)
            else:
                base[name] = strategic(base.get(name), value, name)
        return base
    key = _MERGE_KEYS.get(field)
    if isinstance(patch, list) and key and all(isinstance(each, Mapping) for each in patch):
        return _merged(document if isinstance(document, list) else [], patch, key, field)
    return copy.deepcopy(patch)


def _merged(present: list[Any], patches: Sequence[Mapping[str, Any]], key: str, field: str) -> list[Any]:
    if any(each.get("$patch") == "replace" for each in patches):
        return [copy.deepcopy(dict(each)) for each in patches if "$patch" not in each]
    result = [copy.deepcopy(each) for each in present]
    for patch in patches:
        if key not in patch:
            raise BadChange(f"error: map: {dict(patch)} does not contain declared merge key: {key} ({field})")
        place = next((index for index, each in enumerate(result) if each.get(key) == patch[key]), None)
        if patch.get("$patch") == "delete":
            if place is not None:
                del result[place]
        elif place is None:
            result.append(strategic({}, patch))
        else:
            result[place] = strategic(result[place], patch)
    return result


def with_variables(owner: Thing, changes: Sequence[tuple[str, str | None]], containers: Sequence[str]) -> Thing:
    """A template whose containers (all main ones if none is named) have these variables; None takes one away."""
    changed = copy.deepcopy(owner)
    spec = at(changed, "spec", "template", "spec") or {}
    known = [*items_at(spec, "containers"), *items_at(spec, "initContainers")]
    chosen = [each for each in known if each.get("name") in containers] if containers else items_at(spec, "containers")
    if not chosen:
        names = ", ".join(containers)
        raise BadChange(
            f'error: {str(owner.get("kind")).lower()}s "{_name(owner)}" does not have any containers matching {names}'
        )
    for container in chosen:
        variables = container.setdefault("env", [])
        for name, value in changes:
            _set_variable(variables, name, value)
    return changed


def _set_variable(variables: list[dict[str, Any]], name: str, value: str | None) -> None:
    place = next((index for index, each in enumerate(variables) if each.get("name") == name), None)
    if value is None:
        if place is not None:
            del variables[place]
    elif place is None:
        variables.append({"name": name, "value": value})
    else:
        variables[place] = {"name": name, "value": value}


def variable_changes(words: Sequence[str]) -> list[tuple[str, str | None]]:
    """From `NAME=value` and `NAME-`."""
    changes: list[tuple[str, str | None]] = []
    for word in words:
        name, sign, value = word.partition("=")
        if sign and name:
            changes.append((name, value))
        elif word.endswith("-") and len(word) > 1:
            changes.append((word[:-1], None))
        else:
            raise BadChange(f"error: environment variables must be of the form key=value, and {word!r} is not")
    return changes


def restarted(owner: Thing, when: str) -> Thing:
    changed = copy.deepcopy(owner)
    template = changed.setdefault("spec", {}).setdefault("template", {})
    template.setdefault("metadata", {}).setdefault("annotations", {})[RESTARTED] = when
    return changed


def with_metadata(thing: Thing, field: str, changes: Mapping[str, str | None]) -> Thing:
    """`field` is labels or annotations."""
    changed = copy.deepcopy(thing)
    present = changed.setdefault("metadata", {}).setdefault(field, {})
    for key, value in changes.items():
        if value is None:
            present.pop(key, None)
        else:
            present[key] = value
    return changed


def metadata_changes(
    words: Sequence[str], present: Mapping[str, Any], *, overwrite: bool, what: str
) -> dict[str, str | None]:
    """From `key=value` and `key-`; what is there already is not changed unless that is asked for."""
    changes: dict[str, str | None] = {}
    for word in words:
        key, sign, value = word.partition("=")
        if not sign and word.endswith("-"):
            changes[word[:-1]] = None
            continue
        if not sign or not key:
            raise BadChange(f"error: at least one {what} update is required")
        if key in present and present[key] != value and not overwrite:
            raise BadChange(f"error: '{key}' already has a value ({present[key]}), and --overwrite is false")
        changes[key] = value
    if not changes:
        raise BadChange(f"error: at least one {what} update is required")
    return changes


def next_generation(before: Thing, after: Thing) -> Thing:
    """With a generation of its own when what is wanted of it has changed."""
    if before.get("spec") == after.get("spec"):
        return after
    changed = copy.deepcopy(after)
    changed["metadata"]["generation"] = int(at(before, "metadata", "generation") or 1) + 1
    return changed


def patched(owner: Thing, patch: Any, how: str, json_patch: Callable[[Thing, list[Any]], Thing]) -> Thing:
    """`how` is strategic, merge or json; the last is done by whoever knows RFC 6902."""
    if how == "json":
        if not isinstance(patch, list):
            raise BadChange("error: a JSON patch is a list of operations")
        return json_patch(copy.deepcopy(owner), patch)
    if not isinstance(patch, Mapping):
        raise BadChange("error: unable to parse the patch: it must be an object")
    return dict(strategic(owner, patch) if how == "strategic" else _replaced(owner, patch))


def _replaced(document: Any, patch: Any) -> Any:
    """RFC 7386: lists are replaced as a whole."""
    if not isinstance(patch, Mapping):
        return copy.deepcopy(patch)
    base = dict(document) if isinstance(document, Mapping) else {}
    for name, value in patch.items():
        if value is None:
            base.pop(name, None)
        else:
            base[name] = _replaced(base.get(name), value)
    return base


def _name(thing: Thing) -> str:
    return str(at(thing, "metadata", "name") or "")
