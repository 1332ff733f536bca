"""From documents to what people are told of them: one note for each thing without effect, one sentence for each reason.

Documents may be anything that is stored; what cannot be read as a resource says nothing here. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from tortie.model.effects.reasons import REASONS, Reason
from tortie.model.effects.rows import Entry, Nothing
from tortie.model.effects.table import FIELDS, KINDS_WITHOUT
from tortie.model.tuples import NamedTuple

# Every cluster has them, whatever its policies.
TIERS_OF_ALL: Final = ("default", "kube-admin", "kube-baseline")
# Profiles of namespaces and service accounts: Calico's controllers let them allow everything.
_PROFILES_OF_ALL: Final = ("kns.", "ksa.")
_SWITCHES: Final = {
    **dict.fromkeys(("1", "yes", "y", "t", "on"), "true"),
    **dict.fromkeys(("no", "n", "f", "off"), "false"),
}
VARIABLE: Final = "variable"
NAMED: Final = 3  # objects, and fields, that a sentence names
_LISTED: Final = 20  # in JSON
_PART: Final = r"([0-9.]+)(ns|us|µs|ms|s|m|h)"  # of a duration; compiled only where spellings differ
_SECONDS: Final = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


class Note(NamedTuple):
    """One thing without effect."""

    kind: str  # VARIABLE for one of the environment
    name: str  # with its namespace; "" where only its kind is known
    reason: Reason
    field: str = ""  # below spec; "" for the resource as a whole
    value: Any = None


class Told(NamedTuple):
    """All that has no effect for one reason."""

    reason: Reason
    what: str  # the sentence
    kinds: Mapping[str, int]
    fields: tuple[str, ...]
    objects: tuple[str, ...]  # Kind(name), as many as are known

    @property
    def which(self) -> str:
        """The first few objects, where the sentence does not name the only one; else ""."""
        total = sum(self.kinds.values())
        names = self.objects[:NAMED]
        if total < 2 or not names:
            return ""
        if len(self.kinds) == 1:
            names = tuple(name.partition("(")[2].removesuffix(")") for name in names)
        return ", ".join(names) + (f" and {total - len(names)} more" if total > len(names) else "")

    def as_json(self) -> dict[str, Any]:
        return {
            "reason": self.reason.key,
            "what": self.what,
            "calico": self.reason.calico,
            "kinds": dict(self.kinds),
            "fields": list(self.fields),
            "objects": list(self.objects[:_LISTED]),
        }


def notes_of(document: Mapping[str, Any]) -> Iterator[Note]:
    kind, metadata, spec = document.get("kind"), document.get("metadata"), document.get("spec")
    if not isinstance(kind, str) or not isinstance(metadata, dict):
        return
    name, namespace = str(metadata.get("name") or ""), metadata.get("namespace")
    full = f"{namespace}/{name}" if namespace else name
    spec = spec if isinstance(spec, dict) else {}
    if reason := KINDS_WITHOUT.get(kind):
        if not _harmless(kind, name, spec):
            yield Note(kind, full, reason)
        return
    table = FIELDS.get(kind)
    for field, value, entry in _asking(spec, table) if table else ():
        yield Note(kind, full, entry.reason, field, value)


def notes_of_key(kind: str, name: str) -> Iterator[Note]:
    """The same by the name alone, of kinds that have no effect as a whole."""
    if not _harmless(kind, name, None):
        yield Note(kind, name, KINDS_WITHOUT[kind])


def gathered(notes: Iterable[Note], counts: Mapping[str, int] | None = None) -> list[Told]:
    """By reason, the gravest first. `counts` says of a kind how many there are, where not all are among the notes."""
    by_reason: dict[str, list[Note]] = {}
    for note in notes:
        by_reason.setdefault(note.reason.key, []).append(note)
    return [
        told
        for reason in REASONS
        for part in _apart(by_reason.get(reason.key, ()))
        if (told := _told(reason, part, counts or {}))
    ]


def _apart(notes: Iterable[Note]) -> Iterator[list[Note]]:
    """What is stored, and what the environment says."""
    for variables in (False, True):
        if part := [note for note in notes if (note.kind == VARIABLE) is variables]:
            yield part


def _told(reason: Reason, notes: list[Note], counts: Mapping[str, int]) -> Told:
    objects = tuple(dict.fromkeys(f"{note.kind}({note.name})" for note in notes if note.name))
    if notes[0].kind == VARIABLE:
        names = [note.name for note in notes]
        what = f"{_joined(_few(names))} {'are' if len(names) > 1 else 'is'} set, but {reason.here}"
        return Told(reason, what, {}, (), objects)
    kinds = {
        kind: max(sum(each.startswith(f"{kind}(") for each in objects), counts.get(kind, 0))
        for kind in dict.fromkeys(note.kind for note in notes)
    }
    fields = tuple(dict.fromkeys(note.field for note in notes if note.field))
    only = f"{notes[0].kind} {notes[0].name}" if sum(kinds.values()) == 1 and notes[0].name else ""
    which = only or _joined([f"{count} {_plural(kind) if count > 1 else kind}" for kind, count in kinds.items()])
    many = len(fields) > 1 if fields else sum(kinds.values()) > 1
    if fields:
        which = f"{_joined(_few(fields))} of {which}"
    what = f"{which} {'are' if many else 'is'} stored, but {reason.here}"
    return Told(reason, what, kinds, fields, objects)


def _few(names: Sequence[str]) -> list[str]:
    rest = len(names) - NAMED
    return [*names[:NAMED], f"{rest} more"] if rest > 1 else list(names)


def _joined(words: list[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def _plural(kind: str) -> str:
    return f"{kind[:-1]}ies" if kind.endswith("y") else f"{kind}s"


def notes_of_variables(variables: Iterable[tuple[str, str, str]]) -> Iterator[Note]:
    """Of parameters of Felix: each with the variable's name, the field in any case, and the text."""
    fields = {name.lower(): entry for name, entry in FIELDS["FelixConfiguration"].items()}
    for name, field, text in variables:
        entry = fields.get(field.lower())
        if isinstance(entry, Nothing) and not _is_quiet_text(text.strip().lower(), entry):
            yield Note(VARIABLE, name, entry.reason, value=text)


def _asking(part: Mapping[str, Any], table: Mapping[str, Entry], path: str = "") -> Iterator[tuple[str, Any, Nothing]]:
    for name, value in part.items():
        where = f"{path}{name}"
        entry = table.get(where)
        if isinstance(entry, Nothing):
            if not _is_quiet(value, entry):
                yield where, value, entry
        elif entry is None and isinstance(value, dict) and any(row.startswith(f"{where}.") for row in table):
            yield from _asking(value, table, f"{where}.")


def _is_quiet(value: Any, entry: Nothing) -> bool:
    return value in (None, "", [], {}) or any(_same(value, quiet) for quiet in entry.quiet)


def _is_quiet_text(text: str, entry: Nothing) -> bool:
    """As environments have it: durations as plain numbers of seconds, switches in several spellings."""
    text = _SWITCHES.get(text, text)
    return not text or any(
        text == str(quiet).lower() or (text.isdigit() and _seconds(f"{text}s") == _seconds(str(quiet)))
        for quiet in entry.quiet
    )


def _same(value: Any, quiet: Any) -> bool:
    if not isinstance(value, str) or not isinstance(quiet, str):
        return type(value) is type(quiet) and bool(value == quiet)
    return value.lower() == quiet.lower() or (_seconds(value) is not None and _seconds(value) == _seconds(quiet))


def _seconds(text: str) -> float | None:
    if text == "0":
        return 0.0
    if not re.fullmatch(f"({_PART})+", text):
        return None
    try:
        return round(sum(float(number) * _SECONDS[unit] for number, unit in re.findall(_PART, text)), 9)
    except ValueError:
        return None


def _harmless(kind: str, name: str, spec: Mapping[str, Any] | None) -> bool:
    """Whether it forbids nothing that passes here. Without the spec only the name is known."""
    if kind == "Tier":
        return name in TIERS_OF_ALL
    if kind != "Profile":
        return False
    if spec is None:
        return name.startswith(_PROFILES_OF_ALL)
    directions = [rules if isinstance(rules := spec.get(name), list) else [] for name in ("ingress", "egress")]
    return directions == [[], []] or all(_first_allows(rules) for rules in directions)


def _first_allows(rules: Any) -> bool:
    """Whatever stands behind it: nothing is left to be forbidden."""
    decisive = [rule for rule in rules if isinstance(rule, dict) and rule.get("action") != "Log"]
    if not decisive:
        return False
    matches = {key: value for key, value in decisive[0].items() if key not in ("action", "metadata")}
    return decisive[0].get("action") == "Allow" and not any(matches.values())
