"""Each way in which TLS goes wrong is told apart, with the certificate, file or endpoint to look at."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.support.certificates import Authority, Certificate
from tests.support.etcd_server import EtcdServer, ServerTls, running_etcd
from tests.support.stores import CompactableStore

from tortie.store.contract import Entry, Unreachable, put
from tortie.store.etcd import EtcdConfig


class CLIENT:
    """The one that a test is about."""

    open: Callable[[EtcdConfig], CompactableStore]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("certificates")


@pytest.fixture(scope="module")
def authority(folder: Path) -> Authority:
    return Authority(folder)


@pytest.fixture(scope="module")
def client(authority: Authority) -> Certificate:
    return authority.client()


@pytest.fixture(scope="module")
def strict(authority: Authority) -> Iterator[EtcdServer]:
    """etcd that asks for client certificates."""
    server = authority.server()
    with running_etcd(tls=ServerTls(server.cert, server.key, authority.cert)) as etcd:
        yield etcd


@pytest.fixture(autouse=True)
def either_client(etcd_client: Callable[[EtcdConfig], CompactableStore], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CLIENT, "open", etcd_client, raising=False)


def settings(endpoint: str, authority: Authority, client: Certificate | None = None) -> EtcdConfig:
    return EtcdConfig(
        endpoints=(endpoint,),
        ca_file=str(authority.cert),
        cert_file=str(client.cert) if client else None,
        key_file=str(client.key) if client else None,
    )


def written_and_read(config: EtcdConfig) -> Entry | None:
    async def scenario() -> Entry | None:
        store = CLIENT.open(config)
        try:
            await put(store, "/a", b"1")
            return await store.get("/a")
        finally:
            await store.close()

    return asyncio.run(scenario())


def complaint(config: EtcdConfig) -> Unreachable:
    async def scenario() -> Unreachable:
        store = CLIENT.open(config)
        try:
            with pytest.raises(Unreachable) as caught:
                await store.get("/a", timeout_s=60)  # nobody waits that long for what cannot mend itself
            return caught.value
        finally:
            await store.close()

    return asyncio.run(asyncio.wait_for(scenario(), 30))


def test_certificates_from_files_open_the_door(strict: EtcdServer, authority: Authority, client: Certificate) -> None:
    entry = written_and_read(settings(strict.endpoint, authority, client))
    assert entry is not None
    assert entry.value == b"1"


def test_certificates_given_as_text_open_the_door(
    strict: EtcdServer, authority: Authority, client: Certificate
) -> None:
    config = EtcdConfig(
        endpoints=(strict.endpoint,),
        ca=authority.cert.read_text(),
        cert=client.cert.read_text(),
        key=client.key.read_text(),
    )
    assert written_and_read(config) is not None
    assert client.key.read_text().splitlines()[1] not in repr(config)


def test_a_server_of_another_ca_is_not_trusted(strict: EtcdServer, folder: Path, client: Certificate) -> None:
    error = complaint(settings(strict.endpoint, Authority(folder, "other-ca"), client))
    assert f"{strict.endpoint}: its server certificate is not signed by the CA certificate" in error.why
    assert "other-ca.pem" in error.why
    assert "ETCD_CA_CERT_FILE" in error.fix


def test_without_a_ca_only_the_system_is_trusted(strict: EtcdServer) -> None:
    error = complaint(EtcdConfig(endpoints=(strict.endpoint,)))
    assert "not signed by a CA that this system trusts" in error.why
    assert "ETCD_CA_CERT_FILE" in error.fix


def test_an_expired_server_certificate_is_named_with_its_date(authority: Authority) -> None:
    server = authority.server("expired-server", expired=True)
    with running_etcd(tls=ServerTls(server.cert, server.key)) as etcd:
        error = complaint(settings(etcd.endpoint, authority))
    assert f"{etcd.endpoint}: its server certificate expired on 20" in error.why
    assert "renew the certificate of etcd on 127.0.0.1" in error.fix


def test_an_expired_ca_is_told_from_an_expired_server_certificate(folder: Path) -> None:
    expired = Authority(folder, "expired-ca", expired=True)
    server = expired.server("server-of-expired-ca")
    with running_etcd(tls=ServerTls(server.cert, server.key)) as etcd:
        error = complaint(settings(etcd.endpoint, expired))
    assert f"the CA certificate {expired.cert} expired on 20" in error.why


def test_a_certificate_for_another_host_tells_its_names(authority: Authority) -> None:
    server = authority.server("elsewhere", hosts=("etcd.example", "192.0.2.7"))
    with running_etcd(tls=ServerTls(server.cert, server.key)) as etcd:
        error = complaint(settings(etcd.endpoint, authority))
    assert "its server certificate is for etcd.example, 192.0.2.7, not for 127.0.0.1" in error.why
    assert "ETCD_ENDPOINTS" in error.fix


def test_a_missing_client_certificate_is_asked_for(strict: EtcdServer, authority: Authority) -> None:
    error = complaint(settings(strict.endpoint, authority))
    assert "it asks for a client certificate and got none" in error.why
    assert "ETCD_CERT_FILE" in error.fix


def test_an_expired_client_certificate_is_named_with_its_date(strict: EtcdServer, authority: Authority) -> None:
    expired = authority.client("expired-client", expired=True)
    error = complaint(settings(strict.endpoint, authority, expired))
    assert f"it refuses the client certificate {expired.cert}, which expired on 20" in error.why
    assert "renew it" in error.fix


def test_a_client_certificate_of_another_ca_is_named(strict: EtcdServer, authority: Authority, folder: Path) -> None:
    stranger = Authority(folder, "strange-ca").client("stranger")
    error = complaint(settings(strict.endpoint, authority, stranger))
    assert f"it refuses the client certificate {stranger.cert} (" in error.why
    assert "--trusted-ca-file" in error.fix


def test_plain_http_to_a_tls_port_is_recognised(strict: EtcdServer) -> None:
    endpoint = strict.endpoint.replace("https", "http")
    error = complaint(EtcdConfig(endpoints=(endpoint,)))
    assert f"{endpoint}: it speaks TLS, not plain HTTP" in error.why
    assert f"write {strict.endpoint}" in error.fix


def test_https_to_a_plain_port_is_recognised(authority: Authority) -> None:
    with running_etcd() as etcd:
        endpoint = etcd.endpoint.replace("http", "https")
        error = complaint(settings(endpoint, authority))
    assert f"{endpoint}: it speaks plain HTTP, not TLS" in error.why
    assert f"write {etcd.endpoint}" in error.fix


def test_a_renewed_certificate_is_used_from_the_next_connection_on(
    strict: EtcdServer, authority: Authority, client: Certificate
) -> None:
    async def scenario() -> None:
        rotated = authority.client("rotated", expired=True)
        store = CLIENT.open(settings(strict.endpoint, authority, rotated))
        try:
            with pytest.raises(Unreachable, match="expired"):
                await store.get("/a")
            rotated.cert.write_bytes(client.cert.read_bytes())
            rotated.key.write_bytes(client.key.read_bytes())
            await put(store, "/renewed", b"1")
        finally:
            await store.close()

    asyncio.run(scenario())


def test_one_badly_certified_endpoint_does_not_stop_the_others(authority: Authority) -> None:
    bad, good = authority.server("expired-too", expired=True), authority.server("good")
    with (
        running_etcd(tls=ServerTls(bad.cert, bad.key)) as first,
        running_etcd(tls=ServerTls(good.cert, good.key)) as second,
    ):
        config = EtcdConfig(endpoints=(first.endpoint, second.endpoint), ca_file=str(authority.cert))
        assert written_and_read(config) is not None
