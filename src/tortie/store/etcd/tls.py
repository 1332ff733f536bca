"""Certificates from the settings to an `ssl` context, and what is wrong with them when etcd and we disagree."""

from __future__ import annotations

import os
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from tortie.model.errors import UsageError
from tortie.store.etcd.config import EtcdConfig
from tortie.store.etcd.pem import lifetimes


class Material(NamedTuple):
    """One piece of PEM and the words by which its owner knows it."""

    what: str
    setting: str
    source: str
    pem: str

    def expired_on(self) -> datetime | None:
        """When the first of its certificates ran out, if one has."""
        try:
            past = [lifetime.end for lifetime in lifetimes(self.pem) if lifetime.end < datetime.now(UTC)]
        except ValueError:
            return None
        return min(past, default=None)

    def __str__(self) -> str:
        return f"the {self.what} {self.source}".rstrip()


class Credentials(NamedTuple):
    ca: Material | None
    cert: Material | None
    key: Material | None


def read_credentials(config: EtcdConfig) -> Credentials:
    """Reads the files now, so that a renewed certificate is used from the next connection on."""
    return Credentials(
        _material("CA certificate", "ETCD_CA_CERT_FILE", config.ca_file, config.ca, "CERTIFICATE"),
        _material("client certificate", "ETCD_CERT_FILE", config.cert_file, config.cert, "CERTIFICATE"),
        _material("client key", "ETCD_KEY_FILE", config.key_file, config.key, "PRIVATE KEY"),
    )


def make_context(credentials: Credentials) -> ssl.SSLContext:
    """Trusts only the given CA, or the system's when none is given."""
    context = _trusting(credentials.ca)
    context.set_alpn_protocols(["h2"])
    # Newer Pythons refuse what etcd's own tools and Go accept, e.g. a CA without a key identifier.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if credentials.cert and credentials.key:
        _show_certificate(context, credentials.cert, credentials.key)
    return context


def _trusting(ca: Material | None) -> ssl.SSLContext:
    if ca is None:
        return ssl.create_default_context()
    try:
        return ssl.create_default_context(cadata=ca.pem)
    except ssl.SSLError:
        raise _broken(ca) from None


def _show_certificate(context: ssl.SSLContext, cert: Material, key: Material) -> None:
    def no_password() -> str:
        # Without this OpenSSL would stop and ask on the terminal.
        raise UsageError(str(key), "it is encrypted with a password", f"give a key without one in {key.setting}")

    # The text may not come from a file, and `ssl` reads files only; these exist in memory alone.
    with _in_memory(cert.pem) as cert_path, _in_memory(key.pem) as key_path:
        try:
            context.load_cert_chain(cert_path, key_path, no_password)
        except ssl.SSLError as error:
            if error.reason in ("KEY_VALUES_MISMATCH", "KEY_TYPE_MISMATCH"):
                raise UsageError(
                    str(key),
                    f"it does not belong to {cert}",
                    f"give the pair that was made together in {cert.setting} and {key.setting}",
                ) from None
            if _is_certificate(cert):
                raise _broken(key) from None
            raise _broken(cert) from None


def _is_certificate(material: Material) -> bool:
    try:
        ssl.create_default_context(cadata=material.pem)
    except ssl.SSLError:
        return False
    return True


def _material(what: str, setting: str, path: str | None, text: str | None, kind: str) -> Material | None:
    if path:
        try:
            text = Path(path).read_text()
        except OSError as error:
            raise UsageError(
                f"the {what} {path}", f"cannot be read: {error.strerror}", f"check the path in {setting} and its rights"
            ) from None
        except UnicodeDecodeError:
            text = ""
    if text is None:
        return None
    material = Material(what, setting, path or "given as text", text)
    if f"{kind}-----" not in text:
        raise _broken(material)
    return material


def _broken(material: Material) -> UsageError:
    return UsageError(str(material), "it is not the PEM text expected here", f"give a PEM file in {material.setting}")


@contextmanager
def _in_memory(pem: str) -> Iterator[str]:
    handle = os.memfd_create("pem", os.MFD_CLOEXEC)
    try:
        os.write(handle, pem.encode())
        yield f"/proc/self/fd/{handle}"
    finally:
        os.close(handle)
