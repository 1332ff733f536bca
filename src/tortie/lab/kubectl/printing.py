"""What `kubectl get`, `describe` and `events` print, from the objects of the cluster. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from tortie.lab.kubectl.describe_node import describe_node
from tortie.lab.kubectl.describe_others import describe_owner, describe_plain
from tortie.lab.kubectl.describe_pod import describe_pod
from tortie.lab.kubectl.describing import event_interval, last_seen
from tortie.lab.kubectl.documents import as_json, as_yaml, body
from tortie.lab.kubectl.finding import Found, NotThere, find, nothing_found
from tortie.lab.kubectl.kinds import (
    EVENT,
    LEASE,
    NODE,
    POD,
    Kind,
    Thing,
    at,
    kind_of,
    name_of,
    namespace_of,
    of_kind,
)
from tortie.lab.kubectl.tables import NONE, Look, get_table
from tortie.lab.kubectl.tabs import table
from tortie.lab.kubectl.times import seconds_of
from tortie.lab.kubectl.words import Request

_FORMS: Final = "custom-columns, json, jsonpath, name, wide, yaml"


class Paths(NamedTuple):
    """JSONPath, by whoever knows it."""

    render: Callable[[str, Any], str]  # a template and a document
    find: Callable[[str, Any], list[Any]]  # one path and a document


class Outcome(NamedTuple):
    out: str = ""
    errors: str = ""
    code: int = 0


def get(request: Request, things: Sequence[Thing], now: float, paths: Paths) -> Outcome:
    found = find(request, request.words, things)
    missing = () if request.has("ignore-not-found") else found.missing
    errors = "".join(line + "\n" for line in missing)
    code = 1 if missing else 0
    form, _, argument = request.flag("output").partition("=")
    if form.startswith("jsonpath") and not argument:
        raise NotThere("error: template format specified but no template given")
    if found.single and missing:
        return Outcome("", errors, code)
    things = _sorted(found.things, request, paths)
    documents = _documents(things, form, argument, found, paths, headers=not request.has("no-headers"))
    if documents is not None:
        return Outcome(documents, errors, code)
    if form not in ("", "wide"):
        raise NotThere(
            f'error: unable to match a printer suitable for the output format "{form}", allowed formats are: {_FORMS}'
        )
    if not things:
        quiet = bool(missing) or request.has("ignore-not-found")
        told = "" if quiet else nothing_found(found.targets, request.namespace) + "\n"
        return Outcome("", errors + told, code)
    return Outcome(_tables(request, found, things, now), errors, code)


def _documents(
    things: Sequence[Thing], form: str, argument: str, found: Found, paths: Paths, *, headers: bool
) -> str | None:
    """None for the forms that are tables."""
    match form:
        case "yaml":
            return as_yaml(body(things, single=found.single))
        case "json":
            return as_json(body(things, single=found.single))
        case "name":
            return "".join(f"{_kind(thing).title}/{name_of(thing)}\n" for thing in things)
        case "jsonpath" | "jsonpath-as-json":
            return paths.render(argument, body(things, single=found.single))
        case "custom-columns":
            return _custom(things, argument, paths, headers=headers)
    return None


def _kind(thing: Thing) -> Kind:
    kind = kind_of(str(thing.get("kind")))
    assert kind is not None, thing.get("kind")
    return kind


def _sorted(things: Sequence[Thing], request: Request, paths: Paths) -> list[Thing]:
    path = request.flag("sort-by")
    if not path:
        return list(things)

    def key(thing: Thing) -> tuple[int, float, str]:
        values = paths.find(path, thing)
        value = values[0] if values else ""
        when = seconds_of(value)
        if isinstance(value, int | float):
            return 1, float(value), ""
        return (1, when, "") if when is not None else (0 if value == "" else 2, 0.0, str(value))

    return sorted(things, key=key)


def _custom(things: Sequence[Thing], argument: str, paths: Paths, *, headers: bool) -> str:
    columns = []
    for part in argument.split(","):
        head, colon, path = part.partition(":")
        if not colon or not path:
            raise NotThere(f"error: unexpected custom-columns spec: {part}, expected <header>:<json-path-expr>")
        columns.append((head, path))
    rows = [[head for head, _ in columns]] if headers else []
    rows += [
        [",".join(_text(each) for each in paths.find(path, thing)) or NONE for _, path in columns] for thing in things
    ]
    return table(rows)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "map[" + " ".join(f"{key}:{_text(value[key])}" for key in sorted(value)) + "]"
    if isinstance(value, list):
        return "[" + " ".join(_text(each) for each in value) + "]"
    return NONE if value is None else str(value)


def _tables(request: Request, found: Found, things: Sequence[Thing], now: float) -> str:
    """A table for each kind, with a blank line between them."""
    several = len(found.targets) > 1
    columns = tuple(each for each in request.flag("label-columns").split(",") if each)
    look = Look(
        wide=request.flag("output") == "wide",
        namespaces=not request.namespace,
        headers=not request.has("no-headers"),
        labels=request.has("show-labels"),
        label_columns=columns,
        titles=several or request.has("show-kind"),
    )
    tables = [(target.kind, of_kind(things, target.kind)) for target in found.targets]
    return "\n".join(get_table(kind, own, now, look) for kind, own in tables if own)


def describe(request: Request, things: Sequence[Thing], now: float) -> Outcome:
    found = _by_prefix(request, things)
    errors = "".join(line + "\n" for line in found.missing)
    if not found.things and not found.missing:
        return Outcome("", nothing_found(found.targets, request.namespace) + "\n")
    texts = [
        _described(thing, things, now, events=request.flag("show-events", "true") != "false") for thing in found.things
    ]
    return Outcome("\n\n".join(texts), errors, 1 if found.missing else 0)


def _by_prefix(request: Request, things: Sequence[Thing]) -> Found:
    """A name that is nobody's stands for all that begin with it."""
    found = find(request, request.words, things)
    if not found.missing or len(found.targets) != 1 or len(found.targets[0].names) != 1:
        return found
    target = found.targets[0]
    everything = find(request, (target.kind.plural,), things).things
    begun = tuple(thing for thing in everything if name_of(thing).startswith(target.names[0]))
    return found._replace(things=begun, missing=()) if begun else found


def _described(thing: Thing, things: Sequence[Thing], now: float, *, events: bool) -> str:
    kind, told = _kind(thing), of_kind(things, EVENT) if events else []
    pods = of_kind(things, POD)
    if kind == POD:
        return describe_pod(thing, told, now)
    if kind == NODE:
        leases = of_kind(things, LEASE)
        lease = next((each for each in leases if name_of(each) == name_of(thing)), None)
        return describe_node(thing, pods, told, lease, now)
    if kind.group == "apps":
        return describe_owner(thing, pods, told, now)
    return describe_plain(thing, told, now)


def events(request: Request, things: Sequence[Thing], now: float) -> Outcome:
    """`kubectl events`: the latest last, with how often each was seen."""
    wanted = request.flag("for")
    chosen = [thing for thing in of_kind(things, EVENT) if request.namespace in ("", namespace_of(thing))]
    if wanted:
        word, _, name = wanted.partition("/")
        kind = kind_of(word)
        chosen = [
            each
            for each in chosen
            if at(each, "involvedObject", "name") == name
            and kind is not None
            and at(each, "involvedObject", "kind") == kind.name
        ]
    if types := request.flag("types"):
        chosen = [each for each in chosen if each.get("type") in types.split(",")]
    chosen.sort(key=lambda each: seconds_of(last_seen(each)) or 0.0)
    if not chosen:
        where = f"No events found in {request.namespace} namespace." if request.namespace else "No events found."
        return Outcome("", where + "\n")
    everywhere = not request.namespace
    rows = [[*(["NAMESPACE"] if everywhere else []), "LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"]]
    for each in chosen:
        about = f"{at(each, 'involvedObject', 'kind')}/{at(each, 'involvedObject', 'name')}"
        cells = [event_interval(each, now), str(each.get("type")), str(each.get("reason")), about]
        message = str(each.get("message") or "").strip()
        rows.append([*([namespace_of(each)] if everywhere else []), *cells, message])
    return Outcome(table(rows if not request.has("no-headers") else rows[1:]))
