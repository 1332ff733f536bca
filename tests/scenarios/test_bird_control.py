"""A real BIRD at the other end of its control socket: answers, refusals, silence, restarts."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from ipaddress import ip_address, ip_network
from pathlib import Path

import pytest
from tests.support.netns import Namespace

from tortie.bgp.control import BirdSilent, BirdUnreachable, ask, ask_all
from tortie.bgp.conversation import Conversation
from tortie.bgp.replies import BirdRefused, configured_in, sessions_in, status_in, value_in
from tortie.bgp.reply_routes import Gateway, routes_in
from tortie.model.errors import UsageError

DEADLINE_S = 30.0
SOON_S = 0.3  # for questions that shall not be answered

HEAD = """
router id {own};
timeformat protocol "%Y-%m-%dT%H:%M:%S";
define tortie_digest = "{digest}";
protocol device {{ scan time 2; }}
protocol direct {{ ipv4; }}
protocol kernel {{ ipv4 {{ import none; export all; }}; }}
protocol static blocks {{ ipv4; route {block} blackhole; }}
template bgp peers {{
  local as 64512; hold time {hold}; connect delay time 1; connect retry time 1; error wait time 1,2; multihop;
  graceful restart; ipv4 {{ import all; {export} gateway recursive; }};
}}
"""
SESSION = "protocol bgp {name} from peers {{ neighbor {peer} as 64512; source address {own}; }}\n"


class Bird:
    def __init__(self, namespace: Namespace, folder: Path, own: str, *peers: str) -> None:
        self.namespace, self.folder, self.own, self.peers = namespace, folder, own, peers
        self.socket = str(folder / "bird.ctl")
        self.file = folder / "bird.conf"
        self._process: subprocess.Popen[str] | None = None
        folder.mkdir(parents=True, exist_ok=True)
        self.write()

    def write(self, *, digest: str = "first", hold: int = 90, export: str = "export all;", more: str = "") -> None:
        block = f"10.244.{self.own.rpartition('.')[2]}.0/26"
        head = HEAD.format(own=self.own, digest=digest, block=block, hold=hold, export=export)
        sessions = [
            SESSION.format(name=f"Mesh_{peer.replace('.', '_')}", peer=peer, own=self.own) for peer in self.peers
        ]
        self.file.write_text(head + "".join(sessions) + more)

    def start(self) -> None:
        # Its name alone, from within its folder: so the folder's path may be as long as it likes.
        words = ("bird", "-f", "-c", "bird.conf", "-s", "bird.ctl", "-P", "bird.pid")
        quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self._process = self.namespace.popen(*words, cwd=self.folder, **quiet)
        wait("BIRD to answer", self.answers)

    def answers(self) -> bool:
        try:
            return status_in(ask(self.socket, "show status")).router_id == ip_address(self.own)
        except (BirdUnreachable, BirdSilent):  # its socket is there before it reads its configuration
            return False

    def stop(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)
        state = Path(f"/proc/{self._process.pid}/stat")
        wait("BIRD to stop", lambda: ") T " in state.read_text())

    def resume(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait(DEADLINE_S)


def wait(what: str, is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not is_so():
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {DEADLINE_S:g} s for {what}")
        time.sleep(0.02)


@pytest.fixture
def namespace() -> Iterator[Namespace]:
    with Namespace("bird") as namespace:
        yield namespace


@pytest.fixture
def bird(namespace: Namespace, tmp_path: Path) -> Bird:
    bird = Bird(namespace, tmp_path / "one", "10.0.0.1", "10.0.0.2")
    bird.start()
    return bird


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[tuple[Bird, Bird]]:
    """Two machines on a cable, with an established session."""
    with ExitStack() as stack:
        left, right = stack.enter_context(Namespace("bird")), stack.enter_context(Namespace("bird"))
        left.veth("eth0", right, "eth0")
        left.ip("addr", "add", "10.0.0.1/24", "dev", "eth0")
        right.ip("addr", "add", "10.0.0.2/24", "dev", "eth0")
        one = Bird(left, tmp_path / "one", "10.0.0.1", "10.0.0.2", "10.0.0.3")
        two = Bird(right, tmp_path / "two", "10.0.0.2", "10.0.0.1")
        one.start()
        two.start()
        wait("the session", lambda: sessions_in(ask(one.socket, "show protocols"))[0].established)
        wait("the route", lambda: len(routes_in(ask(one.socket, "show route 10.244.2.0/26"))) == 1)
        yield one, two


def test_what_a_node_wants_to_know_of_its_mesh(pair: tuple[Bird, Bird]) -> None:
    one, _ = pair

    async def talk() -> None:
        conversation = Conversation(one.socket)
        status = await conversation.status()
        assert (status.router_id, status.state, status.recovering) == (ip_address("10.0.0.1"), "up", False)
        up, waits = await conversation.sessions()
        assert (up.peer, up.state, up.info, up.kind) == (ip_address("10.0.0.2"), "up", "Established", "mesh")
        assert (waits.peer, waits.state, waits.established) == (ip_address("10.0.0.3"), "start", False)
        assert "T" in up.since
        (details,) = await conversation.details("Mesh_10_0_0_2")
        assert (details.neighbour, details.neighbour_as, details.restarting) == (ip_address("10.0.0.2"), 64512, False)
        assert details.imported >= 1
        (route,) = await conversation.routes('primary where proto = "Mesh_10_0_0_2"')
        assert (route.network, route.gateways) == (
            ip_network("10.244.2.0/26"),
            (Gateway("eth0", ip_address("10.0.0.2")),),
        )
        assert await conversation.digest() == "first"
        assert await conversation.details("Mesh_10_9_*") == ()
        conversation.close()

    asyncio.run(talk())
    status, protocols, routes = ask_all(one.socket, ("show status", "show protocols", "show route table master4"))
    assert status_in(status).version.startswith("2.")
    assert [session.established for session in sessions_in(protocols)] == [True, False]
    assert ip_network("10.244.1.0/26") in {route.network for route in routes_in(routes) if route.kind == "blackhole"}


def test_established_and_yet_no_way_there(pair: tuple[Bird, Bird]) -> None:
    """A next hop that no route leads to: what `established` alone does not tell."""
    one, two = pair
    two.write(export="next hop keep; export filter { bgp_next_hop = 172.31.0.9; accept; };")
    assert configured_in(ask(two.socket, "configure", DEADLINE_S, restricted=False)).outcome != "refused"

    def is_unreachable() -> bool:
        return [route.kind for route in routes_in(ask(one.socket, "show route 10.244.2.0/26"))] == ["unreachable"]

    wait("the route without a way", is_unreachable)
    assert sessions_in(ask(one.socket, "show protocols"))[0].established
    (route,) = routes_in(ask(one.socket, "show route 10.244.2.0/26"))
    assert route.preferred
    assert not route.leads_somewhere


def test_a_new_configuration_is_taken_and_a_wrong_one_is_not(bird: Bird) -> None:
    async def talk() -> None:
        conversation = Conversation(bird.socket)
        bird.write(digest="second")
        assert (await conversation.configure()).outcome == "reconfigured"
        assert await conversation.digest() == "second"

        bird.write(digest="third", more="protocol bgp Mesh_10_0_0_9 from nobody { }\n")
        line = len(bird.file.read_text().splitlines())
        refused = await conversation.configure()
        assert (refused.outcome, refused.file, refused.line) == ("refused", "bird.conf", line)
        assert refused.column > 0
        assert refused.message.startswith(f"bird.conf:{line}:{refused.column} ")
        assert await conversation.digest() == "second"
        assert len(await conversation.sessions()) == 1

        bird.file.unlink()
        assert (await conversation.configure()).message == "bird.conf: No such file or directory"
        bird.write(digest="fourth")
        assert (await conversation.configure()).outcome == "reconfigured"
        assert await conversation.digest() == "fourth"
        conversation.close()

    asyncio.run(talk())


def test_a_configuration_that_takes_its_time(pair: tuple[Bird, Bird]) -> None:
    """Sessions that are up must be taken down before they can start with another hold time."""
    one, two = pair

    async def talk() -> None:
        conversation = Conversation(one.socket)
        two.stop()  # so that it takes longer
        one.write(digest="second", hold=60)
        assert (await conversation.configure()).outcome == "in progress"
        assert await conversation.digest() == "second"
        two.resume()
        assert await conversation.settled(DEADLINE_S)
        assert (await conversation.status()).state == "up"
        conversation.close()

    asyncio.run(talk())


def test_none_of_our_configurations_and_none_of_its_words(bird: Bird) -> None:
    bird.file.write_text(bird.file.read_text().replace("tortie_digest", "another"))

    async def talk() -> None:
        conversation = Conversation(bird.socket)
        await conversation.configure()
        assert await conversation.digest() == ""
        assert (await conversation.ask("show me the way")).refused
        with pytest.raises(BirdRefused, match="BIRD refuses: syntax error"):
            await conversation.routes("nobody knows")
        for two in ("show status\nconfigure", "", " ", "show\x00", "show " + "x" * 5000):
            with pytest.raises(UsageError):
                await conversation.ask(two)
        with pytest.raises(UsageError):
            await conversation.details('a" "b')
        assert (await conversation.status()).state == "up"
        conversation.close()

    asyncio.run(talk())


def test_who_only_reads_cannot_change_anything(bird: Bird) -> None:
    bird.write(digest="second")
    with pytest.raises(BirdRefused, match="Access denied"):
        configured_in(ask(bird.socket, "configure"))
    assert ask(bird.socket, "down").message == "Access denied"
    assert value_in(ask(bird.socket, "eval tortie_digest")) == "first"


def test_no_socket_and_nobody_behind_it(bird: Bird) -> None:
    """The words are Calico's."""
    said = f"unable to connect to BIRDv4 socket: dial unix {bird.socket}: connect: "

    async def talk() -> None:
        conversation = Conversation(bird.socket)
        await conversation.status()
        bird.kill()
        with pytest.raises(BirdUnreachable) as refused:
            await conversation.status()
        assert refused.value.what == said + "connection refused"
        os.unlink(bird.socket)
        with pytest.raises(BirdUnreachable) as gone:
            await conversation.status()
        assert gone.value.what == said + "no such file or directory"
        bird.start()
        assert (await conversation.status()).state == "up"
        conversation.close()

    asyncio.run(talk())
    bird.kill()
    with pytest.raises(BirdUnreachable, match="connection refused"):
        ask(bird.socket, "show status")
    os.unlink(bird.socket)
    with pytest.raises(BirdUnreachable, match=r"BIRDv6 socket: .*no such file or directory"):
        ask(bird.socket, "show status", family=6)


def test_a_socket_that_was_removed_is_missed_at_once(bird: Bird) -> None:
    """A connection of before would still work, and hide that nobody else can ask."""

    async def talk() -> None:
        conversation = Conversation(bird.socket)
        await conversation.status()
        os.unlink(bird.socket)
        with pytest.raises(BirdUnreachable, match="no such file or directory"):
            await conversation.status()

    asyncio.run(talk())


def test_bird_is_restarted_between_two_questions(bird: Bird) -> None:
    async def talk() -> None:
        conversation = Conversation(bird.socket)
        for digest in ("second", "third", "fourth"):
            bird.kill()
            bird.write(digest=digest)
            bird.start()
            assert await conversation.digest() == digest
        conversation.close()

    asyncio.run(talk())


def test_another_bird_takes_over_the_socket(bird: Bird) -> None:
    other = Bird(bird.namespace, bird.folder.with_name("other"), "10.0.0.7")
    other.start()

    async def talk() -> None:
        conversation = Conversation(bird.socket)
        assert (await conversation.status()).router_id == ip_address("10.0.0.1")
        os.replace(other.socket, bird.socket)
        assert (await conversation.status()).router_id == ip_address("10.0.0.7")
        conversation.close()

    asyncio.run(talk())


def test_a_bird_that_was_stopped_is_silent_and_its_late_answers_are_nobodys(bird: Bird) -> None:
    async def talk() -> None:
        conversation = Conversation(bird.socket)
        assert value_in(await conversation.ask("eval 0")) == "0"
        bird.stop()
        for number in (1, 2):
            with pytest.raises(BirdSilent) as silent:
                await conversation.ask(f"eval {number}", SOON_S)
            assert silent.value.what == f"read unix @->{bird.socket}: i/o timeout"
            assert silent.value.why.startswith(f"the connection is there, but `eval {number}` was not answered")
        with pytest.raises(BirdSilent):
            ask(bird.socket, "eval 3", SOON_S)
        late = asyncio.create_task(conversation.ask("eval 4"))
        await asyncio.sleep(0)
        bird.resume()
        assert value_in(await late) == "4"
        assert value_in(await conversation.ask("eval 5")) == "5"
        conversation.close()

    asyncio.run(talk())
    assert value_in(ask(bird.socket, "eval 6")) == "6"


def test_a_question_that_is_given_up_takes_its_answer_with_it(bird: Bird) -> None:
    async def talk() -> None:
        conversation = Conversation(bird.socket)
        await conversation.status()
        bird.stop()
        questions = [asyncio.create_task(conversation.ask(f"eval {number}", DEADLINE_S)) for number in range(4)]
        await asyncio.sleep(0.05)  # the first one is on its way
        questions[0].cancel()
        questions[2].cancel()
        await asyncio.wait(questions[::2])
        bird.resume()
        answers = await asyncio.gather(*questions, return_exceptions=True)
        assert [type(answer) for answer in answers[::2]] == [asyncio.CancelledError] * 2
        assert [value_in(answer) for answer in answers[1::2] if not isinstance(answer, BaseException)] == ["1", "3"]
        conversation.close()

    asyncio.run(talk())


def test_so_many_wait_for_a_stopped_bird_that_nobody_else_gets_in(bird: Bird) -> None:
    bird.stop()
    waiting: list[socket.socket] = []
    try:
        while True:
            knock = socket.socket(socket.AF_UNIX)
            waiting.append(knock)
            knock.setblocking(False)
            try:
                knock.connect(bird.socket)
            except BlockingIOError:
                break
        with pytest.raises(BirdSilent, match="takes no further one"):
            ask(bird.socket, "show status", SOON_S)

        async def talk() -> None:
            conversation = Conversation(bird.socket)
            with pytest.raises(BirdSilent, match="takes no further one"):
                await conversation.status(SOON_S)
            bird.resume()
            assert (await conversation.status(DEADLINE_S)).state == "up"
            conversation.close()

        asyncio.run(talk())
    finally:
        for knock in waiting:
            knock.close()


def test_many_ask_at_the_same_time(bird: Bird) -> None:
    async def talk() -> None:
        conversation = Conversation(bird.socket)
        answers = await asyncio.gather(*(conversation.ask(f"eval {number}", DEADLINE_S) for number in range(500)))
        assert [value_in(answer) for answer in answers] == [str(number) for number in range(500)]
        sessions = await asyncio.gather(*(conversation.sessions(DEADLINE_S) for _ in range(20)))
        assert {len(each) for each in sessions} == {1}
        conversation.close()

    asyncio.run(talk())


def test_a_path_that_is_longer_than_a_socket_may_have(namespace: Namespace, tmp_path: Path) -> None:
    bird = Bird(namespace, tmp_path / ("long" * 30) / ("longer" * 20), "10.0.0.1")
    assert len(bird.socket) > 250
    bird.start()

    async def talk() -> None:
        conversation = Conversation(bird.socket)
        for _ in range(3):
            assert (await conversation.status()).state == "up"
        conversation.close()

    open_before = len(os.listdir("/proc/self/fd"))
    asyncio.run(talk())
    assert status_in(ask(bird.socket, "show status")).state == "up"
    bird.kill()
    with pytest.raises(BirdUnreachable, match="connection refused"):
        ask(bird.socket, "show status")
    with pytest.raises(BirdUnreachable, match="no such file or directory"):
        ask(str(tmp_path / ("none" * 50) / "bird.ctl"), "show status")
    assert len(os.listdir("/proc/self/fd")) == open_before


def test_a_long_reply(bird: Bird) -> None:
    routes = "".join(f"route 10.{number >> 8}.{number & 255}.0/24 blackhole; " for number in range(5000))
    bird.write(more=f"protocol static many {{ ipv4; {routes} }}\n")

    async def talk() -> None:
        conversation = Conversation(bird.socket)
        assert (await conversation.configure(DEADLINE_S)).outcome == "reconfigured"
        found = await conversation.routes('where proto = "many"', DEADLINE_S)
        assert len({route.network for route in found}) == 5000
        conversation.close()

    asyncio.run(talk())


def test_routes_that_are_told_while_the_configuration_changes(bird: Bird) -> None:
    """BIRD breaks off such an answer; it is asked again."""
    routes = "".join(f"route 10.{number >> 8}.{number & 255}.0/24 blackhole; " for number in range(5000))
    bird.write(more=f"protocol static many {{ ipv4; {routes} }}\n")
    assert configured_in(ask(bird.socket, "configure", DEADLINE_S, restricted=False)).outcome == "reconfigured"

    async def talk() -> None:
        one, two = Conversation(bird.socket), Conversation(bird.socket)
        await one.status()
        await two.status()
        for _ in range(5):
            found, configured = await asyncio.gather(one.routes("", DEADLINE_S), two.configure(DEADLINE_S))
            assert len([route for route in found if route.protocol == "many"]) == 5000
            assert configured.outcome == "reconfigured"
        one.close()
        two.close()

    asyncio.run(talk())
