"""An httpGet probe that does not keep anybody waiting, and that tells failures as kubelet (Go's net/http) does."""

from __future__ import annotations

import errno
import os
import socket
import time
from contextlib import suppress
from ipaddress import ip_address
from typing import Final

from tortie.lab.kubelet.answers import TIMED_OUT, http_answer, http_failed, refused, unreachable
from tortie.lab.kubelet.probes import Answer, HttpGet

_AGENT: Final = "kube-probe/1"
_HEAD_MAX: Final = 64 << 10
_HOSTS: Final = "/etc/hosts"


class HttpProbe:
    """Register it for reading and writing, and call `step` when something happens or the deadline is over."""

    def __init__(self, get: HttpGet, timeout_s: float, minor: int) -> None:
        """`get` says where, with a host; `minor` is the release of Kubernetes whose words are used."""
        self.deadline = time.monotonic() + timeout_s
        self.result: Answer | None = None
        self._get = get
        self._minor = minor
        self._dialled = ""
        self._socket: socket.socket | None = None
        self._sent = False
        self._head = bytearray()
        self._begin()

    def fileno(self) -> int:
        assert self._socket
        return self._socket.fileno()

    @property
    def wants_to_write(self) -> bool:
        return not self._sent

    def _begin(self) -> None:
        address = resolved(self._get.host)
        if address is None:
            return self._fail(f"dial tcp: lookup {self._get.host}: no such host")
        self._dialled = address
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self._socket = socket.socket(family, socket.SOCK_STREAM)
        self._socket.setblocking(False)
        try:
            code = self._socket.connect_ex((address, self._get.port))
        except OSError:  # an address of an interface that is not there
            return self._fail(f"dial tcp: lookup {self._get.host}: no such host")
        if code not in (0, errno.EINPROGRESS):
            self._fail(self._dial(code))
        return None

    def step(self) -> Answer | None:
        """The result, once there is one."""
        if self.result is None:
            try:
                self._go_on()
            except BlockingIOError:
                pass
            except OSError as error:
                self._fail(
                    f"read tcp {self._own()}->{_joined(self._dialled, self._get.port)}: read: {_strerror(error.errno)}"
                )
        if self.result is None and time.monotonic() >= self.deadline:
            self._fail(TIMED_OUT)
        return self.result

    def _go_on(self) -> None:
        assert self._socket
        if not self._sent:
            if code := self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
                return self._fail(self._dial(code))
            self._socket.send(_request(self._get, self._minor).encode())
            self._sent = True
        while b"\r\n\r\n" not in self._head and len(self._head) < _HEAD_MAX:
            piece = self._socket.recv(4096)
            if not piece:
                return self._fail("EOF")
            self._head += piece
        self._judge()
        return None

    def _judge(self) -> None:
        words = bytes(self._head).split(b"\r\n", 1)[0].split(b" ", 2)
        if len(words) < 2 or not words[1].isdigit():
            line = bytes(self._head[:40]).decode(errors="replace").split("\r\n")[0]
            return self._fail(f'net/http: HTTP/1.x transport connection broken: malformed HTTP response "{line}"')
        self.result = http_answer(int(words[1]))
        return None

    def _dial(self, code: int) -> str:
        if code == errno.ECONNREFUSED:
            return refused(self._dialled, self._get.port, self._minor)
        return unreachable(self._dialled, self._get.port, _strerror(code))

    def _own(self) -> str:
        assert self._socket
        with suppress(OSError):
            name = self._socket.getsockname()
            return _joined(str(name[0]), int(name[1]))
        return ""

    def _fail(self, why: str) -> None:
        self.result = http_failed(self._get.url, why, self._minor)

    def close(self) -> None:
        """Once nobody waits for it any more."""
        if self._socket:
            self._socket.close()
            self._socket = None


def _request(get: HttpGet, minor: int) -> str:
    headers = {"Host": _joined(get.host, get.port), "User-Agent": f"{_AGENT}.{minor}", "Accept": "*/*"}
    lines = "".join(f"{name}: {value}\r\n" for name, value in (headers | dict(get.headers)).items())
    return f"GET {get.path} HTTP/1.1\r\n{lines}Connection: close\r\n\r\n"


def resolved(host: str, hosts: str = _HOSTS) -> str | None:
    """By the node's own file: probes never wait for a name server."""
    with suppress(ValueError):
        return str(ip_address(host))
    with suppress(OSError), open(hosts, encoding="utf-8", errors="replace") as file:
        found = [words[0] for line in file if host in (words := line.partition("#")[0].split())[1:]]
        # IPv4 first, as Go's dialler falls back quickly from the other.
        return min(found, key=lambda address: ":" in address, default=None)
    return None


def _joined(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _strerror(code: int | None) -> str:
    return os.strerror(code or 0).lower()
