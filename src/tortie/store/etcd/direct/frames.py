"""HTTP/2's frames (RFC 9113), as far as a client that asks for nothing special meets them."""

from __future__ import annotations

from collections.abc import Iterator

from tortie.model.light import Final, NamedTuple

DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = 0, 1, 3, 4, 6, 7, 8, 9

END_STREAM, ACK, END_HEADERS, _PADDED, _PRIORITY = 0x1, 0x1, 0x4, 0x8, 0x20

# Settings, by their numbers.
_ENABLE_PUSH, MAX_CONCURRENT_STREAMS, INITIAL_WINDOW_SIZE, MAX_FRAME_SIZE = 2, 3, 4, 5

NO_ERROR, REFUSED_STREAM = 0, 7

DEFAULT_WINDOW: Final = 65_535
DEFAULT_FRAME_SIZE: Final = 16_384
LARGEST_WINDOW: Final = 2**31 - 1
# More than any server sends in one; who announces more has lost the thread.
_LONGEST: Final = 2**24 - 1

HEAD_BYTES: Final = 9


class Broken(ConnectionError):
    """The other side does not speak HTTP/2, or no longer."""


class Frame(NamedTuple):
    kind: int
    flags: int
    stream: int
    payload: bytes


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    return len(payload).to_bytes(3, "big") + bytes((kind, flags)) + stream.to_bytes(4, "big") + payload


def opening() -> bytes:
    """What a client says first. It lets the server send all it has: one reply is at most as long as a window."""
    settings = ((_ENABLE_PUSH, 0), (INITIAL_WINDOW_SIZE, LARGEST_WINDOW), (MAX_FRAME_SIZE, _LONGEST))
    payload = b"".join(number.to_bytes(2, "big") + value.to_bytes(4, "big") for number, value in settings)
    return (
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(SETTINGS, 0, 0, payload) + widened(LARGEST_WINDOW - DEFAULT_WINDOW)
    )


def widened(by: int) -> bytes:
    """Lets the server send so much more on the whole connection."""
    return frame(WINDOW_UPDATE, 0, 0, by.to_bytes(4, "big"))


def whole_frames(data: bytes) -> Iterator[Frame]:
    """Those that have arrived; what follows the last of them is the beginning of the next."""
    at, size = 0, len(data)
    while size - at >= HEAD_BYTES:
        end = at + HEAD_BYTES + int.from_bytes(data[at : at + 3], "big")
        if end > size:
            return
        stream = int.from_bytes(data[at + 5 : at + HEAD_BYTES], "big") & 0x7FFFFFFF
        yield Frame(data[at + 3], data[at + 4], stream, data[at + HEAD_BYTES : end])
        at = end


def content(found: Frame) -> bytes:
    """What a DATA or HEADERS frame holds, without padding and priority."""
    payload, flags = found.payload, found.flags
    end = len(payload)
    begin = 0
    if flags & _PADDED:
        begin = 1
        end -= payload[0] if payload else 1
    if flags & _PRIORITY and found.kind == HEADERS:
        begin += 5
    if begin > end:
        raise Broken("a frame shorter than its padding")
    return payload[begin:end] if flags & (_PADDED | _PRIORITY) else payload


def settings_of(payload: bytes) -> dict[int, int]:
    if len(payload) % 6:
        raise Broken("half a setting")
    return {
        int.from_bytes(payload[at : at + 2], "big"): int.from_bytes(payload[at + 2 : at + 6], "big")
        for at in range(0, len(payload), 6)
    }


def number_in(payload: bytes, at: int = 0) -> int:
    """The 31-bit number, or the error code, that a payload holds there."""
    if len(payload) < at + 4:
        raise Broken("a frame that is too short")
    return int.from_bytes(payload[at : at + 4], "big")
