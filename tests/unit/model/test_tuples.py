"""Our NamedTuple is the standard one, only sooner made."""

from __future__ import annotations

import pickle
from typing import NamedTuple as Standard
from typing import get_type_hints

import pytest

from tortie.model.tuples import NamedTuple


class Ours(NamedTuple):
    """A thing."""

    name: str
    size: int = 3
    rest: tuple[str, ...] = ()

    @property
    def loud(self) -> str:
        return self.name.upper()

    def __str__(self) -> str:
        return f"<{self.name}>"


class Theirs(Standard):
    """A thing."""

    name: str
    size: int = 3
    rest: tuple[str, ...] = ()


def test_it_is_a_named_tuple() -> None:
    one = Ours("a", rest=("b",))
    assert tuple(one) == ("a", 3, ("b",))
    assert one._replace(size=4).size == 4
    assert one._asdict() == {"name": "a", "size": 3, "rest": ("b",)}
    assert (one.loud, str(one), repr(one)) == ("A", "<a>", "Ours(name='a', size=3, rest=('b',))")
    assert pickle.loads(pickle.dumps(one)) == one
    assert hash(one) == hash(tuple(one))
    with pytest.raises(TypeError):
        Ours()  # type: ignore[call-arg]


@pytest.mark.parametrize("name", ["_fields", "_field_defaults", "__doc__", "__module__", "__slots__", "__match_args__"])
def test_it_has_what_the_standard_one_has(name: str) -> None:
    assert getattr(Ours, name) == getattr(Theirs, name)


def test_types_can_be_asked_for() -> None:
    assert get_type_hints(Ours) == {"name": str, "size": int, "rest": tuple[str, ...]}
