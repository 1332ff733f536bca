"""A piece of evidence as a person pasted it: which lines of which source, from which host, after which command."""

from __future__ import annotations

from tortie.model.tuples import NamedTuple


class Place(NamedTuple):
    """Where something stands: lines count from 1, both ends belong to it."""

    source: str
    first: int
    last: int

    def __str__(self) -> str:
        lines = str(self.first) if self.first == self.last else f"{self.first}-{self.last}"
        return f"{self.source}:{lines}"


class Source(NamedTuple):
    """One readable text: a file, a member of an archive, standard input. Its lines are cleaned, and none is lost.

    A source cut down to its interesting lines (a large log) says in `numbers` which lines these were.
    """

    name: str
    lines: tuple[str, ...]
    numbers: tuple[int, ...] = ()  # the original number of each line, when some were left out
    host: str = ""  # the node it belongs to, when a bundle's path says so
    quiet: bool = False  # a large log without anything worth a look: it was read, and has no lines here
    size: int = 0  # bytes as they lay on the disk; 0 where nobody knows

    def number(self, index: int) -> int:
        return self.numbers[index] if self.numbers else index + 1


class Input(NamedTuple):
    """What was read, for the list at the end of a report. Nothing of its content."""

    name: str
    lines: int  # as far as they are counted: of a large log without anything worth a look none are
    size: int  # bytes


def input_of(source: Source) -> Input:
    lines = source.number(len(source.lines) - 1) if source.lines else 0
    size = source.size or (0 if source.numbers else sum(len(line) + 1 for line in source.lines))
    return Input(source.name, lines, size)


class Exhibit(NamedTuple):
    """Lines that belong together. `lines[0]` is line `first` of the source (`numbers` as in Source)."""

    source: str
    first: int
    lines: tuple[str, ...]
    host: str = ""  # from the prompt, ssh, or the bundle's path; empty when nothing says
    command: str = ""  # the whole command line as typed, continuation lines joined; empty when none is shown
    prose: bool = False  # a person speaks here; everything else is output, log or document
    numbers: tuple[int, ...] = ()
    command_lines: tuple[int, ...] = ()  # line numbers of prompt and command: never searched for signs
    folder: str = ""  # where the command was typed, as far as prompts and `cd` before it say
    form: str = ""  # a command that prints such lines, where none is shown (see forms.py)
    pod: str = ""  # in whose shell the command was typed (see inside_pods.py)

    def number(self, index: int) -> int:
        return self.numbers[index] if self.numbers else self.first + index

    def place(self, start: int, stop: int | None = None) -> Place:
        """The place of `lines[start:stop]`, of one line without `stop`."""
        end = start if stop is None else max(start, stop - 1)
        if self.numbers:
            return Place(self.source, self.numbers[start], self.numbers[end])
        return Place(self.source, self.first + start, self.first + end)

    @property
    def text(self) -> str:
        return "\n".join(self.lines)
