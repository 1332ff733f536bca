"""`tortie lab kubectl ...`: what kubectl would say of the lab, and a few things that it would change.

Its texts are kubectl's own, and go to the same streams; what a lab cannot do is said in our words, in both languages.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from typing import Any, Final, NamedTuple

from tortie.cli.lab.talk import Talk, spoken
from tortie.lab.client import KeeperClient
from tortie.lab.failures import LabFailure
from tortie.lab.kubectl.finding import NotThere, targets_of
from tortie.lab.kubectl.kinds import KINDS, NODE, Thing, at, kind_of, of_kind
from tortie.lab.kubectl.logs import NoLog
from tortie.lab.kubectl.patching import BadChange
from tortie.lab.kubectl.printing import Outcome, Paths, describe, events, get
from tortie.lab.kubectl.reading import read_cluster
from tortie.lab.kubectl.selectors import BadSelector
from tortie.lab.kubectl.words import BadWords, Request, request_of
from tortie.lab.registry import LabFolder

_KUBECTL_SAYS: Final = (BadWords, NotThere, BadSelector, BadChange, NoLog)
_KUSTOMIZE: Final = "v5.4.2"
_CHANGES: Final = (
    "delete",
    "set",
    "patch",
    "rollout",
    "annotate",
    "label",
    "cordon",
    "uncordon",
    "drain",
)
_VERBS: Final = ("get", "describe", "events", "logs", "exec", "version", "api-resources", *_CHANGES)


class Place(NamedTuple):
    """What a verb works with."""

    talk: Talk
    name: str | None
    lang: str | None
    folder: LabFolder
    keeper: KeeperClient
    request: Request

    def things(self) -> list[Thing]:
        return read_cluster(self.folder, self.keeper, time.time())


def kubectl(*, name: str | None, lang: str | None, words: tuple[str, ...]) -> int:
    name = name or os.environ.get("TORTIE_LAB") or None
    words = words[1:] if words[:1] == ("--",) else words

    def work(talk: Talk) -> int:
        try:
            request = request_of(words)
            if request.verb not in _VERBS:
                _refuse(request)
            folder = talk.folder()
            with closing(talk.keeper(folder)) as keeper:
                return _done(Place(talk, name, lang, folder, keeper, request))
        except _KUBECTL_SAYS as error:
            sys.stdout.flush()
            sys.stderr.write(f"{error}\n")
            return 1

    return spoken(work, name=name, lang=lang, output="text", color="never", forms=("text",))


def _refuse(request: Request) -> None:
    if request.verb == "edit":
        fix = "kubectl patch ds calico-node -p '…'; kubectl set env ds/calico-node NAME=value"
        raise LabFailure("kubectl-use", words="edit", fix=fix)
    if request.verb == "top":
        raise NotThere("error: Metrics API not available")
    raise LabFailure("kubectl-verb", verb=request.verb, verbs=_wrapped(_VERBS))


def _done(place: Place) -> int:
    request = place.request
    if request.has("watch") or request.has("watch-only"):
        raise LabFailure(
            "kubectl-use", words=f"{request.verb} --watch", fix=f"watch -n1 tortie lab kubectl {request.verb} …"
        )
    _known_kinds(request)
    if request.verb in _CHANGES:
        from tortie.cli.lab.kubectl_changes import change

        return change(place)
    if request.verb == "logs":
        from tortie.cli.lab.kubectl_logs import logs

        return logs(place)
    if request.verb == "exec":
        from tortie.cli.lab.kubectl_logs import execute

        return execute(place)
    return tell(_READ[request.verb](request, place.things(), time.time()))


def _known_kinds(request: Request) -> None:
    """Before anything is read: a kind that no lab has."""
    if request.verb not in ("get", "describe", "delete", "patch", "annotate", "label") or not request.words:
        return
    first = request.words[0].partition("/")[0]
    for word in first.split(","):
        if word != "all" and kind_of(word) is None:
            raise LabFailure("kubectl-kind", kind=word, kinds=_wrapped(kind.plural for kind in KINDS))
    targets_of(request.words)


def _wrapped(words: Iterable[str]) -> str:
    import textwrap

    return textwrap.fill(", ".join(words), 68, break_on_hyphens=False)


def tell(outcome: Outcome) -> int:
    sys.stdout.write(outcome.out)
    sys.stdout.flush()
    sys.stderr.write(outcome.errors)
    return outcome.code


def _get(request: Request, things: Sequence[Thing], now: float) -> Outcome:
    return get(request, things, now, Paths(_render, find_path))


def _render(template: str, document: Any) -> str:
    from tortie.cli.jsonpath import compile_template

    return compile_template(template).render(document)


def find_path(path: str, document: Any) -> list[Any]:
    """What one path finds. It may stand in braces, and begin with or without a dot."""
    from tortie.cli.jsonpath import compile_template
    from tortie.cli.jsonpath.template import Path

    bare = path.strip()
    inner = bare[1:-1] if bare.startswith("{") and bare.endswith("}") else bare
    inner = inner if inner.startswith((".", "[", "$")) else f".{inner}"
    found: list[Any] = []
    for piece in compile_template(f"{{{inner}}}").pieces:
        if isinstance(piece, Path):
            found += piece.find(document, document)
    return found


def _version(_request: Request, things: Sequence[Thing], _now: float) -> Outcome:
    versions = [at(node, "status", "nodeInfo", "kubeletVersion") for node in of_kind(things, NODE)]
    version = next((str(each) for each in versions if each), "v1.31.4")
    return Outcome(f"Client Version: {version}\nKustomize Version: {_KUSTOMIZE}\nServer Version: {version}\n")


def _api_resources(_request: Request, _things: Sequence[Thing], _now: float) -> Outcome:
    from tortie.lab.kubectl.tabs import table

    heads = [["NAME", "SHORTNAMES", "APIVERSION", "NAMESPACED", "KIND"]]
    rows = [
        [kind.plural, ",".join(kind.shorts), kind.api_version, str(kind.namespaced).lower(), kind.name]
        for kind in sorted(KINDS, key=lambda kind: (kind.group, kind.plural))
    ]
    return Outcome(table(heads + rows))


_READ: Final[dict[str, Callable[[Request, Sequence[Thing], float], Outcome]]] = {
    "get": _get,
    "describe": describe,
    "events": events,
    "version": _version,
    "api-resources": _api_resources,
}
