"""The words of a reading: a value with its source, and what there is to say about one that is wrong or doubtful."""

from __future__ import annotations

import re
from typing import Final, Generic, NamedTuple, TypeVar

T = TypeVar("T", covariant=True)

DEFAULT: Final = "default"
HIDDEN: Final = "…"
_SHOWN_MAX: Final = 120
_CREDENTIALS: Final = re.compile(r"(//)[^/@\s]*@")


class Setting(NamedTuple, Generic[T]):
    value: T
    source: str = DEFAULT  # environment variable IP; file /etc/node.env, line 3; default
    text: str = ""  # as a person wrote it, or as the table has it

    @property
    def is_default(self) -> bool:
        return self.source == DEFAULT


class Meant(NamedTuple, Generic[T]):
    """What a value means here, with a warning where Calico would understand something else."""

    value: T
    why: str = ""
    right: str = ""


class Secret(str):
    """Text that can be compared and passed on, and that no message, log line or traceback shows by accident."""

    __slots__ = ()

    def __repr__(self) -> str:
        return HIDDEN

    __str__ = __repr__

    def __format__(self, _form: str) -> str:
        return HIDDEN


class Given(NamedTuple):
    """What somebody set a variable to, before anybody asked what it means. Never empty."""

    text: str
    source: str


class Finding(NamedTuple):
    """Something about a variable that a person should know. Every part of it is fit to be shown."""

    variable: str  # "" for a line of a file that sets none
    value: str
    source: str
    why: str
    right: str  # the nearest right form, or what to do

    def as_json(self) -> dict[str, str]:
        """For programs, with the names of the parts as they are here."""
        return self._asdict()

    def __str__(self) -> str:
        what = assigned(self.variable, self.value, self.source) if self.variable else self.source
        label = "" if self.right.startswith("did you mean") else "right would be: "
        return f"{what}: {self.why}" + (f"; {label}{self.right}" if self.right else "")


def finding(variable: str, given: Given, why: str, right: str, *, secret: bool = False) -> Finding:
    """`why` and `right` may quote what somebody wrote; all of it comes out printable and on one line."""
    return Finding(
        printable(variable), HIDDEN if secret else shown(given.text), given.source, printable(why), printable(right)
    )


def assigned(variable: str, value: str, source: str) -> str:
    """How a message names a setting. That a variable came from the environment goes without saying."""
    where = f" ({source})" if source.startswith(("file ", "flag ")) else ""
    return f"{variable}={value}{where}"


def shown(text: str) -> str:
    """A value as a message may quote it: short, printable, and without the password that a URL may carry."""
    told = printable(_CREDENTIALS.sub(rf"\1{HIDDEN}@", text))
    return told if len(told) <= _SHOWN_MAX else told[:_SHOWN_MAX] + HIDDEN


def printable(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else _escaped(letter) for letter in text)


def is_text(text: str) -> bool:
    """Whether it can be stored and sent. What is not UTF-8 in the environment comes as halves of surrogate pairs."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _escaped(letter: str) -> str:
    # A stray byte is told as the byte that somebody wrote, not as what Python makes of it.
    return f"\\x{ord(letter) - 0xDC00:02x}" if "\udc80" <= letter <= "\udcff" else ascii(letter)[1:-1]
