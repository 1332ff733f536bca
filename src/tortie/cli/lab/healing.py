"""`tortie lab heal`: undoes what was broken, proves it, and waits until the lab is as ready as before."""

from __future__ import annotations

import sys
import time
from contextlib import closing
from typing import Final

from tortie.cli.lab.fault_progress import Line, at_work, refuse_unhealed
from tortie.cli.lab.talk import Talk, print_json, say_aside, seconds_of, spoken
from tortie.cli.lab.up import listen_for_end
from tortie.lab.faults import engine
from tortie.lab.faults.hands import Hands
from tortie.lab.faults.words import tell
from tortie.lab.registry import LabFolder
from tortie.model.measure import wrapped

_FORMS: Final = ("text", "json")
_ROOM, _LINES_MAX = 76, 12
_FAILED: Final = 1
_UNHEALTHY: Final = 3


def heal(*, name: str | None, lang: str | None, output: str, color: str, faults: tuple[str, ...], timeout: str) -> int:
    def work(talk: Talk) -> int:
        timeout_s = seconds_of("--timeout", timeout)
        folder, line = talk.folder(), Line(talk)
        began = time.monotonic()
        told_to_end = listen_for_end()
        try:
            with at_work(talk, folder, line), closing(talk.keeper(folder)) as keeper:
                hands = Hands(folder, keeper)
                healed = engine.heal(hands, list(faults) or None, timeout_s, line.show)
                machines = len(hands.plan.machines)
        except KeyboardInterrupt:
            line.clear()
            ids = ", ".join(each.id for each in engine.active(folder))
            say_aside(tell(talk.language, "broken.interrupted", lab=folder.name, ids=ids or "-") + "\n")
            return 128 + told_to_end[0]
        finally:
            line.clear()
        seconds = time.monotonic() - began
        if talk.json:
            return _tell_json(folder, healed, seconds)
        _tell(talk, folder, healed, machines, seconds)
        return 0

    return spoken(work, name=name, lang=lang, output=output, color=color, forms=_FORMS)


def _tell_json(folder: LabFolder, healed: engine.Healed, seconds: float) -> int:
    print_json(
        {
            "lab": folder.name,
            "healed": [each.id for each in healed.struck],
            "already": list(healed.already),
            "deeds": dict(healed.deeds),
            "remains": [str(each) for each in healed.remains],
            "unready": list(healed.unready),
            "active": [each.id for each in engine.active(folder)],
            "seconds": round(seconds, 1),
        }
    )
    return _FAILED if healed.remains else _UNHEALTHY if healed.unready else 0


def _tell(talk: Talk, folder: LabFolder, healed: engine.Healed, machines: int, seconds: float) -> None:
    if not healed.struck:
        sys.stdout.write(tell(talk.language, "healed.nothing", lab=folder.name) + "\n")
    mark = talk.colour(talk.tick(), "good")
    for each in healed.struck:
        if each.id in healed.already:
            sys.stdout.write(f" {mark} {tell(talk.language, 'healed.already', fault=each.id)}\n")
        elif not any(step.begun for step in each.steps):
            count = healed.deeds.get(each.id, 0)
            key = "healed.deeds.one" if count == 1 else "healed.deeds.many"
            deeds = tell(talk.language, key, count=count)
            sys.stdout.write(f" {mark} {tell(talk.language, 'healed', fault=each.id, deeds=deeds)}\n")
    sys.stdout.flush()
    refuse_unhealed(talk, folder, healed, seconds)
    others = ", ".join(each.id for each in engine.active(folder))
    if others:
        for part in wrapped(tell(talk.language, "healed.others", ids=others), _ROOM, _LINES_MAX):
            sys.stdout.write(f"   {part}\n")
    elif healed.struck:
        text = tell(talk.language, "healed.proven", machines=machines, seconds=f"{seconds:.1f}")
        sys.stdout.write(f" {mark} {text}\n")
