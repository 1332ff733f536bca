"""Faults of pools and addresses: pods that ask for one get none, or one that belongs to somebody else.

A lab's own pool is far too large to be used up. So it is closed for new pods, and a small one is opened beside it; who
has an address keeps it.
"""

from __future__ import annotations

import json
from ipaddress import IPv4Network
from typing import Final

from tortie.lab.faults.deeds import Deed, PatchResource, PutKey, PutResource, RestartNode, RunPods
from tortie.lab.faults.fault import Fault, Scene
from tortie.lab.faults.trying import tried
from tortie.lab.plan import LabPlan
from tortie.lab.words import Pair
from tortie.model.keys import IPAM_CONFIG, block_key, handle_key, host_affinity_key

POOL: Final = "small-ippool"
_RANGES: Final = tuple(IPv4Network(f"10.{second}.0.0/16") for second in range(245, 255))
_EXHAUSTED_LENGTH: Final = 28  # 16 addresses, two blocks
_LEAKED_LENGTH: Final = 27  # 32 addresses, two blocks
_BLOCK_OF_FOUR: Final = 30
_BLOCK: Final = 26
_SINCE_NS: Final = 1_700_000_000_000_000_000
_STRICT: Final[dict[str, object]] = {
    "apiVersion": "projectcalico.org/v3",
    "kind": "IPAMConfiguration",
    "metadata": {"name": "default"},
    "spec": {"strictAffinity": True, "autoAllocateBlocks": True},
}


def _small_pool(plan: LabPlan, length: int, block_size: int) -> tuple[IPv4Network, tuple[Deed, ...]]:
    """The only one that is open. It overlaps with nothing of the lab."""
    taken = [pool.cidr for pool in plan.pools if pool.cidr.version == 4] + [each.network for each in plan.segments]
    free = next(each for each in _RANGES if not any(each.overlaps(other) for other in taken))
    cidr = IPv4Network((free.network_address, length))
    document = _pool(POOL, cidr, block_size, plan)
    return cidr, (*_closed(plan), PutResource(document))


def _closed(plan: LabPlan) -> tuple[Deed, ...]:
    return tuple(
        PatchResource("IPPool", pool.name, {"spec": {"disabled": True}})
        for pool in plan.pools
        if pool.cidr.version == 4
    )


def _pool(name: str, cidr: IPv4Network, block_size: int, plan: LabPlan) -> dict[str, object]:
    own = plan.pools[0]
    return {
        "apiVersion": "projectcalico.org/v3",
        "kind": "IPPool",
        "metadata": {"name": name},
        "spec": {
            "cidr": str(cidr),
            "blockSize": block_size,
            "ipipMode": own.ipip,
            "vxlanMode": own.vxlan,
            "natOutgoing": own.nat_outgoing,
            "nodeSelector": "all()",
        },
    }


def _exhausted(scene: Scene) -> tuple[Deed, ...]:
    cidr, deeds = _small_pool(scene.plan, _EXHAUSTED_LENGTH, _EXHAUSTED_LENGTH + 1)
    return *deeds, *tried(scene.node.name, "web", cidr.num_addresses + 1)


def _blocks(scene: Scene) -> tuple[Deed, ...]:
    """Every block goes to another node, which uses one address of four; the node that comes late gets none."""
    others = [node.name for node in scene.others]
    spare = (1 << (len(others) - 1).bit_length()) - len(others)  # blocks come in powers of two
    length = _BLOCK_OF_FOUR - (len(others) - 1).bit_length()
    _, deeds = _small_pool(scene.plan, length, _BLOCK_OF_FOUR)
    strict = {"strict_affinity": True, "auto_allocate_blocks": True}
    pods = [RunPods(name, f"early-{name}", 1) for name in others]
    pods[0] = RunPods(others[0], f"early-{others[0]}", 1 + 4 * spare)
    return (
        PutResource(_STRICT),
        PutKey(IPAM_CONFIG, json.dumps(strict)),
        *deeds,
        *pods,
        *tried(scene.node.name, "late", 1),
    )


def _leaked(scene: Scene) -> tuple[Deed, ...]:
    cidr, deeds = _small_pool(scene.plan, _LEAKED_LENGTH, _LEAKED_LENGTH + 1)
    blocks = list(cidr.subnets(new_prefix=_LEAKED_LENGTH + 1))
    owners = [node.name for node in (scene.node, *scene.others)] * len(blocks)
    kept = [deed for node, block in zip(owners, blocks, strict=False) for deed in _left_behind(node, block)]
    return *deeds, *kept, *tried(scene.node.name, "web", 1)


def _left_behind(node: str, block: IPv4Network) -> list[Deed]:
    """A block full of pods that are gone. Of a node that is there: what a machine leaves behind that is gone itself,
    calico-kube-controllers release within seconds.
    """
    pods = [f"job-{str(address).replace('.', '-')}" for address in block]
    handles = [f"k8s-pod-network.{int(address):08x}{node.encode().hex():0<56}"[:80] for address in block]
    attributes = [
        {"handle_id": handle, "secondary": {"namespace": "batch", "node": node, "pod": pod}}
        for handle, pod in zip(handles, pods, strict=True)
    ]
    document = {
        "cidr": str(block),
        "affinity": f"host:{node}",
        "allocations": list(range(block.num_addresses)),
        "unallocated": [],
        "attributes": attributes,
        "sequenceNumber": _SINCE_NS,
        "sequenceNumberForAllocation": {str(number): _SINCE_NS for number in range(len(pods))},
        "deleted": False,
    }
    return [
        PutKey(host_affinity_key(node, str(block)), json.dumps({"state": "confirmed", "deleted": False})),
        PutKey(block_key(str(block)), json.dumps(document)),
        *(PutKey(handle_key(handle), json.dumps({"block": {str(block): 1}, "deleted": False})) for handle in handles),
    ]


def _no_pool(scene: Scene) -> tuple[Deed, ...]:
    selected: dict[str, object] = {"spec": {"nodeSelector": "zone == 'west'"}}
    patches = (PatchResource("IPPool", pool.name, selected) for pool in scene.plan.pools if pool.cidr.version == 4)
    return *patches, *tried(scene.node.name, "web", 1)


def _overlapping(scene: Scene) -> tuple[Deed, ...]:
    """One block around the node's own address: who owns a block drops what is meant for none of its pods."""
    address = next(each.ip for each in scene.node.nics[0].addresses if each.version == 4)
    around = IPv4Network((int(address), _BLOCK), strict=False)
    pool = PutResource(_pool("lan-ippool", around, _BLOCK, scene.plan))
    return *_closed(scene.plan), pool, RunPods(scene.node.name, "web", 1), RestartNode(scene.node.name)


FAULTS: Final = (
    Fault(
        "pool-exhausted",
        "ippool-exhausted",
        "TRT5003",
        Pair("pods use every address of the only open pool", "Pod 用尽唯一启用的地址池中的全部地址"),
        Pair(
            "Nodes are fine; the next pod gets no address. `ipam show`: 16 of 16 in use, and as many pods.",
            "节点正常；下一个 Pod 拿不到地址。`ipam show`：16 个地址全部在用，Pod 数量相符。",
        ),
        _exhausted,
    ),
    Fault(
        "blocks-exhausted",
        "ippool-blocks-exhausted",
        "TRT5004",
        Pair("a pool with fewer blocks than nodes, and strict affinity", "地址池的块少于节点数，且启用严格亲和"),
        Pair(
            "The node that comes last gets no block, so that its pods get no address, though most addresses are free.",
            "最后到来的节点分不到块，其 Pod 没有地址，尽管大部分地址仍然空闲。",
        ),
        _blocks,
        needs=("two-nodes",),
    ),
    Fault(
        "leaked-addresses",
        "ipam-leak",
        "TRT5002",
        Pair("addresses of pods that are gone were never released", "已不存在的 Pod 的地址从未释放"),
        Pair(
            "A new pod gets no address although few pods run: `ipam check` counts addresses that nobody uses. "
            "calico-kube-controllers release them only after their grace period of 15 minutes.",
            "运行的 Pod 很少，新 Pod 却拿不到地址：`ipam check` 统计出无人使用的地址。"
            "calico-kube-controllers 要等 15 分钟宽限期之后才会释放。",
        ),
        _leaked,
    ),
    Fault(
        "no-pool-for-node",
        "no-ippool-for-node",
        "TRT5005",
        Pair("the pool's node selector matches no node", "地址池的 nodeSelector 不匹配任何节点"),
        Pair(
            "New pods get no address: `no configured Calico pools for node`. Those that run go on.",
            "新 Pod 拿不到地址：`no configured Calico pools for node`。正在运行的 Pod 不受影响。",
        ),
        _no_pool,
    ),
    Fault(
        "overlapping-pool",
        "cidr-overlap",
        "TRT5008",
        Pair("a pool over the addresses of the nodes themselves", "地址池覆盖了节点自身的地址"),
        Pair(
            "With its first pod a node claims a block with the nodes' addresses in it and drops what is meant for "
            "them: it reaches nobody. Tortie's node says that its address lies where pods live.",
            "节点随第一个 Pod 占用了含有节点地址的块，并丢弃发往这些地址的流量：它谁也连不上。"
            "Tortie 节点会指出其地址位于 Pod 网段内。",
        ),
        _overlapping,
    ),
)
