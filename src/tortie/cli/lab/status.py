"""`tortie lab status`: every node in a line, and why those that are not ready are not."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Final

from tortie.cli.lab.talk import Talk, print_json, spoken
from tortie.lab.client import KeeperClient
from tortie.lab.faults.ledger import Ledger
from tortie.lab.observe import ask_agents
from tortie.lab.registry import LabFolder
from tortie.lab.status import SILENT, STARTING, STOPPED, LabStatus, NodeStatus, OtherStatus, Reason, lab_status
from tortie.model.measure import columns, plain

_ASK_S: Final = 3.0
_UNHEALTHY: Final = 3
_FORMS: Final = ("text", "json")


def status(*, name: str | None, lang: str | None, output: str, color: str) -> int:
    def work(talk: Talk) -> int:
        folder = talk.folder()
        with closing(talk.keeper(folder)) as keeper:
            seen = look(keeper, folder)
        broken = Ledger.read(folder).struck
        if talk.json:
            print_json({**seen.as_json(), "faults": [{"fault": each.fault, "node": each.node} for each in broken]})
        else:
            sys.stdout.write(status_text(talk, seen))
            if broken:
                names = ", ".join(each.id for each in broken)
                sys.stdout.write("\n" + talk.say("status.broken", faults=names, name=folder.name) + "\n")
        return 0 if seen.ready else _UNHEALTHY

    return spoken(work, name=name, lang=lang, output=output, color=color, forms=_FORMS)


def look(keeper: KeeperClient, folder: LabFolder, timeout_s: float = _ASK_S) -> LabStatus:
    told = keeper.ask("status")
    nodes = [machine["name"] for machine in told["machines"] if machine["role"] == "node"]
    return lab_status(told, ask_agents({node: folder.agent_socket(node) for node in nodes}, "/status", timeout_s))


def status_text(talk: Talk, seen: LabStatus) -> str:
    racks = any(node.rack for node in seen.nodes)
    pods = any(node.pods for node in seen.nodes)
    heads = ["node", "address", *(["rack"] if racks else []), "phase", "ready", "sessions", "routes"]
    heads += [*(["pods"] if pods else []), "age"]
    rows = [_row(talk, node, racks=racks, pods=pods) for node in seen.nodes]
    text = table([talk.say(f"head.{head}") for head in heads], rows)
    reasons = list(reason_lines(talk, seen))
    return text + ("\n" + "\n".join(reasons) + "\n" if reasons else "")


def _row(talk: Talk, node: NodeStatus, *, racks: bool, pods: bool) -> list[str]:
    return [
        node.name,
        node.address,
        *([node.rack] if racks else []),
        plain(node.phase),
        talk.colour(talk.say("yes"), "good") if node.ready else talk.colour(talk.say("no"), "bad"),
        f"{node.up}/{node.expected}",
        str(node.routes),
        *([str(node.pods)] if pods else []),
        age(talk, node.age_s) if node.phase != STOPPED else "-",
    ]


def reason_lines(talk: Talk, seen: LabStatus) -> Iterator[str]:
    """One line for each node that is not ready, and for each other machine whose program has ended."""
    for node in seen.nodes:
        if not node.ready:
            yield talk.say("status.reason", node=node.name, what=_why(talk, node))
    for other in seen.others:
        if other.runs is False:
            yield talk.say("status.reason", node=other.name, what=_how_it_ended(talk, other, "status.other"))


def _why(talk: Talk, node: NodeStatus) -> str:
    if node.phase == STOPPED:
        return _how_it_ended(talk, node, "status")
    if node.phase in (SILENT, STARTING):
        return talk.say(f"status.{node.phase}", pid=node.pid)
    return "; ".join(_reason(talk, reason) for reason in node.reasons) or plain(node.phase)


def _how_it_ended(talk: Talk, ended: NodeStatus | OtherStatus, key: str) -> str:
    if ended.signal is not None:
        return talk.say(f"{key}.signal", signal=ended.signal)
    if isinstance(ended, NodeStatus) and ended.reasons:
        words = "\n".join(f"  {plain(line)}" for line in ended.reasons[0].why.splitlines())
        return talk.say("status.exit.words", code=ended.exit_code, words=words)
    if ended.exit_code is not None:
        return talk.say(f"{key}.exit", code=ended.exit_code)
    return talk.say(f"{key}.never")


def _reason(talk: Talk, reason: Reason) -> str:
    told = [talk.say("status.fault", fault=plain(reason.fault))] if reason.fault else []
    told += [talk.say("status.since", time=age(talk, reason.since_s))] if reason.since_s is not None else []
    return plain(reason.what) + (f" ({talk.say('reasons.join').join(told)})" if told else "")


def age(talk: Talk, seconds: float) -> str:
    whole = int(seconds)
    if whole < 60:
        return talk.say("age.seconds", count=whole)
    if whole < 3600:
        return talk.say("age.minutes", minutes=whole // 60, seconds=whole % 60)
    if whole < 86400:
        return talk.say("age.hours", hours=whole // 3600, minutes=whole % 3600 // 60)
    return talk.say("age.days", days=whole // 86400, hours=whole % 86400 // 3600)


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns three blanks apart. Chinese characters are two wide, and colours take no room."""
    widths = [max(_width(cell) for cell in column) for column in zip(heads, *rows, strict=True)]
    lines = []
    for row in (heads, *rows):
        cells = [cell + " " * (width - _width(cell)) for cell, width in zip(row, widths, strict=True)]
        lines.append("   ".join(cells).rstrip())
    return "\n".join(lines) + "\n"


def _width(cell: str) -> int:
    while "\x1b[" in cell:
        before, _, after = cell.partition("\x1b[")
        cell = before + after.partition("m")[2]
    return columns(cell)
