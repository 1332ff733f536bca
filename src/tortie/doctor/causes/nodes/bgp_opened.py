"""What people opened themselves: TCP 179 let in by hand, with what was shown before and after it.

firewalld and ufw say whether a port was open before: ALREADY_ENABLED, or that an existing rule is skipped.
"""

from __future__ import annotations

from typing import Final

from tortie.doctor.causes.nodes.bgp_evidence import BGP_PORT, is_address
from tortie.doctor.causes.nodes.bgp_firewall import covers
from tortie.doctor.causes.shared import BGP_NOT_ESTABLISHED
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Action, Pod, Session
from tortie.doctor.picture.picture import Picture
from tortie.doctor.picture.places import exhibit_at
from tortie.doctor.reading.exhibit import Place
from tortie.model.tuples import NamedTuple

_PORTS: Final = lazily(r"--add-port[= ]?[{\"']?([\d/,a-z:{}\"' -]{3,200})")
_RICH: Final = lazily(r"--add-rich-rule.{0,160}?\bport=[\"']?179\b")
_UFW: Final = lazily(r"(?:^|\s)(?:179|bgp)(?:/tcp)?(?:$|\s)")
_IPTABLES: Final = lazily(r"^-[IA] INPUT\b.{0,160}?--dports? [\d,:]{0,80}\b179\b.{0,120}?-j ACCEPT")
_NEW: Final = ("success", "rule added", "rule inserted")
_KNOWN: Final = ("already_enabled", "skipping adding existing rule")


class Opening(NamedTuple):
    place: Place
    new: bool  # the firewall's own word that it was not open before
    well: tuple[Pod | Session, ...]  # sessions and agents below it, where the trouble is shown above and not below

    @property
    def helped(self) -> bool:
        return bool(self.well)


def openings(picture: Picture) -> list[Opening]:
    """Those that may have been the remedy: not where the trouble goes on below them."""
    got = []
    for action in picture.of(Action):
        if action.failed or not _lets_bgp_in(action):
            continue
        exhibit = exhibit_at(picture, action.place) or next(
            (e for e in picture.exhibits if e.source == action.place.source and action.place.first in e.command_lines),
            None,
        )
        answer = " ".join(exhibit.lines[:20]).lower() if exhibit else ""
        if any(word in answer for word in _KNOWN):
            continue
        before, after = _trouble(picture, action.place)
        if after:
            continue
        new = any(word in answer for word in _NEW)
        got.append(Opening(action.place, new, _well_after(picture, action.place) if before else ()))
    return got


def _lets_bgp_in(action: Action) -> bool:
    thing = action.object
    if action.verb == "allow":
        return bool(_UFW.search(thing))
    if "--add-service=bgp" in thing or _RICH.search(thing) or _IPTABLES.match(thing):
        return True
    ports = _PORTS.search(thing)
    return ports is not None and any(covers(part, BGP_PORT) for part in _tcp(ports[1]))


def _tcp(text: str) -> list[str]:
    parts = text.replace("{", " ").replace("}", " ").replace('"', " ").replace("'", " ").replace(",", " ").split()
    return [part.partition("/")[0] for part in parts if not part.endswith("/udp")]


def _trouble(picture: Picture, moment: Place) -> tuple[list[Place], list[Place]]:
    """Peers that were missing before that line, and after it."""
    places = [hit.place for hit in picture.hits(BGP_NOT_ESTABLISHED)]
    places += [one.place for one in picture.sessions() if one.state != "up" and is_address(one.peer)]
    places = [place for place in places if place.source == moment.source]
    places += [
        pod.place
        for pod in picture.agents()
        if pod.containers is not None and not pod.all_ready and _below(pod.place, moment)
    ]
    after = [place for place in places if _below(place, moment)]
    return [place for place in places if place not in after], after


def _well_after(picture: Picture, moment: Place) -> tuple[Pod | Session, ...]:
    pods = [pod for pod in picture.agents() if pod.all_ready and _below(pod.place, moment)]
    up = [one for one in picture.sessions() if one.state == "up" and _below(one.place, moment)]
    return (*up, *pods)


def _below(place: Place, moment: Place) -> bool:
    return place.source == moment.source and place.first > moment.last
