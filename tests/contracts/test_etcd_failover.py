"""One endpoint in trouble is not the datastore in trouble."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Self

import pytest
from tests.support.etcd_server import free_port, running_etcd
from tests.support.stores import CompactableStore

from tortie.store.contract import ABSENT, Entry, Unreachable, put
from tortie.store.etcd import EtcdConfig

Opened = Callable[..., CompactableStore]


@pytest.fixture
def opened(etcd_client: Callable[[EtcdConfig], CompactableStore]) -> Opened:
    return lambda *endpoints: etcd_client(EtcdConfig(endpoints=endpoints))


@contextmanager
def black_hole() -> Iterator[str]:
    """An address where connecting gets no answer at all, as behind a firewall that drops packets."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        address = listener.getsockname()
        # Once its queue is full, Linux drops further connection requests.
        fillers = []
        try:
            for _ in range(3):
                filler = socket.socket()
                filler.setblocking(False)
                filler.connect_ex(address)
                fillers.append(filler)
            yield f"http://127.0.0.1:{address[1]}"
        finally:
            for filler in fillers:
                filler.close()


def test_a_dead_first_endpoint_is_passed_over_for_reads_and_writes(opened: Opened) -> None:
    async def scenario(alive: str) -> None:
        store = opened(f"http://127.0.0.1:{free_port()}", alive)
        try:
            await put(store, "/a", b"1", expecting=ABSENT)
            entry = await store.get("/a")
            assert entry is not None
            assert entry.value == b"1"
        finally:
            await store.close()

    with running_etcd() as etcd:
        asyncio.run(scenario(etcd.endpoint))


def test_a_black_holed_first_endpoint_does_not_eat_the_deadline(opened: Opened) -> None:
    async def scenario(hole: str, alive: str) -> None:
        store = opened(hole, alive)
        try:
            await put(store, "/a", b"1", expecting=ABSENT, timeout_s=6)
            assert await store.get("/a", timeout_s=6) is not None
        finally:
            await store.close()

    with black_hole() as hole, running_etcd() as etcd:
        asyncio.run(scenario(hole, etcd.endpoint))


def test_a_hanging_first_endpoint_is_left_for_the_next_and_no_write_is_in_doubt(opened: Opened) -> None:
    """Its kernel still takes connections, so only asking shows that nobody is at home."""

    async def scenario(hanging: str, alive: str) -> None:
        store = opened(hanging, alive)
        try:
            await put(store, "/a", b"1", expecting=ABSENT, timeout_s=6)
            assert await store.get("/a", timeout_s=6) is not None
        finally:
            await store.close()

    with running_etcd() as hanging, running_etcd() as alive:
        hanging.pause()
        asyncio.run(scenario(hanging.endpoint, alive.endpoint))


def test_an_endpoint_that_answered_is_kept_for_the_next_call(opened: Opened) -> None:
    """Two servers that know nothing of each other: what was written tells which one was asked."""

    async def scenario() -> None:
        store = opened(first.endpoint, second.endpoint)
        try:
            first.stop()
            await put(store, "/a", b"1")
            first.start()
            await put(store, "/b", b"2")
            assert len((await store.scan("/")).entries) == 2
        finally:
            await store.close()

    with running_etcd() as first, running_etcd() as second:
        asyncio.run(scenario())
        assert first.etcdctl("get", "--prefix", "/", "--keys-only") == b""


def test_an_endpoint_that_dies_in_the_middle_is_replaced_by_the_next(opened: Opened) -> None:
    async def scenario(first: str, second: str) -> None:
        store = opened(first, second)
        try:
            await put(store, "/who", b"first")
            doomed.stop()
            assert await store.get("/who") is None
            await put(store, "/who", b"second", expecting=ABSENT)
        finally:
            await store.close()

    with running_etcd() as doomed, running_etcd() as heir:
        asyncio.run(scenario(doomed.endpoint, heir.endpoint))


def test_a_server_that_comes_back_within_the_deadline_is_waited_for(opened: Opened) -> None:
    async def scenario() -> None:
        store = opened(etcd.endpoint)
        try:
            await put(store, "/a", b"1")
            etcd.stop()
            reading = asyncio.create_task(store.get("/a", timeout_s=20))
            writing = asyncio.create_task(put(store, "/b", b"2", timeout_s=20))
            await asyncio.sleep(0.2)
            assert not reading.done()
            await asyncio.to_thread(etcd.start)
            entry = await reading
            assert entry is not None
            assert entry.value == b"1"
            assert await writing == entry.revision + 1
        finally:
            await store.close()

    with running_etcd() as etcd:
        asyncio.run(scenario())


def test_unreachable_names_every_endpoint_and_what_happened_there(opened: Opened) -> None:
    async def scenario(refusing: str, hole: str) -> Unreachable:
        store = opened(refusing.replace("//", "//root:secret@"), hole)
        try:
            with pytest.raises(Unreachable) as caught:
                # Every endpoint's last attempt must have had time for what it shows.
                await store.get("/a", timeout_s=3)
            return caught.value
        finally:
            await store.close()

    refusing = f"http://127.0.0.1:{free_port()}"
    with black_hole() as hole:
        error = asyncio.run(scenario(refusing, hole))
        assert error.what == f"datastore unreachable: etcd {refusing},{hole} gave no answer to read /a within 3.0 s"
        assert f"{refusing}: connection refused" in error.why
        assert f"{hole}: no answer within" in error.why
        assert "see whether etcd runs there" in error.fix
        assert "secret" not in f"{error} {error.fix} {error.where}"
        assert not error.uncertain


def test_a_hanging_server_ends_calls_at_their_deadline_and_leaves_a_sent_write_in_doubt(opened: Opened) -> None:
    async def scenario() -> None:
        store = opened(etcd.endpoint)
        try:
            await put(store, "/a", b"1")
            etcd.pause()
            with pytest.raises(Unreachable) as writing:
                await put(store, "/a", b"2", timeout_s=0.7)
            with pytest.raises(Unreachable) as reading:
                await store.get("/a", timeout_s=0.7)
            assert reading.value.tried_s <= 0.7
            assert "no answer" in reading.value.why
            assert not reading.value.uncertain
            assert writing.value.uncertain
            assert "may or may not have happened" in writing.value.why
            etcd.resume()
            entry = await store.get("/a")
            assert entry is not None
            assert entry.value in (b"1", b"2")
        finally:
            await store.close()

    with running_etcd() as etcd:
        asyncio.run(scenario())


def test_a_write_that_never_left_is_not_in_doubt(opened: Opened) -> None:
    async def scenario(hole: str) -> None:
        store = opened(f"http://127.0.0.1:{free_port()}", hole)
        try:
            with pytest.raises(Unreachable) as caught:
                await put(store, "/a", b"1", timeout_s=0.5)
            assert not caught.value.uncertain
        finally:
            await store.close()

    with black_hole() as hole:
        asyncio.run(scenario(hole))


def test_a_write_whose_answer_is_lost_is_not_made_twice(opened: Opened) -> None:
    async def scenario() -> None:
        async with Line(etcd.port) as line:
            store = opened(line.endpoint, etcd.endpoint)
            try:
                first = await put(store, "/a", b"1")
                line.cut_next_answer = True
                with pytest.raises(Unreachable) as caught:
                    await put(store, "/a", b"2")
                assert caught.value.uncertain
                assert await store.get("/a") == Entry("/a", b"2", first + 1)
            finally:
                await store.close()

    with running_etcd() as etcd:
        asyncio.run(scenario())


def test_a_read_whose_answer_is_lost_is_asked_again(opened: Opened) -> None:
    async def scenario() -> None:
        async with Line(etcd.port) as line:
            store = opened(line.endpoint, etcd.endpoint)
            try:
                revision = await put(store, "/a", b"1")
                line.cut_next_answer = True
                assert await store.get("/a") == Entry("/a", b"1", revision)
                assert not line.cut_next_answer
            finally:
                await store.close()

    with running_etcd() as etcd:
        asyncio.run(scenario())


def test_a_reply_that_arrives_slowly_is_waited_for(opened: Opened) -> None:
    """Over a thin line a scan takes longer than one endpoint may be silent; it is not silent."""

    async def scenario() -> None:
        writer = opened(etcd.endpoint)
        async with Line(etcd.port, bytes_per_s=700_000) as line:
            # One of four may be silent for a fifth of the time: less than all of it takes, and there is much left.
            reader = opened(line.endpoint, *(f"http://127.0.0.1:{free_port()}" for _ in range(3)))
            try:
                for number in range(5):
                    await put(writer, f"/{number}", b"x" * 500_000)
                assert len((await reader.scan("/", timeout_s=15)).entries) == 5
            finally:
                await writer.close()
                await reader.close()

    with running_etcd() as etcd:
        asyncio.run(scenario())


class Line:
    """A line to the server that can be thin, or be cut when an answer comes."""

    def __init__(self, port: int, bytes_per_s: int = 1_000_000_000) -> None:
        self.cut_next_answer = False
        self._port = port
        self._portion = max(1, bytes_per_s // 50)
        self._pause_s = 0.02 if bytes_per_s < 1_000_000_000 else 0.0
        self._carrying: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.endpoint = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._carrying:
            task.cancel()
        await asyncio.gather(*self._carrying, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._carrying.add(asyncio.create_task(self._carry(reader, writer)))

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server_reader, server_writer = await asyncio.open_connection("127.0.0.1", self._port)
        asking = asyncio.create_task(self._ask(reader, server_writer))
        try:
            while data := await server_reader.read(self._portion):
                # Only an answer is as long as this; the rest are HTTP/2's acknowledgements.
                if self.cut_next_answer and len(data) > 60:
                    self.cut_next_answer = False
                    return
                writer.write(data)
                await writer.drain()
                await asyncio.sleep(self._pause_s)
        finally:
            asking.cancel()
            for end in (writer, server_writer):
                end.transport.abort()

    async def _ask(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65_536):
            writer.write(data)
