"""Tortie's own way to an address: the one that the other nodes and the default route agree with.

What cannot be a node's address is ruled out first, each with its reason. Among the rest the other registered nodes
vote: a node votes for the address from which the kernel here would send to it. Then the default route decides, then
what was registered before. Two that remain cannot be told apart, and are named instead of guessed at.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from ipaddress import IPv6Network
from typing import Final, NamedTuple

from tortie.addressing.choice import Choice, Message, Rejected, Surroundings
from tortie.addressing.methods import AGREED
from tortie.addressing.remedies import say_which, when_nothing_suits
from tortie.addressing.routing import Path, Router
from tortie.addressing.standing import address_fault, interface_fault, may_get_address
from tortie.model.network import CIDR, IP, MAIN_TABLE, Address, Family, HostNetwork, Interface, Route

_UNIQUE_LOCAL: Final = IPv6Network("fc00::/7")


class Candidate(NamedTuple):
    interface: Interface
    address: Address

    @property
    def cidr(self) -> CIDR:
        return self.address.cidr


class Standing(NamedTuple):
    """What speaks for a candidate."""

    votes: int
    default_route: bool
    stored: bool

    @property
    def weight(self) -> int:
        """An address that is registered and carries the default route counts as one more node: a healthy node does
        not move because a single other one is registered wrongly.
        """
        return self.votes + (self.stored and self.default_route)


def agreed_choice(family: Family, surroundings: Surroundings) -> Choice:
    network = surroundings.network
    candidates, rejected = _sorted_out(family, surroundings)
    pending = tuple(each.name for each in network.interfaces if may_get_address(each, network, family))
    others = _others(family, surroundings)
    standing = _standing(candidates, family, surroundings, others)
    if not candidates:
        return _nothing(family, rejected, pending, surroundings)
    best, losers = _best(candidates, standing)
    rejected += [
        Rejected(str(each.cidr), each.interface.name, _outdone(standing[each], standing[best[0]], best[0]))
        for each in losers
    ]
    winners = _same_place(best)
    twins = {
        each: next(other for other in winners if _place(other) == _place(each)) for each in best if each not in winners
    }
    rejected += [
        Rejected(
            str(each.cidr), each.interface.name, f"in the same network as {other.cidr}, which {_first(other, each)}"
        )
        for each, other in twins.items()
    ]
    if len(winners) > 1:
        return _tied(family, winners, standing, len(others), rejected, pending, surroundings)
    return _chosen(family, winners[0], list(twins), standing, len(candidates), len(others), tuple(rejected), pending)


def worth_waiting(choice: Choice) -> bool:
    """Whether an interface that is still coming up could change the choice."""
    if choice.method != str(AGREED):
        return choice.chosen is None
    if choice.chosen is None:
        return not choice.tied or bool(choice.pending)
    return bool(choice.pending) and not choice.supported


def _sorted_out(family: Family, surroundings: Surroundings) -> tuple[list[Candidate], list[Rejected]]:
    candidates, rejected = [], []
    for interface in surroundings.network.interfaces:
        fault = interface_fault(interface, surroundings.network)
        addresses = [address for address in interface.addresses if address.cidr.version == family]
        for address in addresses:
            why = fault or address_fault(address, interface, surroundings.pools)
            if why:
                rejected.append(Rejected(str(address.cidr), interface.name, why))
            else:
                candidates.append(Candidate(interface, address))
        if not addresses:
            rejected.append(Rejected("", interface.name, fault or f"has no IPv{family} address"))
    return candidates, rejected


def _others(family: Family, surroundings: Surroundings) -> tuple[IP, ...]:
    """One address of each other node. One that this machine has itself says nothing about the way to it."""
    own = {address.cidr.ip for interface in surroundings.network.interfaces for address in interface.addresses}
    found = (
        next((cidr.ip for cidr in cidrs if cidr.version == family), None) for cidrs in surroundings.others.values()
    )
    return tuple(ip for ip in found if ip is not None and ip not in own)


def _standing(
    candidates: list[Candidate], family: Family, surroundings: Surroundings, others: tuple[IP, ...]
) -> dict[Candidate, Standing]:
    by_interface = defaultdict(list)
    for each in candidates:
        by_interface[each.interface.index].append(each)
    router = Router(surroundings.network, family)
    paths = (router.path(ip) for ip in others)
    votes = Counter(
        elected for path in paths if not isinstance(path, str) and (elected := _elected(path, by_interface)) is not None
    )
    carriers = set(_carriers(family, surroundings.network, by_interface))
    stored = {cidr.ip for cidr in surroundings.stored}
    return {each: Standing(votes[each], each in carriers, each.cidr.ip in stored) for each in candidates}


def _elected(path: Path, by_interface: dict[int, list[Candidate]]) -> Candidate | None:
    """Whom a node behind that path votes for. What goes out by an interface that was ruled out is no vote."""
    here = by_interface.get(path.interface.index, [])
    sender = next((each for each in path.interface.addresses if each.cidr.ip == path.source), None)
    if sender is None:
        return None
    exactly = next((each for each in here if each.address is sender), None)
    # The kernel may send from an address that was ruled out; its neighbours on the link stand for it.
    return exactly or next((each for each in here if each.cidr.network == sender.cidr.network), None)


def _carriers(family: Family, network: HostNetwork, by_interface: dict[int, list[Candidate]]) -> Iterator[Candidate]:
    """Who has the default route: the best one among those that lead out by a candidate's interface."""
    routes = [
        route
        for route in network.routes
        if route.destination.prefixlen == 0
        and route.destination.version == family
        and route.table == MAIN_TABLE
        and route.kind == "unicast"
        and route.interface in by_interface
    ]
    best = min((route.metric for route in routes), default=0)
    for route in routes:
        if route.metric == best and route.interface is not None:
            yield from _senders_along(route, by_interface[route.interface])


def _senders_along(route: Route, here: list[Candidate]) -> list[Candidate]:
    if route.source is not None:
        return [each for each in here if each.cidr.ip == route.source]
    if near := [each for each in here if route.gateway is not None and route.gateway in each.cidr.network]:
        return near
    # A default route leads to the world, and nobody there answers to a unique local address.
    return [each for each in here if each.cidr.ip not in _UNIQUE_LOCAL] or here


def _best(candidates: list[Candidate], standing: dict[Candidate, Standing]) -> tuple[list[Candidate], list[Candidate]]:
    """Votes first, then the default route, then the record: what the ones before leave open, the next decides."""
    left = candidates
    for key in ("weight", "default_route", "stored"):
        most = max(getattr(standing[each], key) for each in left)
        left = [each for each in left if getattr(standing[each], key) == most]
    return left, [each for each in candidates if each not in left]


def _same_place(best: list[Candidate]) -> list[Candidate]:
    """Addresses of one interface in one network are equally good: a permanent one goes before, then the first."""
    places: dict[tuple[int, object], Candidate] = {}
    for each in sorted(best, key=lambda each: "permanent" not in each.address.flags):
        places.setdefault(_place(each), each)
    return [each for each in best if each in places.values()]


def _place(candidate: Candidate) -> tuple[int, object]:
    return candidate.interface.index, candidate.cidr.network


def _outdone(loser: Standing, winner: Standing, best: Candidate) -> str:
    where = f"{best.cidr} on {best.interface.name}"
    if loser.votes < winner.votes:
        return f"{_votes(loser.votes)} reached from it, {winner.votes} from {where}"
    if winner.default_route and not loser.default_route:
        return f"the default route leaves from {where}"
    return f"{where} was registered before"


def _votes(count: int) -> str:
    return "no other node is" if count == 0 else "1 other node is" if count == 1 else f"{count} other nodes are"


def _first(winner: Candidate, twin: Candidate) -> str:
    if "permanent" in winner.address.flags and "permanent" not in twin.address.flags:
        return "is permanent"
    return "comes first; they are equivalent"


def _reasons(each: Standing, others: int, candidates: int, article: str = "the") -> list[str]:
    reasons = ["it is the only candidate"] if candidates == 1 else []
    reasons += [f"{each.votes} of {others} other nodes are reached from it"] if each.votes else []
    reasons += [f"it carries {article} default route"] if each.default_route else []
    reasons += ["it was registered before"] if each.stored else []
    return reasons


def _chosen(
    family: Family,
    winner: Candidate,
    twins: list[Candidate],
    standing: dict[Candidate, Standing],
    candidates: int,
    others: int,
    rejected: tuple[Rejected, ...],
    pending: tuple[str, ...],
) -> Choice:
    mine = standing[winner]
    equal = (f"it is as good as {twin.cidr} and {_first(winner, twin)}" for twin in twins)
    reasons = (*_reasons(mine, others, candidates), *equal)
    name, cidr = winner.interface.name, winner.cidr
    messages = [
        Message("info", f"Using autodetected IPv{family} address on interface {name}: {cidr}"),
        Message("info", f"{cidr} was chosen because {' and '.join(reasons)}" if reasons else f"{cidr} was chosen"),
    ]
    rival = next((each for each, their in standing.items() if their.default_route and each is not winner), None)
    if rival and not mine.default_route:
        messages.append(
            Message(
                "warning",
                f"The default route leaves from {rival.cidr} on {rival.interface.name}, but {mine.votes} of {others} "
                f"other nodes are reached from {cidr}, which is taken. If that is wrong, those nodes are wrong, too",
            )
        )
    return Choice(
        family,
        str(AGREED),
        cidr,
        name,
        reasons,
        rejected,
        pending=pending,
        messages=tuple(messages),
        supported=mine.votes > 0 or mine.default_route,
    )


def _tied(
    family: Family,
    winners: list[Candidate],
    standing: dict[Candidate, Standing],
    others: int,
    rejected: list[Rejected],
    pending: tuple[str, ...],
    surroundings: Surroundings,
) -> Choice:
    tied = tuple(
        Rejected(
            str(each.cidr),
            each.interface.name,
            " and ".join(_reasons(standing[each], others, len(winners), "a")) or "nothing speaks for it or against it",
        )
        for each in winners
    )
    names = " and ".join(f"{each.address} on {each.interface}" for each in tied)
    failure = f"Unable to auto-detect an IPv{family} address: nothing tells {names} apart"
    fix = f"{say_which(tied, surroundings)}; {_what_would_decide(winners, standing)}"
    return Choice(
        family,
        str(AGREED),
        None,
        "",
        (),
        tuple(rejected),
        tied=tied,
        pending=pending,
        failure=failure,
        fix=fix,
    )


def _what_would_decide(winners: list[Candidate], standing: dict[Candidate, Standing]) -> str:
    """Beside a person's word. What all of them have already decides nothing, however often it comes."""
    if standing[winners[0]].default_route:
        if len({each.interface.index for each in winners}) == 1:
            return "a source address (src) in the default route or another node would decide it, too"
        return "a lower metric for one of their default routes or another node would decide it, too"
    if any(each.default_route for each in standing.values()):
        return "another node would decide it, too"
    return "a default route from one of them or another node would decide it, too"


def _nothing(family: Family, rejected: list[Rejected], pending: tuple[str, ...], surroundings: Surroundings) -> Choice:
    failure = (
        f"Unable to auto-detect an IPv{family} address: no valid IPv{family} addresses found on the host interfaces"
    )
    fix = when_nothing_suits(family, rejected, pending, surroundings)
    return Choice(
        family,
        str(AGREED),
        None,
        "",
        (),
        tuple(rejected),
        pending=pending,
        failure=failure,
        fix=fix,
        messages=(Message("warning", failure),),
    )
