"""Many agents asked at the same time: who hangs, is silent or talks nonsense takes nobody else's time."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tortie.lab.observe import ask_agents


@contextmanager
def answering(path: Path, *pieces: bytes) -> Iterator[str]:
    """An agent that says these pieces to whoever asks; without any it says nothing and keeps the line open."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen()
    kept = []

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            kept.append(connection)
            connection.recv(4096)
            for piece in pieces:
                connection.sendall(piece)
            if pieces:
                connection.close()

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield str(path)
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()
        for each in (listener, *kept):
            each.close()


def test_all_get_their_time(tmp_path: Path) -> None:
    head = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"
    large = {"node": "large", "text": "x" * 1_000_000}
    body = json.dumps(large).encode()
    with (
        answering(tmp_path / "a", head, b'{"node": "a"}') as good,
        answering(tmp_path / "b", head.replace(b"200", b"503"), b'{"node": ', b'"b"}') as unready,
        answering(tmp_path / "c") as hanging,
        answering(tmp_path / "d", head, b"nonsense") as nonsense,
        answering(tmp_path / "e", head, body[:1000], body[1000:]) as long,
        answering(tmp_path / "f", b"SSH-2.0\r\n\r\n{}") as stranger,
    ):
        sockets = {
            "hanging": hanging,
            "good": good,
            "unready": unready,
            "nonsense": nonsense,
            "long": long,
            "stranger": stranger,
            "nobody": str(tmp_path / "nobody"),
            "nowhere": str(tmp_path / "no" / "where"),
        }
        answers = ask_agents(sockets, "/status", 5.0)
    assert answers == {
        "hanging": None,
        "good": {"node": "a"},
        "unready": {"node": "b"},
        "nonsense": None,
        "long": large,
        "stranger": None,
        "nobody": None,
        "nowhere": None,
    }
