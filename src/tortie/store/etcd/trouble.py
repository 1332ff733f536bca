"""What can go wrong between us and one endpoint, in words a person can act on."""

from __future__ import annotations

import os
import socket
import ssl
from typing import NamedTuple

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


def of_connection_error(error: Exception, endpoint: Endpoint) -> Trouble:
    match error:
        case ConnectionRefusedError():
            return Trouble("connection refused", f"see whether etcd runs there and listens on port {endpoint.port}")
        case socket.gaierror():
            return Trouble(
                f"the host name {endpoint.host} is not known ({error.strerror})", "check the name, or the DNS server"
            )
        case OSError() if is_about_connecting(error):
            # asyncio puts the address where the reason should be.
            reason = os.strerror(error.errno).lower() if error.errno else str(error)
            return Trouble(reason, "check the route and firewalls between here and there")
        case _:
            return Trouble("the connection broke", "see in etcd's log why it closed it")


def is_about_connecting(error: Exception) -> bool:
    """No TCP connection came about, as against one that broke or whose TLS handshake failed."""
    return isinstance(error, OSError) and not isinstance(error, (ssl.SSLError, ConnectionResetError, BrokenPipeError))
