"""Which addresses a page listens on, and why it cannot.

`localhost` is 127.0.0.1 and ::1 without asking anybody: probes must work on a machine whose /etc/hosts or name server
is broken. Only `_socket` is used: the full socket module would cost as much as all the rest of the page's start.
"""

from __future__ import annotations

import _socket
import errno
import fcntl
import os
import struct
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

from tortie.health.state import Trouble

_BACKLOG = 512
_LOOPBACK = ("127.0.0.1", "::1")
_GET_FLAGS, _UP = 0x8913, 1  # SIOCGIFFLAGS, IFF_UP
_NO_IPV6 = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT, errno.EPROTONOSUPPORT)


class Purpose(NamedTuple):
    """Whose page it is, for what people read when it cannot listen."""

    page: str = "the health page"
    host_setting: str = "FELIX_HEALTHHOST"
    port_setting: str = "FELIX_HEALTHPORT"


HEALTH = Purpose()
METRICS = Purpose("the metrics page", "FELIX_PROMETHEUSMETRICSHOST", "FELIX_PROMETHEUSMETRICSPORT")
STATUS = Purpose("the agent's status socket", "--root", "--root")


class Endpoint(NamedTuple):
    family: int
    address: str
    optional: bool = False  # not missed on a machine without IPv6


class Unusable(Exception):
    """An address cannot be listened on for now."""

    def __init__(self, trouble: Trouble) -> None:
        super().__init__(trouble.what)
        self.trouble = trouble


def known_endpoints(host: str) -> list[Endpoint] | None:
    """Without any name resolution; None for a name. What begins with a slash is the path of a Unix socket."""
    if host.startswith("/"):
        return [Endpoint(_socket.AF_UNIX, host)]
    if host.lower() in ("localhost", "localhost."):
        return [Endpoint(_socket.AF_INET, "127.0.0.1"), Endpoint(_socket.AF_INET6, "::1", optional=True)]
    if host in ("", "*"):
        return [Endpoint(_socket.AF_INET, "0.0.0.0"), Endpoint(_socket.AF_INET6, "::", optional=True)]
    try:
        return _looked_up(host.strip("[]"), _socket.AI_NUMERICHOST)
    except OSError:
        return None


def resolved_endpoints(host: str, purpose: Purpose) -> list[Endpoint]:
    """May wait for a name server."""
    try:
        return _looked_up(host, 0)
    except OSError as error:
        raise Unusable(
            Trouble(
                f"{purpose.page} cannot listen on {host}",
                f"the name does not resolve: {error.strerror or error}",
                f"set {purpose.host_setting} to an address of this machine or to localhost",
                "the configuration",
            )
        ) from None


def _looked_up(host: str, flags: int) -> list[Endpoint]:
    # Bytes, because a text would be taken through the codec for international names, which has to be loaded first.
    found = _socket.getaddrinfo(host.encode(errors="replace"), None, 0, _socket.SOCK_STREAM, 0, flags)
    families = {entry[0] for entry in found}
    several = len(families) > 1
    return list(
        dict.fromkeys(
            Endpoint(int(entry[0]), str(entry[4][0]), several and entry[0] == _socket.AF_INET6) for entry in found
        )
    )


def listen(
    endpoint: Endpoint, port: int, purpose: Purpose, who_holds: Callable[[int], str] | None
) -> _socket.socket | None:
    """A listening socket; None for an optional address that this machine has not."""
    if endpoint.address in _LOOPBACK and not _loopback_is_up():
        # The kernel lets some addresses be bound all the same, where nobody could reach them.
        raise Unusable(_loopback_down(endpoint, port, purpose))
    try:
        return _listen(endpoint, port)
    except OSError as error:
        if endpoint.optional and error.errno in _NO_IPV6:
            return None
        raise Unusable(_trouble(endpoint, port, purpose, error, who_holds)) from None


def _listen(endpoint: Endpoint, port: int) -> _socket.socket:
    socket = _socket.socket(endpoint.family, _socket.SOCK_STREAM)
    try:
        if endpoint.family == _socket.AF_UNIX:
            _bind_path(socket, endpoint.address)
            return socket
        socket.setsockopt(_socket.SOL_SOCKET, _socket.SO_REUSEADDR, 1)
        if endpoint.family == _socket.AF_INET6:
            socket.setsockopt(_socket.IPPROTO_IPV6, _socket.IPV6_V6ONLY, 1)
        socket.bind((endpoint.address, port))
        socket.listen(_BACKLOG)
        socket.setblocking(False)
    except BaseException:
        socket.close()
        raise
    return socket


def _bind_path(socket: _socket.socket, path: str) -> None:
    """In the place of what an earlier process left there. Through the folder's descriptor, because a path of more
    than 107 bytes does not fit into a socket's address. Everybody may ask: it only tells.
    """
    folder = os.open(os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        name = f"/proc/self/fd/{folder}/{os.path.basename(path)}"
        with suppress(FileNotFoundError):
            os.unlink(path)
        socket.bind(name)
        os.chmod(name, 0o666)
        socket.listen(_BACKLOG)
        socket.setblocking(False)
    finally:
        os.close(folder)


def _loopback_is_up() -> bool:
    """True also where it cannot be found out: then the kernel's word on binding stands."""
    try:
        socket = _socket.socket(_socket.AF_INET, _socket.SOCK_DGRAM)
        try:
            answer = fcntl.ioctl(socket.fileno(), _GET_FLAGS, struct.pack("16s24x", b"lo"))
        finally:
            socket.close()
    except OSError:
        return True
    return bool(struct.unpack_from("16xH", answer)[0] & _UP)


def shown(address: str, port: int) -> str:
    if address.startswith("/"):
        return address
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def _trouble(
    endpoint: Endpoint, port: int, purpose: Purpose, error: OSError, who_holds: Callable[[int], str] | None
) -> Trouble:
    what = f"{purpose.page} cannot listen on {shown(endpoint.address, port)}"
    why = os.strerror(error.errno) if error.errno else str(error)
    if error.errno == errno.EADDRINUSE:
        holder = _holder(port, who_holds)
        held = f"the port is held by {holder}" if holder else "another process holds the port"
        fix = f"stop that process, or choose another port with {purpose.port_setting}"
        return Trouble(what, f"{why}: {held}", fix, "this node")
    if error.errno == errno.EADDRNOTAVAIL and endpoint.address in _LOOPBACK:
        return _loopback_down(endpoint, port, purpose)
    if error.errno in _NO_IPV6:
        fix = f"set {purpose.host_setting} to an address of this machine"
        return Trouble(what, "no interface of this machine has that address", fix, "the configuration")
    if endpoint.family == _socket.AF_UNIX:
        return Trouble(what, why, f"make {os.path.dirname(endpoint.address)} writable for the agent", "this node")
    if error.errno == errno.EACCES:
        return Trouble(what, why, f"run as root, or set {purpose.port_setting} to 1024 or more", "the configuration")
    return Trouble(what, why, f"set {purpose.host_setting} and {purpose.port_setting} differently", "this node")


def _loopback_down(endpoint: Endpoint, port: int, purpose: Purpose) -> Trouble:
    what = f"{purpose.page} cannot listen on {shown(endpoint.address, port)}"
    return Trouble(what, "the loopback interface is down or has lost its address", "ip link set lo up", "this node")


def _holder(port: int, who_holds: Callable[[int], str] | None) -> str:
    try:
        return who_holds(port) if who_holds else ""
    except Exception:
        return ""  # a name for the culprit is welcome, but nothing depends on it
