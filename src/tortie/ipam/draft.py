"""What shall be written: a picture of the store as it will be, over the view of how it is. Pure.

A trial is one request's part of a draft: it is taken over when the request can be served, and thrown away when not, so
no request spoils its neighbours.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from datetime import datetime
from typing import Final

from tortie.ipam.block import HOST, Block
from tortie.ipam.encoding import write_affinity, write_block, write_handle
from tortie.ipam.facts import Facts
from tortie.ipam.records import Affinity, Handle
from tortie.ipam.view import VIRTUAL_OWNER, Need, View
from tortie.model.keys import block_key, handle_key, host_affinity_key, virtual_affinity_key
from tortie.model.network import Network
from tortie.store.contract import ABSENT, COMMIT_BYTES_MAX, OPERATIONS_MAX, Delete, Operation, Put, Revision

# A commit's envelope takes some bytes as well.
_BYTES_MAX: Final = COMMIT_BYTES_MAX - 50_000
_ATTRIBUTE_BYTES: Final = 300
_ADDRESS_BYTES: Final = 40
_RECORD_BYTES: Final = 500

Row = tuple[str, Network]  # an owner and a block


class Missing(Exception):
    """No error: the decision is put off until that has been read."""

    def __init__(self, need: Need) -> None:
        self.need = need


class TooMuch(Exception):
    """No error either: the request does not go into the same commit as those before it, but into the next."""


def row_key(owner: str, cidr: Network) -> str:
    if owner == VIRTUAL_OWNER:
        return virtual_affinity_key(str(cidr))
    return host_affinity_key(owner[len(HOST) :], str(cidr))


class Draft:
    """All that goes into one commit."""

    def __init__(self, view: View, now: datetime, *, optimistic: bool = False, atomic: bool = True) -> None:
        self.view = view
        self.now = now
        self.optimistic = optimistic  # a handle of which nothing is known is taken to be absent
        self.atomic = atomic
        self.tick = 0  # when the request came that is being planned
        self.blocks: dict[Network, Block | None] = {}
        self.handles: dict[str, Handle | None] = {}
        self.rows: dict[Row, Affinity | None] = {}
        self.along: dict[str, Operation] = {}
        self._bytes = 0

    def take(self, trial: Trial) -> None:
        """`TooMuch` when it does not fit."""
        grown = self._bytes + trial.size()
        if self and (self._keys_with(trial) > OPERATIONS_MAX or grown > _BYTES_MAX or self._clashes(trial)):
            raise TooMuch
        self.blocks |= trial.blocks
        self.handles |= trial.handles
        self.rows |= trial.rows
        self.along |= {operation.key: operation for operation in trial.along}
        self._bytes = grown

    def _keys_with(self, trial: Trial) -> int:
        keys = len({*self.blocks, *trial.blocks}) + len({*self.handles, *trial.handles})
        return keys + len({*self.rows, *trial.rows}) + len(self.along) + len(trial.along)

    def __bool__(self) -> bool:
        return bool(self.blocks or self.handles or self.rows or self.along)

    def _clashes(self, trial: Trial) -> bool:
        return not self.handles.keys().isdisjoint(trial.handles) or any(
            operation.key in self.along for operation in trial.along
        )

    def operations(self) -> list[Operation]:
        """What it takes to get there, all of it together."""
        view = self.view
        operations: list[Operation] = []
        for (owner, cidr), affinity in self.rows.items():
            operations += written_row(view, owner, cidr, affinity)
        for cidr, block in self.blocks.items():
            operations += written_block(view, cidr, block)
        for name, handle in self.handles.items():
            operations += written_handle(view, name, handle)
        operations += self.along.values()
        return operations

    def learn(self, revision: Revision) -> None:
        """It has been written."""
        view = self.view
        for cidr, block in self.blocks.items():
            view.learn_block(cidr, block.next_write() if block else None, revision)
        for name, handle in self.handles.items():
            view.learn_handle(name, handle, revision)
        for (owner, cidr), affinity in self.rows.items():
            view.learn_row(owner, cidr, affinity, revision)


class Trial:
    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self.view = draft.view
        self.now = draft.now
        self.atomic = draft.atomic
        self.blocks: dict[Network, Block | None] = {}
        self.handles: dict[str, Handle | None] = {}
        self.rows: dict[Row, Affinity | None] = {}
        self.along: Sequence[Operation] = ()

    @property
    def facts(self) -> Facts:
        assert self.view.facts is not None, "asked for what was not read"
        return self.view.facts

    def block(self, cidr: Network) -> Block | None:
        """As it will be so far; what has cooled down is free in it."""
        for changed in (self.blocks, self._draft.blocks):
            if changed and cidr in changed:
                return changed[cidr]
        if self.view.broken and cidr in self.view.broken:
            raise self.view.broken[cidr]
        try:
            known = self.view.blocks[cidr]
        except KeyError:
            if cidr.version in self.view.families_read:
                return None
            raise Missing(Need(frozenset({block_key(str(cidr))}))) from None
        if known is None:
            return None
        facts = self.view.facts
        if facts and facts.trouble:  # nobody knows how long addresses cool down
            return known.value
        return known.value.settled(self.now, facts.settings.cooldown_s if facts else 0)

    def knows(self, cidr: Network) -> bool:
        return (
            cidr in self.blocks
            or cidr in self._draft.blocks
            or cidr in self.view.blocks
            or cidr in self.view.broken
            or cidr.version in self.view.families_read
        )

    def is_fresh(self, what: Network | str) -> bool:
        """Whether it was looked at after the request came: what is concluded from it and not written rests on that."""
        when = self.view.read_at.get(what)
        if when is None and not isinstance(what, str):
            when = self.view.families_read.get(what.version)
        return when is not None and when >= self._draft.tick

    def is_family_fresh(self, family: int) -> bool:
        """Whether all blocks of it were."""
        return self.view.families_read.get(family, -1) >= self._draft.tick

    def sure_handle(self, name: str) -> Handle | None:
        """One that is not there was looked for."""
        if name in self._draft.handles or name in self.view.broken_handles:
            return self.handle(name)
        known = self.view.handles.get(name)
        if (known is None and not self.is_fresh(name)) or name in self.view.doubted:
            raise Missing(Need(frozenset({handle_key(name)})))
        return self.handle(name)

    def handle(self, name: str) -> Handle | None:
        for changed in (self.handles, self._draft.handles):
            if name in changed:
                return changed[name]
        if name in self.view.broken_handles:
            raise self.view.broken_handles[name]
        try:
            known = self.view.handles[name]
        except KeyError:
            if self._draft.optimistic and name not in self.view.doubted:
                return None
            raise Missing(Need(frozenset({handle_key(name)}))) from None
        return known.value if known and not known.value.deleted else None

    def row(self, owner: str, cidr: Network) -> Affinity | None:
        for changed in (self.rows, self._draft.rows):
            if (owner, cidr) in changed:
                return changed[owner, cidr]
        known = self.view.rows[owner].get(cidr)
        return known.value if known else None

    def own_rows(self, owner: str) -> dict[Network, Affinity]:
        rows = {cidr: known.value for cidr, known in self.view.rows[owner].items()}
        for changed in (self._draft.rows, self.rows):
            for (whose, cidr), affinity in changed.items():
                if whose == owner and affinity:
                    rows[cidr] = affinity
                elif whose == owner:
                    rows.pop(cidr, None)
        return rows

    def leaves_alone(self, family: int, but: Container[Network]) -> bool:
        """Whether all affinities, and all blocks of a family but these, are still as the view knows them."""
        if self.rows or self._draft.rows:
            return False
        changed = (*self.blocks, *self._draft.blocks)
        return all(cidr.version != family or cidr in but for cidr in changed)

    def is_claimed(self, cidr: Network) -> bool:
        """By a request of the same commit."""
        return any(known.get(cidr) is not None for known in (self.blocks, self._draft.blocks))

    def keys(self) -> list[str]:
        """Of all that it may write."""
        return [
            *(block_key(str(cidr)) for cidr in self.blocks),
            *map(handle_key, self.handles),
            *(row_key(*row) for row in self.rows),
        ]

    def size(self) -> int:
        """Of what would be written, roughly and rather more."""
        size = sum(len(operation.value) for operation in self.along if isinstance(operation, Put))
        size += _RECORD_BYTES * (len(self.rows) + len(self.handles))
        for cidr, block in self.blocks.items():
            if block and cidr not in self._draft.blocks:
                size += block.size * _ADDRESS_BYTES + len(block.attributes) * _ATTRIBUTE_BYTES
        return size + _ATTRIBUTE_BYTES * 2


def written_block(view: View, cidr: Network, block: Block | None) -> list[Operation]:
    known = view.blocks.get(cidr)
    key = block_key(str(cidr))
    if block is None:
        return [Delete(key, known.revision)] if known else []
    return [Put(key, write_block(block.next_write()), known.revision if known else ABSENT)]


def written_handle(view: View, name: str, handle: Handle | None) -> list[Operation]:
    known = view.handles.get(name)
    key = handle_key(name)
    if handle is None:
        return [Delete(key, known.revision)] if known else []
    return [Put(key, write_handle(handle), known.revision if known else ABSENT)]


def written_row(view: View, owner: str, cidr: Network, affinity: Affinity | None) -> list[Operation]:
    revision = row_revision(view, owner, cidr)
    key = row_key(owner, cidr)
    if affinity is None:
        return [Delete(key, revision)] if revision else []
    return [Put(key, write_affinity(affinity), revision or ABSENT)]


def row_revision(view: View, owner: str, cidr: Network) -> Revision | None:
    known = view.rows.get(owner, {}).get(cidr)
    if known:
        return known.revision
    taken = (view.everything_taken or {}).get(cidr)
    return taken[1] if taken and taken[0] == owner else None
