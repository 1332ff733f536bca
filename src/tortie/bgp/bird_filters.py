"""BGPFilters as functions of BIRD: each rule is one `if`, and the first that fits decides.

A route's priority travels as its local preference, as in Calico: the smaller the priority, the greater the
preference. A route that no rule decides leaves the function, and what follows the call decides.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, Literal

from tortie.bgp import bird_words as words
from tortie.bgp.plan import Session
from tortie.model.network import Family
from tortie.model.resources.bgp import BGPFilterSpec, FilterOperation, FilterRule

Direction = Literal["import", "export"]
DIRECTIONS: Final[tuple[Direction, Direction]] = ("import", "export")

PREFERENCE_OF_0: Final = (1 << 31) - 1  # a priority and its local preference add up to this
NEVER: Final = "false"


def function_name(name: str, direction: Direction, family: Family) -> str:
    return words.quoted_symbol("bgp_", name, f"_{direction}FilterV{family}")


def rules_of(spec: BGPFilterSpec, direction: Direction, family: Family) -> tuple[FilterRule, ...]:
    if family == 4:
        return spec.importV4 if direction == "import" else spec.exportV4
    return spec.importV6 if direction == "import" else spec.exportV6


def filter_functions(filters: Mapping[str, BGPFilterSpec], family: Family) -> Iterator[str]:
    """The functions of all filters, by name; a list without rules gives none."""
    for name, spec in sorted(filters.items()):
        for direction in DIRECTIONS:
            if rules := rules_of(spec, direction, family):
                statements = "".join(f"  {_statement(rule)}\n" for rule in rules)
                yield f"function {function_name(name, direction, family)}(bool same_as) {{\n{statements}}}\n"


def filter_calls(session: Session, filters: Mapping[str, BGPFilterSpec], direction: Direction) -> list[str]:
    """The statements of a session that ask its filters, in the order in which the session names them."""
    same_as = "true" if session.internal else "false"
    return [
        f"{function_name(name, direction, session.family)}({same_as});"
        for name in session.filters
        if rules_of(filters[name], direction, session.family)
    ]


def _statement(rule: FilterRule) -> str:
    conditions = [condition for condition in _conditions(rule) if condition]
    actions = [action for operation in rule.operations for action in _actions(operation)]
    actions.append("accept;" if rule.action == "Accept" else "reject;")
    if not conditions:
        return "\n  ".join(actions)
    tested = " && ".join(f"({condition})" for condition in conditions)
    if len(actions) == 1:
        return f"if {tested} then {actions[0]}"
    block = "".join(f"    {action}\n" for action in actions)
    return f"if {tested} then {{\n{block}  }}"


def _conditions(rule: FilterRule) -> Iterator[str]:
    """What a route must be; all of it. An empty text is always true."""
    if rule.peerType:
        yield "same_as" if rule.peerType == "iBGP" else "!same_as"
    yield _network_condition(rule)
    if rule.source:
        yield "source = RTS_BGP"
    if rule.interface:
        # The interface of a route without one is an empty text, which * would match.
        yield f'(ifname != "") && (ifname ~ {words.interfaces(rule.interface)})'
    if rule.communities is not None:
        for value in rule.communities.values:
            attribute, community = words.community(value)
            yield f"{community} ~ {attribute}"
        if not rule.communities.values:
            yield NEVER
    if rule.asPathPrefix:
        yield f"bgp_path ~ [= {' '.join(str(int(number)) for number in rule.asPathPrefix)} * =]"
    if rule.priority is not None:
        yield f"defined(bgp_local_pref) && (bgp_local_pref = {PREFERENCE_OF_0 - rule.priority})"


def _network_condition(rule: FilterRule) -> str:
    """Prefix lengths narrow the set of networks that the operator asks about, before it is negated."""
    if rule.cidr is None:
        return ""
    cidr = words.prefix(rule.cidr)
    lengths = rule.prefixLength
    # A pattern of BIRD that begins below the network's own length would match the networks around it, too.
    shortest, longest = rule.cidr.prefixlen, int(rule.cidr.max_prefixlen)
    if lengths is not None:
        shortest = max(shortest, lengths.min or 0)
        longest = min(longest, longest if lengths.max is None else lengths.max)
    wanted = rule.matchOperator in ("Equal", "In")
    if shortest > longest or (rule.matchOperator in ("Equal", "NotEqual") and shortest > rule.cidr.prefixlen):
        return NEVER if wanted else ""
    if rule.matchOperator in ("Equal", "NotEqual"):
        return f"net {'=' if wanted else '!='} {cidr}"
    inside = cidr if lengths is None else f"[ {cidr}{{{shortest},{longest}}} ]"
    return f"net {'~' if wanted else '!~'} {inside}"


def _actions(operation: FilterOperation) -> Iterator[str]:
    if operation.addCommunity is not None:
        attribute, community = words.community(operation.addCommunity.value)
        yield f"{attribute}.add({community});"
    if operation.prependASPath is not None:
        for number in reversed(operation.prependASPath.prefix):  # the last one that is put in front is the first
            yield f"bgp_path.prepend({int(number)});"
    if operation.setPriority is not None:
        yield f"bgp_local_pref = {PREFERENCE_OF_0 - operation.setPriority.value};"
