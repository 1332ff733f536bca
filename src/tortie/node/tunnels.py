"""The addresses of this node's tunnels: taken from IPAM, kept in the Node record, given back.

An address and the record that tells of it are written by one commit. Pools and the own record are followed: who makes
a pool with VXLAN gets the tunnel's address at once, who deletes it gets it back.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Final

from tortie.health.health import Health
from tortie.health.state import Trouble
from tortie.ipam.errors import IpamError
from tortie.ipam.records import read_block
from tortie.ipam.request import Expected, Request
from tortie.model.errors import TortieError
from tortie.model.keys import block_key
from tortie.model.network import IP
from tortie.model.wire import Document, Undecodable, decode
from tortie.node.log import Log
from tortie.node.patience import pause_s
from tortie.node.picture import POOLS, key_of
from tortie.node.supervision import together
from tortie.node.tunnel_choice import (
    KINDS,
    Choice,
    Kind,
    Pool,
    choose,
    current_address,
    home_of,
    labels_of,
    read_pool,
    usable_pools,
    why_not_readable,
    with_address,
)
from tortie.store.contract import Change, Conflict, Entry, Operation, Put, Store
from tortie.store.follow import follow_all

if TYPE_CHECKING:
    from tortie.ipam.allocator import Allocator
    from tortie.ipam.block import Block

NEED: Final = "tunnel-address"
_OUT_OF_REACH_S: Final = 30.0
_LONGEST_PAUSE_S: Final = 30.0
_AGAIN_MAX: Final = 10  # times, when others write the same record at the same moment


class TunnelAddresses:
    def __init__(self, name: str, store: Store, health: Health, log: Log, allocator: Allocator) -> None:
        """For the backends bird and vxlan; with `none` Calico has no tunnel addresses either."""
        self._name = name
        self._store = store
        self._health = health
        self._log = log
        self._allocator = allocator
        self._key = key_of("Node", name)
        self._pools: dict[str, Pool] = {}
        self._notes: dict[str, str] = {}  # pools that make no sense, and why
        self._node: Entry | None = None
        self._heard = asyncio.Event()
        self._told = ""

    async def run(self) -> None:
        """For ever; a task of the agent, once the node is registered."""
        await together(self._follow(), self._keep_right())

    async def settle_once(self, log: Log) -> None:
        """One time, of what stands there now; raises what stands in the way. For a start that waits for it."""
        self._log = log
        listing = await self._store.scan(POOLS)
        self._learn([Change(entry.key, entry.value, entry.revision) for entry in listing.entries])
        self._node = await self._store.get(self._key)
        for kind in KINDS:
            try:
                await self._settle_kind(kind)
            except IpamError as error:
                error.add_note(kind.name)
                raise

    async def _keep_right(self) -> None:
        attempt = 0
        while True:
            await self._heard.wait()
            self._heard.clear()
            try:
                await self._settle()
            except TortieError as error:
                attempt += 1
                self._failed(error)
                await self._pause(pause_s(attempt, random.random(), longest_s=_LONGEST_PAUSE_S))
                self._heard.set()
            else:
                attempt = 0
                self._worked()

    async def _pause(self, seconds: float) -> None:
        """Or until there are news."""
        try:
            async with asyncio.timeout(seconds):
                await self._heard.wait()
        except TimeoutError:
            return

    async def _follow(self) -> None:
        attempt = 0
        while True:
            try:
                prefixes = (POOLS, self._key)
                async with aclosing(follow_all(self._store, prefixes, timeout_s=_OUT_OF_REACH_S)) as following:
                    whole = True
                    async for news in following:
                        attempt = 0
                        if whole:
                            self._forget({change.key for change in news.changes})
                            whole = False
                        self._learn(news.changes)
                        self._heard.set()
            except TortieError:  # that the store is away is somebody else's news
                attempt += 1
            await asyncio.sleep(pause_s(attempt, random.random(), longest_s=_LONGEST_PAUSE_S))

    def _forget(self, present: set[str]) -> None:
        """What has gone while nobody looked."""
        self._node = self._node if self._key in present else None
        for name in (*self._pools, *self._notes):
            if POOLS + name not in present:
                self._pools.pop(name, None)
                self._notes.pop(name, None)

    def _learn(self, changes: Sequence[Change]) -> None:
        for change in changes:
            if change.key == self._key:
                self._node = Entry(change.key, change.value, change.revision) if change.value is not None else None
            elif change.key.startswith(POOLS):
                self._learn_pool(change.key[len(POOLS) :], change)

    def _learn_pool(self, name: str, change: Change) -> None:
        """What a pool said before stays in force while it makes no sense: a slip must not take tunnels away."""
        noted = self._notes.pop(name, "")
        if change.value is None:
            self._pools.pop(name, None)
            return
        try:
            self._pools[name] = read_pool(decode(change.value, change.key))
        except (Undecodable, ValueError) as error:
            why = self._notes[name] = error.why if isinstance(error, Undecodable) else str(error)
            if why != noted:
                kept = "what it said before stays in force" if name in self._pools else "it is passed over"
                self._log.warning(f"IPPool({name}) makes no sense to the tunnels' addresses, {kept}: {why}")

    async def _settle(self) -> None:
        for kind in KINDS:
            await self._settle_kind(kind)

    async def _settle_kind(self, kind: Kind) -> None:
        for attempt in range(_AGAIN_MAX):
            try:
                await self._settle_one(kind, self._node if attempt == 0 else await self._store.get(self._key))
                break
            except Conflict:
                if attempt == _AGAIN_MAX - 1:
                    raise

    async def _settle_one(self, kind: Kind, entry: Entry | None) -> None:
        if entry is None:
            return  # a record that somebody has deleted is written again, and then heard of
        node = _readable(entry)
        usable = usable_pools(kind, self._pools, labels_of(node))
        current = current_address(kind, node)
        block = await self._block(current) if current and usable else None
        choice = choose(kind, self._name, current, list(usable.values()), block)
        handle = kind.handle + self._name
        if choice.action in ("nothing", "keep"):
            return
        if choice.action in ("release", "reassign") and self._notes.keys() - self._pools.keys():
            return  # it may be out of a pool that nobody can read at present
        self._log.info(choice.said or f"Release the {kind.name} tunnel address", IP=str(current or ""), type=kind.name)
        if choice.action == "release":
            await self._allocator.release_handle(handle, along=[self._put(kind, entry, node, None)])
            self._node = await self._store.get(self._key)
            return
        if choice.action == "reassign":
            await self._allocator.release_handle(handle)
        elif choice.action == "adopt" and current:
            await self._allocator.release_ips([Expected(current)])
        await self._assign(kind, choice, entry, node, current, tuple(usable))

    async def _assign(
        self, kind: Kind, choice: Choice, entry: Entry, node: Document, current: IP | None, pools: tuple[str, ...]
    ) -> None:
        def along(ips: Sequence[IP]) -> Sequence[Operation]:
            return [self._put(kind, entry, node, ips[0])]

        request = Request(
            self._name,
            kind.handle + self._name,
            {"node": self._name, "type": kind.attribute},
            use="Tunnel",
            along=along,
        )
        if choice.action == "adopt" and current:
            request = request._replace(given=(current,))
        elif kind.family == 4:
            request = request._replace(v4=1, pools4=pools)
        else:
            request = request._replace(v6=1, pools6=pools)
        assigned = await self._allocator.assign(request)
        self._node = await self._store.get(self._key)
        if not assigned.ips:
            raise IpamError("Unable to autoassign an address", f"no pool has one for {kind.name}", "make a larger pool")
        self._log.info("Assigned tunnel address to node", IP=str(assigned.ips[0]), type=kind.name)
        if self._node and current_address(kind, written := _readable(self._node)) != assigned.ips[0]:
            await self._store.commit([self._put(kind, self._node, written, assigned.ips[0])])
            self._node = await self._store.get(self._key)

    def _put(self, kind: Kind, entry: Entry, node: Document, ip: IP | None) -> Put:
        try:
            return Put(self._key, with_address(kind, node, ip), entry.revision)
        except RecursionError:
            raise Undecodable(self._key, "it is nested too deeply") from None

    async def _block(self, ip: IP) -> Block | None:
        home = home_of(ip, self._pools)
        entry = await self._store.get(block_key(str(home))) if home else None
        if entry is None:
            return None
        block = read_block(entry.key, entry.value)
        if block.cidr != home:
            raise Undecodable(entry.key, f"it is the block {block.cidr}")
        return block

    def _failed(self, error: TortieError) -> None:
        trouble = Trouble(f"the address of a tunnel is not settled: {error.what}", error.why, error.fix, "this node")
        if isinstance(error, IpamError):
            self._health.need(NEED, trouble)
        if self._told != error.what:
            self._told = error.what
            what = "Unable to autoassign an address" if isinstance(error, IpamError) else trouble.what.partition(":")[0]
            self._log.warning(f"{what}: {error.what}: {error.why}. Fix: {error.fix}")

    def _worked(self) -> None:
        self._health.met(NEED)
        if self._told:
            self._log.info(f"No longer so: {self._told}")
            self._told = ""


def _readable(entry: Entry) -> Document:
    node = decode(entry.value, entry.key)
    if why := why_not_readable(node):
        raise Undecodable(entry.key, why)
    return node
