"""How the words of a command are understood: flags in every spelling and place, arguments in their order."""

from __future__ import annotations

from typing import Any

import pytest

from tortie.cli.grammar import Argument, Command, HelpWanted, Option, parse, usage_of
from tortie.model.errors import UsageError

COMMAND = Command(
    "Does things.",
    arguments=(Argument("kind", "KIND"), Argument("names", "NAME", required=False, repeated=True)),
    options=(
        Option(("-o", "--output"), "output", "The form.", "FORMAT", default="ps"),
        Option(("-f", "--filename"), "files", "Files.", "FILE", repeated=True),
        Option(("-A", "--all"), "every", "All of them."),
        Option(("--secret-door",), "door", "", hidden=True),
    ),
)


def understood(*words: str) -> dict[str, Any]:
    return parse("tortie do", COMMAND, list(words))


@pytest.mark.parametrize("words", [["-o", "x"], ["-ox"], ["-o=x"], ["--output", "x"], ["--output=x"], ["--out", "x"]])
def test_a_flag_is_understood_in_every_spelling(words: list[str]) -> None:
    assert understood("kind", *words)["output"] == "x"
    assert understood(*words, "kind")["output"] == "x"


def test_values_may_hold_equals_signs_and_dashes() -> None:
    assert understood("k", "-o", "custom-columns=A:.b=c")["output"] == "custom-columns=A:.b=c"
    assert understood("k", "--output=jsonpath={.a}")["output"] == "jsonpath={.a}"
    assert understood("k", "-f", "-")["files"] == ("-",)


def test_what_is_not_given_has_its_default() -> None:
    assert understood("k") == {"kind": "k", "names": (), "output": "ps", "files": (), "every": False, "door": False}


def test_a_repeated_flag_collects_and_any_other_keeps_the_last() -> None:
    values = understood("k", "-f", "a", "--filename=b", "-fc", "-o", "x", "-o", "y", "-A", "-A")
    assert (values["files"], values["output"], values["every"]) == (("a", "b", "c"), "y", True)


def test_arguments_stand_in_order_between_flags_and_behind_two_dashes() -> None:
    values = understood("k", "a", "-A", "b", "--", "-c")
    assert (values["kind"], values["names"]) == ("k", ("a", "b", "-c"))


@pytest.mark.parametrize(
    ("words", "what"),
    [
        ([], "KIND is missing"),
        ([""], "KIND is missing"),
        (["k", "--outptu", "x"], "unknown flag --outptu"),
        (["k", "-x"], "unknown flag -x"),
        (["k", "-o"], "the flag -o is used wrongly"),
        (["k", "--output"], "the flag --output is used wrongly"),
        (["k", "--all=yes"], "the flag --all is used wrongly"),
    ],
)
def test_what_is_not_understood_is_told(words: list[str], what: str) -> None:
    with pytest.raises(UsageError) as caught:
        understood(*words)
    assert caught.value.what == what
    assert caught.value.fix


def test_the_nearest_flag_is_suggested_but_never_a_hidden_one() -> None:
    with pytest.raises(UsageError) as near:
        understood("k", "--outptu", "x")
    assert "did you mean --output?" in near.value.fix
    with pytest.raises(UsageError) as hidden:
        understood("k", "--secret-dooor")
    assert "--secret-door?" not in hidden.value.fix


def test_help_wins_over_what_is_missing() -> None:
    for words in (["-h"], ["k", "--help"], ["-A", "--help"]):
        with pytest.raises(HelpWanted):
            understood(*words)


def test_one_word_too_many_is_refused() -> None:
    command = Command("Takes one.", arguments=(Argument("kind", "KIND"),))
    with pytest.raises(UsageError, match="unexpected word 'b'"):
        parse("tortie do", command, ["a", "b"])


def test_usage_shows_what_may_be_left_out_and_repeated() -> None:
    assert usage_of(COMMAND) == "KIND [NAME]..."
