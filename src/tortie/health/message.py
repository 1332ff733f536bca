"""HTTP/1.1 as far as probes and scrapers speak it: a request read from bytes, an answer written to bytes.

Whatever does not parse becomes an answer, too, never an exception: anybody on the machine may connect.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

HEAD_MAX: Final = 8192  # bytes of request line and headers; a probe sends about a hundred

SERVER: Final = "tortie"  # by which the probe tells our page from whoever else may have the port
TEXT: Final = "text/plain; charset=utf-8"
JSON: Final = "application/json"

_REASONS = {
    200: "OK",
    204: "No Content",
    400: "Bad Request",
    404: "Not Found",
    405: "Method Not Allowed",
    431: "Request Header Fields Too Large",
    500: "Internal Server Error",
    503: "Service Unavailable",
}


class Request(NamedTuple):
    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]  # names in lower case
    keep_alive: bool = True


class Response(NamedTuple):
    status: int
    body: str = ""
    content_type: str = TEXT


def take_request(inbox: bytearray) -> Request | Response | None:
    """Takes one request's head out of what was received; None if it is not complete, a response if it is nonsense."""
    while inbox.startswith((b"\r", b"\n")):  # some clients end a request with one line end too many
        del inbox[:1]
    if inbox and not chr(inbox[0]).isalpha():
        return Response(400, "this port speaks HTTP without TLS\n")
    ends = [(at, len(end)) for end in (b"\r\n\r\n", b"\n\n") if (at := inbox.find(end)) >= 0]
    if not ends or min(ends)[0] > HEAD_MAX:
        return Response(431, f"more than {HEAD_MAX} bytes of headers\n") if len(inbox) > HEAD_MAX else None
    at, length = min(ends)
    lines = inbox[:at].decode("latin-1").splitlines()
    del inbox[: at + length]
    return _request(lines)


def _request(lines: list[str]) -> Request | Response:
    words = lines[0].split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1."):
        return Response(400, "the first line is no HTTP/1.1 request\n")
    headers: dict[str, str] = {}
    for line in lines[1:]:
        name, colon, value = line.partition(":")
        if not colon or not name.strip() or name != name.strip():
            return Response(400, "a line of the head is no header\n")
        headers[name.lower()] = value.strip()
    method, target, version = words
    # A body would have to be read to find the next request; nobody who asks for health sends one.
    has_body = headers.get("content-length", "0") != "0" or "transfer-encoding" in headers
    wishes = headers.get("connection", "").lower()
    keep_alive = "close" not in wishes and (version != "HTTP/1.0" or "keep-alive" in wishes)
    path, query = _target(target)
    if not path.startswith("/"):
        return Response(400, "the path does not begin with a slash\n")
    return Request(method, path, query, headers, keep_alive and not has_body)


def _target(target: str) -> tuple[str, dict[str, str]]:
    if target.startswith("http://"):
        _, slash, rest = target.removeprefix("http://").partition("/")
        target = f"/{rest}" if slash else "/"
    path, _, query = target.partition("?")
    pairs = (part.partition("=") for part in query.split("&") if part)
    return path, {name: value for name, _, value in pairs}


def written(response: Response, *, keep_alive: bool, with_body: bool = True) -> bytes:
    body = response.body.encode("utf-8", "backslashreplace")
    lines = [f"HTTP/1.1 {response.status} {_REASONS.get(response.status, 'Unknown')}"]
    if response.status != 204:
        lines += [f"Content-Type: {response.content_type}", f"Content-Length: {len(body)}"]
    if response.status == 405:
        lines.append("Allow: GET, HEAD")
    lines += [
        f"Server: {SERVER}",
        "Cache-Control: no-store",
        f"Connection: {'keep-alive' if keep_alive else 'close'}",
        "",
        "",
    ]
    head = "\r\n".join(lines).encode("latin-1", "backslashreplace")
    return head + body if with_body and response.status != 204 else head
