"""Our datastore's errors in the words of Calico's own clients: what Go, gRPC and etcd's library would have said. Pure.

`silent`: nobody answered at all. Calico's requests have no deadline of their own, so it says nothing then.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime
from typing import Final

from tortie.model.errors import TortieError
from tortie.node.classic.release import Release
from tortie.store.contract import Conflict, Unauthorized, Unreachable

_DEADLINE: Final = "context deadline exceeded"
_DOUBT: Final = re.compile(r"; the write may or may not have happened.*$")
_ENDPOINT: Final = re.compile(r"(?P<scheme>https?)://(?P<place>\S+?): (?P<said>.*?)(?=; https?://|$)", re.DOTALL)
_SILENCE: Final = re.compile(r"no answer within |no name server gave an answer")
_UNTIL: Final = re.compile(r"expired on (\d{4}-\d\d-\d\d) (\d\d:\d\d) UTC")
_FROM: Final = re.compile(r"valid only from (\d{4}-\d\d-\d\d) (\d\d:\d\d) UTC")
_FOR: Final = re.compile(r"its server certificate is for (?P<names>.*), not for (?P<host>.*)")
_NAME: Final = re.compile(r"the host name (\S+) is not known")

# How connecting failed, as the kernel says it.
_KERNEL: Final = (
    "connection refused",
    "no route to host",
    "network is unreachable",
    "connection reset by peer",
    "host is down",
    "permission denied",
    "operation not permitted",
)


class GoError(Exception):
    """An error as Go prints it; in a log it stands without quotes."""

    def __init__(self, text: str, *, silent: bool = False) -> None:
        super().__init__(text)
        self.text = text
        self.silent = silent


class _Said(Exception):
    """One endpoint's trouble: what was said, and at which stage."""

    def __init__(self, text: str, stage: str) -> None:
        super().__init__(text)
        self.text = text
        self.stage = stage  # dial, handshake, answer, silence


def too_late() -> GoError:
    """When not even our own last deadline was met."""
    return GoError(_DEADLINE)


def go_error(error: TortieError, release: Release, now: datetime) -> GoError:
    if isinstance(error, Conflict):
        return GoError(f"update conflict: {_resource(error.key)}")
    if isinstance(error, Unauthorized):
        return GoError(f"connection is unauthorized: {error.why or error.what}")
    if not isinstance(error, Unreachable):
        return GoError(error.what if not error.why else f"{error.what}: {error.why}")
    found = [
        _said_of(match["said"].strip(), match["place"], now) for match in _ENDPOINT.finditer(_DOUBT.sub("", error.why))
    ]
    if not found or all(each.stage == "silence" for each in found):
        return GoError(_DEADLINE, silent=True)
    told = [each for each in found if each.stage != "silence"]
    answered = next((each for each in told if each.stage == "answer"), None)
    if answered:
        return GoError(answered.text)
    if release.reads_key_by_key:
        return GoError(_as_etcd_v2(told))
    last = told[-1]
    what = (
        f"Error while dialing {last.text}" if last.stage == "dial" else f"authentication handshake failed: {last.text}"
    )
    return GoError(f'rpc error: code = Unavailable desc = connection error: desc = "transport: {what}"')


def _as_etcd_v2(told: Iterable[_Said]) -> str:
    """getsockopt was the word for it up to Go 1.10."""
    each = "; ".join(f"error #{number}: {said.text}" for number, said in enumerate(told))
    return f"client: etcd cluster is unavailable or misconfigured; {each}".replace(": connect: ", ": getsockopt: ")


def _said_of(text: str, place: str, now: datetime) -> _Said:
    if _SILENCE.match(text):
        return _Said(_DEADLINE, "silence")
    for told in _KERNEL:
        if text.startswith(told):
            return _Said(f"dial tcp {place}: connect: {told}", "dial")
    if "timed out" in text and not text.startswith("it answered"):
        return _Said(f"dial tcp {place}: i/o timeout", "dial")
    if name := _NAME.match(text):
        return _Said(f"dial tcp: lookup {name[1]}: no such host", "dial")
    if text.startswith("it answered: "):
        return _Said(text.removeprefix("it answered: "), "answer")
    if "has no leader" in text:
        return _Said("etcdserver: no leader", "answer")
    return _Said(_of_tls(text, now), "handshake")


def _of_tls(text: str, now: datetime) -> str:
    moment = f"current time {now:%Y-%m-%dT%H:%M:%SZ}"
    invalid = "x509: certificate has expired or is not yet valid"
    if text.startswith(("it refuses", "it asks for a client certificate")):
        return "remote error: tls: bad certificate"
    if end := _UNTIL.search(text):
        return f"{invalid}: {moment} is after {end[1]}T{end[2]}:00Z"
    if begin := _FROM.search(text):
        return f"{invalid}: {moment} is before {begin[1]}T{begin[2]}:00Z"
    if names := _FOR.match(text):
        return f"x509: certificate is valid for {names['names']}, not {names['host']}"
    if "not signed by" in text:
        return "x509: certificate signed by unknown authority"
    if "plain HTTP, not TLS" in text:
        return "tls: first record does not look like a TLS handshake"
    return "EOF" if "broke" in text or "speaks TLS" in text else text


def _resource(key: str) -> str:
    """/calico/resources/v3/projectcalico.org/nodes/n1 is Node(n1)."""
    *_, plural, name = key.split("/") if "/" in key else ("", "", key)
    kinds = {"nodes": "Node", "ippools": "IPPool", "clusterinformations": "ClusterInformation"}
    return f"{kinds.get(plural, plural)}({name})"
