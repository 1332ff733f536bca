"""httpGet probes against real sockets, and their failures in Go's words."""

from __future__ import annotations

import select
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tortie.lab.kubelet.http_probe import HttpProbe, resolved
from tortie.lab.kubelet.probes import Answer, HttpGet

pytestmark = pytest.mark.timeout(30)

Serve = Callable[[bytes], int]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Answers one request with these bytes, then hangs up; with nothing at all, it hangs up at once."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer(text: bytes) -> int:
            def run() -> None:
                connection, _ = listener.accept()
                with connection:
                    connection.recv(65536)
                    connection.sendall(text)

            threading.Thread(target=run, daemon=True).start()
            return int(listener.getsockname()[1])

        yield answer


def asked(get: HttpGet, timeout_s: float = 10.0, minor: int = 31) -> Answer:
    probe = HttpProbe(get, timeout_s, minor)
    try:
        while (answer := probe.step()) is None:
            writing = [probe] if probe.wants_to_write else []
            select.select([probe], writing, [], max(0.0, probe.deadline - time.monotonic()))
        return answer
    finally:
        probe.close()


def test_good_pages(serve: Serve) -> None:
    assert asked(HttpGet("127.0.0.1", serve(b"HTTP/1.1 204 No Content\r\n\r\n"), "/liveness")) == Answer("success")
    assert asked(HttpGet("127.0.0.1", serve(b"HTTP/1.1 302 Found\r\nLocation: /\r\n\r\n"))).outcome == "success"


def test_an_address_of_an_interface_that_is_not_there() -> None:
    answer = asked(HttpGet("fe80::1%nowhere0", 80))
    assert (answer.outcome, "no such host" in answer.output) == ("failure", True)


def test_bad_pages(serve: Serve) -> None:
    port = serve(b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 2\r\n\r\nno")
    assert asked(HttpGet("127.0.0.1", port)) == Answer("failure", "HTTP probe failed with statuscode: 503")
    port = serve(b"SSH-2.0-x\r\n\r\n")
    assert 'malformed HTTP response "SSH-2.0-x"' in asked(HttpGet("127.0.0.1", port)).output


def test_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = int(listener.getsockname()[1])
    url = f"http://127.0.0.1:{port}/liveness"
    told = asked(HttpGet("127.0.0.1", port, "/liveness"))
    assert told == Answer("failure", f'Get "{url}": dial tcp 127.0.0.1:{port}: connect: connection refused')
    told = asked(HttpGet("127.0.0.1", port, "/liveness"), minor=9)
    assert told == Answer("failure", f"Get {url}: dial tcp 127.0.0.1:{port}: getsockopt: connection refused")


def test_somebody_listens_and_does_not_answer() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        told = asked(HttpGet("127.0.0.1", int(listener.getsockname()[1]), "/x"), timeout_s=0.05)
    assert told.output.endswith('/x": context deadline exceeded (Client.Timeout exceeded while awaiting headers)')


def test_somebody_hangs_up(serve: Serve) -> None:
    assert asked(HttpGet("127.0.0.1", serve(b""))).output.endswith(": EOF")


def test_names_are_looked_up_in_the_nodes_own_file(tmp_path: Path) -> None:
    hosts = tmp_path / "hosts"
    hosts.write_text("# localhost 9.9.9.9\n::1 localhost ip6\n192.168.99.7 localhost other # x\n")
    assert resolved("localhost", str(hosts)) == "192.168.99.7"
    assert resolved("ip6", str(hosts)) == "::1"
    assert resolved("x", str(hosts)) is None
    assert resolved("10.0.0.1", str(hosts)) == "10.0.0.1"
    assert resolved("localhost", str(tmp_path / "none")) is None


def test_a_name_that_nobody_knows() -> None:
    told = asked(HttpGet("no-such-host.invalid", 1))
    assert told.output.endswith("dial tcp: lookup no-such-host.invalid: no such host")
