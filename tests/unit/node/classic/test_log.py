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
        ("3.13", "startup.go 309"),
        ("3.14", "startup/startup.go 386"),
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


def test_v2_says_in_several_lines_what_later_became_one() -> None:
    log, stream = log_of("2.6", "error")
    log.warning("Couldn't autodetect an IPv4 address. If auto-detecting, choose a different autodetection method.")
    log.warning("Calico node 'n2' is already using the IPv4 address 10.0.0.1.")
    log.warning("IPv4 address has changed. This could happen", node="n1", original="10.0.0.9", updated="10.0.0.1")
    log.error("The AS number specified in the environment (AS=x) is not valid", error=GoError("invalid AS (x)"))
    log.warning("Unable to auto-detect an IPv4 address: no valid host interfaces found")
    assert stream.getvalue().splitlines() == [
        "ERROR: Couldn't autodetect a management IPv4 address:",
        "  -  provide an IPv4 address by configuring one in the node resource, or",
        "  -  provide an IPv4 address using the IP environment, or",
        "  -  if auto-detecting, use a different autodetection method.",
        "Calico node 'n2' is already using the IPv4 address 10.0.0.1:",
        " -  Check the node configuration to remove the IP address conflict",
        "WARNING: Calico node 'n1' IPv4 address has changed:",
        " -  This could happen if multiple nodes are configured with the same name",
        " -  Original IP: 10.0.0.9",
        " -  Updated IP: 10.0.0.1",
        "ERROR: The AS number specified in the environment (AS=x) is not valid: invalid AS (x)",
        "WARNING: Unable to auto-detect an IPv4 address: no valid host interfaces found",
    ]


@pytest.mark.parametrize(
    ("version", "files"),
    [
        ("3.17", ["startup.go", "startup.go", "startup.go"]),
        ("3.20", ["utils.go", "startup.go", "startup.go"]),
        ("3.28", ["utils.go", "autodetection_methods.go", "winutils.go"]),
    ],
)
def test_what_moved_into_a_file_of_its_own(version: str, files: list[str]) -> None:
    log, stream = log_of(version)
    log.warning("Terminating")
    log.info("Using autodetected IPv4 address on interface eth0: 10.0.0.1/24")
    log.warning("Neither --kubeconfig" if version == "3.28" else "Couldn't autodetect")
    assert [line.split("startup/")[1].split()[0] for line in stream.getvalue().splitlines()] == files


def test_tunnels_have_calicos_names() -> None:
    log, stream = log_of("3.20")
    log.part("tunnel-ip-allocator").info("Assign a new tunnel address", IP="", type="IPIP")
    assert stream.getvalue().endswith(
        'tunnel-ip-allocator/allocateip.go 365: Assign a new tunnel address type="ipipTunnelAddress"\n'
    )
