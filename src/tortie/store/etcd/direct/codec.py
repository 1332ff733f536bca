"""etcd's messages as bytes of protobuf, made and read by hand.

Requests are small. A reply may hold thousands of entries, so its reader goes over the bytes once. It takes fields in
any order and passes over those it does not know, as protobuf wants it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tortie.model.light import Final
from tortie.store.contract import Absent, Damaged, Entry, Operation, Put, Revision, Tally
from tortie.store.etcd.keys import text_key
from tortie.store.etcd.keyvalues import RangeReply, TxnReply

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_CREATED, _MODIFIED = 1, 2  # what a comparison looks at
_KVS: Final = 2 << 3 | _BYTES


class Codec:
    """A request is its bytes, what it asks for its path."""

    range = "/etcdserverpb.KV/Range"
    txn = "/etcdserverpb.KV/Txn"
    compact = "/etcdserverpb.KV/Compact"

    def range_request(self, begin: bytes, end: bytes, limit: int, revision: Revision) -> bytes:
        return _range(begin, end) + _number(3, limit) + _number(4, revision)

    def range_reply(self, reply: bytes) -> RangeReply:
        try:
            return _read_range(reply, 0, len(reply))
        except IndexError:
            raise _cut() from None

    def reading(self, ranges: Sequence[tuple[bytes, bytes]]) -> bytes:
        return b"".join(_bytes(2, _bytes(1, _range(begin, end))) for begin, end in ranges)

    def counting(self, ranges: Sequence[tuple[bytes, bytes]], first: int) -> bytes:
        only_keys = _number(3, first) + _number(8, 1)
        return b"".join(_bytes(2, _bytes(1, _range(begin, end) + only_keys)) for begin, end in ranges)

    def tallies(self, reply: bytes) -> list[Tally]:
        try:
            found = _read_ranges(reply)
        except IndexError:
            raise _cut() from None
        return [Tally(each.total, tuple(entry.key for entry in each.entries)) for each in found]

    def writing(self, operations: Sequence[Operation], guarded: Sequence[Operation]) -> bytes:
        parts = [_bytes(1, _comparison(operation)) for operation in guarded]
        parts += [_bytes(2, _written(operation)) for operation in operations]
        parts += [_bytes(3, _bytes(1, _range(operation.key.encode(), b""))) for operation in guarded]
        return b"".join(parts)

    def txn_reply(self, reply: bytes) -> TxnReply:
        try:
            return _read_txn(reply)
        except IndexError:
            raise _cut() from None

    def compaction(self, revision: Revision) -> bytes:
        return _number(1, revision)


def _cut() -> Damaged:
    return Damaged("a reply of etcd", "it is cut, or no message of etcd's protocol", "is that really an etcd?")


AUTHENTICATE: Final = "/etcdserverpb.Auth/Authenticate"
STATUS: Final = "/etcdserverpb.Maintenance/Status"


def authentication(user: str, password: str) -> bytes:
    return _bytes(1, user.encode()) + _bytes(2, password.encode())


def token_in(reply: bytes) -> str:
    for number, begin, end in _fields(reply, 0, len(reply)):
        if number == 2:
            return reply[begin:end].decode()
    return ""


def _range(begin: bytes, end: bytes) -> bytes:
    return _bytes(1, begin) + (_bytes(2, end) if end else b"")


def _comparison(operation: Operation) -> bytes:
    """That something equals: what it is, the key, and its value, which has to be there even if it is zero."""
    key = _bytes(3, operation.key.encode())
    if isinstance(operation.expecting, Absent):
        return _number(2, _CREATED) + key + b"\x28\x00"
    # For etcd a missing key has revision 0; for us expecting a revision means expecting the key to be there.
    return _number(2, _MODIFIED) + key + _number(6, operation.expecting or -1)


def _written(operation: Operation) -> bytes:
    key = _bytes(1, operation.key.encode())
    if isinstance(operation, Put):
        return _bytes(2, key + _bytes(2, operation.value))
    return _bytes(3, key)


def _number(field: int, value: int) -> bytes:
    """Nothing for zero, as protobuf has it."""
    return bytes((field << 3 | _VARINT,)) + _varint(value) if value else b""


def _bytes(field: int, value: bytes) -> bytes:
    return bytes((field << 3 | _BYTES,)) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    if 0 <= value < 0x80:
        return bytes((value,))
    value &= 2**64 - 1  # negative numbers are those of 64 bits
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _read_txn(reply: bytes) -> TxnReply:
    succeeded, revision = False, 0
    for number, begin, end in _fields(reply, 0, len(reply)):
        if number == 1:
            revision = _revision(reply, begin, end)
        elif number == 2:
            succeeded = bool(begin)
    return TxnReply(succeeded, revision, [each.entries for each in _read_ranges(reply)])


def _read_ranges(reply: bytes) -> list[RangeReply]:
    """What the reads of a transaction found."""
    answers = [(begin, end) for number, begin, end in _fields(reply, 0, len(reply)) if number == 3]
    inner = [each for answer in answers for each in _fields(reply, *answer)]
    return [_read_range(reply, begin, end) for number, begin, end in inner if number == 1]


def _read_range(data: bytes, at: int, end: int) -> RangeReply:
    entries: list[Entry] = []
    revision, more, total = 0, False, 0
    while at < end:
        if data[at] == _KVS:
            at = _read_entries(data, at, end, entries)
            continue
        number, begin, stop, at = _field(data, at)
        if number == 1:
            revision = _revision(data, begin, stop)
        elif number == 3:
            more = bool(begin)
        elif number == 4:
            total = begin
    return RangeReply(entries, revision, more, total)


def _read_entries(data: bytes, at: int, end: int, entries: list[Entry]) -> int:
    """All that follow each other; returns where they end."""
    make, append = tuple.__new__, entries.append
    while at < end and data[at] == _KVS:
        size = data[at + 1]
        at += 2
        if size > 0x7F:
            size, at = _long(data, at, size)
        stop = at + size
        key = value = b""
        revision = 0
        while at < stop:
            tag, size = data[at], data[at + 1]
            at += 2
            if size > 0x7F:
                size, at = _long(data, at, size)
            if tag == 0x2A:
                value = data[at : at + size]
                at += size
            elif tag == 0x18:
                revision = size
            elif tag == 0x0A:
                key = data[at : at + size]
                at += size
            elif tag & 7 == _BYTES:
                at += size
            elif tag & 7 != _VARINT:
                raise IndexError(at)
        try:
            append(make(Entry, (key.decode(), value, revision)))
        except UnicodeDecodeError:
            text_key(key)  # names the key to blame
    return at


def _revision(data: bytes, at: int, end: int) -> Revision:
    """That of the header."""
    return next((begin for number, begin, _ in _fields(data, at, end) if number == 3), 0)


def _fields(data: bytes, at: int, end: int) -> Iterator[tuple[int, int, int]]:
    while at < end:
        number, begin, stop, at = _field(data, at)
        yield number, begin, stop


def _field(data: bytes, at: int) -> tuple[int, int, int, int]:
    """Its number, then where its bytes begin and end, or its value and nothing, then where the next one begins."""
    tag, at = _read_varint(data, at)
    number, form = tag >> 3, tag & 7
    if form == _VARINT:
        value, at = _read_varint(data, at)
        return number, value, 0, at
    if form == _BYTES:
        size, at = _read_varint(data, at)
        return number, at, at + size, at + size
    if form in (_FIXED64, _FIXED32):
        at += 8 if form == _FIXED64 else 4
        return number, 0, 0, at
    raise IndexError(at)


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    first = data[at]
    return (first, at + 1) if first < 0x80 else _long(data, at + 1, first)


def _long(data: bytes, at: int, first: int) -> tuple[int, int]:
    """A number of more than seven bits, whose first byte was read."""
    value, shift = first & 0x7F, 7
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
