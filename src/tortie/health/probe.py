"""Asks a health page, as a kubelet would, with next to nothing loaded: an exec probe runs this every few seconds.

Not even `typing` is imported, which would take as long as the interpreter itself. Errors are said in the words of
Calico's own probe, because that is what people search for.
"""

from __future__ import annotations

import _socket
import os
import time

WHO_HAS_THE_PORT = "`ss -lntp` or `tortie node checksystem` on that machine tells who has the port"

_SERVER = "tortie"  # as `tortie.health.message` says it
_BODY_MAX = 65536
_LONG_BODY_MAX = 1 << 24
_HEADER_SHOWN = 60
_HERE = {"localhost": ("127.0.0.1", "::1"), "": ("127.0.0.1", "::1"), "0.0.0.0": ("127.0.0.1",), "::": ("::1",)}


class NoAnswer(Exception):
    """Nobody answered, or not in HTTP."""

    def __init__(self, what: str, why: str = "", fix: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.why = why
        self.fix = fix


class Answer:
    __slots__ = ("body", "content_type", "server", "status")

    def __init__(self, status: int, body: str, content_type: str = "", server: str = "") -> None:
        self.status = status
        self.body = body
        self.content_type = content_type
        self.server = server

    @property
    def is_page(self) -> bool:
        """Whether this is a node's page: ours has its name on it, Felix's has a table, or nothing at all."""
        return self.server == _SERVER or self.body.startswith("+-") or (self.status in (204, 503) and not self.body)


def ask(host: str, port: int, path: str, timeout_s: float) -> Answer:
    answer = ask_all(host, port, (path,), timeout_s)[0]
    if isinstance(answer, NoAnswer):
        raise answer
    return answer


def ask_unix(path: str, route: str, timeout_s: float) -> Answer:
    """The same over a Unix socket, whose answers may be long."""
    deadline = time.monotonic() + timeout_s
    get = f'Get "http://unix{route}"'
    socket = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        _set_timeout(socket, deadline)
        connect_path(socket, path)
        socket.sendall(f"GET {route} HTTP/1.1\r\nHost: unix\r\nConnection: close\r\n\r\n".encode())
        return _parsed(_received(socket, deadline, _LONG_BODY_MAX), get)
    except TimeoutError:
        why = f"no answer came within {timeout_s:g} s"
        raise NoAnswer(f"{get}: context deadline exceeded", why, "look at the agent's log") from None
    except OSError as error:
        why = "no agent listens there"
        raise NoAnswer(f"{get}: dial unix {path}: connect: {_said(error)}", why, "start `tortie node run`") from None
    finally:
        socket.close()


def connect_path(socket: _socket.socket, path: str) -> None:
    """Through its folder's descriptor: a path of more than 107 bytes does not fit into a socket's address."""
    folder = os.open(os.path.dirname(path) or ".", os.O_PATH | os.O_CLOEXEC)
    try:
        socket.connect(f"/proc/self/fd/{folder}/{os.path.basename(path)}")
    finally:
        os.close(folder)


def ask_all(host: str, port: int, paths: tuple[str, ...], timeout_s: float) -> list[Answer | NoAnswer]:
    """All at the same time, so that one that hangs leaves the others their time; over when the time is."""
    deadline = time.monotonic() + timeout_s
    questions = [_Question(host, port, path, timeout_s, deadline) for path in paths]
    return [question.finish() for question in questions]


class _Question:
    def __init__(self, host: str, port: int, path: str, timeout_s: float, deadline: float) -> None:
        self._get = f'Get "http://{_url_host(host)}:{port}{path}"'
        self._timeout_s = timeout_s
        self._deadline = deadline
        self._socket: _socket.socket | None = None
        self._failure: NoAnswer | None = None
        head = (
            f"GET {path} HTTP/1.1\r\nHost: {_url_host(host)}:{port}\r\nUser-Agent: tortie\r\nConnection: close\r\n\r\n"
        )
        try:
            self._socket = _connected(host, port, self._get, deadline)
            _set_timeout(self._socket, deadline)
            self._socket.sendall(head.encode("latin-1", "replace"))
        except NoAnswer as failure:
            self._failure = failure
        except OSError as error:
            self._failure = self._broken(error)

    def finish(self) -> Answer | NoAnswer:
        try:
            if self._failure or not self._socket:
                return self._failure or NoAnswer(self._get)
            return _parsed(_received(self._socket, self._deadline), self._get)
        except NoAnswer as failure:
            return failure
        except OSError as error:
            return self._broken(error)
        finally:
            if self._socket:
                self._socket.close()

    def _broken(self, error: OSError) -> NoAnswer:
        if not isinstance(error, TimeoutError):
            return NoAnswer(f"{self._get}: read tcp: read: {_said(error)}", "", "look at the agent's log")
        why = f"the connection is there, but no answer came within {self._timeout_s:g} s"
        fix = "look at the load of the machine; if the agent hangs, restart it"
        return NoAnswer(f"{self._get}: context deadline exceeded", why, fix)


def _url_host(host: str) -> str:
    return f"[{host}]" if ":" in host else host or "localhost"


def _said(error: OSError) -> str:
    return (os.strerror(error.errno) if error.errno else str(error)).lower()


def _set_timeout(socket: _socket.socket, deadline: float) -> None:
    """What has arrived by the deadline is still taken."""
    socket.settimeout(max(0.001, deadline - time.monotonic()))


def _connected(host: str, port: int, get: str, deadline: float) -> _socket.socket:
    """The first address that accepts; of several failures the first is told, as Go does."""
    first: NoAnswer | None = None
    for address in _HERE.get(host) or _resolved(host, port, get, deadline):
        family = _socket.AF_INET6 if ":" in address else _socket.AF_INET
        shown = f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
        try:
            socket = _socket.socket(family, _socket.SOCK_STREAM)
            try:
                _set_timeout(socket, deadline)
                socket.connect((address, port))
                return socket
            except BaseException:
                socket.close()
                raise
        except TimeoutError:
            first = first or NoAnswer(f"{get}: dial tcp {shown}: i/o timeout")
        except OSError as error:
            why, fix = "", ""
            if isinstance(error, ConnectionRefusedError):
                why = f"nothing listens on {shown}"
                fix = "start `tortie node run`, or name its port with --port or FELIX_HEALTHPORT"
            first = first or NoAnswer(f"{get}: dial tcp {shown}: connect: {_said(error)}", why, fix)
    assert first is not None
    raise first


def _resolved(host: str, port: int, get: str, deadline: float) -> list[str]:
    """A resolver cannot be told to hurry, so it works in a thread that is left alone when time is up."""
    import _thread

    found: list[str] = []
    failures: list[OSError] = []
    done = _thread.allocate_lock()
    done.acquire()

    def resolve() -> None:
        try:
            entries = _socket.getaddrinfo(host.strip("[]").encode(errors="replace"), port, 0, _socket.SOCK_STREAM)
            found.extend(str(entry[4][0]) for entry in entries)
        except OSError as error:
            failures.append(error)
        finally:
            done.release()

    _thread.start_new_thread(resolve, ())
    done.acquire(timeout=max(0.0, deadline - time.monotonic()))
    if found:
        return list(dict.fromkeys(found))
    why = (failures[0].strerror or str(failures[0])) if failures else "the name server did not answer in time"
    said = "no such host" if failures else "i/o timeout"
    fix = "use localhost or an address; --host and FELIX_HEALTHHOST set it"
    raise NoAnswer(f"{get}: dial tcp: lookup {host}: {said}", why, fix)


def _received(socket: _socket.socket, deadline: float, longest: int = _BODY_MAX) -> bytes:
    answer = bytearray()
    while len(answer) < longest:
        _set_timeout(socket, deadline)
        data = socket.recv(_BODY_MAX)
        if not data:
            break
        answer += data
        if _is_whole(answer):
            break
    return bytes(answer)


def _is_whole(answer: bytes | bytearray) -> bool:
    """Some servers keep the connection although they were asked not to."""
    head, end, body = answer.partition(b"\r\n\r\n")
    if not end:
        return False
    length = _header(head, b"content-length")
    if length.isdigit():
        return len(body) >= int(length)
    return head.split(b" ", 2)[1:2] == [b"204"]


def _parsed(answer: bytes, get: str) -> Answer:
    if not answer:
        raise NoAnswer(f"{get}: EOF", "whoever listens closed the connection without an answer")
    head, _, body = answer.partition(b"\r\n\r\n")
    words = head.split(b"\r\n", 1)[0].split(b" ")
    if len(words) < 2 or not words[0].startswith(b"HTTP/") or not words[1].isdigit():
        start = head[:60].decode("ascii", "backslashreplace")
        raise NoAnswer(
            f'{get}: net/http: malformed HTTP response "{start}"', "this is no health page", WHO_HAS_THE_PORT
        )
    said = (_header(head, b"content-type"), _header(head, b"server"))
    return Answer(int(words[1]), body.decode("utf-8", "replace"), *said)


def _header(head: bytes | bytearray, wanted: bytes) -> str:
    """Printable and short, since a stranger may have written it."""
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.strip().lower() == wanted:
            text = value.strip()[:_HEADER_SHOWN].decode("ascii", "backslashreplace")
            return "".join(letter if letter.isprintable() else "?" for letter in text)
    return ""
