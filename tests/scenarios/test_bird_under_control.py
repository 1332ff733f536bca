"""One real BIRD in a namespace of its own, and somebody who works against us: files, processes, other programs."""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
import subprocess
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.support import bird_plans
from tests.support.netns import Namespace

from tortie.bgp.bird import Bird, Observation, Place
from tortie.bgp.bird_text import bird_text, digest

DEADLINE_S = 25.0

FIRST = bird_text(bird_plans.plan(blocks=bird_plans.networks("10.244.0.0/26")))
SECOND = bird_text(bird_plans.plan(blocks=bird_plans.networks("10.244.0.0/26", "10.244.7.0/26")))
WRONG = SECOND.replace("protocol device {", "protocol gadget {")
FOREIGN = "router id 1.2.3.4;\nprotocol device {}\n"


class Controlled:
    """A BIRD under control, what was said about it, and the hands of somebody else."""

    def __init__(self, folder: Path, path: str = os.defpath) -> None:
        self.folder = folder
        self.file = folder / "etc" / "bird.cfg"
        self.socket = folder / "run" / "bird.ctl"
        self.said: list[str] = []
        self.heard: list[str] = []
        self.bird = Bird(
            Place(str(self.file), str(self.socket)),
            {"PATH": path},
            say=lambda level, text: self.said.append(f"{level}: {text}"),
            pass_on=lambda level, text: self.heard.append(f"{level}: {text}"),
        )

    async def until(self, what: str, is_so: Callable[[Observation], object]) -> Observation:
        """Looks at BIRD as the agent does."""
        deadline = time.monotonic() + DEADLINE_S
        while not is_so(seen := await self.bird.look(recover=False)):
            assert time.monotonic() < deadline, (what, seen, self.said)
            await asyncio.sleep(0.05)
        return seen

    async def until_well(self) -> Observation:
        return await self.until("BIRD is well", lambda seen: seen.status and not seen.trouble)

    async def until_trouble(self, part: str) -> Observation:
        return await self.until(part, lambda seen: seen.trouble and part in f"{seen.trouble.what}: {seen.trouble.why}")

    def birdc(self, *words: str) -> str:
        done = subprocess.run(
            ["birdc", "-s", self.socket.name, *words],
            cwd=self.socket.parent,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=DEADLINE_S,
            check=False,
        )
        return done.stdout

    def has_said(self, part: str) -> bool:
        return any(part in text for text in self.said)


Story = Callable[[Controlled], Awaitable[None]]


@pytest.fixture
def namespace() -> Iterator[Namespace]:
    with Namespace("bird") as namespace:
        yield namespace


def play(namespace: Namespace, folder: Path, story: Story, path: str = os.defpath) -> None:
    """In the namespace, with mounts of its own."""

    async def tell() -> None:
        controlled = Controlled(folder, path)
        try:
            await story(controlled)
        finally:
            controlled.bird.stop()

    namespace.call(lambda: asyncio.run(tell()))


def test_it_starts_with_the_first_valid_configuration_and_not_before(namespace: Namespace, tmp_path: Path) -> None:
    async def story(it: Controlled) -> None:
        assert await it.bird.look(recover=False) == Observation()
        it.bird.want(WRONG)
        seen = await it.until_trouble("BIRD is not started: its configuration is refused")
        assert seen.trouble
        assert f"{it.file}:" in seen.trouble.why
        assert "syntax error" in seen.trouble.why
        refused = it.file.with_name("bird.cfg.refused")
        assert str(refused) in seen.trouble.fix
        assert (refused.read_text(), refused.stat().st_mode & 0o777) == (WRONG, 0o600)
        assert seen.pid == 0
        it.bird.want(FIRST)
        seen = await it.until_well()
        assert seen.pid
        assert (it.file.read_text(), it.file.stat().st_mode & 0o777) == (FIRST, 0o600)

    play(namespace, tmp_path, story)


def test_a_new_configuration_is_loaded_without_a_restart(namespace: Namespace, tmp_path: Path) -> None:
    async def story(it: Controlled) -> None:
        it.bird.want(FIRST)
        pid = (await it.until_well()).pid
        it.bird.want(SECOND)
        seen = await it.until("loaded", lambda seen: seen.reloads == 1)
        assert "10.244.7.0/26" in it.birdc("show", "route")
        assert (seen.pid, seen.restarts) == (pid, 0)

    play(namespace, tmp_path, story)


def test_a_refused_configuration_leaves_the_old_one_in_force_even_after_a_crash(
    namespace: Namespace, tmp_path: Path
) -> None:
    async def story(it: Controlled) -> None:
        it.bird.want(FIRST)
        pid = (await it.until_well()).pid
        it.bird.want(WRONG)
        seen = await it.until_trouble("BIRD refuses its new configuration and goes on with the old one")
        assert (seen.pid, seen.status is not None) == (pid, True)
        os.kill(pid, signal.SIGKILL)
        seen = await it.until("a new BIRD answers", lambda seen: seen.status and seen.pid != pid)
        assert seen.trouble
        assert "syntax error" in seen.trouble.why
        assert it.file.read_text() == FIRST
        it.bird.want(SECOND)
        await it.until_well()
        assert digest(SECOND) in it.birdc("eval", "tortie_digest")

    play(namespace, tmp_path, story)


def test_what_somebody_else_has_loaded_does_not_stay(namespace: Namespace, tmp_path: Path) -> None:
    async def story(it: Controlled) -> None:
        it.bird.want(FIRST)
        pid = (await it.until_well()).pid
        other = it.folder / "other.cfg"
        other.write_text(FOREIGN)
        assert "Reconfigur" in it.birdc("configure", f'"{other}"')
        await it.until("ours runs again", lambda _: digest(FIRST) in it.birdc("eval", "tortie_digest"))
        assert it.has_said("another configuration by somebody else")
        assert "Reconfigur" in it.birdc("configure", "undo")
        await it.until("ours runs again", lambda _: digest(FIRST) in it.birdc("eval", "tortie_digest"))
        assert (await it.until_well()).pid == pid

    play(namespace, tmp_path, story)


@pytest.mark.parametrize("hand", ["garbage", "gone", "foreign"])
def test_the_file_is_put_right_before_anybody_needs_it(namespace: Namespace, tmp_path: Path, hand: str) -> None:
    async def story(it: Controlled) -> None:
        it.bird.want(FIRST)
        pid = (await it.until_well()).pid
        if hand == "gone":
            it.file.unlink()
        else:
            it.file.write_bytes(b"\xff\xfe" if hand == "garbage" else FOREIGN.encode())
        os.kill(pid, signal.SIGKILL)
        seen = await it.until("a new BIRD answers", lambda seen: seen.status and seen.pid != pid)
        assert digest(FIRST) in it.birdc("eval", "tortie_digest")
        assert it.has_said("is gone; writing it again" if hand == "gone" else "changed by somebody else")
        assert seen.restarts == 1

    play(namespace, tmp_path, story)


def test_a_bird_that_dies_at_once_is_started_ever_more_rarely(namespace: Namespace, tmp_path: Path) -> None:
    """The program is one that reads every configuration, and runs none."""
    programs = tmp_path / "bin"
    programs.mkdir()
    program = programs / "bird"
    program.write_text('#!/bin/sh\ncase "$*" in -p*) exit 0;; esac\necho "2026-11-16 <FATAL> no way" >&2\nexit 3\n')
    program.chmod(0o755)

    async def story(it: Controlled) -> None:
        it.bird.want(FIRST)
        await it.until("four starts", lambda seen: seen.restarts == 3)
        waits = [text.rpartition(" in ")[2] for text in it.said if "exited with status 3" in text]
        assert waits[:3] == ["0.2 s", "0.4 s", "0.8 s"]
        await it.until_trouble("BIRD does not run: it exited with status 3; it is started again in")
        assert "fatal: no way" in it.heard

    play(namespace, tmp_path, story, f"{programs}:{os.defpath}")


def test_a_full_disk_keeps_only_news_from_bird(namespace: Namespace, tmp_path: Path) -> None:
    async def story(it: Controlled) -> None:
        it.file.parent.mkdir(parents=True)
        with mounted(it.file.parent, size="16k"):
            it.bird.want(FIRST)
            pid = (await it.until_well()).pid
            (it.file.parent / "fill").write_bytes(b"")
            fill_up(it.file.parent / "fill")
            it.bird.want(SECOND)
            seen = await it.until_trouble("no space left on device")
            assert (seen.pid, seen.status is not None) == (pid, True)
            os.kill(pid, signal.SIGKILL)
            seen = await it.until("a new BIRD answers", lambda seen: seen.status and seen.pid != pid)
            assert digest(FIRST) in it.birdc("eval", "tortie_digest")
            (it.file.parent / "fill").unlink()
            await it.until("the news", lambda _: digest(SECOND) in it.birdc("eval", "tortie_digest"))
            await it.until_well()

    play(namespace, tmp_path, story)


def test_a_folder_in_the_place_of_the_file(namespace: Namespace, tmp_path: Path) -> None:
    async def story(it: Controlled) -> None:
        it.file.mkdir(parents=True)
        it.bird.want(FIRST)
        seen = await it.until_trouble("it is a folder")
        assert seen.pid == 0
        it.file.rmdir()
        await it.until_well()

    play(namespace, tmp_path, story)


def test_without_its_program_it_is_waited_for(namespace: Namespace, tmp_path: Path) -> None:
    async def story(it: Controlled) -> None:
        with nothing_at(*(Path(folder) / "bird" for folder in ("/usr/sbin", "/usr/local/sbin", "/usr/bin"))):
            it.bird.want(FIRST)
            seen = await it.until_trouble("bird is not installed, or not executable")
            assert seen.trouble
            assert "apt-get install bird2" in seen.trouble.fix
        pid = (await it.until_well()).pid
        with nothing_at(Path("/usr/sbin/bird")):
            os.kill(pid, signal.SIGKILL)
            await it.until_trouble("there is no such program, or it is not executable")
        seen = await it.until_well()
        assert (seen.pid != pid, seen.restarts) == (True, 1)

    play(namespace, tmp_path, story)


def test_what_is_disabled_is_enabled_again(namespace: Namespace, tmp_path: Path) -> None:
    async def story(it: Controlled) -> None:
        it.bird.want(FIRST)
        await it.until_well()
        assert "disabled" in it.birdc("disable", "static4")
        await it.until_trouble("BIRD has disabled static4: somebody has told it so")
        await it.until_well()
        assert "10.244.0.0/26" in it.birdc("show", "route")
        assert it.has_said("BIRD has disabled static4")

    play(namespace, tmp_path, story)


def test_a_port_of_another_program_is_told_and_tried_until_it_is_free(namespace: Namespace, tmp_path: Path) -> None:
    peer = bird_plans.session("10.77.0.2")
    with_session = bird_text(bird_plans.plan(peer, blocks=bird_plans.networks("10.244.0.0/26")))
    holder = namespace.popen(
        *("python3", "-c", "import socket; s = socket.create_server(('', 179)); print('held', flush=True); input()"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert holder.stdout
    assert holder.stdout.readline() == "held\n"

    async def story(it: Controlled) -> None:
        it.bird.want(with_session)
        seen = await it.until_trouble("BIRD has disabled Mesh_10_77_0_2: Error: No listening socket")
        assert [session.error for session in seen.sessions] == ["Error: No listening socket"]
        await it.until_trouble("No listening socket")
        os.kill(holder.pid, signal.SIGKILL)
        await it.until_well()
        seen = await it.until("the session starts", lambda seen: [each.state for each in seen.sessions] == ["start"])
        assert len([text for text in it.said if "has disabled" in text]) == 1

    play(namespace, tmp_path, story)


def test_whoever_is_replaced_leaves_its_place_to_the_next(namespace: Namespace, tmp_path: Path) -> None:
    """Its socket is removed over and over; each BIRD is ended, none is left behind."""

    async def story(it: Controlled) -> None:
        it.bird.want(FIRST)
        pids = [(await it.until_well()).pid]
        for _ in range(2):
            it.socket.unlink()
            await it.until_trouble("bird.ctl is gone")
            seen = await it.until("a new BIRD answers", lambda seen: seen.status and seen.pid not in pids)
            pids.append(seen.pid)
        assert [lives(pid) for pid in pids] == [False, False, True]

    play(namespace, tmp_path, story)


def test_an_end_is_heard_at_once_each_time(namespace: Namespace, tmp_path: Path) -> None:
    async def story(it: Controlled) -> None:
        ended = asyncio.Event()
        it.bird.on_end(ended.set)
        it.bird.want(FIRST)
        for _ in range(3):
            pid = (await it.until_well()).pid
            ended.clear()
            os.kill(pid, signal.SIGKILL)
            await asyncio.wait_for(ended.wait(), DEADLINE_S)

    play(namespace, tmp_path, story)


def test_stopping_ends_bird_and_its_socket(namespace: Namespace, tmp_path: Path) -> None:
    async def story(it: Controlled) -> None:
        it.bird.want(FIRST)
        pid = (await it.until_well()).pid
        it.bird.stop()
        assert not lives(pid)
        assert not it.socket.exists()
        assert it.file.read_text() == FIRST

    play(namespace, tmp_path, story)


def lives(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


@contextmanager
def mounted(folder: Path, *, size: str) -> Iterator[None]:
    """A small file system; `Namespace.call` has given us a mount table of our own."""
    _mount("none", folder, "tmpfs", 0, f"size={size}")
    try:
        yield
    finally:
        _unmount(folder)


@contextmanager
def nothing_at(*paths: Path) -> Iterator[None]:
    bind = 4096
    covered = [path for path in paths if path.exists()]
    for path in covered:
        _mount("/dev/null", path, "", bind, "")
    try:
        yield
    finally:
        for path in covered:
            _unmount(path)


def _mount(source: str, target: Path, kind: str, flags: int, options: str) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(source.encode(), bytes(target), kind.encode(), flags, options.encode()) != 0:
        raise OSError(ctypes.get_errno(), f"mount on {target}: {os.strerror(ctypes.get_errno())}")


def _unmount(target: Path) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    detach = 2
    if libc.umount2(bytes(target), detach) != 0:
        raise OSError(ctypes.get_errno(), f"unmount {target}: {os.strerror(ctypes.get_errno())}")


def fill_up(path: Path) -> None:
    with path.open("ab", buffering=0) as file:
        try:
            while True:
                file.write(bytes(1024))
        except OSError:
            return
