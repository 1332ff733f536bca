"""The whole way: sources to exhibits, facts and signs, to one picture."""

from __future__ import annotations

from collections.abc import Iterable

from tortie.doctor.picture.picture import Picture
from tortie.doctor.picture.since import only_what_counts
from tortie.doctor.picture.whose import only_of_nodes
from tortie.doctor.reading.archives import Skipped
from tortie.doctor.reading.exhibit import Source
from tortie.doctor.shares import all_understood


def picture_of(sources: Iterable[Source]) -> Picture:
    picture = Picture()
    left_out: list[Skipped] = []
    for part in all_understood(sources):
        picture.exhibits.extend(part.exhibits)
        picture.add(part.facts)
        picture.add_hits(part.hits)
        picture.inputs.append(part.input)
        left_out.extend(part.left_out)
        if part.told:
            picture.left_out.setdefault(part.input.name, set()).update(part.told)
    picture.skipped = (*getattr(sources, "skipped", ()), *left_out)
    return only_of_nodes(only_what_counts(picture))
