"""Requests to a runtime that answers, is stuck, or is not there."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest

from tortie.lab.kubelet.runtime_client import Asking, RuntimeFailure, ask_runtime
from tortie.lab.protocol import Channel, listening

pytestmark = pytest.mark.timeout(30)
LATE = "rpc error: code = DeadlineExceeded desc = context deadline exceeded"


@pytest.fixture
def place(tmp_path: Path) -> str:
    """A path that is too long for a socket's address."""
    folder = tmp_path / ("x" * 120)
    folder.mkdir()
    return str(folder / "containerd.sock")


def answering(listener: socket.socket, answer: dict[str, object]) -> None:
    def run() -> None:
        listener.setblocking(True)
        channel = Channel(listener.accept()[0])
        with closing(channel):
            assert channel.receive(time.monotonic() + 10.0)
            channel.send(answer)

    threading.Thread(target=run, daemon=True).start()


def test_an_answer(place: str) -> None:
    with listening(place) as listener:
        answering(listener, {"done": {"containers": []}})
        assert ask_runtime(place, "list", 10.0) == {"containers": []}


def test_a_refusal(place: str) -> None:
    with listening(place) as listener:
        answering(listener, {"failure": {"code": "NotFound", "desc": "no such container"}})
        with pytest.raises(RuntimeFailure, match="code = NotFound desc = no such container"):
            ask_runtime(place, "stop", 10.0, id="x", timeout_s=1)


def test_nobody_is_there(place: str) -> None:
    with pytest.raises(RuntimeFailure, match="code = Unavailable desc = connection error"):
        Asking(place, "list", 10.0)
    listening(place).close()
    with pytest.raises(RuntimeFailure, match="connect: connection refused"):
        ask_runtime(place, "list", 10.0)


def test_somebody_is_there_who_does_not_answer(place: str) -> None:
    with listening(place):
        asking = Asking(place, "list", 0.0)
        with pytest.raises(RuntimeFailure) as late:
            asking.answer()
        assert str(late.value) == LATE
        with closing(Asking(place, "list", 60.0)) as asking:
            assert asking.answer() is None


def test_nobody_waits_when_the_kernel_takes_no_more_connections(place: str) -> None:
    with listening(place):
        open_ones: list[Asking] = []
        with pytest.raises(RuntimeFailure, match="DeadlineExceeded"):
            open_ones.extend(Asking(place, "list", 60.0) for _ in range(1000))
        with pytest.raises(RuntimeFailure, match="DeadlineExceeded"):
            ask_runtime(place, "list", 0.2)
        for asking in open_ones:
            asking.close()
