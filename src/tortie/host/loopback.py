"""The machine talking to itself: what `localhost` stands for here, and whether 127.0.0.1 carries anything."""

from __future__ import annotations

import socket
from typing import Final, NamedTuple

RESOLVE_S: Final = 4.0
_CONNECT_S: Final = 1.0
_SIOCGIFFLAGS, _IFF_UP = 0x8913, 0x1


class Resolved(NamedTuple):
    addresses: tuple[str, ...]
    failure: str = ""


class Loopback(NamedTuple):
    up: bool | None  # None: there is no interface `lo`
    failure: str  # why a connection from 127.0.0.1 to itself did not come about; "" when it did


def resolve(name: str = "localhost", timeout_s: float = RESOLVE_S) -> Resolved:
    """As every program on this machine would resolve it: hosts file, then DNS, in the order nsswitch.conf says.

    The library call cannot be given a deadline, so it runs in a thread that may be left behind.
    """
    import threading

    answers: list[Resolved] = []

    def ask() -> None:
        try:
            found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
        except OSError as error:
            answers.append(Resolved((), error.strerror or str(error)))
        else:
            answers.append(Resolved(tuple(dict.fromkeys(str(each[4][0]) for each in found))))

    thread = threading.Thread(target=ask, name=f"resolve {name}", daemon=True)
    thread.start()
    thread.join(timeout_s)
    return answers[0] if answers else Resolved((), f"no answer within {timeout_s:g} s")


def observe_loopback() -> Loopback:
    """By a connection of our own: binding to 127.0.0.1 succeeds even while `lo` is down."""
    return Loopback(_is_up("lo"), _failure("127.0.0.1"))


def _is_up(interface: str) -> bool | None:
    import fcntl
    import struct

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as anything:
        try:
            answer = fcntl.ioctl(anything, _SIOCGIFFLAGS, struct.pack("16sH22x", interface.encode(), 0))
        except OSError:
            return None
    return bool(struct.unpack_from("=H", answer, 16)[0] & _IFF_UP)


def _failure(address: str) -> str:
    try:
        with socket.socket() as listener:
            listener.bind((address, 0))
            listener.listen(1)
            with socket.create_connection(listener.getsockname(), timeout=_CONNECT_S):
                return ""
    except TimeoutError:
        return f"no connection within {_CONNECT_S:g} s"
    except OSError as error:
        return error.strerror or str(error)
