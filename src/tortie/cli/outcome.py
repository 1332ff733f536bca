"""What became of several resources that one command wrote: all are tried, and the failures told together."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence

from tortie.model.errors import TortieError
from tortie.model.kinds import BY_NAME
from tortie.model.wire import Document


def counted(documents: list[Document]) -> str:
    """`3 'IPPool' resource(s)`, as calicoctl says it."""
    kinds = {document["kind"] for document in documents}
    return f"{len(documents)} '{kinds.pop()}' resource(s)" if len(kinds) == 1 else f"{len(documents)} resource(s)"


class Failures(TortieError):
    """Some resources could not be written; those that could are."""

    code = "partial"

    def __init__(self, verb: str, attempted: list[Document], failures: dict[int, TortieError], done: set[int]) -> None:
        """`failures` and `done` by their places among those attempted; the others were not tried any more."""
        self.failures = [failures[place] for place in sorted(failures)]
        names = [_name(document) for document in attempted]
        self.done = [names[place] for place in sorted(done)]
        self.failed = [names[place] for place in sorted(failures)]
        self.untried = [name for place, name in enumerate(names) if place not in done and place not in failures]
        # 2 promises that nothing was written.
        self.exit_code = 1 if done else max(failure.exit_code for failure in self.failures)
        stopped = f", and stopped with {len(self.untried)} untried" if self.untried else ""
        told = [f"-  {failure}" for failure in self.failures[:_TOLD_MAX]]
        if len(self.failures) > _TOLD_MAX:
            told.append(f"-  and {len(self.failures) - _TOLD_MAX} more; -o json names them all")
        if self.done:
            told.append(f"done: {_listed(self.done)}")
        if self.untried:
            told.append(f"not tried: {_listed(self.untried)}")
        super().__init__(
            f"failed to {verb} {len(failures)} of {counted(attempted)}{stopped}",
            "\n".join(told),
            "\n".join(dict.fromkeys(failure.fix for failure in self.failures if failure.fix)),
        )


# Beyond so many, lists on a terminal hide what matters.
_TOLD_MAX = 20


def _listed(names: list[str]) -> str:
    others = len(names) - _TOLD_MAX
    return ", ".join(names[:_TOLD_MAX]) + (f" and {others} more" if others > 0 else "")


def _name(document: Document) -> str:
    metadata = document.get("metadata") or {}
    return BY_NAME[document["kind"]].describe(str(metadata.get("name", "")), metadata.get("namespace"))


# About the datastore, not about one resource: the next attempt would end the same way, only later.
_OF_THE_STORE = ("unreachable", "unauthorized", "unwritable", "damaged", "refused")


class Outcome:
    """`attempted` in the order in which a person named them; they may be tried in another."""

    def __init__(self, verb: str, attempted: list[Document]) -> None:
        self._verb = verb
        self._attempted = attempted
        self._written: dict[int, Document] = {}
        self._failures: dict[int, TortieError] = {}
        self._skipped: set[int] = set()

    @property
    def written(self) -> list[Document]:
        return [self._written[place] for place in sorted(self._written)]

    @property
    def skipped(self) -> list[Document]:
        """Those passed over on purpose."""
        return [self._attempted[place] for place in sorted(self._skipped)]

    @property
    def handled(self) -> list[Document]:
        """Those written and those passed over, which count as done."""
        return [*self.written, *self.skipped]

    @property
    def tried(self) -> int:
        return len(self._written) + len(self._failures) + len(self._skipped)

    async def attempt(
        self, writing: Awaitable[Document], skipped: type[TortieError] | None = None, *, place: int | None = None
    ) -> bool:
        """That at the place, else the next one. False when there is no point in going on."""
        try:
            found: Document | TortieError = await writing
        except TortieError as error:
            found = error
        return self.take([self.tried if place is None else place], [found], skipped)

    def take(
        self,
        places: Sequence[int],
        found: Sequence[Document | TortieError],
        skipped: type[TortieError] | None = None,
    ) -> bool:
        """What became of those at the places. False when there is no point in going on."""
        sense = True
        for place, each in zip(places, found, strict=True):
            if not isinstance(each, TortieError):
                self._written[place] = each
            elif skipped is not None and isinstance(each, skipped):
                self._skipped.add(place)
            else:
                self._failures[place] = each
                sense = sense and each.code not in _OF_THE_STORE
        return sense

    def raise_failures(self) -> None:
        if len(self._failures) == 1 == len(self._attempted):
            raise self._failures[0]
        if self._failures:
            raise Failures(self._verb, self._attempted, self._failures, {*self._written, *self._skipped})
