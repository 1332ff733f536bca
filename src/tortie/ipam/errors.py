"""What IPAM refuses, and why. Each error keeps its facts; where Calico says the same, it says it in Calico's words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tortie.model.errors import TortieError
from tortie.model.network import IP, Network


class NotUsed(NamedTuple):
    """A pool that a request cannot use, and why not."""

    pool: str
    cidr: Network
    why: str

    def __str__(self) -> str:
        return f"{self.pool} ({self.cidr}): {self.why}"


class Fullness(NamedTuple):
    """How full a pool is, as far as it was looked at."""

    pool: str
    cidr: Network
    blocks: int  # that it can be cut into
    claimed: int  # of these, that somebody has
    free: int | None = None  # addresses in them that nobody holds; None: not counted
    reserved: bool = False  # all that is free is reserved

    def __str__(self) -> str:
        text = f"{self.pool} ({self.cidr}): {self.claimed} of {self.blocks} blocks are claimed"
        if self.free is not None:
            text += f", {self.free} addresses in them are free"
        return text + (" but reserved" if self.reserved else "")


class IpamError(TortieError):
    """An address could not be given or taken back, for a reason that repeating alone does not cure."""

    code = "ipam"


class NoPool(IpamError):
    """No pool may be used for the request; `reasons` has each pool there is and why not."""

    code = "no-pool"

    def __init__(self, node: str, family: int, use: str, reasons: Sequence[NotUsed], *, for_use: bool = False) -> None:
        self.node = node
        self.family = family
        self.use = use
        self.reasons = tuple(reasons)
        what = (
            f"cannot find a qualified ippool, no pools match the required use ({use})"
            if for_use
            else f"no configured Calico pools for node {node}"
        )
        why = "; ".join(map(str, reasons)) if reasons else f"there is no IPv{family} pool at all"
        super().__init__(
            what,
            why,
            "change what stands in the way: `tortie get ippools -o wide`"
            if reasons
            else f"create an IPv{family} pool: `tortie apply -f pool.yaml`",
        )


class UnknownPool(IpamError):
    """A pool that was asked for by name or CIDR is not there, or disabled."""

    code = "no-pool"

    def __init__(self, wanted: str, why: str) -> None:
        self.wanted = wanted
        super().__init__(
            f"the given pool ({wanted}) does not exist, or is not enabled",
            why,
            "`tortie get ippools -o wide` lists the pools; correct the pod's or the namespace's annotation",
        )


class Exhausted(IpamError):
    """The pools that may be used have no address left for this node."""

    code = "exhausted"

    def __init__(
        self,
        node: str,
        family: int,
        assigned: int,
        wanted: int,
        pools: Sequence[Fullness],
        *,
        strict: bool = False,
        no_new_blocks: bool = False,
        unreadable: Sequence[Network] = (),
    ) -> None:
        self.node = node
        self.family = family
        self.assigned = assigned
        self.wanted = wanted
        self.pools = tuple(pools)
        self.strict = strict
        self.unreadable = tuple(unreadable)  # blocks in these pools that were passed over
        lost = [f"the block {cidr} cannot be read, so nothing of it is given out" for cidr in unreadable]
        cidrs = " ".join(str(pool.cidr) for pool in pools)
        reasons = [f"No IPs available in pools: [{cidrs}]"]
        if no_new_blocks:
            reasons = ["failed to find or claim a block: autoAllocateBlocks is false"]
        elif strict:
            reasons = ["No more free affine blocks and strict affinity enabled"]
        fix = "add a pool, or find addresses that nobody uses: `tortie ipam check`, `tortie ipam show --show-blocks`"
        if strict:
            fix += "; without strictAffinity nodes may use each other's free addresses: `tortie ipam configure`"
        if unreadable:
            fix += "; `tortie datastore export` shows the blocks that cannot be read"
        super().__init__(
            f"Assigned {assigned} out of {wanted} requested IPv{family} addresses; {'; '.join(reasons)}",
            "; ".join([*map(str, pools), *lost]),
            fix,
        )


class BlockLimit(IpamError):
    """The node has as many blocks as it may have, and they are full."""

    code = "block-limit"

    def __init__(self, node: str, limit: int, family: int, assigned: int, wanted: int) -> None:
        self.node = node
        self.limit = limit
        self.family = family
        super().__init__(
            f"Assigned {assigned} out of {wanted} requested IPv{family} addresses; "
            f"Need to allocate an IPAM block but could not - limit of {limit} blocks reached for this node",
            f"cannot allocate new block due to per host block limit: {node} has {limit} blocks and they are full",
            "raise it: `tortie ipam configure --max-blocks-per-host`, or run fewer pods on this node",
        )


class NotInPool(IpamError):
    """An address that was asked for is in no pool that may be used."""

    code = "not-in-pool"

    def __init__(self, ip: IP, why: str) -> None:
        self.ip = ip
        super().__init__(
            "The provided IP address is not in a configured pool",
            f"{ip}: {why}",
            "ask for an address of an enabled pool: `tortie get ippools`",
        )


class AlreadyAssigned(IpamError):
    """An address that was asked for is somebody else's."""

    code = "already-assigned"

    def __init__(self, ip: IP, holder: str | None) -> None:
        self.ip = ip
        self.holder = holder
        super().__init__(
            f"resource already exists: {ip} with error: Address already assigned in block",
            f"it is held by {holder}" if holder else "it was released a moment ago and cools down",
            f"`tortie ipam show --ip={ip}` tells whose it is; ask for another one",
        )


class WrongNode(IpamError):
    """The node is not there, or the block is another node's and nodes keep to their own."""

    code = "wrong-node"

    def __init__(self, node: str, what: str, why: str, fix: str) -> None:
        self.node = node
        super().__init__(what, why, fix)


class TooContended(IpamError):
    """Others wrote the same records so often that our turn never came, or not in time."""

    code = "conflict"

    def __init__(self, what: str, attempts: int, seconds: float, last: str) -> None:
        self.attempts = attempts
        super().__init__(
            f"Max retries hit - excessive concurrent IPAM requests: {what}",
            f"{attempts} attempts within {seconds:.1f} s were overtaken by other writers, last at {last}",
            "repeat it; if it stays, look for a second agent or controller that rewrites the block all the time",
        )


class NotReady(IpamError):
    """The datastore is locked while its data is being moved or repaired."""

    code = "not-ready"

    def __init__(self) -> None:
        super().__init__(
            "Calico is currently not ready to process requests",
            "datastoreReady is false in ClusterInformation/default: the datastore is locked",
            "wait until whoever locked it is done; `tortie get clusterinformations -o yaml` shows it",
        )


class SettingsUnreadable(IpamError):
    """Nobody can tell how addresses are to be given out: a record that says it makes no sense."""

    code = "damaged"

    def __init__(self, key: str, why: str, fix: str) -> None:
        self.key = key
        super().__init__(f"no address is given out: the value of {key} cannot be read", why, fix)


def no_such_node(node: str) -> WrongNode:
    return WrongNode(
        node,
        f"resource does not exist: Node({node})",
        "a node that has no record gets no addresses",
        "start its agent, which registers it: `tortie node run`; `tortie get nodes` lists those there are",
    )


def foreign_block(node: str, ip: IP, owner: str | None) -> WrongNode:
    return WrongNode(
        node,
        "Block host affinity does not match",
        f"{ip} is in a block of {owner or 'nobody'}, and strictAffinity keeps {node} to its own",
        "ask for an address of one of its own blocks, or allow borrowing: `tortie ipam configure`",
    )
