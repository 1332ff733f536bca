"""What can go wrong between us and one endpoint, in words a person can act on.

Imported by every command that asks etcd, so what only an error needs is imported when there is one.
"""

from __future__ import annotations

from tortie.model.light import NamedTuple
from tortie.store.etcd.config import Endpoint


class Trouble(NamedTuple):
    """Why an endpoint gave no answer. `lasting`: trying again soon will not help, somebody has to change something."""

    text: str
    fix: str = ""
    lasting: bool = False


class Failed(Exception):
    """An attempt ended without etcd's answer. `sent`: the request may have arrived all the same."""

    def __init__(self, trouble: Trouble, *, sent: bool) -> None:
        super().__init__(trouble.text)
        self.trouble = trouble
        self.sent = sent


def no_answer(limit_s: float) -> Trouble:
    return Trouble(f"no answer within {limit_s:.1f} s", "see whether that machine or etcd on it hangs")


def no_name(host: str, told: str) -> Trouble:
    return Trouble(
        f"no name server gave an answer about the host name {host} {told}",
        "see whether the name servers in /etc/resolv.conf can be reached, or write addresses in ETCD_ENDPOINTS",
    )


def of_connection_error(error: Exception, endpoint: Endpoint) -> Trouble:
    import os
    import socket

    # The name servers answered: there is no such name, or it has no address. All else means that they could not tell.
    unknown_name = (socket.EAI_NONAME, socket.EAI_NODATA, socket.EAI_ADDRFAMILY)
    match error:
        case ConnectionRefusedError():
            return Trouble("connection refused", f"see whether etcd runs there and listens on port {endpoint.port}")
        case socket.gaierror() if error.errno in unknown_name:
            return Trouble(
                f"the host name {endpoint.host} is not known ({error.strerror})",
                "correct it in ETCD_ENDPOINTS, or enter it in the DNS or in /etc/hosts",
            )
        case socket.gaierror():
            return no_name(endpoint.host, f"({error.strerror})")
        case OSError() if is_about_connecting(error):
            # asyncio puts the address where the reason should be.
            reason = os.strerror(error.errno).lower() if error.errno else str(error)
            return Trouble(reason, "check the route and firewalls between here and there")
        case _:
            return Trouble("the connection broke", "see in etcd's log why it closed it")


def is_about_connecting(error: Exception) -> bool:
    """No TCP connection came about, as against one that broke or whose TLS handshake failed."""
    import ssl

    return isinstance(error, OSError) and not isinstance(error, (ssl.SSLError, ConnectionResetError, BrokenPipeError))
