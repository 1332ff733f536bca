"""`tortie label`: labels set or removed."""

from __future__ import annotations

from collections.abc import Collection

from tortie.cli.editing import edit_one
from tortie.cli.grammar import Argument, Command, Option
from tortie.cli.options import DATASTORE, NAME_ARGUMENT, NAMESPACE, WRITTEN, kind_argument
from tortie.cli.settings import Settings
from tortie.model.errors import TortieError, UsageError
from tortie.model.kinds import Kind
from tortie.model.wire import Document


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
    if remove and overwrite:
        why = "--remove takes a label away, --overwrite gives it another value"
        raise UsageError("--remove and --overwrite cannot be combined", why, "leave one of the two out")
    wanted = dict(_parse_label(text, remove=remove) for text in labels)
    done: dict[str, str] = {}

    def change(document: Document) -> Document:
        present = dict(document["metadata"].get("labels") or {})
        for key, value in wanted.items():
            if remove:
                if key not in present:
                    raise LabelAbsent(f"{document['kind']}({name})", key, present)
                del present[key]
                done[key] = "removed label {} from"
            elif present.get(key, value) != value and not overwrite:
                raise LabelExists(f"{document['kind']}({name})", key, present[key])
            else:
                done[key] = "updated label {} on" if key in present else "set label {} on"
                present[key] = value
        return {**document, "metadata": {**document["metadata"], "labels": present}}

    def told(_: Kind) -> str:
        return "\n".join(f"Successfully {deed.format(key)} {kind} {name}" for key, deed in done.items())

    return edit_one(settings, kind, name, namespace, output, change, told=told, takes_effect=False)


class LabelAbsent(TortieError):
    code = "not-found"

    def __init__(self, subject: str, key: str, present: Collection[str]) -> None:
        have = ", ".join(sorted(present)) or "none"
        super().__init__(f"{subject} has no label {key}", f"its labels are {have}", "leave it out")


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


COMMAND = Command(
    summary="Set or remove a resource's labels.",
    run=label,
    arguments=(
        kind_argument(required=True),
        NAME_ARGUMENT,
        Argument("labels", "KEY=VALUE|KEY", repeated=True),
    ),
    options=(
        Option(("--overwrite",), "overwrite", "Replace a label's value."),
        Option(("--remove",), "remove", "Remove the labels named."),
        NAMESPACE,
        WRITTEN,
        *DATASTORE,
    ),
    examples="""
        tortie label node n1 rack=r1
        tortie label node n1 rack=r2 --overwrite
        tortie label node n1 rack --remove
    """,
)
