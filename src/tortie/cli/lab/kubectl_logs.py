"""`tortie lab kubectl logs` and `exec`: what reaches into a pod."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Final, NamedTuple

from tortie.lab.failures import LabFailure
from tortie.lab.kubectl.cluster import is_silent
from tortie.lab.kubectl.finding import NotThere, find
from tortie.lab.kubectl.kinds import NODE, POD, Thing, at, kind_of, name_of, namespace_of, of_kind, pairs_at
from tortie.lab.kubectl.logs import NoLog, chosen_lines, containers_of, defaulted, duration_s, goes_on, wanted_log
from tortie.lab.kubectl.reading import LogFile, log_file
from tortie.lab.kubectl.selectors import by_labels
from tortie.lab.kubectl.tables import label_text
from tortie.lab.kubectl.times import seconds_of

if TYPE_CHECKING:
    from tortie.cli.lab.kubectl import Place

_TAIL_OF_MANY: Final = 10  # lines of each pod that a selector chose
_FOLLOW_S: Final = 0.3
_LOOK_S: Final = 1.0  # at the pods, which costs more
_USAGE: Final = """error: expected 'logs [-f] [-p] (POD | TYPE/NAME) [-c CONTAINER]'.
POD or TYPE/NAME is a required argument for the logs command
See 'kubectl logs -h' for help and examples"""


class _Source(NamedTuple):
    pod: Thing
    container: str
    prefix: str
    log: LogFile

    def write(self, lines: Iterable[str]) -> None:
        for line in lines:
            sys.stdout.write(f"{self.prefix}{line}\n")


def logs(place: Place) -> int:
    request, things = place.request, place.things()
    if len(request.words) > 1 and not request.flag("container"):  # an old form: logs POD CONTAINER
        request = request._replace(flags={**request.flags, "container": request.words[1]})
        place = place._replace(request=request)
    pods = _pods(place, things)
    tail = _number(request.flag("tail"), -1 if not request.flag("selector") else _TAIL_OF_MANY)
    since = _since(request.flag("since"), request.flag("since-time"))
    sources = [source for pod in pods for source in _sources(place, pod, things)]
    timestamps, follows = request.has("timestamps"), request.has("follow")
    with ExitStack() as open_ones:
        for source in sources:
            open_ones.callback(source.log.close)
            lines = source.log.lines(whole=follows)
            source.write(chosen_lines(lines, tail=tail, since=since, timestamps=timestamps))
        sys.stdout.flush()
        if follows:
            _follow(place, sources, timestamps=timestamps)
    return 0


def _follow(place: Place, sources: list[_Source], *, timestamps: bool) -> None:
    """Until the containers have ended, or somebody ends it. What they said last is told, too."""
    if place.request.has("previous"):
        sources = [source._replace(pod={}) for source in sources]
    look_next = 0.0
    while sources:
        ended: list[_Source] = []
        if time.monotonic() >= look_next:
            now = _pods_now(place)
            look_next = time.monotonic() + _LOOK_S
            if now is not None:
                ended = [each for each in sources if not goes_on(each.pod, now.get(_key(each.pod)), each.container)]
                sources = [each._replace(pod=now[_key(each.pod)]) for each in sources if each not in ended]
        for source in (*sources, *ended):
            source.write(chosen_lines(source.log.lines(whole=source not in ended), timestamps=timestamps))
        sys.stdout.flush()
        if sources:
            time.sleep(_FOLLOW_S)


def _pods_now(place: Place) -> dict[tuple[str, str], Thing] | None:
    """Not one of a lab that has gone; None when nobody says, as while a keeper is busy."""
    try:
        return {_key(pod): pod for pod in of_kind(place.things(), POD)}
    except LabFailure as failure:
        if failure.key == "keeper-silent":
            return None
        if failure.key != "taken-down":
            raise
        return {}


def _key(pod: Thing) -> tuple[str, str]:
    return namespace_of(pod), name_of(pod)


def _pods(place: Place, things: Sequence[Thing]) -> list[Thing]:
    """By name, by what owns them, or by their labels."""
    request = place.request
    if request.flag("selector"):
        found = [*find(request, (POD.plural,), things).things]
        if not found:
            raise NotThere(f"No resources found in {request.namespace} namespace.")
        return found
    if not request.words:
        raise NotThere(_USAGE)
    word = request.words[0]
    type_word, slash, name = word.partition("/")
    kind = kind_of(type_word) if slash else POD
    if kind is None:
        raise NotThere(f'error: the server doesn\'t have a resource type "{type_word}"')
    found = [*find(request, (kind.plural, name if slash else word), things).things]
    if not found:
        raise NotThere(f'Error from server (NotFound): {kind.plural_title} "{name if slash else word}" not found')
    if kind == POD:
        return found
    return [_of_owner(found[0], things)]


def _of_owner(owner: Thing, things: Sequence[Thing]) -> Thing:
    selector = label_text(pairs_at(owner, "spec", "selector", "matchLabels"))
    pods = [pod for pod in of_kind(things, POD) if by_labels(selector)(pod)]
    if not pods:
        raise NotThere("error: timed out waiting for the condition")
    if len(pods) > 1:
        sys.stderr.write(f"Found {len(pods)} pods, using pod/{name_of(pods[0])}\n")
    return pods[0]


def _sources(place: Place, pod: Thing, things: Sequence[Thing]) -> Iterator[_Source]:
    request = place.request
    _reach(place, pod, things)
    chosen = request.flag("container")
    everything = request.has("all-containers")
    names = containers_of(pod) if everything else [chosen]
    if not chosen and not everything and (told := defaulted(pod)):
        sys.stderr.write(f"{told}\n")
    for name in names:
        log = wanted_log(pod, name, previous=request.has("previous"))
        path = log_file(place.folder, pod, log.container, log.attempt)
        prefix = f"[pod/{name_of(pod)}/{log.container}] " if request.has("prefix") else ""
        yield _Source(pod, log.container, prefix, LogFile(path))


def _reach(place: Place, pod: Thing, things: Sequence[Thing], what: str = "containerLogs") -> None:
    """Logs and commands go through the kubelet; where there is none the machine refuses, if there is a machine."""
    node = next((each for each in of_kind(things, NODE) if name_of(each) == at(pod, "spec", "nodeName")), None)
    if node is None or not is_silent(node):
        return
    address = at(pod, "status", "hostIP")
    refused = f"dial tcp {address}:10250: connect: {_why_silent(place, name_of(node))}"
    if what == "exec":
        raise NoLog(f"Error from server: error dialing backend: {refused}")
    path = f"{what}/{namespace_of(pod)}/{name_of(pod)}/{containers_of(pod)[0]}"
    raise NoLog(f'Error from server: Get "https://{address}:10250/{path}": {refused}')


def _why_silent(place: Place, node: str) -> str:
    """A kubelet that runs and is not heard is cut off; one that does not is missed by a machine that is still there."""
    machines: list[Thing] = place.keeper.ask("status")["machines"]
    machine = next((each for each in machines if each["name"] == node), {})
    kubelet = (machine.get("units") or {}).get("kubelet") or {}
    return "no route to host" if machine.get("halted") or kubelet.get("running") else "connection refused"


def _number(text: str, otherwise: int) -> int:
    if not text:
        return otherwise
    if not text.removeprefix("-").isdigit():
        raise NoLog(
            f'error: invalid argument "{text}" for "--tail" flag: strconv.ParseInt: parsing "{text}": invalid syntax'
        )
    return int(text)


def _since(text: str, when: str) -> float | None:
    if when:
        return seconds_of(when)
    if not text:
        return None
    ago = duration_s(text)
    if ago is None:
        raise NoLog(f'error: invalid argument "{text}" for "--since" flag: time: invalid duration "{text}"')
    return time.time() - ago


def execute(place: Place) -> int:
    """On the node of a pod that shares its network; in a pod of `tortie lab pod run`, in that."""
    from tortie.cli.lab.inside import execute as execute_on
    from tortie.cli.lab.inside import execute_in_pod
    from tortie.lab.kubectl.changing import is_made

    request, things = place.request, place.things()
    words = request.words
    command = request.command or tuple(words[1:])
    if not words or not command:
        raise NotThere("error: you must specify at least one command for the container")
    named = request._replace(words=words[:1], flags={**request.flags, "selector": ""})
    pod = _pods(place._replace(request=named), things)[0]
    _reach(place, pod, things, "exec")
    if not request.flag("container") and (told := defaulted(pod)):
        sys.stderr.write(f"{told}\n")
    speech = {"name": place.name, "lang": place.lang, "output": "text", "color": "never"}
    if is_made(pod):
        return execute_in_pod(**speech, pod=name_of(pod), namespace=namespace_of(pod), command=command)  # type: ignore[arg-type]
    return execute_on(**speech, machine=str(at(pod, "spec", "nodeName")), command=command)  # type: ignore[arg-type]
