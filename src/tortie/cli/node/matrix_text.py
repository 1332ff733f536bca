"""The matrix of who sees whom as people read it, and a sentence about each odd node."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from tortie.bgp.plan import BGP_PORT
from tortie.cli.node.matrix import Cell, FamilyMatrix, Matrix, Odd, Outsider, Row
from tortie.cli.node.suspects import Wrong, in_order
from tortie.cli.tables import table

# More rows than this are not read by anybody: only those with something wrong are shown.
NODES_SHOWN: Final = 20
_WIDTH: Final = 100  # a wider matrix has numbers instead of names above its columns
_PAIRS_SHOWN: Final = 10
_NAMES_SHOWN: Final = 4
_HOLD: Final = timedelta(seconds=100)  # BGP's 90 s, and a little for the report
_OWN: Final = "."
_CALICO_NODE: Final = "a calico-node reports only where a CalicoNodeStatus asks it to"
_TYPES: Final = {"mesh": "node-to-node mesh", "node": "node specific", "global": "global"}


class Sentence(NamedTuple):
    what: str
    fix: str = ""


def as_text(found: Matrix, now: datetime, *, everything: bool = False) -> str:
    blocks = [_family_text(family, now, everything=everything) for family in found.families]
    if not found.nodes:
        blocks.append("There is no node in this datastore.\n")
    elif not found.families:
        blocks.append("No BGP session is expected and none is reported.\n")
    if found.without_bgp:
        blocks.append(f"Without an address for BGP: {_names(found.without_bgp)}\n")
    return "\n".join(blocks)


def _family_text(family: FamilyMatrix, now: datetime, *, everything: bool) -> str:
    small = everything or len(family.rows) <= NODES_SHOWN
    blocks = [[_summary(family)]]
    shown = family.rows if small else _with_trouble(family)[:NODES_SHOWN]
    if len(shown) > 1 or small:
        blocks.append(_grid(shown))
        blocks.append(_legend(shown))
    if not small:
        blocks.append([f"--all shows all {len(family.rows)} rows."])
    blocks.append([line for each in _silent(family, now) for line in _lines(each)])
    for odd in _told_odd(family):
        what, *fix = _lines(sentence(odd, now))
        blocks.append([what, *([] if small else _views(family, odd)), *fix])
    blocks.append([line for each in _rest(family, now) for line in _lines(each)])
    if family.outsiders:
        blocks.append(["Peers that are no nodes:", *_outsider_lines(family.outsiders, now)])
    return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"


def _lines(each: Sentence) -> list[str]:
    return [each.what, f"  fix: {each.fix}"] if each.fix else [each.what]


def _summary(family: FamilyMatrix) -> str:
    nodes = f"{len(family.rows)} node{'' if len(family.rows) == 1 else 's'}"
    if not family.expected:
        return f"IPv{family.family}: no sessions are expected between {nodes}."
    if family.expected == 1:
        return f"IPv{family.family}: the session between {nodes} is {'up' if family.up else 'not up on both ends'}."
    if family.up == family.expected:
        return f"IPv{family.family}: all {family.expected} sessions between {nodes} are up."
    return f"IPv{family.family}: {family.up} of {family.expected} sessions between {nodes} are up on both ends."


def _with_trouble(family: FamilyMatrix) -> list[Row]:
    names = {odd.name for odd in family.odd} | {name for each in family.unexplained for name in each.pair}
    return [row for row in family.rows if row.name in names]


def _grid(rows: Sequence[Row]) -> list[str]:
    names = [row.name for row in rows]
    lines = _laid_out(rows, names, names)
    if max(map(len, lines)) <= _WIDTH:
        return lines
    numbers = [str(number) for number, _ in enumerate(names, 1)]
    return _laid_out(rows, [f"{number} {name}" for number, name in zip(numbers, names, strict=True)], numbers)


def _laid_out(rows: Sequence[Row], labels: Sequence[str], headings: Sequence[str]) -> list[str]:
    body = [
        [label, *(_cell(row.cells.get(other.name)) for other in rows), _mark(row)]
        for label, row in zip(labels, rows, strict=True)
    ]
    columns = list(zip(["", *headings, ""], *body, strict=True))
    widths = [max(map(len, column)) + 2 for column in columns]
    return [
        "".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in zip(*columns, strict=True)
    ]


def _cell(cell: Cell | None) -> str:
    if cell is None:
        return _OWN
    return f"{cell.state}!" if cell.disputed else cell.state


def _mark(row: Row) -> str:
    return {"stale": "(stale)", "missing": "(no report)", "fresh": ""}[row.standing]


def _legend(rows: Sequence[Row]) -> list[str]:
    """Only what needs an explanation, which a mesh that is well does not."""
    shown = {row.name for row in rows}
    cells = [cell for row in rows for other, cell in row.cells.items() if other in shown]
    meanings = (
        ("!", "the two ends disagree", any(cell.disputed for cell in cells)),
        ("none", "should be there, and that node's BIRD does not know it", any(cell.state == "none" for cell in cells)),
        ("?", "that node has not reported", any(cell.state == "?" for cell in cells)),
        ("stale", "written before what the others have seen since", any(row.standing == "stale" for row in rows)),
    )
    told = [f"{sign}: {meaning}" for sign, meaning, used in meanings if used]
    return ["A row says what that node sees. " + "; ".join(told) + "."] if told else []


def _told_odd(family: FamilyMatrix) -> tuple[Odd, ...]:
    """Each has a sentence of its own, except for several that have never reported."""
    if len(_missing(family)) < 2:
        return () if _nobody_reports(family) else family.odd
    return tuple(odd for odd in family.odd if odd.standing != "missing")


def _missing(family: FamilyMatrix) -> list[Odd]:
    return [odd for odd in family.odd if odd.standing == "missing"]


def _silent(family: FamilyMatrix, now: datetime) -> Iterator[Sentence]:
    """That several nodes have never reported is one thing to say, and not one about each of them."""
    missing = sorted(_missing(family), key=lambda odd: in_order(odd.name))
    if len(missing) < 2 or _nobody_reports(family):
        return
    down = [odd for odd in missing if odd.down]
    moments = [odd.since for odd in down if odd.since]
    since = f" since {clock(min(moments), now)}" if moments else ""
    told = "nobody says that they are down"
    if down:
        which = "them" if len(down) == len(missing) else _names([odd.name for odd in down])
        told = f"sessions with {which} are down{since}"
    what = f"No report from {_names([odd.name for odd in missing])}; {told}."
    yield Sentence(what, f"were their agents ever started? `tortie node check` on each of them; {_CALICO_NODE}")


def _nobody_reports(family: FamilyMatrix) -> bool:
    return all(row.standing == "missing" for row in family.rows)


def sentence(odd: Odd, now: datetime) -> Sentence:
    """What is the matter with a node, and where to look."""
    who, there = f"{odd.name} ({odd.address})", f"on {odd.name}"
    since = f" since {clock(odd.since, now)}" if odd.since else ""
    counted = _counted(odd)
    if odd.standing == "missing":
        if odd.down:
            what = f"{who} is the odd one: {counted}{since}, and it has never reported."
            return Sentence(what, f"was its agent ever started? `tortie node timeline` {there}; {_CALICO_NODE}")
        return Sentence(
            f"{who} has not reported; nobody says that it is down.", f"`tortie node check` {there}; {_CALICO_NODE}"
        )
    if odd.standing == "stale":
        report = f"its own report, of {clock(odd.updated, now)}, is older than that" if odd.updated else "it is silent"
        fix = f"ping {odd.address}; `tortie node check` {there}: the machine, the agent or its way to the datastore"
        if odd.since and now - odd.since < _HOLD:
            fix = f"look again in a minute: a node notices a silent peer only after the hold time; then {fix}"
        if odd.down:
            return Sentence(f"{who} is the odd one: {counted}{since}, and {report}.", fix)
        return Sentence(f"{who} has not reported what the others have seen since: {report}.", fix)
    fix = f"`tortie node status` {there} tells what BIRD says; then {_tcp((odd.port,))} between it and the others"
    if odd.down == odd.expected:
        what = f"{who} is the odd one: it is cut off, {counted}{since}; it still reaches the datastore."
        return Sentence(what, fix)
    return Sentence(f"{who} is the odd one: {counted}{since}, more than any other node has.", fix)


def _counted(odd: Odd) -> str:
    if odd.expected == 1:
        return "its only session is down"
    if odd.down < odd.expected:
        return f"{odd.down} of its {odd.expected} sessions are down"
    return "both its sessions are down" if odd.expected == 2 else f"all its {odd.expected} sessions are down"


def _views(family: FamilyMatrix, odd: Odd) -> list[str]:
    """The row and the column of a node, where the matrix is too large to be shown."""
    row = family.row(odd.name)
    sees = {other: cell.state for other, cell in row.cells.items() if cell.state not in ("-", "?")}
    seen = {
        other.name: cell.state
        for other in family.rows
        if (cell := other.cells.get(odd.name)) and cell.state not in ("-", "?")
    }
    parts = (("it sees", sees), ("it is seen as", seen))
    return [f"  {label}: {_tally(states)}" for label, states in parts if states]


def _tally(states: dict[str, str]) -> str:
    counted = Counter(states.values()).most_common()
    return ", ".join(
        f"{state} {number}" + (f" ({_names([name for name in states if states[name] == state])})" if position else "")
        for position, (state, number) in enumerate(counted)
    )


def _names(names: Sequence[str]) -> str:
    more = len(names) - _NAMES_SHOWN
    return ", ".join(names) if more <= 1 else f"{', '.join(names[:_NAMES_SHOWN])} and {more} more"


def _rest(family: FamilyMatrix, now: datetime) -> Iterator[Sentence]:
    """What no odd node explains."""
    if _nobody_reports(family) and family.expected:
        fix = "agents of `tortie node run` do so by themselves; a calico-node only where a CalicoNodeStatus asks it to"
        yield Sentence("No node has reported yet, so nothing is known.", fix)
    if family.groups:
        parts = " | ".join(_names(part) for part in family.groups)
        fix = f"look at what lies between them: a router, a switch, a firewall that drops {_tcp(family.ports)}"
        yield Sentence(f"The cluster is cut into parts that are whole in themselves: {parts}.", fix)
        return
    for each in family.unexplained[:_PAIRS_SHOWN]:
        yield Sentence(_pair_text(family, each, now))
    if (more := len(family.unexplained) - _PAIRS_SHOWN) > 0:
        yield Sentence(f"and {more} more; -o json has all of them.")
    if any(each.verdict == "disputed" for each in family.unexplained):
        yield Sentence(
            "Where one end is up and the other is not, packets pass one way only, or a report is seconds behind.",
            f"look again in a few seconds; then look for a firewall that drops {_tcp(family.ports)} in one direction",
        )
    elif family.unexplained:
        yield Sentence("No single node explains this.", "`tortie node status` on both ends tells what each BIRD says")


def _tcp(ports: Sequence[int]) -> str:
    return f"TCP port{'' if len(ports) == 1 else 's'} {_names([str(port) for port in ports])}"


def _pair_text(family: FamilyMatrix, each: Wrong, now: datetime) -> str:
    one, other = each.pair
    views = []
    for name, about in ((one, other), (other, one)):
        cell = family.row(name).cells[about]
        since = f" since {clock(cell.since, now)}" if cell.since else ""
        views.append(f"{name} says {cell.state}{since}")
    return f"{one} <-> {other}: {', '.join(views)}"


def _peer(each: Outsider) -> str:
    if each.port in (None, BGP_PORT):
        return str(each.peer)
    return f"[{each.peer}]:{each.port}" if each.peer.version == 6 else f"{each.peer}:{each.port}"


def _outsider_lines(outsiders: Sequence[Outsider], now: datetime) -> list[str]:
    rows = [
        (
            each.node,
            _peer(each),
            _TYPES.get(each.kind, "-"),
            each.state,
            clock(each.since, now) if each.since else "-",
        )
        for each in outsiders
    ]
    return table(("NODE", "PEER", "TYPE", "STATE", "SINCE"), rows).splitlines()


def clock(at: datetime, now: datetime) -> str:
    """The time of day for today, else with its date; in UTC, because nodes need not share a time zone."""
    at, now = at.astimezone(UTC), now.astimezone(UTC)
    return at.strftime("%H:%M:%S UTC" if at.date() == now.date() else "%Y-%m-%d %H:%M:%S UTC")
