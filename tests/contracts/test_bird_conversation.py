"""Conversations with something that behaves as BIRD does only on bad days, or is no BIRD at all."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing, suppress
from pathlib import Path

import pytest

from tortie.bgp.control import BirdSilent, BirdUnreachable, ask
from tortie.bgp.conversation import Conversation
from tortie.bgp.replies import BirdGarbled, BirdRefused, value_in

SOON_S = 0.2  # for questions that shall not be answered
GREETING = b"0001 BIRD 2.0.12 ready.\n"
ROUTE = b"1007-Table master4:\n 10.1.0.0/26          blackhole [a 18:24] * (200)\n0000 \n"

# What is done with a command: the connection's number, the command, and where to write.
Answer = Callable[[int, str, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def listening(path: Path, answer: Answer, greeting: bytes = GREETING) -> AsyncIterator[str]:
    connections = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        number = connections
        with closing(writer), suppress(ConnectionError):
            writer.write(greeting)
            while command := await reader.readline():
                await answer(number, command.decode().strip(), writer)
                await writer.drain()
                if writer.is_closing():
                    return

    server = await asyncio.start_unix_server(serve, path)
    async with server:
        yield str(path)


async def echo(_: int, command: str, writer: asyncio.StreamWriter) -> None:
    writer.write(b"0016 Access restricted\n" if command == "restrict" else f"0023 {command}\n".encode())


async def nothing(_: int, __: str, ___: asyncio.StreamWriter) -> None:
    return


def run(talk: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(120):
            await talk()

    asyncio.run(bounded())


def test_an_answer_in_small_pieces_with_log_messages_between(tmp_path: Path) -> None:
    async def slowly(_: int, command: str, writer: asyncio.StreamWriter) -> None:
        for byte in f"1000-BIRD\n+<INFO> a word\n  {command}\n+another\n0023 {command}\n+a last one\n".encode():
            writer.write(bytes((byte,)))
            await writer.drain()
            await asyncio.sleep(0)

    async def talk() -> None:
        async with listening(tmp_path / "s", slowly) as path:
            conversation = Conversation(path)
            for word in ("one", "two", "three"):
                assert value_in(await conversation.ask(word)) == word
            conversation.close()

    run(talk)


def test_bird_ends_in_the_middle_of_an_answer(tmp_path: Path) -> None:
    async def until_the_third(connection: int, command: str, writer: asyncio.StreamWriter) -> None:
        if command == "ends always" or (connection, command) == (1, "ends once"):
            writer.write(b"0023-half an ")
            writer.close()
        else:
            await echo(connection, command, writer)

    async def talk() -> None:
        async with listening(tmp_path / "s", until_the_third) as path:
            conversation = Conversation(path)
            assert value_in(await conversation.ask("one")) == "one"
            assert value_in(await conversation.ask("ends once")) == "ends once"
            with pytest.raises(BirdUnreachable, match="EOF"):
                await conversation.ask("ends always")
            with pytest.raises(BirdUnreachable, match="EOF"):
                await asyncio.to_thread(ask, path, "ends always")
            assert value_in(await conversation.ask("two")) == "two"
            conversation.close()

    run(talk)


def test_an_answer_that_nobody_asked_for_is_not_taken_for_one(tmp_path: Path) -> None:
    async def twice(connection: int, command: str, writer: asyncio.StreamWriter) -> None:
        await echo(connection, command, writer)
        if command == "twice":
            writer.write(b"0023 stale\n")

    async def talk() -> None:
        async with listening(tmp_path / "s", twice) as path:
            conversation = Conversation(path)
            for word in ("twice", "one", "twice", "twice", "two"):
                assert value_in(await conversation.ask(word)) == word
                await asyncio.sleep(0.01)  # the second answer arrives
            conversation.close()

    run(talk)


def test_routes_are_asked_for_again_when_a_reconfiguration_cuts_them_off(tmp_path: Path) -> None:
    asked: list[str] = []

    async def cut_off(_: int, command: str, writer: asyncio.StreamWriter) -> None:
        asked.append(command)
        again = command == "show route always" or asked.count(command) < 3
        writer.write(b"1007-Table master4:\n8004 Stopped due to reconfiguration\n" if again else ROUTE)

    async def talk() -> None:
        async with listening(tmp_path / "s", cut_off) as path:
            conversation = Conversation(path)
            assert len(await conversation.routes("primary")) == 1
            assert asked == ["show route primary"] * 3
            with pytest.raises(BirdRefused, match="Stopped due to reconfiguration"):
                await conversation.routes("always", 2.0)  # each answer has to arrive within that time
            conversation.close()

    run(talk)


@pytest.mark.parametrize(
    ("greeting", "error"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", BirdGarbled),
        (b"220 mail.example.org ESMTP\r\n", BirdGarbled),
        (b"\x00\x01\x02\n", BirdGarbled),
        (b"0000 hello\n", BirdGarbled),
        (b"8007 Access denied\n", BirdRefused),
        (b"", BirdSilent),
        (b"0001-BIRD 2.0.12 never ready.\n", BirdSilent),
    ],
)
def test_whoever_greets_otherwise_is_no_bird(tmp_path: Path, greeting: bytes, error: type[Exception]) -> None:
    timeout_s = SOON_S if error is BirdSilent else 30.0  # what is answered may take its time

    async def talk() -> None:
        async with listening(tmp_path / "s", nothing, greeting) as path:
            conversation = Conversation(path)
            with pytest.raises(error):
                await conversation.ask("show status", timeout_s)
            with pytest.raises(error):
                await asyncio.to_thread(ask, path, "show status", timeout_s)
            conversation.close()

    run(talk)


def test_a_bird_that_does_not_know_restrictions_is_not_asked(tmp_path: Path) -> None:
    heard: list[str] = []

    async def never_heard(connection: int, command: str, writer: asyncio.StreamWriter) -> None:
        heard.append(command)
        if command == "restrict":
            writer.write(b"9001 syntax error\n")
        else:
            await echo(connection, command, writer)

    async def talk() -> None:
        async with listening(tmp_path / "s", never_heard) as path:
            with pytest.raises(BirdRefused, match="syntax error"):
                await asyncio.to_thread(ask, path, "one")
            assert heard == ["restrict"]
            assert value_in(await asyncio.to_thread(ask, path, "one", restricted=False)) == "one"

    run(talk)


def test_the_time_in_which_others_have_their_turn_counts(tmp_path: Path) -> None:
    async def talk() -> None:
        async with listening(tmp_path / "s", nothing) as path:
            conversation = Conversation(path)
            questions = [asyncio.create_task(conversation.ask(f"question {number}", SOON_S)) for number in range(200)]
            answers = await asyncio.gather(*questions, return_exceptions=True)
            assert {type(answer) for answer in answers} == {BirdSilent}
            conversation.close()

    run(talk)


def test_a_connection_that_is_dropped_while_somebody_waits(tmp_path: Path) -> None:
    heard = asyncio.Event()

    async def silent_at_first(connection: int, command: str, writer: asyncio.StreamWriter) -> None:
        if command == "hard" and connection == 1:
            heard.set()
        else:
            await echo(connection, command, writer)

    async def talk() -> None:
        async with listening(tmp_path / "s", silent_at_first) as path:
            conversation = Conversation(path)
            await conversation.ask("easy")
            question = asyncio.create_task(conversation.ask("hard"))
            await heard.wait()
            conversation.drop()
            assert value_in(await question) == "hard"
            conversation.drop()
            conversation.drop()
            assert value_in(await conversation.ask("easy")) == "easy"
            conversation.close()

    run(talk)


def test_who_is_not_allowed_to_ask_is_told_so(tmp_path: Path) -> None:
    folder = tmp_path / "file"
    folder.write_text("no folder")
    with pytest.raises(BirdUnreachable) as caught:
        ask(str(folder / "bird.ctl"), "show status")
    assert caught.value.what.endswith("/file/bird.ctl: connect: not a directory")
    name = str(tmp_path / ("n" * 200))
    with pytest.raises(BirdUnreachable, match="AF_UNIX path too long"):
        ask(name, "show status")
    denied = BirdUnreachable.by_connecting("/run/bird.ctl", PermissionError(13, "Permission denied"))
    assert denied.what == "unable to connect to BIRDv4 socket: dial unix /run/bird.ctl: connect: permission denied"
    assert denied.fix == "ask as root, or as a member of the socket's group"
