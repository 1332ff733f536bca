"""A lab's certificates: what OpenSSL, which other programs check them with, says of the good and of the bad ones."""

from __future__ import annotations

import os
import socket
import ssl
import threading
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID

from tortie.lab.certificates import CLIENT_FILES, SECRETS, SERVER, SERVER_FILES, certificates, provide, texts
from tortie.lab.plan import LabPlan
from tortie.lab.planning import plan
from tortie.lab.registry import LabFolder
from tortie.lab.topology import from_flags

HOSTS = ("127.0.0.1", "localhost", "fd77::1")
NOW = datetime.now(UTC)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tls")
    for name, text in certificates(HOSTS, NOW).items():
        (folder / name).write_text(text)
    return folder


def handshake(made: Path, server: str, ca: str) -> str:
    """Empty when both sides are content, else what the client has against the server."""
    listening = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    listening.load_cert_chain(made / server, made / "server.key")
    listening.load_verify_locations(made / "ca.pem")
    listening.verify_mode = ssl.CERT_REQUIRED
    ours, theirs = socket.socketpair()

    def serve() -> None:
        try:
            with listening.wrap_socket(theirs, server_side=True) as wrapped:
                wrapped.send(b"!")
        except OSError:
            theirs.close()

    thread = threading.Thread(target=serve)
    thread.start()
    calling = ssl.create_default_context(cafile=str(made / ca))
    calling.load_cert_chain(made / "client.pem", made / "client.key")
    try:
        with calling.wrap_socket(ours, server_hostname="127.0.0.1") as wrapped:
            return "" if wrapped.recv(1) == b"!" else "closed"
    except ssl.SSLCertVerificationError as error:
        return error.verify_message
    finally:
        ours.close()
        thread.join()


@pytest.mark.parametrize(
    ("server", "ca", "said"),
    [
        ("server.pem", "ca.pem", ""),
        ("expired.pem", "ca.pem", "certificate has expired"),
        ("tomorrow.pem", "ca.pem", "certificate is not yet valid"),
        ("server.pem", "other-ca.pem", "self-signed certificate in certificate chain"),
    ],
)
def test_what_a_client_says(made: Path, server: str, ca: str, said: str) -> None:
    assert handshake(made, server, ca) == said


def test_what_is_in_them(made: Path) -> None:
    read = x509.load_pem_x509_certificate((made / "server.pem").read_bytes())
    names = read.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["localhost"]
    assert names.get_values_for_type(x509.IPAddress) == [ip_address("127.0.0.1"), ip_address("fd77::1")]
    purposes = read.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert set(purposes) == {ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH}
    assert read.not_valid_before_utc < NOW < read.not_valid_after_utc - timedelta(days=30)
    authority = x509.load_pem_x509_certificate((made / "ca.pem").read_bytes())
    assert authority.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    read.verify_directly_issued_by(authority)


def test_every_machine_gets_its_own_and_keeps_what_a_fault_put_there(tmp_path: Path) -> None:
    folder, lab = LabFolder(str(tmp_path)), lab_plan(tls=True)
    provide(lab, folder)
    node, store = tmp_path / "nodes" / "node-1", tmp_path / "nodes" / "etcd-1"
    assert sorted(os.listdir(f"{node}{SECRETS}")) == sorted(CLIENT_FILES)
    assert sorted(os.listdir(f"{store}{SERVER}")) == sorted(SERVER_FILES)
    assert Path(f"{node}{SECRETS}/etcd-key").stat().st_mode & 0o777 == 0o600
    Path(f"{node}{SECRETS}/etcd-ca").write_text(texts(folder)["other-ca.pem"])
    Path(f"{node}{SECRETS}/etcd-cert").unlink()
    provide(lab, folder)
    assert Path(f"{node}{SECRETS}/etcd-ca").read_text() == (tmp_path / "tls" / "other-ca.pem").read_text()
    assert Path(f"{node}{SECRETS}/etcd-cert").read_text() == (tmp_path / "tls" / "client.pem").read_text()


def test_without_tls_there_are_none(tmp_path: Path) -> None:
    provide(lab_plan(tls=False), LabFolder(str(tmp_path)))
    assert os.listdir(tmp_path) == []
    assert texts(LabFolder(str(tmp_path))) == {}


def lab_plan(*, tls: bool) -> LabPlan:
    return plan(from_flags(1, store="etcd", tls=tls), "lab")
