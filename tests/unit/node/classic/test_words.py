"""Our datastore's errors as Calico's own clients would print them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tortie.model.errors import TortieError
from tortie.node.classic.release import read_release
from tortie.node.classic.words import go_error
from tortie.store.contract import ABSENT, Conflict, Unauthorized, Unreachable

NOW = datetime(2026, 11, 16, 15, 4, 5, tzinfo=UTC)
V3 = read_release("3.20")
RPC = 'rpc error: code = Unavailable desc = connection error: desc = "transport: '


def unreachable(why: str, *, uncertain: bool = False) -> Unreachable:
    return Unreachable("etcd", "read /x", 10.0, why, "", uncertain=uncertain)


@pytest.mark.parametrize(
    ("why", "text"),
    [
        (
            "http://10.77.0.251:2379: connection refused",
            f'{RPC}Error while dialing dial tcp 10.77.0.251:2379: connect: connection refused"',
        ),
        (
            "http://10.77.0.251:2379: no route to host",
            f'{RPC}Error while dialing dial tcp 10.77.0.251:2379: connect: no route to host"',
        ),
        (
            "https://10.77.0.251:2379: its server certificate expired on 2026-11-15 10:00 UTC",
            f"{RPC}authentication handshake failed: x509: certificate has expired or is not yet valid: current time "
            '2026-11-16T15:04:05Z is after 2026-11-15T10:00:00Z"',
        ),
        (
            "https://10.77.0.251:2379: its server certificate is valid only from 2026-11-17 10:00 UTC on",
            f"{RPC}authentication handshake failed: x509: certificate has expired or is not yet valid: current time "
            '2026-11-16T15:04:05Z is before 2026-11-17T10:00:00Z"',
        ),
        (
            "https://a:2379: its server certificate is not signed by the CA in x (self-signed certificate in chain)",
            f'{RPC}authentication handshake failed: x509: certificate signed by unknown authority"',
        ),
        (
            "https://a:2379: its server certificate is for b, c, not for a",
            f'{RPC}authentication handshake failed: x509: certificate is valid for b, c, not a"',
        ),
        (
            "https://a:2379: it refuses the client certificate x (bad certificate)",
            f'{RPC}authentication handshake failed: remote error: tls: bad certificate"',
        ),
        ("http://a:2379: it answered: etcdserver: request timed out", "etcdserver: request timed out"),
        ("http://a:2379: it runs, but its cluster has no leader", "etcdserver: no leader"),
        (
            "http://a:2379: no answer within 3.3 s; http://b:2379: it answered: etcdserver: leader changed",
            "etcdserver: leader changed",
        ),
    ],
)
def test_what_an_endpoint_said(why: str, text: str) -> None:
    error = go_error(unreachable(why), V3, NOW)
    assert (error.text, error.silent) == (text, False)


def test_silence_is_no_error_yet() -> None:
    error = go_error(unreachable("http://a:2379: no answer within 5.0 s"), V3, NOW)
    assert (error.text, error.silent) == ("context deadline exceeded", True)


def test_a_write_in_doubt_is_told_without_our_own_words() -> None:
    error = go_error(unreachable("http://a:2379: connection refused", uncertain=True), V3, NOW)
    assert "may or may not" not in error.text


def test_v2_names_every_endpoint() -> None:
    why = "http://10.8.0.1:2379: connection refused; http://10.8.0.2:2379: connection refused"
    assert go_error(unreachable(why), read_release("2.6"), NOW).text == (
        "client: etcd cluster is unavailable or misconfigured; error #0: dial tcp 10.8.0.1:2379: getsockopt: "
        "connection refused; error #1: dial tcp 10.8.0.2:2379: getsockopt: connection refused"
    )


def test_conflicts_and_refusals() -> None:
    key = "/calico/resources/v3/projectcalico.org/nodes/n1"
    assert go_error(Conflict(key, ABSENT, None), V3, NOW).text == "update conflict: Node(n1)"
    assert "unauthorized" in go_error(Unauthorized("no", "no role", ""), V3, NOW).text
    assert go_error(TortieError("the disk is full", "no room"), V3, NOW).text == "the disk is full: no room"
