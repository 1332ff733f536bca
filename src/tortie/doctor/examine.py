"""The whole way: sources to exhibits, facts and signs, to one picture."""

from __future__ import annotations

from collections.abc import Iterable

from tortie.doctor.causes.catalogue import all_signs
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.cut import cut
from tortie.doctor.reading.exhibit import Source
from tortie.doctor.reading.readers import read
from tortie.doctor.signs import Searchable


def picture_of(sources: Iterable[Source]) -> Picture:
    picture = Picture()
    for source in sources:
        exhibits = list(cut(source))
        picture.exhibits.extend(exhibits)
        for exhibit in exhibits:
            picture.add(read(exhibit))
        picture.add_hits(Searchable(exhibits).hits(all_signs()))
    picture.skipped = tuple(getattr(sources, "skipped", ()))
    return picture
