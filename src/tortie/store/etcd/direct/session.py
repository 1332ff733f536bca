"""One HTTP/2 connection for as long as it lasts: requests go out side by side, and their replies come back.

Nothing is sent that the server has not made room for, so that it always takes what is sent and sending cannot hang.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from tortie.model.light import Any, Final
from tortie.store.etcd.direct import frames
from tortie.store.etcd.direct.frames import Broken, Frame, content, frame, number_in, settings_of, whole_frames
from tortie.store.etcd.direct.hpack import Decoder, Header
from tortie.store.etcd.refusal import NOT_GRPC, UNKNOWN, RpcError

# While data arrive at intervals shorter than this, the other side is at work.
_FLOWING_S: Final = 0.5
_SIDE_BY_SIDE: Final = 256
_READ_BYTES: Final = 2**18
# The server may send so much before it hears that it was read; after half of it, it is told.
_TOLD_AFTER: Final = 2**30
_PREFIX: Final = 5  # before a message: whether it is compressed, and its length


class Exchange:
    """A request and what becomes of it."""

    def __init__(self, message: bytes) -> None:
        self.body = b"\0" + len(message).to_bytes(4, "big") + message
        self.sent = False  # as a whole, so that it may have had its effect
        self.reply: bytes | RpcError | None = None
        self.refused = False  # by the transport, before anybody looked at it
        self.stream = 0
        self.room = 0
        self.parts: list[bytes] = []
        self.told: dict[str, str] = {}

    @property
    def over(self) -> bool:
        return self.refused or self.reply is not None

    def end(self) -> None:
        """The server has said all."""
        status = self.told.get("grpc-status", "")
        if self.told.get(":status", "200") != "200":
            self.reply = RpcError(UNKNOWN, f"{NOT_GRPC} = {self.told[':status']!r}")
        elif status and status != "0":
            self.reply = RpcError(int(status) if status.isdigit() else UNKNOWN, _unquoted(self.told))
        else:
            data = b"".join(self.parts)
            if len(data) < _PREFIX or data[0] or int.from_bytes(data[1:_PREFIX], "big") != len(data) - _PREFIX:
                raise Broken("the reply is not one message")
            self.reply = data[_PREFIX:]
        self.parts.clear()


class Session:
    """`nothing_yet` are the errors by which the socket says that there is nothing to read."""

    def __init__(self, socket: Any, nothing_yet: tuple[type[OSError], ...]) -> None:
        self.heard_at: float | None = None  # when the other side last spoke HTTP/2
        self.leaving = False  # takes no new requests
        self._socket = socket
        self._nothing_yet = nothing_yet
        self._out = [frames.opening()]
        self._rest = b""
        self._streams: dict[int, Exchange] = {}
        self._next_stream = 1
        self._decoder = Decoder()
        self._block: tuple[Frame, bytes] | None = None  # headers that go on in the next frame
        self._room = frames.DEFAULT_WINDOW
        self._stream_room = frames.DEFAULT_WINDOW
        self._frame_bytes = frames.DEFAULT_FRAME_SIZE
        self._streams_max = _SIDE_BY_SIDE
        self._untold = 0

    def run(
        self,
        exchanges: Sequence[Exchange],
        headers: bytes,
        limit_s: float,
        longest_s: float,
        meanwhile: Callable[[], bool] | None = None,
    ) -> None:
        """Until all are over. Raises `OSError` when the connection breaks, `TimeoutError` when time is over.

        A reply that is arriving, only slowly, is waited for beyond `limit_s`, up to `longest_s`. As long as there is
        nothing to read, `meanwhile` is called, until it says that it has nothing more to do.
        """
        began = time.monotonic()
        until = began + limit_s
        ahead = list(reversed(exchanges))
        sending: list[Exchange] = []
        while True:
            self._queue(ahead, sending, headers)
            self._flush(until)
            if not ahead and all(exchange.over for exchange in exchanges):
                return
            now = time.monotonic()
            if now >= until:
                silent_s = now - (self.heard_at or began)
                until = min(now + _FLOWING_S - silent_s, began + longest_s)
                if now >= until:
                    raise TimeoutError
            try:
                self._receive(0 if meanwhile else until - now)
            except self._nothing_yet:
                if meanwhile and not meanwhile():
                    meanwhile = None
            except TimeoutError as over:
                if over.errno:  # the kernel's: it has given the connection up
                    raise
            if self.leaving:  # what was not begun cannot be any more
                for exchange in ahead:
                    exchange.refused = True
                ahead.clear()

    def is_open(self) -> bool:
        """Reads what has come meanwhile; a server that has hung up must not be sent a write."""
        try:
            while True:
                self._receive(0)
        except self._nothing_yet:
            return not self.leaving
        except OSError:
            return False

    def close(self) -> None:
        self._socket.close()

    def _queue(self, ahead: list[Exchange], sending: list[Exchange], headers: bytes) -> None:
        """As much as there is room for, the requests that have begun first."""
        sending[:] = [exchange for exchange in sending if not exchange.over and not self._queue_body(exchange)]
        while ahead and self._room > 0 and len(self._streams) < self._streams_max:
            exchange = ahead.pop()
            exchange.stream, exchange.room = self._next_stream, self._stream_room
            self._next_stream += 2
            self._streams[exchange.stream] = exchange
            self._out.append(frame(frames.HEADERS, frames.END_HEADERS, exchange.stream, headers))
            if not self._queue_body(exchange):
                sending.append(exchange)

    def _queue_body(self, exchange: Exchange) -> bool:
        """Whether all of it could go."""
        while (size := min(len(exchange.body), self._room, exchange.room, self._frame_bytes)) > 0:
            part, exchange.body = exchange.body[:size], exchange.body[size:]
            self._room -= size
            exchange.room -= size
            exchange.sent = not exchange.body
            flags = frames.END_STREAM if exchange.sent else 0
            self._out.append(frame(frames.DATA, flags, exchange.stream, part))
        return exchange.sent

    def _flush(self, until: float) -> None:
        if self._out:
            self._socket.settimeout(max(0.001, until - time.monotonic()))
            data = b"".join(self._out)
            self._out.clear()
            self._socket.sendall(data)

    def _receive(self, limit_s: float) -> None:
        self._socket.settimeout(limit_s)
        data = self._socket.recv(_READ_BYTES)
        if not data:
            raise ConnectionResetError("the other side hung up")
        data = self._rest + data if self._rest else data
        read = 0
        try:
            for found in whole_frames(data):
                read += frames.HEAD_BYTES + len(found.payload)
                if self.heard_at is None and found.kind != frames.SETTINGS:
                    raise Broken("this is not HTTP/2")
                self._take(found)
                self.heard_at = time.monotonic()
        except (ValueError, IndexError) as error:
            raise Broken(str(error)) from error
        self._rest = data[read:]
        if self.heard_at is None and len(self._rest) >= frames.HEAD_BYTES and self._rest[3] != frames.SETTINGS:
            raise Broken("this is not HTTP/2")
        if self.heard_at is not None:
            self.heard_at = time.monotonic()  # half a frame is a sign of life, too

    def _take(self, found: Frame) -> None:
        if self._block is not None and found.kind != frames.CONTINUATION:
            raise Broken("headers that are not continued")
        handle = _HANDLERS.get(found.kind)
        if handle is not None:
            handle(self, found)

    def _take_data(self, found: Frame) -> None:
        self._untold += len(found.payload)
        if self._untold > _TOLD_AFTER:
            self._out.append(frames.widened(self._untold))
            self._untold = 0
        exchange = self._streams.get(found.stream)
        if exchange is not None:
            exchange.parts.append(content(found))
            self._end_if_last(found, exchange)

    def _take_headers(self, found: Frame) -> None:
        first, before = self._block or (found, b"")
        block = before + (found.payload if self._block else content(found))
        self._block = None
        if not found.flags & frames.END_HEADERS:
            self._block = (first, block)
            return
        headers: list[Header] = self._decoder.decode(block)  # also of a stream that nobody knows: it remembers
        exchange = self._streams.get(first.stream)
        if exchange is not None:
            exchange.told.update(headers)
            self._end_if_last(first, exchange)

    def _end_if_last(self, found: Frame, exchange: Exchange) -> None:
        if found.flags & frames.END_STREAM:
            del self._streams[found.stream]
            exchange.end()

    def _take_reset(self, found: Frame) -> None:
        exchange = self._streams.pop(found.stream, None)
        if exchange is None:
            return
        if number_in(found.payload) == frames.REFUSED_STREAM:
            exchange.sent, exchange.refused = False, True
        elif number_in(found.payload) != frames.NO_ERROR or "grpc-status" not in exchange.told:
            raise Broken("the server broke the request off")

    def _take_settings(self, found: Frame) -> None:
        if found.flags & frames.ACK:
            return
        settings = settings_of(found.payload)
        if frames.INITIAL_WINDOW_SIZE in settings:
            more = settings[frames.INITIAL_WINDOW_SIZE] - self._stream_room
            self._stream_room += more
            for exchange in self._streams.values():
                exchange.room += more
        self._frame_bytes = settings.get(frames.MAX_FRAME_SIZE, self._frame_bytes)
        self._streams_max = min(_SIDE_BY_SIDE, settings.get(frames.MAX_CONCURRENT_STREAMS, self._streams_max))
        self._out.append(frame(frames.SETTINGS, frames.ACK, 0))

    def _take_ping(self, found: Frame) -> None:
        if not found.flags & frames.ACK:
            self._out.append(frame(frames.PING, frames.ACK, 0, found.payload))

    def _take_farewell(self, found: Frame) -> None:
        self.leaving = True
        last = number_in(found.payload) & 0x7FFFFFFF
        for stream in [stream for stream in self._streams if stream > last]:
            exchange = self._streams.pop(stream)
            exchange.sent, exchange.refused = False, True

    def _take_room(self, found: Frame) -> None:
        more = number_in(found.payload) & 0x7FFFFFFF
        if not found.stream:
            self._room += more
        elif found.stream in self._streams:
            self._streams[found.stream].room += more


_HANDLERS: Final[dict[int, Callable[[Session, Frame], None]]] = {
    frames.DATA: Session._take_data,
    frames.HEADERS: Session._take_headers,
    frames.CONTINUATION: Session._take_headers,
    frames.RST_STREAM: Session._take_reset,
    frames.SETTINGS: Session._take_settings,
    frames.PING: Session._take_ping,
    frames.GOAWAY: Session._take_farewell,
    frames.WINDOW_UPDATE: Session._take_room,
}


def _unquoted(told: dict[str, str]) -> str:
    text = told.get("grpc-message", "")
    if "%" not in text:
        return text
    from urllib.parse import unquote

    return unquote(text)
