"""Cases that were written blind, from causes and releases that no case had before: held as they were labelled."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.doctor_cases import diagnosis_of

from tortie.doctor.evaluation import read_label, score
from tortie.doctor.reading.cleaning import decode

FRESH = sorted((Path(__file__).parents[2] / "fresh").glob("*/expected.json"))


@pytest.mark.parametrize("label", FRESH, ids=lambda path: path.parent.name)
def test_it_is_right(label: Path) -> None:
    case = read_label(label.read_bytes(), label.parent.name)
    outcome = score(case, diagnosis_of(decode((label.parent / "evidence.txt").read_bytes())), 0.0)
    assert outcome.result == "right", outcome.said
