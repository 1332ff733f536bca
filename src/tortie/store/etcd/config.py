"""Where etcd is and how to be let in; read once, checked before anything is sent."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import urlsplit

from tortie.model.errors import UsageError

DEFAULT_PORT = 2379

_EXAMPLE = "https://10.0.0.1:2379"


class Endpoint(NamedTuple):
    """One address of etcd; as text it carries no user or password."""

    scheme: str
    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"

    @property
    def secure(self) -> bool:
        return self.scheme == "https"


@dataclass(frozen=True, kw_only=True)
class EtcdConfig:
    """Calico's etcd settings. Certificates are given as files or as PEM text, not both."""

    endpoints: tuple[str, ...]
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    ca_file: str | None = None
    cert_file: str | None = None
    key_file: str | None = None
    ca: str | None = field(default=None, repr=False)
    cert: str | None = field(default=None, repr=False)
    key: str | None = field(default=None, repr=False)
    parsed_endpoints: tuple[Endpoint, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not self.endpoints:
            raise UsageError("no etcd endpoint", "nothing says where etcd is", f"set ETCD_ENDPOINTS, e.g. {_EXAMPLE}")
        parsed = tuple(dict.fromkeys(parse_endpoint(text) for text in self.endpoints))
        object.__setattr__(self, "parsed_endpoints", parsed)
        self._check_users()
        self._check_certificates()

    @property
    def where(self) -> str:
        return "etcd " + ",".join(map(str, self.parsed_endpoints))

    def _check_users(self) -> None:
        if (self.username is None) != (self.password is None):
            given, missing = ("user", "password") if self.password is None else ("password", "user")
            raise UsageError(
                f"an etcd {given} without a {missing}",
                "etcd asks for both",
                "set both ETCD_USERNAME and ETCD_PASSWORD, or neither",
            )

    def _check_certificates(self) -> None:
        files = {"ca": self.ca_file, "cert": self.cert_file, "key": self.key_file}
        texts = {"ca": self.ca, "cert": self.cert, "key": self.key}
        if any(files.values()) and any(texts.values()):
            raise UsageError(
                "etcd certificates given twice",
                "some as files and some as PEM text",
                "give either the files (ETCD_CA_CERT_FILE, ETCD_CERT_FILE, ETCD_KEY_FILE) or the texts",
            )
        given = texts if any(texts.values()) else files
        if bool(given["cert"]) != bool(given["key"]):
            present, absent = ("certificate", "key") if given["cert"] else ("key", "certificate")
            raise UsageError(
                f"an etcd client {present} without its {absent}",
                "a client shows the certificate and proves with the key that it is its own",
                "set both ETCD_CERT_FILE and ETCD_KEY_FILE",
            )
        plain = [endpoint for endpoint in self.parsed_endpoints if not endpoint.secure]
        if plain and any(given.values()):
            raise UsageError(
                f"etcd certificates for {plain[0]}",
                "over http no certificate is looked at, and everything travels readable",
                f"write https://{plain[0].host}:{plain[0].port}, or leave the certificates away",
            )


def parse_endpoint(text: str) -> Endpoint:
    try:
        parts = urlsplit(text.strip())
        port = parts.port
    except ValueError:
        raise _bad_endpoint(text, "it is not a URL") from None
    if parts.scheme not in ("http", "https"):
        raise _bad_endpoint(text, "it does not begin with http:// or https://")
    if not parts.hostname:
        raise _bad_endpoint(text, "it names no host")
    if parts.path not in ("", "/") or parts.query or parts.fragment:
        raise _bad_endpoint(text, "it has more than scheme, host and port")
    return Endpoint(parts.scheme, parts.hostname, DEFAULT_PORT if port is None else port)


def _bad_endpoint(text: str, why: str) -> UsageError:
    # What stands before an @ may be a password.
    shown = text.strip().rpartition("@")[2]
    return UsageError(f"the etcd endpoint {shown!r}", why, f"write it like {_EXAMPLE}")
