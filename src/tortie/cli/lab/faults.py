"""`tortie lab faults`: what can be broken in a lab, and all about one of it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any, Final

from tortie.cli.lab.talk import Talk, print_json, spoken
from tortie.lab.failures import LabFailure
from tortie.lab.faults.catalogue import all_faults, anything_named
from tortie.lab.faults.decoys import DECOYS
from tortie.lab.faults.failures import NEEDS
from tortie.lab.faults.fault import Fault
from tortie.lab.faults.ledger import Ledger
from tortie.lab.faults.refusals import unknown_fault
from tortie.lab.faults.words import tell
from tortie.lab.words import Pair
from tortie.model.measure import columns, padded, wrapped

_FORMS: Final = ("text", "json")
_WIDTH: Final = 80
_LINES_MAX: Final = 20


def faults(*, name: str | None, lang: str | None, output: str, color: str, fault: str | None) -> int:
    def work(talk: Talk) -> int:
        if fault is None:
            return _list(talk)
        found = anything_named(fault)
        if found is None:
            raise unknown_fault(fault)
        if talk.json:
            print_json(fault_json(found))
        else:
            sys.stdout.write("\n".join(_about(talk, found)) + "\n")
        return 0

    return spoken(work, name=name, lang=lang, output=output, color=color, forms=_FORMS)


def fault_json(fault: Fault) -> dict[str, Any]:
    return {
        "name": fault.name,
        "cause": fault.cause,
        "code": fault.code,
        "summary": fault.summary.en,
        "shows": fault.shows.en,
        "needs": list(fault.needs),
        "spared": fault.spared,
        "everywhere": fault.everywhere,
        "incident": fault.incident,
        "release": fault.release if fault.cause else "",
    }


def _list(talk: Talk) -> int:
    if talk.json:
        told = {"faults": [fault_json(each) for each in all_faults()], "decoys": [fault_json(each) for each in DECOYS]}
        print_json(told)
        return 0
    lines = [*_rows(talk, "head.fault", all_faults()), "", *_rows(talk, "head.decoy", DECOYS)]
    sys.stdout.write("\n".join([*lines, "", _wrapped(tell(talk.language, "faults.more"), "")]) + "\n")
    return 0


def _rows(talk: Talk, head: str, listed: Sequence[Fault]) -> Iterator[str]:
    """What a fault does stands below its name: beside it there is no room for whole sentences."""
    width = max(len(each.name) for each in (*all_faults(), *DECOYS)) + 3
    cause = tell(talk.language, "head.cause") if any(each.cause for each in listed) else ""
    yield (padded(tell(talk.language, head), width) + cause).rstrip()
    for each in listed:
        yield (padded(each.name, width) + each.cause).rstrip()
        yield _wrapped(_said(talk, each.summary), "    ")
        if each.cause:
            yield talk.colour(_wrapped(_said(talk, each.shows), "      "), "faint")


def _about(talk: Talk, fault: Fault) -> Iterator[str]:
    yield talk.colour(fault.name, "good") + f"  {_said(talk, fault.summary)}"
    yield ""
    facts = [("one.cause", f"{fault.cause} ({fault.code})" if fault.cause else tell(talk.language, "one.decoy"))]
    facts.append(("one.shows", _said(talk, fault.shows)))
    if fault.needs:
        separator = talk.say("reasons.join")
        facts.append(("one.needs", separator.join(_said(talk, NEEDS[need][0]) for need in fault.needs)))
    facts.append(("one.where", tell(talk.language, "one.everywhere" if fault.everywhere else "one.node")))
    if fault.spared:
        facts.append(("one.spared", tell(talk.language, "one.spared.yes")))
    if fault.incident:
        facts.append(("one.incident", str(fault.incident)))
    there = _active(talk, fault)
    if there:
        facts.append(("one.active", ", ".join(there)))
    flag = "--decoy " if not fault.cause else ""
    facts.append(("one.break", f"tortie lab break {flag}{fault.name}"))
    width = max(columns(tell(talk.language, key)) for key, _ in facts) + 2
    for key, text in facts:
        title = tell(talk.language, key)
        yield _wrapped(text, " " * width, title + " " * (width - columns(title)))


def _active(talk: Talk, fault: Fault) -> list[str]:
    """Where it is now, if there is a lab that is meant."""
    try:
        return [each.node or each.id for each in Ledger.read(talk.folder()).struck if each.fault == fault.name]
    except (LabFailure, OSError):
        return []


def _said(talk: Talk, pair: Pair) -> str:
    return pair.zh if talk.language == "zh" else pair.en


def _wrapped(text: str, indent: str, first: str | None = None) -> str:
    lines = wrapped(text, _WIDTH - columns(indent), _LINES_MAX)
    head = indent if first is None else first
    return "\n".join((head if number == 0 else indent) + line for number, line in enumerate(lines))
