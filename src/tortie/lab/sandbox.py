"""The namespaces of a pod, as a runtime prepares them before it calls a plugin: a network with its loopback up, and a
hostname.

They are known to plugins by a path that leads to our descriptor. A plugin, or an agent that was away, may use such a
path long after the pod has gone, so a number that was one pod's is not used for another until all others were.
"""

from __future__ import annotations

import fcntl
import os
import resource
import time
from typing import Final

from tortie.host import wiring
from tortie.host.namespaces import Inside, Mark, Namespaces, close, mark, new_namespaces, set_hostname
from tortie.host.netlink import Netlink
from tortie.model.errors import TortieError

_FIRST: Final = 1024  # below it are the descriptors of all else
_LOOPBACK: Final = 1  # its index in every network
_TIMEOUT_S: Final = 10.0


class Sandboxes:
    def __init__(self) -> None:
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        self._first = _FIRST if soft == resource.RLIM_INFINITY else min(_FIRST, soft // 2)
        self._next = self._first

    def make(self, hostname: str) -> tuple[Namespaces, Mark]:
        """The descriptors are the caller's to close."""
        made = dict(new_namespaces("net", "uts"))
        try:
            made["net"] = self._moved(made["net"])
            with Inside(made):
                set_hostname(hostname)
                with Netlink() as kernel:
                    kernel.request_all([wiring.set_link(_LOOPBACK, up=True)], time.monotonic() + _TIMEOUT_S)
            return made, mark(made["net"])
        except BaseException:
            close(made)
            raise

    def _moved(self, descriptor: int) -> int:
        """To a number that has not been used for long."""
        for first in (self._next, self._first):
            try:
                number = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, first)
            except OSError:  # there are no higher ones
                continue
            os.close(descriptor)
            self._next = number + 1
            return number
        raise TortieError(
            "there is no room for another pod", "all open files that this process may have are in use", "ulimit -n"
        )
