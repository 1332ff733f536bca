"""The lifetime read from a certificate is the one that was put in."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from hypothesis import given
from hypothesis import strategies as st
from tests.support.certificates import Authority

from tortie.store.etcd.pem import lifetime, lifetimes


def test_lifetimes_agree_with_a_full_x509_reader(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    pem = authority.cert.read_text() + authority.client(expired=True).cert.read_text()
    expected = [
        (one.not_valid_before_utc, one.not_valid_after_utc) for one in x509.load_pem_x509_certificates(pem.encode())
    ]
    assert lifetimes(pem) == expected
    assert lifetimes(pem)[1].end < datetime.now(UTC) < lifetimes(pem)[0].end + timedelta(seconds=1)


@pytest.mark.parametrize("year", [1951, 2049, 2050, 2999])
def test_both_ways_of_writing_a_time_are_read(year: int, tmp_path: Path) -> None:
    end = datetime(year, 6, 7, 8, 9, 10, tzinfo=UTC)
    made = Authority(tmp_path).lasting_until(end)
    assert lifetimes(made.cert.read_text())[0].end == end


@given(data=st.binary(max_size=60))
def test_what_is_no_certificate_is_a_value_error_and_nothing_worse(data: bytes) -> None:
    with pytest.raises(ValueError):
        lifetime(data)


@given(cut=st.integers(min_value=0, max_value=200), flip=st.integers(min_value=0, max_value=255))
def test_a_damaged_certificate_never_does_worse(der: bytes, cut: int, flip: int) -> None:
    damaged = bytearray(der)
    damaged[min(cut, len(der) - 1)] ^= flip
    for candidate in (bytes(damaged), der[:cut]):
        try:
            lifetime(candidate)
        except ValueError:
            continue


@pytest.fixture(scope="module")
def der(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return ssl.PEM_cert_to_DER_cert(Authority(tmp_path_factory.mktemp("ca")).cert.read_text())
