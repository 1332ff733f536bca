"""Reads the selector language by recursive descent, straight from the text."""

from __future__ import annotations

import re
from typing import Final

from tortie.model.selector.errors import SelectorError
from tortie.model.selector.tree import Compare, Everything, Group, Has, Member, Node, Not, Selector, depth, of

LABEL_MAX: Final = 512
NESTING_MAX: Final = 50  # far beyond what anyone writes, far below the interpreter's recursion limit

_BLANKS: Final = re.compile(r"[ \t]*")
_LABEL: Final = re.compile(r"[A-Za-z0-9_./-]+")
_RELATION: Final = re.compile(r"==|!=|contains|(starts|ends)[ \t]*(with)|(not)[ \t]*(in)|in")
_SYMBOL: Final = re.compile(r"==|!=|&&|\|\||[(){},!\"']")
_CURLY_QUOTES: Final = "‘’‚“”„«»"
_HALVES: Final = {"=": "to compare", "&": "for and", "|": "for or"}
_SPOKEN: Final = {"and": "&&", "or": "||"}
_EXAMPLE: Final = "write a condition here, like has(a), a == 'b' or a in {'b', 'c'}"


def parse(text: str) -> Selector:
    """The selector a text means; raises nothing but `SelectorError`."""
    if not text.isascii():
        try:
            text.encode()  # its id is a hash of its bytes
        except UnicodeEncodeError as error:
            raise SelectorError(text, error.start, "unexpected characters", "use valid Unicode text") from None
    return of(_Parser(text).whole())


class _Parser:
    """Stands at `position`, which after every step is behind the blanks that follow."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.nesting = 0
        self.move_to(0)

    def whole(self) -> Node:
        if self.at_end():
            return Everything("all")
        root = self.either()
        if not self.at_end():
            raise self.error(f"unexpected content at end of selector {self.seen()}", self.how_to_go_on())
        if depth(root) > NESTING_MAX:
            raise self.nesting_error()
        return root

    def either(self) -> Node:
        operands = [self.both()]
        while self.take("||"):
            operands.append(self.both())
        return operands[0] if len(operands) == 1 else Group("||", tuple(operands))

    def both(self) -> Node:
        operands = [self.operation()]
        while self.take("&&"):
            operands.append(self.operation())
        return operands[0] if len(operands) == 1 else Group("&&", tuple(operands))

    def operation(self) -> Node:
        negated = False
        while not self.text.startswith("!=", self.position) and self.take("!"):
            negated = not negated
        node = self.condition()
        if not negated:
            return node
        # Calico prints !(!x) as !!x, which reads back as x; we take the step at once, so that the text is stable.
        return node.operand if isinstance(node, Not) else Not(node)

    def condition(self) -> Node:
        if self.take("("):
            return self.bracketed()
        if self.take("has("):
            label = self.label()
            if label is None:
                raise self.error("no label name in has( expression", "name the label: has(a)")
            self.close("has(")
            return Has(label)
        for name in ("all", "global"):
            if self.take(f"{name}("):
                self.close(f"{name}(")
                return Everything(name)
        label = self.label()
        if label is None:
            raise self.error(f"unexpected token: {self.seen()}", _EXAMPLE)
        return self.relation(label)

    def bracketed(self) -> Node:
        self.nesting += 1
        if self.nesting > NESTING_MAX:
            raise self.nesting_error()
        node = self.either()
        if not self.take(")"):
            raise self.error("expected )", self.how_to_go_on())
        self.nesting -= 1
        return node

    def relation(self, label: str) -> Node:
        found = _RELATION.match(self.text, self.position)
        if not found:
            raise self.relation_error(label)
        self.move_to(found.end())
        relation = " ".join(filter(None, found.groups())) or found[0]
        if relation in ("in", "not in"):
            return Member(label, relation == "in", self.values())
        value = self.string()
        if value is None:
            raise self.error(
                "expected string", f"put the value in quotes: '{self.seen() if self.at_word() else 'value'}'"
            )
        return Compare(label, relation, value)

    def values(self) -> frozenset[str]:
        if not self.take("{"):
            raise self.error("expected set literal", "write the values in quotes and braces: {'a', 'b'}")
        values = set()
        while (value := self.string()) is not None:
            values.add(value)
            if not self.take(","):
                break
        if not self.take("}"):
            raise self.error("expected }", "write the values in quotes, with commas between them: {'a', 'b'}")
        return frozenset(values)

    def string(self) -> str | None:
        quote = self.text[self.position : self.position + 1]
        if quote not in ("'", '"'):
            return None
        start = self.position + 1
        end = self.text.find(quote, start)
        if end < 0:
            raise self.error("unterminated string", f"close the string with another {quote}")
        self.move_to(end + 1)
        return self.text[start:end]

    def label(self) -> str | None:
        found = _LABEL.match(self.text, self.position)
        if not found:
            return None
        if len(found[0]) > LABEL_MAX:
            raise self.error(f"label name longer than {LABEL_MAX} characters", "shorten the label")
        self.move_to(found.end())
        return found[0]

    def close(self, opening: str) -> None:
        if not self.take(")"):
            raise self.error(f"no closing ')' after {opening}", "close the bracket: has(a), all() or global()")

    def take(self, symbol: str) -> bool:
        if not self.text.startswith(symbol, self.position):
            return False
        self.move_to(self.position + len(symbol))
        return True

    def move_to(self, position: int) -> None:
        blanks = _BLANKS.match(self.text, position)
        self.position = blanks.end() if blanks else position

    def at_end(self) -> bool:
        return self.position == len(self.text)

    def at_word(self) -> bool:
        return _LABEL.match(self.text, self.position) is not None

    def seen(self) -> str:
        """What stands here, for an error."""
        found = _SYMBOL.match(self.text, self.position) or _LABEL.match(self.text, self.position)
        return found[0] if found else self.text[self.position : self.position + 1] or "end of selector"

    def how_to_go_on(self) -> str:
        """A condition has ended, and what follows is neither && nor ||."""
        seen = self.seen()
        if seen.lower() in _SPOKEN:
            return f"write {_SPOKEN[seen.lower()]} for {seen}"
        if seen == ")":
            return "remove this ), nothing opens it"
        return "add the missing )" if self.at_end() else "join conditions with && or ||"

    def relation_error(self, label: str) -> SelectorError:
        if self.at_end():
            return self.error("unexpected end of string looking for op", f"say what {label} has to be: has({label})")
        if label == "not":
            fix = "write ! for not"
        elif label in ("has", "all", "global") and self.seen() == "(":
            fix = f"write {label}( without a blank before the bracket"
        else:
            fix = "use ==, !=, contains, starts with, ends with, in or not in"
        if self.at_word():
            return self.error(f"unexpected characters after label '{label}', was expecting an operator", fix)
        return self.error(f"expected == or != not: {self.seen()}", fix)

    def error(self, why: str, fix: str) -> SelectorError:
        """What the character here alone shows to be wrong comes before what was expected of it."""
        here = self.seen()
        if here in _HALVES:
            why, fix = f"expected {here}{here}", f"write {here}{here} {_HALVES[here]}"
        elif here.isspace():
            why, fix = "unexpected characters", "write it on one line; only blanks and tabs may separate the parts"
        elif here in _CURLY_QUOTES:
            why, fix = "unexpected characters", "use straight quotes: ' or \""
        elif not (self.at_end() or self.at_word() or _SYMBOL.match(here)):
            why, fix = "unexpected characters", "label names are made of A-Z a-z 0-9 _ . / - and values go in quotes"
        return SelectorError(self.text, self.position, why, fix)

    def nesting_error(self) -> SelectorError:
        return self.error(
            f"nested more than {NESTING_MAX} brackets deep", "split it, or remove brackets it does not need"
        )
