"""What a real etcd does to a start in classic mode, in the words of Calico's client; and how long it keeps silent."""

from __future__ import annotations

import asyncio
import io
from pathlib import Path

import pytest
from tests.support.certificates import Authority
from tests.support.etcd_server import ServerTls, free_port, running_etcd

from tortie.node.classic.log import ClassicLog
from tortie.node.classic.reading import ClassicReader
from tortie.node.classic.release import read_release
from tortie.node.classic.words import GoError
from tortie.store.etcd import EtcdConfig, EtcdStore

HANDSHAKE = (
    'rpc error: code = Unavailable desc = connection error: desc = "transport: authentication handshake failed: '
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("classic-tls")


@pytest.fixture(scope="module")
def authority(folder: Path) -> Authority:
    return Authority(folder)


def said(config: EtcdConfig, version: str = "3.20") -> str:
    async def whole() -> str:
        store = EtcdStore(config)
        log = ClassicLog(io.StringIO(), read_release(version))
        try:
            await ClassicReader(store, log, dial_s=1.0).get("/calico/x")
        except GoError as error:
            return error.text
        finally:
            await store.close()
        return ""

    return asyncio.run(whole())


def test_nobody_there() -> None:
    port = free_port()
    config = EtcdConfig(endpoints=(f"http://127.0.0.1:{port}",))
    assert f"dial tcp 127.0.0.1:{port}: connect: connection refused" in said(config)
    assert said(config, "2.6") == (
        "client: etcd cluster is unavailable or misconfigured; error #0: "
        f"dial tcp 127.0.0.1:{port}: getsockopt: connection refused"
    )


def test_an_expired_certificate(authority: Authority) -> None:
    server = authority.server("expired", expired=True)
    with running_etcd(tls=ServerTls(server.cert, server.key)) as etcd:
        text = said(EtcdConfig(endpoints=(etcd.endpoint,), ca_file=str(authority.cert)))
    assert text.startswith(f"{HANDSHAKE}x509: certificate has expired or is not yet valid: current time 20")
    assert " is after 20" in text


def test_another_authority(authority: Authority, folder: Path) -> None:
    server = Authority(folder, "other").server("of-another")
    with running_etcd(tls=ServerTls(server.cert, server.key)) as etcd:
        text = said(EtcdConfig(endpoints=(etcd.endpoint,), ca_file=str(authority.cert)))
    assert text == f'{HANDSHAKE}x509: certificate signed by unknown authority"'


@pytest.mark.timeout(120)
def test_silence_is_waited_out_without_a_word() -> None:
    async def whole(endpoint: str, resume: object) -> str:
        store = EtcdStore(EtcdConfig(endpoints=(endpoint,)))
        stream = io.StringIO()
        reader = ClassicReader(store, ClassicLog(stream, read_release("3.20")), dial_s=0.5, longest_s=60.0)
        try:
            asked = asyncio.create_task(reader.get("/calico/x"))
            done, _ = await asyncio.wait([asked], timeout=3.0)  # several times what a connection may take
            assert not done
            assert callable(resume)
            resume()
            assert await asked is None
        finally:
            await store.close()
        return stream.getvalue()

    with running_etcd() as etcd:
        etcd.pause()
        try:
            assert asyncio.run(whole(etcd.endpoint, etcd.resume)) == ""
        finally:
            etcd.resume()


def test_our_own_last_deadline() -> None:
    async def whole(endpoint: str) -> str:
        store = EtcdStore(EtcdConfig(endpoints=(endpoint,)))
        reader = ClassicReader(store, ClassicLog(io.StringIO(), read_release("3.20")), dial_s=0.3, longest_s=1.0)
        try:
            await reader.get("/calico/x")
        except GoError as error:
            return error.text
        finally:
            await store.close()
        return ""

    with running_etcd() as etcd:
        etcd.pause()
        try:
            assert asyncio.run(whole(etcd.endpoint)) == "context deadline exceeded"
        finally:
            etcd.resume()
