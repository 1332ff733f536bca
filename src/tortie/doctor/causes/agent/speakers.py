"""Whose words a line is: Calico's, or those of another program that was pasted beside it. Pure."""

from __future__ import annotations

import re
from typing import Final

from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Event, Pod
from tortie.doctor.picture.picture import Picture, remembered
from tortie.doctor.reading.exhibit import Place
from tortie.doctor.signs import Hit

OURS: Final = ("calico", "canal", "tigera", "typha", "felix", "bird", "confd", "tortie")
# Commands that show one object, named on the command line.
_OF_ONE: Final = lazily(r"\b(?:kubectl|oc|k)\b.{0,200}?\s(?:logs?|describe|exec|attach)\s", re.I)
_NOT_NAMED: Final = lazily(r"[$<`]|\bnodes?\b|-l\s|--selector")  # a variable, a hole, a label: anybody's
_NAMESPACE: Final = lazily(r"\bnetns exec\b|\bnsenter\b(?!.*-t ?1\b)")
_EXEC: Final = lazily(r"\b(?:kubectl|oc|docker|crictl|nerdctl)\b.{0,200}?\sexec\s")


def is_ours(text: str) -> bool:
    low = text.lower()
    return any(word in low for word in OURS)


def of_another(picture: Picture, hit: Hit) -> bool:
    """The line is shown to be another program's. A line of which nothing is known may be Calico's."""
    if is_ours(hit.line):
        return False
    owner = _owners(picture).get((hit.place.source, hit.place.first), "")
    if owner:
        return not is_ours(owner)
    one = not hit.prose and _OF_ONE.search(hit.command) and not _NOT_NAMED.search(hit.command)
    return bool(one) and not is_ours(hit.command)


def in_a_namespace(command: str) -> bool:
    """What was asked is a pod's network, which is not that of the machine; the agent has the machine's."""
    return bool(_NAMESPACE.search(command) or (_EXEC.search(command) and not is_ours(command)))


def owner_at(picture: Picture, place: Place) -> str:
    """The object whose event or row stands there."""
    return _owners(picture).get((place.source, place.first), "")


@remembered
def _owners(picture: Picture) -> dict[tuple[str, int], str]:
    """Place to the pod or other object whose row or event it is."""
    events = {(one.place.source, one.place.first): one.object for one in picture.of(Event) if one.object}
    rows = {(one.place.source, one.place.first): one.name for one in picture.of(Pod)}
    return rows | events
