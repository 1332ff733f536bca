"""What holds for every selector, and for every text."""

from __future__ import annotations

import contextlib

from hypothesis import given
from hypothesis import strategies as st

from tortie.model.selector import Selector, SelectorError, parse

NAMES = st.sampled_from(["a", "b", "in", "has", "not", "pcns.a/b", "x-1"])
VALUES = st.one_of(
    st.sampled_from(["", "x", "y", "xy"]),
    st.text(alphabet=st.characters(exclude_characters="'", exclude_categories=["Cs"]), max_size=4),
)
QUOTED = VALUES.map("'{}'".format)
SETS = st.lists(QUOTED, max_size=3).map(lambda values: "{" + ", ".join(values) + "}")
CONDITIONS = st.one_of(
    st.sampled_from(["all()", "global()"]),
    NAMES.map("has({})".format),
    st.tuples(NAMES, st.sampled_from(["==", "!=", "contains", "starts with", "endswith"]), QUOTED).map(" ".join),
    st.tuples(NAMES, st.sampled_from(["in", "not in", "notin"]), SETS).map(" ".join),
)
SELECTORS = st.recursive(
    CONDITIONS,
    lambda inner: st.one_of(
        inner.map("!{}".format),
        inner.map("({})".format),
        st.lists(inner, min_size=2, max_size=3).map(" && ".join),
        st.lists(inner, min_size=2, max_size=3).map(" || ".join),
    ),
    max_leaves=12,
)
LABELS = st.dictionaries(NAMES, VALUES, max_size=4)
FRAGMENTS = st.lists(
    st.one_of(
        st.sampled_from([*"()!{},'\"=&| \n\t", "&&", "||", "==", "in", "not", "starts", "with", "has(", "all(", "a"]),
        st.text(max_size=3),
    ),
    max_size=20,
).map("".join)


@given(SELECTORS, LABELS)
def test_canonical_text_reads_back_as_the_same_selector(text: str, labels: dict[str, str]) -> None:
    selector = parse(text)
    again = parse(str(selector))
    assert again == selector
    assert str(again) == str(selector)
    assert again.uid == selector.uid
    assert again.matches(labels) is selector.matches(labels)


@given(SELECTORS, LABELS)
def test_negation_turns_every_answer(text: str, labels: dict[str, str]) -> None:
    assert parse(f"!({text})").matches(labels) is not parse(text).matches(labels)


@given(SELECTORS, SELECTORS, LABELS)
def test_brackets_hold_any_selector_as_one_operand(left: str, right: str, labels: dict[str, str]) -> None:
    both = parse(left).matches(labels) and parse(right).matches(labels)
    either = parse(left).matches(labels) or parse(right).matches(labels)
    assert parse(f"({left}) && ({right})").matches(labels) is both
    assert parse(f"{left} || {right}").matches(labels) is either


@given(SELECTORS, LABELS)
def test_answer_depends_only_on_the_labels_it_mentions(text: str, labels: dict[str, str]) -> None:
    selector = parse(text)
    mentioned = {name: value for name, value in labels.items() if name in selector.labels()}
    assert selector.matches(mentioned) is selector.matches(labels)


@given(SELECTORS, LABELS)
def test_prefixed_selector_asks_prefixed_labels_the_same(text: str, labels: dict[str, str]) -> None:
    prefixed_labels = {f"pcns.{name}": value for name, value in labels.items()}
    assert parse(text).prefixed("pcns.").matches(prefixed_labels) is parse(text).matches(labels)


@given(st.one_of(st.text(), FRAGMENTS))
def test_any_text_is_a_selector_or_a_selector_error(text: str) -> None:
    with contextlib.suppress(SelectorError):
        selector = parse(text)
        assert isinstance(selector, Selector)
        assert parse(str(selector)) == selector
