"""Messages and descriptors between a command and the keeper."""

from __future__ import annotations

import os
import socket
import time
from pathlib import Path

import pytest

from tortie.lab.protocol import Channel, Closed, connected, listening


def pair() -> tuple[Channel, Channel]:
    ours, theirs = socket.socketpair()
    return Channel(ours), Channel(theirs)


def soon() -> float:
    return time.monotonic() + 10.0


def test_messages_arrive_whole_and_in_order() -> None:
    left, right = pair()
    for number in range(3):
        left.send({"number": number, "text": "ü" * 1000})
    assert [(right.receive(soon()) or {})["number"] for _ in range(3)] == [0, 1, 2]
    assert right.receive(time.monotonic()) is None
    left.send({"last": True})
    assert right.arrived() == [{"last": True}]
    assert right.arrived() == []
    left.close()
    with pytest.raises(Closed):
        right.arrived()
    with pytest.raises(Closed):
        right.send({})
    right.close()


def test_what_was_said_before_the_end_is_heard() -> None:
    left, right = pair()
    left.send({"a": 1})
    left.close()
    assert right.receive(soon()) == {"a": 1}
    with pytest.raises(Closed):
        right.receive(soon())
    right.close()


def test_descriptors_come_along(tmp_path: Path) -> None:
    left, right = pair()
    path = tmp_path / "file"
    path.write_text("content")
    descriptor = os.open(path, os.O_RDONLY)
    left.send({"here": "it is"}, (descriptor,))
    os.close(descriptor)
    assert right.receive(soon()) == {"here": "it is"}
    (received,) = right.taken_descriptors()
    assert os.read(received, 100) == b"content"
    os.close(received)
    left.close()
    right.close()


@pytest.mark.parametrize("noise", [b"not json\n", b"[1]\n", b"\xff\n"])
def test_noise_ends_the_conversation(noise: bytes) -> None:
    ours, theirs = socket.socketpair()
    channel = Channel(theirs)
    ours.sendall(noise)
    with pytest.raises(Closed):
        channel.receive(soon())
    ours.close()
    channel.close()


def test_a_place_with_a_long_path(tmp_path: Path) -> None:
    folder = tmp_path / ("long-" * 30)
    folder.mkdir()
    path = str(folder / "keeper.sock")
    assert connected(path) is None
    listener = listening(path)
    channel = connected(path)
    assert channel is not None
    assert channel.peer_pid == os.getpid()
    accepted, _ = listener.accept()
    for each in (accepted, listener, channel):
        each.close()
    assert connected(path) is None
    assert connected(str(tmp_path / "nowhere" / "keeper.sock")) is None
