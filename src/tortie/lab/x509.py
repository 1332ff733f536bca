"""Certificates, as small as etcd and OpenSSL take them: X.509 v3, ECDSA over P-256, SHA-256.

For labs only: keys live as long as a lab and protect nothing. Nobody needs openssl or a library for it. The curve's
arithmetic takes no care of time or caches, as code that guards real secrets has to.
"""

from __future__ import annotations

import base64
import hashlib
import secrets
from collections.abc import Iterable
from datetime import datetime
from ipaddress import ip_address
from typing import Final, NamedTuple

_P: Final = 0xFFFFFFFF00000001000000000000000000000000FFFFFFFFFFFFFFFFFFFFFFFF
_N: Final = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
_G: Final = (
    0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
    0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5,
)
_A: Final = -3

Point = tuple[int, int] | None

_EC_KEY, _P256 = "1.2.840.10045.2.1", "1.2.840.10045.3.1.7"
_ECDSA_SHA256 = "1.2.840.10045.4.3.2"
_COMMON_NAME = "2.5.4.3"
_SUBJECT_NAMES, _CONSTRAINTS, _PURPOSES = "2.5.29.17", "2.5.29.19", "2.5.29.37"
_SERVER, _CLIENT = "1.3.6.1.5.5.7.3.1", "1.3.6.1.5.5.7.3.2"


class Key(NamedTuple):
    secret: int
    public: tuple[int, int]

    @property
    def pem(self) -> str:
        private = _sequence(_integer(1), _tlv(0x04, _octets(self.secret)), _tlv(0xA1, _bits(_point(self.public))))
        return _pem("PRIVATE KEY", _sequence(_integer(0), _ALGORITHM, _tlv(0x04, private)))


class Subject(NamedTuple):
    """Whom a certificate is for, and for how long."""

    name: str
    begin: datetime
    end: datetime
    hosts: tuple[str, ...] = ()  # addresses and names; none for a client
    authority: bool = False


def make_key() -> Key:
    secret = secrets.randbelow(_N - 1) + 1
    public = _times(secret, _G)
    assert public
    return Key(secret, public)


def certificate(subject: Subject, key: Key, issuer: str, issuer_key: Key) -> str:
    """In PEM's form, signed by the issuer."""
    signature_kind = _sequence(_oid(_ECDSA_SHA256))
    body = _sequence(
        _tlv(0xA0, _integer(2)),
        _integer(secrets.randbits(120) | 1),
        signature_kind,
        _named(issuer),
        _sequence(_moment(subject.begin), _moment(subject.end)),
        _named(subject.name),
        _sequence(_ALGORITHM, _bits(_point(key.public))),
        _tlv(0xA3, _sequence(*_extensions(subject))),
    )
    return _pem("CERTIFICATE", _sequence(body, signature_kind, _bits(_sign(body, issuer_key.secret))))


def _extensions(subject: Subject) -> Iterable[bytes]:
    if subject.authority:
        yield _sequence(_oid(_CONSTRAINTS), _tlv(0x01, b"\xff"), _tlv(0x04, _sequence(_tlv(0x01, b"\xff"))))
        return
    # etcd calls itself with its server's certificate, so each serves for both purposes.
    yield _sequence(_oid(_PURPOSES), _tlv(0x04, _sequence(_oid(_SERVER), _oid(_CLIENT))))
    if subject.hosts:
        yield _sequence(_oid(_SUBJECT_NAMES), _tlv(0x04, _sequence(*map(_alternative, subject.hosts))))


def _alternative(host: str) -> bytes:
    try:
        return _tlv(0x87, ip_address(host).packed)
    except ValueError:
        return _tlv(0x82, host.encode())


def _sign(message: bytes, secret: int) -> bytes:
    digest = int.from_bytes(hashlib.sha256(message).digest())
    while True:
        nonce = secrets.randbelow(_N - 1) + 1
        point = _times(nonce, _G)
        assert point
        r = point[0] % _N
        s = pow(nonce, -1, _N) * (digest + r * secret) % _N
        if r and s:
            return _sequence(_integer(r), _integer(s))


def _times(factor: int, point: Point) -> Point:
    result: Point = None
    while factor:
        if factor & 1:
            result = _add(result, point)
        point = _add(point, point)
        factor >>= 1
    return result


def _add(one: Point, other: Point) -> Point:
    if one is None or other is None:
        return one or other
    (x1, y1), (x2, y2) = one, other
    if x1 == x2 and (y1 + y2) % _P == 0:
        return None
    slope = (3 * x1 * x1 + _A) * pow(2 * y1, -1, _P) if one == other else (y2 - y1) * pow(x2 - x1, -1, _P)
    x = (slope * slope - x1 - x2) % _P
    return x, (slope * (x1 - x) - y1) % _P


def _octets(number: int) -> bytes:
    return number.to_bytes(32)


def _point(point: tuple[int, int]) -> bytes:
    return b"\x04" + _octets(point[0]) + _octets(point[1])


def _tlv(tag: int, content: bytes) -> bytes:
    length = len(content)
    if length < 0x80:
        return bytes((tag, length)) + content
    size = length.to_bytes((length.bit_length() + 7) // 8)
    return bytes((tag, 0x80 | len(size))) + size + content


def _sequence(*parts: bytes) -> bytes:
    return _tlv(0x30, b"".join(parts))


def _integer(number: int) -> bytes:
    return _tlv(0x02, number.to_bytes(number.bit_length() // 8 + 1))


def _bits(content: bytes) -> bytes:
    return _tlv(0x03, b"\0" + content)


def _oid(text: str) -> bytes:
    first, second, *rest = map(int, text.split("."))
    content = bytearray((40 * first + second,))
    for number in rest:
        groups = [number & 0x7F]
        while number := number >> 7:
            groups.append(number & 0x7F | 0x80)
        content += bytes(reversed(groups))
    return _tlv(0x06, bytes(content))


def _named(name: str) -> bytes:
    return _sequence(_tlv(0x31, _sequence(_oid(_COMMON_NAME), _tlv(0x0C, name.encode()))))


def _moment(moment: datetime) -> bytes:
    return _tlv(0x17, moment.strftime("%y%m%d%H%M%SZ").encode())


def _pem(kind: str, content: bytes) -> str:
    text = base64.b64encode(content).decode()
    lines = (text[start : start + 64] for start in range(0, len(text), 64))
    return "\n".join((f"-----BEGIN {kind}-----", *lines, f"-----END {kind}-----", ""))


_ALGORITHM: Final = _sequence(_oid(_EC_KEY), _oid(_P256))
