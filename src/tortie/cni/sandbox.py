"""The pod's network namespace: by the descriptor that the plugin sent along, or by the path that it was told.

A path may lead anywhere by now: to a pipe that nobody writes to, to the plain file that a namespace was mounted on, to
the node itself. Nothing is opened before it is known to be a namespace, and never in a way that could wait.
"""

from __future__ import annotations

import fcntl
import os
from typing import Final

from tortie.cni.errors import SAME_NAMESPACE, CniError
from tortie.cni.invocation import Invocation

_KIND_OF: Final = 0xB703
_NETWORK: Final = 0x40000000
_OWN: Final = "/proc/self/ns/net"


class Sandbox:
    """None within it if there is no such namespace.

    The node's own is refused, or for a DEL as good as none: nothing was ever laid there.
    """

    def __init__(self, invocation: Invocation, given: int | None) -> None:
        self._path = invocation.netns
        self._deletes = invocation.command == "DEL"
        self._given = given
        self._opened: int | None = None

    def __enter__(self) -> int | None:
        own = os.stat(_OWN)
        descriptor = self._given
        if descriptor is None and self._path:
            descriptor = self._opened = _opened(self._path, own)
        if descriptor is None or not _is_network(descriptor, own):
            self.__exit__()
            return None
        if os.path.samestat(os.fstat(descriptor), own):
            self.__exit__()
            if self._deletes:
                return None
            why = "a cable from the node to the node is of no use, and its address would be the node's"
            raise CniError(SAME_NAMESPACE, f"{self._path} is the node's own network namespace", why)
        return descriptor

    def __exit__(self, *_: object) -> None:
        if self._opened is not None:
            os.close(self._opened)
            self._opened = None


def _opened(path: str, own: os.stat_result) -> int | None:
    try:
        if os.stat(path).st_dev != own.st_dev:
            return None
        return os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return None


def _is_network(descriptor: int, own: os.stat_result) -> bool:
    """All namespaces are files of one file system; only such are asked what they are."""
    try:
        return os.fstat(descriptor).st_dev == own.st_dev and fcntl.ioctl(descriptor, _KIND_OF) == _NETWORK
    except OSError:
        return False
