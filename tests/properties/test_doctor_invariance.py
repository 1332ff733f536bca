"""The answer depends on what the evidence says, not on how it is laid out, named, worded or damaged. Over all cases."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
from tests.properties.doctor_translations import OWN, SHARED, TRANSLATIONS
from tests.support.doctor_cases import Case, Told, cases, source_of, told, told_as_pasted
from tests.support.doctor_variants import (
    Renaming,
    blocks,
    coloured,
    fenced_all,
    prose_paragraphs,
    replaced_prose,
    reversed_exhibits,
    shuffled_exhibits,
    tabbed,
    unfenced,
    with_crlf,
    without_prose,
    wrapped_prose,
)

from tortie.doctor.examine import picture_of

# What people say decides in these; without their words the answer must be an honest "undetermined".
DECIDED_BY_PROSE = {
    "node-overloaded-d": "the load of the node is only told",
    "000": "the load of the two nodes is only told",
    "bgp-peer-misconfigured-x": "that the routes are missing is only told",
    "conntrack-full-a": "the kernel's lines are of some day; that anybody suffers is only told",
    "ipip-blocked-by-cloud-x": "a security group alone is no proof; that pods do not reach each other is only told",
    "leftover-iptables-a": "relics may harm nobody; that somebody suffers is only told",
    "leftover-iptables-x": "relics may harm nobody; that somebody suffers is only told",
    "policy-not-enforced-b": "that packets pass which a policy forbids is only told",
    "policy-not-enforced-c": "that packets pass which a policy forbids is only told",
}
# Here even what is wrong is only told: all that is shown is well, and may be called so.
TROUBLE_ONLY_TOLD = {
    "insufficient-traffic-a": "the table shows pods that are all 1/1",
    "insufficient-x5": "the table shows pods that are all 1/1",
    "insufficient-y5": "the tables show pods and sessions that are all well",
    "graceful-restart-wait-x": "the wait is over in all that is shown; what it did is only told",
    "policy-not-enforced-a": "that a packet passes which a policy forbids is only told; the node is well",
}

ALL = pytest.mark.parametrize("case", cases(), ids=str)
ORDERS: dict[str, Callable[[str], str]] = {
    "reversed": reversed_exhibits,
    "shuffled": partial(shuffled_exhibits, seed=1),
    "shuffled again": partial(shuffled_exhibits, seed=2),
}
DAMAGES: dict[str, Callable[[str], str]] = {
    "CRLF": with_crlf,
    "coloured": coloured,
    "tabs": tabbed,
    "everything fenced": fenced_all,
    "nothing fenced": unfenced,
    "prose wrapped": wrapped_prose,
}


def names_culprit(case: Case, answer: Told) -> bool:
    culprit = case.label.culprit
    return any(culprit in text or text in culprit for text in answer.objects)


@ALL
@pytest.mark.parametrize("order", ORDERS)
def test_order_of_exhibits_does_not_matter(case: Case, order: str) -> None:
    before = told_as_pasted(case)
    after = told(ORDERS[order](case.text))
    assert after.claim == before.claim
    if names_culprit(case, before):
        assert names_culprit(case, after)


@ALL
@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_of_a_paste_does_not_matter(case: Case, damage: str) -> None:
    assert told(DAMAGES[damage](case.text)) == told_as_pasted(case)


@ALL
def test_without_prose_no_other_claim(case: Case) -> None:
    after = told(without_prose(case.text))
    if case.name in DECIDED_BY_PROSE:
        assert after.verdict == "undetermined"
    elif case.name in TROUBLE_ONLY_TOLD:
        assert after.verdict in ("undetermined", "healthy")
    else:
        assert after.claim == told_as_pasted(case).claim


@ALL
def test_names_and_addresses_do_not_matter(case: Case) -> None:
    before = told_as_pasted(case)
    renamed = Renaming(case.text, picture_of([source_of(case.text)]))
    after = told(renamed(case.text))
    assert after.claim == before.claim
    assert after.objects == frozenset(map(renamed, before.objects))


TRANSLATED = [case for case in cases() if case.name in TRANSLATIONS]


@pytest.mark.parametrize("case", TRANSLATED, ids=str)
def test_language_of_prose_does_not_matter(case: Case) -> None:
    paragraphs, others = prose_paragraphs(case.text), TRANSLATIONS[case.name]
    assert len(paragraphs) == len(others), "the prose has changed: translate it again"
    other = dict(zip(paragraphs, others, strict=True))
    text = replaced_prose(case.text, lambda paragraph: other[paragraph] or paragraph)
    assert all(paragraph in text for paragraph in others)
    assert told(text).claim == told_as_pasted(case).claim


def test_variants_are_not_the_text_itself() -> None:
    """The properties above would hold of themselves if nothing were changed."""
    several = [case for case in cases() if len(blocks(case.text)) > 2]
    assert len(several) > len(cases()) / 2
    assert all(reversed_exhibits(case.text) != case.text for case in several)
    renamed = [Renaming(case.text, picture_of([source_of(case.text)])).renames for case in cases()]
    assert sum(map(bool, renamed)) > 0.8 * len(renamed)


def test_every_line_is_in_a_block() -> None:
    for case in cases():
        kept = {line.strip() for block in blocks(case.text) for line in [*block.heading, *block.lines]}
        lost = [line for line in case.text.splitlines() if line.strip() and line.strip() not in kept]
        assert all(
            line.lstrip("> ").startswith(("```", "~~~", "<")) or line.rstrip().endswith(("$", "#", "^C"))
            for line in lost
        )


def test_lists_name_cases_that_exist() -> None:
    names = {case.name for case in cases()}
    shared = any(case.shared for case in cases())
    assert len(OWN) >= 40
    assert set(OWN) <= names
    if shared:
        assert set(SHARED) | set(DECIDED_BY_PROSE) | set(TROUBLE_ONLY_TOLD) <= names
        spoken = {case.name for case in cases() if case.shared and prose_paragraphs(case.text)}
        assert spoken <= set(SHARED)
