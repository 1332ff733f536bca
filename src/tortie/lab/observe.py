"""Asks all agents of a lab how they are, at the same time, so that one that hangs takes nobody else's time."""

from __future__ import annotations

import json
import select
import socket
import time
from collections.abc import Mapping
from typing import Any, Final

from tortie.lab.protocol import short

_PIECE: Final = 1 << 16
_LONGEST: Final = 1 << 24

Answers = dict[str, dict[str, Any] | None]


def ask_agents(sockets: Mapping[str, str], route: str, timeout_s: float) -> Answers:
    """By node, the agent's answer as JSON; None for those that gave none in time."""
    deadline = time.monotonic() + timeout_s
    answers: Answers = dict.fromkeys(sockets)
    poll = select.poll()
    asked: dict[int, tuple[str, socket.socket, bytearray]] = {}
    try:
        for node, path in sockets.items():
            connection = _asked(path, route)
            if connection:
                asked[connection.fileno()] = node, connection, bytearray()
                poll.register(connection, select.POLLIN)
        while asked and (left_s := deadline - time.monotonic()) > 0:
            for number, _ in poll.poll(left_s * 1000):
                node, connection, answer = asked[number]
                if not _goes_on(connection, answer):
                    poll.unregister(number)
                    del asked[number]
                    connection.close()
                    answers[node] = _document(bytes(answer))
        return answers
    finally:
        for _, connection, _ in asked.values():
            connection.close()


def _asked(path: str, route: str) -> socket.socket | None:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.setblocking(False)
    try:
        with short(path) as place:
            connection.connect(place)
        connection.send(f"GET {route} HTTP/1.1\r\nHost: unix\r\nConnection: close\r\n\r\n".encode())
    except OSError:  # no agent there, or one that lets hundreds wait
        connection.close()
        return None
    return connection


def _goes_on(connection: socket.socket, answer: bytearray) -> bool:
    """Takes what has arrived; False once nothing more is to be expected."""
    try:
        piece = connection.recv(_PIECE)
    except BlockingIOError:
        return True
    except OSError:
        return False
    answer += piece
    return bool(piece) and len(answer) < _LONGEST


def _document(answer: bytes) -> dict[str, Any] | None:
    """Whatever the status: an agent that is not ready says why in the same form."""
    head, _, body = answer.partition(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1."):
        return None
    try:
        document = json.loads(body)
    except ValueError:
        return None
    return document if isinstance(document, dict) else None
