"""A parsed template. `at` is where in its text something stands, for messages."""

from __future__ import annotations

from typing import Any, NamedTuple


class Dot(NamedTuple):
    at: int


class Nil(NamedTuple):
    at: int


class Constant(NamedTuple):
    at: int
    value: str | int | float | bool


class Field(NamedTuple):
    """`.Spec.CIDR`."""

    at: int
    names: tuple[str, ...]


class Variable(NamedTuple):
    """`$pool.Spec`; `$` is what the template was given."""

    at: int
    name: str
    names: tuple[str, ...]


class Function(NamedTuple):
    at: int
    name: str


class Chain(NamedTuple):
    """`(index .Items 0).Name`."""

    at: int
    operand: Operand
    names: tuple[str, ...]


class Command(NamedTuple):
    at: int
    words: tuple[Operand, ...]


class Pipe(NamedTuple):
    """Commands, each of which gets what the one before it gave as its last argument."""

    at: int
    commands: tuple[Command, ...]
    variables: tuple[str, ...] = ()
    assigning: bool = False  # `=`, to variables that are there, instead of `:=`


Operand = Dot | Nil | Constant | Field | Variable | Function | Chain | Pipe


class Text(NamedTuple):
    text: str


class Action(NamedTuple):
    at: int
    pipe: Pipe


class Branch(NamedTuple):
    """`if`, `with` and `range`: the body, or what stands behind `else`."""

    at: int
    word: str
    pipe: Pipe
    body: Nodes
    otherwise: Nodes


class Call(NamedTuple):
    """`{{template "name" .}}`, and the place of a `{{block}}`."""

    at: int
    name: str
    pipe: Pipe | None


class Jump(NamedTuple):
    """`break` and `continue`."""

    at: int
    word: str


Node = Text | Action | Branch | Call | Jump
Nodes = tuple[Any, ...]  # of Node, which would be recursive
