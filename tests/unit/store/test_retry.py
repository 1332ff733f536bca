"""The one compare-and-set loop: it neither loses an update nor makes one twice, and it does not try for ever."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from pathlib import Path

import pytest

from tortie.cli.session import finish
from tortie.store.contract import TIMEOUT_S, Change, Entry, Listing, Operation, Revision, Snapshot, Unreachable, put
from tortie.store.embedded import EmbeddedStore, inline
from tortie.store.retry import GaveUp, update, update_together

KEY = "/counter"


class Troubled:
    """A real store, with something happening before or after each commit."""

    def __init__(self, path: Path) -> None:
        self.store = EmbeddedStore(path, durable=False, offload=inline)
        self.where = self.store.where
        self.before_commit: list[Callable[[], None]] = []
        self.after_commit: list[Callable[[], None]] = []
        self.commits = 0

    async def get(self, key: str, *, timeout_s: float = TIMEOUT_S) -> Entry | None:
        return await self.store.get(key, timeout_s=timeout_s)

    async def scan(self, prefix: str, *, timeout_s: float = TIMEOUT_S) -> Listing:
        return await self.store.scan(prefix, timeout_s=timeout_s)

    async def snapshot(
        self, keys: Sequence[str], prefixes: Sequence[str] = (), *, timeout_s: float = TIMEOUT_S
    ) -> Snapshot:
        return await self.store.snapshot(keys, prefixes, timeout_s=timeout_s)

    async def commit(self, operations: Sequence[Operation], *, timeout_s: float = TIMEOUT_S) -> Revision:
        self.commits += 1
        if self.before_commit:
            self.before_commit.pop(0)()
        revision = await self.store.commit(operations, timeout_s=timeout_s)
        if self.after_commit:
            self.after_commit.pop(0)()
        return revision

    def watch(self, prefix: str, *, after: Revision, timeout_s: float = TIMEOUT_S) -> AsyncGenerator[Change, None]:
        return self.store.watch(prefix, after=after, timeout_s=timeout_s)

    async def close(self) -> None:
        await self.store.close()

    def interfere(self) -> None:
        """Somebody else raises the counter by ten."""
        finish(put(self.store, KEY, raised(10)(self.value())))

    def value(self) -> bytes | None:
        entry = finish(self.store.get(KEY))
        return entry.value if entry else None


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Troubled]:
    troubled = Troubled(tmp_path / "store.db")
    yield troubled
    finish(troubled.close())


def raised(by: int) -> Callable[[bytes | None], bytes]:
    return lambda present: b"%d" % (int(present or b"0") + by)


def lose_the_answer(uncertain: bool = True) -> Callable[[], None]:
    def lose() -> None:
        raise Unreachable("the store", "commit", 1.0, "the cable was cut", "mend it", uncertain=uncertain)

    return lose


async def no_pause(_seconds: float) -> None:
    return


def test_a_value_is_created_changed_and_removed(store: Troubled) -> None:
    created = finish(update(store, KEY, raised(1)))
    assert created == Entry(KEY, b"1", 2)
    assert finish(update(store, KEY, raised(1))) == Entry(KEY, b"2", 3)
    assert finish(update(store, KEY, lambda _: None)) is None
    assert store.value() is None


def test_a_decision_for_what_is_there_writes_nothing(store: Troubled) -> None:
    assert finish(update(store, KEY, lambda present: present)) is None
    entry = finish(update(store, KEY, raised(1)))
    assert finish(update(store, KEY, lambda present: present)) == entry
    assert store.commits == 1


def test_the_decision_is_made_again_when_somebody_else_was_faster(store: Troubled) -> None:
    store.before_commit = [store.interfere, store.interfere]
    entry = finish(update(store, KEY, raised(1), pause=no_pause))
    assert entry
    assert entry.value == b"21"
    assert store.value() == b"21"


def test_a_removal_does_not_swallow_a_newer_value(store: Troubled) -> None:
    finish(update(store, KEY, raised(5)))
    store.before_commit = [store.interfere]
    seen: list[bytes | None] = []

    def remove_if_small(present: bytes | None) -> bytes | None:
        seen.append(present)
        return None if int(present or b"0") < 10 else present

    finish(update(store, KEY, remove_if_small, pause=no_pause))
    assert seen == [b"5", b"15"]
    assert store.value() == b"15"


def values(found: Sequence[Entry | None]) -> list[bytes | None]:
    return [entry.value if entry else None for entry in found]


def test_keys_that_go_together_are_written_together_or_not_at_all(store: Troubled) -> None:
    def shift(found: Sequence[Entry | None]) -> list[bytes | None]:
        """What the first had goes to the second."""
        first, second = values(found)
        return [raised(1)(None), first or second]

    keys = (KEY, "/shadow")
    assert values(finish(update_together(store, keys, shift))) == [b"1", None]
    store.before_commit = [store.interfere]  # by ten, before our second key is written
    assert values(finish(update_together(store, keys, shift, pause=no_pause))) == [b"1", b"11"]
    assert store.value() == b"1"
    removed = finish(update_together(store, keys, lambda _found: (None, None)))
    assert (values(removed), store.value()) == ([None, None], None)


def test_one_of_them_that_somebody_else_changed_makes_the_decision_again(store: Troubled) -> None:
    seen = []

    def keep_first(found: Sequence[Entry | None]) -> list[bytes | None]:
        seen.append(values(found))
        return [found[0].value if found[0] else b"5", b"mine"]

    finish(update(store, KEY, raised(5)))
    store.before_commit = [store.interfere]
    finish(update_together(store, (KEY, "/shadow"), keep_first, pause=no_pause))
    assert seen == [[b"5", None], [b"15", None]]
    assert store.value() == b"15"
    before = store.commits
    finish(update_together(store, (KEY, "/shadow"), keep_first))
    assert store.commits == before, "what is there already is not written"


def test_a_write_that_happened_without_an_answer_is_not_made_twice(store: Troubled) -> None:
    store.after_commit = [lose_the_answer()]
    entry = finish(update(store, KEY, lambda _: b"wanted", pause=no_pause))
    assert entry == Entry(KEY, b"wanted", 2)
    assert store.commits == 1


def test_a_write_that_got_lost_is_repeated(store: Troubled) -> None:
    store.before_commit = [lose_the_answer(), lose_the_answer()]
    assert finish(update(store, KEY, lambda _: b"wanted", pause=no_pause)) == Entry(KEY, b"wanted", 2)
    assert store.commits == 3


def test_a_store_that_is_out_of_reach_for_certain_is_told_at_once(store: Troubled) -> None:
    store.before_commit = [lose_the_answer(uncertain=False)]
    with pytest.raises(Unreachable):
        finish(update(store, KEY, raised(1), pause=no_pause))
    assert store.commits == 1


def test_attempts_and_pauses_are_bounded(store: Troubled) -> None:
    pauses: list[float] = []

    async def note(seconds: float) -> None:
        pauses.append(seconds)

    store.before_commit = [store.interfere] * 100
    with pytest.raises(GaveUp, match=KEY) as caught:
        finish(update(store, KEY, raised(1), attempts_max=12, chance=lambda: 0.5, pause=note))
    assert caught.value.fix
    assert store.commits == 12
    assert pauses == sorted(pauses), "they grow"
    assert 0 < pauses[0] < pauses[-1] <= 0.5
    assert store.value() == b"120", "all the others' writes stand"


def test_pauses_are_jittered_so_that_rivals_do_not_meet_again(store: Troubled) -> None:
    first_pauses = []
    for luck in (0.0, 0.9):

        async def note(seconds: float) -> None:
            first_pauses.append(seconds)

        store.before_commit = [store.interfere]
        finish(update(store, KEY, raised(1), chance=lambda: luck, pause=note))  # noqa: B023
    assert first_pauses[0] != first_pauses[1]


def test_a_command_without_an_event_loop_can_retry(store: Troubled) -> None:
    store.before_commit = [store.interfere]
    entry = finish(update(store, KEY, raised(1)))
    assert entry
    assert entry.value == b"11"
