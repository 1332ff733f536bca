"""Just enough X.509 to say when a certificate is valid; whether to trust it is OpenSSL's business."""

from __future__ import annotations

import re
import ssl
from datetime import UTC, datetime
from typing import NamedTuple

_CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)

_SEQUENCE, _UTC_TIME, _GENERALIZED_TIME, _VERSION = 0x30, 0x17, 0x18, 0xA0


class Lifetime(NamedTuple):
    begin: datetime
    end: datetime


def lifetimes(pem: str) -> list[Lifetime]:
    """Those of all certificates in the text; ValueError when one of them is not a certificate."""
    return [lifetime(ssl.PEM_cert_to_DER_cert(block)) for block in _CERTIFICATE.findall(pem)]


def lifetime(der: bytes) -> Lifetime:
    certificate = _Reader(der).inside(_SEQUENCE).inside(_SEQUENCE)
    if certificate.tag() == _VERSION:
        certificate.skip()
    for _ in ("serial number", "signature algorithm", "issuer"):
        certificate.skip()
    validity = certificate.inside(_SEQUENCE)
    return Lifetime(validity.time(), validity.time())


class _Reader:
    """Walks over one level of DER: tag, length, content."""

    def __init__(self, der: bytes) -> None:
        self._der = der
        self._at = 0

    def tag(self) -> int:
        if self._at >= len(self._der):
            raise ValueError("the certificate ends too early")
        return self._der[self._at]

    def skip(self) -> None:
        self._content()

    def inside(self, tag: int) -> _Reader:
        if self.tag() != tag:
            raise ValueError(f"found tag {self.tag():#x} instead of {tag:#x}")
        return _Reader(self._content())

    def time(self) -> datetime:
        tag = self.tag()
        text = self._content().decode("ascii")
        if tag == _UTC_TIME:
            # Two digits of the year: 50 to 99 are 19xx, as RFC 5280 says.
            text = ("19" if int(text[:2]) >= 50 else "20") + text
        elif tag != _GENERALIZED_TIME:
            raise ValueError(f"found tag {tag:#x} instead of a time")
        return datetime.strptime(text, "%Y%m%d%H%M%SZ").replace(tzinfo=UTC)

    def _content(self) -> bytes:
        self.tag()
        length, begin = self._length()
        content = self._der[begin : begin + length]
        if len(content) < length:
            raise ValueError("the certificate ends too early")
        self._at = begin + length
        return content

    def _length(self) -> tuple[int, int]:
        at = self._at + 1
        first = int.from_bytes(self._der[at : at + 1])
        if first < 0x80:
            return first, at + 1
        more = first & 0x7F
        return int.from_bytes(self._der[at + 1 : at + 1 + more]), at + 1 + more
