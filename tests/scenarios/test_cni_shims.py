"""The plugin's program, compiled and in Python: both are called alike, ask alike, and answer alike."""

from __future__ import annotations

import array
import contextlib
import os
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

import pytest

from tortie.cni.shim import Shim, shim

pytestmark = pytest.mark.timeout(120)

FORMS = ("compiled", "python")
CONFIG = b'{"cniVersion":"1.0.0","name":"n","type":"calico"}'
VARIABLES = {
    "CNI_CONTAINERID": "ab" * 32,
    "CNI_NETNS": "/proc/self/ns/net",
    "CNI_IFNAME": "eth0",
    "CNI_ARGS": "IgnoreUnknown=1;K8S_POD_NAME=web",
    "CNI_PATH": "/opt/cni/bin",
}


class Ended(NamedTuple):
    code: int
    output: bytes
    errors: bytes


class Caller:
    """A folder with the program in it, and an agent's place beside it."""

    def __init__(self, folder: Path, form: str, patience_s: float = 60.0, deep: str = "") -> None:
        self.place = folder / deep
        self.place.mkdir(parents=True, exist_ok=True)
        self.socket = self.place / "cni.sock"
        self.state = folder / "state"
        self.made = shim(str(self.socket), str(self.state), compiled=form == "compiled", patience_s=patience_s)
        assert self.made.form == form, f"there is no compiled program: {self.made.why}; `make setup` builds it"
        self.program = folder / "calico"
        self.program.write_bytes(self.made.content)
        self.program.chmod(0o755)

    def call(self, command: str, *words: str, config: bytes = CONFIG, **more: str | bytes) -> Ended:
        variables = {**VARIABLES, "CNI_COMMAND": command, "PATH": "/usr/bin:/bin", "HOME": "/nowhere", **more}
        environment = {name: value for name, value in variables.items() if value}
        done = subprocess.run(
            [self.program, *words], input=config, capture_output=True, env=environment, timeout=60, check=False
        )
        return Ended(done.returncode, done.stdout, done.stderr)

    @property
    def records(self) -> dict[str, bytes]:
        folder = self.state / "pending"
        return {path.name: path.read_bytes() for path in folder.iterdir()} if folder.exists() else {}


class Heard(NamedTuple):
    request: bytes
    namespaces: list[tuple[int, int]]  # of the descriptors that came with it


@contextlib.contextmanager
def agent(place: Path, answer: Callable[[socket.socket], None]) -> Iterator[list[Heard]]:
    """Takes one request, tells what it was, and lets `answer` say what it likes."""
    heard: list[Heard] = []
    folder = os.open(place.parent, os.O_RDONLY)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"/proc/self/fd/{folder}/{place.name}")
        listener.listen()

        def serve() -> None:
            with contextlib.suppress(OSError):
                connection, _ = listener.accept()
                with connection:
                    heard.append(hear(connection))
                    answer(connection)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield heard
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()
            os.close(folder)


def hear(connection: socket.socket) -> Heard:
    request, namespaces = b"", []
    while True:
        data, ancillary, _, _ = connection.recvmsg(1 << 16, socket.CMSG_SPACE(16))
        for _, _, content in ancillary:
            for descriptor in array.array("i", content):
                status = os.fstat(descriptor)
                namespaces.append((status.st_dev, status.st_ino))
                os.close(descriptor)
        if not data:
            return Heard(request, namespaces)
        request += data


def says(text: bytes) -> Callable[[socket.socket], None]:
    return lambda connection: connection.sendall(text)


def split(request: bytes) -> tuple[bytes, list[bytes], bytes]:
    """Greeting, variables in no order, configuration."""
    head, _, config = request.partition(b"\0\0")
    greeting, *variables = head.split(b"\0")
    return greeting, sorted(variables), config


@pytest.mark.parametrize(
    ("config", "more"),
    [
        (CONFIG, {}),
        (b"", {}),
        (b'{"a":"\0\0"}' + b"x" * 900_000, {}),
        (CONFIG, {"CNI_ARGS": b"K8S_POD_NAME=\xff\xfe", "CNI_": "x", "CNIX": "no", "CNI_EMPTY": ""}),
        (CONFIG, {"CNI_NETNS": ""}),
        (CONFIG, {"CNI_NETNS": "/nowhere/at/all"}),
        (CONFIG, {"CNI_PATH": "/long" * 10_000}),
    ],
    ids=["usual", "empty", "long", "strange", "no-namespace", "namespace-gone", "long-variable"],
)
def test_the_agent_hears_the_same_from_both(tmp_path: Path, config: bytes, more: dict[str, str | bytes]) -> None:
    told: list[Heard] = []
    for form in FORMS:
        caller = Caller(tmp_path / form, form)
        with agent(caller.socket, says(b"0\n{}\n")) as heard:
            assert caller.call("ADD", config=config, **more) == Ended(0, b"{}\n", b"")
        told += heard
    ours, theirs = told
    assert split(ours.request) == split(theirs.request)
    assert split(ours.request)[2] == config
    assert b"TORTIE_PLUGIN=calico" in split(ours.request)[1]
    assert ours.namespaces == theirs.namespaces
    assert len(ours.namespaces) == (more.get("CNI_NETNS") is None)


@pytest.mark.parametrize("form", FORMS)
def test_what_the_agent_answers_is_passed_on_whole(tmp_path: Path, form: str) -> None:
    caller = Caller(tmp_path, form)
    long = b'{"ips":"' + b"1" * 500_000 + b'"}\n'
    with agent(caller.socket, says(b"0\n" + long)):
        assert caller.call("ADD") == Ended(0, long, b"")
    caller.socket.unlink()
    with agent(caller.socket, says(b'1\n{"code":101}\n')):
        assert caller.call("ADD") == Ended(1, b'{"code":101}\n', b"")
    caller.socket.unlink()
    with agent(caller.socket, says(b"0\n")):
        assert caller.call("STATUS") == Ended(0, b"", b"")


def leaves(_: socket.socket) -> None:
    """Without a word."""


@pytest.mark.parametrize(
    ("answer", "why"),
    [(leaves, b"it hung up"), (says(b"1"), b"it hung up"), (None, b"No such file or directory")],
    ids=["no-word", "half-a-word", "no-agent"],
)
@pytest.mark.parametrize("command", ["ADD", "DEL", "CHECK", "GC", "STATUS", "PAINT"])
def test_without_an_answer_both_do_the_same(
    tmp_path: Path, answer: Callable[[socket.socket], None] | None, why: bytes, command: str
) -> None:
    ends: list[Ended] = []
    records: list[dict[str, bytes]] = []
    for form in FORMS:
        caller = Caller(tmp_path, form)
        caller.socket.unlink(missing_ok=True)
        with agent(caller.socket, answer) if answer else contextlib.nullcontext():
            ends.append(caller.call(command))
        records.append({name: b"".join(split(record)[1]) for name, record in caller.records.items()})
    assert ends[0] == ends[1]
    assert records[0] == records[1]
    assert ends[0].errors == b""
    assert len(records[0]) == (command == "DEL")
    assert ends[0].code == (0 if command == "DEL" else 1)
    assert (why in ends[0].output) == (command not in ("DEL", "PAINT"))


def test_an_answer_that_makes_no_sense_is_none(tmp_path: Path) -> None:
    """Never an exit code that nobody told: the runtime would take it for one."""
    caller = Caller(tmp_path, "compiled")
    for text in (b"ten\n{}", b"\n{}", b"-1\n{}", b"999\n{}", b"00000000\n{}", b"5" * 2_000_000):
        with agent(caller.socket, says(text)):
            ended = caller.call("ADD")
        assert ended.code == 1, text[:20]
        assert b'"code":11' in ended.output
        caller.socket.unlink()


@pytest.mark.parametrize("form", FORMS)
def test_nobody_is_waited_for_without_end(tmp_path: Path, form: str) -> None:
    caller = Caller(tmp_path, form, patience_s=0.3)
    ended = threading.Event()
    with agent(caller.socket, lambda _: print(ended.wait(60))):
        silent = caller.call("ADD")
        ended.set()
    assert (silent.code, b"timed out" in silent.output) == (1, True)


def test_an_agent_whose_queue_is_full_is_not_waited_for_without_end(tmp_path: Path) -> None:
    caller = Caller(tmp_path, "compiled", patience_s=0.3)
    with socket.socket(socket.AF_UNIX) as listener, contextlib.ExitStack() as stack:
        listener.bind(str(caller.socket))
        listener.listen(0)
        with contextlib.suppress(BlockingIOError):
            while True:
                waiting = stack.enter_context(socket.socket(socket.AF_UNIX))
                waiting.setblocking(False)
                waiting.connect(str(caller.socket))
        ended = caller.call("ADD")
    assert (ended.code, b"timed out" in ended.output) == (1, True)


def test_a_runtime_that_does_not_end_its_configuration_is_not_waited_for(tmp_path: Path) -> None:
    caller = Caller(tmp_path, "compiled", patience_s=0.3)
    reading, writing = os.pipe()
    try:
        done = subprocess.run(
            [caller.program], stdin=reading, capture_output=True, env={"CNI_COMMAND": "ADD"}, timeout=60, check=False
        )
    finally:
        os.close(reading)
        os.close(writing)
    assert (done.returncode, b"does not end" in done.stdout) == (1, True)


@pytest.mark.parametrize("form", FORMS)
def test_a_socket_with_a_long_path(tmp_path: Path, form: str) -> None:
    caller = Caller(tmp_path, form, deep=f"{'d' * 90}/{'e' * 90}")
    with agent(caller.socket, says(b"0\n{}\n")):
        assert caller.call("ADD").code == 0


@pytest.mark.parametrize("form", FORMS)
def test_versions(tmp_path: Path, form: str) -> None:
    caller = Caller(tmp_path, form)
    assert b'"supportedVersions":["0.3.0","0.3.1","0.4.0","1.0.0","1.1.0"]' in caller.call("VERSION").output
    assert caller.call("", "-v", config=b"").output.startswith(b"v")
    refused = caller.call("", "-v", "more", config=b"")
    assert (refused.code, b"unknown CNI_COMMAND: none" in refused.output) == (1, True)


def test_without_python_nothing_is_lost_silently(tmp_path: Path) -> None:
    """The runtime is told to try again, a DEL too: nobody could write it down."""
    program = tmp_path / "calico"
    program.write_bytes(shim(str(tmp_path / "no.sock"), str(tmp_path / "state"), "/nowhere/python3").content)
    program.chmod(0o755)
    done = subprocess.run(
        [program], input=CONFIG, capture_output=True, env=VARIABLES | {"CNI_COMMAND": "DEL"}, timeout=60, check=False
    )
    assert done.returncode == 1
    assert b'"code":11' in done.stdout
    assert b"there is no Python" in done.stdout


def test_the_program_of_the_package_itself_is_of_no_use(tmp_path: Path) -> None:
    """Its settings are not filled in; it must not go looking for an agent anywhere."""
    program = tmp_path / "calico"
    program.write_bytes(files("tortie.cni").joinpath(f"shim-{os.uname().machine}").read_bytes())
    program.chmod(0o755)
    done = subprocess.run([program], input=b"", capture_output=True, timeout=60, check=False)
    assert (done.returncode, b"was not installed" in done.stdout) == (1, True)


def test_there_is_room_for_the_settings_once() -> None:
    made: Shim = shim("/run/tortie/cni.sock", "/var/lib/tortie/cni")
    assert made.form == "compiled", f"{made.why}; `make setup` builds it"
    raw = files("tortie.cni").joinpath(f"shim-{os.uname().machine}").read_bytes()
    assert raw.count(b"@TORTIE-CNI settings@") == 1
    assert len(made.content) == len(raw)
    with pytest.raises(ValueError, match="there is room for"):
        shim("/" + "x" * 40_000, "/y")
