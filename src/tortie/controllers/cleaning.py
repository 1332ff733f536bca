"""Carrying out a plan. Every write says what it expects to find, so that two who do the same at the same time, or one
who was stopped halfway and begins again, do no harm.

The order: what is configured for a node alone, then its endpoints, then their addresses, then its blocks. So an address
is never free while an endpoint still claims it, and whoever is killed in between leaves something by which the next
look knows that there was such a node: its configuration alone might be that of a node that is still to come.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Final, TypeVar

from tortie.controllers.deeds import Deed, DeedKind, Outcome
from tortie.controllers.leaks import Leak
from tortie.controllers.plan import Plan
from tortie.controllers.recheck import rechecked
from tortie.controllers.speaking import Speaker
from tortie.ipam.affinity import release_node
from tortie.ipam.allocator import Allocator
from tortie.ipam.census import CLUSTER, ENDPOINTS, NODES, Endpoint, census_of
from tortie.ipam.errors import IpamError
from tortie.ipam.request import Expected
from tortie.model.keys import ResourceKey, parse_resource_key, resource_prefix
from tortie.model.kinds import BY_NAME
from tortie.model.wire import Undecodable, decode
from tortie.store.contract import Conflict, Delete, Entry, Operation, Store
from tortie.store.retry import GaveUp

T = TypeVar("T")

_OPERATIONS: Final = 100  # in one commit
_ADDRESSES: Final = (
    50  # in one request to IPAM: each may have a handle and a block of its own, and they go in one commit
)
_NODES: Final = 50  # whose resources are asked for at once
_TIMEOUT_S: Final = 60.0

_OF_A_NODE: Final = ("FelixConfiguration", "BGPConfiguration")


class Cleaner:
    """`require` is called before every write and raises when this instance may not write any more."""

    def __init__(
        self, store: Store, log: Speaker, *, today: Callable[[], datetime], require: Callable[[], None] = lambda: None
    ) -> None:
        self._store = store
        self._log = log
        self._today = today
        self._require = require
        self._deeds: list[Deed] = []
        self._kept: list[tuple[str, str]] = []
        self._unfinished = False

    async def carry_out(self, plan: Plan) -> Outcome:
        """What was done so far is known even if it raises: see `so_far`."""
        if plan.endpoints or plan.leaks.confirmed or plan.gone:
            plan = await self._look_again(plan)
        if plan.locked:
            return self.so_far()
        stuck = {each.node for each in plan.stuck}
        await self.delete_resources([node for node in plan.gone if node not in stuck])
        await self.delete_endpoints(plan.endpoints)
        await self.release(plan.leaks.confirmed)
        await self.clean_up_nodes(plan.nodes)
        for found, total, operations in plan.blocks:
            self._log.info(
                f"Releasing affinity for empty block (node has {total} total blocks)",
                block=str(found.cidr),
                node=found.node,
            )
            if await self._commit(operations):
                self._did("block released", str(found.cidr), found.node, f"empty, and the node has {total} blocks")
        for kind, which, operation in plan.tidying:
            if await self._commit([operation]):
                self._did(*_tidied(kind, str(which)))
        return self.so_far()

    def so_far(self) -> Outcome:
        return Outcome(tuple(self._deeds), tuple(self._kept), self._unfinished)

    async def _look_again(self, plan: Plan) -> Plan:
        snapshot = await self._store.snapshot((CLUSTER,), (NODES, ENDPOINTS), timeout_s=_TIMEOUT_S)
        smaller, back = rechecked(plan, census_of(snapshot))
        for leak in back:
            self._log.info(
                "Leaked IP has been resurrected after querying latest state", ip=str(leak.ip), handle=leak.handle
            )
            self._kept.append((str(leak.ip), "somebody uses it by now"))
        return smaller

    async def delete_endpoints(self, endpoints: Sequence[Endpoint]) -> None:
        for batch in _cut(endpoints, _OPERATIONS):
            if await self._commit([Delete(each.key, each.revision) for each in batch], quiet=True):
                done = list(batch)
            else:  # one of them has changed: the others one by one
                done = [each for each in batch if await self._commit([Delete(each.key, each.revision)])]
            for each in done:
                name = f"{each.namespace}/{each.name}"
                self._log.info("Deleted workload endpoint of a node that does not exist", endpoint=name, node=each.node)
                self._did("endpoint deleted", name, each.node, "its node does not exist")

    async def release(self, leaks: Sequence[Leak]) -> None:
        for batch in _cut(sorted(leaks, key=lambda leak: (leak.block.version, leak.block, leak.handle)), _ADDRESSES):
            self._require()
            for leak in batch:
                self._log.info("Garbage collecting leaked IP addresses", **leak.evidence())
            allocator = Allocator(self._store, "", clock=self._today)
            wanted = [Expected(leak.ip, leak.handle, leak.suspect.sequence) for leak in batch]
            answer = await allocator.release_ips(wanted, timeout_s=_TIMEOUT_S)
            released, by_ip = set(answer.released), {leak.ip: leak for leak in batch}
            for leak in batch:
                if leak.ip in released:
                    self._log.info(
                        "Successfully garbage collected leaked IP address", ip=str(leak.ip), handle=leak.handle
                    )
                    self._did("address released", str(leak.ip), leak.node, _spoken(leak))
            for ip, why in answer.kept:
                self._unfinished = True
                self._kept.append((str(ip), why))
                self._log.info(f"Leaked IP has changed hands and stays: {why}", ip=str(ip), handle=by_ip[ip].handle)

    async def clean_up_nodes(self, nodes: Sequence[str]) -> None:
        if nodes:
            self._log.info("Found a batch of nodes to release", nodes=", ".join(nodes))
        for node in nodes:
            self._require()
            self._log.info("Cleaning up IPAM affinities for deleted node", node=node)
            try:
                answer = await release_node(self._store, node, clock=self._today, timeout_s=_TIMEOUT_S)
            except (IpamError, Conflict, GaveUp) as error:
                self._unfinished = True
                self._log.error(f"Error cleaning up node, will retry on next sync: {error}", node=node)
                continue
            for ip in answer.released:
                self._did("address released", str(ip), node, "a tunnel's, and the node does not exist")
            self._did("node cleaned up", node, node, "its blocks and affinities are given up")

    async def delete_resources(self, nodes: Sequence[str]) -> None:
        """What is configured or reported for a node alone."""
        for some in _cut(nodes, _NODES):
            keys = [str(ResourceKey(BY_NAME[kind], f"node.{node}")) for node in some for kind in _OF_A_NODE]
            reports = resource_prefix(BY_NAME["CalicoNodeStatus"])
            snapshot = await self._store.snapshot(keys, (reports,), timeout_s=_TIMEOUT_S)
            found = [entry for key in keys if (entry := snapshot.get(key))]
            found += [entry for entry in snapshot.listings[reports] if _node_of(entry) in some]
            for entry in found:
                if await self._commit([Delete(entry.key, entry.revision)]):
                    key = parse_resource_key(entry.key)
                    name = key.describe() if key else entry.key
                    self._did("resource deleted", name, _node_of(entry), "its node does not exist")

    async def _commit(self, operations: Sequence[Operation], *, quiet: bool = False) -> bool:
        """False if something is not any more as it was seen: then it is for the next look."""
        self._require()
        try:
            await self._store.commit(operations, timeout_s=_TIMEOUT_S)
        except Conflict as conflict:
            if not quiet:
                self._unfinished = True
                self._kept.append((conflict.key, "it was changed meanwhile"))
            return False
        return True

    def _did(self, kind: DeedKind, what: str, node: str = "", why: str = "") -> None:
        self._deeds.append(Deed(kind, what, node, why))


def _spoken(leak: Leak) -> str:
    if leak.node_gone:
        return f"{leak.missing}; node {leak.node} does not exist"
    return f"{leak.missing}, for {leak.age_s:.0f} s"


def _tidied(kind: str, which: str) -> tuple[DeedKind, str, str, str]:
    if kind == "handle":
        return "handle deleted", which, "", "no address has it"
    if kind == "block of a node that is gone":
        return "block released", which, "", "its node does not exist"
    if kind == "empty block":
        return "block released", which, "", "nobody's, and empty"
    return "addresses cooled down", which, "", "free again"


def _node_of(entry: Entry) -> str:
    key = parse_resource_key(entry.key)
    if key and key.name.startswith("node."):
        return key.name.removeprefix("node.")
    try:
        spec = decode(entry.value, entry.key).get("spec")
    except Undecodable:
        return ""
    return str(spec.get("node") or "") if isinstance(spec, dict) else ""


def _cut(things: Sequence[T], size: int) -> Iterable[Sequence[T]]:
    return (things[at : at + size] for at in range(0, len(things), size))
