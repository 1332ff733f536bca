"""Whose a handle is that can be read in two ways; records that cannot be finished; names that no interface can have."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest
from tests.unit.cni.test_cni_requests import request

from tortie.cni.errors import CniError
from tortie.cni.finishing import Finishing
from tortie.cni.invocation import Invocation, read_request
from tortie.cni.leftovers import attachment_of
from tortie.cni.means import Means, Standing
from tortie.cni.pending import Pending

HEX = "ab" * 32
UUID = "8f14e45f-ceea-467f-a0e6-8a1b2c3d4e5f"


@pytest.mark.parametrize(
    ("handle", "network", "expected"),
    [
        (f"net.{HEX}", "net", (HEX, "eth0")),
        (f"net.{HEX}.net1", "net", (HEX, "net1")),
        (f"net.{UUID}.eth0.100", "net", (UUID, "eth0.100")),
        ("net.short", "net", ("short", "eth0")),
        (f"net.blue.{HEX}", "net", None),
        (f"net.blue.{HEX}", "net.blue", (HEX, "eth0")),
        ("net.blue.xcont", "net", None),
        ("net.a-long-name-of-a-network.xcont", "net", None),
        ("net.blue.xcont", "net.blue", ("xcont", "eth0")),
    ],
)
def test_whose_a_handle_is(handle: str, network: str, expected: tuple[str, str] | None) -> None:
    assert attachment_of(handle, network, {}) == expected


def test_a_container_that_has_an_endpoint_wins() -> None:
    known = {"xcont": ("xcont", "eth0"), "blue.dotted": ("blue.dotted", "eth0")}
    assert attachment_of("net.blue.xcont", "net", known) is None
    assert attachment_of("net.blue.xcont", "net.blue", known) == ("xcont", "eth0")
    assert attachment_of("net.blue.dotted", "net", known) == ("blue.dotted", "eth0")
    assert attachment_of("net.blue.dotted", "net.blue", known) is None


@pytest.mark.parametrize("name", ["lo", ".", "..", "a b", "a\tb", "a\nb", "a\x01b", "a/b", "a:b", "eth%d", "x" * 16])
@pytest.mark.parametrize("command", ["ADD", "DEL"])
def test_names_that_no_interface_of_a_pod_can_have(name: str, command: str) -> None:
    with pytest.raises(CniError) as found:
        read_request(request(CNI_COMMAND=command, CNI_IFNAME=name))
    assert found.value.number == 4


def test_what_cannot_be_finished_is_told_once_and_tried_less_and_less_often(tmp_path: Path) -> None:
    """Whatever goes wrong: here there is no store at all."""
    said: list[str] = []
    nobody = cast("Any", None)
    means = Means(
        *("node-1", nobody, nobody, lambda: datetime.now(UTC), str, str, str(tmp_path), "cali"),
        *(said.append, said.append, Standing, Pending(str(tmp_path))),
    )
    (tmp_path / "one").write_bytes(request(b'{"cniVersion":"1.0.0","name":"n"}', CNI_COMMAND="DEL"))
    tried: list[float] = []
    now = 0.0

    def clock() -> float:
        return now

    @asynccontextmanager
    async def watched(_: Invocation) -> AsyncIterator[None]:
        tried.append(now)
        yield

    finishing = Finishing(means, watched, clock)
    for second in range(0, 160, 5):
        now = float(second)
        assert asyncio.run(finishing.finish()) == 1
    assert tried == [0, 10, 30, 70, 150]
    assert len(said) == 1
    assert "AttributeError" in said[0]
