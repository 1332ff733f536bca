"""From the words after a verb to objects: `pods`, `pod a b`, `pod/a ds/calico-node`, `ds,deploy`, `all`. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tortie.lab.kubectl.kinds import ALL, Kind, Thing, kind_of, name_of, namespace_of, of_kind
from tortie.lab.kubectl.selectors import by_fields, by_labels
from tortie.lab.kubectl.words import Request


class NotThere(ValueError):
    """In the words of kubectl."""


class Target(NamedTuple):
    kind: Kind
    names: tuple[str, ...] = ()  # none: all of them


class Found(NamedTuple):
    targets: tuple[Target, ...]
    things: tuple[Thing, ...]
    missing: tuple[str, ...] = ()  # what kubectl says of each name that there is not

    @property
    def single(self) -> bool:
        """Whether one object was asked for by its name."""
        return len(self.targets) == 1 and len(self.targets[0].names) == 1

    @property
    def named(self) -> bool:
        return any(target.names for target in self.targets)


def targets_of(words: Sequence[str]) -> tuple[Target, ...]:
    if not words:
        raise NotThere("error: Required resource not specified.")
    if "/" in words[0]:
        named: dict[Kind, list[str]] = {}
        for word in words:
            type_word, slash, name = word.partition("/")
            if not slash or not name:
                raise NotThere(
                    "error: there is no need to specify a resource type as a separate argument when passing arguments "
                    "in resource/name form (e.g. 'kubectl get resource/<resource_name>' instead of 'kubectl get "
                    "resource resource/<resource_name>'"
                )
            named.setdefault(_known(type_word), []).append(name)
        return tuple(Target(kind, tuple(names)) for kind, names in named.items())
    kinds: list[Kind] = []
    for type_word in words[0].split(","):
        kinds += ALL if type_word == "all" else (_known(type_word),)
    return tuple(Target(kind, tuple(words[1:])) for kind in dict.fromkeys(kinds))


def _known(word: str) -> Kind:
    kind = kind_of(word)
    if kind is None:
        raise NotThere(f'error: the server doesn\'t have a resource type "{word}"')
    return kind


def find(request: Request, words: Sequence[str], things: Sequence[Thing]) -> Found:
    targets = targets_of(words)
    labels, fields = request.flag("selector"), request.flag("field-selector")
    if (labels or fields) and any(target.names for target in targets):
        raise NotThere("error: name cannot be provided when a selector is specified")
    found: list[Thing] = []
    missing: list[str] = []
    for target in targets:
        everywhere = of_kind(things, target.kind)
        here = _in_namespace(everywhere, target.kind, request.namespace)
        if target.names:
            for name in target.names:
                named = [thing for thing in here if name_of(thing) == name]
                if not named and request.anywhere:
                    named = [thing for thing in everywhere if name_of(thing) == name]
                found += named
                if not named:
                    missing.append(not_found(target.kind, name))
            continue
        chosen = here
        if labels:
            chosen = [thing for thing in chosen if by_labels(labels)(thing)]
        if fields:
            chosen = [thing for thing in chosen if by_fields(fields, target.kind)(thing)]
        found += chosen
    return Found(targets, tuple(found), tuple(missing))


def _in_namespace(things: Sequence[Thing], kind: Kind, namespace: str) -> list[Thing]:
    if not kind.namespaced or not namespace:
        return list(things)
    return [thing for thing in things if namespace_of(thing) == namespace]


def not_found(kind: Kind, name: str) -> str:
    return f'Error from server (NotFound): {kind.plural_title} "{name}" not found'


def nothing_found(targets: Sequence[Target], namespace: str) -> str:
    if any(target.kind.namespaced for target in targets) and namespace:
        return f"No resources found in {namespace} namespace."
    return "No resources found"
