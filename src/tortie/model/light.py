"""What annotations need of `typing`, for the modules that every command imports.

Importing `typing`, with the `re` and `enum` it brings, takes a command two thirds of the time that Python itself takes
to start, and all it does there is to be named. A type checker sees the real thing; a program sees names that stand for
nothing. Modules whose annotations are read at run time, as msgspec does, take the real ones.
`tests/contracts/test_cli_light_start.py` holds that `tortie get` imports neither.
"""

from __future__ import annotations

from tortie.model.tuples import NamedTuple

__all__ = [
    "TYPE_CHECKING",
    "Any",
    "Final",
    "Generic",
    "Literal",
    "NamedTuple",
    "Protocol",
    "TextIO",
    "TypeVar",
]

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any, Final, Generic, Literal, Protocol, TextIO, TypeVar
else:

    class _Named:
        """Stands in a union, and takes parameters."""

        def __getitem__(self, _parameters: object) -> object:
            return object

        def __or__(self, _other: object) -> object:
            return object

        __ror__ = __or__

    class _Base:
        """Stands among the bases of a class, with parameters or without."""

        def __class_getitem__(cls, _parameters: object) -> type:
            return cls

    class Generic(_Base):
        pass

    class Protocol(_Base):
        pass

    Any = TextIO = object
    Final = Literal = _Named()

    def TypeVar(_name: str, **_bounds: object) -> object:
        return object
