"""`tortie patch` and `tortie label`: changes to one stored resource, repeated if somebody else was faster."""

from __future__ import annotations

import sys

import click

from tortie.cli.commands.get import complete_kind, complete_names
from tortie.cli.formats import Answer, parse_result_format
from tortie.cli.options import connection_options, namespace_option, output_option
from tortie.cli.patches import PATCHES, json_patch, merge_patch
from tortie.cli.session import with_resources
from tortie.cli.settings import Settings
from tortie.model.errors import TortieError, UsageError
from tortie.model.kinds import find_kind
from tortie.model.manifest import read_plain
from tortie.model.wire import Document
from tortie.store.resources import Edit, Resources


@click.command(
    epilog="\b\nExamples:\n"
    '  tortie patch ippool pool -p \'{"spec": {"disabled": true}}\'\n'
    '  tortie patch node n1 -t json -p \'[{"op": "remove", "path": "/spec/bgp/asNumber"}]\''
)
@click.argument("kind", shell_complete=complete_kind)
@click.argument("name", shell_complete=complete_names)
@click.option("-p", "--patch", "text", required=True, metavar="PATCH", help="The change, as JSON or YAML.")
@click.option("-t", "--type", "form", default="strategic", metavar="TYPE", help="strategic, merge or json.")
@namespace_option
@output_option("text", "text, yaml, json or name of the result")
@connection_options
def patch(*, settings: Settings, kind: str, name: str, text: str, form: str, namespace: str | None, output: str) -> int:
    """Change some fields of one resource.

    strategic and merge put the given fields over the stored ones (null removes, lists are replaced whole);
    json is a list of operations as in RFC 6902.
    """
    if form not in PATCHES:
        raise UsageError(f"unknown patch type '{form}'", "there is no such form", f"use one of {', '.join(PATCHES)}")
    body, _ = read_plain(text, "--patch")
    change: Edit
    if form == "json" and isinstance(body, list):
        operations = body
        change = lambda document: json_patch(document, operations)  # noqa: E731
    elif form != "json" and isinstance(body, dict):
        change = lambda document: merge_patch(document, body)  # noqa: E731
    else:
        shape = "a list of operations" if form == "json" else "a mapping of fields"
        raise UsageError("the patch has the wrong shape", f"type {form} needs {shape}", "see `tortie patch --help`")
    return _edit(settings, kind, name, namespace, output, change, "patched")


@click.command(
    epilog="\b\nExamples:\n"
    "  tortie label node n1 rack=r1\n  tortie label node n1 rack=r2 --overwrite\n  tortie label node n1 rack --remove"
)
@click.argument("kind", shell_complete=complete_kind)
@click.argument("name", shell_complete=complete_names)
@click.argument("labels", metavar="KEY=VALUE|KEY...", nargs=-1, required=True)
@click.option("--overwrite", is_flag=True, help="Replace a label's value.")
@click.option("--remove", is_flag=True, help="Remove the labels named.")
@namespace_option
@output_option("text", "text, yaml, json or name of the result")
@connection_options
def label(
    *,
    settings: Settings,
    kind: str,
    name: str,
    labels: tuple[str, ...],
    overwrite: bool,
    remove: bool,
    namespace: str | None,
    output: str,
) -> int:
    """Set or remove a resource's labels."""
    wanted = dict(_parse_label(text, remove=remove) for text in labels)

    def change(document: Document) -> Document:
        present = dict(document["metadata"].get("labels") or {})
        for key, value in wanted.items():
            if remove:
                if key not in present:
                    raise UsageError(
                        f"{document['kind']}({name}) has no label {key}",
                        f"its labels are {', '.join(sorted(present)) or 'none'}",
                        "leave it out",
                    )
                del present[key]
            elif present.get(key, value) != value and not overwrite:
                raise LabelExists(f"{document['kind']}({name})", key, present[key])
            else:
                present[key] = value
        return {**document, "metadata": {**document["metadata"], "labels": present}}

    return _edit(settings, kind, name, namespace, output, change, "labelled")


class LabelExists(TortieError):
    code = "already-exists"

    def __init__(self, subject: str, key: str, value: str) -> None:
        super().__init__(
            f"failed to update label on {subject}", f"the label {key} has the value {value}", "pass --overwrite"
        )


def _parse_label(text: str, *, remove: bool) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not key or (not remove and not equals) or (remove and equals):
        form = "KEY with --remove" if remove else "KEY=VALUE"
        raise UsageError(f"'{text}' is not a label", f"a label is given as {form}", "for example rack=r1")
    return key, value


def _edit(settings: Settings, word: str, name: str, namespace: str | None, output: str, change: Edit, done: str) -> int:
    kind = find_kind(word)
    printer = parse_result_format(output)
    if namespace and not kind.namespaced:
        raise UsageError(f"{kind.name} is not namespaced", "-n has no meaning for it", "leave -n out")
    scope = (namespace or "default") if kind.namespaced else None

    async def work(resources: Resources) -> Document:
        return await resources.edit(kind, name, scope, change)

    after = with_resources(settings, work)
    if printer:
        sys.stdout.write(printer(Answer([after], kind=kind, single=True)))
    else:
        sys.stdout.write(f"Successfully {done} 1 '{kind.name}' resource\n")
    return 0
