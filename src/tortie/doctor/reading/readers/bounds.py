"""No line of evidence may cost more than its worth: overlong ones are cut before they are looked at."""

from __future__ import annotations

from typing import Final

from tortie.doctor.reading.exhibit import Exhibit

LONGEST: Final = 3_000


def bounded(exhibit: Exhibit) -> Exhibit:
    """The exhibit with lines and command of bearable length; line numbers stay."""
    if len(exhibit.command) > LONGEST:
        exhibit = exhibit._replace(command=exhibit.command[:LONGEST])
    if exhibit.lines and max(map(len, exhibit.lines)) > LONGEST:
        exhibit = exhibit._replace(lines=tuple(line[:LONGEST] for line in exhibit.lines))
    return exhibit
