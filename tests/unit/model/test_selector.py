"""The selector language against Calico's own answers."""

from __future__ import annotations

import pytest

from tortie.model.selector import Selector, SelectorError, parse
from tortie.model.selector.parser import LABEL_MAX, NESTING_MAX


@pytest.mark.parametrize(
    ("text", "labels", "matches"),
    [
        ("role == 'db' || role == 'web' && tier == 'x'", {"role": "db"}, True),
        ("(role == 'db' || role == 'web') && tier == 'x'", {"role": "db"}, False),
        ("env != 'prod'", {}, True),
        ("has(env) && env != 'prod'", {}, False),
        ("!env == 'prod'", {"env": "dev"}, True),
        ("!has(a) && has(b)", {"b": ""}, True),
        ("a not in {'x','y'}", {}, True),
        ("a notin {'x','y'}", {"a": "x"}, False),
        ("a in {}", {"a": ""}, False),
        ("img contains 'nginx'", {"img": "lib/nginx-1"}, True),
        ("host starts with 'ip-' && host ends with '.local'", {"host": "ip-7.local"}, True),
        ("host startswith 'ip-'", {"host": "IP-7"}, False),
        ("", {"q": "1"}, True),
        ("a in {'x', 'y',}", {"a": "y"}, True),
        ("!!has(a)", {"a": "1"}, True),
        ("!all()", {"a": "1"}, False),
        ("global()", {"projectcalico.org/namespace": "a"}, True),
    ],
)
def test_selector_answers_as_calico_does(text: str, labels: dict[str, str], matches: bool) -> None:
    assert parse(text).matches(labels) is matches


@pytest.mark.parametrize("relation", ["==", "contains", "starts with", "ends with"])
def test_missing_label_satisfies_no_comparison_not_even_with_the_empty_value(relation: str) -> None:
    selector = parse(f"a {relation} ''")
    assert selector.matches({"a": ""})
    assert not selector.matches({})


def test_missing_label_is_in_no_set() -> None:
    assert not parse("a in {''}").matches({})
    assert parse("a not in {''}").matches({})


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("role == 'db' || role == 'web' && tier == 'x'", '(role == "db" || (role == "web" && tier == "x"))'),
        ("!env == 'prod'", '!env == "prod"'),
        ("!!has(a)", "has(a)"),
        ("!(!has(a))", "has(a)"),
        ("  \t", "all()"),
        ("( ( has( a ) ) )", "has(a)"),
        ("all( )", "all()"),
        ("global(\t)", "global()"),
        ("a=='b'&&c!='d'", '(a == "b" && c != "d")'),
        ("(a == 'b' && c == 'd') && has(e)", '((a == "b" && c == "d") && has(e))'),
        ("!(has(a)||has(b))", "!(has(a) || has(b))"),
        ("a in{'z','b','z',\"é\"}", 'a in {"b", "z", "é"}'),
        ("a in {'9','8','7','6','5','4','3'}", 'a in {"3", "4", "5", "6", "7", "8", "9"}'),
        ("a not  in {}", "a not in {}"),
        ("""a == 'say "x"' && b == "it's" """, """(a == 'say "x"' && b == "it's")"""),
        ("a endswith'x'", 'a ends with "x"'),
        ("in in {'in'}", 'in in {"in"}'),
        ("has == 'all'", 'has == "all"'),
        ("-a/b.c_ contains 'two\nlines'", '-a/b.c_ contains "two\nlines"'),
    ],
)
def test_canonical_text_has_one_spelling(text: str, canonical: str) -> None:
    assert str(parse(text)) == canonical
    assert parse(text) == parse(canonical)


@pytest.mark.parametrize(
    ("text", "uid"),
    [
        ("all()", "s:5y5I3VdRZfDU01O--xXAPx2yxCQQqMf0M6IWug"),
        ("", "s:5y5I3VdRZfDU01O--xXAPx2yxCQQqMf0M6IWug"),
        ("app == 'web'", "s:oy593DLyi5BRwxLRqXScOfE9YMyW5S4KAhmzFg"),
        ("a in {'c', 'b'}", "s:SWnTWyWAHLeqA5PXVyAxVZVSk3-7hrbBcNkTsA"),
    ],
)
def test_unique_id_is_calicos(text: str, uid: str) -> None:
    assert parse(text).uid == uid


@pytest.mark.parametrize(
    ("text", "column", "why", "fix"),
    [
        ("a = 'b'", 3, "expected ==", "write == to compare"),
        ("a == b", 6, "expected string", "put the value in quotes: 'b'"),
        ("a ==", 5, "expected string", "put the value in quotes"),
        ("a", 2, "unexpected end of string looking for op", "has(a)"),
        ("a in 'x'", 6, "expected set literal", "{'a', 'b'}"),
        ("a not in (x, y)", 10, "expected set literal", "{'a', 'b'}"),
        ("a in {x}", 7, "expected }", "in quotes"),
        ("a in {'x' 'y'}", 11, "expected }", "commas"),
        ("(a == 'b'", 10, "expected )", "missing )"),
        ("a == 'b')", 9, "unexpected content at end of selector )", "remove this )"),
        ("a == 'b' &&", 12, "unexpected token: end of selector", "write a condition"),
        ("()", 2, "unexpected token: )", "write a condition"),
        ("!= 'b'", 1, "unexpected token: !=", "write a condition"),
        ("has (a)", 5, "expected == or != not: (", "write has( without a blank"),
        ("all ()", 5, "expected == or != not: (", "write all( without a blank"),
        ("has(a b)", 7, "no closing ')' after has(", "close the bracket"),
        ("has()", 5, "no label name in has( expression", "has(a)"),
        ("all(", 5, "no closing ')' after all(", "close the bracket"),
        ("a & b", 3, "expected &&", "write && for and"),
        ("has(a) & has(b)", 8, "expected &&", "write && for and"),
        ("has(a) | has(b)", 8, "expected ||", "write || for or"),
        ("has(a) and has(b)", 8, "unexpected content at end of selector and", "write && for and"),
        ("(has(a) OR has(b))", 9, "expected )", "write || for OR"),
        ("has(a), has(b)", 7, "unexpected content at end of selector ,", "join conditions"),
        ("not has(a)", 5, "unexpected characters after label 'not', was expecting an operator", "write ! for not"),
        ("a begins with 'b'", 3, "unexpected characters after label 'a', was expecting an operator", "starts with"),
        ("a == 'b'\n&& has(c)", 9, "unexpected characters", "on one line"),
        ("a == 'b", 6, "unterminated string", "another '"),
        ("a == “b”", 6, "unexpected characters", "straight quotes"),
        ("größe == 'b'", 3, "unexpected characters", "A-Z a-z 0-9"),
        ("a == '\ud800'", 7, "unexpected characters", "Unicode"),
        ("x" * (LABEL_MAX + 1) + " == 'b'", 1, "label name longer than 512 characters", "shorten"),
    ],
)
def test_error_names_the_place_and_the_slip(text: str, column: int, why: str, fix: str) -> None:
    with pytest.raises(SelectorError) as caught:
        parse(text)
    error = caught.value
    assert (error.column, error.why) == (column, why)
    assert fix in error.fix
    assert error.exit_code == 2
    assert error.text == text


def test_error_in_a_long_selector_shows_only_the_place() -> None:
    text = " && ".join(f"label{number} == 'value'" for number in range(200)) + " && here = 'x'" + " && has(a)" * 200
    with pytest.raises(SelectorError) as caught:
        parse(text)
    assert "here = 'x'" in str(caught.value)
    assert len(str(caught.value)) < 150


def nested(levels: int) -> str:
    return "(" * levels + "has(a)" + ")" * levels


def alternating(levels: int) -> str:
    """Each bracket of the text holds an or of an and, so its canonical text nests twice as deep."""
    return "has(a) || has(b) && (" * levels + "has(a)" + ")" * levels


def test_deep_nesting_is_refused_before_python_refuses_it() -> None:
    assert parse(nested(NESTING_MAX)).matches({"a": "1"})
    for text in (nested(NESTING_MAX + 1), nested(100_000), alternating(NESTING_MAX), "!(" * 100_000):
        with pytest.raises(SelectorError, match="nested more than 50 brackets deep"):
            parse(text)


def test_many_brackets_side_by_side_and_many_negations_are_not_deep() -> None:
    assert parse(" || ".join(["(has(a))"] * 10_000)).matches({"a": "1"})
    assert not parse("!" * 10_001 + "has(a)").matches({"a": "1"})


def test_labels_are_all_that_it_mentions() -> None:
    selector = parse("a == 'x' && (!has(b) || c not in {'d'}) && all()")
    assert selector.labels() == {"a", "b", "c"}


def test_prefix_goes_before_every_label_and_changes_nothing_else() -> None:
    selector = parse("projectcalico.org/name == 'a' && !(has(b) || c in {'d'} || global())")
    prefixed = selector.prefixed("pcns.")
    assert str(prefixed) == '(pcns.projectcalico.org/name == "a" && !(has(pcns.b) || pcns.c in {"d"} || global()))'
    assert str(selector).startswith("(projectcalico.org/name")


def test_equal_selectors_are_one_key_of_a_dictionary() -> None:
    counted: dict[Selector, int] = {parse("a == 'b'"): 1}
    assert counted[parse('a=="b"')] == 1
    assert parse("has(a) && has(b)") != parse("has(a) || has(b)")
