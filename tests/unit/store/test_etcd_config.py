"""Settings that cannot work are refused before anything is sent, with what to change."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.support.certificates import Authority, encrypted_key

from tortie.model.errors import UsageError
from tortie.store.etcd import EtcdConfig, EtcdStore
from tortie.store.etcd.config import Endpoint, parse_endpoint

HTTPS = ("https://10.0.0.1:2379",)


@pytest.mark.parametrize(
    ("text", "endpoint"),
    [
        ("http://10.0.0.1:4001", Endpoint("http", "10.0.0.1", 4001)),
        ("https://etcd.example", Endpoint("https", "etcd.example", 2379)),
        (" http://[fd00::1]:2379/ ", Endpoint("http", "fd00::1", 2379)),
        ("http://root:secret@10.0.0.1", Endpoint("http", "10.0.0.1", 2379)),
    ],
)
def test_an_endpoint_is_scheme_host_and_port(text: str, endpoint: Endpoint) -> None:
    assert parse_endpoint(text) == endpoint
    assert parse_endpoint(str(endpoint)) == endpoint


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("10.0.0.1:2379", "does not begin with http"),
        ("ftp://10.0.0.1", "does not begin with http"),
        ("http://", "names no host"),
        ("http://10.0.0.1:port", "not a URL"),
        ("http://10.0.0.1:99999", "not a URL"),
        ("http://[fd00::1", "not a URL"),
        ("http://10.0.0.1:2379/v3", "more than scheme, host and port"),
        ("", "does not begin with http"),
    ],
)
def test_a_bad_endpoint_is_told_with_the_reason(text: str, why: str) -> None:
    with pytest.raises(UsageError, match=why) as caught:
        EtcdConfig(endpoints=(text,))
    assert caught.value.fix == "write it like https://10.0.0.1:2379"


def test_a_bad_endpoint_is_told_without_the_password_in_it() -> None:
    with pytest.raises(UsageError) as caught:
        EtcdConfig(endpoints=("ftp://root:secret@10.0.0.1",))
    assert "secret" not in str(caught.value)


def test_no_endpoint_at_all_is_refused() -> None:
    with pytest.raises(UsageError, match="no etcd endpoint"):
        EtcdConfig(endpoints=())


def test_where_names_the_endpoints_and_no_secret() -> None:
    config = EtcdConfig(endpoints=("http://u:secret@a", "http://b:1"), username="u", password="secret")
    assert config.where == "etcd http://a:2379,http://b:1"
    assert "secret" not in repr(EtcdConfig(endpoints=HTTPS, username="u", password="secret"))


@pytest.mark.parametrize("given", [{"username": "u"}, {"password": "p"}])
def test_user_and_password_come_together(given: dict[str, str]) -> None:
    with pytest.raises(UsageError, match="etcd asks for both"):
        EtcdConfig(endpoints=HTTPS, **given)


@pytest.mark.parametrize("given", [{"cert_file": "c"}, {"key_file": "k"}, {"cert": "c"}, {"key": "k"}])
def test_certificate_and_key_come_together(given: dict[str, str]) -> None:
    with pytest.raises(UsageError, match="without its"):
        EtcdConfig(endpoints=HTTPS, **given)


def test_files_and_texts_exclude_each_other() -> None:
    with pytest.raises(UsageError, match="given twice"):
        EtcdConfig(endpoints=HTTPS, ca_file="ca.pem", cert="c", key="k")


def test_certificates_for_a_plain_endpoint_are_refused() -> None:
    with pytest.raises(UsageError, match=r"etcd certificates for http://10\.0\.0\.2:2379") as caught:
        EtcdConfig(endpoints=(*HTTPS, "http://10.0.0.2"), ca_file="ca.pem")
    assert "https://10.0.0.2:2379" in caught.value.fix


def refusal(**given: str) -> UsageError:
    async def scenario() -> None:
        await EtcdStore(EtcdConfig(endpoints=HTTPS, **given)).close()

    with pytest.raises(UsageError) as caught:
        asyncio.run(scenario())
    return caught.value


def test_a_missing_file_is_named_with_its_setting(tmp_path: Path) -> None:
    error = refusal(ca_file=str(tmp_path / "nowhere.pem"))
    assert str(error).startswith(f"the CA certificate {tmp_path}/nowhere.pem: cannot be read: No such file")
    assert "ETCD_CA_CERT_FILE" in error.fix


@pytest.mark.parametrize(
    "content",
    [b"", b"hello", b"\xff\xfe\x00", b"-----BEGIN CERTIFICATE-----\nnonsense\n-----END CERTIFICATE-----\n"],
    ids=["empty", "text", "binary", "broken"],
)
def test_a_file_that_is_no_certificate_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "ca.pem"
    path.write_bytes(content)
    assert "not the PEM text expected" in refusal(ca_file=str(path)).why


def test_a_broken_client_certificate_and_a_broken_key_are_told_apart(tmp_path: Path) -> None:
    good = Authority(tmp_path).client()
    broken = tmp_path / "broken.pem"
    broken.write_text("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n-----BEGIN PRIVATE KEY-----\nAA\n")
    assert f"the client certificate {broken}" in refusal(cert_file=str(broken), key_file=str(good.key)).what
    assert f"the client key {broken}" in refusal(cert_file=str(good.cert), key_file=str(broken)).what


def test_a_key_of_another_certificate_is_refused(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    one, other = authority.client("one"), authority.client("other")
    error = refusal(cert_file=str(one.cert), key_file=str(other.key))
    assert error.what == f"the client key {other.key}"
    assert error.why == f"it does not belong to the client certificate {one.cert}"


def test_an_encrypted_key_is_refused_instead_of_asking_on_the_terminal(tmp_path: Path) -> None:
    client = Authority(tmp_path).client()
    error = refusal(cert_file=str(client.cert), key_file=str(encrypted_key(tmp_path)))
    assert "encrypted with a password" in error.why
