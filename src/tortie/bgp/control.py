"""Asks BIRD over its control socket: one connection, some questions, and a deadline for all of it together.

For commands that ask once and leave; nothing is loaded that costs time. The agent, which asks all the time, keeps a
`tortie.bgp.conversation.Conversation`. Where Calico's own probe says the same, it is said in the same words.
"""

from __future__ import annotations

import _socket
import errno
import os
import time
from collections.abc import Sequence
from typing import Final

from tortie.bgp.replies import GREETING, RESTRICTED, BirdError, BirdGarbled, Reply, ReplyReader
from tortie.model.errors import UsageError
from tortie.model.network import Family

TIMEOUT_S: Final = 2.0  # as long as Calico waits
COMMAND_MAX: Final = 4095  # what BIRD takes
CHUNK: Final = 65536
FULL_PAUSE_S: Final = 0.01

_PATH_MAX: Final = 107  # of a Unix socket's address


class BirdUnreachable(BirdError):
    """Nobody is at the other end, or not any more."""

    code = "bird-unreachable"

    def __init__(self, path: str, what: str, why: str = "", fix: str = "") -> None:
        self.path = path
        super().__init__(what, why, fix or "see whether bird runs, and what the node's log says about it")

    @classmethod
    def by_connecting(cls, path: str, error: OSError, family: Family = 4) -> BirdUnreachable:
        said = os.strerror(error.errno).lower() if error.errno else str(error)
        what = f"unable to connect to BIRDv{family} socket: dial unix {path}: connect: {said}"
        if error.errno == errno.ENOENT:
            return cls(path, what, "there is no such socket: BIRD has not been started, or with another socket")
        if error.errno == errno.ECONNREFUSED:
            return cls(path, what, "nobody listens there: BIRD has ended and left its socket behind")
        if error.errno in (errno.EACCES, errno.EPERM):
            return cls(
                path, what, "this user may not talk to BIRD", "ask as root, or as a member of the socket's group"
            )
        return cls(path, what)

    @classmethod
    def by_its_end(cls, path: str, error: OSError | None = None) -> BirdUnreachable:
        said = f"read: {os.strerror(error.errno).lower()}" if error and error.errno else "EOF"
        return cls(path, f"read unix @->{path}: {said}", "BIRD has closed the connection, or ended")


class BirdSilent(BirdError):
    """Somebody is there and does not answer in time."""

    code = "bird-silent"

    def __init__(self, path: str, command: str, timeout_s: float, *, connected: bool = True) -> None:
        self.path = path
        if connected:
            why = f"the connection is there, but `{command}` was not answered within {timeout_s:g} s"
        else:
            why = f"so many connections wait for BIRD that it takes no further one, for {timeout_s:g} s"
        fix = "see whether somebody has stopped bird (state T in `ps`), and the load of the machine"
        super().__init__(f"read unix @->{path}: i/o timeout", why, fix)


def ask(path: str, command: str, timeout_s: float = TIMEOUT_S, *, restricted: bool = True, family: Family = 4) -> Reply:
    """What BIRD says, a refusal too. `restricted`: BIRD itself makes sure that the command changes nothing."""
    return ask_all(path, (command,), timeout_s, restricted=restricted, family=family)[0]


def ask_all(
    path: str, commands: Sequence[str], timeout_s: float = TIMEOUT_S, *, restricted: bool = True, family: Family = 4
) -> tuple[Reply, ...]:
    """Several questions to the same BIRD, with one deadline; `family` is for the words of an error only."""
    requests = [request(command) for command in commands]
    deadline = time.monotonic() + timeout_s
    socket = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    replies: list[Reply] = []
    try:
        while not connect(socket, path, family):
            if time.monotonic() > deadline:
                raise BirdSilent(path, commands[0], timeout_s, connected=False)
            time.sleep(FULL_PAUSE_S)
        link = _Link(socket, path, deadline)
        expect(link.exchange(b""), GREETING)
        if restricted:
            expect(link.exchange(b"restrict\n"), RESTRICTED)
        for sent in requests:
            replies.append(link.exchange(sent))  # noqa: PERF401 - how many there are says which one was not answered
    except TimeoutError:
        raise BirdSilent(path, commands[len(replies)], timeout_s) from None
    except OSError as error:
        raise BirdUnreachable.by_its_end(path, error) from None
    finally:
        socket.close()
    return tuple(replies)


class _Link:
    """A connection on which one deadline holds for everything."""

    def __init__(self, socket: _socket.socket, path: str, deadline: float) -> None:
        self._socket = socket
        self._path = path
        self._deadline = deadline
        self._reader = ReplyReader()

    def exchange(self, sent: bytes) -> Reply:
        self._set_timeout()
        self._socket.sendall(sent)
        while True:
            self._set_timeout()
            data = self._socket.recv(CHUNK)
            if not data:
                raise BirdUnreachable.by_its_end(self._path)
            reply = self._reader.feed(data)
            if reply:
                return reply

    def _set_timeout(self) -> None:
        """What has arrived by the deadline is still taken."""
        self._socket.settimeout(max(0.001, self._deadline - time.monotonic()))


def request(command: str) -> bytes:
    """A command as it is sent; what is several commands in truth is refused."""
    data = command.encode()
    if not command.isprintable() or not command.strip() or len(data) > COMMAND_MAX:
        raise UsageError(f"not a command for BIRD: {command[:60]!r}", "a command is one line", "give one command")
    return data + b"\n"


def expect(reply: Reply, code: int) -> None:
    """Greetings and the like."""
    reply.check()
    if reply.code != code:
        raise BirdGarbled(f"{reply.code:04} {reply.message}")


def connect(socket: _socket.socket, path: str, family: Family = 4) -> bool:
    """Never waits; False while so many connections wait for BIRD that it takes no further one."""
    folder: int | None = None
    socket.setblocking(False)
    try:
        name = path
        if len(os.fsencode(path)) > _PATH_MAX:
            # The way through an open folder is short, however long the folder's own path is.
            folder = os.open(os.path.dirname(path), os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
            name = f"/proc/self/fd/{folder}/{os.path.basename(path)}"
        socket.connect(name)
    except BlockingIOError:
        return False
    except OSError as error:
        raise BirdUnreachable.by_connecting(path, error, family) from None
    finally:
        if folder is not None:
            os.close(folder)
    return True
