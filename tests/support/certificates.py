"""Certificates for the tests, good and bad: made afresh, valid for minutes."""

from __future__ import annotations

import ipaddress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_DAY = timedelta(days=1)


class Certificate(NamedTuple):
    """A certificate and its key, as files."""

    cert: Path
    key: Path


class Authority:
    """A certificate authority that signs what a test needs."""

    def __init__(self, folder: Path, name: str = "ca", *, expired: bool = False) -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _named(f"tortie test {name}")
        lifetime = _lifetime(expired)
        built = (
            _builder(self._name, self._name, self._key.public_key(), lifetime)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .sign(self._key, SHA256())
        )
        self.cert = folder / f"{name}.pem"
        self.cert.write_bytes(built.public_bytes(Encoding.PEM))

    def server(
        self, name: str = "server", *, hosts: tuple[str, ...] = ("127.0.0.1",), expired: bool = False
    ) -> Certificate:
        return self._sign(name, hosts, _lifetime(expired))

    def client(self, name: str = "client", *, expired: bool = False) -> Certificate:
        return self._sign(name, (), _lifetime(expired))

    def lasting_until(self, end: datetime) -> Certificate:
        return self._sign("lasting", (), (datetime(1950, 1, 1, tzinfo=UTC), end))

    def _sign(self, name: str, hosts: tuple[str, ...], lifetime: tuple[datetime, datetime]) -> Certificate:
        key = ec.generate_private_key(ec.SECP256R1())
        # etcd's gateway calls etcd itself with the server's certificate, so that one serves for both purposes.
        purposes = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH])
        builder = _builder(_named(name), self._name, key.public_key(), lifetime).add_extension(purposes, False)
        if hosts:
            builder = builder.add_extension(x509.SubjectAlternativeName([_alternative(host) for host in hosts]), False)
        made = Certificate(self._folder / f"{name}.pem", self._folder / f"{name}.key")
        made.cert.write_bytes(builder.sign(self._key, SHA256()).public_bytes(Encoding.PEM))
        made.key.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        return made


def encrypted_key(folder: Path) -> Path:
    """A private key that only opens with a password."""
    key = ec.generate_private_key(ec.SECP256R1())
    made = folder / "encrypted.key"
    made.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"secret")))
    return made


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, lifetime: tuple[datetime, datetime]
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(lifetime[0])
        .not_valid_after(lifetime[1])
    )


def _lifetime(expired: bool) -> tuple[datetime, datetime]:
    end = datetime.now(UTC) + (-_DAY if expired else _DAY)
    return end - 7 * _DAY, end


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _alternative(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
