"""A source cut into exhibits: at prompts, fences, bare commands, and where a person begins or ends to speak."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tortie.doctor.lazily import lazily
from tortie.doctor.reading.chats import chat
from tortie.doctor.reading.commands import effective, told_with_result, typed_bare, unfinished
from tortie.doctor.reading.exhibit import Exhibit, Source
from tortie.doctor.reading.forms import form_of
from tortie.doctor.reading.inside_pods import Shells
from tortie.doctor.reading.long_lines import LONGEST, bounded
from tortie.doctor.reading.plays import GOES_ON
from tortie.doctor.reading.prompts import Prompt, prompt
from tortie.doctor.reading.prose import (
    STAMPED,
    command_named,
    far_east,
    host_named,
    left_out,
    machine,
    remark,
    speaks,
    titled,
)
from tortie.doctor.reading.several_hosts import apart, banner_host
from tortie.doctor.reading.wrapped import clean, joined, width_of

_FENCE = lazily(r"^ {0,8}(?:>\s?)?(?P<marks>`{3,}|~{3,})(?P<rest>[^`]*)$")
_MARKUP = lazily(r"^\s*</?(?:details|summary|pre|code|p|br|div|blockquote)\b[^>]*>\s*$", re.IGNORECASE)
_JOURNAL_HOST = lazily(
    r"^(?:[A-Z][a-z]{2}|\d{1,2}月) {1,2}\d{1,2} \d\d:\d\d:\d\d ([A-Za-z][\w.-]*) [\w./@-]+(?:\[\d+\])?:"
)
_CD = lazily(r"cd +['\"]?(/[^\s'\";&|]*)")
_HEREDOC = lazily(r"<<-?\s*['\"]?([A-Za-z_]\w*)['\"]?")
_OUTCOME = lazily(r"echo [\"']?(?:\w{1,12}[=: ]{1,2})?\$\?[\"']?")  # of the command before it
_MOST_CONTINUED = 30  # lines that one command line may go on for
_MOST_HEREDOC = 400
_NARROW = 60  # no screen is narrower
_NEAR = 40  # lines around one that tell how wide the screen was


def cut(source: Source) -> Iterator[Exhibit]:
    """Every line belongs to exactly one exhibit, or is a command line, a fence or blank."""
    yield from _Cutter(source).run()


class _Cutter:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.lines, self.turns = chat(tuple(_bare_output(line) for line in map(bounded, clean(source.lines))))
        self.known = _hosts(self.lines)
        self.width = width_of(self.lines)  # where a narrow screen cut long lines
        self.fence = ""
        self.heading_host = ""  # what the last heading said
        self.heading_done = False  # its output was there: what comes after a blank line is something else
        self.named = ""  # the command that prose announced
        self.pending: list[int] = []  # indexes of lines of the exhibit in the making
        self.inside = False  # the exhibit in the making has a line that is not blank
        self.prose = False
        self.host = source.host
        self.command = ""
        self.bare = False  # the command stands there without a prompt
        self.typed: tuple[int, ...] = ()
        self.folder = ""
        self.shells = Shells()
        self.pod = ""  # in whose shell the command was typed
        self.silent = ""  # the last command, if it printed nothing
        self.folders: dict[str, str] = {}  # where `cd` led to on each host

    def run(self) -> Iterator[Exhibit]:
        index, lines = 0, self.lines
        while index < len(lines):
            line = lines[index]
            if index in self.turns:
                yield from self._close()
            if not line:
                self.pending.append(index)
                index += 1
                continue
            if self._goes_on(line):
                self.pending.append(index)
                index += 1
                continue
            fence = _FENCE.match(line) if "``" in line or "~~" in line else None
            if fence and self._is_fence(fence):
                if not self._announced():
                    yield from self._close()
                if self.fence and self.heading_done:
                    self.heading_host = ""
                index += 1
                continue
            if _MARKUP.match(line) and not self.fence:
                yield from self._close()
                index += 1
                continue
            shown = prompt(line)
            bare = shown is None and self._bare(line, index)
            if bare:
                shown = Prompt("", line)
            if shown is not None:
                yield from self._close()
                index = self._open(shown, index)
                self.bare = bare
                continue
            yield from self._line(line, index)
            index += 1
        yield from self._close()

    def _goes_on(self, line: str) -> bool:
        """A stamped line below output: by far the most frequent line of all, and never anything else."""
        return not self.prose and bool(self.pending or self.command) and self.inside and STAMPED.match(line) is not None

    def _is_fence(self, fence: re.Match[str]) -> bool:
        """A fence opens, or closes the one that is open: then it has no language and at least as many marks."""
        marks = fence["marks"]
        if not self.fence:
            self.fence = marks
            return True
        if marks[0] == self.fence[0] and len(marks) >= len(self.fence) and not fence["rest"].strip():
            self.fence = ""
            self.named = ""
            self.heading_done = True
            return True
        return False

    def _announced(self) -> bool:
        """Does a fence open whose content is the output of the bare command above it?"""
        return bool(self.fence and self.bare and self.command) and not self.inside

    def _bare(self, line: str, index: int) -> bool:
        """A command without a prompt stands where a block begins; kubectl and calicoctl may do so in its middle."""
        if line[0] in " \t|+" or line[-1] in ":：" or not typed_bare(line) or told_with_result(line):
            return False
        begins = self.prose or index in self.turns or index == 0 or not self.lines[index - 1] or not self.inside
        return begins or line.startswith(("kubectl ", "calicoctl ", "oc "))

    def _open(self, shown: Prompt, index: int) -> int:
        """A command begins at this line: returns the index after its last line."""
        command, stop = self._whole(shown.command, index + 1)
        if self.heading_done and not self.fence and index and not self.lines[index - 1]:
            self.heading_host = ""
        inside = effective(command) if "ssh" in command else None
        self.pod = self.shells.pod(shown)
        self.host = (inside.host if inside else "") or ("" if self.pod else shown.host or self.heading_host)
        self.host = self.host or self.source.host
        if self.silent and _OUTCOME.fullmatch(command):
            command = f"{self.silent}; {command}"
        self.command = command[:LONGEST]
        self.typed = tuple(self.source.number(i) for i in range(index, stop))
        self.folder = self._folder(shown, command)
        self.prose = False
        self.named = ""
        return stop

    def _folder(self, shown: Prompt, command: str) -> str:
        """What the prompt shows, completed by the last `cd` there; the command's own `cd` counts for it, too."""
        known = self.folders.get(self.host, "")
        if shown.folder.startswith("/"):
            known = shown.folder
        elif shown.folder and known.rpartition("/")[2] != shown.folder:
            known = "" if shown.folder == "~" else shown.folder
        moved = _CD.match(command)
        if moved:
            known = self.folders[self.host] = moved[1].rstrip("/")
        return known

    def _whole(self, command: str, index: int) -> tuple[str, int]:
        """The command with the lines it goes on for."""
        heredoc = _HEREDOC.search(command)
        if heredoc:
            for stop in range(index, min(len(self.lines), index + _MOST_HEREDOC)):
                if self.lines[stop].strip() == heredoc[1]:
                    return "\n".join([command, *self.lines[index : stop + 1]]), stop + 1
        text = command
        for stop in range(index, min(len(self.lines), index + _MOST_CONTINUED) + 1):
            if not unfinished(text):
                return text, stop
            if stop >= len(self.lines) or not self.lines[stop] or prompt(self.lines[stop]):
                break
            more = self.lines[stop].strip()
            more = more[2:] if more.startswith("> ") else more
            text = f"{text.removesuffix(chr(92)).rstrip()} {more}"
        backslash = command.endswith("\\")
        return command.removesuffix("\\").rstrip() if backslash else command, index

    def _line(self, line: str, index: int) -> Iterator[Exhibit]:
        """A line of output or prose goes to the exhibit in the making, or begins the next one."""
        announced = banner_host(line, self.known) if not self.command and not self.prose else ""
        if announced:  # === node-1 ===: what was typed below it was typed there
            yield from self._close()
            self.heading_host, self.heading_done = announced, False
        fresh = not self.inside
        paragraph = fresh or index in self.turns or not self.lines[index - 1]
        prose = not announced and self._speaks(line, index, fresh, paragraph)
        if prose != self.prose and not (fresh and not self.command):
            yield from self._close(keep_heading=not prose)
        self.prose = prose
        if prose:
            self.named = command_named(line)
            self.shells.told(line)
            self.heading_host = host_named(line, self.known) or ("" if paragraph else self.heading_host)
            self.heading_done = False
        elif fresh or not self.command:
            self.command = self.command or self.named
            self.host = self.host or self.heading_host
        self.pending.append(index)
        self.inside = True

    def _speaks(self, line: str, index: int, fresh: bool, paragraph: bool) -> bool:
        if left_out(line) and not self.prose and not fresh:
            return False
        below = bool(self.command) and not self.prose and not paragraph
        if below and remark(line, self.command):
            return True
        full = bool(self.width) and self.width - 1 <= len(self.lines[index - 1]) <= self.width
        if full and not self.prose and not paragraph:
            return False  # the rest of a long line, however much it reads like a sentence
        if far_east(line):
            return speaks(line)
        if self.fence:
            return False
        if self.prose and not paragraph:
            announced = self.lines[index - 1].endswith((":", "："))
            return speaks(line) or not (announced or machine(line))
        if self.command and not paragraph:
            return False  # where an output may begin
        if fresh and self.command and self.lines[index - 1]:
            return False
        if speaks(line):
            return paragraph or not self._rest_of_line(index)
        return paragraph and (bool(command_named(line)) or self._heading(line, index) or self._title(line, index))

    def _rest_of_line(self, index: int) -> bool:
        """Does the line above end where the screen of its own block of lines ended? Other blocks may be wider."""
        if len(self.lines[index - 1]) < _NARROW:
            return False
        first, last = index - 1, index
        while first > 0 and self.lines[first - 1] and index - first < _NEAR:
            first -= 1
        while last < len(self.lines) and self.lines[last] and last - index < _NEAR:
            last += 1
        # What announces the block may be a person's sentence, and longer.
        block = self.lines[first:last]
        stamped = next((i for i, line in enumerate(block) if STAMPED.match(line)), 0)
        width = width_of(block[stamped:])
        return bool(width) and len(self.lines[index - 1]) >= width - 1

    def _title(self, line: str, index: int) -> bool:
        """The first line of all, alone: what a ticket is about, however short of small words."""
        if any(self.lines[:index]) or not any(self.lines[index + 1 :]) or self.lines[index + 1]:
            return False
        return titled(line)

    def _heading(self, line: str, index: int) -> bool:
        """A short line alone between blanks, above output: a person's heading."""
        below = next(filter(None, self.lines[index + 1 : index + 3]), "")
        fenced = below.lstrip().startswith(("```", "~~~"))
        alone = fenced or index + 1 >= len(self.lines) or not self.lines[index + 1]
        short = len(line) <= 60 and len(line.split()) <= 6 and not line.startswith((" ", "\t"))
        named = (
            line.endswith((":", "："))
            or bool(host_named(line, self.known))
            or line.lower().startswith(("node ", "on ", "host "))
        )
        return alone and short and not GOES_ON.match(line) and (fenced or named or line.startswith("#"))

    def _close(self, keep_heading: bool = True) -> Iterator[Exhibit]:
        indexes = self.pending
        while indexes and not self.lines[indexes[-1]]:
            indexes.pop()
        start = next((i for i, index in enumerate(indexes) if self.lines[index]), len(indexes))
        indexes = indexes[start:]
        if indexes or (self.command and not self.prose):
            yield from apart(self._exhibit(indexes), self.known)
            self.heading_done = self.heading_done or not self.prose
            self.silent = "" if indexes else self.command
        self.pending = []
        self.inside = False
        self.prose = False
        self.command = ""
        self.typed = ()
        self.folder = self.pod = ""
        self.host = self.source.host
        if not keep_heading:
            self.heading_host = ""

    def _exhibit(self, indexes: list[int]) -> Exhibit:
        source = self.source
        lines = tuple(self.lines[index] for index in indexes)
        if not self.prose:
            lines = tuple(map(bounded, joined(lines)))
        # A command that printed nothing is found at its own line.
        first = source.number(indexes[0]) if indexes else self.typed[-1] if self.typed else 1
        if self.command == "pwd" and len(lines) == 1 and lines[0].startswith("/"):
            self.folders[self.host] = lines[0].rstrip().rstrip("/")  # prompts show its last part at most
        numbers = tuple(source.number(index) for index in indexes) if source.numbers else ()
        command = "" if self.prose else self.command
        whole = Exhibit(source.name, first, lines, self.host, command, self.prose, numbers, self.typed, self.folder)
        whole = whole._replace(pod=self.pod) if self.pod else whole
        return whole if command or self.prose else whole._replace(form=form_of(whole))


def _bare_output(line: str) -> str:
    """Without the remark that somebody wrote behind a line of output, in another script than that one's."""
    if "  #" not in line or line.isascii():
        return line
    output, _, remark = line.partition("  #")
    return output.rstrip() if output.strip() and far_east(remark) and not far_east(output) else line


def _hosts(lines: tuple[str, ...]) -> frozenset[str]:
    """Hosts that prompts and journals name; headings may name them again."""
    found = set()
    for line in lines[:20000]:
        if "@" in line[:40] or line[:1] == "[" or ":~" in line[:40]:
            shown = prompt(line)
            if shown and shown.host:
                found.add(shown.host)
        elif line[:1].isupper() and line[3:4] == " ":
            journal = _JOURNAL_HOST.match(line)
            if journal:
                found.add(journal[1])
    return frozenset(found)
