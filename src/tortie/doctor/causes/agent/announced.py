"""A container without a name, pasted right below the sentence that says whose it is."""

from __future__ import annotations

from typing import Final

from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Container
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.readers.statements import sentences

_OURS: Final = lazily(r"(?i)\bcalico-node\b")
_ENDS: Final = lazily(r"(?i)\brestart|\bkill|\boom\b|\bmemory|\bcrash|重启|内存|被杀|崩溃")
# Of another, or of one that is well: the block below need not be the agent's.
_NOT_THIS: Final = lazily(
    r"(?i)\b(?:fine|healthy|not|never|no|n't|besides|except|but|our app\w*|applications?|also|other)\b"
    r"|正常|没有|没重启|业务|应用|其他|但是?"
)
_SAID: Final = 4  # sentences: more tell a story of many things


def announced(picture: Picture, box: Container) -> bool:
    """All that is said just above is that the agent ends."""
    if box.pod or box.name:
        return False
    shown = [e for e in picture.exhibits if e.source == box.place.source and e.first <= box.place.first]
    if len(shown) < 2 or shown[-1].prose or shown[-1].command or not shown[-2].prose:
        return False
    told = [sentence.text for sentence in sentences(shown[-2].lines)]
    if len(told) > _SAID or any(_NOT_THIS.search(text) for text in told):
        return False
    return any(_OURS.search(text) for text in told) and any(_ENDS.search(text) for text in told)
