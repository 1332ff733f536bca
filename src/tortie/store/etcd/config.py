"""Where etcd is and how to be let in; read once, checked before anything is sent."""

from __future__ import annotations

from tortie.model.errors import UsageError
from tortie.model.light import Final, NamedTuple

DEFAULT_PORT = 2379
_HIGHEST_PORT = 65_535

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


class EtcdConfig:
    """Calico's etcd settings. Certificates are given as files or as PEM text, not both.

    A plain class, because every command makes one and a dataclass brings more modules than the rest of the client.
    """

    def __init__(
        self,
        *,
        endpoints: tuple[str, ...],
        username: str | None = None,
        password: str | None = None,
        ca_file: str | None = None,
        cert_file: str | None = None,
        key_file: str | None = None,
        ca: str | None = None,
        cert: str | None = None,
        key: str | None = None,
    ) -> None:
        if not endpoints:
            raise UsageError("no etcd endpoint", "nothing says where etcd is", f"set ETCD_ENDPOINTS, e.g. {_EXAMPLE}")
        self.parsed_endpoints: Final = tuple(dict.fromkeys(parse_endpoint(text) for text in endpoints))
        self.username: Final = username
        self.password: Final = password
        self.ca_file: Final = ca_file
        self.cert_file: Final = cert_file
        self.key_file: Final = key_file
        self.ca: Final = ca
        self.cert: Final = cert
        self.key: Final = key
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
    """Read by hand: the standard library's parser costs as much time as a request."""
    scheme, found, rest = text.strip().partition("://")
    if not found or scheme.lower() not in ("http", "https"):
        raise _bad_endpoint(text, "it does not begin with http:// or https://")
    rest = rest.removesuffix("/")
    if any(mark in rest for mark in "/?#"):
        raise _bad_endpoint(text, "it has more than scheme, host and port")
    address = rest.rpartition("@")[2]
    if address.startswith("["):
        host, closed, port = address[1:].partition("]")
        port = port[1:] if port.startswith(":") else port and "?"
        readable = bool(closed) and ":" in host
    else:
        host, _, port = address.partition(":")
        readable = not any(mark in host for mark in "[] ")
    if not readable or (port and not (port.isascii() and port.isdigit() and int(port) <= _HIGHEST_PORT)):
        raise _bad_endpoint(text, "it is not a URL")
    if not host:
        raise _bad_endpoint(text, "it names no host")
    return Endpoint(scheme.lower(), host.lower(), int(port) if port else DEFAULT_PORT)


def _bad_endpoint(text: str, why: str) -> UsageError:
    # What stands before an @ may be a password.
    shown = text.strip().rpartition("@")[2]
    return UsageError(f"the etcd endpoint {shown!r}", why, f"write it like {_EXAMPLE}")
