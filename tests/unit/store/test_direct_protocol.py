"""The little of HTTP/2 and protobuf that commands speak, held against the libraries that speak all of it."""

# mypy: disable-error-code="no-untyped-call"
from __future__ import annotations

import contextlib

import pytest
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import DataReceived, RequestReceived, StreamEnded
from h2.settings import SettingCodes
from hpack import Decoder as TheirDecoder
from hpack import Encoder
from hypothesis import given
from hypothesis import strategies as some

from tortie.store.contract import ABSENT, Damaged, Delete, Entry, Operation, Put, Tally
from tortie.store.etcd.direct.codec import Codec, authentication, token_in
from tortie.store.etcd.direct.frames import Broken, whole_frames
from tortie.store.etcd.direct.hpack import Decoder, encoded
from tortie.store.etcd.direct.session import Exchange, Session
from tortie.store.etcd.messages import Messages
from tortie.store.etcd.refusal import RpcError
from tortie.store.etcd.rpc_pb2 import (
    AuthenticateRequest,
    AuthenticateResponse,
    KeyValue,
    RangeRequest,
    RangeResponse,
    ResponseHeader,
    ResponseOp,
    TxnRequest,
    TxnResponse,
)

NAMES = some.sampled_from(["grpc-status", "content-type", ":status", "x", "grpc-message", "date"])
TEXTS = some.text(some.characters(min_codepoint=32, max_codepoint=126), max_size=200)
KEYS = some.text(min_size=1, max_size=300).filter(lambda text: "\0" not in text).filter(lambda text: _encodable(text))
NUMBERS = some.integers(0, 2**63 - 1)


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


@given(some.lists(some.lists(some.tuples(NAMES, TEXTS), max_size=8), max_size=6), some.booleans())
def test_headers_are_read_as_any_server_may_write_them(blocks: list[list[tuple[str, str]]], packed: bool) -> None:
    """One encoder and one decoder over several blocks: both remember the same."""
    encoder, decoder = Encoder(), Decoder()
    for headers in blocks:
        assert decoder.decode(encoder.encode(headers, huffman=packed)) == headers


@given(some.lists(some.tuples(NAMES, TEXTS), max_size=8))
def test_our_headers_are_read_by_any_server(headers: list[tuple[str, str]]) -> None:
    found = TheirDecoder().decode(encoded(headers))
    assert [(str(name), str(value)) for name, value, *_ in found] == headers


@given(some.binary(max_size=60))
def test_headers_that_make_no_sense_are_an_error_and_no_defect(block: bytes) -> None:
    with contextlib.suppress(ValueError, IndexError):
        Decoder().decode(block)


@given(KEYS, some.binary(max_size=300), some.one_of(some.none(), some.just(ABSENT), some.integers(1, 2**62)))
def test_commits_are_the_bytes_that_the_library_would_read(key: str, value: bytes, expecting: object) -> None:
    put = Put(key, value, expecting)  # type: ignore[arg-type]
    operations: list[Operation] = [put, Delete(key + "x")]
    guarded = [put] if expecting is not None else []
    ours = TxnRequest.FromString(Codec().writing(operations, guarded))
    assert ours == Messages().writing(operations, guarded)


@given(some.lists(some.tuples(KEYS, KEYS), max_size=4), some.integers(0, 10_000), NUMBERS)
def test_reads_are_the_bytes_that_the_library_would_read(
    ranges: list[tuple[str, str]], limit: int, revision: int
) -> None:
    pairs = [(begin.encode(), end.encode()) for begin, end in ranges]
    assert TxnRequest.FromString(Codec().reading(pairs)) == Messages().reading(pairs)
    assert TxnRequest.FromString(Codec().counting(pairs, limit)) == Messages().counting(pairs, limit)
    for begin, end in pairs:
        theirs = Messages().range_request(begin, end, limit, revision)
        assert RangeRequest.FromString(Codec().range_request(begin, end, limit, revision)) == theirs


@given(
    some.lists(some.tuples(KEYS, some.binary(max_size=400), NUMBERS), max_size=8),
    NUMBERS,
    some.booleans(),
)
def test_replies_are_read_as_the_library_reads_them(
    kvs: list[tuple[str, bytes, int]], revision: int, more: bool
) -> None:
    reply = RangeResponse(
        header=ResponseHeader(revision=revision),
        kvs=[KeyValue(key=key.encode(), value=value, mod_revision=changed) for key, value, changed in kvs],
        more=more,
        count=len(kvs) + 7,
    )
    found = Codec().range_reply(reply.SerializeToString())
    assert (found.entries, found.revision, found.more, found.total) == (
        [Entry(key, value, changed) for key, value, changed in kvs],
        revision,
        more,
        len(kvs) + 7,
    )
    whole = TxnResponse(
        header=ResponseHeader(revision=revision), succeeded=more, responses=[ResponseOp(response_range=reply)] * 2
    )
    read = Codec().txn_reply(whole.SerializeToString())
    assert (read.succeeded, read.revision, read.ranges) == (more, revision, [found.entries] * 2)
    tally = Tally(found.total, tuple(key for key, *_ in kvs))
    assert Codec().tallies(whole.SerializeToString()) == [tally, tally]


def test_a_reply_that_is_cut_is_told() -> None:
    whole = RangeResponse(kvs=[KeyValue(key=b"/a", value=b"x" * 200, mod_revision=7)]).SerializeToString()
    with pytest.raises(Damaged, match="it is cut"):
        Codec().range_reply(whole[:3])
    with pytest.raises(Damaged, match="it is cut"):
        Codec().txn_reply(b"\x0b")


@given(some.text().filter(_encodable), some.text().filter(_encodable))
def test_who_logs_in_is_told_and_the_token_is_read(user: str, password: str) -> None:
    assert AuthenticateRequest.FromString(authentication(user, password)) == AuthenticateRequest(
        name=user, password=password
    )
    assert token_in(AuthenticateResponse(token=user).SerializeToString()) == user


class Wire:
    """A socket whose other end is h2 as a server, which answers as `answer` has it."""

    def __init__(self, window: int = 65_535) -> None:
        self.server = H2Connection(H2Configuration(client_side=False))
        self.server.initiate_connection()
        self.server.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: window})
        self.requests: dict[int, bytes] = {}
        self.headers: dict[int, dict[str, str]] = {}
        self.left = False

    def settimeout(self, seconds: float) -> None:
        self.seconds = seconds

    def sendall(self, data: bytes) -> None:
        if self.left:
            return
        for event in self.server.receive_data(data):
            match event:
                case RequestReceived():
                    self.headers[event.stream_id] = {str(k, "ascii"): str(v, "ascii") for k, v in event.headers}
                    self.requests[event.stream_id] = b""
                case DataReceived():
                    self.requests[event.stream_id] += event.data
                    self.server.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                case StreamEnded():
                    self.answer(event.stream_id)

    def recv(self, size: int) -> bytes:
        data = self.server.data_to_send(size)
        if not data:
            raise BlockingIOError
        return data

    def answer(self, stream: int) -> None:
        self.server.send_headers(stream, [(":status", "200"), ("content-type", "application/grpc")])
        body = self.requests[stream]
        for start in range(0, len(body), 16_000):
            self.server.send_data(stream, body[start : start + 16_000], pad_length=7)
        self.server.send_headers(stream, [("grpc-status", "0")], end_stream=True)

    def close(self) -> None:
        pass


def run(wire: Wire, messages: list[bytes]) -> list[Exchange]:
    exchanges = [Exchange(message) for message in messages]
    path = encoded(((":method", "POST"), (":scheme", "http"), (":path", "/a"), (":authority", "b")))
    Session(wire, (BlockingIOError,)).run(exchanges, path, 30, 30)
    return exchanges


def test_requests_side_by_side_get_their_own_answers_whatever_room_the_server_gives() -> None:
    messages = [bytes([number % 256]) * (number * 37) for number in range(400)] + [b"x" * 1_500_000]
    for window in (65_535, 2_000_000):
        assert [exchange.reply for exchange in run(Wire(window), messages)] == messages


def test_a_refusal_is_told_with_its_code_and_text() -> None:
    class Refusing(Wire):
        def answer(self, stream: int) -> None:
            told = [(":status", "200"), ("grpc-status", "14"), ("grpc-message", "etcdserver: no%20leader %C3%A4")]
            self.server.send_headers(stream, told, end_stream=True)

    (exchange,) = run(Refusing(), [b""])
    assert isinstance(exchange.reply, RpcError)
    assert (exchange.reply.status, exchange.reply.text) == (14, "etcdserver: no leader ä")


def test_what_is_no_answer_of_grpc_is_told_as_that() -> None:
    class Web(Wire):
        def answer(self, stream: int) -> None:
            self.server.send_headers(stream, [(":status", "404")], end_stream=True)

    (exchange,) = run(Web(), [b""])
    assert isinstance(exchange.reply, RpcError)
    assert exchange.reply.text == "Received :status = '404'"


def test_requests_behind_a_farewell_were_certainly_not_looked_at() -> None:
    class Leaving(Wire):
        def answer(self, stream: int) -> None:
            if stream == 3:
                self.server.close_connection(last_stream_id=1)
                self.left = True
            if stream == 1:
                super().answer(stream)

    exchanges = run(Leaving(), [b"1", b"2", b"3"])
    assert [(exchange.reply, exchange.sent) for exchange in exchanges] == [(b"1", True), (None, False), (None, False)]


def test_somebody_who_speaks_another_language_is_not_waited_for() -> None:
    class Old(Wire):
        def sendall(self, data: bytes) -> None:
            pass

        def recv(self, size: int) -> bytes:
            del size
            return b"HTTP/1.1 400 Bad Request\r\n\r\n"

    with pytest.raises(Broken, match="not HTTP/2"):
        run(Old(), [b""])


@given(some.binary(max_size=80))
def test_half_a_frame_waits_for_its_other_half(data: bytes) -> None:
    assert sum(9 + len(frame.payload) for frame in whole_frames(data)) <= len(data)
