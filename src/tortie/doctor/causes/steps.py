"""One thing to do: a text, a command, and how much it can hurt."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tortie.doctor.commands.risk import Risk, risk_of
from tortie.doctor.commands.shell import Refused, Shell
from tortie.doctor.texts import Text, Told, Value, sections
from tortie.model.tuples import NamedTuple

# What is done by hand, without a command of ours.
_BY_HAND: Final[Mapping[str, Risk]] = {"look": "safe", "": "safe", "change": "disruptive", "interrupt": "disruptive"}


class Step(NamedTuple):
    text: Told
    shell: Shell | None = None
    act: str = ""  # where there is no command: look, change, interrupt

    @property
    def command(self) -> str:
        return self.shell.render() if self.shell else ""

    @property
    def risk(self) -> Risk:
        return risk_of(self.shell) if self.shell else _BY_HAND[self.act]

    @property
    def refused(self) -> tuple[Refused, ...]:
        """Values of the evidence that are no part of the command, because their kind does not let them in."""
        return self.shell.refused if self.shell else ()

    def fill(self, values: Mapping[str, str]) -> Step:
        return self._replace(shell=self.shell.fill(values)) if self.shell else self


class Ask(NamedTuple):
    """The one command that decides, and what it decides."""

    shell: Shell
    why: Told

    @property
    def command(self) -> str:
        return self.shell.render()


def step_of(module: str, key: str, values: Mapping[str, Value] | None = None) -> Step:
    """The step that a module's texts have under this key, with values in its text and its command."""
    section = sections(module)[key]
    given = {name: value for name, value in (values or {}).items() if value not in ("", None)}
    shell = Shell(section.sh).fill(plain(given)) if section.sh else None
    return Step(Text(module, key, tuple(given.items())), shell, section.act)


def plain(values: Mapping[str, Value]) -> dict[str, str]:
    """What can stand in a command at all: names and numbers. A label has dashes where Python's names have none."""
    usable = {name: str(value) for name, value in values.items() if isinstance(value, (str, int))}
    return {name.replace("_", "-"): value for name, value in usable.items()}
