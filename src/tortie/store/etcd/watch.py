"""Watches: one event stream after another, so that together they miss nothing and repeat nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final

from grpclib.client import Stream
from grpclib.const import Cardinality
from grpclib.exceptions import GRPCError, StreamTerminatedError

from tortie.model.errors import TortieError
from tortie.store.contract import Change, Compacted, Revision
from tortie.store.etcd.client import Client, Metadata
from tortie.store.etcd.connection import Connection, as_rpc_error, ended, isolated, result
from tortie.store.etcd.keys import key_range, text_key
from tortie.store.etcd.refusal import (
    DENIED,
    INVALID_TOKEN,
    PERMISSION_DENIED,
    UNAUTHENTICATED,
    UNAVAILABLE,
    RevisionCompacted,
    RpcError,
)
from tortie.store.etcd.rpc import RANGE, WATCH
from tortie.store.etcd.rpc_pb2 import Event, RangeRequest, WatchCreateRequest, WatchRequest, WatchResponse
from tortie.store.etcd.search import Search
from tortie.store.etcd.trouble import Failed

EventStream = Stream[WatchRequest, WatchResponse]

# A stream that breaks as soon as it is open must not make us spin.
_PAUSE_S: Final = 0.02
# A quiet watch asks whether the member still lives after this part of the time it may be out of reach.
_QUIET_PART: Final = 0.25
# etcd looks for watches that are behind ten times a second.
_CANCELLATION_S: Final = 0.5


async def watch(
    client: Client[Connection], prefix: str, after: Revision, timeout_s: float
) -> AsyncGenerator[Change, None]:
    """`after` moves along: whenever a stream breaks, the next one begins behind what was already given out."""
    doing = f"watch {prefix}"
    search = client.search(doing, timeout_s)
    while True:
        connection = search.candidate()
        try:
            metadata = await client.admission(connection, search)
            async with _opened(connection, metadata, search) as stream:
                await isolated(stream.send_message(_creation(prefix, after)), search.share_s())
                while True:
                    response = await _next_response(stream, connection, search)
                    if response.canceled:
                        raise _cancellation(response, after, search)
                    # Heard: from here on the time out of reach counts anew.
                    client.prefer(search)
                    if response.created and response.header.revision > after:
                        await _make_sure_history_is_whole(client, stream, prefix, after, timeout_s)
                    # All events of a revision come in one response, so between responses `after` is a clean cut.
                    for event in response.events:
                        if event.kv.mod_revision > after:
                            yield _change(event)
                    if response.events:
                        after = response.events[-1].kv.mod_revision
                    elif not response.created:
                        after = max(after, response.header.revision)
                    search = client.search(doing, timeout_s)
        except Failed as failure:
            search.failed(connection, failure.trouble)
        except RpcError as error:
            client.after_refusal(error, connection, search)
        await asyncio.sleep(_PAUSE_S)
        await client.rest(search)


def _creation(prefix: str, after: Revision) -> WatchRequest:
    begin, end = key_range(prefix)
    # Progress notices move `after` along while nothing happens below the prefix, so that compaction stays behind it.
    creation = WatchCreateRequest(key=begin, range_end=end, start_revision=after + 1, progress_notify=True)
    return WatchRequest(create_request=creation)


@asynccontextmanager
async def _opened(connection: Connection, metadata: Metadata, search: Search[Connection]) -> AsyncIterator[EventStream]:
    stream: EventStream = connection.request(
        WATCH.path, Cardinality.STREAM_STREAM, WATCH.request, WATCH.reply, metadata=metadata
    )
    try:
        async with stream:
            yield stream
    except GRPCError as error:
        raise as_rpc_error(error) from error
    except (RpcError, Failed, TortieError):
        raise
    except Exception as error:
        raise Failed(await connection.explain(error, search.share_s(), search.share_s()), sent=False) from error


async def _next_response(stream: EventStream, connection: Connection, search: Search[Connection]) -> WatchResponse:
    """Waits for as long as the member shows signs of life; `Failed` when it does not."""
    quiet_s = search.timeout_s * _QUIET_PART
    receiving = asyncio.ensure_future(stream.recv_message())
    try:
        while not receiving.done():
            await asyncio.wait((receiving,), timeout=quiet_s)
            if not receiving.done():
                await connection.make_sure_it_answers(search.share_s(), trusted_s=quiet_s)
                search.restart()
        response = result(receiving)
    finally:
        await ended(receiving)
    if response is None:
        # grpclib exchanges this for the status that came with the end, if one did.
        raise StreamTerminatedError("etcd ended the watch")
    return response


def _cancellation(response: WatchResponse, after: Revision, search: Search[Connection]) -> Exception:
    if response.compact_revision:
        return Compacted(after, response.compact_revision)
    reason = response.cancel_reason
    if PERMISSION_DENIED in reason:
        # etcd gives this reason for a token that grew old, too; only with a new one it is to be believed.
        return RpcError(*(_DENIED if search.token_renewed else _OLD_TOKEN))
    return RpcError(UNAVAILABLE, reason or "the watch was cancelled")


_DENIED: Final = (DENIED, PERMISSION_DENIED)
_OLD_TOKEN: Final = (UNAUTHENTICATED, INVALID_TOKEN)


async def _make_sure_history_is_whole(
    client: Client[Connection], stream: EventStream, prefix: str, after: Revision, timeout_s: float
) -> None:
    """etcd 3.4.23 lets a watch begin at the compacted revision itself, whose deletions are gone."""
    if after == 0:
        return  # nothing was ever written at revision 1
    begin, _ = key_range(prefix)
    request = RangeRequest(key=begin, revision=after, count_only=True)
    try:
        await client.read(RANGE, request, f"watch {prefix}", timeout_s)
    except RevisionCompacted:
        raise Compacted(after, await _oldest_kept(stream, after)) from None


async def _oldest_kept(stream: EventStream, after: Revision) -> Revision:
    """etcd's cancellation, which tells it, is on its way, unless the hole is just one revision wide."""
    with suppress(Exception):
        response = await isolated(stream.recv_message(), _CANCELLATION_S)
        if response is not None and response.compact_revision:
            return response.compact_revision
    return after + 1


def _change(event: Event) -> Change:
    value = None if event.type == Event.DELETE else event.kv.value
    return Change(text_key(event.kv.key), value, event.kv.mod_revision)
