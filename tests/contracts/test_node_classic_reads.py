"""What a start in classic mode asks of the datastore: in the etcdv2 model, six reads for every node there is."""

from __future__ import annotations

import asyncio
import io
import json

import pytest
from tests.support.cli import key_of, node
from tests.support.stores import Open

from tortie.node.classic.log import ClassicLog
from tortie.node.classic.reading import ClassicReader
from tortie.node.classic.release import read_release
from tortie.node.picture import NODES
from tortie.store.contract import put
from tortie.store.metered import Metered

NAMES = ("classic-b", "classic-a", "classic-c")


def asked(open_store: Open, version: str, level: str = "info") -> tuple[list[str], int, str]:
    """The requests of a conflict check, how many nodes there are, and what the log says."""
    requests: list[str] = []
    stream = io.StringIO()

    async def whole() -> int:
        store = open_store()
        try:
            for number, name in enumerate(NAMES):
                await put(store, key_of("nodes", name), json.dumps(node(name, f"10.0.0.{number + 1}/24")).encode())
            count = len((await store.scan(NODES)).entries)
            metered = Metered(store, on_request=lambda op, _seconds, _error: requests.append(op))
            await ClassicReader(metered, ClassicLog(stream, read_release(version), level=level)).everybody()
            return count
        finally:
            await store.close()

    return requests, asyncio.run(whole()), stream.getvalue()


def test_the_etcdv2_model_reads_one_and_six_for_every_node(open_store: Open) -> None:
    requests, count, log = asked(open_store, "2.6", "debug")
    assert len(requests) == 1 + 6 * count
    assert requests == ["scan", *["get"] * (6 * count)]
    keys = [line.split("Get Key: ")[1].rstrip('" ') for line in log.splitlines() if "Get Key: " in line]
    of_ours = [key for key in keys if "/classic-a/" in key]
    assert of_ours == [
        "/calico/bgp/v1/host/classic-a/ip_addr_v4",
        "/calico/bgp/v1/host/classic-a/network_v4",
        "/calico/bgp/v1/host/classic-a/ip_addr_v6",
        "/calico/bgp/v1/host/classic-a/network_v6",
        "/calico/bgp/v1/host/classic-a/as_num",
        "/calico/v1/host/classic-a/orchestrator_refs",
    ]
    hosts = [key.split("/host/")[1].split("/")[0] for key in keys[::6]]
    assert hosts == sorted(hosts)
    assert log.count("Key not found error") == 6 * count


def test_by_default_nothing_is_said_of_them(open_store: Open) -> None:
    assert asked(open_store, "2.6", "error")[2] == ""


@pytest.mark.parametrize("version", ["3.9", "3.20", "3.28"])
def test_later_models_read_all_nodes_at_once(open_store: Open, version: str) -> None:
    assert asked(open_store, version)[0] == ["scan"]
