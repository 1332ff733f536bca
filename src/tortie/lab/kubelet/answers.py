"""What kubelet makes of a probe's outcome: the texts of its HTTP client and of commands, word for word."""

from __future__ import annotations

from typing import Final

from tortie.lab.kubelet.objects import go_duration
from tortie.lab.kubelet.probes import Answer

OUTPUT_MAX: Final = 10 * 1024  # bytes of a command's output, and of a page
TIMED_OUT: Final = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
_TIMED_OUT_OLD: Final = "net/http: request canceled (Client.Timeout exceeded while awaiting headers)"


def http_answer(code: int) -> Answer:
    """Of a page that came; its text is not told."""
    if 200 <= code < 400:
        return Answer("success")
    return Answer("failure", f"HTTP probe failed with statuscode: {code}")


def refused(host: str, port: int, minor: int = 29) -> str:
    """Nobody listens there. `host` is the address that was dialled, which need not be the URL's."""
    call = "getsockopt" if minor <= 12 else "connect"  # by the Go release that kubelet was built with
    return f"dial tcp {_host(host)}:{port}: {call}: connection refused"


def unreachable(host: str, port: int, why: str) -> str:
    """No way there, in the kernel's words: `network is unreachable`, `no route to host`."""
    return f"dial tcp {_host(host)}:{port}: connect: {why}"


def _host(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def http_failed(url: str, text: str, minor: int = 29) -> Answer:
    """No page came at all. The URL is in quotation marks since 1.19, the first to be built with such a Go."""
    if minor < 19:
        text = _TIMED_OUT_OLD if text == TIMED_OUT else text
        return Answer("failure", f"Get {url}: {text}")
    return Answer("failure", f'Get "{url}": {text}')


def exec_answer(exit_code: int, output: bytes) -> Answer:
    """Of a command that ended; what it wrote is told as it is, newline and all."""
    text = output[:OUTPUT_MAX].decode(errors="replace")
    return Answer("success" if exit_code == 0 else "failure", text)


def exec_timed_out(command: tuple[str, ...], timeout_s: float, minor: int = 29) -> Answer:
    """Until 1.22 nothing is told about it, and the event has no text after the colon."""
    words = f'"{" ".join(command)}"'
    if minor < 23:
        return Answer("failure", "")
    if minor < 31:
        return Answer("failure", f"command {words} timed out")
    return Answer("failure", f"command timed out: {words} timed out after {go_duration(timeout_s)}")


def enforces_exec_timeout(minor: int) -> bool:
    """Before 1.20 a command could take as long as it liked."""
    return minor >= 20
