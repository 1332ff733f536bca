"""Which exhibit a line of a source belongs to."""

from __future__ import annotations

from bisect import bisect_right

from tortie.doctor.picture.picture import Picture, remembered
from tortie.doctor.reading.exhibit import Exhibit, Place


@remembered
def _by_place(picture: Picture) -> dict[str, tuple[list[int], list[Exhibit]]]:
    """Exhibits of each source in the order of their lines."""
    sources: dict[str, list[Exhibit]] = {}
    for exhibit in picture.exhibits:
        if exhibit.lines:
            sources.setdefault(exhibit.source, []).append(exhibit)
    for exhibits in sources.values():
        exhibits.sort(key=lambda exhibit: exhibit.number(0))
    return {name: ([exhibit.number(0) for exhibit in found], found) for name, found in sources.items()}


def exhibit_at(picture: Picture, place: Place) -> Exhibit | None:
    starts, exhibits = _by_place(picture).get(place.source, ([], []))
    index = bisect_right(starts, place.first) - 1
    if index < 0 or place.first > exhibits[index].number(len(exhibits[index].lines) - 1):
        return None
    return exhibits[index]
