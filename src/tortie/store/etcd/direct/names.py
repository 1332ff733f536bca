"""From host names to addresses within a time; the C library's look-up knows no limit, and cannot be ended."""

from __future__ import annotations

import _socket
from _thread import allocate_lock, start_new_thread


class Resolver:
    """Of one host name. A look-up that takes longer than its asker has time goes on, and the next one joins it."""

    def __init__(self, host: str) -> None:
        self.host = host
        self._looking: _LookUp | None = None

    @property
    def is_waiting(self) -> bool:
        """No name server has answered yet."""
        return self._looking is not None and not self._looking.answered

    def addresses(self, limit_s: float) -> list[str]:
        """In the order in which they should be tried, never none. `TimeoutError`, or `OSError` when there is none."""
        if is_address(self.host):
            return [self.host]
        looking = self._looking = self._looking or _LookUp(self.host)
        found = looking.wait(limit_s)
        self._looking = None  # addresses change: an answer is used once
        return found


class _LookUp:
    """Has a thread of its own, for which nobody waits when the command ends."""

    def __init__(self, host: str) -> None:
        self.answered = False
        self._host = host
        self._found: list[str] | OSError = []
        self._done = allocate_lock()
        self._done.acquire()
        start_new_thread(self._run, ())

    def wait(self, limit_s: float) -> list[str]:
        if not self._done.acquire(timeout=max(0.0, limit_s)):
            raise TimeoutError
        if isinstance(self._found, OSError):
            raise self._found
        return self._found

    def _run(self) -> None:
        try:
            answers = _socket.getaddrinfo(self._host, None, 0, _socket.SOCK_STREAM)
            self._found = list(dict.fromkeys(str(address[0]) for *_, address in answers))
        except UnicodeError:
            # What stands between two dots may be empty or too long; Python notices before anybody is asked.
            self._found = _socket.gaierror(_socket.EAI_NONAME, "it has not the form of a name")
        except OSError as error:
            self._found = error
        self.answered = True
        self._done.release()


def is_address(host: str) -> bool:
    return _is_of(_socket.AF_INET, host) or _is_of(_socket.AF_INET6, host)


def family_of(address: str) -> int:
    return _socket.AF_INET6 if ":" in address else _socket.AF_INET


def _is_of(family: int, host: str) -> bool:
    try:
        _socket.inet_pton(family, host)
    except (OSError, UnicodeError, ValueError):
        return False
    return True
