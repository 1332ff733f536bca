"""A file of variables, as systemd's EnvironmentFile and docker's --env-file have them: NAME=value, line by line.

Where the two differ, what a person most likely wants: quotes are taken off as in systemd, a name alone means the
environment's value as in docker, and a backslash is itself unless it ends the line. Values are never quoted in a
problem: a password is a password under any name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from tortie.model.errors import UsageError
from tortie.node.settings.setting import HIDDEN, Finding, Given, printable

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ESCAPED: Final = re.compile(r'\\(["\\`$])')


class EnvFile(NamedTuple):
    path: str
    entries: Mapping[str, Given]  # unlike elsewhere an empty text is kept: it takes a variable out of the environment
    refused: tuple[Finding, ...] = ()
    warnings: tuple[Finding, ...] = ()

    def over(self, environment: Mapping[str, str]) -> dict[str, str]:
        """The environment with this file over it, for whoever reads single variables."""
        return {**environment, **{name: given.text for name, given in self.entries.items()}}


def load_env_file(path: str) -> EnvFile:
    try:
        with open(path, encoding="utf-8-sig", errors="surrogateescape", newline="\n") as file:
            return parse_env_file(file.read(), path)
    except (OSError, ValueError) as error:
        why = str(getattr(error, "strerror", None) or error)
        raise UsageError(f"cannot read the file of variables: {path}", why, "check --env-file") from None


def parse_env_file(text: str, path: str) -> EnvFile:
    entries: dict[str, Given] = {}
    refused: list[Finding] = []
    warnings: list[Finding] = []
    for number, line in _lines(text):
        source = f"file {path}, line {number}"
        name, sign, rest = line.removeprefix("export ").partition("=")
        name = name.strip()
        if not _NAME.fullmatch(name):
            refused.append(
                _problem(source, "is not NAME=value", "one variable on each line, or # in front of a comment")
            )
            continue
        if not sign:
            continue
        value = _unquoted(rest.strip())
        if value is None:
            why = f"the value of {name} begins with a quote that nothing ends, or goes on behind it"
            refused.append(_problem(source, why, f'{name}="…", with nothing behind the second quote'))
            continue
        if name in entries:
            first = entries[name].source.rpartition(", ")[2]
            warnings.append(
                _problem(source, f"{name} is set a second time, after {first}; this one counts", "keep one")
            )
        if re.search(r"\s#", value) and value == rest.strip():
            why = f"what looks like a comment behind the value of {name} is part of the value"
            warnings.append(_problem(source, why, "put the comment on a line of its own"))
        entries[name] = Given(value, source)
    return EnvFile(path, entries, tuple(refused), tuple(warnings))


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Those that say something, with the number of the line they begin on; a backslash at the end joins the next."""
    pending, begun = "", 0
    for number, raw in enumerate(text.split("\n"), start=1):
        line = raw.removesuffix("\r")
        if not pending and line.lstrip()[:1] in ("", "#", ";"):
            continue
        begun = begun or number
        if line.endswith("\\"):
            pending += line[:-1]
            continue
        yield begun, (pending + line).strip()
        pending, begun = "", 0
    if pending:
        yield begun, pending.strip()


def _unquoted(text: str) -> str | None:
    """None when a quote is not closed, or something follows it."""
    quote = text[:1]
    if quote not in ("'", '"'):
        return text
    inner = re.fullmatch(r'"((?:[^"\\]|\\.)*)"' if quote == '"' else r"'([^']*)'", text, re.S)
    if inner is None:
        return None
    return _ESCAPED.sub(r"\1", inner[1]) if quote == '"' else inner[1]


def _problem(source: str, why: str, right: str) -> Finding:
    return Finding("", HIDDEN, printable(source), printable(why), right)
