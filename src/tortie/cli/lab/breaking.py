"""`tortie lab break`: brings faults about, at once or as a scenario file has it."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from contextlib import closing
from typing import Any, Final

from tortie.cli.lab.fault_progress import Line, at_work, refuse_unhealed
from tortie.cli.lab.talk import Talk, number_of, print_json, say_aside, spoken
from tortie.cli.lab.up import listen_for_end
from tortie.lab.failures import LabFailure
from tortie.lab.faults import engine
from tortie.lab.faults.catalogue import anything_named
from tortie.lab.faults.hands import Hands
from tortie.lab.faults.ledger import Struck
from tortie.lab.faults.refusals import Order
from tortie.lab.faults.scenario import SEED, Act, acts, read_scenario
from tortie.lab.faults.words import tell
from tortie.model.measure import wrapped

_FORMS: Final = ("text", "json")
_STEP_S: Final = 0.1
_ROOM, _LINES_MAX = 76, 12
_PROOF_S: Final = 60.0


def break_lab(
    *,
    name: str | None,
    lang: str | None,
    output: str,
    color: str,
    faults: tuple[str, ...],
    node: str | None,
    seed: str | None,
    file: str | None,
    decoys: tuple[str, ...],
) -> int:
    def work(talk: Talk) -> int:
        number = SEED if seed is None else number_of("--seed", seed)
        if file is not None:
            given = faults[0] if faults else f"--decoy {decoys[0]}" if decoys else "--node" if node else ""
            if given:
                raise LabFailure("file-and-faults", what=given)
            scenario = _scenario(file)
            return _Play(talk, scenario.seed if seed is None else number).run(acts(scenario))
        if not faults and not decoys:
            raise LabFailure("no-fault")
        orders = [Order(each, node or "") for each in faults]
        orders += [Order(each, "" if faults else node or "", decoy=True) for each in decoys]
        return _Play(talk, number).run([Act(0.0, tuple(orders))])

    return spoken(work, name=name, lang=lang, output=output, color=color, forms=_FORMS)


def _scenario(filename: str) -> Any:
    try:
        if filename == "-":
            return read_scenario(sys.stdin.buffer.read().decode(), "standard input")
        with open(filename, encoding="utf-8") as file:
            return read_scenario(file.read(), filename)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise LabFailure("unreadable", path=filename, reason=reason) from None


class _Play:
    """Acts by the clock; between them the lab is free for others."""

    def __init__(self, talk: Talk, seed: int) -> None:
        self._talk = talk
        self._seed = seed
        self._line = Line(talk)
        self._ids: dict[int, str] = {}  # by step, of those that are healed by themselves
        self._told: list[dict[str, Any]] = []
        self._folder = talk.folder()

    def run(self, play: Sequence[Act]) -> int:
        told_to_end = listen_for_end()
        began = time.monotonic()
        try:
            for number, act in enumerate(play):
                self._wait(began + act.at_s)
                self._act(number, act, began)
            self._prove()
        except KeyboardInterrupt:
            self._line.clear()
            ids = [each.id for each in engine.active(self._folder)]
            text = tell(self._talk.language, "broken.interrupted", lab=self._folder.name, ids=", ".join(ids) or "-")
            say_aside(text + "\n")
            return 128 + told_to_end[0]
        finally:
            self._line.clear()
        self._finish(len(play))
        return 0

    def _prove(self) -> None:
        """What a scenario heals need not be ready before its next step; when all is over, it has to be."""
        with at_work(self._talk, self._folder, self._line), closing(self._talk.keeper(self._folder)) as keeper:
            hands = Hands(self._folder, keeper)
            if not hands.ledger.struck and hands.ledger.before is not None:
                healed = engine.heal(hands, None, _PROOF_S, self._line.show)
                refuse_unhealed(self._talk, self._folder, healed, _PROOF_S)

    def _wait(self, moment: float) -> None:
        while (left_s := moment - time.monotonic()) > 0:
            self._line.show("waiting", {"seconds": f"{left_s:.0f}"})
            time.sleep(min(_STEP_S, left_s))

    def _act(self, number: int, act: Act, began: float) -> None:
        talk = self._talk
        with at_work(talk, self._folder, self._line), closing(talk.keeper(self._folder)) as keeper:
            hands = Hands(self._folder, keeper)
            if act.orders:
                seed = self._seed if number == 0 else self._seed + number
                struck = engine.strike(hands, act.orders, seed, self._line.show)
                self._ids |= dict(zip(act.steps, (each.id for each in struck), strict=False))
                self._tell_struck(struck, began)
                return
            there = [each.id for each in hands.ledger.struck]
            names = [self._ids[step] for step in act.steps if self._ids.get(step) in there]
            names += [each for each in act.healed if each != "all"]
            wanted = None if "all" in act.healed else names
            if wanted is None or wanted:
                healed = engine.heal(hands, wanted, 0.0, self._line.show, proven_later=True)
                refuse_unhealed(talk, self._folder, healed, 0.0)
                self._tell_healed([each.id for each in healed.struck], began)

    def _tell_struck(self, struck: Sequence[Struck], began: float) -> None:
        self._line.clear()
        for each in struck:
            fault = anything_named(each.fault)
            assert fault
            at_s = round(time.monotonic() - began, 1)
            facts = {"id": each.id, "fault": each.fault, "node": each.node, "decoy": not fault.cause, "at_s": at_s}
            self._told.append({**facts, "cause": fault.cause, "code": fault.code, "seed": each.seed})
            if not self._talk.json:
                sys.stdout.write(self._struck_text(each) + "\n")
        sys.stdout.flush()

    def _struck_text(self, struck: Struck) -> str:
        talk, fault = self._talk, anything_named(struck.fault)
        assert fault
        zh = talk.language == "zh"
        key = "broken" if struck.node else "broken.everywhere"
        summary = fault.summary.zh if zh else fault.summary.en
        text = tell(talk.language, key, fault=struck.fault, node=struck.node, summary=summary)
        shows = tell(talk.language, "broken.shows", shows=fault.shows.zh if zh else fault.shows.en)
        lines = [*wrapped(text, _ROOM, _LINES_MAX), *wrapped(shows, _ROOM, _LINES_MAX)]
        mark = talk.colour(talk.tick(), "good")
        return "\n".join(f" {mark} {line}" if number == 0 else f"   {line}" for number, line in enumerate(lines))

    def _tell_healed(self, ids: Sequence[str], began: float) -> None:
        self._line.clear()
        for each in ids:
            self._told.append({"healed": each, "at_s": round(time.monotonic() - began, 1)})
            if not self._talk.json:
                mark = self._talk.colour(self._talk.tick(), "good")
                sys.stdout.write(f" {mark} {tell(self._talk.language, 'healed.short', fault=each)}\n")
        sys.stdout.flush()

    def _finish(self, count: int) -> None:
        talk, folder = self._talk, self._folder
        ids = [each.id for each in engine.active(folder)]
        if talk.json:
            print_json({"lab": folder.name, "seed": self._seed, "done": self._told, "active": ids})
            return
        if count > 1:
            key = "broken.over" if ids else "broken.over.none"
            for line in wrapped(tell(talk.language, key, ids=", ".join(ids)), _ROOM, _LINES_MAX):
                sys.stdout.write(f"   {line}\n")
        if ids:
            sys.stdout.write(f"   {tell(talk.language, 'broken.heal', lab=folder.name)}\n")
