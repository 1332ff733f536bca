"""Where Calico is told that etcd is, where etcd's members are, and whether the two fit."""

from __future__ import annotations

import re
from typing import Final

from tortie.doctor.causes.datastore.api_evidence import ETCD_PORTS, Trouble, troubles
from tortie.doctor.causes.datastore.etcd_evidence import statuses
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Setting
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Exhibit, Place
from tortie.doctor.signs import Hit, Sign
from tortie.model.tuples import NamedTuple

HEALTHY: Final = Sign("trt2002-healthy", "is healthy: (successfully committed proposal|got healthy result)")
ENDPOINTS: Final = Sign("trt2002-endpoints", 'ETCD_ENDPOINTS(")?(=|:)( )?(")?<value>')
NAMES: Final = ("ETCD_ENDPOINTS", "etcd_endpoints", "etcdEndpoints")
URL: Final = lazily(r"(https?)://(\[?[\w.:-]*[\w\]]):(\d{2,5})")
_CLIENT_PORTS: Final = (*(port for port in ETCD_PORTS if port != 2380), 2378)  # 2380 is what members ask each other
_BARE = lazily(r"^(?:\d{1,3}\.){3}\d{1,3}:\d{2,5}$|^[a-z][\w.-]*:\d{2,5}$", re.IGNORECASE)
_HEALTH = lazily(r'"health"\s*:\s*"?true')
_ADDRESS = lazily(r"[\d.]+")


class Member(NamedTuple):
    """A living member of etcd and where its clients ask."""

    url: str
    host: str
    place: Place


class Healthy(NamedTuple):
    """An endpoint that said to be healthy when asked."""

    scheme: str
    host: str
    port: str
    place: Place

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.host}:{self.port}"


class Mismatch(NamedTuple):
    """The same machine answers, but not as Calico asks it."""

    right: Healthy
    used: str
    shown: Trouble | Place


# What Calico is told


def endpoint_settings(picture: Picture) -> list[Setting | Hit]:
    settings: list[Setting | Hit] = [s for name in NAMES for s in picture.settings(name)]
    places = {setting.place for setting in settings}
    hits = [hit for hit in picture.hits(ENDPOINTS) if hit.value("value") and hit.place not in places]
    return settings + [hit for hit in hits if not hit.value("value").startswith(("__", "$", "<"))]


def value_of(item: Setting | Hit) -> str:
    value = item.value if isinstance(item, Setting) else item.value("value")
    words = str(value).split()  # what follows on the line is not part of it
    return words[0].strip("\"'\\") if words else ""


def configured(picture: Picture) -> list[str]:
    """Endpoints handed to Calico, each as written; `describe` writes `<set to the key …>` instead."""
    written = (part.strip() for setting in endpoint_settings(picture) for part in value_of(setting).split(","))
    return list(dict.fromkeys(part for part in written if part and not part.startswith("<")))


def schemeless(picture: Picture) -> list[Setting | Hit]:
    return [s for s in endpoint_settings(picture) if any(_BARE.match(e.strip()) for e in value_of(s).split(","))]


# Where etcd is


def members(picture: Picture) -> dict[str, Member]:
    """Living members by host, as etcdctl lists them."""
    found: dict[str, Member] = {}
    for asked in ("member list", "endpoint status", "endpoint health"):
        for exhibit in picture.commands("etcdctl", asked):
            for member in _listed(exhibit):
                found.setdefault(member.host, member)
    return found


def _listed(exhibit: Exhibit) -> list[Member]:
    living = [
        (index, line.split("clientURLs=")[-1])
        for index, line in enumerate(exhibit.lines[:100])
        if "unhealthy" not in line and "failed" not in line.lower()
    ]
    return [
        Member(match[0], match[2], exhibit.place(index))
        for index, line in living
        for match in URL.finditer(line)
        if match[3] != "2380"
    ]


def healthy_endpoints(picture: Picture) -> list[Healthy]:
    answers = [Healthy(u[1], u[2], u[3], hit.place) for hit in picture.hits(HEALTHY) for u in URL.finditer(hit.line)]
    for exhibit in picture.commands("/health"):
        lines = (i for i, line in enumerate(exhibit.lines[:50]) if _HEALTH.search(line))
        for index in lines:
            answers += [Healthy(u[1], u[2], u[3], exhibit.place(index)) for u in URL.finditer(exhibit.command)]
    return answers


def asked_beside(picture: Picture) -> set[str]:
    """Whom somebody asked together with living members: one that is silent may be a member that is down.

    Only the list of members tells; without it this is all there is.
    """
    if picture.commands("etcdctl", "member list"):
        return set()
    return {host for each in picture.commands("etcdctl", "endpoint ") for _, host, _ in URL.findall(each.command)}


def silent_members(picture: Picture) -> list[str]:
    """Members that refuse connections, and did not answer when they were asked together with those that live."""
    answering = {status.address for status in statuses(picture) if status.megabytes is not None}
    answering |= {healthy.host for healthy in healthy_endpoints(picture)}
    asked = {*asked_beside(picture), *members(picture)} - answering if answering else set()
    refused = [trouble.address for trouble in etcd_troubles(picture) if trouble.how == "refused"]
    return list(dict.fromkeys(each for each in refused if each in asked and not each.startswith("127.")))


# Whether the two fit


def etcd_troubles(picture: Picture) -> list[Trouble]:
    return [t for t in troubles(picture) if t.port in ETCD_PORTS and not t.own_host_only]


def strangers(picture: Picture) -> list[Trouble]:
    """Failing etcd addresses that are no members."""
    known = members(picture)
    if not known or not all(_ADDRESS.fullmatch(host) for host in known):
        return []
    doubtful = {*known, *asked_beside(picture)}
    return [t for t in etcd_troubles(picture) if t.address not in doubtful and not t.address.startswith("127.")]


def mismatches(picture: Picture) -> list[Mismatch]:
    """The same machine answers with another scheme or at another port, and never as Calico asks."""
    answers = healthy_endpoints(picture)
    wrong: list[Mismatch] = []
    for answer in answers:
        wrong += [Mismatch(answer, endpoint, answer.place) for endpoint in _told_otherwise(picture, answer.host)]
        wrong += [Mismatch(answer, f"{t.address}:{t.port}", t) for t in _dialled_otherwise(picture, answer.host)]
    return wrong


def _told_otherwise(picture: Picture, host: str) -> list[str]:
    good = {(answer.scheme, answer.host, answer.port) for answer in healthy_endpoints(picture)}
    told = [(endpoint, match) for endpoint in configured(picture) if (match := URL.match(endpoint))]
    return [endpoint for endpoint, match in told if match[2] == host and match.groups() not in good]


def _dialled_otherwise(picture: Picture, host: str) -> list[Trouble]:
    good = {int(answer.port) for answer in healthy_endpoints(picture) if answer.host == host}
    return [t for t in troubles(picture) if t.address == host and t.port in _CLIENT_PORTS and t.port not in good]


def two_answers(picture: Picture) -> list[Place]:
    """A configured name that two hosts files map to different addresses, one of which fails."""
    hosts = [match[2] for endpoint in configured(picture) if (match := URL.match(endpoint))]
    names = {host for host in hosts if not _ADDRESS.fullmatch(host)}
    maps: dict[str, dict[str, Place]] = {}
    for exhibit in picture.commands("/etc/hosts"):
        for index, line in enumerate(exhibit.lines[:200]):
            words = line.split()
            for name in names.intersection(words[1:]):
                maps.setdefault(name, {}).setdefault(words[0], exhibit.place(index))
    failing = {trouble.address for trouble in troubles(picture)}
    return [place for seen in maps.values() if len(seen) > 1 and failing & set(seen) for place in seen.values()]


def elsewhere(picture: Picture) -> list[str]:
    """Configured addresses, when none is in the list of members; or, where etcd was moved, among those that answer."""
    known = {host for host in members(picture) if _ADDRESS.fullmatch(host) and not host.startswith("127.")}
    hosts = [match[2] for endpoint in configured(picture) if (match := URL.match(endpoint))]
    apart = all(_ADDRESS.fullmatch(host) and host not in known for host in hosts)
    listed = picture.commands("etcdctl", "member list") or picture.said("etcd-moved")
    return hosts if known and apart and listed else []


def misfit(picture: Picture) -> list[object]:
    """What shows that the configured endpoint is wrong, strongest first."""
    other = [mismatch.shown for mismatch in mismatches(picture)]
    return [*schemeless(picture), *strangers(picture), *other, *two_answers(picture)]
