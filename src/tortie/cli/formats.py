"""`-o`: from documents to what a person or a program wants to read."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tortie.cli.tables import NAMESPACE, Column, columns_of, rows, table
from tortie.model.errors import UsageError
from tortie.model.kinds import API_VERSION, BY_NAME, Kind, nearest
from tortie.model.light import NamedTuple
from tortie.model.wire import Document

FORMS = (
    *("ps", "wide", "yaml", "json", "name", "custom-columns=HEADING[:PATH],...", "jsonpath=TEMPLATE"),
    *("go-template=TEMPLATE", "go-template-file=FILE"),
)


_DIRECTIONS = ("ingress", "egress")
_WITH_RULES = frozenset(
    ("NetworkPolicy", "GlobalNetworkPolicy", "StagedNetworkPolicy", "StagedGlobalNetworkPolicy", "Profile")
)


class Answer(NamedTuple):
    """What was found, and how it was asked for: one object, a few by name, or a whole list of a kind."""

    documents: list[Document]
    kind: Kind | None  # None when several kinds were asked for
    revision: int | None = None  # of a list
    single: bool = False
    with_namespace: bool = False
    default_as: str = "64512"

    def body(self) -> object:
        documents = [_as_api(document) for document in self.documents]
        if self.single and len(documents) == 1:
            return documents[0]
        if self.revision is None or self.kind is None:
            return documents
        return {
            "kind": f"{self.kind.name}List",
            "apiVersion": API_VERSION,
            "metadata": {"resourceVersion": str(self.revision)},
            "items": documents,
        }


def _as_api(document: Document) -> Document:
    """Calico stores an empty source and destination with every rule, and a boolean as text, and does not show them."""
    kind, spec = document.get("kind"), document.get("spec")
    if kind == "BlockAffinity" and isinstance(spec, dict) and isinstance(spec.get("deleted"), str):
        return {**document, "spec": spec | {"deleted": spec["deleted"] == "true"}}
    if kind not in _WITH_RULES or not isinstance(spec, dict):
        return document
    shown = {field: [_rule(rule) for rule in spec[field]] for field in _DIRECTIONS if isinstance(spec.get(field), list)}
    return {**document, "spec": spec | shown}


def _rule(rule: object) -> object:
    if not isinstance(rule, dict):
        return rule
    return {field: value for field, value in rule.items() if value != {} or field not in ("source", "destination")}


Printer = Callable[[Answer], str]


def parse_format(text: str) -> Printer:
    """The printer that `-o TEXT` means, checked before any datastore is asked."""
    name, _, argument = text.partition("=")
    match name:
        case "ps" | "wide" if not argument:
            return lambda answer: _tables(answer, wide=name == "wide")
        case "yaml" | "yml" if not argument:
            return _as_yaml
        case "json" if not argument:
            return _as_json
        case "name" if not argument:
            return _as_names
        case "custom-columns" if argument:
            return lambda answer: _custom_columns(answer, argument)
        case "jsonpath" if argument:
            return _jsonpath(argument)
        case "go-template" | "go-template-file":
            from tortie.cli.templates import template_printer

            return template_printer(name, argument)
    near = nearest(name, [form.partition("=")[0] for form in FORMS])
    fix = f"did you mean {near}? " if near and near != name else ""
    raise UsageError(
        f"unrecognized output format '{text}'", "there is no such form", f"{fix}use one of {', '.join(FORMS)}"
    )


def parse_result_format(text: str) -> Printer | None:
    """For commands that write: None means the usual sentence about what was done."""
    if text == "text":
        return None
    if text in ("ps", "wide") or text.startswith("custom-columns"):
        fix = "use text, yaml, json, name, jsonpath=TEMPLATE or go-template=TEMPLATE"
        raise UsageError(f"unrecognized output format '{text}'", "only `get` prints tables", fix)
    return parse_format(text)


def _as_yaml(answer: Answer) -> str:
    from tortie.model.manifest import to_yaml

    return to_yaml(answer.body())


def _as_json(answer: Answer) -> str:
    from tortie.model.wire import to_json

    return to_json(answer.body()) + "\n"


def _as_names(answer: Answer) -> str:
    return "".join(f"{document['kind'].lower()}/{document['metadata']['name']}\n" for document in answer.documents)


def _jsonpath(argument: str) -> Printer:
    from tortie.cli.jsonpath import compile_template

    template = compile_template(argument)

    def printed(answer: Answer) -> str:
        text = template.render(answer.body())
        return text if text.endswith("\n") or not text else text + "\n"

    return printed


def _tables(answer: Answer, *, wide: bool) -> str:
    def one(kind: Kind, documents: list[Document]) -> str:
        columns = columns_of(kind, answer.default_as)
        return _table(answer, kind, columns.wide if wide else columns.usual, documents)

    return _by_kind(answer, one)


def _custom_columns(answer: Answer, argument: str) -> str:
    def one(kind: Kind, documents: list[Document]) -> str:
        columns = [_custom_column(kind, part, answer.default_as) for part in argument.split(",") if part]
        return _table(answer, kind, columns, documents)

    return _by_kind(answer, one)


def _custom_column(kind: Kind, part: str, default_as: str) -> Column:
    heading, colon, path = part.partition(":")
    if colon:  # kubectl's way: HEADING:.path.to.field
        from tortie.cli.jsonpath import compile_template

        template = compile_template(path)
        return Column(heading, lambda document: template.render(document) or "<none>")
    known = columns_of(kind, default_as).named()
    if heading.upper() not in known:
        what = f"unknown heading {heading}, valid values are: {', '.join(known)}"
        raise UsageError(what, f"{kind.name} has no such column", "or name a field: HEADING:.spec.field")
    return known[heading.upper()]


def _table(answer: Answer, kind: Kind, columns: Sequence[Column], documents: list[Document]) -> str:
    if answer.with_namespace and kind.namespaced and NAMESPACE not in columns:
        columns = (NAMESPACE, *columns)
    return table([column.heading for column in columns], rows(columns, documents), padded=True) + "\n"


def _by_kind(answer: Answer, one: Callable[[Kind, list[Document]], str]) -> str:
    """A table for each kind, in the order in which the kinds first appear."""
    if answer.kind is not None:
        return one(answer.kind, answer.documents)
    groups: dict[str, list[Document]] = {}
    for document in answer.documents:
        groups.setdefault(document["kind"], []).append(document)
    return "".join(one(BY_NAME[name], documents) for name, documents in groups.items())
