"""Texts for people as data: a file of sections, each in both languages, beside the module that uses them.

    why dead
      en  kubelet[ on {node}] does not run[: {reason}].
      zh  [{node} 上的 ]kubelet 未运行[：{reason}]。

    fix start
      en  Start it
      zh  启动它
      sh  ssh <host> 'systemctl enable --now kubelet'

`{name}` is a value of the finding. What stands in `[…]` is left out where a value in it is missing. `sh` is a command,
a template of `commands/shell.py`; further lines of it are indented deeper. `act` says what a step does that has no
command: `look`, `change` or `interrupt`. A line that begins with `#` is a comment.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Final, TypeAlias

from tortie.doctor.lazily import lazily
from tortie.doctor.words import Language, Words
from tortie.model.tuples import NamedTuple

_OPTIONAL: Final = lazily(r"\[([^][]*)\]")
_VALUE: Final = lazily(r"\{(\w+)\}")
_LINE: Final = lazily(r"  (en|zh|sh|act) +(\S.*)")
_MORE: Final = "      "  # a further line of a command


class Seconds(float):
    """A length of time, told in the reader's units."""

    def to(self, language: Language) -> str:
        unit, name = _unit(self)
        number = f"{self / unit:.1f}".removesuffix(".0") if self < 10 else f"{self / unit:.0f}"
        return f"{number} {_UNITS[name].to(language)}"


_UNITS: Final = {"s": Words("s", "秒"), "min": Words("min", "分钟"), "h": Words("h", "小时"), "d": Words("d", "天")}


def _unit(seconds: float) -> tuple[int, str]:
    for size, name in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return size, name
    return 1, "s"


Value: TypeAlias = "str | int | float | Words | Text | Iterable[str]"


class Section(NamedTuple):
    """One text, with the command that goes with it."""

    en: str
    zh: str
    sh: str = ""
    act: str = ""

    @property
    def words(self) -> Words:
        return Words(self.en, self.zh)


class Text(NamedTuple):
    """A sentence of a module's texts: the values are known, the reader is not yet. Its file is read when it is told."""

    module: str
    key: str
    values: tuple[tuple[str, Value], ...] = ()

    def to(self, language: Language) -> str:
        return filled(sections(self.module)[self.key].words.to(language), dict(self.values), language)

    @property
    def en(self) -> str:
        return self.to("en")

    @property
    def zh(self) -> str:
        return self.to("zh")


Told = Words | Text


def filled(template: str, values: Mapping[str, Value], language: Language) -> str:
    """The template with its values; optional parts only where all of their values are there."""

    def shown(name: str) -> str:
        return _shown(values.get(name, ""), language)

    def optional(match: re.Match[str]) -> str:
        names = _VALUE.findall(match[1])
        return match[1] if names and all(shown(name) for name in names) else "" if names else match[0]

    return _VALUE.sub(lambda match: shown(match[1]) or f"<{match[1]}>", _OPTIONAL.sub(optional, template))


def _shown(value: Value, language: Language) -> str:
    if isinstance(value, (Words, Text, Seconds)):
        return value.to(language)
    if isinstance(value, (str, int, float)):
        return str(value)
    return ("、" if language == "zh" else ", ").join(value)


@cache
def sections(module: str) -> dict[str, Section]:
    """All sections of the file beside a module, by `part key`."""
    path = str(sys.modules[module].__file__).removesuffix(".py") + ".txt"
    with open(path, encoding="utf-8") as file:
        return parse(file.read(), module.rpartition(".")[2])


def parse(text: str, name: str = "texts") -> dict[str, Section]:
    found: dict[str, dict[str, str]] = {}
    here: dict[str, str] | None = None
    field = ""
    for number, line in enumerate(text.splitlines(), 1):
        if here is not None and field == "sh" and line.startswith(_MORE):
            here["sh"] += f"\n{line.removeprefix(_MORE)}"
        elif match := _LINE.fullmatch(line):
            if here is None or match[1] in here:
                raise ValueError(f"{name}.txt:{number}: {match[1]} stands outside of a section, or twice in one")
            field = match[1]
            here[field] = match[2].rstrip()
        elif line and not line.startswith((" ", "#")):
            here, field = found.setdefault(" ".join(line.split()), {}), ""
        elif line.strip() and not line.startswith("#"):
            raise ValueError(f"{name}.txt:{number}: expected `  en  text`, `  zh  …`, `  sh  …` or a section: {line!r}")
    return {key: _section(key, fields, name) for key, fields in found.items()}


def _section(key: str, fields: dict[str, str], name: str) -> Section:
    if not fields.get("en") or not fields.get("zh"):
        raise ValueError(f"{name}.txt: section `{key}` needs en and zh")
    return Section(**fields)
