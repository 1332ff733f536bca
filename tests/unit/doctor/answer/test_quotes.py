"""What is quoted of a long line: the part that decided, in every form, with what is left out marked."""

from __future__ import annotations

import json

import pytest
from tests.support.doctor import picture

from tortie.doctor.answer import forms
from tortie.doctor.answer.outline import best_line
from tortie.doctor.diagnosis import Quote
from tortie.doctor.judgement.judge import judge
from tortie.doctor.judgement.quoting import joined, place_of, place_of_name, shortened, telling
from tortie.doctor.reading.exhibit import Place
from tortie.doctor.words import Language
from tortie.model.measure import columns

CHAIN = (
    'Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox "{id}": '
    'plugin type="calico" failed (add): error getting ClusterInformation: connection is unauthorized: Unauthorized'
)
LONG = f"""
    $ kubectl get events -A
    NAMESPACE   LAST SEEN   TYPE      REASON                   OBJECT       MESSAGE
    web         12s         Warning   FailedCreatePodSandBox   pod/shop-1   {CHAIN.format(id="0123456789abcdef" * 30)}
"""


def rendered(form: str, text: str, language: Language = "en") -> str:
    seen = picture(text)
    return forms.form(form)(judge(seen), seen, language, colour=False)


def test_the_reason_at_the_end_of_a_long_line_is_quoted_in_text_and_json() -> None:
    assert "connection is unauthorized: Unauthorized" in " ".join(rendered("text", LONG).split())
    quotes = json.loads(rendered("json", LONG))["evidence"]
    (quote,) = (quote for quote in quotes if "ClusterInformation" in quote["quote"])
    assert quote["quote"].startswith("…")
    assert len(quote["quote"]) <= 400
    assert quote["decisive"] == ["connection is unauthorized: Unauthorized"]


def test_a_short_line_is_quoted_whole() -> None:
    line = "2021-01-21 10:08:55.349 [FATAL][498] int_dataplane.go 1035: Kernel's RPF check is set to 'loose'."
    assert shortened(line, 400).text == line


@pytest.mark.parametrize("room", [40, 80, 120, 228, 400])
@pytest.mark.parametrize(("before", "after"), [(0, 900), (900, 0), (500, 500), (5, 900), (900, 5)])
def test_what_decided_is_always_there_and_the_quote_fits(room: int, before: int, after: int) -> None:
    decisive = "dial tcp 10.96.0.1:443"
    line = ("word " * before)[:before] + decisive + (" word" * after)[:after]
    part = shortened(line, room, place_of(decisive, line))
    assert columns(part.text) <= room
    assert part.span is not None
    assert part.text[slice(*part.span)] == decisive
    assert part.text.startswith("…") == (before > 5)
    assert part.text.endswith("…") == (after > 5)


def test_the_time_of_a_long_line_stays() -> None:
    line = "2022-08-22 03:44:19.872 [ERROR][1] cni-installer: " + "step " * 100 + ": x509: certificate has expired"
    text = shortened(line, 200).text
    assert text.startswith("2022-08-22 03:44:19.872 …")
    assert text.endswith("x509: certificate has expired")


def test_wide_characters_count_twice() -> None:
    part = shortened("节点" * 200 + "连接被拒绝" + "重试" * 100, 80)
    assert columns(part.text) <= 80
    assert "连接被拒绝" in part.text


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (CHAIN, "Unauthorized"),
        ("a: b: c: Get https://10.0.0.1: dial tcp: i/o timeout (will retry)", "timeout"),
        ('level=error msg="Handler failed" error="no such file or directory" pod=x uid=y', "no such"),
        ("outer: middle: inner: what it was", "what it was"),
    ],
)
def test_without_a_known_message_the_innermost_reason_tells_most(line: str, words: str) -> None:
    span = telling(line)
    assert span is not None
    assert line[slice(*span)].endswith(words)


def test_a_line_that_tells_nothing_keeps_its_beginning() -> None:
    assert telling("x" * 500) is None
    assert shortened("x" * 500, 50).text == "x" * 49 + "…"


def test_names_stand_by_themselves() -> None:
    assert place_of_name("10.0.0.1", "10.0.0.12 and 10.0.0.1/24") == (14, 22)
    assert place_of_name("token", "tokens of the pod") is None


def test_parts_that_are_near_are_quoted_as_one() -> None:
    assert joined([(10, 20), (30, 40), (900, 910)], 160) == (10, 40)
    assert joined([], 160) is None


def test_a_candidate_quotes_the_line_that_decided_not_the_first_of_its_piece() -> None:
    quote = Quote("e1", Place("a.txt", 1, 3), "first\n  BGP not established\nlast", ((8, 27),))
    line = best_line(quote)
    assert line.text == "  BGP not established"
    assert [line.text[slice(*span)] for span in line.decisive] == ["BGP not established"]
