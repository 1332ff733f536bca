"""Which nodes explain the sessions of a cluster that are not up: the odd ones, or a cut right through it. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Literal, NamedTuple

Pair = tuple[str, str]  # names of two nodes
Standing = Literal["fresh", "stale", "missing"]
# up: both ends say so. half: one end says so, and nobody believes or hears the other. disputed: one end says so, and
# the other, just as credible, does not. unknown: nobody credible has said anything.
Verdict = Literal["up", "half", "disputed", "down", "unknown"]


class Wrong(NamedTuple):
    """A session between two nodes that is not what it should be."""

    pair: Pair
    verdict: Verdict


@cache
def in_order(name: str) -> tuple[tuple[str, int], ...]:
    """node-2 stands before node-10."""
    parts: list[tuple[str, int]] = []
    letters = digits = ""
    for sign in name:
        if sign.isascii() and sign.isdigit():
            digits += sign
            continue
        if digits:
            parts.append((letters, int(digits)))
            letters = digits = ""
        letters += sign
    return (*parts, (letters, int(digits or -1)))


def ordered(one: str, other: str) -> Pair:
    return (one, other) if in_order(one) <= in_order(other) else (other, one)


def odd_nodes(
    wrong: Sequence[Wrong], wanted: frozenset[Pair], standings: Mapping[str, Standing]
) -> tuple[list[str], tuple[Wrong, ...]]:
    """The nodes that together explain the most, worst first, and the sessions that none of them explains.

    A node is the odd one when it takes part in more of the trouble than any other. Where several are equal, one that is
    silent is; or one that has lost every session, as long as others have not. A node whose trouble is all with nodes
    that have never reported is not: they are.
    """
    missing = {name for name, standing in standings.items() if standing == "missing"}
    left = [each for each in wrong if each.verdict in ("down", "disputed")]
    sessions = Counter(name for pair in {ordered(*pair) for pair in wanted} for name in pair)
    odd: list[str] = []
    while left:
        trouble = Counter(name for each in left for name in each.pair)
        most = max(trouble.values())
        worst = sorted((name for name in trouble if trouble[name] == most), key=in_order)
        silent = [name for name in worst if standings[name] != "fresh"]
        lost = [name for name in worst if sum(name in each.pair for each in wrong) == sessions[name]]
        if len(worst) == 1 and most > 1:
            partners = {name for each in left if worst[0] in each.pair for name in each.pair} - {worst[0]}
            name = min(partners, key=in_order) if partners <= missing and worst[0] not in missing else worst[0]
        elif silent and (len(silent) < len(worst) or most > 1):
            name = silent[0]
        elif most > 1 and lost and len(worst) < len(trouble):
            name = lost[0]
        else:
            break
        odd.append(name)
        left = [each for each in left if name not in each.pair]
    silent_too = [name for name, standing in standings.items() if standing != "fresh" and name not in odd]
    return odd + [name for name in silent_too if sessions[name]], tuple(left)


def groups(unexplained: Sequence[Wrong], judged: Sequence[Wrong]) -> tuple[tuple[str, ...], ...]:
    """Whether the trouble that is left runs between parts of the cluster that are each whole."""
    involved = {name for each in unexplained for name in each.pair}
    group = {name: {name} for name in involved}
    for each in judged:
        one, other = each.pair
        if each.verdict in ("up", "half") and one in group and other in group and group[one] is not group[other]:
            group[one] |= group[other]
            for name in group[other]:
                group[name] = group[one]
    parts = list({id(members): members for members in group.values()}.values())
    if len(parts) < 2 or any(len(members) < 2 for members in parts):
        return ()
    if any(group[each.pair[0]] is group[each.pair[1]] for each in unexplained):
        return ()
    return tuple(tuple(sorted(members, key=in_order)) for members in sorted(parts, key=lambda part: min(part)))
