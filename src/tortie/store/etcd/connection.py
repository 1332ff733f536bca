"""One endpoint's HTTP/2 connection: grpclib's channel, and what it does not tell by itself."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from grpclib.client import Channel, Handler
from grpclib.config import Configuration
from grpclib.const import Cardinality
from grpclib.exceptions import GRPCError
from grpclib.protocol import H2Protocol

from tortie.model.errors import UsageError
from tortie.store.etcd.client import Metadata
from tortie.store.etcd.config import Endpoint, EtcdConfig
from tortie.store.etcd.diagnosis import diagnose
from tortie.store.etcd.refusal import RpcError
from tortie.store.etcd.resolving import Resolver
from tortie.store.etcd.rpc import AUTHENTICATE, STATUS, Reply, Request, Rpc
from tortie.store.etcd.rpc_pb2 import AuthenticateRequest, StatusRequest
from tortie.store.etcd.tls import make_context, read_credentials
from tortie.store.etcd.trouble import (
    Failed,
    Trouble,
    is_about_connecting,
    no_answer,
    no_name,
    of_connection_error,
)

T = TypeVar("T")

# A connection that was silent for longer may be dead without knowing it: ask before trusting it with a request.
_TRUSTED_S = 3.0
# While data arrive at intervals shorter than this, the other side is at work.
_FLOWING_S = 0.5
# Requests of one caller that may be on their way together.
_SIDE_BY_SIDE = 128
# How much etcd may send before it must hear that we have read it: beyond that every portion costs a round trip. All
# nodes of a large cluster fit a stream; a watch that nobody reads cannot use up what the others need.
_WINDOWS = Configuration(http2_stream_window_size=16 * 2**20, http2_connection_window_size=64 * 2**20)


class _Protocol(H2Protocol):
    """Remembers when the other side was last heard."""

    heard_at: float | None = None
    transport: asyncio.BaseTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        super().connection_made(transport)

    def data_received(self, data: bytes) -> None:
        self.heard_at = time.monotonic()
        super().data_received(data)

    def connection_lost(self, exc: BaseException | None) -> None:
        self.transport = None
        super().connection_lost(exc)


class Connection(Channel):
    """Connects when first used, and again after it broke. Must be made inside the event loop that uses it."""

    def __init__(self, endpoint: Endpoint, config: EtcdConfig) -> None:
        super().__init__(endpoint.host, endpoint.port, config=_WINDOWS)
        self.endpoint = endpoint
        self._etcd_config = config
        self._scheme = endpoint.scheme
        self._resolver = Resolver(endpoint.host)
        self._latest: _Protocol | None = None
        self._retired = False

    async def call(
        self,
        rpc: Rpc[Request, Reply],
        request: Request,
        metadata: Metadata,
        limit_s: float,
        longest_s: float | None = None,
    ) -> Reply:
        sent = False
        began = time.monotonic()
        until = began + (longest_s or limit_s)

        def extension_s() -> float:
            return min(_FLOWING_S, until - time.monotonic()) if self.silent_s() < _FLOWING_S else 0.0

        async def exchange() -> Reply:
            nonlocal sent
            # The socket first: a server that has hung up meanwhile must not be sent a write.
            await asyncio.sleep(0)
            async with self.request(
                rpc.path, Cardinality.UNARY_UNARY, rpc.request, rpc.reply, metadata=metadata
            ) as stream:
                await stream.send_request()
                sent = True
                await stream.send_message(request, end=True)
                reply = await stream.recv_message()
            if reply is None:
                raise ConnectionResetError("the reply was empty")
            return reply

        try:
            return await isolated(exchange(), limit_s, extension_s)
        except GRPCError as error:
            raise as_rpc_error(error) from error
        except Exception as error:
            left_s = began + limit_s - time.monotonic()
            raise Failed(await self.explain(error, limit_s, left_s), sent=sent) from error

    async def call_each(
        self,
        rpc: Rpc[Request, Reply],
        requests: Sequence[Request],
        metadata: Metadata,
        limit_s: float,
        meanwhile: object = None,  # noqa: ARG002 - that is what an event loop is for
    ) -> list[Reply | RpcError | Failed]:
        places = asyncio.Semaphore(_SIDE_BY_SIDE)
        until = time.monotonic() + limit_s

        async def one(request: Request) -> Reply | RpcError | Failed:
            async with places:
                try:
                    return await self.call(rpc, request, metadata, until - time.monotonic())
                except (RpcError, Failed) as error:
                    return error

        return await asyncio.gather(*map(one, requests))

    async def authenticate(self, user: str, password: str, limit_s: float) -> str:
        reply = await self.call(AUTHENTICATE, AuthenticateRequest(name=user, password=password), (), limit_s)
        return reply.token

    async def make_sure_it_answers(self, limit_s: float, *, trusted_s: float = _TRUSTED_S) -> None:
        if self.silent_s() < trusted_s:
            return
        began = time.monotonic()
        try:
            await self.call(STATUS, StatusRequest(), (), limit_s)
        except RpcError:
            pass  # refusing to tell is an answer too
        except Failed as failed:
            if self.silent_s() > time.monotonic() - began:
                self.drop()
            raise Failed(failed.trouble, sent=False) from failed

    @property
    def is_new(self) -> bool:
        return self._latest is None or self._latest.transport is None

    def silent_s(self) -> float:
        """For how long nothing was heard on the present connection."""
        if self._latest is None or self._latest.transport is None or self._latest.heard_at is None:
            return float("inf")
        return time.monotonic() - self._latest.heard_at

    async def explain(self, error: Exception, limit_s: float, left_s: float) -> Trouble:
        """Puts into words why an attempt failed; where the error does not say, asks again while there is time left."""
        if isinstance(error, TimeoutError):
            if self._resolver.is_waiting:
                return no_name(self.endpoint.host, f"within {limit_s:.1f} s")
            return no_answer(limit_s)
        if isinstance(error, UsageError):
            return Trouble(str(error), error.fix)
        if self._retired:
            return Trouble("the datastore was closed", lasting=True)
        never_heard = self._latest is None or self._latest.heard_at is None
        if never_heard and not is_about_connecting(error):
            trouble = await diagnose(self.endpoint, self._etcd_config, left_s)
            if trouble is not None:
                return trouble
        return of_connection_error(error, self.endpoint)

    def drop(self) -> None:
        """Closes without waiting for the other side, which may be gone."""
        transport = self._latest.transport if self._latest else None
        if isinstance(transport, asyncio.WriteTransport):
            transport.abort()
        self._latest = None
        self.close()

    def retire(self) -> None:
        """Closes for good."""
        self._retired = True
        self.drop()

    @property
    def _connected(self) -> bool:
        protocol = self._protocol
        return super()._connected and protocol is not None and not protocol.connection.is_closing()

    async def _connect_to(self, address: str) -> _Protocol:
        host = self.endpoint.host if self.endpoint.secure else None
        _, protocol = await self._loop.create_connection(
            self._protocol_factory, address, self.endpoint.port, ssl=self._ssl, server_hostname=host
        )
        return protocol

    def _protocol_factory(self) -> _Protocol:
        self._latest = _Protocol(Handler(), self._config, self._h2_config)
        return self._latest

    async def _create_connection(self) -> H2Protocol:
        # Read anew each time: certificates are renewed while we run.
        self._ssl = make_context(read_credentials(self._etcd_config)) if self.endpoint.secure else None
        protocol = await self._resolver.connected(self._connect_to)
        self._latest = protocol
        if self._retired:
            self.drop()
            raise ConnectionResetError("the datastore was closed meanwhile")
        return protocol


def as_rpc_error(error: GRPCError) -> RpcError:
    return RpcError(error.status.value, error.message or "")


class Turn:
    """One at a time."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()

    @asynccontextmanager
    async def __call__(self, limit_s: float) -> AsyncIterator[None]:
        async with asyncio.timeout(limit_s), self._lock:
            yield


async def isolated(work: Coroutine[Any, Any, T], limit_s: float, extension_s: Callable[[], float] = lambda: 0.0) -> T:
    """Runs grpclib's code in a task of its own; `TimeoutError` when the limit is over and is not extended.

    grpclib wakes a waiting task by cancelling it. Done to our caller's task that would upset its timeouts and task
    groups, and a real cancellation at the same moment would be lost.
    """
    task = asyncio.ensure_future(work)
    try:
        while limit_s > 0:
            await asyncio.wait((task,), timeout=limit_s)
            if task.done():
                return result(task)
            limit_s = extension_s()
        raise TimeoutError
    finally:
        await ended(task)


def result(task: asyncio.Future[T]) -> T:
    if task.cancelled():
        raise ConnectionResetError("the connection was closed")
    return task.result()


async def ended(task: asyncio.Future[Any]) -> None:
    """Cancels the task unless it is done, and sees it out; what it still has to say is of no interest."""
    if not task.done():
        task.cancel()
        await asyncio.wait((task,))
    if not task.cancelled():
        task.exception()
