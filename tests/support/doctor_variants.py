"""The same evidence laid out otherwise: exhibits in another order, without its prose, with other names, damaged."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable
from itertools import pairwise
from textwrap import wrap

from tests.support.doctor_cases import source_of

from tortie.doctor.picture.facts import CalicoNode, Node, Pod
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.cut import cut
from tortie.doctor.reading.exhibit import Exhibit

_FENCE = re.compile(r"^ {0,8}(`{3,}|~{3,})")


class Block:
    """Lines that stay together: a paragraph of prose, or a command (or nothing) with its output, and its heading."""

    def __init__(self, lines: list[str], *, prose: bool, heading: list[str]) -> None:
        self.lines, self.prose, self.heading = lines, prose, heading

    def fenced(self) -> list[str]:
        if self.prose:
            return [*self.heading, *self.lines]
        return [*self.heading, *([""] if self.heading else []), "~~~~~", *self.lines, "~~~~~"]


def blocks(text: str) -> list[Block]:
    """Where the exhibits lie in the text. A heading or announcement stays with what it stands above."""
    rows = text.replace("\r\n", "\n").split("\n")
    found: list[Block] = []
    heading: list[str] = []
    exhibits = list(cut(source_of(text)))
    for place, exhibit in enumerate(exhibits):
        lines = _lines(exhibit, rows)
        if not exhibit.prose:
            found.append(Block(lines, prose=False, heading=heading))
            heading = []
            continue
        found += [Block(part, prose=True, heading=[]) for part in _paragraphs([*heading, *lines])]
        heading = []
        below = exhibits[place + 1] if place + 1 < len(exhibits) else None
        if below is not None and not below.prose and found and _announces(found[-1].lines):
            heading = found.pop().lines
    if heading:
        found.append(Block(heading, prose=True, heading=[]))
    return found


def _lines(exhibit: Exhibit, rows: list[str]) -> list[str]:
    """The lines as they were pasted, the command line among them."""
    numbers = [*exhibit.command_lines, *(exhibit.number(index) for index in range(len(exhibit.lines)))]
    return [rows[number - 1] for number in dict.fromkeys(numbers) if not _FENCE.match(rows[number - 1])]


def _paragraphs(lines: list[str]) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    for line in lines:
        if line.strip():
            parts[-1].append(line)
        elif parts[-1]:
            parts.append([])
    return [part for part in parts if part]


def _announces(lines: list[str]) -> bool:
    last = lines[-1].rstrip("* ")
    return last.endswith((":", "：")) or (len(lines) == 1 and len(last) <= 60 and last[-1] not in ".。!！?？")


def reversed_exhibits(text: str) -> str:
    return _joined(reversed(blocks(text)))


def shuffled_exhibits(text: str, seed: int) -> str:
    found = blocks(text)
    random.Random(seed).shuffle(found)
    return _joined(found)


def without_prose(text: str) -> str:
    """Every word of a person taken out, headings too."""
    return _joined(Block(block.lines, prose=False, heading=[]) for block in blocks(text) if not block.prose)


def _joined(found: Iterable[Block]) -> str:
    return "\n\n".join("\n".join(block.fenced()) for block in found) + "\n"


def prose_paragraphs(text: str) -> list[str]:
    """What a person wrote, paragraph by paragraph, in its order."""
    out = []
    for block in blocks(text):
        lines = block.lines if block.prose else block.heading
        if lines:
            out.append("\n".join(lines))
    return out


# Damage that pastes suffer


def with_crlf(text: str) -> str:
    return text.replace("\n", "\r\n")


def coloured(text: str) -> str:
    """Every seventh word in a colour, as `grep --color` and loggers print them."""
    count = 0

    def paint(word: re.Match[str]) -> str:
        nonlocal count
        count += 1
        return f"\x1b[01;3{count % 8}m\x1b[K{word[0]}\x1b[m\x1b[K" if count % 7 == 0 else word[0]

    return re.sub(r"[A-Za-z0-9]+", paint, text)


def tabbed(text: str) -> str:
    """Leading blanks of output: eight of them are a tab, as terminals copy them. YAML has no tabs."""
    found = blocks(text)
    whole = "\n".join("\n".join(block.lines) for block in found if _is_document(block))
    keep = set(whole.split("\n"))
    rows = text.split("\n")
    return "\n".join(row if row in keep else re.sub(r"^ {8,}", _as_tabs, row) for row in rows)


def _is_document(block: Block) -> bool:
    return any(re.match(r"\s*(?:- )?[\w.\"/-]+:(?:\s|$)", line) for line in block.lines)


def _as_tabs(blanks: re.Match[str]) -> str:
    count = len(blanks[0])
    return "\t" * (count // 8) + " " * (count % 8)


def fenced_all(text: str) -> str:
    return _joined(blocks(text))


def unfenced(text: str) -> str:
    """Without fences; where one stood is an empty line."""
    return "\n".join("" if _FENCE.match(row) else row for row in text.split("\n"))


def wrapped_prose(text: str, width: int = 120) -> str:
    return replaced_prose(text, lambda paragraph: "\n".join(_wrapped(paragraph, width)))


def _wrapped(paragraph: str, width: int) -> list[str]:
    out: list[str] = []
    for row in paragraph.split("\n"):
        out += wrap(row, width, break_long_words=False, break_on_hyphens=False) or [row]
    return out


def replaced_prose(text: str, other: Callable[[str], str]) -> str:
    """The text with each paragraph of prose put another way; everything else stays as it is."""
    rest, done = text.replace("\r\n", "\n"), ""
    for paragraph in prose_paragraphs(text):
        at = rest.find(paragraph)
        if at < 0:  # blank lines inside: not to be found as one piece
            continue
        done += rest[:at] + other(paragraph)
        rest = rest[at + len(paragraph) :]
    return done + rest


# Other names

_WORDS = (
    "q z y x w", "hq lx mw oz", "box oak fir elm yew bay", "rack dune peak vale lake cove",
    "stone birch cedar maple aspen", "meadow harbor canyon garden timber", "harvest lantern juniper orchard",
    "mountain woodland highland lakeside", "riverside limestone sandstone hillcrest",
    "waterfront greenhouse schoolyard", "thunderhead countryside",
)  # fmt: skip
_ADDRESS = re.compile(r"(?<![\d.])(10|172|192)([._-])(\d{1,3})\2(\d{1,3})\2(?=[\d{x$])")
_PREFIX = re.compile(r"(?<![\d.])(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.\d{1,3}/(\d{1,2})(?!\d)")
_SERVICE = range(96, 112)  # 10.96.0.0/12, the default range of services, keeps its meaning


class Renaming:
    """Other host names and addresses, one for one: same lengths, same networks, same order, same kinds."""

    def __init__(self, text: str, picture: Picture) -> None:
        self._networks = _networks(text)
        self._hosts = _hosts(picture)
        names = sorted(self._hosts, key=len, reverse=True)
        self._pattern = (
            re.compile(rf"(?<![A-Za-z0-9_])(?:{'|'.join(map(re.escape, names))})(?![A-Za-z0-9])") if names else None
        )

    def __call__(self, text: str) -> str:
        text = _ADDRESS.sub(self._address, text)
        return self._pattern.sub(lambda name: self._hosts[name[0]], text) if self._pattern else text

    @property
    def renames(self) -> int:
        return len(self._hosts) + sum(old[1:] != new for old, new in self._networks.items())

    def _address(self, found: re.Match[str]) -> str:
        first, dot, second, third = found.groups()
        second, third = self._networks.get((first, second, third), (second, third))
        return f"{first}{dot}{second}{dot}{third}{dot}"


def _networks(text: str) -> dict[tuple[str, str, str], tuple[str, str]]:
    used = {(int(a), int(b), int(c)) for a, _, b, c in _ADDRESS.findall(text)}
    ranges = [(int(a), int(b), int(c), int(length)) for a, b, c, length in _PREFIX.findall(text)]
    wide = {b + more for a, b, _, n in ranges if a == 10 and 8 < n < 16 for more in range(1 << (16 - n))}
    fixed = wide | set(_SERVICE)
    seconds = _moved({b for a, b, _ in used if a == 10}, fixed, 1)
    out = {}
    for a, b, c in used:
        if a == 10:
            out[str(a), str(b), str(c)] = (str(seconds[b]), str(c))
    for a, b in {(a, b) for a, b, _ in used if (a == 172 and b in range(16, 32)) or (a == 192 and b == 168)}:
        grain = max((1 << (24 - n) for x, y, _, n in ranges if (x, y) == (a, b) and 16 < n < 24), default=1)
        # The first network of a /16 stays: bridges of docker and pools begin there.
        thirds = _moved({z for x, y, z in used if (x, y) == (a, b)}, set(range(grain)), grain)
        out |= {(str(a), str(b), str(z)): (str(b), str(new)) for z, new in thirds.items()}
    return out


def _moved(used: set[int], fixed: set[int], grain: int) -> dict[int, int]:
    """Each value to another: in the same order, with as many digits, blocks of `grain` staying together."""
    moved: dict[int, int] = {}
    last = -1
    for block in sorted({value // grain for value in used}):
        members = [value for value in used if value // grain == block]
        if any(value in fixed for value in members):
            moved |= {value: value for value in members}
            last = max(last, block)
            continue
        for new in range(last + 1, 256 // grain):
            images = [new * grain + value % grain for value in members]
            alike = all(len(str(a)) == len(str(b)) for a, b in zip(members, images, strict=True))
            if new != block and alike and not fixed & set(images):
                moved |= dict(zip(members, images, strict=True))
                last = new
                break
        else:
            return {value: value for value in used}
    ordered = sorted(moved)
    monotone = all(moved[a] < moved[b] for a, b in pairwise(ordered))
    return moved if monotone else {value: value for value in used}


def _hosts(picture: Picture) -> dict[str, str]:
    """Names of machines that cannot be taken for anything else."""
    names = {exhibit.host for exhibit in picture.exhibits}
    names |= {node.name for node in picture.of(Node)} | {node.name for node in picture.of(CalicoNode)}
    names |= {pod.node for pod in picture.of(Pod)}
    runs: dict[str, str] = {}
    taken = {word: iter(words.split()) for word, words in enumerate(_WORDS, 1)}
    out = {}
    for name in sorted(names):
        if not re.fullmatch(r"[A-Za-z][A-Za-z0-9.-]*[A-Za-z0-9]", name) or not re.search(r"\d|[A-Za-z]-[A-Za-z]", name):
            continue
        if re.search(r"\d+-\d+-\d+-\d+|localhost", name):  # ip-10-0-1-5 goes with its address
            continue
        for run in re.findall(r"[A-Za-z]+", name):
            if run.lower() not in runs:
                runs[run.lower()] = next(taken.get(len(run), iter(())), run.lower())
        out[name] = re.sub(r"[A-Za-z]+", lambda run: _like(runs[run[0].lower()], run[0]), name)
    return out


def _like(word: str, case: str) -> str:
    return "".join(letter.upper() if model.isupper() else letter for letter, model in zip(word, case, strict=True))
