"""Both languages say everything, with the same values."""

from __future__ import annotations

import json
import re
import string

import pytest

from tortie.lab.failures import FAILURES, PHRASES, LabFailure, as_message, at, from_message, in_short, in_words, phrase
from tortie.lab.words import TEXTS, counted, say
from tortie.model.errors import TortieError


def placeholders(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


def has_chinese(text: str) -> bool:
    return re.search("[\u4e00-\u9fff]", text) is not None


@pytest.mark.parametrize("key", TEXTS)
def test_a_text_has_the_same_values_in_both_languages(key: str) -> None:
    pair = TEXTS[key]
    assert placeholders(pair.en) == placeholders(pair.zh)
    assert pair.en.isascii() or "…" in pair.en
    assert has_chinese(pair.zh) or not re.search("[a-z]", re.sub(r"\{.*?\}", "", pair.zh))


@pytest.mark.parametrize("key", FAILURES)
def test_a_failure_has_the_same_values_in_both_languages(key: str) -> None:
    kind = FAILURES[key]
    for english, chinese in zip(kind.en, kind.zh, strict=True):
        assert english
        assert chinese
        assert placeholders(english) == placeholders(chinese)
    assert kind.exit_code in (1, 2, 3)


@pytest.mark.parametrize("key", FAILURES)
def test_a_failure_keeps_what_it_says_on_its_way_from_the_keeper(key: str) -> None:
    values = {name: f"<{name}>" for text in FAILURES[key].en for name in placeholders(text)}
    failure = LabFailure(key, **values)
    again = from_message(as_message(failure))
    assert isinstance(again, LabFailure)
    assert (again.told("en"), again.told("zh"), again.exit_code) == (
        failure.told("en"),
        failure.told("zh"),
        failure.exit_code,
    )
    assert has_chinese(" ".join(again.told("zh")))


@pytest.mark.parametrize("key", PHRASES)
def test_a_phrase_has_the_same_values_in_both_languages(key: str) -> None:
    pair = PHRASES[key]
    assert placeholders(pair.en) == placeholders(pair.zh)
    assert has_chinese(pair.zh) or not re.search("[a-z]", re.sub(r"\{.*?\}", "", pair.zh))


def test_what_a_failure_says_has_parts_with_words_of_their_own() -> None:
    """Also on its way from another process, and as a part of something else."""
    why = phrase("no-link-named", link="eth7")
    failure = LabFailure("deed-refused", deed=at("node-1", phrase("address", address="10.0.0.1/24")), why=why)
    again = from_message(json.loads(json.dumps(as_message(failure))))
    assert isinstance(again, LabFailure)
    assert again.told("en")[:2] == ("not done: node-1: address 10.0.0.1/24", "there is no link eth7")
    assert again.told("zh")[:2] == ("未执行：node-1：地址 10.0.0.1/24", "没有网络接口 eth7")
    assert again.values == failure.values
    assert in_words("en", in_short(again)) == "not done: node-1: address 10.0.0.1/24: there is no link eth7"
    assert in_words("zh", in_short(again)) == "未执行：node-1：地址 10.0.0.1/24：没有网络接口 eth7"


def test_an_error_that_is_not_the_labs_own_arrives_too() -> None:
    error = TortieError("no link", "the kernel says so", "look at dmesg")
    again = from_message(as_message(error))
    assert (again.what, again.why, again.fix, again.exit_code) == ("no link", "the kernel says so", "look at dmesg", 1)
    assert in_short(again) == "no link: the kernel says so"


def test_numbers() -> None:
    assert counted("en", "count.links", 1) == "1 link"
    assert counted("en", "count.links", 7) == "7 links"
    assert counted("zh", "count.links", 1) == "1 个网络接口"
    assert say("zh", "up.seconds", seconds="2.6") == "2.6 秒"
