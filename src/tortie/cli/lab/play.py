"""`tortie lab play`: an incident, performed in a lab of its own and narrated, with commands that anybody can type."""

from __future__ import annotations

import errno
import os
import sys
import time
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from tortie.cli.lab.cast import Cast
from tortie.cli.lab.stage import Stage
from tortie.cli.lab.talk import Talk, print_json, say_aside, spoken
from tortie.cli.lab.up import listen_for_end
from tortie.host.files import refuse_unwritable
from tortie.lab.failures import LabFailure
from tortie.lab.faults.catalogue import fault_named
from tortie.lab.faults.fault import Fault
from tortie.lab.plays.catalogue import PLAYS, play_named
from tortie.lab.plays.course import course
from tortie.lab.plays.play import Play
from tortie.lab.registry import DEFAULT_NAME, lab_folder
from tortie.model.errors import TortieError
from tortie.model.kinds import nearest

_FORMS: Final = ("text", "json")
_UNHEALTHY: Final = 3


class _Performed(NamedTuple):
    acts: list[dict[str, Any]]
    as_told: bool
    seconds: float


def play(
    *,
    name: str | None,
    lang: str | None,
    output: str,
    color: str,
    play: str | None,
    keep: bool,
    record: str | None,
) -> int:
    def work(talk: Talk) -> int:
        if play is None:
            return _list(talk)
        found = play_named(play)
        if found is None:
            near = nearest(play, [each.name for each in PLAYS])
            raise LabFailure("unknown-play", play=play, near=near or PLAYS[0].name)
        if record is not None:
            _with_place(refuse_unwritable, record, "no-place-for-cast")
        return _told(talk, found, _free_name(talk, name, found), keep, record)

    return spoken(work, name=name, lang=lang, output=output, color=color, forms=_FORMS)


def _list(talk: Talk) -> int:
    if talk.json:
        told = [
            {
                "name": each.name,
                "title": each.title.en,
                "flags": each.flags,
                "node": each.node,
                "spared": bool(each.own_flags),
            }
            for each in PLAYS
        ]
        print_json({"plays": told})
        return 0
    width = max(len(each.name) for each in PLAYS)
    for each in PLAYS:
        sys.stdout.write(f"{each.name:<{width}}  {talk.pick(each.title)}\n")
    return 0


def _free_name(talk: Talk, name: str | None, play: Play) -> str:
    """The usual name where it is free: nobody who types the same commands has to say then which lab is meant."""
    for each in (name,) if name else (DEFAULT_NAME, f"play-{play.name}"):
        if not os.path.exists(lab_folder(talk.labs, each).path):
            return each
    raise LabFailure("play-busy", name=name or f"play-{play.name}")


def _told(talk: Talk, play: Play, lab: str, keep: bool, record: str | None) -> int:
    fault = fault_named(play.name)
    assert fault
    cast = Cast(talk.pick(play.title)) if record is not None else None
    stage = Stage(talk, lab, play.node, cast)
    told_to_end = listen_for_end()
    try:
        try:
            done = _perform(talk, play, fault, stage)
        finally:
            if not keep:
                stage.clear()
    except KeyboardInterrupt:
        say_aside("\n" + talk.say("play.interrupted.kept" if keep else "play.interrupted", name=lab) + "\n")
        return 128 + told_to_end[0]
    if talk.json:
        print_json(
            {
                "play": play.name,
                "cause": fault.cause,
                "code": fault.code,
                "lab": lab,
                "as_told": done.as_told,
                "seconds": round(done.seconds, 1),
                "acts": done.acts,
            }
        )
    key = "play.end" if done.as_told else "play.failed"
    stage.end(talk.say(f"{key}.kept" if keep else key, seconds=f"{done.seconds:.0f}", name=lab))
    if cast and record:
        _with_place(cast.write, record, "unwritable-cast")
    return 0 if done.as_told else _UNHEALTHY


def _perform(talk: Talk, play: Play, fault: Fault, stage: Stage) -> _Performed:
    began = time.monotonic()
    acts: list[dict[str, Any]] = []
    as_told = True
    stage.headline(talk.pick(play.title))
    stage.tell(talk.pick(play.story))
    for number, act in enumerate(course(play, fault), 1):
        stage.heading(number, talk.pick(act.title))
        stage.tell(talk.pick(act.says))
        typed = []
        for show in act.shows:
            typed.append(stage.type(show))
            if not typed[-1].as_told:
                break
        as_told = all(each.as_told for each in typed)
        acts.append({"title": act.title.en, "commands": [each.as_json() for each in typed]})
        if not as_told:
            stage.tell(talk.say("play.otherwise"))
            break
        if act.look:
            stage.tell(talk.pick(act.look))
    return _Performed(acts, as_told, time.monotonic() - began)


def _with_place(work: Callable[[str], None], path: str, otherwise: str) -> None:
    if os.path.isdir(os.path.realpath(path)):
        raise LabFailure(otherwise, path=path or "''", reason=os.strerror(errno.EISDIR))
    try:
        work(path)
    except TortieError as error:
        raise LabFailure(otherwise, path=path, reason=error.why) from None
