"""Templates as people write them for kubectl."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tortie.cli.jsonpath import compile_template
from tortie.cli.jsonpath.parser import NESTING_MAX
from tortie.model.errors import UsageError

DOCUMENT: dict[str, Any] = {
    "kind": "List",
    "items": [
        {
            "kind": "None",
            "metadata": {"name": "127.0.0.1", "labels": {"kubernetes.io/hostname": "a", "kubernetes.io/os": "linux"}},
            "status": {"capacity": {"cpu": "4"}, "addresses": [{"type": "LegacyHostIP", "address": "127.0.0.1"}]},
            "ready": True,
        },
        {
            "kind": "None",
            "metadata": {"name": "127.0.0.2"},
            "status": {
                "capacity": {"cpu": "8"},
                "addresses": [
                    {"type": "LegacyHostIP", "address": "127.0.0.2"},
                    {"type": "another", "address": "127.0.0.3"},
                ],
            },
            "ready": False,
        },
    ],
    "users": [
        {"name": "myself", "user": {}, "age": 30},
        {"name": "e2e", "user": {"username": "admin", "password": "it's"}, "age": 7.5},
    ],
    "numbers": [0, 1, 2, 3, 4],
    "nothing": None,
    "größe": "ü",
}


def render(template: str) -> str:
    return compile_template(template).render(DOCUMENT)


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("kind is {.kind}", "kind is List"),
        ("{.kind}", "List"),
        ("{ .kind }", "List"),
        ("{$.kind}{@.kind}", "ListList"),
        ("{['kind']}", "List"),
        ('{["kind"]}', "List"),
        ("{.items[*].metadata.name}", "127.0.0.1 127.0.0.2"),
        ("{.items[0].metadata.name}", "127.0.0.1"),
        ("{.items[-1].metadata.name}", "127.0.0.2"),
        ("{.items[-1:].metadata.name}", "127.0.0.2"),
        ("{.numbers[1:3]}", "1 2"),
        ("{.numbers[:2]}", "0 1"),
        ("{.numbers[::2]}", "0 2 4"),
        ("{.numbers[1:4:2]}", "1 3"),
        ("{.numbers[-2:]}", "3 4"),
        ("{.numbers[0,2]}", "0 2"),
        ("{.numbers[ 0 , -1 ]}", "0 4"),
        ("{.items[0].metadata.*}", '127.0.0.1 {"kubernetes.io/hostname":"a","kubernetes.io/os":"linux"}'),
        ("{.items[*]['metadata.name', 'status.capacity']}", '127.0.0.1 127.0.0.2 {"cpu":"4"} {"cpu":"8"}'),
        ("{.users[0]['name','age']}", "myself 30"),
        (r"{.items[0].metadata.labels.kubernetes\.io/os}", "linux"),
        (r"{.items[0].metadata.labels['kubernetes\.io/os']}", "linux"),
        ("{.items[0].metadata.labels['kubernetes.io/os']}", "linux"),
        ("{..name}", "127.0.0.1 127.0.0.2 myself e2e"),
        ("{.items..cpu}", "4 8"),
        ("{..addresses[*].type}", "LegacyHostIP LegacyHostIP another"),
        ("{.users[?(@.name=='e2e')].user.password}", "it's"),
        ('{.users[?(@.name=="e2e")].user.password}', "it's"),
        ("{.users[?(@.user.password == 'it\\'s')].name}", "e2e"),
        ("{.users[?(@.name!='e2e')].name}", "myself"),
        ("{.users[?(@.age<30)].name}", "e2e"),
        ("{.users[?(@.age <= 30)].name}", "myself e2e"),
        ("{.users[?(@.age>7.5)].name}", "myself"),
        ("{.users[?(@.age>=7.5)].name}", "myself e2e"),
        ("{.users[?(@.age==30)].name}", "myself"),
        ("{.users[?(@.user.username)].name}", "e2e"),
        ("{.items[?(@.ready==true)].metadata.name}", "127.0.0.1"),
        ("{.items[?(@.kind==$.kind)].kind}", ""),
        ("{.numbers[?(@>2)]}", "3 4"),
        ("{.items[*].status.addresses[?(@.type=='another')].address}", "127.0.0.3"),
        ("{.items[?(@.metadata.labels.kubernetes\\.io/os=='linux')].metadata.name}", "127.0.0.1"),
        ("{.items[?(@.status.addresses[?(@.type=='another')])].metadata.name}", "127.0.0.2"),
        ('{range .items[*]}{.metadata.name}{"\\n"}{end}', "127.0.0.1\n127.0.0.2\n"),
        (
            "{range .items[*]}[{.metadata.name}, {.status.capacity}] {end}",
            '[127.0.0.1, {"cpu":"4"}] [127.0.0.2, {"cpu":"8"}] ',
        ),
        (
            "{range .items[*]}{.metadata.name}:{range .status.addresses[*]} {@.type}{end};{end}done",
            "127.0.0.1: LegacyHostIP;127.0.0.2: LegacyHostIP another;done",
        ),
        ("{range .numbers[1:3]}<{@}>{end}", "<1><2>"),
        ("{range .items[*]}{$.kind} {end}", "List List "),
        ("{range .missing[*]}never{end}after", "after"),
        ("{'\\t'}{\"\\n\"}{'\\u00fc\\x41\\\\\\'\"'}", "\t\nüA\\'\""),
        ("a } b{.kind}", "a } bList"),
        ("{.größe}", "ü"),
        (".kind", "List"),
        ("kind", "List"),
        ("$.items[0].metadata.name", "127.0.0.1"),
        ('["kind"]', "List"),
        (".items[?(@.ready==false)].metadata.name", "127.0.0.2"),
    ],
)
def test_template_prints_what_it_asks_for(template: str, text: str) -> None:
    assert render(template) == text


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{.items[*].ready}", "true false"),
        ("{.nothing}", "null"),
        ("{.users[1].age}", "7.5"),
        ("{.numbers}", "[0,1,2,3,4]"),
        ("{.users[1].user}", '{"username":"admin","password":"it\'s"}'),
    ],
)
def test_what_is_no_string_is_printed_as_compact_json(template: str, text: str) -> None:
    assert render(template) == text


def test_whole_document_is_printed_by_dollar_and_at() -> None:
    document = {"a": ["ü", 1]}
    for template in ("{@}", "{$}", "{.}", "@"):
        assert compile_template(template).render(document) == '{"a":["ü",1]}'


@pytest.mark.parametrize(
    "template",
    [
        "{.missing}",
        "{.kind.deeper}",
        "{.nothing.deeper}",
        "{.items[7].kind}",
        "{.items[-7].kind}",
        "{.numbers[7:9]}",
        "{.kind[0]}",
        "{.kind[*]}",
        "{.metadata['a.b']}",
        "{..missing}",
        "{.users[?(@.missing=='x')]}",
        "{.users[?(@.missing!='x')]}",
        "{.kind[?(@.x)]}",
    ],
)
def test_what_is_not_there_prints_nothing(template: str) -> None:
    assert render(template) == ""


@pytest.mark.parametrize("condition", ["@.one=='1'", "@.one==true", "@.one<'9'", "@.one==@.none"])
def test_values_of_different_types_are_neither_equal_nor_ordered(condition: str) -> None:
    assert compile_template(f"{{[?({condition})]}}").render([{"one": 1, "none": None}]) == ""


@pytest.mark.parametrize("condition", ["@.no<true", "@.list<=@.list", "@.none>=@.none"])
def test_only_numbers_and_texts_have_an_order(condition: str) -> None:
    assert compile_template(f"{{[?({condition})]}}").render([{"no": False, "list": [], "none": None}]) == ""


def test_template_is_compiled_once_and_rendered_often() -> None:
    template = compile_template("{range .[*]}{.a} {end}")
    assert [template.render([{"a": number}]) for number in range(3)] == ["0 ", "1 ", "2 "]


def test_document_may_nest_deeper_than_python_recurses() -> None:
    document: Any = {"name": "deep"}
    for _ in range(5000):
        document = [document]
    assert compile_template("{..name}").render(document) == "deep"


@pytest.mark.parametrize(
    ("template", "column", "why", "fix"),
    [
        ("{.kind", 1, "unclosed action", "missing }"),
        ("ab{", 3, "unclosed action", "{.metadata.name}"),
        ("{}", 2, "empty action", "{@}"),
        ("{metadata.name}", 2, "unrecognized identifier metadata", "{.metadata}"),
        ("{.a}{end}", 5, "not in range, nothing to end", "remove"),
        ("{range .items[*]}{.kind}", 1, "range without end", "{end}"),
        ("{range .a[*]}{range .b[*]}{end}", 1, "range without end", "{end}"),
        ("{.a 'x'}", 5, "unexpected ' in action", "its own braces"),
        ("{'x}", 2, "unterminated quoted string", "another '"),
        ("{“x”}", 2, "unexpected “ in action", "straight quotes"),
        ("{'a\\q'}", 4, "unknown escape \\q", "backslash"),
        ("{'\\ud800'}", 3, "unknown escape \\u", "backslash"),
        ("{.items[0}", 10, "unterminated array", "missing ]"),
        ("{.items[0", 8, "unterminated array", "missing ]"),
        ("{.items[", 8, "unterminated array", "missing ]"),
        ("{.labels[app]}", 10, "invalid array index app", "['app']"),
        ("{.items[]}", 9, "invalid array index ]", "a number"),
        ("{.items[::0]}", 9, "step must be > 0", "positive"),
        ("{.items[?(@.a='b')]}", 14, "unrecognized filter operator =", "write =="),
        ("{.items[?(@.a=~'b')]}", 14, "unrecognized filter operator =", "write =="),
        ("{.items[?(@.a==b)]}", 16, "unrecognized identifier b", "'b'"),
        ("{.items[?(a==1)]}", 11, "unrecognized identifier a", "@.a"),
        ("{.items[?(@.a==1 && @.b==2)]}", 18, "only one condition in a filter", "-o json"),
        ("{.items[?(@.a==1", 8, "unterminated filter", ")]"),
        ("{.items[?()]}", 11, "unexpected ) in filter", "compare like"),
        ("{.items[?(@.a)}", 15, "unterminated array", "missing ]"),
        (".kind .name", 7, "unexpected .", "braces"),
        ("kind$", 5, "unexpected $", "braces"),
        (".kind}", 6, "unexpected }", "braces"),
    ],
)
def test_wrong_template_is_refused_with_place_and_hint(template: str, column: int, why: str, fix: str) -> None:
    with pytest.raises(UsageError) as caught:
        compile_template(template)
    error = caught.value
    assert error.why == why
    assert error.what.endswith(f"column {column}")
    assert fix in error.fix
    assert error.exit_code == 2


@pytest.mark.parametrize("template", ["", " \n"])
def test_empty_template_is_refused(template: str) -> None:
    with pytest.raises(UsageError, match="empty"):
        compile_template(template)


@pytest.mark.parametrize("opening", ["{range .a[*]}{.b}", "[?(@"])
def test_endless_nesting_is_refused_before_python_refuses_it(opening: str) -> None:
    with pytest.raises(UsageError, match=f"nested more than {NESTING_MAX} deep"):
        compile_template(opening * 10_000)


def test_ranges_and_filters_side_by_side_are_not_nested() -> None:
    filtered = "{.numbers[?(@==4)]}" * (NESTING_MAX + 1)
    ranges = "{range .numbers[0]}x{end}" * (NESTING_MAX + 1)
    assert render(filtered + ranges) == "4" * (NESTING_MAX + 1) + "x" * (NESTING_MAX + 1)


def test_key_after_a_filter_may_have_the_characters_of_a_relation() -> None:
    assert compile_template("{[?(@.a)].b=c}").render([{"a": 1, "b=c": "found"}]) == "found"


@given(
    st.lists(
        st.one_of(
            st.sampled_from(["{", "}", "[", "]", "?(", ")", ".", "..", "*", "@", "$", "'", '"', "\\"]), st.text()
        ),
        max_size=12,
    ).map("".join)
)
def test_any_text_is_a_template_or_a_usage_error(text: str) -> None:
    with contextlib.suppress(UsageError):
        assert isinstance(compile_template(text).render(DOCUMENT), str)
