"""`tortie node check` as an exec probe runs it: exit code, and every reason on standard output."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from tests.support.cli import Ran, Tortie, assert_three_lines
from tests.support.health_pages import DEADLINE_S, port_of

from tortie.health.health import Health
from tortie.health.message import Response
from tortie.health.page import Page, serve
from tortie.health.routes import health_routes
from tortie.health.state import Trouble

REFUSED = Trouble("the datastore does not answer", "connection refused", "start etcd", "the datastore")
LIVE = "calico/node is not ready: Felix is not live: "
READY = "calico/node is not ready: felix is not ready: "


@pytest.fixture
def health() -> Health:
    return Health(time.monotonic)


@pytest.fixture
def page(health: Health) -> Iterator[Page]:
    with closing(serve("localhost", 0, health_routes(health))) as page:
        yield page


@pytest.fixture
def check(tmp_path: Path, page: Page) -> Callable[..., Ran]:
    shell = Tortie(tmp_path)
    return lambda *words: shell("node", "check", "--port", str(port_of(page)), *words)


def test_a_node_that_is_well_makes_no_noise(check: Callable[..., Ran], health: Health) -> None:
    health.started()
    for flags in ([], ["--live"], ["--ready"], ["--live", "--ready"]):
        assert check(*flags) == (0, "", "")


def test_a_node_that_starts_is_live_and_says_why_it_is_not_ready(check: Callable[..., Ran], health: Health) -> None:
    health.begin("datastore", 60, "connecting")
    health.trouble(REFUSED)
    assert check("--live") == (0, "", "")
    for flags in (["--ready"], [], ["--live", "--ready"]):
        ran = check(*flags)
        assert (ran.code, ran.stderr) == (3, "")
        lines = ran.stdout.splitlines()
        assert lines[0] == READY + "readiness probe reporting 503"
        assert lines[1].startswith("  not ready: start-up is in phase datastore for ")
        assert lines[2] == "    why: the datastore does not answer: connection refused"
        assert lines[3] == "    fix: start etcd"
        assert lines[4].startswith("    whose fault: the datastore")
        assert len(lines) == 5


def test_all_failures_are_told_not_only_the_first(check: Callable[..., Ran], health: Health) -> None:
    health.started()
    health.component("bird", live=False, ready=False, detail="bird (pid 123) was killed by signal 9")
    health.need("address", REFUSED._replace(what="no address is chosen"))
    ran = check()
    assert ran.code == 3
    assert LIVE + "liveness probe reporting 503\n  not live: bird (pid 123) was killed by signal 9\n" in ran.stdout
    assert READY + "readiness probe reporting 503\n  not ready: no address is chosen\n" in ran.stdout
    assert check("--live").stdout.count("calico/node is not ready") == 1


def test_peers_that_are_missing_are_told_in_the_words_of_calico(check: Callable[..., Ran], health: Health) -> None:
    what = "BIRD is not ready: BGP not established with 10.0.0.2,10.0.0.3"
    health.started()
    health.need("bgp", Trouble(what, "10.0.0.2 (n2) for 3 s: Connection refused", "look there", "a peer"))
    lines = check("--ready").stdout.splitlines()
    assert lines[0] == f"calico/node is not ready: {what}"
    assert lines[1].strip() == "why: 10.0.0.2 (n2) for 3 s: Connection refused"
    assert lines[3].strip().startswith("whose fault: a peer; for ")
    health.need("address", REFUSED._replace(what="no address is chosen"))
    assert check("--ready").stdout.startswith(READY + "readiness probe reporting 503\n  not ready: BIRD is not ready")


def test_json_says_the_same_with_the_same_codes(check: Callable[..., Ran], health: Health, tmp_path: Path) -> None:
    health.begin("datastore", 60, "connecting")
    starting = check("-o", "json")
    assert (starting.code, starting.json["ok"]) == (3, False)
    assert (starting.json["liveness"]["ok"], starting.json["readiness"]["status"]) == (True, 503)
    assert starting.json["report"]["phase"]["name"] == "datastore"
    health.started()
    assert (check("-o", "json").code, check("-o", "json").json["ok"]) == (0, True)
    nobody = Tortie(tmp_path)("node", "check", "--port", "1", "--live", "-o", "json")
    assert (nobody.code, nobody.json["report"]) == (3, None)
    assert "connection refused" in nobody.json["liveness"]["what"]


def test_nobody_there_is_unhealthy_in_the_words_of_calico(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as holder:
        port = holder.getsockname()[1]
    ran = Tortie(tmp_path).run("node", "check", "--port", str(port))
    assert (ran.code, ran.stderr) == (3, "")
    refused = f"dial tcp 127.0.0.1:{port}: connect: connection refused\n"
    assert f'{LIVE}Get "http://localhost:{port}/liveness": {refused}' in ran.stdout
    assert f'{READY}Get "http://localhost:{port}/readiness": {refused}' in ran.stdout
    assert ran.stdout.count("  fix: start `tortie node run`") == 1


@contextmanager
def server(behaviour: Callable[[socket.socket], None]) -> Iterator[int]:
    """Somebody who has the port and is not a health page."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def work() -> None:
            while True:
                try:
                    client, _ = listener.accept()
                except OSError:
                    return
                with client:
                    behaviour(client)

        thread = threading.Thread(target=work)
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join(DEADLINE_S)


def _says(answer: bytes) -> Callable[[socket.socket], None]:
    def say(client: socket.socket) -> None:
        client.recv(4096)
        client.sendall(answer)

    return say


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (b"SSH-2.0-OpenSSH_9.2\r\n", 'net/http: malformed HTTP response "SSH-2.0-OpenSSH_9.2'),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "  fix: `ss -lntp` or `tortie node checksystem`"),
        (b"", "EOF"),
        (b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", "readiness probe reporting 404"),
        (b"HTTP/1.1 500 \xff\r\n\r\n", "readiness probe reporting 500"),
    ],
)
def test_another_server_on_the_port_is_unhealthy(tmp_path: Path, answer: bytes, said: str) -> None:
    with server(_says(answer)) as port:
        ran = Tortie(tmp_path)("node", "check", "--ready", "--port", str(port))
    assert ran.code == 3
    assert ran.stdout.splitlines()[0].startswith(READY)
    assert said in ran.stdout


PROXY = (
    b"HTTP/1.1 404 Not Found\r\nServer: nginx\r\nContent-Type: text/html; charset=\x1b[31mred\r\n\r\n"
    b"<html>\n<head><title>404 Not Found</title></head>\n<body>\n</body>\n</html>\n"
)


def test_a_stranger_is_called_one_in_one_line_without_its_words(tmp_path: Path) -> None:
    with server(_says(PROXY)) as port:
        ran = Tortie(tmp_path)("node", "check", "--port", str(port))
    assert (ran.code, ran.stderr) == (3, "")
    assert ran.stdout.splitlines() == [
        LIVE + "liveness probe reporting 404",
        "  something else answers there (status 404, text/html; charset=?[31mred), not a node's health page; "
        "`ss -lntp` or `tortie node checksystem` on that machine tells who has the port",
        READY + "readiness probe reporting 404",
    ]


@pytest.mark.parametrize("answer", [PROXY, b'HTTP/1.1 404 x\r\n\r\n{"kind": "Status", "code": 404}'])
def test_a_stranger_is_called_one_in_json_too(tmp_path: Path, answer: bytes) -> None:
    with server(_says(answer)) as port:
        ran = Tortie(tmp_path)("node", "check", "--ready", "--port", str(port), "-o", "json")
    assert (ran.code, ran.json["ok"], ran.json["report"]) == (3, False, None)
    assert "something else answers there (status 404, " in ran.json["readiness"]["why"]
    assert "ss -lntp" in ran.json["readiness"]["fix"]


def test_another_page_of_ours_is_no_stranger(tmp_path: Path) -> None:
    with closing(serve("localhost", 0, {"/metrics": lambda _: Response(200)})) as page:
        ran = Tortie(tmp_path)("node", "check", "--ready", "--port", str(port_of(page)))
    assert ran == (3, READY + "readiness probe reporting 404\n  there is only:\n  /metrics\n", "")


def test_felix_itself_can_be_asked(tmp_path: Path) -> None:
    with server(_says(b"HTTP/1.1 200 OK\r\n\r\n+---+\n| a |\n+---+\n")) as port:
        assert Tortie(tmp_path)("node", "check", "--port", str(port)) == (0, "", "")
    with server(_says(b"HTTP/1.1 503 Service Unavailable\r\n\r\n+---+\n| a |\n+---+\n")) as port:
        ran = Tortie(tmp_path)("node", "check", "--live", "--port", str(port))
    assert ran == (3, LIVE + "liveness probe reporting 503\n", "")


def test_a_server_that_keeps_the_connection_is_not_waited_for(tmp_path: Path) -> None:
    over = threading.Event()

    def keep(client: socket.socket) -> None:
        client.recv(4096)
        client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        over.wait(DEADLINE_S)

    with server(keep) as port:
        try:
            assert Tortie(tmp_path)("node", "check", "--live", "--port", str(port), "--timeout", "60s").code == 0
        finally:
            over.set()


def test_who_does_not_answer_in_time_is_unhealthy_in_every_respect(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        ran = Tortie(tmp_path)("node", "check", "--port", str(port), "--timeout", "200ms")
    assert ran.code == 3
    for prefix, path in ((LIVE, "liveness"), (READY, "readiness")):
        assert f'{prefix}Get "http://localhost:{port}/{path}": context deadline exceeded\n' in ran.stdout
    assert "  why: the connection is there, but no answer came within 0.2 s\n" in ran.stdout


def test_a_name_that_does_not_resolve_is_unhealthy(tmp_path: Path) -> None:
    ran = Tortie(tmp_path)("node", "check", "--live", "--host", "no-such-name.invalid", "--timeout", "30")
    assert ran.code == 3
    assert "dial tcp: lookup no-such-name.invalid: no such host\n" in ran.stdout


@pytest.mark.parametrize("host_variable", ["127.0.0.1", "localhost", "0.0.0.0", ""])
@pytest.mark.parametrize("port_variable", ["FELIX_HEALTHPORT", "FELIX_HealthPort", "felix_healthport"])
def test_felixs_variables_say_where_it_is(
    tmp_path: Path, page: Page, health: Health, host_variable: str, port_variable: str
) -> None:
    health.started()
    variables = {port_variable: str(port_of(page)), "FELIX_HEALTHHOST": host_variable}
    assert Tortie(tmp_path, **variables)("node", "check") == (0, "", "")


def test_flags_come_before_variables(tmp_path: Path, page: Page, health: Health) -> None:
    health.started()
    shell = Tortie(tmp_path, FELIX_HEALTHPORT="1", FELIX_HEALTHHOST="192.0.2.1")
    assert shell("node", "check", "--host", "::1", "--port", str(port_of(page))) == (0, "", "")


@pytest.mark.parametrize(
    "words",
    [
        ["--port", "http"],
        ["--port", "0"],
        ["--port", "65536"],
        ["--port", "-1"],
        ["--timeout", "soon"],
        ["--timeout", "0"],
        ["--timeout", "-1s"],
        ["--timeout", "nan"],
    ],
)
def test_what_cannot_be_meant_is_refused(tmp_path: Path, words: list[str]) -> None:
    ran = Tortie(tmp_path)("node", "check", *words)
    assert_three_lines(ran, 2)
    assert ran.stdout == ""


def test_a_variable_that_cannot_be_meant_is_named(tmp_path: Path) -> None:
    ran = Tortie(tmp_path, FELIX_HEALTHPORT="9099/tcp")("node", "check")
    assert_three_lines(ran, 2)
    assert "FELIX_HEALTHPORT" in ran.stderr


@pytest.mark.parametrize("unbuffered", ["", "PYTHONUNBUFFERED=1 "])
def test_an_answer_that_finds_no_room_is_an_error(tmp_path: Path, unbuffered: str) -> None:
    ran = Tortie(tmp_path).shell(f"{unbuffered}tortie node check --port 1 >/dev/full")
    assert_three_lines(ran, 1)
    assert "the answer could not be written\n  why: No space left on device" in ran.stderr


def test_closed_streams_and_readers_that_left_do_not_change_the_verdict(
    tmp_path: Path, page: Page, health: Health
) -> None:
    shell = Tortie(tmp_path, FELIX_HEALTHPORT=str(port_of(page)))
    gone = "import os, sys; r, w = os.pipe(); os.close(r); os.dup2(w, 1); os.execvp('tortie', sys.argv[1:])"
    broken_pipe = f'{sys.executable} -c "{gone}" tortie node check'
    assert shell.shell("tortie node check >&-") == (3, "", "")
    assert shell.shell("tortie node check >&- 2>&- <&-") == (3, "", "")
    assert shell.shell(broken_pipe) == (3, "", "")
    health.started()
    assert shell.shell("tortie node check >&-") == (0, "", "")
    assert shell.shell(broken_pipe) == (0, "", "")


def test_a_terminal_that_knows_no_unicode_gets_each_line_once(tmp_path: Path, page: Page, health: Health) -> None:
    health.started()
    health.need("address", REFUSED._replace(what="no address", why="猫"))
    ran = Tortie(tmp_path).run("node", "check", "--port", str(port_of(page)), PYTHONIOENCODING="ascii")
    assert ran.stdout.splitlines()[:3] == [
        READY + "readiness probe reporting 503",
        "  not ready: no address",
        "    why: \\u732b",
    ]
    assert ran.stdout.count(READY) == 1


@pytest.mark.parametrize("more", [[], ["-o", "json"]])
def test_ctrl_c_ends_a_check_that_waits(tmp_path: Path, more: list[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(DEADLINE_S)
        port = str(silent.getsockname()[1])
        words = ("node", "check", "--live", "--port", port, "--timeout", "600s", *more)
        process = Tortie(tmp_path).start(*words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        connection, _ = silent.accept()
        with connection:
            connection.settimeout(DEADLINE_S)
            assert connection.recv(1)  # it has asked, and now it waits
            process.send_signal(signal.SIGINT)
            output = process.communicate(timeout=DEADLINE_S)
    assert (process.returncode, *output) == (130, b"", b"interrupted\n")


def test_the_installed_command_is_a_probe(tmp_path: Path, page: Page, health: Health) -> None:
    shell = Tortie(tmp_path, FELIX_HEALTHPORT=str(port_of(page)))
    assert shell.run("node", "check", "--live").code == 0
    assert shell.run("node", "check").code == 3
    health.started()
    assert shell.run("node", "check") == (0, "", "")
    assert os.listdir(tmp_path) == [], "a probe writes nothing"
