"""What looks wrong and is not: how Calico is made, and words that programs print while all is well.

Each entry knows by which lines it is seen, which trials fail by design, and which complaints are only about it. It
never makes a cluster healthy: it takes away what would otherwise stand unexplained, and the answer tells people why.
The entries are in `normal_things.py` and `normal_words.py`, their sentences in `normal.txt`; lines of logs that mean
nothing are in `grave_lines.HARMLESS`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import Final

from tortie.doctor.diagnosis import Checked, Symptom, Unexplained
from tortie.doctor.judgement.normal_entry import Normal
from tortie.doctor.judgement.normal_things import MADE_SO
from tortie.doctor.judgement.normal_words import WORDS
from tortie.doctor.judgement.wondering import questions
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Ping
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Place
from tortie.doctor.reading.readers.statements import Sentence
from tortie.doctor.reading.readers.statements import said as stated
from tortie.doctor.texts import sections

THINGS: Final = (*MADE_SO, *WORDS)
_CLAUSE: Final = lazily(r"(?<=[,，;；:：。、()（）])|\band\b|\bbut\b")
# Nobody calls so what is as it should be.
_NEVER: Final = lazily(r"\boutages?\b|\bdowntimes?\b|\bproduction is down\b|故障恢复|业务中断|断网", re.IGNORECASE)
# "…, but on reboot it is back": what the clause before it spoke of.
_IT_AGAIN: Final = lazily(
    r" (?:on|after) (?:the |a |each |every )?(?:reboot|restart|boot) (?:it|they) (?:is|are|comes?) back\W*$"
)


class Normals:
    """Which entries this evidence shows, and what they account for."""

    def __init__(self, picture: Picture) -> None:
        self._picture = picture

    @cached_property
    def _shown(self) -> dict[Normal, Place]:
        """The entries that count, with where each is seen first."""
        found = {**self._pinged_in_vain(), **self._failed_on_purpose}
        for exhibit in self._picture.exhibits:
            text = "\n".join((exhibit.command, *exhibit.lines)) if exhibit.lines else ""
            for entry in THINGS:
                if entry not in found and any(needle in text for needle in entry.needles):
                    asked = 0 if entry.seen.search(exhibit.command) else None
                    index = next((at for at, line in enumerate(exhibit.lines) if entry.seen.search(line)), asked)
                    if index is not None:
                        found[entry] = exhibit.place(index)
        return {entry: found[entry] for entry in THINGS if entry in found and entry.applies(self._picture)}

    def _pinged_in_vain(self) -> dict[Normal, Place]:
        failed = {ping.address: ping.place for ping in self._picture.of(Ping) if not ping.ok}
        places = {entry: [failed[one] for one in entry.pings(self._picture) if one in failed] for entry in THINGS}
        return {entry: min(where) for entry, where in places.items() if where}

    @cached_property
    def _failed_on_purpose(self) -> dict[Normal, Place]:
        places = {entry: entry.fails(self._picture) for entry in THINGS}
        return {entry: min(where) for entry, where in places.items() if where}

    def accounts_for(self, item: Unexplained) -> bool:
        """A trial that fails by design, words that mean nothing, or a complaint that is about nothing else."""
        if item.kind == "complaint":
            return self._is_only_about(item.text)
        if any(entry.covers.search(item.text) for entry in self._shown) or self._pinged(item.place):
            return True
        on_purpose = [place for entry in self._failed_on_purpose for place in entry.fails(self._picture)]
        return item.kind == "trial" and any(
            place.source == item.place.source and place.first <= item.place.last and item.place.first <= place.last
            for place in on_purpose
        )

    def are_all_of(self, symptom: Symptom) -> bool:
        """The errors of a log whose worst is nothing but this; all others are looked at line by line."""
        return symptom.kind == "log-errors" and any(entry.covers.search(symptom.text.en) for entry in self._shown)

    def _pinged(self, place: Place) -> bool:
        addresses = {address for entry in self._shown for address in entry.pings(self._picture)}
        return any(
            ping.address in addresses and ping.place.source == place.source
            and ping.place.first <= place.last and place.first <= ping.place.last
            for ping in self._picture.of(Ping)
        )  # fmt: skip

    def _is_only_about(self, complaint: str) -> bool:
        if _NEVER.search(complaint):
            return False
        clauses = _CLAUSE.split(complaint)
        rest: list[str] = []
        before = False  # was the clause before this one about it?
        for one in clauses:
            about = any(entry.about.search(one) for entry in self._shown) or (before and bool(_IT_AGAIN.match(one)))
            rest += [] if about else [one]
            before = about
        if len(rest) == len(clauses):
            return False
        return not any(kind == "suffers" for one in rest for kind, _ in stated(Sentence(one.strip(), 0, 0)))

    def asked_about(self) -> bool:
        """A question, or the title of all, is about something that is shown here and as it should be."""
        return any(entry.about.search(text) for text in questions(self._picture) for entry in self._shown)

    def measured(self) -> bool:
        """The same of something that is answered by the numbers that are shown."""
        entries = [entry for entry in self._shown if entry.measured]
        return any(entry.about.search(text) for text in questions(self._picture) for entry in entries)

    def told(self) -> Iterator[Checked]:
        for entry, place in self._shown.items():
            yield Checked(sections(__name__)[entry.key].words, (place,))
