"""Which releases classic mode plays, and what their numbers decide."""

from __future__ import annotations

import pytest

from tortie.model.errors import UsageError
from tortie.node.classic.release import hurry_of, read_release


@pytest.mark.parametrize(
    ("text", "shown"),
    [("3.20", "v3.20.0"), ("v3.9.5", "v3.9.5"), ("2.6", "v2.6.0"), ("3.28", "v3.28.0"), (" 3.0 ", "v3.0.0")],
)
def test_releases_are_read_as_people_write_them(text: str, shown: str) -> None:
    assert str(read_release(text)) == shown


@pytest.mark.parametrize("text", ["2.5", "3.29", "4.0", "2.7", "3", "", "latest", "3.x", "3.20.1.2", "-3.20"])
def test_what_is_not_known_is_refused_with_what_is(text: str) -> None:
    with pytest.raises(UsageError) as refused:
        read_release(text)
    assert "3.20" in refused.value.fix


def test_numbers_are_compared_as_numbers() -> None:
    old, new = read_release("3.9"), read_release("3.20")
    assert old < new
    assert (old.component, new.component) == (False, True)
    assert (old.monitors_addresses, new.monitors_addresses) == (False, True)
    assert (old.count_glued, new.count_glued) == (True, False)
    assert (read_release("3.11").refuses_loose_rpf, read_release("3.12").refuses_loose_rpf) == (True, False)
    assert (read_release("3.27").asks_birdcl, read_release("3.28").asks_birdcl) == (False, True)


@pytest.mark.parametrize(("text", "divisor"), [("", 1.0), ("10", 10.0), ("0", 1.0), ("soon", 1.0)])
def test_a_lab_in_a_hurry(text: str, divisor: float) -> None:
    assert hurry_of({"TORTIE_HURRY": text}) == divisor
