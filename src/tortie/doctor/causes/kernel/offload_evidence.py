"""Requests that took their time, and counters that grow: what bad checksums look like from both ends."""

from __future__ import annotations

from typing import Final

from tortie.doctor.causes.underlay.traffic_evidence import compiled
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Setting
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Place
from tortie.doctor.signs import Hit, Sign

# Said by the kernel that has received it.
KERNEL_SAYS: Final = Sign("offload-kernel-bad", "UDP: bad checksum. From <ip1>:<port1> to <ip2>:<port2>")
VXLAN_PORTS: Final = ("4789", "8472")
SLOW: Final = 5.0  # seconds that a request inside a cluster never takes by itself
# TCP asks again after 1, 2, 4, 8, 16 and 32 seconds, and the sixth repetition is sent without a sum that is wrong.
SIXTH: Final = (62.5, 65.0)
# What installers give to services: kubeadm, RKE and k3s, kubespray, MicroK8s.
SERVICE_NETS: Final = ("10.96.", "10.43.", "10.233.", "10.152.")
_SIXTH_TOLD: Final = lazily(
    r"(?<![\d.,:-])(?:63|64)(?:\.\d{1,3})?(?: |-)?(?:seconds?\b|secs?\b|s\b|秒)"
    r"|\b1 ?m(?:in(?:ute)?)? ?0?3(?:\.\d{1,3})? ?s"
)
_ASKED: Final = lazily(r"\W{0,3}[?？]")
_OF_SERVICE: Final = lazily(r"service|cluster ?-?ip|node ?-?port|\bsvc\b|\bvip\b|服务")


def told_by_kernel(picture: Picture) -> list[Hit]:
    return [hit for hit in picture.hits(KERNEL_SAYS) if hit.value("port2") in VXLAN_PORTS]


def errors_of_udp(picture: Picture) -> list[Setting]:
    """The counter in other forms than nstat's."""
    counted = (one for one in picture.of(Setting) if one.scope == "counter" and one.name == "UdpInCsumErrors")
    return [one for one in counted if one.value.isdecimal() and int(one.value) > 0]


def sixth_repetition(picture: Picture) -> list[Setting | Place]:
    """Requests to a service that get their answer after a minute and three seconds, as timed or as told."""
    low, high = SIXTH
    every = _timed(picture)
    timed = [one for one in every if low <= float(one.value) <= high]
    told = [
        exhibit.place(index)
        for exhibit in picture.exhibits
        if exhibit.prose
        for index, line in enumerate(exhibit.lines)
        if not every  # a clock tells more than a person
        if (match := _SIXTH_TOLD.search(line.lower())) and not _ASKED.match(line, match.end())
        if _OF_SERVICE.search(exhibit.text.lower())
    ]
    spoken = any(_OF_SERVICE.search(exhibit.text.lower()) for exhibit in picture.exhibits if exhibit.prose)
    of_service = [one for one in timed if spoken or any(net in one.name for net in SERVICE_NETS)]
    return [*of_service[:2], *told[:1]]


def growing(picture: Picture) -> list[Setting]:
    """Two readings of the counter on one host, the later one larger."""
    first: dict[str, Setting] = {}
    for setting in picture.of(Setting):
        if setting.scope == "counter" and setting.name == "UdpInCsumErrors" and setting.value.isdecimal():
            before = first.setdefault(setting.host, setting)
            if int(setting.value) > int(before.value):
                return [before, setting]
    return []


def cured(picture: Picture) -> list[Setting]:
    """The same request, slow before the offload was switched off and quick after it."""
    switched = compiled(r"\b(?:tx|checksum)\S{0,40}\s{1,20}off\b")
    off = [one.place(0) for one in picture.commands("ethtool", "-K") if switched.search(one.command)]
    timed = _timed(picture)
    pairs = ((before, after) for before in timed for after in timed if _quicker(before, after))
    for before, after in pairs:
        source, start, end = before.place.source, before.place.first, after.place.first
        if any(at.source == source and start < at.first < end for at in off):
            return [before, after]
    return []


def _quicker(before: Setting, after: Setting) -> bool:
    same = before.name == after.name and before.host == after.host
    return same and float(before.value) >= SLOW > 4 * float(after.value)


def slow(picture: Picture) -> list[Setting]:
    """TCP that gets through at last, after several retransmissions: a minute and a few seconds is typical."""
    return [setting for setting in _timed(picture) if float(setting.value) >= SLOW]


def _timed(picture: Picture) -> list[Setting]:
    return [
        s for s in picture.of(Setting) if s.scope == "elapsed" and any(w in s.name for w in ("curl", "wget", "nc "))
    ]
