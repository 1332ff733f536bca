"""The calls of etcd's protocol that Tortie makes: paths and message types."""

from __future__ import annotations

from typing import Final, Generic, NamedTuple, TypeVar

from google.protobuf.message import Message

from tortie.store.etcd.rpc_pb2 import (
    AuthenticateRequest,
    AuthenticateResponse,
    CompactionRequest,
    CompactionResponse,
    RangeRequest,
    RangeResponse,
    StatusRequest,
    StatusResponse,
    TxnRequest,
    TxnResponse,
    WatchRequest,
    WatchResponse,
)

Request = TypeVar("Request", bound=Message)
Reply = TypeVar("Reply", bound=Message)


class Rpc(NamedTuple, Generic[Request, Reply]):
    path: str
    request: type[Request]
    reply: type[Reply]


RANGE: Final = Rpc("/etcdserverpb.KV/Range", RangeRequest, RangeResponse)
TXN: Final = Rpc("/etcdserverpb.KV/Txn", TxnRequest, TxnResponse)
COMPACT: Final = Rpc("/etcdserverpb.KV/Compact", CompactionRequest, CompactionResponse)
WATCH: Final = Rpc("/etcdserverpb.Watch/Watch", WatchRequest, WatchResponse)
AUTHENTICATE: Final = Rpc("/etcdserverpb.Auth/Authenticate", AuthenticateRequest, AuthenticateResponse)
STATUS: Final = Rpc("/etcdserverpb.Maintenance/Status", StatusRequest, StatusResponse)
