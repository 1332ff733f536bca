"""Very long evidence: what is looked at has a bound, what counts is found behind it, and what was left out is said."""

from __future__ import annotations

import json

from tests.support.doctor_cases import source_of

from tortie.doctor.picture.facts import Statement
from tortie.doctor.reading.long_lines import LONGEST, bounded, pieces, whole
from tortie.doctor.shares import PROSE_CHARACTERS, PROSE_MAX, understood

SENTENCE = "We looked at the dashboards of the team again and again and wrote down what we saw there.\n"
STOPPED = "Since then the kubelet on node w1 is not running.\n"
FATAL = "2026-04-01 10:59:59.000 [FATAL][98] felix/int_dataplane.go 1035: Kernel's RPF check is set to 'loose'.  "


def test_prose_of_a_person_is_read_whole() -> None:
    read = understood(source_of(SENTENCE * 20 + STOPPED))
    assert read.left_out == ()
    assert any(isinstance(fact, Statement) and fact.place.first == 21 for fact in read.facts)


def test_endless_prose_is_only_searched_for_messages_and_that_is_said() -> None:
    read = understood(source_of(SENTENCE * (PROSE_MAX + 10) + STOPPED + f"The log says: {FATAL}\n"))
    assert not [fact for fact in read.facts if isinstance(fact, Statement) and fact.place.first > PROSE_MAX]
    [left_out] = read.left_out
    assert str(PROSE_MAX) in left_out.why.en
    assert str(PROSE_MAX) in left_out.why.zh
    assert [hit for hit in read.hits if hit.place.first == PROSE_MAX + 12]


def test_few_lines_of_prose_may_be_too_much_as_well() -> None:
    paragraph = SENTENCE.strip() + " "
    read = understood(source_of(f"{paragraph * 40}\n\n" * (PROSE_CHARACTERS // (40 * len(paragraph)) + 5)))
    assert len(read.left_out) == 1


def test_a_message_in_the_middle_of_a_very_long_line_is_found_at_its_line() -> None:
    line = "word " * 1_500 + FATAL + "word " * 1_000
    read = understood(source_of(f"[root@m1 ~]# kubectl logs x\nfirst\n{line}\n"))
    assert {hit.place.first for hit in read.hits if "RPF check" in hit.text} == {3}


def test_a_document_in_one_very_long_line_is_read() -> None:
    labels = {f"label-{number}": "x" * 40 for number in range(120)}
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"labels": labels, "name": "w1"},
        "spec": {"podCIDR": "10.9.0.0/24"},
    }
    text = json.dumps(node)
    assert len(text) > LONGEST
    read = understood(source_of(f"[root@m1 ~]# kubectl get node w1 -o json | jq -c .\n{text}\n"))
    assert any("10.9.0.0/24" in str(fact) for fact in read.facts)


def test_a_long_line_shows_head_and_tail_and_keeps_the_rest() -> None:
    line = "head " + "x " * LONGEST + "tail"
    short = bounded(line)
    assert len(short) == LONGEST
    assert short.startswith("head")
    assert short.endswith("tail")
    assert whole(short) == line
    assert " ".join(pieces(short)) == line
    assert bounded("short") == "short"
