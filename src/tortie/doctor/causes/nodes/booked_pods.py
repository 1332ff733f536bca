"""Pods whose addresses Calico has booked for another node than the one that runs them.

The plugin takes the node's name from /var/lib/calico/nodename. On a clone that file has the original's name until the
agent writes it anew: the first pods of the clone are booked there, and their addresses are given out a second time.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tortie.doctor.causes.nodes.bgp_evidence import same_host
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Pod
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Exhibit, Place
from tortie.model.tuples import NamedTuple

_NAME: Final = lazily(r"[a-z0-9.-]{9,253}")
_BETWEEN: Final = lazily(r"(?<!-)-k8s-(?!-)")  # dashes of names are doubled in the name of an endpoint
_NODE: Final = lazily(r"(?<![\w-])\"?node\"?: ?\"?([a-z0-9][a-z0-9.-]{0,252})")
_POD: Final = lazily(r"(?<![\w-])\"?pod\"?: ?\"?([a-z0-9][a-z0-9.-]{0,252})")
_NUMBERED: Final = lazily(r".+-\d{1,4}")  # of a StatefulSet: the same name may run on another node tomorrow
_ADDRESS: Final = lazily(r"[\d.]{7,15}")
_LINES: Final = 5000
_NEAR: Final = 3  # lines of attributes that stand below each other


class Booked(NamedTuple):
    name: str  # of the node that it is booked for
    pod: str
    namespace: str
    host: str  # that runs it
    places: tuple[Place, ...]


def booked_elsewhere(picture: Picture) -> list[Booked]:
    strays = [one for one in _every(picture) if not same_host(one.name, one.host)]
    strays = [one for one in strays if not _ADDRESS.fullmatch(one.name)]  # of the same node, for all we know
    return list({(one.name, one.pod): one for one in strays}.values())


def booked_at_home(picture: Picture, host: str) -> bool:
    """Other pods of that node are booked for it: its file has its own name by now."""
    return any(same_host(one.host, host) and same_host(one.name, host) for one in _every(picture))


def _every(picture: Picture) -> list[Booked]:
    return list(_booked(picture, {pod.name: pod for pod in picture.pods_now()}))


def _booked(picture: Picture, pods: dict[str, Pod]) -> Iterator[Booked]:
    for exhibit in picture.exhibits:
        if exhibit.prose or not ("-k8s-" in exhibit.text or "node" in exhibit.text):
            continue
        for name, pod, place in _records(exhibit):
            row = pods.get(pod)
            host = _runs_on(exhibit, pod, row)
            if host:
                shown = (row.place,) if row and row.node == host else ()
                yield Booked(name, pod, row.namespace if row else "", host, (place, *shown))


def _runs_on(exhibit: Exhibit, pod: str, row: Pod | None) -> str:
    """By the list of pods; else the host whose own log it is."""
    remote = any(tool in exhibit.command for tool in ("kubectl", "calicoctl", "etcdctl"))
    here = "" if remote or "-k8s-" not in exhibit.text else exhibit.host
    if row is None or not row.node or _NUMBERED.fullmatch(pod):
        return here
    return row.node if not here or same_host(here, row.node) else ""


def _records(exhibit: Exhibit) -> Iterator[tuple[str, str, Place]]:
    """(node, pod) of endpoints' names and of the attributes of addresses, on one line or below each other."""
    last: tuple[int, str] | None = None
    for index, line in enumerate(exhibit.lines[:_LINES]):
        for word in _NAME.findall(line) if "-k8s-" in line else ():
            parts = _BETWEEN.split(word.removesuffix("-eth0"))
            if word.endswith("-eth0") and len(parts) == 2:
                yield parts[0].replace("--", "-"), parts[1].replace("--", "-"), exhibit.place(index)
        node = _NODE.search(line) if "node" in line else None
        pod = _POD.search(line) if "pod" in line else None
        if node:
            last = (index, node[1])
        if pod and last and index - last[0] <= _NEAR:
            yield last[1], pod[1], exhibit.place(last[0], index + 1)
            last = None
