"""Which language and whether colours: flags first, then the environment."""

from __future__ import annotations

import io

import pytest

from tortie.cli.language import choose_language, may_colour
from tortie.model.errors import UsageError


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("environment", "language"),
    [
        ({}, "en"),
        ({"LANG": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "zh"}, "zh"),
        ({"LANG": "C.UTF-8"}, "en"),
        ({"LANG": "zha_CN"}, "en"),
        ({"LC_ALL": "", "LC_MESSAGES": "zh_TW", "LANG": "en_US"}, "zh"),
        ({"LC_ALL": "de_DE", "LANG": "zh_CN"}, "en"),
    ],
)
def test_the_locale_decides(environment: dict[str, str], language: str) -> None:
    assert choose_language(None, environment) == language
    assert choose_language("en", environment) == "en"
    assert choose_language("zh", environment) == "zh"


def test_an_unknown_language_is_refused() -> None:
    with pytest.raises(UsageError, match="unknown language 'fr'"):
        choose_language("fr", {})


def test_colours() -> None:
    assert may_colour("auto", {"TERM": "xterm"}, Terminal())
    assert not may_colour("auto", {"TERM": "dumb"}, Terminal())
    assert not may_colour("auto", {"NO_COLOR": "1"}, Terminal())
    assert not may_colour("auto", {}, io.StringIO())
    assert may_colour("always", {"NO_COLOR": "1"}, io.StringIO())
    assert not may_colour("never", {}, Terminal())
    with pytest.raises(UsageError):
        may_colour("sometimes", {}, Terminal())
