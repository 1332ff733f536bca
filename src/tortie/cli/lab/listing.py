"""`tortie lab list`: all labs of this user, also those that died or were left half-made."""

from __future__ import annotations

import os
import sys
import time
from contextlib import closing
from typing import Final, Literal, NamedTuple

from tortie.cli.lab.status import age, table
from tortie.cli.lab.talk import Talk, print_json, spoken
from tortie.lab.client import KeeperClient
from tortie.lab.registry import LabFolder, all_labs
from tortie.model.errors import TortieError

_FORMS: Final = ("text", "json")
_ANSWER_S: Final = 2.0

State = Literal["up", "dead", "partial"]


class Listed(NamedTuple):
    name: str
    state: State  # dead: no keeper, but what it left; partial: its keeper does not answer, or it never got far
    nodes: int
    age_s: float
    folder: str


def list_labs(*, name: str | None, lang: str | None, output: str, color: str) -> int:
    def work(talk: Talk) -> int:
        listed = [_listed(folder) for folder in all_labs(talk.labs) if name in (None, folder.name)]
        if talk.json:
            print_json({"labs": [each._asdict() for each in listed]})
        elif not listed:
            sys.stdout.write(talk.say("list.none") + "\n")
        else:
            heads = [talk.say(f"head.{head}") for head in ("lab", "state", "nodes", "age", "folder")]
            sys.stdout.write(table(heads, [_row(talk, each) for each in listed]))
        return 0

    return spoken(work, name=None, lang=lang, output=output, color=color, forms=_FORMS)


def _row(talk: Talk, listed: Listed) -> list[str]:
    state = talk.colour(talk.say(f"state.{listed.state}"), "good" if listed.state == "up" else "bad")
    return [listed.name, state, str(listed.nodes), age(talk, listed.age_s), listed.folder]


def _listed(folder: LabFolder) -> Listed:
    record = folder.read()
    machines = (record or {}).get("plan", {}).get("machines", ())
    nodes = sum(machine.get("role") == "node" for machine in machines)
    since = (record or {}).get("began_at") or os.stat(folder.path).st_mtime
    state: State = "dead" if record else "partial"
    keeper = KeeperClient.connect(folder)
    if keeper:
        with closing(keeper):
            state = "up" if record and _answers(keeper) else "partial"
    return Listed(folder.name, state, nodes, round(max(0.0, time.time() - since), 1), folder.path)


def _answers(keeper: KeeperClient) -> bool:
    try:
        keeper.ask("status", deadline=time.monotonic() + _ANSWER_S)
    except TortieError:
        return False
    return True
