"""TRT2004: an API server serves an expired certificate, often renewed on disk but still old in memory."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import Final

from tortie.doctor.causes.cause import LIKELY, POSSIBLE, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.datastore.api_errors import kubernetes_version
from tortie.doctor.causes.datastore.api_evidence import VIP_SIGNS
from tortie.doctor.causes.datastore.api_trust import (
    AFTER,
    BEFORE,
    CLOCK_SIGNS,
    EXPIRED,
    command_of,
    disagreement,
    expired,
    refusals,
    steps,
    synchronised,
    unsynchronised,
    where,
)
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Certificate
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Exhibit, Place
from tortie.model.tuples import NamedTuple

_AGE = lazily(r"(\d{1,4}) (sec|min|hour|day|week|month|year)\w*(?: ago)?", re.IGNORECASE)
_UNITS: Final = {"se": 1, "mi": 60, "ho": 3600, "da": 86400, "we": 604800, "mo": 2592000, "ye": 31536000}
_NAME = r"[a-z][\w.-]{0,62}|(?:\d{1,3}\.){3}\d{1,3}"
_HOST = lazily(_NAME, re.IGNORECASE)
_SERVED_AT = lazily(rf"({_NAME})(?::(\d{{2,5}}))?", re.IGNORECASE)
_ID = lazily(r"[0-9a-f]{6,}", re.IGNORECASE)
_LINES: Final = 100  # of one answer
_API: Final = ("apiserver", ":6443", ":443", ":8443")
_CALICOS: Final = "calico-apiserver"  # serves Calico's resources, with a certificate of its own
CERTS_COMMAND: Final = (1, 20)  # since then it is `kubeadm certs`, before `kubeadm alpha certs`


class Running(NamedTuple):
    """A kube-apiserver and since when it runs."""

    host: str
    seconds: float
    place: Place


class Seen:
    """Certificates of API servers: refused, shown as expired, shown as valid; and clocks that may be wrong."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.after = [refusal for refusal in refusals(picture, AFTER) if refusal.server == "api"]
        self.bare = [refusal for refusal in refusals(picture, EXPIRED) if refusal.server == "api"]
        self.refused = self.after or self.bare
        late = [cert for cert in expired(picture) if _of_api(picture, cert)]
        shown = [cert for cert in picture.of(Certificate) if cert.not_after and _of_api(picture, cert)]
        self.valid = [cert for cert in shown if cert not in late]
        by_server = any(_served(picture, cert) for cert in self.valid)  # then old files are only files
        self.late = [cert for cert in late if _served(picture, cert) or not by_server]

    @cached_property
    def doubt(self) -> bool:
        """A clock may be what is wrong."""
        loose = unsynchronised(self.picture) or steps(self.picture)
        return bool(loose) or disagreement(self.picture) is not None

    @cached_property
    def served(self) -> list[str]:
        return list(dict.fromkeys(where(self.picture, cert) for cert in self.late))

    @cached_property
    def stale(self) -> Running | None:
        """The one machine whose kube-apiserver is much older than on the others: it still holds the old certificate."""
        running = {each.host: each for exhibit in self.picture.commands("kube-apiserver") for each in _running(exhibit)}
        old = sorted(running.values(), key=lambda each: -each.seconds)
        return old[0] if len(old) > 1 and old[0].seconds >= 2 * old[1].seconds else None

    @property
    def master(self) -> tuple[str, str]:
        """Where to look, and at which port: the stale one, else whose certificate is shown."""
        if self.stale:
            return self.stale.host, "6443"
        shown = (match for text in self.served if (match := _SERVED_AT.fullmatch(text)))
        first = next(shown, None)
        return (first[1], first[2] or "6443") if first else ("", "6443")


def _of_api(picture: Picture, cert: Certificate) -> bool:
    said = f"{cert.endpoint} {cert.subject} {command_of(picture, cert)}".lower()
    return any(word in said.replace(_CALICOS, "") for word in _API)


def _served(picture: Picture, cert: Certificate) -> bool:
    """Shown by the server itself, not read from a file."""
    return "s_client" in command_of(picture, cert)


def _running(exhibit: Exhibit) -> Iterator[Running]:
    """Lines of `docker ps` or `crictl ps`; a loop over machines prints their names above or before them."""
    above = ""
    for index, line in enumerate(exhibit.lines[:_LINES]):
        age = _AGE.search(line) if "kube-apiserver" in line else None
        if age:
            host = above or _leading(line) or exhibit.host
            if host:
                yield Running(host, int(age[1]) * _UNITS[age[2][:2].lower()], exhibit.place(index))
        elif _HOST.fullmatch(line.strip("=-#: >\t")):
            above = line.strip("=-#: >\t")


def _leading(line: str) -> str:
    """The name of a machine at the beginning of a line, where a container's id stands elsewhere."""
    if not line[:1].isalpha() or line.startswith("kube-apiserver"):
        return ""
    word = line.split()[0]
    return "" if _ID.match(word) else word


def not_yet_valid(seen: Seen) -> Finding | None:
    before = refusals(seen.picture, BEFORE)
    return ruled_out((before[0].hit,)) if before else None


def renewed_since(seen: Seen) -> Finding | None:
    """The servers show valid certificates now, and every agent is ready: the lines are of the time before."""
    served = [cert for cert in seen.valid if _served(seen.picture, cert)]
    agents = seen.picture.agents_now()
    well = bool(agents) and all(pod.all_ready for pod in agents)
    return ruled_out(served[:2]) if served and well and not seen.late and not seen.stale else None


def has_expired(seen: Seen) -> Finding | None:
    if not seen.late and not seen.refused:
        return None
    address = seen.refused[0].address if seen.refused else ""
    stale = seen.stale
    renewed = seen.picture.said("certs-renewed")
    blamed = culprits(
        named("node", stale.host if stale else ""),
        named("certificate", *seen.served),
        Culprit("program", "kube-apiserver"),
        Culprit("file", "apiserver.crt"),
        named("address", address),
        Culprit("port", "6443/tcp"),
    )
    hits = [refusal.hit for refusal in seen.refused[:2]]
    master, port = seen.master
    return found(
        _strength(seen), blamed, (*seen.late[:2], stale, *hits, *renewed[:1], *seen.valid[:1]),
        shown=tuple(seen.served) or address, end=seen.after[0].hit.value("end") if seen.after else "",
        stale=stale.host if stale else "", master=master, port=port, renewed="yes" if stale or renewed else "",
    )  # fmt: skip


def _strength(seen: Seen) -> float:
    if seen.late:
        return PROVEN if seen.refused or synchronised(seen.picture) else STRONG
    if seen.doubt or (seen.valid and not seen.after):
        return POSSIBLE
    return STRONG if seen.after else LIKELY


def another_certificate(seen: Seen) -> Finding | None:
    others = [refusal for refusal in refusals(seen.picture, AFTER) if refusal.server in ("etcd", "typha")]
    return ruled_out((others[0].hit,)) if others else None


def valid(seen: Seen) -> Finding | None:
    return ruled_out(seen.valid[:1]) if seen.valid else None


def fix(picture: Picture, finding: Finding) -> Iterator[Do]:
    yield do("look")
    if whole := _restarted_whole(picture):
        yield do(whole)
    elif finding.value("renewed"):
        yield do("restart-api")
    else:
        release = kubernetes_version(picture)
        yield do("renew-alpha" if release and release[:2] < CERTS_COMMAND else "renew")
        yield do("restart")
        yield do("admin")
    yield do("stuck")


def _restarted_whole(picture: Picture) -> str:
    """K3s and RKE2 renew by themselves what ends within 90 days, when their server starts."""
    versions = [node.version for node in picture.nodes_now().values()]
    return next((name for name in ("k3s", "rke2") if any(f"+{name}" in version for version in versions)), "")


CAUSE = Cause(
    module=__name__,
    id="apiserver-certs-expired",
    code="TRT2004",
    severity="critical",
    explains=(
        "api-unreachable", "datastore-error", "crash-loop", "controllers-failing", "init-crash", "node-not-ready",
    ),
    signs=(*VIP_SIGNS, AFTER, BEFORE, EXPIRED, *CLOCK_SIGNS),
    look=Seen,
    rules=(not_yet_valid, renewed_since, has_expired, another_certificate, valid),
    fix=fix,
    yields_to=("clock-skew",),
)  # fmt: skip
