"""Long work that many tests wait for, several pieces at a time; each test gets the outcome of its own piece.

Work is begun for the tests that were selected, in their order, when the first of them asks.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest


class Together:
    """Outcomes by the name of the piece. A job may have several pieces: it reports each when it is over."""

    def __init__(self, pieces: Iterable[str]) -> None:
        self._outcomes: dict[str, Future[Any]] = {piece: Future() for piece in pieces}
        self.cancelled = threading.Event()

    def report(self, piece: str, work: Callable[[], Any]) -> bool:
        """Done here and now; what it raises is for the test to raise. Says whether it went well."""
        outcome = self._outcomes[piece]
        try:
            outcome.set_result(work())
        except BaseException as error:  # also what pytest raises to fail a test
            outcome.set_exception(error)
            return False
        return True

    def give_up(self, pieces: Iterable[str], error: BaseException) -> None:
        """Those that nobody will get to any more."""
        for piece in pieces:
            if not self._outcomes[piece].done():
                self._outcomes[piece].set_exception(error)

    def outcome(self, piece: str) -> Any:
        return self._outcomes[piece].result()


@contextmanager
def together(jobs: Iterable[tuple[list[str], Callable[[Together], None]]], workers: int) -> Iterator[Together]:
    listed = list(jobs)
    results = Together(piece for pieces, _ in listed for piece in pieces)

    def run(pieces: list[str], job: Callable[[Together], None]) -> None:
        try:
            if not results.cancelled.is_set():
                job(results)
            results.give_up(pieces, AssertionError("nobody reported this piece"))
        except BaseException as error:
            results.give_up(pieces, error)

    pool = ThreadPoolExecutor(workers)
    for pieces, job in listed:
        pool.submit(run, pieces, job)
    try:
        yield results
    finally:
        results.cancelled.set()
        pool.shutdown(wait=True, cancel_futures=True)


def selected(request: pytest.FixtureRequest, argument: str) -> list[str]:
    """Values of a parameter in the tests of this module that are going to run."""
    module = request.node.nodeid
    found = []
    for item in request.session.items:
        params = getattr(getattr(item, "callspec", None), "params", {})
        if item.nodeid.startswith(f"{module}::") and argument in params:
            found.append(str(params[argument]))
    return list(dict.fromkeys(found))
