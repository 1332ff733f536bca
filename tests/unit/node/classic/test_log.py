"""The log of classic mode has the form of its release."""

from __future__ import annotations

import io
import os

import pytest

from tortie.node.classic.log import ClassicLog
from tortie.node.classic.release import read_release
from tortie.node.classic.words import GoError

AT = 1577710255.337  # 2019-12-30 12:50:55.337


def log_of(version: str, level: str = "info") -> tuple[ClassicLog, io.StringIO]:
    stream = io.StringIO()
    return ClassicLog(stream, read_release(version), level=level, clock=lambda: AT), stream


@pytest.mark.parametrize(
    ("version", "place"),
    [
        ("3.4", "startup.go 256"),
        ("3.8.9", "startup.go 256"),
        ("3.13", "startup.go 276"),
        ("3.14", "startup/startup.go 299"),
    ],
)
def test_places_by_release(version: str, place: str) -> None:
    log, stream = log_of(version)
    log.info("Early log level set to info")
    assert stream.getvalue() == f"2019-12-30 12:50:55.337 [INFO][{os.getpid()}] {place}: Early log level set to info\n"


def test_the_lines_of_a_real_log() -> None:
    """Those of v3.4 to v3.8, with their numbers."""
    lines = {
        "Using NODENAME environment for node name": 272,
        "Determined node name: node-4": 284,
        "Skipping datastore connection test": 97,
        "Using IPv4 address from environment: IP=172.16.200.103": 476,
        "IPv4 address 172.16.200.103 discovered on interface bond0": 509,
        "No AS number configured on node resource, using global value": 647,
        "Setting NetworkUnavailable to False": 149,
        "FELIX_IPV6SUPPORT is false through environment variable": 530,
        "Using node name: node-4": 181,
    }
    log, stream = log_of("3.8")
    for line in lines:
        log.info(line)
    shown = [line.split("] ")[1] for line in stream.getvalue().splitlines()]
    assert shown == [f"startup.go {number}: {line}" for line, number in lines.items()]


def test_errors_stand_without_quotes_and_texts_with() -> None:
    log, stream = log_of("3.20")
    log.error("Unable to query node configuration", error=GoError("context deadline exceeded"), Name="n1")
    assert stream.getvalue().endswith('configuration Name="n1" error=context deadline exceeded\n')


def test_v2_prints_bare_text_and_hides_what_is_no_error() -> None:
    log, stream = log_of("2.6", "error")
    log.introduce()
    log.info("Early log level set to error")
    log.info("Skipping datastore connection test")
    log.info("Node IPv4 changed, will check for conflicts")
    log.debug("Get Key: /calico/v1/host/n1/metadata")
    log.warning("Terminating")
    first, *rest = stream.getvalue().splitlines()
    assert first.startswith("WARNING: Classic mode: this is Tortie, starting as Calico v2.6.0 does, for the lab")
    assert rest == ["Skipping datastore connection test", "Terminating"]


def test_v2_tells_every_read_to_those_who_ask() -> None:
    log, stream = log_of("2.6", "debug")
    log.debug("Get Key: /calico/v1/host/n1/metadata")
    log.info("Building new node resource", Name="n1")
    assert stream.getvalue().splitlines() == [
        'time="2019-12-30T12:50:55Z" level=debug msg="Get Key: /calico/v1/host/n1/metadata" ',
        'time="2019-12-30T12:50:55Z" level=info msg="Building new node resource" Name=n1 ',
    ]


def test_tunnels_have_calicos_names() -> None:
    log, stream = log_of("3.20")
    log.part("tunnel-ip-allocator").info("Assign a new tunnel address", IP="", type="IPIP")
    assert stream.getvalue().endswith(
        'tunnel-ip-allocator/allocateip.go 365: Assign a new tunnel address type="ipipTunnelAddress"\n'
    )
