"""Cut the registration anywhere, start again: the datastore ends up the same as without the cut."""

from __future__ import annotations

import asyncio
import io
import itertools
import json
import re
from collections.abc import Sequence
from ipaddress import IPv6Network, ip_interface, ip_network
from pathlib import Path
from typing import Any

import pytest
from tests.support.cli import key_of, node

from tortie.health.health import Health
from tortie.model.network import Address, HostNetwork, Interface, Route
from tortie.node.converge import Converger, Identity
from tortie.node.log import Log
from tortie.node.machine import Machine
from tortie.node.phases import Phases
from tortie.node.registration import Stamp
from tortie.node.settings import read_node_settings
from tortie.store.contract import TIMEOUT_S, Operation, Put, Revision, Store, Unauthorized
from tortie.store.embedded import EmbeddedStore

NETWORK = HostNetwork(
    (Interface(2, "eth0", addresses=(Address(ip_interface("10.0.0.1/24")),)),), (Route(ip_network("0.0.0.0/0"), 2),)
)
ENVIRONMENT = {"NODENAME": "n1", "CLUSTER_TYPE": "k8s", "IP6": "none"}


class Killed(BaseException):
    """What the rest of a process notices of kill -9: nothing."""


class CutStore:
    """A store that takes only so many writes, and is perhaps cut before the last is acknowledged.

    `singly`: it takes no commit of several objects, as an etcd user with few rights experiences it.
    """

    def __init__(self, store: Store, writes: int, *, acknowledged: bool = True, singly: bool = False) -> None:
        self._store = store
        self._left = writes
        self._acknowledged = acknowledged
        self._singly = singly

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def commit(self, operations: Sequence[Operation], *, timeout_s: float = TIMEOUT_S) -> Revision:
        if self._singly and len(operations) > 1:
            raise Unauthorized("not permitted", "this user may not write all of it", "")
        if self._left == 0:
            raise Killed
        self._left -= 1
        revision = await self._store.commit(operations, timeout_s=timeout_s)
        if self._left == 0 and not self._acknowledged:
            raise Killed
        return revision


async def start(store: Any) -> None:
    identifiers = itertools.count()
    await Converger(
        Identity("n1", machine="aaaa"),
        read_node_settings(ENVIRONMENT).settings,
        store=store,
        machine=Machine(observe=lambda: NETWORK),
        phases=Phases(Health(lambda: 0.0)),
        log=Log(io.StringIO()),
        stamp=Stamp(lambda: "2026-11-16T00:00:00Z", lambda: f"uid-{next(identifiers)}"),
        random_ula=lambda: IPv6Network("fd00::/48"),
        kernel_news=lambda _: asyncio.sleep(0, True),
    ).attempt()


def ended(store: Store) -> Any:
    """Everything stored, without what differs between any two runs."""

    async def read() -> dict[str, Any]:
        listing = await store.scan("")
        return {
            entry.key: json.loads(re.sub(rb'"uid-?\d+"|"uid\d+"', b'"uid"', entry.value)) for entry in listing.entries
        }

    return asyncio.run(read())


@pytest.mark.parametrize("singly", [False, True])
@pytest.mark.parametrize("acknowledged", [False, True])
@pytest.mark.parametrize("busy", [False, True])
def test_every_cut_leads_to_the_same_end(tmp_path: Path, singly: bool, acknowledged: bool, busy: bool) -> None:
    def fresh(name: str) -> EmbeddedStore:
        store = EmbeddedStore(tmp_path / name)
        if busy:  # a cluster that others have begun
            felix = {
                "kind": "FelixConfiguration",
                "metadata": {"name": "default"},
                "spec": {"logSeverityScreen": "Debug"},
            }
            puts = [
                Put(key_of("nodes", "n2"), json.dumps(node("n2", "10.0.0.2/24")).encode()),
                Put(key_of("nodes", "n1"), json.dumps(node("n1", "10.0.0.9/24")).encode()),
                Put(key_of("felixconfigurations", "default"), json.dumps(felix).encode()),
            ]
            asyncio.run(store.commit(puts))
        return store

    whole = fresh("whole.db")
    asyncio.run(start(CutStore(whole, 1000, singly=singly)))
    wanted = ended(whole)
    asyncio.run(whole.close())
    assert key_of("nodes", "n1") in wanted
    cuts = 0
    for writes in itertools.count():
        store = fresh(f"cut-{writes}.db")
        try:
            asyncio.run(start(CutStore(store, writes, acknowledged=acknowledged, singly=singly)))
            finished = True
        except Killed:
            finished = False
        asyncio.run(start(store))
        assert ended(store) == wanted, f"cut after {writes} writes"
        asyncio.run(store.close())
        if finished:
            break
        cuts += 1
    assert cuts >= (5 if singly else 1)
