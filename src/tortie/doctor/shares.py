"""All that is handed over, understood: source by source here, or shared among processes where there is much of it.

Both ways give the same, in the same order: files are independent of each other, and a long log is read in ranges.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache, partial
from itertools import accumulate
from typing import Final

from tortie.doctor.causes.catalogue import all_signs
from tortie.doctor.picture.facts import Fact
from tortie.doctor.reading import large
from tortie.doctor.reading.archives import Skipped
from tortie.doctor.reading.asides import lines_aside, lines_then
from tortie.doctor.reading.cut import cut
from tortie.doctor.reading.exhibit import Exhibit, Input, Source, input_of
from tortie.doctor.reading.hearsay import around, lines_told, only_spoken_of, spoken_of_in
from tortie.doctor.reading.readers import read
from tortie.doctor.reading.sieve import Sieve
from tortie.doctor.reading.sources import File, Opened, long_log, node_of
from tortie.doctor.signs import Hit, Searchable, Sign
from tortie.doctor.words import Words
from tortie.model.tuples import NamedTuple

PAYS_FROM: Final = 1 << 20  # bytes in all
_BATCH: Final = 4 << 20  # bytes of small files that are one job
_BATCH_FILES: Final = 64
PROSE_MAX: Final = 1_000  # lines; no person writes so many
PROSE_CHARACTERS: Final = 150_000
_TOO_MUCH_PROSE: Final = Words(
    "after {count} lines of prose, sentences were only searched for known messages",
    "自然语言超过 {count} 行，其后的句子只搜索了已知消息",
)


class Understood(NamedTuple):
    """What one source says."""

    exhibits: list[Exhibit]
    facts: list[Fact]
    hits: list[Hit]
    input: Input
    left_out: tuple[Skipped, ...] = ()
    told: frozenset[int] = frozenset()  # lines that are only spoken of, or about something else
    then: frozenset[int] = frozenset()  # lines of another day, which count if it is not over


class Range(NamedTuple):
    """A part of a long log."""

    file: File
    start: int
    stop: int


class Read(NamedTuple):
    """A part of a long log, read."""

    job: Range
    portion: large.Portion | None  # None when it could not be read


Job = Range | tuple[File, ...]
Outcome = Read | list[Understood | Skipped | File]  # a file comes back unread when only we can read it


def understood(source: Source) -> Understood:
    if source.quiet:
        return Understood([], [], [], input_of(source))
    exhibits = list(cut(source))
    told = lines_told(exhibits) | lines_aside(exhibits)
    read_by_readers, left_out = _of_bearable_length(source, exhibits)
    facts = [fact for exhibit in read_by_readers for fact in read(exhibit) if fact.place.first not in told]
    searchable = Searchable(exhibits)
    hits = list(searchable.hits(_likely(searchable.low)))
    then = frozenset(lines_then(exhibits))
    return Understood(exhibits, facts, _seen(hits, exhibits, told), input_of(source), left_out, frozenset(told), then)


def _of_bearable_length(source: Source, exhibits: list[Exhibit]) -> tuple[list[Exhibit], tuple[Skipped, ...]]:
    """The exhibits without what is too much prose to be a person's; it is still searched for signs."""
    spoken = [line for exhibit in exhibits if exhibit.prose for line in exhibit.lines]
    most = min(PROSE_MAX, sum(1 for size in accumulate(map(len, spoken)) if size <= PROSE_CHARACTERS))
    if len(spoken) <= max(most, 1):
        return exhibits, ()
    kept: list[Exhibit] = []
    room = max(most, 1)
    for exhibit in exhibits:
        if not exhibit.prose:
            kept.append(exhibit)
        elif room:
            kept.append(exhibit._replace(lines=exhibit.lines[:room], numbers=exhibit.numbers[:room]))
            room = max(0, room - len(exhibit.lines))
    return kept, (Skipped(source.name, _TOO_MUCH_PROSE.fill(count=max(most, 1))),)


def _seen(hits: list[Hit], exhibits: list[Exhibit], told: frozenset[int]) -> list[Hit]:
    """The hits that are observations, not only spoken of."""
    rows = {
        exhibit.number(index): (exhibit, index)
        for exhibit in exhibits
        if exhibit.prose
        for index in range(len(exhibit.lines))
    }

    @cache
    def spoken_of(line: int, message: str) -> bool:
        contexts = around(*rows[line], message) if line in rows else []
        return bool(contexts) and all(only_spoken_of(before, message, after) for before, after in contexts)

    def hearsay(hit: Hit) -> bool:
        if hit.place.first in told:
            return True
        if hit.prose:
            return spoken_of(hit.place.first, hit.text)
        return not hit.command and spoken_of_in(hit.line, hit.text)

    return [hit for hit in hits if not hearsay(hit)]


def all_understood(sources: Iterable[Source]) -> Iterator[Understood]:
    if isinstance(sources, Opened):
        files = list(sources.files())
        if sum(file.size for file in files) > PAYS_FROM:
            yield from _shared(sources, files)
            return
        for file in files:
            yield from map(understood, sources.open(file))
        return
    yield from map(understood, sources)


def _shared(opened: Opened, files: list[File]) -> Iterator[Understood]:
    from tortie.doctor.crew import shared_work, usable_cores

    opened.sieve.prepare()
    _all_signs()[0].prepare()
    portions: list[large.Portion] = []
    jobs = list(_jobs(files))
    for outcome in shared_work(partial(_do, opened), jobs, min(usable_cores(), len(jobs))):
        if isinstance(outcome, Read):
            portions.extend([outcome.portion] if outcome.portion is not None else [])
            file = outcome.job.file
            if outcome.job.stop == file.size:
                if len(portions) == len(large.ranges(file.size)):
                    whole = large.put_together(file.name, node_of(file.name), portions)
                    yield understood(whole._replace(size=file.size))
                else:
                    yield from map(understood, opened.open(file))  # it is no more what it was: what is left of it
                portions.clear()
            continue
        for part in outcome:
            if isinstance(part, Skipped):
                opened.skipped.append(part)
            elif isinstance(part, File):
                yield from map(understood, opened.open(part))
            else:
                yield part


def _jobs(files: Iterable[File]) -> Iterator[Job]:
    batch: list[File] = []
    size = 0
    for file in files:
        long = long_log(file)
        if batch and (long or len(batch) == _BATCH_FILES or size + file.size > _BATCH):
            yield tuple(batch)
            batch, size = [], 0
        if long:
            yield from (Range(file, start, stop) for start, stop in large.ranges(file.size))
        else:
            batch.append(file)
            size += file.size
    if batch:
        yield tuple(batch)


def _do(opened: Opened, job: Job) -> Outcome:
    if isinstance(job, Range):
        try:
            with open(job.file.path, "rb") as stream:
                return Read(job, large.portion_of_range(stream, job.start, job.stop, opened.sieve))
        except OSError:
            return Read(job, None)
    parts: list[Understood | Skipped | File] = []
    for file in job:
        if opened.is_alone(file):
            parts.append(file)
            continue
        before = len(opened.skipped)
        parts.extend(map(understood, opened.open(file)))
        parts.extend(opened.skipped[before:])
        del opened.skipped[before:]
    return parts


def _likely(low: str) -> list[Sign]:
    """Signs whose needle is there: few of many."""
    sieve, by_needle = _all_signs()
    found = [place for number, _ in sieve.first_places(low.encode()) for place in by_needle.get(number, ())]
    return [all_signs()[place] for place in sorted(found)]


@cache
def _all_signs() -> tuple[Sieve, dict[int, list[int]]]:
    """One sieve for all needles; by the number of a needle, the places of its signs among all."""
    sieve = large.sieve_of(sign.needle for sign in all_signs())
    numbers = {needle.decode(): number for number, needle in enumerate(sieve.needles)}
    by_needle: dict[int, list[int]] = {}
    for place, sign in enumerate(all_signs()):
        by_needle.setdefault(numbers[sign.needle], []).append(place)
    return sieve, by_needle
