"""What the evidence says about pools: sizes, blocks, addresses in use against pods, affinities against nodes.

The family "exhausted, leaked, out of blocks, no pool" shares its messages; only these numbers separate the four.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from tortie.doctor.causes.agent.counting import Count, answers, counted, narrow, said
from tortie.doctor.causes.cni.pods_served import served_since
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.ipam.etcd_counts import affinities_counted, beyond, blocks_counted, owners_counted
from tortie.doctor.causes.ipam.owner_lists import AFFINITY_CHECK, AFFINITY_YAML, owners
from tortie.doctor.causes.ipam.pool_addresses import holds_pool, of_pool, pool_checked
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.addresses import inside
from tortie.doctor.picture.facts import HostFile, Node, Pod, Pool, PoolUse
from tortie.doctor.picture.picture import Picture, remembered
from tortie.doctor.signs import Hit, Sign
from tortie.model.tuples import NamedTuple

# No address could be had. Who is to blame is another question.
AUTOASSIGN_FAILED: Final = Sign("ipam-autoassign-failed", "Unable to autoassign an address…pools are likely exhausted")
ALLOCATED_ONLY: Final = Sign(
    "ipam-allocated-only", "failed to request <n> IPv(4|6) addresses. IPAM allocated only <n_got>"
)
ASSIGNED_OUT_OF: Final = Sign(
    "ipam-assigned-out-of", "Assigned <n> out of <n_want> requested IPv(4|6) addresses; <rest>"
)
NO_IPS_IN_POOLS: Final = Sign("ipam-no-ips-in-pools", "No IPs available in pools: [<list_pools>]")
NO_FREE_POOL_BLOCKS: Final = Sign("ipam-no-free-pool-blocks", "No free IP pool blocks")
NO_FREE_BLOCKS: Final = Sign("ipam-no-free-blocks", "No free blocks available for allocation")
RAN_OUT_OF_AFFINE: Final = Sign("ipam-ran-out-of-affine", "Ran out of existing affine blocks for host")
STRICT: Final = Sign("ipam-strict-affinity", "No more free affine blocks and strict affinity enabled")
BLOCK_LIMIT: Final = Sign("ipam-block-limit", "cannot allocate new block due to per host block limit")
BLOCK_LIMIT_REACHED: Final = Sign("ipam-block-limit-reached", "limit of <n> blocks reached for this node")

# calicoctl ipam check
CHECK_LEAKED: Final = Sign("ipam-check-leaked", "Found <n> IPs that are allocated in IPAM but not actually in use")
CHECK_UNALLOCATED: Final = Sign(
    "ipam-check-unallocated",
    "Found <n> in-use IPs that are in active IP pools but have no corresponding IPAM allocation",
)
CHECK_OUTSIDE: Final = Sign("ipam-check-outside", "Found <n> in-use IPs that are not in active IP pools")
CHECK_HANDLES: Final = Sign("ipam-check-handles", "Found <n> handles with no matching IPs")
CHECK_DONE: Final = Sign("ipam-check-done", "Check complete; found <n> problems")
CHECK_BLOCKS: Final = Sign("ipam-check-blocks", "Found <n> IPAM blocks")
CHECK_RECORDED: Final = Sign("ipam-check-recorded", "IPAM blocks record <n> allocations")
CHECK_USING: Final = Sign("ipam-check-using", "Workloads and nodes are using <n> IPs")

RELEASE_NOT_EMPTY: Final = Sign(
    "ipam-release-not-empty", "Failed to release block affinit(y|ies)…(is not empty|not empty)"
)

EXHAUSTION: Final = (
    AUTOASSIGN_FAILED, ALLOCATED_ONLY, ASSIGNED_OUT_OF, NO_IPS_IN_POOLS, NO_FREE_POOL_BLOCKS, NO_FREE_BLOCKS,
    RAN_OUT_OF_AFFINE, STRICT, BLOCK_LIMIT, BLOCK_LIMIT_REACHED,
)  # fmt: skip
NUMBERS: Final = (
    CHECK_LEAKED, CHECK_UNALLOCATED, CHECK_OUTSIDE, CHECK_HANDLES, CHECK_DONE, CHECK_BLOCKS, CHECK_RECORDED,
    CHECK_USING, AFFINITY_YAML, AFFINITY_CHECK, RELEASE_NOT_EMPTY,
)  # fmt: skip

DEFAULT_BLOCK: Final = 26
DEFAULT_BLOCK_V6: Final = 122
LONGEST_V4: Final = 32
# Whoever counts pods may miss some seconds of churn and every tunnel address: a leak is more than that.
SLACK: Final = 1.4
SLACK_FEW: Final = 12
FULL: Final = 0.97  # a pool that is this full has nothing left for the next pod
ROOMY: Final = 0.9  # below this, a pool still has addresses


class Numbers(NamedTuple):
    """What is known of one pool and its cluster; None where nothing says."""

    pool: Pool | None
    use: PoolUse | None
    cidr: str
    capacity: int | None  # blocks that fit into the pool
    blocks: Count | None  # blocks that exist
    affinities: Count | None
    nodes: Count | None
    pods: Count | None
    leaked: Count | None  # by calicoctl's own check
    problems: Count | None
    dead_owners: tuple[str, ...]  # hosts that own blocks and are no nodes
    dead: Count | None
    hosts: Count | None = None  # that own blocks

    @property
    def expected(self) -> int | None:
        """Addresses that pods and tunnels can account for, generously."""
        if self.pods is None:
            return None
        tunnels = 2 * self.nodes.value if self.nodes else 0
        return max(int(self.pods.value * SLACK), self.pods.value + SLACK_FEW) + tunnels

    @property
    def above(self) -> bool:
        """Far more addresses in use than pods; a check that finds nothing knows better than who counts some of them."""
        if self.problems is not None and not self.problems.value and not self.checked:
            return False
        return self.use is not None and self.expected is not None and self.use.used > self.expected

    @property
    def checked(self) -> bool:
        """The check counts more leaks than churn explains."""
        return self.leaked is not None and self.leaked.value > SLACK_FEW

    @property
    def leaking(self) -> bool:
        """Numbers that only dead owners explain: far more in use than pods, blocks of hosts that are gone, a check."""
        return (
            self.above or self.checked or bool(self.dead_owners) or bool(self.dead and self.dead.value) or self.beyond
        )

    @property
    def beyond(self) -> bool:
        return beyond(self.hosts, self.nodes)

    @property
    def share(self) -> float | None:
        return self.use.used / self.use.total if self.use and self.use.total else None

    @property
    def full(self) -> bool:
        return self.share is not None and self.share >= FULL

    @property
    def roomy(self) -> bool:
        return self.share is not None and self.share < ROOMY

    @property
    def prefix(self) -> str:
        """What all addresses of the pool begin with: `10.77.`."""
        address, _, length = self.cidr.partition("/")
        same = address.split(".")[: int(length) // 8] if length.isdecimal() else []
        return f"{'.'.join(same)}." if same and ":" not in address else ""

    @property
    def culprits(self) -> tuple[Culprit, ...]:
        return culprits(named("cidr", self.cidr), named("pool", self.pool.name if self.pool else ""))

    @property
    def places(self) -> tuple[object, ...]:
        facts = (
            self.use,
            self.pods,
            self.nodes,
            self.affinities,
            self.hosts,
            self.blocks,
            self.leaked,
            self.dead,
            self.pool,
        )
        return tuple(fact for fact in facts if fact is not None)


def exhaustion(picture: Picture) -> list[Hit]:
    """What says so, unless all pods run since."""
    hits = [hit for hit in picture.hits(*EXHAUSTION) if "forbidden" not in hit.line and "nauthorized" not in hit.line]
    return [] if served_since(picture, hits) else hits


@remembered
def numbers(picture: Picture) -> Numbers:
    """The fullest pool shown, with all counts."""
    use = max(pool_uses(picture), key=lambda u: u.used / max(1, u.total), default=_use_checked(picture))
    pools = picture.of(Pool)
    four = [pool for pool in pools if ":" not in pool.cidr] or pools
    pool = next((p for p in pools if use and p.cidr == use.cidr), four[-1] if four and not use else None)
    cidr = use.cidr if use else pool.cidr if pool else _pool_named(picture)
    dead_owners = _dead_owners(picture)
    affinities = counted(picture, "blockaffinit") or affinities_counted(picture)
    return Numbers(
        pool, use, cidr, capacity(pool, cidr, picture), _blocks(picture, cidr), affinities,
        _nodes(picture), _pods(picture, cidr, use), _from(picture, CHECK_LEAKED), _from(picture, CHECK_DONE),
        dead_owners, _dead(picture), owners_counted(picture),
    )  # fmt: skip


def pool_uses(picture: Picture) -> list[PoolUse]:
    """Each pool as `ipam show` counts it last."""
    rows = [use for use in picture.of(PoolUse) if use.grouping.lower().startswith("ip pool")]
    return list({use.cidr: use for use in rows}.values())


def _use_checked(picture: Picture) -> PoolUse | None:
    """As a check counts it that looked at one pool."""
    recorded, (_, _, length) = _from(picture, CHECK_RECORDED), pool_checked(picture).partition("/")
    if recorded is None or not length.isdecimal() or int(length) > 32:
        return None
    total = 2 ** (32 - int(length))
    free = max(0, total - recorded.value)
    return PoolUse(recorded.place, "IP Pool", pool_checked(picture), total, recorded.value, free)


def host_local(picture: Picture) -> bool:
    """The cluster keeps, or kept, its addresses in files: Calico's IPAM knows nothing of them."""
    shown = any("cni/networks" in file.folder for file in picture.of(HostFile))
    short = (exhibit for exhibit in picture.exhibits if len(exhibit.lines) <= 400)
    return shown or any("host-local" in exhibit.text or "host_local" in exhibit.text for exhibit in short)


def capacity(pool: Pool | None, cidr: str, picture: Picture) -> int | None:
    """Blocks that fit: 2^(blockSize - prefix)."""
    length = cidr.partition("/")[2]
    if not length.isdecimal():
        return None
    size = block_size(pool, cidr, picture)
    return 2 ** (size - int(length)) if size >= int(length) else None


def capacity_of_all(picture: Picture) -> int | None:
    """Blocks of all pools of IPv4 that are switched on."""
    pools = [pool for pool in picture.pools_now() if ":" not in pool.cidr and not pool.disabled]
    each = [capacity(pool, pool.cidr, picture) for pool in pools]
    return sum(one for one in each if one) if each and all(each) else None


def block_size(pool: Pool | None, cidr: str, picture: Picture) -> int:
    return (pool.block_size if pool else None) or _block_size(picture, ":" in cidr)


def _block_size(picture: Picture, six: bool) -> int:
    """Lengths up to 32 are of IPv4; a pool of IPv6 has blocks of 116 to 128."""
    own = "CALICO_IPV6POOL_BLOCK_SIZE" if six else "CALICO_IPV4POOL_BLOCK_SIZE"
    told = [picture.value(name) for name in ("blockSize", "spec.blockSize", own)]
    blocks = [
        use for use in picture.of(PoolUse) if use.grouping.lower().startswith("block") and (":" in use.cidr) == six
    ]
    told += [use.cidr.partition("/")[2] for use in blocks[:1]]
    fits = [int(value) for value in told if value.isdecimal() and (int(value) > LONGEST_V4) == six]
    return fits[0] if fits else DEFAULT_BLOCK_V6 if six else DEFAULT_BLOCK


def _pool_named(picture: Picture) -> str:
    for hit in picture.hits(NO_IPS_IN_POOLS):
        return hit.value("list_pools").split(",")[0].split()[0]
    return pool_checked(picture) or picture.value("CALICO_IPV4POOL_CIDR")


def _from(picture: Picture, sign: Sign) -> Count | None:
    hits = picture.hits(sign)
    return Count(int(float(hits[-1].value("n"))), hits[-1].place) if hits else None


def _blocks(picture: Picture, pool: str) -> Count | None:
    """Of that pool, where they are listed one by one."""
    numbered = [
        count
        for command, count in answers(picture)
        if "ipamblock" in command or ("show-blocks" in command and "Block" in command)
        if "comm " not in command
    ]
    rows = [use for use in picture.of(PoolUse) if use.grouping.lower().startswith("block")]
    rows = [row for row in rows if not pool or inside(row.cidr, pool)]
    if numbered:
        return numbered[-1]
    return Count(len(rows), rows[0].place) if rows else _from(picture, CHECK_BLOCKS) or blocks_counted(picture)


def _dead(picture: Picture) -> Count | None:
    """Owners without a node, counted by `comm -23 owners nodes`."""
    return next((c for command, c in answers(picture) if "comm -23" in command or "comm -2 -3" in command), None)


def _nodes(picture: Picture) -> Count | None:
    pattern = _compiled(r"get (?:nodes?|no)\b")
    numbered = [
        count
        for command, count in answers(picture)
        if pattern.search(command) and "comm " not in command and not narrow(command)
    ]
    if numbered:
        return numbered[-1]
    names = {node.name: node for node in picture.of(Node)}
    if names and _all_nodes_listed(picture):
        return Count(len(names), next(iter(names.values())).place)
    told = said(picture, r"(\d[\d,]{0,8})\s*(?:个|台)?\s*(?:live |running |worker )?(?:nodes\b|节点|机器)")
    return told or _at_least(picture)


def _at_least(picture: Picture) -> Count | None:
    """Nodes of a table whose command was left out: with its header it was not searched, but it may be cut."""
    headed = [
        exhibit
        for exhibit in picture.exhibits
        if not exhibit.prose and not _compiled(r"get (?:nodes?|no)\b").search(exhibit.command)
        if any(_compiled(r"\s*NAME\s+STATUS\s+ROLES\s+AGE\s+VERSION").match(line) for line in exhibit.lines[:400])
    ]
    names = {node.name: node for node in picture.of(Node) if node.age and node.version}
    return Count(len(names), next(iter(names.values())).place) if headed and names else None


def _all_nodes_listed(picture: Picture) -> bool:
    asked = [e.command for e in picture.exhibits if _compiled(r"get (?:nodes?|no)\b").search(e.command)]
    return bool(asked) and not any(narrow(command) or "comm " in command for command in asked)


_EVERYWHERE: Final = lazily(r"get (?:pods?|po)\b.{0,300}(?: -A\b|--all-namespaces)")


def _pods(picture: Picture, cidr: str, use: PoolUse | None) -> Count | None:
    pattern = _compiled(r"get (?:pods?|po)\b")
    asked = [(command, count) for command, count in answers(picture) if pattern.search(command)]
    numbered = [count for command, count in asked if not narrow(command)]
    if numbered:
        return numbered[-1]
    # Some pods only, but those with addresses of this pool: as many as are in use need no other one.
    enough = [c for command, c in asked if use and c.value >= use.used * FULL and holds_pool(picture, command, cidr)]
    enough = enough or [c for command, c in asked if of_pool(command, cidr) and _EVERYWHERE.search(command)]
    if enough:
        return enough[-1]
    using = _from(picture, CHECK_USING)
    if using:
        return using
    told = said(picture, r"(\d[\d,]{0,8})\s*(?:个\s*)?(?:running |live |business |运行中的\s*|在跑的\s*)?pods?\b")
    if told:
        return told
    return _listed(picture, cidr)


def _listed(picture: Picture, cidr: str) -> Count | None:
    """Pod rows count only when the whole cluster was listed."""
    of_all = _EVERYWHERE
    whole = [e for e in picture.exhibits if of_all.search(e.command)]
    if not whole or any(" | " in e.command for e in whole):
        return None
    pods = {pod.name: pod for pod in picture.of(Pod) if pod.ip and inside(pod.ip, cidr)}
    return Count(len(pods), next(iter(pods.values())).place) if pods else None


# Owners


def _dead_owners(picture: Picture) -> tuple[str, ...]:
    """Hosts that own blocks but are not among the nodes; only when all nodes were listed."""
    nodes = {node.name for node in picture.of(Node)}
    if not nodes or not _all_nodes_listed(picture):
        return ()
    return tuple(owner for owner in owners(picture) if owner not in nodes)


def owners_alive(picture: Picture) -> tuple[object, ...]:
    """The agents that are ready on the owners of blocks; none where one owner has no such agent, or none is listed."""
    ready: dict[str, object] = {node.name: node for node in picture.of(Node) if node.status.startswith("Ready")}
    ready |= {pod.node: pod for pod in picture.agents_now() if pod.node and pod.containers and pod.all_ready}
    holding = owners(picture)
    return tuple(ready[name] for name in holding) if holding and all(name in ready for name in holding) else ()


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)
