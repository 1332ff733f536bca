"""Which of an owner's blocks have room, and which pools a request may use: asked for every address, and nearly always
with the same answer. Pure.

Answers are kept until something is learned that they rest on. So an address costs the same whether its node has one
block or twenty.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tortie.ipam.pools import Labels, Pool, usable
from tortie.ipam.request import Request
from tortie.model.network import Network

if TYPE_CHECKING:
    from tortie.ipam.block import Block
    from tortie.ipam.view import View

_KEPT = 256  # answers; more than there are kinds of requests on a node


class Answers:
    def __init__(self) -> None:
        self._room: dict[tuple[str, int, tuple[str, ...]], tuple[Network, ...] | None] = {}
        self._pools: dict[tuple[object, ...], tuple[Pool, ...]] = {}

    def forget_room(self) -> None:
        self._room.clear()

    def forget(self) -> None:
        self._room.clear()
        self._pools.clear()

    def block_changed(self, before: Block | None, after: Block | None) -> None:
        """By us, and mostly an address less in a block that has more."""
        if before is None or after is None or before.affinity != after.affinity or has_room(before) != has_room(after):
            self._room.clear()

    def pools(self, view: View, request: Request, family: int, labels: Labels) -> tuple[Pool, ...]:
        """`NoPool` if there are none."""
        wanted = request.pools4 if family == 4 else request.pools6
        namespace = tuple(request.namespace_labels.items()) if request.namespace_labels else ()
        key = (request.node, request.use, family, wanted, namespace)
        known = self._pools.get(key)
        if known is None:
            assert view.facts is not None, "asked for what was not read"
            known = usable(view.facts.pools, request, family, labels, view.facts.unreadable)
            if len(self._pools) >= _KEPT:
                self._pools.clear()
            self._pools[key] = known
        return known

    def room(self, view: View, owner: str, family: int, pools: Sequence[Pool]) -> tuple[Network, ...] | None:
        """In the order of their keys; None if one of the owner's blocks needs a closer look."""
        key = (owner, family, tuple([pool.name for pool in pools]))
        if key not in self._room:
            if len(self._room) >= _KEPT:
                self._room.clear()
            self._room[key] = _room(view, owner, family, pools)
        return self._room[key]


def _room(view: View, owner: str, family: int, pools: Sequence[Pool]) -> tuple[Network, ...] | None:
    found: list[Network] = []
    for cidr, row in sorted(view.rows[owner].items(), key=_name):
        if cidr.version != family or not is_in(cidr, pools) or cidr in view.broken:
            continue
        block = view.blocks.get(cidr)
        if block is None or block.value.affinity != owner or not row.value.is_confirmed:
            return None
        if has_room(block.value):
            found.append(cidr)
    return tuple(found)


def has_room(block: Block) -> bool:
    """Or will have, when addresses have cooled down."""
    return bool(block.unallocated) or block.is_cooling


def is_in(cidr: Network, pools: Sequence[Pool]) -> bool:
    start = int(cidr.network_address)
    for pool in pools:
        net = pool.cidr
        if net.version == cidr.version and net.prefixlen <= cidr.prefixlen:
            first = int(net.network_address)
            if first <= start < first + net.num_addresses:
                return True
    return False


def _name(item: tuple[Network, object]) -> str:
    return str(item[0])
