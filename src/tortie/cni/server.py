"""The agent's socket for the plugin: takes requests and the descriptors that come with them, and sends answers.

On bare sockets, because a stream of asyncio takes no descriptors, and because a pod waits for every turn of the loop.
Only root may connect: whoever can speak here can take addresses and enter namespaces.
"""

from __future__ import annotations

import array
import asyncio
import os
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from tortie.cni.invocation import REQUEST_MAX
from tortie.cni.results import Answer
from tortie.cni.service import CniService

_BACKLOG: Final = 512
_READING_S: Final = 10.0  # until a plugin has sent all of its request
_SENDING_S: Final = 10.0
_LOOK_EVERY_S: Final = 5.0
_REST_S: Final = 1.0  # while no call can be taken
_RIGHTS_ROOM: Final = socket.CMSG_SPACE(array.array("i").itemsize * 4)


class CniServer:
    def __init__(self, service: CniService, path: str, *, say: Callable[[str], None] = lambda _: None) -> None:
        self._service = service
        self._path = path
        self._say = say
        self._tasks: set[asyncio.Task[None]] = set()
        self._listener: socket.socket | None = None
        self._trouble = ""
        self._short = False  # of something that taking calls needs
        self._place = (0, 0)

    async def run(self) -> None:
        """For ever. Should the socket's file be taken away or cannot be made, it is tried again."""
        try:
            while True:
                if self._listener is None or not self._is_in_place():
                    self._stop_listening()
                    self._listen()
                await asyncio.sleep(_LOOK_EVERY_S)
        finally:
            self._stop_listening()
            with suppress(OSError):
                os.unlink(self._path)
            for task in self._tasks:
                task.cancel()

    def _listen(self) -> None:
        folder = os.path.dirname(self._path)
        listener: socket.socket | None = None
        try:
            os.makedirs(folder, exist_ok=True)
            listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK)
            _bind(listener, self._path)
            made = os.stat(self._path)
        except OSError as error:
            if listener is not None:
                listener.close()
            why = os.strerror(error.errno or 0)
            if why != self._trouble:
                self._say(f"The CNI plugin's socket {self._path} cannot be made, so no pod can start: {why}")
            self._trouble = why
            return
        self._trouble = ""
        self._listener = listener
        self._place = (made.st_dev, made.st_ino)
        asyncio.get_running_loop().add_reader(listener.fileno(), self._accept)

    def _is_in_place(self) -> bool:
        try:
            status = os.stat(self._path)
        except OSError:
            return False
        return (status.st_dev, status.st_ino) == self._place

    def _stop_listening(self) -> None:
        if self._listener is not None:
            asyncio.get_running_loop().remove_reader(self._listener.fileno())
            self._listener.close()
            self._listener = None

    def _accept(self) -> None:
        listener = self._listener
        while listener is not None:
            try:
                connection, _ = listener.accept()
            except BlockingIOError:
                self._short = False
                return
            except ConnectionAbortedError:
                continue
            except OSError as error:
                self._rest(listener, os.strerror(error.errno or 0))
                return
            connection.setblocking(False)
            _Reading(connection, self._begin)

    def _rest(self, listener: socket.socket, why: str) -> None:
        """The call stays where it is, and the loop would turn for nothing else: most often no descriptor is left."""
        if not self._short:
            self._say(f"Calls of the CNI plugin cannot be taken, and pods wait: {why}")
        self._short = True
        loop = asyncio.get_running_loop()
        loop.remove_reader(listener.fileno())
        loop.call_later(_REST_S, self._resume, listener)

    def _resume(self, listener: socket.socket) -> None:
        if listener is self._listener:
            asyncio.get_running_loop().add_reader(listener.fileno(), self._accept)

    def _begin(self, connection: socket.socket, request: bytes, rights: list[int]) -> None:
        task = asyncio.get_running_loop().create_task(self._serve(connection, request, rights))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, connection: socket.socket, request: bytes, rights: list[int]) -> None:
        try:
            answer = await self._service.answer(request, rights[0] if rights else None)
            await self._send(connection, answer)
        finally:
            connection.close()
            _close(rights)

    async def _send(self, connection: socket.socket, answer: Answer) -> None:
        data = b"%d\n%b" % (answer.exit_code, answer.output)
        try:
            sent = connection.send(data)
            if sent < len(data):
                async with asyncio.timeout(_SENDING_S):
                    await asyncio.get_running_loop().sock_sendall(connection, data[sent:])
        except OSError:
            return  # whoever asked is gone; the runtime will delete what it was not told of


class _Reading:
    """One request on its way in. It is complete when the plugin has closed its side: most often that is so already,
    and then the event loop is not bothered with it.
    """

    def __init__(self, connection: socket.socket, done: Callable[[socket.socket, bytes, list[int]], None]) -> None:
        self._connection = connection
        self._done = done
        self._data = bytearray()
        self._rights: list[int] = []
        self._late: asyncio.TimerHandle | None = None
        self._read()

    def _read(self) -> None:
        while True:
            try:
                data, ancillary, _, _ = self._connection.recvmsg(1 << 16, _RIGHTS_ROOM, socket.MSG_CMSG_CLOEXEC)
            except BlockingIOError:
                self._wait()
                return
            except OSError:
                self._give_up()
                return
            for level, kind, content in ancillary:
                if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                    received = array.array("i")
                    received.frombytes(content[: len(content) - len(content) % received.itemsize])
                    self._rights += received
            if not data:
                self._stop()
                self._done(self._connection, bytes(self._data), self._rights)
                return
            self._data += data
            if len(self._data) > REQUEST_MAX:
                self._give_up()
                return

    def _wait(self) -> None:
        if self._late is None:
            loop = asyncio.get_running_loop()
            loop.add_reader(self._connection.fileno(), self._read)
            self._late = loop.call_later(_READING_S, self._give_up)

    def _stop(self) -> None:
        if self._late is not None:
            self._late.cancel()
            asyncio.get_running_loop().remove_reader(self._connection.fileno())

    def _give_up(self) -> None:
        self._stop()
        self._connection.close()
        _close(self._rights)


def _close(descriptors: list[int]) -> None:
    for descriptor in descriptors:
        with suppress(OSError):
            os.close(descriptor)


def _bind(listener: socket.socket, path: str) -> None:
    """In the place of what an earlier agent left there; through the folder's descriptor, because a socket's address
    has room for 107 bytes only.
    """
    folder = os.open(os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with suppress(FileNotFoundError):
            os.unlink(path)
        # Before it has a name, so that it is never open to others.
        os.fchmod(listener.fileno(), 0o600)
        listener.bind(f"/proc/self/fd/{folder}/{os.path.basename(path)}")
        listener.listen(_BACKLOG)
    finally:
        os.close(folder)
