"""HTTP/2's headers (RFC 7541): ours without compression, since they are few; the server's with all that it may use."""

from __future__ import annotations

from collections.abc import Iterable

from tortie.model.light import Final

Header = tuple[str, str]

# Appendix A: names, some with a value, counted from one.
_STATIC: Final = tuple(
    (name, value)
    for line in """
:authority
:method GET
:method POST
:path /
:path /index.html
:scheme http
:scheme https
:status 200
:status 204
:status 206
:status 304
:status 400
:status 404
:status 500
accept-charset
accept-encoding gzip, deflate
accept-language
accept-ranges
accept
access-control-allow-origin
age
allow
authorization
cache-control
content-disposition
content-encoding
content-language
content-length
content-location
content-range
content-type
cookie
date
etag
expect
expires
from
host
if-match
if-modified-since
if-none-match
if-range
if-unmodified-since
last-modified
link
location
max-forwards
proxy-authenticate
proxy-authorization
range
referer
refresh
retry-after
server
set-cookie
strict-transport-security
transfer-encoding
user-agent
vary
via
www-authenticate
""".strip().splitlines()
    for name, _, value in (line.partition(" "),)
)
_DEFAULT_SIZE: Final = 4096
_OVERHEAD: Final = 32  # of an entry of the dynamic table, as the standard counts


def encoded(headers: Iterable[Header]) -> bytes:
    """Each spelled out, to be remembered by nobody: what is said once needs no table, and a token stays out of it."""
    return b"".join(b"\x10" + _text(name) + _text(value) for name, value in headers)


def _text(text: str) -> bytes:
    data = text.encode()
    return _number(len(data), 7) + data


def _number(value: int, bits: int) -> bytes:
    most = (1 << bits) - 1
    if value < most:
        return bytes((value,))
    out = [most]
    value -= most
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*out, value))


class Decoder:
    """Remembers what the server told it to. `ValueError`, also as `IndexError`, when it breaks the rules."""

    def __init__(self) -> None:
        self._dynamic: list[Header] = []  # the newest first
        self._size = 0
        self._size_max = _DEFAULT_SIZE

    def decode(self, block: bytes) -> list[Header]:
        headers: list[Header] = []
        at = 0
        while at < len(block):
            first = block[at]
            if first & 0x80:
                index, at = _read_number(block, at, 7)
                headers.append(self._known(index))
            elif first & 0xE0 == 0x20:
                self._size_max, at = _read_number(block, at, 5)
                if self._size_max > _DEFAULT_SIZE:
                    raise ValueError("a larger table than we offered")
                self._evict()
            else:
                remembered = first & 0x40
                index, at = _read_number(block, at, 6 if remembered else 4)
                if index:
                    name = self._known(index)[0]
                else:
                    name, at = _read_text(block, at)
                value, at = _read_text(block, at)
                headers.append((name, value))
                if remembered:
                    self._dynamic.insert(0, (name, value))
                    self._size += _cost((name, value))
                    self._evict()
        return headers

    def _known(self, index: int) -> Header:
        if index <= 0:
            raise ValueError("a header that is nowhere in the table")
        if index <= len(_STATIC):
            return _STATIC[index - 1]
        return self._dynamic[index - len(_STATIC) - 1]

    def _evict(self) -> None:
        while self._size > self._size_max:
            self._size -= _cost(self._dynamic.pop())


def _cost(header: Header) -> int:
    return len(header[0].encode("latin-1")) + len(header[1].encode("latin-1")) + _OVERHEAD


def _read_number(block: bytes, at: int, bits: int) -> tuple[int, int]:
    most = (1 << bits) - 1
    value = block[at] & most
    at += 1
    if value < most:
        return value, at
    shift = 0
    while True:
        more = block[at]
        at += 1
        value += (more & 0x7F) << shift
        shift += 7
        if not more & 0x80:
            return value, at
        if shift > 28:
            raise ValueError("a number without end")


def _read_text(block: bytes, at: int) -> tuple[str, int]:
    packed = block[at] & 0x80
    size, at = _read_number(block, at, 7)
    data = block[at : at + size]
    if len(data) < size:
        raise ValueError("a text longer than the headers")
    if packed:
        from tortie.store.etcd.direct.huffman import decoded

        data = decoded(data)
    return data.decode("latin-1"), at + size
