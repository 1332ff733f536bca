"""`tortie lab pod run`, `list` and `delete`."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any, Final

from tortie.cli.lab.progress import short_list
from tortie.cli.lab.status import age, table
from tortie.cli.lab.talk import Talk, number_of, print_json, say_aside, seconds_of, spoken
from tortie.lab.failures import LabFailure
from tortie.lab.pods import COUNT_MAX, PodName, Wanted, counted_names, pod_name
from tortie.model.measure import plain

_FORMS: Final = ("text", "json")
_FAILED: Final = 1
_GRACE_S: Final = 60.0  # beyond the time that pods are given: what failed has to be taken back
_EACH_MAX: Final = 4  # pods that are named one by one
_SHOWN_MAX: Final = 5


def run(
    *,
    name: str | None,
    lang: str | None,
    output: str,
    color: str,
    pods: Sequence[str],
    node: str | None,
    namespace: str,
    count: str | None,
    timeout: str,
) -> int:
    def work(talk: Talk) -> int:
        timeout_s = seconds_of("--timeout", timeout)
        names = counted_names(pods, None if count is None else _count(count))
        wanted = [Wanted(pod_name(text, namespace), node or "") for text in dict.fromkeys(names)]
        folder, began = talk.folder(), time.monotonic()
        with closing(talk.keeper(folder)) as keeper:
            done = keeper.ask(
                "pod-run",
                deadline=began + timeout_s + _GRACE_S,
                on_progress=_waiting(talk),
                pods=[each.as_json() for each in wanted],
                timeout_s=timeout_s,
            )
        seconds = time.monotonic() - began
        if talk.json:
            print_json({**done, "seconds": round(seconds, 3)})
            return _FAILED if done["failed"] else 0
        text = _made(talk, done["pods"], done["already"])
        if text:
            sys.stdout.write(f"{text}   {talk.say('up.seconds', seconds=f'{seconds:.1f}')}\n")
        _raise_failed(talk, "pods-failed", done["failed"], len(wanted), folder.name, timeout_s)
        return 0

    return spoken(work, name=name, lang=lang, output=output, color=color, forms=_FORMS)


def _waiting(talk: Talk) -> Callable[[dict[str, Any]], None]:
    """Tells somebody at a terminal, once for each reason."""
    said: set[str] = set()

    def tell(told: dict[str, Any]) -> None:
        why = plain(str(told.get("why", "")))
        if sys.stderr.isatty() and not talk.json and why not in said:
            said.add(why)
            say_aside(talk.say("pod.waiting", names=short_list(talk, told.get("waiting", ())), why=why) + "\n")

    return tell


def _count(text: str) -> int:
    count = number_of("--count", text)
    if not 0 < count <= COUNT_MAX:
        raise LabFailure("bad-number", flag="--count", text=text, example="--count 3")
    return count


def _made(talk: Talk, made: Sequence[dict[str, Any]], already: Sequence[dict[str, Any]]) -> str:
    parts = []
    if 0 < len(made) <= _EACH_MAX:
        parts += [
            talk.say("pod.made", name=_label(pod), node=pod["node"], addresses=" ".join(pod["addresses"]))
            for pod in made
        ]
    elif made:
        parts.append(talk.say("pod.made.many", count=len(made), nodes=len({pod["node"] for pod in made})))
    if already:
        parts.append(talk.say("pod.already", names=short_list(talk, map(_label, already))))
    mark = talk.colour(talk.tick(), "good")
    return " " + "  ".join(f"{mark} {part}" for part in parts) if parts else ""


def _raise_failed(
    talk: Talk, key: str, failed: Sequence[dict[str, Any]], count: int, lab: str, timeout_s: float
) -> None:
    if not failed:
        return
    lines = [talk.say("pod.failed", name=_label(pod), node=pod["node"], why=_why(pod)) for pod in failed[:_SHOWN_MAX]]
    if len(failed) > _SHOWN_MAX:
        lines.append(talk.say("up.missing.more", more=len(failed) - _SHOWN_MAX))
    told = {"failed": len(failed), "count": count, "seconds": f"{timeout_s:g}", "name": lab, "node": failed[0]["node"]}
    raise LabFailure(key, reasons="\n".join(lines), **told)


def _why(pod: dict[str, Any]) -> str:
    """In the plugin's own words."""
    why = plain(str(pod["why"]))
    return f"{pod['plugin']} ({pod['code']}): {why}" if pod["plugin"] else why


def _label(pod: dict[str, Any]) -> str:
    return PodName(pod["namespace"], pod["name"]).label


def list_pods(*, name: str | None, lang: str | None, output: str, color: str) -> int:
    def work(talk: Talk) -> int:
        with closing(talk.keeper(talk.folder())) as keeper:
            pods = keeper.ask("pods")["pods"]
        if talk.json:
            print_json({"pods": pods})
        elif not pods:
            sys.stdout.write(talk.say("pod.none") + "\n")
        else:
            heads = [talk.say(f"head.{head}") for head in ("name", "node", "address", "interface", "age")]
            sys.stdout.write(table(heads, [_row(talk, pod) for pod in pods]))
        return 0

    return spoken(work, name=name, lang=lang, output=output, color=color, forms=_FORMS)


def _row(talk: Talk, pod: dict[str, Any]) -> list[str]:
    addresses = ", ".join(pod["addresses"]) or pod["state"]
    return [_label(pod), pod["node"], addresses, plain(pod["interface"]) or "-", age(talk, pod["age_s"])]


def delete(
    *,
    name: str | None,
    lang: str | None,
    output: str,
    color: str,
    pods: Sequence[str],
    namespace: str,
    everything: bool,
    timeout: str,
) -> int:
    def work(talk: Talk) -> int:
        if bool(pods) == everything:
            raise LabFailure("names-or-all")
        timeout_s = seconds_of("--timeout", timeout)
        wanted = [Wanted(pod_name(text, namespace)).as_json() for text in dict.fromkeys(pods)]
        folder, began = talk.folder(), time.monotonic()
        with closing(talk.keeper(folder)) as keeper:
            done = keeper.ask(
                "pod-delete",
                deadline=began + timeout_s + _GRACE_S,
                pods=None if everything else wanted,
                timeout_s=timeout_s,
            )
        if talk.json:
            print_json(done)
            return _FAILED if done["failed"] else 0
        if done["deleted"]:
            sys.stdout.write(talk.say("pod.deleted", names=short_list(talk, map(_label, done["deleted"]))) + "\n")
        elif not done["failed"]:
            sys.stdout.write(talk.say("pod.none") + "\n")
        count = len(done["deleted"]) + len(done["failed"])
        _raise_failed(talk, "pods-stay", done["failed"], count, folder.name, timeout_s)
        return 0

    return spoken(work, name=name, lang=lang, output=output, color=color, forms=_FORMS)
