"""What became of several resources that one command wrote: all are tried, and the failures told together."""

from __future__ import annotations

from collections.abc import Awaitable

from tortie.model.errors import TortieError
from tortie.model.wire import Document


def counted(documents: list[Document]) -> str:
    """`3 'IPPool' resource(s)`, as calicoctl says it."""
    kinds = {document["kind"] for document in documents}
    return f"{len(documents)} '{kinds.pop()}' resource(s)" if len(kinds) == 1 else f"{len(documents)} resource(s)"


class Failures(TortieError):
    """Some resources could not be written; those that could are."""

    code = "partial"

    def __init__(self, verb: str, attempted: list[Document], failures: list[TortieError], *, written: int) -> None:
        self.failures = failures
        # 2 promises that nothing was written.
        self.exit_code = 1 if written else max(failure.exit_code for failure in failures)
        untried = len(attempted) - written - len(failures)
        stopped = f", and stopped with {untried} untried" if untried else ""
        super().__init__(
            f"failed to {verb} {len(failures)} of {counted(attempted)}{stopped}",
            "\n".join(f"-  {failure}" for failure in failures),
            "\n".join(dict.fromkeys(failure.fix for failure in failures if failure.fix)),
        )


# About the datastore, not about one resource: the next attempt would end the same way, only later.
_OF_THE_STORE = ("unreachable", "unauthorized", "unwritable", "damaged", "refused")


class Outcome:
    def __init__(self, verb: str, attempted: list[Document]) -> None:
        self.written: list[Document] = []
        self._verb = verb
        self._attempted = attempted
        self._failures: list[TortieError] = []
        self._skipped = 0

    async def attempt(self, writing: Awaitable[Document], skipped: type[TortieError] | None = None) -> bool:
        """False when there is no point in going on."""
        try:
            self.written.append(await writing)
        except TortieError as error:
            if skipped is not None and isinstance(error, skipped):
                self._skipped += 1
            else:
                self._failures.append(error)
                return error.code not in _OF_THE_STORE
        return True

    def raise_failures(self) -> None:
        if len(self._failures) == 1 == len(self._attempted):
            raise self._failures[0]
        if self._failures:
            done = len(self.written) + self._skipped
            raise Failures(self._verb, self._attempted, self._failures, written=done)
