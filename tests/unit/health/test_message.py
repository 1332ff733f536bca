"""Requests as they come off the wire, whole, in pieces, or broken."""

from __future__ import annotations

import pytest

from tortie.health.message import HEAD_MAX, Request, Response, take_request, written


def taken(text: bytes) -> Request | Response | None:
    return take_request(bytearray(text))


def request(text: bytes) -> Request:
    found = taken(text)
    assert isinstance(found, Request)
    return found


def test_a_request_is_read() -> None:
    found = request(
        b"GET /readiness?verbose&format=json&a=b=c HTTP/1.1\r\nHost: n1:9099\r\nACCEPT:  text/plain \r\n\r\n"
    )
    assert (found.method, found.path) == ("GET", "/readiness")
    assert found.query == {"verbose": "", "format": "json", "a": "b=c"}
    assert found.headers == {"host": "n1:9099", "accept": "text/plain"}
    assert found.keep_alive


def test_a_request_that_comes_in_single_bytes_is_read_once_it_is_whole() -> None:
    inbox = bytearray()
    for byte in b"GET / HTTP/1.1\r\nHost: n1\r\n\r":
        inbox.append(byte)
        assert take_request(inbox) is None
    inbox += b"\nGET /next"
    assert isinstance(take_request(inbox), Request)
    assert inbox == b"GET /next"


@pytest.mark.parametrize(
    "text", [b"GET / HTTP/1.1\n\n", b"\r\n\r\nGET / HTTP/1.1\r\n\r\n", b"GET http://n1/ HTTP/1.1\r\n\r\n"]
)
def test_unusual_but_right_forms_are_understood(text: bytes) -> None:
    assert request(text).path == "/"


@pytest.mark.parametrize(
    ("head", "kept"),
    [
        (b"GET / HTTP/1.1\r\n", True),
        (b"GET / HTTP/1.1\r\nConnection: Close\r\n", False),
        (b"GET / HTTP/1.0\r\n", False),
        (b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n", True),
        (b"GET / HTTP/1.1\r\nContent-Length: 5\r\n", False),
        (b"GET / HTTP/1.1\r\nContent-Length: 0\r\n", True),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n", False),
    ],
)
def test_the_connection_is_kept_when_both_sides_can(head: bytes, kept: bool) -> None:
    assert request(head + b"\r\n").keep_alive is kept


@pytest.mark.parametrize(
    "text",
    [
        b"\x16\x03\x01\x02\x00\x01",  # how TLS begins
        b"\x00",
        b"GET /\r\n\r\n",
        b"GET / HTTP/2.0\r\n\r\n",
        b"GET  / HTTP/1.1\r\n\r\n",
        b"GET readiness HTTP/1.1\r\n\r\n",
        b"GET * HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nno header\r\n\r\n",
        b"GET / HTTP/1.1\r\n: empty\r\n\r\n",
        b"GET / HTTP/1.1\r\nA: b\r\n folded: c\r\n\r\n",
        b"\xff\xfe\r\n\r\n",
    ],
)
def test_nonsense_is_answered_with_400(text: bytes) -> None:
    found = taken(text)
    assert isinstance(found, Response)
    assert found.status == 400


def test_a_head_that_is_too_long_is_refused_whether_it_ends_or_not() -> None:
    endless = b"GET / HTTP/1.1\r\nA: " + b"b" * HEAD_MAX
    for text in (endless, endless + b"\r\n\r\n"):
        found = taken(text)
        assert isinstance(found, Response)
        assert found.status == 431
    fits = b"GET / HTTP/1.1\r\nA: " + b"b" * (HEAD_MAX - 19)
    assert taken(fits) is None
    assert isinstance(taken(fits + b"\r\n\r\n"), Request)


def test_answers_say_how_long_they_are() -> None:
    answer = written(Response(503, "näh\n"), keep_alive=True)
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 503 Service Unavailable\r\n")
    assert body == "näh\n".encode()
    assert b"\r\nContent-Length: 5\r\n" in head
    assert written(Response(503, "näh\n"), keep_alive=True, with_body=False) == head + b"\r\n\r\n"


def test_an_answer_without_content_has_neither_length_nor_body() -> None:
    answer = written(Response(204), keep_alive=False)
    assert answer.startswith(b"HTTP/1.1 204 No Content\r\n")
    assert b"Content-" not in answer
    assert b"Connection: close\r\n" in answer
