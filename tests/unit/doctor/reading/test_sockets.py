"""Listening sockets by ss, netstat and lsof."""

from __future__ import annotations

import pytest
from tests.support.doctor import source

from tortie.doctor.picture.facts import Listener
from tortie.doctor.reading.exhibit import Exhibit
from tortie.doctor.reading.readers import sockets


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('LISTEN 0  8   0.0.0.0:179  0.0.0.0:*  users:(("gobgpd",pid=44,fd=7))', (179, "0.0.0.0", "gobgpd")),
        ('tcp   LISTEN 0 128  [::]:9099  [::]:*  users:(("node",pid=1,fd=3))', (9099, "[::]", "node")),
        ("LISTEN     0      8    *:bgp    *:*", (179, "*", "")),
        (
            "tcp        0      0 127.0.0.1:9099   0.0.0.0:*    LISTEN      6001/calico-node",
            (9099, "127.0.0.1", "calico-node"),
        ),
        ("tcp6       0      0 :::179    :::*    LISTEN      -", (179, "::", "")),
        ("udp        0      0 0.0.0.0:8472     0.0.0.0:*       -", (8472, "0.0.0.0", "")),
        ("bgpd   77 root 7u IPv4 1234 0t0 TCP *:179 (LISTEN)", (179, "*", "bgpd")),
    ],
)
def test_forms(line: str, expected: tuple[int, str, str]) -> None:
    (found,) = sockets.read(Exhibit("e", 1, source(line).lines, "m1", ""))
    assert isinstance(found, Listener)
    assert (found.port, found.address, found.program) == expected


def test_connections_are_left_out() -> None:
    text = "tcp  0  0 10.0.0.1:179  10.0.0.2:40000  ESTABLISHED 1/bird\nESTAB 0 0 10.0.0.1:179 10.0.0.2:40001\nLISTEN"
    assert list(sockets.read(Exhibit("e", 1, tuple(text.splitlines())))) == []
