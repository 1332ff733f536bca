"""typing.NamedTuple for programs that start often.

The one of the standard library compiles the annotation of every field, because it might be wrong; a type checker has
done that already. Two hundred classes of a short run took a tenth of its time. Everything else is the same.
"""

from __future__ import annotations

from collections import namedtuple

__all__ = ["NamedTuple"]

TYPE_CHECKING = False  # that of `typing` would bring all of it

if TYPE_CHECKING:
    from typing import NamedTuple
else:
    _OWN = frozenset(("__module__", "__qualname__", "__annotations__"))

    class _Maker(type):
        def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, object]) -> type:
            if not bases:
                return super().__new__(cls, name, bases, body)
            fields = body.get("__annotations__", {})
            defaults = [body[field] for field in fields if field in body]
            made = namedtuple(name, fields, defaults=defaults, module=body["__module__"])
            made.__qualname__ = body["__qualname__"]
            made.__annotations__ = fields
            for key, value in body.items():
                if key not in _OWN and key not in fields:
                    setattr(made, key, value)
            return made

    class NamedTuple(metaclass=_Maker):
        pass
