"""The whole way: sources to exhibits, facts and signs, to one picture."""

from __future__ import annotations

from collections.abc import Iterable

from tortie.doctor.judgement.standing import standing
from tortie.doctor.picture.picture import Picture
from tortie.doctor.picture.since import only_what_counts
from tortie.doctor.picture.whose import only_of_nodes
from tortie.doctor.reading.archives import Skipped
from tortie.doctor.reading.exhibit import Source
from tortie.doctor.shares import Understood, all_understood


def picture_of(sources: Iterable[Source]) -> Picture:
    """What is told of another day is left out where the present is shown to be well."""
    parts = list(all_understood(sources))
    left_out = [skipped for part in parts for skipped in part.left_out]
    skipped = (*getattr(sources, "skipped", ()), *left_out)
    if any(part.then for part in parts):
        today = _picture([_without_then(part) for part in parts], skipped)
        if standing(today).well:
            return today
    return _picture(parts, skipped)


def _picture(parts: list[Understood], skipped: tuple[Skipped, ...]) -> Picture:
    picture = Picture()
    for part in parts:
        picture.exhibits.extend(part.exhibits)
        picture.add(part.facts)
        picture.add_hits(part.hits)
        picture.inputs.append(part.input)
        if part.told:
            picture.left_out.setdefault(part.input.name, set()).update(part.told)
    picture.skipped = skipped
    return only_of_nodes(only_what_counts(picture))


def _without_then(part: Understood) -> Understood:
    return part._replace(
        facts=[fact for fact in part.facts if fact.place.first not in part.then],
        hits=[hit for hit in part.hits if hit.place.first not in part.then],
        told=part.told | part.then,
    )
