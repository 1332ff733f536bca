"""Calico's label selectors: `role == 'db' && has(tier)`.

    selector  := "" | or                                     nothing means all()
    or        := and { "||" and }
    and       := operation { "&&" operation }
    operation := { "!" } ( "(" or ")" | "all()" | "global()" | "has(" LABEL ")" | LABEL relation )
    relation  := ( "==" | "!=" | "contains" | "starts with" | "ends with" ) STRING | ( "in" | "not in" ) SET
    SET       := "{" [ STRING { "," STRING } [ "," ] ] "}"
    LABEL     := 1 to 512 of A-Z a-z 0-9 _ . / -
    STRING    := between ' or ", without escapes

Blanks and tabs separate; a newline does not. `!` binds tighter than `&&`. A label that is not there satisfies `!=`
and `not in` and nothing else.
"""

from tortie.model.selector.errors import SelectorError
from tortie.model.selector.parser import parse
from tortie.model.selector.tree import Selector

__all__ = ["Selector", "SelectorError", "parse"]
