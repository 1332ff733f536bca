"""A block of addresses and who holds them, as Calico keeps it in the datastore. Pure and immutable.

`allocations` has for every address the index of its attribute, or None; `unallocated` is a queue: who frees an address
puts it at the end, who needs one takes it from the front, so that the one that was idle longest is used again first.
An attribute that nobody refers to any more is dropped, and the indexes behind it move up.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from ipaddress import IPv4Address, IPv6Address
from typing import Any, Final, NamedTuple

from tortie.model.network import IP, Network

HOST: Final = "host:"
VIRTUAL: Final = "virtual:"
WINDOWS_HANDLE: Final = "windows-reserved-ipam-handle"

_TIME: Final = "%Y-%m-%dT%H:%M:%SZ"


class Attribute(NamedTuple):
    """Whose an address is. `rest`: fields that a newer Calico may have written."""

    handle: str | None
    secondary: Mapping[str, str] | None = None  # node, namespace, pod, type, timestamp, ...
    released_at: str | None = None  # of an address that cools down: free, but not to be given out yet
    rest: Mapping[str, Any] = {}

    @property
    def node(self) -> str:
        return (self.secondary or {}).get("node", "")


class Holding(NamedTuple):
    """One address that is held."""

    ip: IP
    ordinal: int
    attribute: Attribute
    sequence: int | None  # of the block when it was given out: the same address given out again has another one


class Block(NamedTuple):
    cidr: Network
    affinity: str | None  # host:<node>, virtual:<name>, or nobody's
    claim_time: str | None
    allocations: tuple[int | None, ...]
    unallocated: tuple[int, ...]
    attributes: tuple[Attribute, ...] = ()
    sequence: int = 0
    sequences: Mapping[int, int] = {}  # by ordinal
    deleted: bool = False
    rest: Mapping[str, Any] = {}

    @property
    def host(self) -> str | None:
        """The node that owns it; None for nobody's and for virtual owners."""
        return self.affinity[len(HOST) :] if self.affinity and self.affinity.startswith(HOST) else None

    @property
    def free(self) -> int:
        return len(self.unallocated)

    @property
    def size(self) -> int:
        return len(self.allocations)

    @property
    def is_empty(self) -> bool:
        """Nobody holds anything; what Windows reserves for itself does not count, what cools down does."""
        return all(index is None or self.attributes[index].handle == WINDOWS_HANDLE for index in self.allocations)

    @property
    def is_cooling(self) -> bool:
        """Some of its addresses are free, but not to be given out yet."""
        return any(attribute.released_at for attribute in self.attributes)

    def ip(self, ordinal: int) -> IP:
        return _ip(self.cidr, int(self.cidr.network_address) + ordinal)

    def ordinal(self, ip: IP) -> int:
        """ValueError if it is not an address of this block."""
        if ip not in self.cidr:
            raise ValueError(f"{ip} is not in {self.cidr}")
        return int(ip) - int(self.cidr.network_address)

    def holding(self, ip: IP) -> Holding | None:
        """Who holds it; None if nobody does."""
        ordinal = self.ordinal(ip)
        return self._holding(ordinal) if self.allocations[ordinal] is not None else None

    def holdings(self) -> Iterator[Holding]:
        """All addresses that are held, in their order."""
        return (self._holding(ordinal) for ordinal, index in enumerate(self.allocations) if index is not None)

    def held_by(self, handle: str) -> list[Holding]:
        indexes = {index for index, attribute in enumerate(self.attributes) if same_handle(attribute.handle, handle)}
        if not indexes:
            return []
        return [self._holding(ordinal) for ordinal, index in enumerate(self.allocations) if index in indexes]

    def _holding(self, ordinal: int) -> Holding:
        index = self.allocations[ordinal]
        assert index is not None
        return Holding(self.ip(ordinal), ordinal, self.attributes[index], self.sequences.get(ordinal))

    def assign(
        self, count: int, attribute: Attribute, is_reserved: Callable[[IP], bool] | None = None
    ) -> tuple[Block, list[IP]]:
        """Takes up to so many addresses from the front of the queue. Reserved ones keep their place there."""
        taken: list[int] = []
        for ordinal in self.unallocated:
            if len(taken) == count:
                break
            # A queue that was spoilt must not give an address to two.
            if not 0 <= ordinal < self.size or self.allocations[ordinal] is not None or ordinal in taken:
                continue
            if is_reserved is None or not is_reserved(self.ip(ordinal)):
                taken.append(ordinal)
        return self._with(taken, attribute), [self.ip(ordinal) for ordinal in taken]

    def assign_given(self, ip: IP, attribute: Attribute) -> Block:
        """Takes just that address; ValueError if somebody holds it. Reservations do not count: it was asked for."""
        ordinal = self.ordinal(ip)
        if self.allocations[ordinal] is not None:
            raise ValueError(f"{ip} is held already")
        return self._with([ordinal], attribute)

    def _with(self, ordinals: Sequence[int], attribute: Attribute) -> Block:
        if not ordinals:
            return self
        attributes = self.attributes
        try:
            index = attributes.index(attribute)
        except ValueError:
            index, attributes = len(attributes), (*attributes, attribute)
        allocations = list(self.allocations)
        for ordinal in ordinals:
            allocations[ordinal] = index
        return self._replace(
            allocations=tuple(allocations),
            unallocated=_without(self.unallocated, ordinals),
            attributes=attributes,
            sequences={**self.sequences, **dict.fromkeys(ordinals, self.sequence)},
        )

    def release(self, ips: Iterable[IP], *, cooling_since: str | None = None) -> Block:
        """Those that nobody holds are passed over. With `cooling_since` they stay out of the queue until later."""
        ordinals = sorted(
            ordinal for ordinal in {self.ordinal(ip) for ip in ips} if self.allocations[ordinal] is not None
        )
        if not ordinals:
            return self
        allocations = list(self.allocations)
        attributes = self.attributes
        index: int | None = None
        unallocated = self.unallocated
        if cooling_since is None:
            unallocated = (*unallocated, *ordinals)
        else:
            cooling = Attribute(None, None, cooling_since)
            attributes = attributes if cooling in attributes else (*attributes, cooling)
            index = attributes.index(cooling)
        for ordinal in ordinals:
            allocations[ordinal] = index
        gone = frozenset(ordinals)
        sequences = {ordinal: number for ordinal, number in self.sequences.items() if ordinal not in gone}
        kept, allocations = _without_unused(attributes, allocations)
        return self._replace(
            allocations=tuple(allocations), unallocated=unallocated, attributes=kept, sequences=sequences
        )

    def settled(self, now: datetime, cooldown_s: int) -> Block:
        """What has cooled down long enough is free again."""
        if not self.is_cooling:
            return self
        over = {
            index
            for index, attribute in enumerate(self.attributes)
            if attribute.released_at and not _is_cooling(attribute.released_at, now, cooldown_s)
        }
        freed = [ordinal for ordinal, index in enumerate(self.allocations) if index in over]
        return self.release(map(self.ip, freed)) if freed else self

    def next_write(self) -> Block:
        """With every write the sequence goes on."""
        return self._replace(sequence=self.sequence + 1)

    def without_affinity(self) -> Block:
        return self._replace(affinity=None, claim_time=None)


def new_block(cidr: Network, affinity: str | None, now: datetime) -> Block:
    """All of its addresses free, in order. The sequence begins with the time, so that no number is used twice, even if
    the block is deleted and made again.
    """
    return Block(
        cidr,
        affinity,
        now.astimezone(UTC).strftime(_TIME),
        (None,) * cidr.num_addresses,
        tuple(range(cidr.num_addresses)),
        sequence=int(now.timestamp()) * 1_000_000_000 + now.microsecond * 1000,
    )


def block_cidr(ip: IP, prefix_length: int) -> Network:
    """The block that an address is in."""
    from ipaddress import IPv4Network, IPv6Network

    if isinstance(ip, IPv4Address):
        return IPv4Network((ip, prefix_length), strict=False)
    return IPv6Network((ip, prefix_length), strict=False)


def same_handle(stored: str | None, wanted: str) -> bool:
    """Calico once wrote handles with everything behind a carriage return in them; only what is before it counts."""
    return stored is not None and clean_handle(stored) == clean_handle(wanted)


def clean_handle(handle: str) -> str:
    return handle.partition("\r")[0]


def _ip(cidr: Network, number: int) -> IP:
    return IPv4Address(number) if cidr.version == 4 else IPv6Address(number)


def _without(queue: tuple[int, ...], ordinals: Sequence[int]) -> tuple[int, ...]:
    if queue[: len(ordinals)] == tuple(ordinals) and len(set(queue)) == len(queue):
        return queue[len(ordinals) :]
    taken = frozenset(ordinals)
    return tuple(ordinal for ordinal in queue if ordinal not in taken)


def _without_unused(
    attributes: tuple[Attribute, ...], allocations: Sequence[int | None]
) -> tuple[tuple[Attribute, ...], list[int | None]]:
    used: Container[int | None] = set(allocations)
    moved: dict[int | None, int | None] = {None: None}
    kept: list[Attribute] = []
    for index, attribute in enumerate(attributes):
        if index in used:
            moved[index] = len(kept)
            kept.append(attribute)
    return tuple(kept), [moved[index] for index in allocations]


def _is_cooling(released_at: str, now: datetime, cooldown_s: int) -> bool:
    try:
        since = datetime.fromisoformat(released_at)
        return (now - since).total_seconds() < cooldown_s
    except (ValueError, TypeError):  # no time, or one of nobody knows which zone
        return False
