"""The health page over real sockets: what probes get, whatever other clients, ports and the event loop do."""

from __future__ import annotations

import http.client
import json
import os
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from tests.support.health_pages import DEADLINE_S, eventually, get, port_of

from tortie.health import connection as connection_module
from tortie.health.exposition import Metric, Sample
from tortie.health.health import Health
from tortie.health.listening import METRICS
from tortie.health.message import Request, Response
from tortie.health.metrics import metrics_routes
from tortie.health.page import CONNECTIONS_MAX, Page, serve
from tortie.health.probe import NoAnswer, ask_unix
from tortie.health.routes import health_routes
from tortie.health.state import Trouble

REFUSED = Trouble("the datastore does not answer", "connection refused", "start etcd", "the datastore")


@pytest.fixture
def health() -> Health:
    return Health(time.monotonic)


@pytest.fixture
def page(health: Health) -> Iterator[Page]:
    with closing(serve("localhost", 0, health_routes(health))) as page:
        yield page


def raw(page: Page, data: bytes) -> bytes:
    """Everything that comes back, until the page closes the connection."""
    with socket.create_connection(("127.0.0.1", port_of(page)), timeout=DEADLINE_S) as client:
        client.sendall(data)
        return b"".join(iter(lambda: client.recv(65536), b""))


def test_a_start_is_live_and_not_ready_and_says_what_it_does(page: Page, health: Health) -> None:
    health.begin("datastore", 60, "connecting to 10.0.0.1:2379")
    health.trouble(REFUSED)
    live, ready = get(page, "/liveness"), get(page, "/readiness")
    assert live.status == 200
    assert "phase datastore: connecting to 10.0.0.1:2379" in live.text
    assert ready.status == 503
    assert "not ready: start-up is in phase datastore for " in ready.text
    assert "  fix: start etcd\n  whose fault: the datastore" in ready.text


def test_a_node_that_is_well_has_nothing_to_say_unless_asked(page: Page, health: Health) -> None:
    health.started()
    for path in ("/liveness", "/readiness"):
        answer = get(page, path)
        assert (answer.status, answer.text, answer.headers.get("content-length")) == (204, "", None)
        answer = get(page, f"{path}?verbose")
        assert answer.status == 200
        assert "| start-up  | -       | reporting live | reporting ready |" in answer.text
        assert "phase: running" in answer.text


@pytest.mark.parametrize("how", ["?format=json", "?verbose=json", "accept"])
def test_json_has_the_same_codes(page: Page, health: Health, how: str) -> None:
    query, headers = ("", {"Accept": "application/json"}) if how == "accept" else (how, {})
    answer = get(page, f"/readiness{query}", **headers)
    assert (answer.status, answer.headers["content-type"]) == (503, "application/json")
    assert json.loads(answer.text)["notReady"][0]["name"] == "start-up"
    health.started()
    answer = get(page, f"/readiness{query}", **headers)
    assert answer.status == 200
    assert json.loads(answer.text)["ready"] is True


def test_the_root_lists_the_paths_and_other_paths_are_not_found(page: Page) -> None:
    assert get(page, "/").text == "/liveness\n/readiness\n"
    answer = get(page, "/healthz")
    assert answer.status == 404
    assert "/readiness" in answer.text


def test_head_has_the_headers_of_get_and_no_body(page: Page) -> None:
    whole, head = get(page, "/readiness?format=json"), get(page, "/readiness", method="HEAD")
    assert (head.status, head.text) == (whole.status, "")
    assert int(head.headers["content-length"]) > 0


def test_other_methods_are_refused(page: Page) -> None:
    for method in ("POST", "PUT", "DELETE", "OPTIONS"):
        answer = get(page, "/readiness", method=method)
        assert (answer.status, answer.headers["allow"]) == (405, "GET, HEAD")


def test_a_connection_is_kept_for_the_next_question(page: Page, health: Health) -> None:
    with closing(http.client.HTTPConnection("127.0.0.1", port_of(page), timeout=DEADLINE_S)) as client:
        client.connect()
        mine = client.sock.getsockname()
        for status in (503, 204, 204):
            client.request("GET", "/readiness")
            response = client.getresponse()
            response.read()
            assert response.status == status
            assert client.sock is not None
            assert client.sock.getsockname() == mine
            health.started()


def test_questions_sent_at_once_are_all_answered(page: Page) -> None:
    question = b"GET /nope HTTP/1.1\r\nHost: n\r\n\r\n"
    answers = raw(page, question * 50 + question.replace(b"Host", b"Connection: close\r\nHost"))
    assert answers.count(b"HTTP/1.1 404 Not Found") == 51


def test_a_client_that_closes_its_side_after_asking_is_answered(page: Page) -> None:
    with socket.create_connection(("127.0.0.1", port_of(page)), timeout=DEADLINE_S) as client:
        client.sendall(b"GET / HTTP/1.1\r\n\r\n")
        client.shutdown(socket.SHUT_WR)
        assert b"/liveness" in b"".join(iter(lambda: client.recv(65536), b""))


@pytest.mark.parametrize(
    ("nonsense", "status"),
    [
        (b"\x16\x03\x01\x02\x00\x01\x00\x01", 400),
        (b"hello\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nbroken\r\n\r\n", 400),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nA: " + b"b" * 500_000, 431),
        (b"POST / HTTP/1.1\r\nContent-Length: 200000\r\n\r\n" + b"b" * 200_000, 405),
    ],
)
def test_nonsense_gets_an_answer_and_the_next_client_too(
    page: Page, nonsense: bytes, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Else a client that needs longer to get rid of its nonsense is reset, and the answer with it.
    monkeypatch.setattr(connection_module, "FAREWELL_S", DEADLINE_S)
    assert raw(page, nonsense).startswith(b"HTTP/1.1 %d " % status)
    assert get(page, "/").status == 200


def test_clients_that_break_off_do_no_harm(page: Page) -> None:
    for data in (b"", b"G", b"GET / HTTP/1.1\r\n\r\n"):
        for _ in range(20):
            client = socket.create_connection(("127.0.0.1", port_of(page)), timeout=DEADLINE_S)
            client.sendall(data)
            # Closed with a reset instead of an orderly end.
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
            client.close()
    assert get(page, "/").status == 200


def test_two_hundred_probes_are_answered_while_slow_clients_hold_on(page: Page) -> None:
    slow = [socket.create_connection(("127.0.0.1", port_of(page)), timeout=DEADLINE_S) for _ in range(CONNECTIONS_MAX)]
    stop = threading.Event()

    def drip() -> None:
        while not stop.wait(0.02):
            for client in slow:
                try:
                    client.sendall(b"X")
                except OSError:
                    continue  # turned out to make room

    dripping = threading.Thread(target=drip)
    dripping.start()
    try:
        with ThreadPoolExecutor(200) as pool:
            statuses = list(pool.map(lambda _: get(page, "/readiness").status, range(200)))
    finally:
        stop.set()
        dripping.join()
        for client in slow:
            client.close()
    assert statuses == [503] * 200


def test_a_request_that_drips_in_for_too_long_is_closed(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_module, "REQUEST_S", 0.3)
    with socket.create_connection(("127.0.0.1", port_of(page)), timeout=DEADLINE_S) as client:
        client.settimeout(0.01)

        def closed() -> bool:
            try:
                client.sendall(b"G")
                return client.recv(1) == b""
            except TimeoutError:
                return False
            except OSError:
                return True

        eventually(closed, "the page closes a connection on which bytes drip in")


def test_a_reader_that_takes_nothing_does_not_hold_up_the_others(
    health: Health, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection_module, "REQUEST_S", DEADLINE_S)  # so much takes a busy machine its time
    routes = {**health_routes(health), "/big": lambda _: Response(200, "x" * 50_000_000)}
    with closing(serve("127.0.0.1", 0, routes)) as page:
        with socket.create_connection(("127.0.0.1", port_of(page)), timeout=DEADLINE_S) as client:
            client.sendall(b"GET /big HTTP/1.1\r\n\r\n")
            assert client.recv(1) == b"H"
            assert get(page, "/liveness").status == 200
        assert len(get(page, "/big").text) == 50_000_000


def test_a_route_that_fails_is_an_answer(health: Health) -> None:
    def broken(_: Request) -> Response:
        raise RuntimeError("no such luck")

    with closing(serve("127.0.0.1", 0, {**health_routes(health), "/broken": broken})) as page:
        answer = get(page, "/broken")
        assert answer.status == 500
        assert "no such luck" in answer.text
        assert get(page, "/liveness").status == 200


@pytest.mark.parametrize("waiting", [0, 10], ids=["the page's reserve", "clients that wait"])
def test_a_process_without_free_descriptors_still_answers(waiting: int) -> None:
    """In a process of its own, where everything up to the limit is held by others."""
    script = """
import errno, resource, socket, sys, time
from tortie.health.health import Health
from tortie.health.page import serve
from tortie.health.routes import health_routes
page = serve("127.0.0.1", 0, health_routes(Health(time.monotonic)))
address = page.addresses[0]
clients = [socket.create_connection(address) for _ in range(int(sys.argv[1]))]
late = [socket.socket() for _ in range(3)]
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (100, hard))
held = []
try:
    while True: held.append(open("/dev/null"))
except OSError as error:
    assert error.errno == errno.EMFILE
for client in late:
    client.settimeout(30)
    client.connect(address)
    client.sendall(b"GET / HTTP/1.1\\r\\n\\r\\n")
    assert client.recv(100).startswith(b"HTTP/1.1 200"), "no answer"
assert page.trouble is None, page.trouble
page.close()
"""
    command = [sys.executable, "-c", script, str(waiting)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE_S * 4)
    assert done.returncode == 0, done.stderr


def test_the_metrics_page_is_a_page_of_its_own(health: Health) -> None:
    metrics = metrics_routes(lambda: [Metric("tortie_node_live", "Live.", "gauge", (Sample(health.report().live),))])
    with closing(serve("127.0.0.1", 0, metrics, purpose=METRICS)) as page:
        answer = get(page, "/metrics")
        assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
        assert answer.text.endswith("\ntortie_node_live 1\n")
        assert get(page, "/readiness").status == 404


def test_a_unix_socket_serves_the_same_page_however_long_its_path_is(health: Health, tmp_path: Path) -> None:
    folder = tmp_path / ("f" * 100) / ("g" * 100)
    folder.mkdir(parents=True)
    path = str(folder / "agent.sock")
    with closing(serve(path, 0, health_routes(health))):
        assert ask_unix(path, "/liveness", DEADLINE_S).status == 200
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o666
    assert not os.path.exists(path)
    with pytest.raises(NoAnswer, match=r"dial unix .*no such file"):
        ask_unix(path, "/liveness", DEADLINE_S)


def test_a_socket_that_a_killed_agent_left_is_replaced(health: Health, tmp_path: Path) -> None:
    path = str(tmp_path / "agent.sock")
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(path)
    with closing(serve(path, 0, health_routes(health))):
        assert ask_unix(path, "/liveness", DEADLINE_S).status == 200


def test_an_answer_over_a_unix_socket_may_be_long(tmp_path: Path) -> None:
    path = str(tmp_path / "agent.sock")
    text = "0123456789" * 100_000
    with closing(serve(path, 0, {"/long": lambda _: Response(200, text)})):
        assert ask_unix(path, "/long", DEADLINE_S).body == text
