"""Why a connection came to nothing: a second, patient handshake that tells which side refused what.

The failing connection itself often cannot say: with TLS 1.3 a server refuses the client's certificate only after the
client believes to be connected, and the refusal may be overtaken by the reset. This runs on failure only.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime

from tortie.model.errors import UsageError
from tortie.store.etcd.config import Endpoint, EtcdConfig
from tortie.store.etcd.pem import lifetime
from tortie.store.etcd.resolving import Resolver
from tortie.store.etcd.tls import Credentials, make_context, read_credentials
from tortie.store.etcd.trouble import Trouble

_PATIENCE_S = 1.0

# OpenSSL's numbers for why it does not trust a certificate.
_NOT_YET_VALID, _EXPIRED = 9, 10
_OTHER_NAME = (62, 64)

_HTTP_REQUEST = b"GET /health HTTP/1.0\r\n\r\n"


async def diagnose(endpoint: Endpoint, config: EtcdConfig, limit_s: float) -> Trouble | None:
    """What is wrong with TLS between us and this endpoint; None if nothing is, or it cannot be told."""
    try:
        async with asyncio.timeout(min(limit_s, _PATIENCE_S)):
            if not endpoint.secure:
                return await _plain_to_tls(endpoint)
            try:
                credentials = read_credentials(config)
                context = make_context(credentials)
            except UsageError as error:
                return Trouble(str(error), error.fix, lasting=True)
            return await _handshake(endpoint, credentials, context)
    except (OSError, EOFError):
        return None


async def _handshake(endpoint: Endpoint, credentials: Credentials, context: ssl.SSLContext) -> Trouble | None:
    try:
        async with _connected(endpoint, context) as (reader, _):
            # A content server begins to speak; one that refuses us says so now.
            await reader.read(1)
    except ssl.SSLCertVerificationError as error:
        return await _distrusted(error, endpoint, credentials)
    except ssl.SSLError as error:
        if "ALERT" in (error.reason or ""):
            return _refused(error.reason, credentials)
        return await _tls_to_plain(endpoint)
    except OSError:
        return await _tls_to_plain(endpoint)
    return None


async def _distrusted(error: ssl.SSLCertVerificationError, endpoint: Endpoint, credentials: Credentials) -> Trouble:
    ca = credentials.ca
    if error.verify_code in (_EXPIRED, _NOT_YET_VALID):
        if ca and (end := ca.expired_on()):
            return _lasting(f"{ca} expired on {_day(end)}", f"give the renewed CA certificate in {ca.setting}")
        begin, end = lifetime(await _server_certificate(endpoint))
        told = f"expired on {_day(end)}" if error.verify_code == _EXPIRED else f"is valid only from {_day(begin)} on"
        return _lasting(
            f"its server certificate {told}",
            f"renew the certificate of etcd on {endpoint.host} (or set this machine's clock, if that is wrong)",
        )
    if error.verify_code in _OTHER_NAME:
        names = await _server_names(endpoint, credentials)
        return _lasting(
            f"its server certificate is for {names}, not for {endpoint.host}",
            f"use one of its names in ETCD_ENDPOINTS, or have it issued for {endpoint.host} too",
        )
    trusted = str(ca) if ca else "a CA that this system trusts"
    return _lasting(
        f"its server certificate is not signed by {trusted} ({error.verify_message})",
        "set ETCD_CA_CERT_FILE to the CA that signed etcd's server certificate",
    )


def _refused(reason: str, credentials: Credentials) -> Trouble:
    cert = credentials.cert
    if cert is None:
        return _lasting(
            "it asks for a client certificate and got none", "set ETCD_CERT_FILE and ETCD_KEY_FILE to a pair it accepts"
        )
    if end := cert.expired_on():
        return _lasting(f"it refuses {cert}, which expired on {_day(end)}", f"renew it ({cert.setting})")
    alert = reason.partition("ALERT_")[2].lower().replace("_", " ")
    return _lasting(
        f"it refuses {cert} ({alert})",
        f"give one in {cert.setting} that is signed by the CA in etcd's --trusted-ca-file",
    )


async def _tls_to_plain(endpoint: Endpoint) -> Trouble | None:
    async with _connected(endpoint, None) as (reader, writer):
        writer.write(_HTTP_REQUEST)
        if await reader.read(5) != b"HTTP/":
            return None
    return _lasting(
        "it speaks plain HTTP, not TLS",
        f"write http://{endpoint.host}:{endpoint.port} in ETCD_ENDPOINTS, or give etcd a certificate",
    )


async def _plain_to_tls(endpoint: Endpoint) -> Trouble | None:
    try:
        async with _connected(endpoint, _trusting_anybody()):
            pass
    except ssl.SSLError as error:
        if "ALERT" not in (error.reason or ""):
            return None
    return _lasting(
        "it speaks TLS, not plain HTTP",
        f"write https://{endpoint.host}:{endpoint.port} in ETCD_ENDPOINTS and set ETCD_CA_CERT_FILE",
    )


async def _server_certificate(endpoint: Endpoint) -> bytes:
    async with _connected(endpoint, _trusting_anybody()) as (_, writer):
        certificate: bytes = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        return certificate


async def _server_names(endpoint: Endpoint, credentials: Credentials) -> str:
    context = make_context(credentials)
    context.check_hostname = False
    async with _connected(endpoint, context) as (_, writer):
        names = writer.get_extra_info("peercert").get("subjectAltName", ())
    return ", ".join(name for _, name in names) or "nobody in particular"


def _trusting_anybody() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols(["h2"])
    return context


@asynccontextmanager
async def _connected(
    endpoint: Endpoint, context: ssl.SSLContext | None
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    host = endpoint.host if context else None
    reader, writer = await Resolver(endpoint.host).connected(
        lambda address: asyncio.open_connection(address, endpoint.port, ssl=context, server_hostname=host)
    )
    try:
        yield reader, writer
    finally:
        writer.transport.abort()


def _lasting(text: str, fix: str) -> Trouble:
    return Trouble(text, fix, lasting=True)


def _day(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC"
