"""etcd's messages as protobuf's library makes and reads them."""

from __future__ import annotations

from collections.abc import Sequence

from tortie.store.contract import Absent, Entry, Operation, Put, Revision, Tally
from tortie.store.etcd.keys import text_key
from tortie.store.etcd.keyvalues import RangeReply, TxnReply
from tortie.store.etcd.rpc import COMPACT, RANGE, TXN
from tortie.store.etcd.rpc_pb2 import (
    CompactionRequest,
    Compare,
    DeleteRangeRequest,
    KeyValue,
    PutRequest,
    RangeRequest,
    RangeResponse,
    RequestOp,
    TxnRequest,
    TxnResponse,
)


class Messages:
    range = RANGE
    txn = TXN
    compact = COMPACT

    def range_request(self, begin: bytes, end: bytes, limit: int, revision: Revision) -> RangeRequest:
        return RangeRequest(key=begin, range_end=end, limit=limit, revision=revision)

    def range_reply(self, reply: RangeResponse) -> RangeReply:
        return RangeReply(_entries(reply.kvs), reply.header.revision, reply.more)

    def reading(self, ranges: Sequence[tuple[bytes, bytes]]) -> TxnRequest:
        wanted = [RangeRequest(key=begin, range_end=end) for begin, end in ranges]
        return TxnRequest(success=[RequestOp(request_range=each) for each in wanted])

    def counting(self, ranges: Sequence[tuple[bytes, bytes]], first: int) -> TxnRequest:
        wanted = [RangeRequest(key=begin, range_end=end, limit=first, keys_only=True) for begin, end in ranges]
        return TxnRequest(success=[RequestOp(request_range=each) for each in wanted])

    def tallies(self, reply: TxnResponse) -> list[Tally]:
        found = [response.response_range for response in reply.responses]
        return [Tally(each.count, tuple(text_key(kv.key) for kv in each.kvs)) for each in found]

    def writing(self, operations: Sequence[Operation], guarded: Sequence[Operation]) -> TxnRequest:
        return TxnRequest(
            compare=[_comparison(operation) for operation in guarded],
            success=[_request(operation) for operation in operations],
            failure=[RequestOp(request_range=RangeRequest(key=operation.key.encode())) for operation in guarded],
        )

    def txn_reply(self, reply: TxnResponse) -> TxnReply:
        ranges = [_entries(each.response_range.kvs) for each in reply.responses]
        return TxnReply(reply.succeeded, reply.header.revision, ranges)

    def compaction(self, revision: Revision) -> CompactionRequest:
        return CompactionRequest(revision=revision)


def _comparison(operation: Operation) -> Compare:
    key = operation.key.encode()
    if isinstance(operation.expecting, Absent):
        return Compare(target=Compare.CREATE, key=key, create_revision=0)
    # For etcd a missing key has revision 0; for us expecting a revision means expecting the key to be there.
    return Compare(target=Compare.MOD, key=key, mod_revision=operation.expecting or -1)


def _request(operation: Operation) -> RequestOp:
    key = operation.key.encode()
    if isinstance(operation, Put):
        return RequestOp(request_put=PutRequest(key=key, value=operation.value))
    return RequestOp(request_delete_range=DeleteRangeRequest(key=key))


def _entries(kvs: Sequence[KeyValue]) -> list[Entry]:
    """What `_entry` does, at half its price: it is a good part of what a scan costs."""
    make = tuple.__new__
    try:
        return [make(Entry, (kv.key.decode(), kv.value, kv.mod_revision)) for kv in kvs]
    except UnicodeDecodeError:
        return [_entry(kv) for kv in kvs]  # names the key to blame


def _entry(kv: KeyValue) -> Entry:
    return Entry(text_key(kv.key), kv.value, kv.mod_revision)
