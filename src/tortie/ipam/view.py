"""What is known of the store: settings, pools, blocks, handles and affinities, each with its revision.

A view is told entries and forgets them again; it never reads. What it says may be outdated: whoever writes expects the
revisions that it names, so an outdated view costs a conflict, never an address.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, Generic, NamedTuple, TypeVar

from tortie.ipam.block import HOST, Block
from tortie.ipam.choice import Taken
from tortie.ipam.facts import CLUSTER as CLUSTER
from tortie.ipam.facts import NODES as NODES
from tortie.ipam.facts import POOLS as POOLS
from tortie.ipam.facts import RESERVATIONS as RESERVATIONS
from tortie.ipam.facts import Facts, facts_of, labels_of
from tortie.ipam.records import (
    BLOCKS,
    HANDLES,
    HOSTS,
    VIRTUALS,
    Affinity,
    Handle,
    parse_affinity_key,
    parse_block_key,
    read_affinity,
    read_block,
    read_handle,
)
from tortie.ipam.room import Answers
from tortie.model.errors import TortieError
from tortie.model.keys import IPAM_CONFIG, host_affinity_prefix
from tortie.model.network import Network
from tortie.store.contract import Entry, Revision, Snapshot

T = TypeVar("T")

VIRTUAL_OWNER: Final = "virtual:load-balancer"


class Stored(NamedTuple, Generic[T]):
    value: T
    revision: Revision


class Need(NamedTuple):
    """What has to be read before one can decide."""

    keys: frozenset[str] = frozenset()
    prefixes: frozenset[str] = frozenset()

    def __or__(self, other: Need) -> Need:
        return Need(self.keys | other.keys, self.prefixes | other.prefixes)

    def portions(self, size: int) -> Iterator[Need]:
        """The same in reads of at most so many; what has to be of one moment stays together."""
        together = [*(self.prefixes & _TOGETHER), *(self.keys & FACTS.keys)]
        wanted = [*together, *sorted(self.prefixes - _TOGETHER), *sorted(self.keys - FACTS.keys)]
        for start in range(0, len(wanted), size):
            portion = frozenset(wanted[start : start + size])
            yield Need(portion & self.keys, portion & self.prefixes)


FACTS: Final = Need(frozenset({IPAM_CONFIG, CLUSTER}), frozenset({POOLS, RESERVATIONS}))
_TOGETHER: Final = FACTS.prefixes | {HOSTS, VIRTUALS}


def owner_prefix(owner: str) -> str:
    return host_affinity_prefix(owner[len(HOST) :]) if owner.startswith(HOST) else VIRTUALS


class View:
    def __init__(self) -> None:
        self.facts: Facts | None = None
        self.labels: dict[str, Mapping[str, str] | None] = {}  # of nodes; None: there is no such node
        self.rows: dict[str, dict[Network, Stored[Affinity]]] = {}  # affinities, all of an owner's
        self.blocks: dict[Network, Stored[Block] | None] = {}  # longest not looked at first; None: there is none
        self.broken: dict[Network, TortieError] = {}
        self.broken_handles: dict[str, TortieError] = {}
        self.broken_nodes: dict[str, TortieError] = {}
        self.handles: dict[str, Stored[Handle] | None] = {}
        self.doubted: set[str] = set()  # handles that may have been written by us
        self.tick = 0  # counts the requests: what is read now was read after all of them had come
        self.read_at: dict[Network | str, int] = {}  # blocks and handles, by that count
        self.everything_taken: dict[Network, tuple[str, Revision]] | None = None  # owner and revision of all affinities
        self.families_read: dict[int, int] = {}  # of which all blocks have been read, and when
        self.wary = False  # there are blocks that no affinity tells of
        self.answers = Answers()
        self._taken: Taken | None = None

    def forget(self) -> None:
        doubted, tick = self.doubted, self.tick
        self.__init__()  # type: ignore[misc]
        self.doubted, self.tick = doubted, tick

    def forget_facts(self) -> None:
        self.facts = None
        self.labels = {}
        self.rows = {}
        self.answers.forget()

    def age(self, owner: str) -> None:
        """What is not the owner's was looked at a while ago, and has to be looked at again."""
        self.read_at.clear()
        self.everything_taken = self._taken = None
        self.families_read.clear()
        self.wary = False
        others = [cidr for cidr, known in self.blocks.items() if known is None or known.value.affinity != owner]
        if others or self.broken:
            self.answers.forget_room()
        for cidr in others:
            del self.blocks[cidr]
        self.broken.clear()
        for handle in self.broken_handles:
            self.handles.pop(handle, None)
        self.broken_handles.clear()
        if len(self.handles) > _HANDLES_KEPT:
            self.handles.clear()

    def doubt(self, keys: Iterable[str]) -> None:
        """Nobody knows whether these were written."""
        self.answers.forget_room()
        for key in keys:
            if key.startswith(HANDLES):
                handle = key[len(HANDLES) :]
                self.handles.pop(handle, None)
                self.read_at.pop(handle, None)
                self.doubted.add(handle)
            elif cidr := parse_block_key(key):
                self.blocks.pop(cidr, None)
                self.read_at.pop(cidr, None)
                self.families_read.pop(cidr.version, None)
            elif key.startswith((HOSTS, VIRTUALS)):
                self.rows.clear()
                self.everything_taken = self._taken = None

    def taken(self) -> Taken:
        if self._taken is None:
            self._taken = Taken(self.everything_taken or ())
        return self._taken

    def learn_block(self, cidr: Network, block: Block | None, revision: Revision) -> None:
        """Written by us, or removed."""
        before = self.blocks.get(cidr)
        self.answers.block_changed(before.value if before else None, block)
        self.blocks[cidr] = Stored(block, revision) if block else None
        self.read_at[cidr] = self.tick

    def learn_handle(self, name: str, handle: Handle | None, revision: Revision) -> None:
        """Written by us, or removed."""
        self.handles[name] = Stored(handle, revision) if handle else None
        self.broken_handles.pop(name, None)
        self.doubted.discard(name)
        self.read_at[name] = self.tick

    def learn_row(self, owner: str, cidr: Network, affinity: Affinity | None, revision: Revision) -> None:
        """Written by us, or removed."""
        self.answers.forget_room()
        rows = self.rows.get(owner)
        if rows is not None:
            if affinity:
                rows[cidr] = Stored(affinity, revision)
            else:
                rows.pop(cidr, None)
        self.learn_claim(cidr, owner if affinity else None, revision)

    def learn_claim(self, cidr: Network, owner: str | None, revision: Revision) -> None:
        """A block has got another owner, by us."""
        if self.everything_taken is None:
            return
        if owner:
            self.everything_taken[cidr] = (owner, revision)
            if self._taken:
                self._taken.add(cidr)
        elif self.everything_taken.pop(cidr, None):
            self._taken = None

    def learn_obstacle(self, key: str) -> None:
        """A block stood where none was expected: others claim as well, or no affinity tells of it."""
        cidr = parse_block_key(key)
        if cidr:
            known = self.blocks.get(cidr)
            self.wary = self.wary or known is None or known.value.affinity is None
            self.everything_taken = self._taken = None

    def learn(self, need: Need, snapshot: Snapshot) -> None:
        self.answers.forget_room()
        if FACTS.prefixes <= need.prefixes:
            self.facts = facts_of(snapshot)
            self.answers.forget()
        for key in need.keys - FACTS.keys:
            self.learn_entry(key, snapshot.entries.get(key))
        for prefix in need.prefixes - FACTS.prefixes:
            self._learn_below(prefix, snapshot.listings[prefix])
        if {HOSTS, VIRTUALS} <= need.prefixes:
            entries = (*snapshot.listings[HOSTS], *snapshot.listings[VIRTUALS])
            rows = [row for entry in entries if (row := _row(entry))]
            self.everything_taken = {row.value.cidr: (_owner(row.value), row.revision) for row in rows}
            self._taken = None
            self.rows = {owner: {} for owner in self.rows}
            for row in rows:
                if _owner(row.value) in self.rows:
                    self.rows[_owner(row.value)][row.value.cidr] = row

    def _learn_below(self, prefix: str, entries: tuple[Entry, ...]) -> None:
        if prefix.startswith(BLOCKS):
            family = 6 if prefix.startswith(f"{BLOCKS}ipv6/") else 4
            self.blocks = {cidr: known for cidr, known in self.blocks.items() if cidr.version != family}
            for entry in entries:
                self.learn_entry(entry.key, entry)
            self.families_read[family] = self.tick
        elif prefix != HOSTS:
            owner = VIRTUAL_OWNER if prefix == VIRTUALS else HOST + prefix[len(HOSTS) : -1]
            rows = [row for entry in entries if (row := _row(entry))]
            self.rows[owner] = {row.value.cidr: row for row in rows}

    def learn_entry(self, key: str, entry: Entry | None) -> None:
        if not key.startswith(HANDLES):
            self.answers.forget_room()
        if key.startswith(BLOCKS):
            cidr = parse_block_key(key)
            if cidr:
                self._learn_block(cidr, entry)
        elif key.startswith(HANDLES):
            handle = key[len(HANDLES) :]
            self.doubted.discard(handle)
            self.read_at[handle] = self.tick
            self.broken_handles.pop(handle, None)
            try:
                self.handles[handle] = Stored(read_handle(key, entry.value), entry.revision) if entry else None
            except TortieError as error:
                assert entry is not None
                self.handles[handle] = Stored(Handle(handle, {}), entry.revision)
                self.broken_handles[handle] = error
        elif key.startswith((HOSTS, VIRTUALS)):
            self._learn_row(key, entry)
        elif key.startswith(NODES):
            self._learn_labels(key[len(NODES) :], entry)
            self.answers.forget()

    def _learn_labels(self, node: str, entry: Entry | None) -> None:
        self.broken_nodes.pop(node, None)
        try:
            self.labels[node] = labels_of(entry) if entry else None
        except TortieError as error:
            self.labels[node] = None
            self.broken_nodes[node] = error

    def _learn_block(self, cidr: Network, entry: Entry | None) -> None:
        self.read_at[cidr] = self.tick
        self.broken.pop(cidr, None)
        known = self.blocks.pop(cidr, None)
        if known and entry and known.revision == entry.revision:
            self.blocks[cidr] = known
            return
        try:
            self.blocks[cidr] = Stored(read_block(entry.key, entry.value), entry.revision) if entry else None
        except TortieError as error:
            self.broken[cidr] = error

    def _learn_row(self, key: str, entry: Entry | None) -> None:
        row = _row(entry or Entry(key, b"", 0))
        if row is None:
            return
        self.everything_taken = self._taken = None
        owned = self.rows.get(_owner(row.value))
        if owned is None:
            return
        if entry:
            owned[row.value.cidr] = row
        else:
            owned.pop(row.value.cidr, None)


# More than the pods of a node; what is beyond is read again when it is asked for.
_HANDLES_KEPT: Final = 2000


def _row(entry: Entry) -> Stored[Affinity] | None:
    try:
        return Stored(read_affinity(entry.key, entry.value), entry.revision)
    except TortieError:
        # Its key tells whose it is; what it says is written anew by whoever confirms it.
        affinity = parse_affinity_key(entry.key)
        return Stored(affinity._replace(state="pending"), entry.revision) if affinity else None


def _owner(affinity: Affinity) -> str:
    return VIRTUAL_OWNER if affinity.virtual else HOST + affinity.owner
