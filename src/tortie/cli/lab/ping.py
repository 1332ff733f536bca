"""`tortie lab ping`: whether all pods reach each other."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from typing import Any, Final

from tortie.cli.lab.status import table
from tortie.cli.lab.talk import Talk, number_of, print_json, seconds_of, spoken
from tortie.host.namespaces import enter
from tortie.lab.client import KeeperClient
from tortie.lab.failures import LabFailure
from tortie.lab.pairs import End, Reached, failing, families, rows, wanted_pairs
from tortie.lab.pods import PodName, pod_name

_FORMS: Final = ("text", "json")
_UNHEALTHY: Final = 3
_SHOWN_MAX: Final = 10
_ROUNDS_MAX: Final = 10_000


def ping(
    *, name: str | None, lang: str | None, output: str, color: str, pods: Sequence[str], count: str, timeout: str
) -> int:
    def work(talk: Talk) -> int:
        rounds, timeout_s = _rounds(count), seconds_of("--timeout", timeout)
        folder = talk.folder()
        with closing(talk.keeper(folder)) as keeper:
            there = keeper.ask("pods")["pods"]
            chosen = _chosen(folder.name, pods, there)
            pairs = wanted_pairs(_ends(there), chosen)
            if not pairs:
                with_address = sum(bool(each["addresses"]) for each in there)
                raise LabFailure("no-pods", lab=folder.name, count=with_address)
            doors = _doors(keeper, {source.name for source, _ in pairs})
        began = time.monotonic()
        from tortie.lab.probing import probe

        reached = probe(pairs, doors, count=rounds, timeout_s=timeout_s)
        seconds = time.monotonic() - began
        if talk.json:
            print_json({"pairs": [each.as_json() for each in reached], "seconds": round(seconds, 3)})
        else:
            sys.stdout.write(_text(talk, reached, seconds))
        lost = list(failing(reached))
        if lost and not talk.json:
            raise _pairs_fail(talk, folder.name, reached, lost, timeout)
        return _UNHEALTHY if lost else 0

    return spoken(work, name=name, lang=lang, output=output, color=color, forms=_FORMS)


def _rounds(text: str) -> int:
    rounds = number_of("--count", text)
    if not 0 < rounds <= _ROUNDS_MAX:
        raise LabFailure("bad-number", flag="--count", text=text, example="--count 3")
    return rounds


def _chosen(lab: str, names: Sequence[str], there: Sequence[dict[str, Any]]) -> list[str]:
    known = [_label(each) for each in there]
    chosen = [pod_name(text).label for text in names]
    for label in chosen:
        if label not in known:
            shown = ", ".join(known[:_SHOWN_MAX]) + (", …" if len(known) > _SHOWN_MAX else "")
            raise LabFailure("unknown-pod", lab=lab, pod=label, pods=shown or "-")
    return list(dict.fromkeys(chosen))


def _label(told: dict[str, Any]) -> str:
    return PodName(told["namespace"], told["name"]).label


def _ends(there: Sequence[dict[str, Any]]) -> list[End]:
    return [End(_label(each), each["node"], address) for each in there for address in each["addresses"]]


def _doors(keeper: KeeperClient, labels: set[str]) -> dict[str, int]:
    """Descriptors of networks by pod; this process is then where it may enter them."""
    found: dict[str, int] = {}
    entered = False
    for label in sorted(labels):
        told, descriptors = keeper.way_into_pod(label)
        for kind, descriptor in zip(told["namespaces"], descriptors, strict=True):
            if kind == "net":
                found[label] = descriptor
                continue
            if kind == "user" and not entered:
                enter({"user": descriptor})
                entered = True
            os.close(descriptor)
    return found


def _text(talk: Talk, reached: Sequence[Reached], seconds: float) -> str:
    def good(text: str) -> str:
        return f"{talk.colour(talk.tick(), 'good')} {text}"

    def bad(text: str) -> str:
        return f"{talk.colour(talk.cross(), 'bad')} {text}".rstrip()

    tables = []
    there = families(reached)
    for family in there:
        corner = talk.say("ping.from") + (f" IPv{family}" if len(there) > 1 else "")
        heads, *body = rows([each for each in reached if each.target.family == family], corner, good, bad)
        tables.append(table(heads, body))
    fine = sum(each.ok for each in reached)
    told = talk.say("ping.all", up=fine, expected=len(reached))
    line = good(told) if fine == len(reached) else bad(told)
    return "\n".join(tables) + f"\n {line}   {talk.say('up.seconds', seconds=f'{seconds:.1f}')}\n"


def _pairs_fail(talk: Talk, lab: str, reached: Sequence[Reached], lost: Sequence[Reached], timeout: str) -> LabFailure:
    def line(each: Reached) -> str:
        why = each.why or talk.say("ping.silent", time=timeout)
        return talk.say(
            "ping.failed",
            source=each.source.name,
            from_node=each.source.node,
            target=each.target.name,
            to_node=each.target.node,
            address=each.target.address,
            why=why,
        )

    lines = [line(each) for each in lost[:_SHOWN_MAX]]
    if len(lost) > _SHOWN_MAX:
        lines.append(talk.say("up.missing.more", more=len(lost) - _SHOWN_MAX))
    told = {"failed": len(lost), "count": len(reached), "name": lab, "node": lost[0].source.node}
    return LabFailure("pairs-fail", reasons="\n".join(lines), **told)
