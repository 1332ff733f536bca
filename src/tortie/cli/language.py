"""Which language a person is spoken to in, and whether colours may be used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, TextIO, cast

from tortie.model.errors import UsageError

Language = Literal["en", "zh"]
LANGUAGES: Final = ("en", "zh")
COLOUR_CHOICES: Final = ("auto", "always", "never")


def choose_language(flag: str | None, environment: Mapping[str, str]) -> Language:
    """The flag, else the locale as the C library reads it: the first of these variables that says anything."""
    if flag is not None:
        if flag not in LANGUAGES:
            raise UsageError(f"unknown language '{flag}'", "texts exist in en and zh", "use --lang en or --lang zh")
        return cast(Language, flag)
    locale = next((text for name in ("LC_ALL", "LC_MESSAGES", "LANG") if (text := environment.get(name))), "")
    return "zh" if locale.partition("_")[0].partition(".")[0].lower() == "zh" else "en"


def may_colour(choice: str, environment: Mapping[str, str], stream: TextIO) -> bool:
    if choice not in COLOUR_CHOICES:
        raise UsageError(
            f"--color {choice}: there is no such choice", "there are auto, always and never", "--color auto"
        )
    if choice != "auto":
        return choice == "always"
    return stream.isatty() and not environment.get("NO_COLOR") and environment.get("TERM") != "dumb"
