"""`tortie patch`: some fields of one resource."""

from __future__ import annotations

from tortie.cli.editing import edit_one
from tortie.cli.grammar import Command, Option
from tortie.cli.options import DATASTORE, NAME_ARGUMENT, NAMESPACE, WRITTEN, kind_argument
from tortie.cli.patches import PATCHES, json_patch, merge_patch
from tortie.cli.settings import Settings
from tortie.model.errors import UsageError
from tortie.model.kinds import Kind
from tortie.model.manifest import read_plain
from tortie.store.presenting import Edit


def patch(
    *,
    settings: Settings,
    kind: str,
    name: str,
    text: str | None,
    form: str,
    skip_not_exists: bool,
    namespace: str | None,
    output: str,
) -> int:
    if text is None:
        raise UsageError("no patch was given", "-p says what to change", "see `tortie patch --help`")
    if form not in PATCHES:
        raise UsageError(f"unknown patch type '{form}'", "there is no such form", f"use one of {', '.join(PATCHES)}")
    from tortie.model.settling import settled  # heavy, as what a change needs anyway

    body = read_plain(text, "--patch").document
    change: Edit
    if form == "json" and isinstance(body, list):
        operations = body
        change = lambda document: settled(json_patch(document, operations))  # noqa: E731
    elif form != "json" and isinstance(body, dict):
        change = lambda document: settled(merge_patch(document, body))  # noqa: E731
    else:
        shape = "a list of operations" if form == "json" else "a mapping of fields"
        raise UsageError("the patch has the wrong shape", f"type {form} needs {shape}", "see `tortie patch --help`")

    def told(kind: Kind) -> str:
        return f"Successfully patched 1 '{kind.name}' resource"

    return edit_one(settings, kind, name, namespace, output, change, told=told, skip_absent=skip_not_exists)


COMMAND = Command(
    summary="Change some fields of one resource.",
    description="""Change some fields of one resource.

strategic and merge put the given fields over the stored ones: null removes, lists are replaced whole. json is a list
of operations as in RFC 6902.""",
    run=patch,
    arguments=(kind_argument(required=True), NAME_ARGUMENT),
    options=(
        Option(("-p", "--patch"), "text", "The change, as JSON or YAML.", "PATCH"),
        Option(("-t", "--type"), "form", "strategic, merge or json.", "TYPE", default="strategic", choices=PATCHES),
        Option(("--skip-not-exists",), "skip_not_exists", "Pass over a resource that does not exist."),
        NAMESPACE,
        WRITTEN,
        *DATASTORE,
    ),
    examples="""
        tortie patch ippool pool -p '{"spec": {"disabled": true}}'
        tortie patch node n1 -t json -p '[{op: remove, path: /spec/bgp/asNumber}]'
    """,
)
