"""Who sees whom: the BGP sessions of a cluster as its nodes report them, and which node is the odd one. Pure.

Every session has two ends, and each end reports for itself. Where the two disagree, time decides: a report that is
older than what the other end saw happen is stale, and nobody believes it any more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from tortie.bgp.plan import BGP_PORT
from tortie.cli.node.reports import Expected, Member, Report, Seen
from tortie.cli.node.suspects import Pair, Standing, Verdict, Wrong, groups, in_order, odd_nodes, ordered
from tortie.model.network import IP, Family

UP: Final = "up"
NONE: Final = "none"  # a session that shall be there, and the report does not know it
UNEXPECTED: Final = "-"
UNREPORTED: Final = "?"

FAMILIES: Final[tuple[Family, ...]] = (4, 6)


class Cell(NamedTuple):
    """What the node of a row says about the node of a column."""

    state: str  # UP, BGP's word for what it is instead, NONE, UNEXPECTED or UNREPORTED
    since: datetime | None = None
    disputed: bool = False  # the other end says otherwise, about being up

    @property
    def is_down(self) -> bool:
        return self.state not in (UP, UNEXPECTED, UNREPORTED)


class Row(NamedTuple):
    name: str
    address: IP
    standing: Standing
    updated: datetime | None
    cells: Mapping[str, Cell]  # by the other node's name, all but its own
    port: int = BGP_PORT  # where it listens


class Odd(NamedTuple):
    """A node that explains several of the sessions that are down, or is the silent end of one."""

    name: str
    address: IP
    standing: Standing
    down: int
    expected: int  # how many sessions with nodes it should have
    since: datetime | None = None  # the first moment that one of the others names
    updated: datetime | None = None
    port: int = BGP_PORT


class Outsider(NamedTuple):
    """A session with a peer that is no node of this cluster."""

    node: str
    peer: IP
    state: str
    kind: str = ""
    since: datetime | None = None
    port: int | None = None  # None if nobody can tell: a report has only addresses


class FamilyMatrix(NamedTuple):
    family: Family
    rows: tuple[Row, ...]  # by name
    expected: int  # sessions between nodes
    up: int
    wrong: tuple[Wrong, ...]
    odd: tuple[Odd, ...]  # the worst first
    unexplained: tuple[Wrong, ...]  # down or disputed, and none of the odd nodes takes part in it
    groups: tuple[
        tuple[str, ...], ...
    ]  # parts of the cluster that have no session with each other, if that explains it
    outsiders: tuple[Outsider, ...]

    @property
    def healthy(self) -> bool:
        return not self.wrong and all(outsider.state == UP for outsider in self.outsiders)

    @property
    def ports(self) -> tuple[int, ...]:
        """Where its nodes listen."""
        return tuple(sorted({row.port for row in self.rows}))

    def row(self, name: str) -> Row:
        return next(row for row in self.rows if row.name == name)


class Matrix(NamedTuple):
    families: tuple[FamilyMatrix, ...]  # those that have any session
    nodes: int
    without_bgp: tuple[str, ...]  # nodes that take no part

    @property
    def healthy(self) -> bool:
        """A cluster without nodes is not one that is well: more likely the wrong datastore was looked at."""
        return self.nodes > 0 and all(family.healthy for family in self.families)


def matrix(nodes: Iterable[Member], reports: Iterable[Report], expected: Expected) -> Matrix:
    members = sorted(nodes, key=lambda member: in_order(member.name))
    latest = _latest(reports)
    families = [_family(family, members, latest, expected) for family in FAMILIES]
    without = tuple(member.name for member in members if not member.addresses)
    return Matrix(tuple(family for family in families if family is not None), len(members), without)


def _latest(reports: Iterable[Report]) -> dict[str, Report]:
    """Of several about one node the newest; one without a time has never been filled in."""
    found: dict[str, Report] = {}
    for report in reports:
        if report.updated is None:
            continue
        known = found.get(report.node)
        if known is None or known.updated is None or known.updated < report.updated:
            found[report.node] = report
    return found


def _family(
    family: Family, members: Sequence[Member], reports: Mapping[str, Report], expected: Expected
) -> FamilyMatrix | None:
    addresses = {member.name: address for member in members if (address := member.address(family))}
    names = {address: name for name, address in addresses.items()}
    wanted = frozenset(
        pair for of, pair in expected.between if of == family and pair[0] in addresses and pair[1] in addresses
    )
    ports = {member.name: member.port for member in members}
    seen = {
        name: [peer for peer in reports[name].peers if peer.peer.version == family]
        for name in addresses
        if name in reports
    }
    outsiders = _outsiders(family, names, seen, expected)
    cells = _cells(addresses, seen, wanted)
    if not (wanted or outsiders or any(cell.state not in (UNEXPECTED, UNREPORTED) for cell in cells.values())):
        return None
    cells = _with_disputes(cells)
    about: dict[str, list[Cell]] = {name: [] for name in addresses}
    for (_, other), cell in cells.items():
        about[other].append(cell)
    stale = {name for name in seen if _is_overtaken(name, reports[name], about)}
    standings: dict[str, Standing] = {
        name: "missing" if name not in reports else "stale" if name in stale else "fresh" for name in addresses
    }
    pairs = sorted({ordered(*pair) for pair in wanted}, key=lambda pair: (in_order(pair[0]), in_order(pair[1])))
    judged = [Wrong(pair, _verdict(pair, wanted, cells, standings)) for pair in pairs]
    wrong = tuple(each for each in judged if each.verdict != "up")
    odd_names, unexplained = odd_nodes(wrong, wanted, standings)
    rows = tuple(
        Row(
            name,
            address,
            standings[name],
            reports[name].updated if name in reports else None,
            {other: cells[name, other] for other in addresses if other != name},
            ports[name],
        )
        for name, address in addresses.items()
    )
    return FamilyMatrix(
        family,
        rows,
        len(pairs),
        len(pairs) - len(wrong),
        wrong,
        tuple(_described(row, wrong, wanted, cells) for name in odd_names for row in rows if row.name == name),
        unexplained,
        groups(unexplained, judged),
        outsiders,
    )


def _outsiders(
    family: Family, names: Mapping[IP, str], seen: Mapping[str, Sequence[Seen]], expected: Expected
) -> tuple[Outsider, ...]:
    ports: dict[tuple[str, IP], list[int]] = {}
    for name, address, port in sorted(expected.outside, key=lambda each: each[2]):
        if address.version == family:
            ports.setdefault((name, address), []).append(port)
    found = []
    for name, peers in seen.items():
        for peer in peers:
            wanted = ports.get((name, peer.peer), [])
            # A stranger on another port of a node is one, too; the mesh with that node is not.
            if peer.peer not in names or (wanted and peer.kind != "mesh"):
                of = wanted[0] if len(wanted) == 1 else None
                found.append(Outsider(name, peer.peer, _shown(peer.state), peer.kind, peer.since, of))
    known = Counter((outsider.node, outsider.peer) for outsider in found)
    for (name, address), wanted in ports.items():
        missing = len(wanted) - known[name, address]
        if missing > 0:
            state = NONE if name in seen else UNREPORTED
            nothing = missing == len(wanted)
            found += [Outsider(name, address, state, port=port if nothing else None) for port in wanted[:missing]]
    return tuple(sorted(found, key=lambda outsider: (in_order(outsider.node), int(outsider.peer))))


def _shown(state: str) -> str:
    return UP if state == "Established" else state or "down"


def _cells(
    addresses: Mapping[str, IP], seen: Mapping[str, Sequence[Seen]], wanted: frozenset[Pair]
) -> dict[Pair, Cell]:
    cells = {}
    for name in addresses:
        # Of several sessions with one address the mesh's is the one between the nodes.
        peers = {peer.peer: peer for peer in sorted(seen.get(name, ()), key=lambda peer: peer.kind == "mesh")}
        for other, address in addresses.items():
            if name == other:
                continue
            if name not in seen:
                cells[name, other] = Cell(UNREPORTED if (name, other) in wanted else UNEXPECTED)
            elif peer := peers.get(address):
                cells[name, other] = Cell(_shown(peer.state), peer.since)
            else:
                cells[name, other] = Cell(NONE if (name, other) in wanted else UNEXPECTED)
    return cells


def _with_disputes(cells: Mapping[Pair, Cell]) -> dict[Pair, Cell]:
    def disputed(pair: Pair) -> bool:
        here, there = cells[pair], cells[pair[1], pair[0]]
        return (here.state == UP and there.is_down) or (there.state == UP and here.is_down)

    return {pair: cell._replace(disputed=True) if disputed(pair) else cell for pair, cell in cells.items()}


def _is_overtaken(name: str, report: Report, about: Mapping[str, Sequence[Cell]]) -> bool:
    """Another node says otherwise, of something that happened after this report was written, or in the same second."""
    return report.updated is not None and any(
        cell.disputed and cell.since is not None and cell.since >= report.updated for cell in about[name]
    )


def _verdict(
    pair: Pair, wanted: frozenset[Pair], cells: Mapping[Pair, Cell], standings: Mapping[str, Standing]
) -> Verdict:
    ends = [end for end in (pair, (pair[1], pair[0])) if end in wanted]
    heard = [cells[end].state == UP for end in ends if standings[end[0]] == "fresh"]
    if not heard:
        return "unknown"
    if all(heard):
        return "up" if len(heard) == len(ends) else "half"
    return "disputed" if any(heard) else "down"


def _described(row: Row, wrong: Sequence[Wrong], wanted: frozenset[Pair], cells: Mapping[Pair, Cell]) -> Odd:
    down = [each.pair for each in wrong if row.name in each.pair and each.verdict in ("down", "disputed")]
    others = [one if one != row.name else other for one, other in down]
    moments = [since for other in others if (since := cells[other, row.name].since)]
    expected = len({ordered(*pair) for pair in wanted if row.name in pair})
    since = min(moments) if moments else None
    return Odd(row.name, row.address, row.standing, len(down), expected, since, row.updated, row.port)
