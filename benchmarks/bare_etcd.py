"""A program that does to etcd what a command did, and nothing else: no flags, no files of YAML, no rules, no words.

    python bare_etcd.py PORT read PREFIX
    python bare_etcd.py PORT create|update|delete FILE

FILE holds a key, a tab and a value in each line, the bytes as they are stored. What stands there is read with one
request, as Tortie reads it; then each line is a transaction of its own that expects what was read, up to 250 of them on
their way together on one connection.
"""

from __future__ import annotations

import _socket
import sys
from collections.abc import Sequence

from tortie.store.contract import ABSENT, Delete, Operation, Put
from tortie.store.etcd.direct.codec import Codec
from tortie.store.etcd.direct.hpack import encoded
from tortie.store.etcd.direct.session import Exchange, Session
from tortie.store.etcd.keys import key_range

_LIMIT_S = 60.0
_TOGETHER = 250


class Bare:
    def __init__(self, port: int) -> None:
        socket = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
        socket.connect(("127.0.0.1", port))
        socket.setsockopt(_socket.IPPROTO_TCP, _socket.TCP_NODELAY, 1)
        self._session = Session(socket, (BlockingIOError,))
        self._authority = f"127.0.0.1:{port}"

    def ask(self, path: str, requests: Sequence[bytes]) -> list[bytes]:
        headers = encoded(
            (
                *((":method", "POST"), (":scheme", "http"), (":path", path), (":authority", self._authority)),
                *(("te", "trailers"), ("content-type", "application/grpc")),
            )
        )
        replies: list[bytes] = []
        for start in range(0, len(requests), _TOGETHER):
            exchanges = [Exchange(request) for request in requests[start : start + _TOGETHER]]
            self._session.run(exchanges, headers, _LIMIT_S, _LIMIT_S)
            for exchange in exchanges:
                assert isinstance(exchange.reply, bytes), exchange.reply
                replies.append(exchange.reply)
        return replies


def main() -> None:
    port, what, argument = sys.argv[1:]
    codec, bare = Codec(), Bare(int(port))
    if what == "read":
        (reply,) = bare.ask(codec.range, [codec.range_request(*key_range(argument), 0, 0)])
        print(len(reply))
        return
    with open(argument, encoding="utf-8") as file:
        lines = [line.rstrip("\n").split("\t", 1) for line in file]
    prefix = lines[0][0].rpartition("/")[0] + "/"
    (reply,) = bare.ask(codec.range, [codec.range_request(*key_range(prefix), 0, 0)])
    found = {entry.key: entry.revision for entry in codec.range_reply(reply).entries}
    operations: list[Operation] = []
    for key, value in lines:
        expecting = ABSENT if what == "create" else found[key]
        operations.append(Delete(key) if what == "delete" else Put(key, value.encode(), expecting))
    requests = [codec.writing([each], [] if each.expecting is None else [each]) for each in operations]
    for reply in bare.ask(codec.txn, requests):
        assert codec.txn_reply(reply).succeeded


main()
