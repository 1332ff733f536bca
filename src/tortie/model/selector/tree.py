"""A selector once it is parsed: a frozen tree that is asked about labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

Labels = Mapping[str, str]

# Each is given the label's value, or None where the label is missing.
COMPARISONS: Final[dict[str, Callable[[str | None, str], bool]]] = {
    "==": lambda found, value: found == value,
    "!=": lambda found, value: found != value,
    "contains": lambda found, value: found is not None and value in found,
    "starts with": lambda found, value: found is not None and found.startswith(value),
    "ends with": lambda found, value: found is not None and found.endswith(value),
}


class Everything(NamedTuple):
    """`all()`, and `global()`, which by itself is true as well: policies rewrite it before it is asked."""

    name: str

    def matches(self, _labels: Labels) -> bool:
        return True

    def __str__(self) -> str:
        return f"{self.name}()"

    def labels(self) -> frozenset[str]:
        return frozenset()

    def prefixed(self, _prefix: str) -> Node:
        return self


class Has(NamedTuple):
    label: str

    def matches(self, labels: Labels) -> bool:
        return self.label in labels

    def __str__(self) -> str:
        return f"has({self.label})"

    def labels(self) -> frozenset[str]:
        return frozenset((self.label,))

    def prefixed(self, prefix: str) -> Node:
        return self._replace(label=prefix + self.label)


class Compare(NamedTuple):
    """`label == "value"` and the other relations to one value."""

    label: str
    relation: str  # a key of COMPARISONS
    value: str

    def matches(self, labels: Labels) -> bool:
        return COMPARISONS[self.relation](labels.get(self.label), self.value)

    def __str__(self) -> str:
        return f"{self.label} {self.relation} {_quoted(self.value)}"

    def labels(self) -> frozenset[str]:
        return frozenset((self.label,))

    def prefixed(self, prefix: str) -> Node:
        return self._replace(label=prefix + self.label)


class Member(NamedTuple):
    """`label in {"a", "b"}`, or with `inside` false `label not in {"a", "b"}`."""

    label: str
    inside: bool
    values: frozenset[str]

    def matches(self, labels: Labels) -> bool:
        return (labels.get(self.label) in self.values) is self.inside

    def __str__(self) -> str:
        return f"{self.label} {'in' if self.inside else 'not in'} {{{', '.join(map(_quoted, sorted(self.values)))}}}"

    def labels(self) -> frozenset[str]:
        return frozenset((self.label,))

    def prefixed(self, prefix: str) -> Node:
        return self._replace(label=prefix + self.label)


class Not(NamedTuple):
    operand: Node

    def matches(self, labels: Labels) -> bool:
        return not self.operand.matches(labels)

    def __str__(self) -> str:
        return f"!{self.operand}"

    def labels(self) -> frozenset[str]:
        return self.operand.labels()

    def prefixed(self, prefix: str) -> Node:
        return Not(self.operand.prefixed(prefix))


class Group(NamedTuple):
    """Two or more operands under one `&&` or `||`."""

    operator: str
    operands: tuple[Node, ...]

    def matches(self, labels: Labels) -> bool:
        settling = self.operator == "||"  # one true operand settles an or, one false operand an and
        for operand in self.operands:
            if operand.matches(labels) is settling:
                return settling
        return not settling

    def __str__(self) -> str:
        return f"({f' {self.operator} '.join(map(str, self.operands))})"

    def labels(self) -> frozenset[str]:
        return frozenset().union(*(operand.labels() for operand in self.operands))

    def prefixed(self, prefix: str) -> Node:
        return Group(self.operator, tuple(operand.prefixed(prefix) for operand in self.operands))


Node = Everything | Has | Compare | Member | Not | Group


class Selector(NamedTuple):
    """What `parse` returns. Two are equal when their canonical texts are; `str` gives that text."""

    text: str
    root: Node

    def matches(self, labels: Labels) -> bool:
        return self.root.matches(labels)

    def labels(self) -> frozenset[str]:
        """The names of the labels it mentions."""
        return self.root.labels()

    def prefixed(self, prefix: str) -> Selector:
        """The same question about labels whose names begin with `prefix`, such as `pcns.` for a namespace's."""
        return of(self.root.prefixed(prefix))

    @property
    def uid(self) -> str:
        """Calico's id of the selector, from which it names IP sets."""
        from tortie.model.names import unique_id

        return unique_id("s", self.text)

    def __str__(self) -> str:
        return self.text


def of(root: Node) -> Selector:
    return Selector(str(root), root)


def depth(node: Node) -> int:
    """How many brackets its canonical text nests."""
    match node:
        case Group(_, operands):
            return 1 + max(depth(operand) for operand in operands)
        case Not(operand):
            return depth(operand)
        case _:
            return 0


def _quoted(value: str) -> str:
    # A parsed value never has both kinds: it stood between two of one kind.
    return f"'{value}'" if '"' in value else f'"{value}"'
