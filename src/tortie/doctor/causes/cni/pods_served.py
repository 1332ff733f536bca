"""Whether every pod has its network now: what a runtime, a plugin or IPAM complained about before is over then."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tortie.doctor.causes.agent.counting import narrow
from tortie.doctor.causes.cni.cni_evidence import sandbox_events
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Clock, LogLine, Pod
from tortie.doctor.picture.host_pods import is_agent, on_host_network
from tortie.doctor.picture.picture import Picture, remembered
from tortie.doctor.reading.exhibit import Exhibit, Place
from tortie.doctor.signs import Hit

_OF_ALL: Final = lazily(r"get (?:pods?|po)\b.{0,300}(?: -A\b|--all-namespaces)")
_HEADER: Final = lazily(r"\s*NAMESPACE\s+NAME\s+READY\s+STATUS\b")
_DONE: Final = ("Completed", "Succeeded")
_FRESH_S: Final = 600.0
_LOGGED_S: Final = 60.0  # a kubelet tries again sooner


def served_since(picture: Picture, hits: Sequence[Hit]) -> list[Pod]:
    """Pods of a list of the whole cluster that was made after these lines, where every one of them runs.

    None where one waits, where the list is a part only, or where a pod that is not in it failed a moment ago.
    """
    if those := _recovered(picture, hits):
        return those
    listed, pods = _listed(picture)
    quoting = {hit.place.first for hit in hits}
    if any(one.place.first not in quoting for one in picture.said("complains")):
        return []  # whoever says in words of his own that pods fail may have taken those away that did
    if not hits or not pods or not any(_after(place, hits, picture) for place in listed):
        return []
    return [] if _fails_now(picture, pods) else pods


def _recovered(picture: Picture, hits: Sequence[Hit]) -> list[Pod]:
    """The very pods that events say it of, if each of them runs now, and nothing else says it."""
    events = {(event.place.source, event.place.first): event for event in sandbox_events(picture)}
    told = [events.get((hit.place.source, hit.place.first)) for hit in hits]
    names = {event.object.rpartition("/")[2] for event in told if event is not None}
    pods = [pod for pod in picture.pods_now() if pod.name in names and pod.all_ready]
    whole = bool(names) and "" not in names and len(pods) == len(names) and None not in told
    return pods if whole else []


def all_served(picture: Picture) -> list[Pod]:
    """The same, wherever the list stands: enough to say that nobody suffers from something."""
    pods = _listed(picture)[1]
    return [] if _fails_now(picture, pods) else pods


@remembered
def _listed(picture: Picture) -> tuple[tuple[Place, ...], list[Pod]]:
    """Where such lists stand, and the pods with a network of their own, if all pods and nodes are well."""
    places = tuple(exhibit.place(0) for exhibit in picture.exhibits if exhibit.lines and _whole(exhibit))
    pods = [pod for pod in picture.pods_now() if pod.status not in _DONE]
    unwell = any(not pod.all_ready or pod.status not in ("Running", "") for pod in pods)
    whole = places and any(is_agent(pod.name) for pod in pods)  # rows that were cut out show no agent
    if not whole or unwell or any("NotReady" in node.status for node in picture.nodes_now().values()):
        return (), []
    return places, [pod for pod in pods if not on_host_network(pod.name)]


def _whole(exhibit: Exhibit) -> bool:
    """All namespaces, and nothing picked from them. Who picks lines loses the header, too."""
    if exhibit.command:
        return _OF_ALL.search(exhibit.command) is not None and not narrow(exhibit.command)
    return not exhibit.prose and _HEADER.match(exhibit.lines[0]) is not None


def _after(place: Place, hits: Sequence[Hit], picture: Picture) -> bool:
    """Further below in the same text; of another one only time can tell."""
    elsewhere = {hit.place for hit in hits if hit.place.source != place.source}
    here = (hit.place.first for hit in hits if hit.place.source == place.source)
    return all(first < place.first for first in here) and not (elsewhere and _just_logged(picture, elsewhere))


def _just_logged(picture: Picture, places: set[Place]) -> bool:
    """Logs of a bundle end when it is collected: what they said last is said still."""
    times = {line.place: line.time for line in picture.of(LogLine) if line.time is not None}
    clocks = (clock.time for clock in picture.of(Clock) if clock.time is not None)
    said = [times[place] for place in places if place in times]
    return bool(said) and max((*times.values(), *clocks)) - max(said) < _LOGGED_S


def _fails_now(picture: Picture, pods: Sequence[Pod]) -> bool:
    names = {pod.name for pod in pods}
    fresh = (event for event in sandbox_events(picture) if event.age_s is not None and event.age_s < _FRESH_S)
    return any(event.object.rpartition("/")[2] not in names for event in fresh)
