"""The table as a page of the reference; a test holds the page, `make pages` writes it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from tortie.model.effects.reasons import REASONS, Reason
from tortie.model.effects.rows import Data, Entry, Nothing, Read
from tortie.model.effects.table import FIELDS, KINDS_WITHOUT

_HEAD: Final = """# What has an effect

Tortie keeps every resource and every field of Calico's API: real Calico may share the datastore, and parts of Tortie
are still to come. What nothing acts upon yet is told where people look, and stands here; `make pages` writes this page
from the table that all of them use.

| where | what is told |
|---|---|
| `tortie create`, `apply`, `replace`, `patch` | a warning on standard error, once for each reason, with the first few resources; the exit code stays 0. With `-o json` each warning is one JSON object in a line (`kind: Warning`), and standard output has the resources alone |
| [`tortie node status`](bgp.md#tortie-node-status) | a section *Without effect on this node*; `withoutEffect` with `-o json` |
| [health page](node.md#health) | lines `without effect: …` of `/readiness?verbose`; never a reason not to be ready |
| log of the agent, at its start | variables that ask for something in vain: `FELIX_…`, and those that the [environment](environment.md) has as *accepted for later parts* |
| [doctor](doctor.md) | a note beside any verdict, and the answer where somebody misses the effect of a policy: [TRT8010](../causes/en/TRT8010.md) |

Sentences are about nodes of Tortie. A node of Calico in the same cluster does what Calico does, and so does a Felix
that runs in place of Tortie's dataplane (`CALICO_DISABLE_FELIX=true`); of such a node's policies and Felix's settings its
status says nothing.

Nothing is said of a field that asks for nothing: one that is empty, has Calico's default, or says what happens here
anyway. Nor of the tiers that every cluster has, and of profiles that let everything pass, such as those of namespaces
and service accounts.

"""  # noqa: E501


def page() -> str:
    return "\n".join([_HEAD.rstrip(), "", *_kinds(), "", *_fields_without(), "", *_fields_read(), ""])


def _kinds() -> Iterator[str]:
    yield from ("## Kinds without effect", "", "| kind | Calico | here |", "|---|---|---|")
    for reason in REASONS:
        kinds = [kind for kind, why in KINDS_WITHOUT.items() if why is reason]
        if kinds:
            yield f"| {', '.join(kinds)} | {reason.calico} | {reason.here} |"


def _fields_without() -> Iterator[str]:
    yield from ("## Fields without effect", "", "In brackets: values that ask for nothing.")
    for kind, table in FIELDS.items():
        rows = list(_rows(table))
        if rows:
            yield from ("", f"### {kind}", "", "| fields | Calico | here |", "|---|---|---|", *rows)


def _rows(table: Mapping[str, Entry]) -> Iterator[str]:
    for reason in REASONS:
        if fields := [_shown(name, entry) for name, entry in table.items() if _is_for(entry, reason)]:
            yield f"| {', '.join(fields)} | {reason.calico} | {reason.here} |"


def _is_for(entry: Entry, reason: Reason) -> bool:
    return isinstance(entry, Nothing) and entry.reason is reason


def _shown(name: str, entry: Entry) -> str:
    quiet = entry.quiet if isinstance(entry, Nothing) else ()
    return f"`{name}`" + (f" ({', '.join(map(_value, quiet))})" if quiet else "")


def _value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _fields_read() -> Iterator[str]:
    yield from ("## Fields that do something", "", "| kind | fields | where |", "|---|---|---|")
    for kind, table in FIELDS.items():
        modules: dict[str, list[str]] = {}
        for name, entry in table.items():
            if isinstance(entry, Read):
                modules.setdefault(entry.by.removeprefix("tortie.").replace(".", "/") + ".py", []).append(f"`{name}`")
        for module, names in modules.items():
            yield f"| {kind} | {', '.join(names)} | `{module}` |"
    stated = {
        kind: [f"`{n}`" for n, entry in table.items() if isinstance(entry, Data)] for kind, table in FIELDS.items()
    }
    told = "; ".join(f"{kind}: {', '.join(names)}" for kind, names in stated.items() if names)
    yield from ("", f"Fields that only state something, and ask for nothing: {told}.")
