"""TRT1015: a peer's machine is off or cut off, and healthy nodes complain about it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Final

from tortie.doctor.causes.cause import (
    HINT,
    LIKELY,
    POSSIBLE,
    PROVEN,
    STRONG,
    Cause,
    Do,
    Finding,
    cannot_tell,
    do,
    found,
    ruled_out,
)
from tortie.doctor.causes.culprits import culprits, named
from tortie.doctor.causes.nodes import bgp_evidence
from tortie.doctor.causes.nodes.bgp_addresses import near
from tortie.doctor.causes.nodes.bgp_evidence import (
    SHARED_SIGNS,
    answers,
    few,
    filtered,
    is_lost,
    is_ready,
    missing_peers,
    node_called,
    node_of,
    port_tests,
    same_host,
    silent,
)
from tortie.doctor.causes.nodes.wrong_addresses import suspects
from tortie.doctor.picture.facts import Session, Statement, Unit
from tortie.doctor.picture.picture import Picture

NO_LOGIN: Final = "ssh: connect to host "  # somebody tried, and nothing was heard
NO_NEIGHBOUR: Final = ("FAILED", "INCOMPLETE", "(incomplete)")
ONE_PEER_IS_ENOUGH: Final = (3, 7)  # from here on an agent stays ready with one session


class Seen:
    """Peers that nodes miss, and nodes that Kubernetes has lost."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.peers = missing_peers(picture)
        self.lost = [name for name, node in picture.nodes_now().items() if is_lost(node)]

    @cached_property
    def gone(self) -> list[str]:
        """Sessions stay as they are until their hold time is over: a lost node that is silent is looked at as well."""
        ips = [self.picture.internal_ips().get(name, "") for name in self.lost]
        return [ip for ip in ips if ip and silent(self.picture, ip)]

    @cached_property
    def only_lost(self) -> str:
        """The one node that Kubernetes has lost, where no address of a node is shown and all miss one peer."""
        alone = len(self.lost) == 1 and len({peer.address for peer in self.peers}) == 1
        return self.lost[0] if alone and not self.picture.internal_ips() else ""

    @cached_property
    def wrong(self) -> set[str]:
        """Addresses that nobody should have registered; that they are silent says nothing about a machine."""
        return {one.address for one in suspects(self.picture) if one.strength >= LIKELY and one.address}

    @cached_property
    def machines(self) -> list[Machine]:
        every = dict.fromkeys([*(peer.address for peer in self.peers), *self.gone])
        return [Machine(self, address) for address in every if address not in self.wrong]


class Machine:
    """What is known of the machine behind a missing peer."""

    def __init__(self, seen: Seen, address: str) -> None:
        picture = seen.picture
        self.address = address
        self.name = picture.owner_of(address) or seen.only_lost
        self.node = node_of(picture, self.name)
        self.lost = is_lost(self.node)
        self.peers = [peer for peer in seen.peers if peer.address == address]
        self.neighbours = _unresolved(picture, address)
        self.dead: list[object] = [*silent(picture, address), *self.neighbours, *_unheard(picture, address)]
        self.dead += _switched_off(picture, self.name) if self.lost else []
        self.said = _told(picture, self.name, address, lost=self.lost)
        self.alive = bool(answers(picture, address)) or _spoke(picture, self.name)
        ips = picture.internal_ips().values()
        self.only_recorded = len(ips) > 1 and address not in ips  # Kubernetes shows its nodes, and none has it

    @property
    def is_gone(self) -> bool:
        told = bool(self.said) and self.node is None
        return not self.alive and (bool(self.dead) or self.lost or told)

    @property
    def strength(self) -> float:
        strength = self._of_lost() if self.lost else self._of_silent()
        if is_ready(self.node) or (self.node is None and not self.said and self.only_recorded):
            return min(strength, POSSIBLE)  # it is up, or it is only a record: Kubernetes has no such node any more
        return strength

    def _of_lost(self) -> float:
        if self.dead:
            return PROVEN
        if self.said:
            return STRONG
        # The API alone cannot tell a dead machine from a dead kubelet; sockets that nobody answers can.
        return LIKELY if any(filtered(peer.info) for peer in self.peers) else POSSIBLE

    def _of_silent(self) -> float:
        if self.said and self.dead:
            return STRONG
        return LIKELY if self.neighbours or self.said else POSSIBLE


def all_established(seen: Seen) -> Finding | None:
    """Sessions of the nodes that are left say nothing about one that Kubernetes has lost."""
    return None if seen.lost else bgp_evidence.all_established(seen.picture)


def nobody_missing(seen: Seen) -> Finding | None:
    return None if seen.peers or seen.gone else cannot_tell()


def machine_gone(seen: Seen) -> Finding | None:
    gone = next((machine for machine in seen.machines if machine.is_gone), None)
    if gone is None:
        return None
    who = culprits(named("node", gone.name), named("address", gone.address))
    evidence = (gone.node, *gone.dead[:3], *gone.said[:1], *gone.peers[:2])
    speakers = few(peer.seen_from for peer in gone.peers)
    return found(
        gone.strength, who, evidence,
        node=gone.name, address=gone.address, speakers=speakers, say="node-gone" if gone.name else "machine-gone",
    )  # fmt: skip


def only_lost(seen: Seen) -> Finding | None:
    return None if seen.peers else cannot_tell(address=seen.gone[0])


def machines_up(seen: Seen) -> Finding | None:
    picture = seen.picture
    alive = [item for peer in seen.peers for item in answers(picture, peer.address)]
    alive += [test for test in port_tests(picture) if test.result in ("open", "refused")]
    up = [peer for peer in seen.peers if is_ready(node_of(picture, picture.owner_of(peer.address)))]
    every = up and len(up) == len(seen.peers)
    return ruled_out((*alive[:2], *up[:2])) if alive or every else None


def wrong_address(seen: Seen) -> Finding | None:
    return ruled_out() if seen.wrong else None


def same_peer(seen: Seen) -> Finding | None:
    """Several nodes miss one peer, always the same."""
    addresses = {peer.address for peer in seen.peers}
    speakers = {peer.seen_from for peer in seen.peers if peer.seen_from}
    if len(addresses) != 1 or len(speakers) < 2:
        return None
    address = seen.peers[0].address
    return found(POSSIBLE, named("address", address), seen.peers[:3], address=address)


def unreachable(seen: Seen) -> Finding | None:
    if not any(filtered(peer.info) for peer in seen.peers):
        return None
    addresses = sorted({peer.address for peer in seen.peers})[:3]
    return found(HINT, named("address", *addresses), seen.peers[:2], address=addresses[0])


def not_asked(seen: Seen) -> Finding | None:
    return cannot_tell(address=seen.peers[0].address)


def _told(picture: Picture, name: str, address: str, *, lost: bool) -> list[Statement]:
    """What people say of this machine; a sentence that names no machine counts when Kubernetes lost this one too."""
    kinds = ("machine-off",) if picture.said("ping-works", "ping-works-port-179-not") else ("machine-off", "ping-fails")
    return [s for s in picture.said(*kinds) if lost or address in s.text or (name and name in s.text)]


def _unresolved(picture: Picture, address: str) -> list[object]:
    """Rows of a neighbour table that have no hardware address for this one."""
    tables = [*picture.commands("neigh"), *picture.commands("arp")]
    return [
        table.place(index)
        for table in tables
        for index, line in enumerate(table.lines)
        if address in line.replace("(", " ").replace(")", " ").split() and any(word in line for word in NO_NEIGHBOUR)
    ]


def _unheard(picture: Picture, address: str) -> list[object]:
    """Nobody answers for it on its link; arping reaches no further than that, so a neighbour must be there to ask."""
    beside = any(near(address, ip, 24) for ip in picture.internal_ips().values() if ip != address)
    asked = picture.settings(address, "arping") if beside else []
    return list(asked) if asked and all(setting.value == "none" for setting in asked) else []


def _switched_off(picture: Picture, name: str) -> list[object]:
    """The machine's own controller or its hypervisor says that it has no power."""
    chassis = [
        exhibit.place(index)
        for exhibit in picture.exhibits
        for index, line in enumerate(exhibit.lines)
        if "Chassis Power is off" in line and any(name in part for part in (exhibit.command, *exhibit.lines))
    ]
    guests = [
        exhibit.place(index)
        for exhibit in picture.exhibits
        for index, line in enumerate(exhibit.lines)
        if line.rstrip().endswith("shut off") and line.split()[1:2] == [name]
    ]
    return [*chassis, *guests]


def _spoke(picture: Picture, name: str) -> bool:
    """Somebody was logged in there, or the node itself showed something: the machine is up."""
    if not name:
        return False
    hosts = {
        exhibit.host
        for exhibit in picture.exhibits
        if exhibit.host and exhibit.command and not any(line.startswith(NO_LOGIN) for line in exhibit.lines)
    }
    hosts |= {unit.host for unit in picture.of(Unit) if unit.host}
    hosts |= {session.host for session in picture.of(Session) if session.host}
    return any(same_host(host, name) and node_called(picture, host) == name for host in hosts)


def fix(picture: Picture, finding: Finding) -> Iterator[Do]:
    yield do("answers")
    yield do("bring-back")
    yield do("remove")
    if picture.value("DATASTORE_TYPE").startswith("etcd"):
        yield do("forget")
    yield do("leave-alone")
    version = picture.version("calico")
    if version and version < ONE_PEER_IS_ENOUGH:
        yield do("upgrade")


CAUSE = Cause(
    module=__name__,
    id="peer-node-down",
    code="TRT1015",
    severity="low",
    explains=("bgp-down", "bird-not-ready", "not-ready", "node-not-ready", "status-stale"),
    signs=SHARED_SIGNS,
    look=Seen,
    rules=(
        all_established, nobody_missing, machine_gone, only_lost, machines_up, wrong_address, same_peer, unreachable,
        not_asked,
    ),
    fix=fix,
)  # fmt: skip
