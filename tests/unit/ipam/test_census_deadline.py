"""A store that is not there: whoever wants to see all of it is told after the usual time, not after the long one."""

from __future__ import annotations

import asyncio
import socket

import pytest

from tortie.ipam import census
from tortie.store.contract import Unreachable
from tortie.store.etcd import EtcdConfig, EtcdStore


@pytest.mark.timeout(60)
def test_a_store_that_does_not_answer_is_told_after_the_usual_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(census, "TIMEOUT_S", 0.3)

    async def scenario(port: int) -> None:
        store = EtcdStore(EtcdConfig(endpoints=(f"http://127.0.0.1:{port}",)))
        try:
            with pytest.raises(Unreachable):
                await census.take_census(store)
        finally:
            await store.close()

    # Taken, but nobody listens.
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        asyncio.run(scenario(held.getsockname()[1]))
