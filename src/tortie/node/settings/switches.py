"""What true and false are. Calico reads them in seven ways, and silently; here they mean what they say.

Where Calico would understand something else, the value carries a warning that names both readings.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from tortie.model.fields import BadField
from tortie.model.kinds import nearest
from tortie.node.settings.setting import Meant

TRUE: Final = ("true", "1", "yes", "y", "t", "on")
FALSE: Final = ("false", "0", "no", "n", "f", "off", "never", "none")
_CALICO_FALSE: Final = ("false", "0", "no", "n", "f")


class Rule(NamedTuple):
    """How Calico reads one kind of switch, and how a person is told."""

    reads: Callable[[str], bool | None]  # None: it takes its default
    told: str
    true: str = "true"  # how to say it so that Calico understands the same
    false: str = "false"


POOL_RULE: Final = Rule(
    lambda text: text.lower() not in _CALICO_FALSE, "Calico takes all but false, 0, no, n, f for true"
)
EXACT_RULE: Final = Rule(lambda text: text == "true", "Calico takes nothing but true for true")
CASELESS_RULE: Final = Rule(lambda text: text.lower() == "true", "Calico takes nothing but true for true")
ANY_RULE: Final = Rule(
    lambda _text: True,
    "Calico takes any value for true, also this one, and would disable Felix",
    false="leave it unset",
)
KEEP_RULE: Final = Rule(lambda text: text != "false", "Calico takes all but false for true")
FELIX_RULE: Final = Rule(
    lambda text: (text.lower() in TRUE[:5]) or (False if text.lower() in (*_CALICO_FALSE, "none") else None),
    "Felix does not know this word and takes its default",
)
GO_RULE: Final = Rule(
    lambda text: (
        text in ("1", "t", "T", "TRUE", "true", "True")
        or (False if text in ("0", "f", "F", "FALSE", "false", "False") else None)
    ),
    "Calico does not know this word and ends",
)


def switch(rule: Rule, *, negative: bool = False) -> Callable[[str], Meant[bool]]:
    """`negative`: the variable's name says that something is off, so that `enabled` could mean either."""
    words = {**dict.fromkeys(TRUE, True), **dict.fromkeys(FALSE, False)}
    if not negative:
        words |= {"enable": True, "enabled": True, "disable": False, "disabled": False}

    def parse(text: str) -> Meant[bool]:
        plain = words.get(text.lower())
        if plain is None:
            near = nearest(text, ("true", "false"))
            raise BadField("is neither true nor false", f"did you mean {near}?" if near else "true or false")
        there = rule.reads(text)
        if there == plain:
            return Meant(plain)
        right = rule.true if plain else rule.false
        return Meant(plain, f"{rule.told}; Tortie takes it for {str(plain).lower()}, as it says", right)

    return parse
