"""Health pages as their clients see them: over real sockets."""

from __future__ import annotations

import http.client
import time
from collections.abc import Callable
from contextlib import closing

from tortie.health.page import Page

DEADLINE_S = 30.0


def eventually(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline, f"not within {DEADLINE_S:g} s: {what}"
        time.sleep(0.01)


class Answered:
    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.status = response.status
        self.headers = response.headers
        self.text = response.read().decode()


def ask_port(port: int, path: str, *, method: str = "GET", host: str = "127.0.0.1", **headers: str) -> Answered:
    with closing(http.client.HTTPConnection(host, port, timeout=DEADLINE_S)) as client:
        client.request(method, path, headers=headers)
        return Answered(client.getresponse())


def port_of(page: Page) -> int:
    return page.addresses[0][1]


def get(page: Page, path: str, *, method: str = "GET", host: str = "127.0.0.1", **headers: str) -> Answered:
    return ask_port(port_of(page), path, method=method, host=host, **headers)
