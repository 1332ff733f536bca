"""Carries out a migration in the store: adopts, then reads back whether everything stands there.

Every part may be repeated: what was adopted before is found to be ours, so a run that was killed anywhere is simply
run again. Trouble that passes by itself is waited for until the deadline; other trouble ends it at once.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Final, NamedTuple, TypeVar

from tortie.ipam.allocator import Allocator
from tortie.ipam.block import same_handle
from tortie.ipam.census import NODES, Census, take_census
from tortie.ipam.errors import TooContended
from tortie.ipam.migration import Adoption, Plan
from tortie.ipam.migration_tunnel import Tunnel, with_tunnel
from tortie.ipam.request import Request
from tortie.model.errors import TortieError
from tortie.model.keys import ResourceKey
from tortie.model.kinds import BY_NAME
from tortie.model.network import IP
from tortie.model.resource import stored_form
from tortie.model.wire import Document, decode, encode
from tortie.store.contract import ABSENT, Conflict, Put, Store, Unreachable
from tortie.store.retry import GaveUp, update

CALL_S: Final = 5.0  # one question to the store
_PAUSE_S: Final = 0.5
_GRACE_S: Final = 1.0  # calls end by themselves in time, and then say more than that time is over
_TOGETHER: Final = 64  # requests under way at once; the allocator puts them into few commits

Result = TypeVar("Result")


class Deadline:
    """One for everything; each call gets its own from it."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.seconds = seconds
        self._clock = clock
        self._end = clock() + seconds

    @property
    def left(self) -> float:
        return self._end - self._clock()

    def of_call(self) -> float:
        return max(0.1, min(CALL_S, self.left))


class Watcher:
    """Hears which step is going on and what keeps it; whoever runs the migration tells it on."""

    def step(self, doing: str) -> None: ...

    def again(self, error: TortieError) -> None: ...


class OutOfTime(TortieError):
    code = "timeout"

    def __init__(self, doing: str, seconds: float, last: TortieError | None) -> None:
        super().__init__(
            f"the migration did not end within {seconds:g} s: {doing}",
            str(last) if last else "the datastore answers too slowly",
            (f"{last.fix}; " if last and last.fix else "")
            + "then run it again: it goes on where it was, and nothing was removed",
        )


class Migrated(NamedTuple):
    adopted: int
    endpoints: int


def passes(error: TortieError) -> bool:
    """Whether it may be gone in a moment."""
    return isinstance(error, Unreachable | Conflict | GaveUp | TooContended)


async def insist(doing: str, work: Callable[[], Awaitable[Result]], deadline: Deadline, watcher: Watcher) -> Result:
    """Does it until it works, the deadline is over, or it is clear that it never will."""
    watcher.step(doing)
    last: TortieError | None = None
    while deadline.left > 0:
        try:
            async with asyncio.timeout(deadline.left + _GRACE_S):
                return await work()
        except TimeoutError:
            break
        except TortieError as error:
            if not passes(error):
                raise
            last = error
        if deadline.left <= _PAUSE_S:
            break
        watcher.again(last)
        await asyncio.sleep(_PAUSE_S)
    raise OutOfTime(doing, deadline.seconds, last)


async def look(store: Store, node: str, deadline: Deadline, watcher: Watcher) -> tuple[Census, Document]:
    """Everything that is decided about, and the node's own record; an empty one if there is none."""

    async def read() -> tuple[Census, Document]:
        # The small question first: whether anybody answers at all is known soon, and a large cluster gets its time.
        entry = await store.get(NODES + node, timeout_s=deadline.of_call())
        census = await take_census(store, timeout_s=max(deadline.of_call(), deadline.left))
        return census, decode(entry.value, entry.key) if entry else {}

    return await insist(f"reading {store.where}", read, deadline, watcher)


async def adopt(
    store: Store,
    node: str,
    plan: Plan,
    tunnel: Tunnel,
    deadline: Deadline,
    watcher: Watcher,
    clock: Callable[[], datetime],
) -> Migrated:
    allocator = Allocator(store, node, clock=clock)
    turn = asyncio.Semaphore(_TOGETHER)

    async def one(adoption: Adoption) -> None:
        async with turn:
            request = Request(node, adoption.handle, adoption.attributes, given=adoption.ips)
            if adoption.ips:
                await insist(
                    f"adopting {', '.join(map(str, adoption.ips))}",
                    lambda: allocator.assign(request, timeout_s=deadline.of_call()),
                    deadline,
                    watcher,
                )
            if adoption.endpoint:
                await _write_endpoint(store, adoption.endpoint, deadline, watcher, clock)

    outcomes = await asyncio.gather(*(one(adoption) for adoption in plan.adoptions), return_exceptions=True)
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome
    if tunnel.ip:
        await _adopt_tunnel(store, allocator, node, tunnel, deadline, watcher)
    return Migrated(
        sum(len(adoption.ips) for adoption in plan.adoptions), sum(bool(each.endpoint) for each in plan.adoptions)
    )


async def _write_endpoint(
    store: Store, document: Document, deadline: Deadline, watcher: Watcher, clock: Callable[[], datetime]
) -> None:
    """Unless there is one: then somebody has been faster, and knows better."""
    metadata = document["metadata"]
    created = clock().astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    stamped = {**document, "metadata": {**metadata, "uid": str(uuid.uuid4()), "creationTimestamp": created}}
    key = str(ResourceKey(BY_NAME["WorkloadEndpoint"], metadata["name"], metadata["namespace"]))
    value = encode(stored_form(stamped))

    async def write() -> None:
        with suppress(Conflict):
            await store.commit([Put(key, value, ABSENT)], timeout_s=deadline.of_call())

    pod = f"{metadata['namespace']}/{document['spec']['pod']}"
    await insist(f"writing the endpoint of {pod}", write, deadline, watcher)


async def _adopt_tunnel(
    store: Store, allocator: Allocator, node: str, tunnel: Tunnel, deadline: Deadline, watcher: Watcher
) -> None:
    """The address first, the record afterwards: who is killed between the two finds the address to be the tunnel's."""
    ip = tunnel.ip
    assert ip is not None
    attributes = {"node": node, "type": "ipipTunnelAddress"}
    request = Request(node, tunnel.handle(node), attributes, use="Tunnel", given=(ip,))
    if not tunnel.assigned:
        await insist(
            f"adopting the tunnel's address {ip}",
            lambda: allocator.assign(request, timeout_s=deadline.of_call()),
            deadline,
            watcher,
        )

    def decide(present: bytes | None) -> bytes | None:
        if present is None:  # deleted meanwhile: whoever did it takes the addresses back, too
            return None
        record = decode(present, NODES + node)
        bgp = (record.get("spec") or {}).get("bgp") or {}
        return present if bgp.get("ipv4IPIPTunnelAddr") else encode(with_tunnel(record, ip))

    await insist(
        f"writing the tunnel's address into Node({node})",
        lambda: update(store, NODES + node, decide, timeout_s=deadline.of_call()),
        deadline,
        watcher,
    )


class NotKept(TortieError):
    code = "not-kept"

    def __init__(self, missing: list[tuple[IP, str]]) -> None:
        super().__init__(
            f"{len(missing)} addresses are not in the datastore as they were written; no file was touched",
            "; ".join(f"{ip} should be held by {handle}" for ip, handle in missing[:5]),
            "look for a program that releases them, a second cluster's controllers say; then run this again",
        )


def check_kept(plan: Plan, census: Census) -> None:
    """`census` was taken after everything was written."""
    held = {holding.ip: holding.attribute.handle for block in census.blocks.values() for holding in block.holdings()}
    wanted = [(each.lease.ip, each.handle) for each in plan.decisions if each.verdict in ("adopt", "ours")]
    if missing := [(ip, handle) for ip, handle in wanted if not same_handle(held.get(ip), handle)]:
        raise NotKept(missing)
