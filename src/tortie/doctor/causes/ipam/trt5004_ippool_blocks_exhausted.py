"""TRT5004: the pool has fewer blocks than nodes need; late nodes get none though few addresses are used."""

from __future__ import annotations

from tortie.doctor.causes.ipam.ipam_evidence import (
    BLOCK_LIMIT,
    BLOCK_LIMIT_REACHED,
    EXHAUSTION,
    FULL,
    NO_FREE_BLOCKS,
    NO_FREE_POOL_BLOCKS,
    NUMBERS,
    RAN_OUT_OF_AFFINE,
    Numbers,
    exhaustion,
    numbers,
)
from tortie.doctor.causes.legacy import (
    LIKELY,
    POSSIBLE,
    PROVEN,
    STRONG,
    Ask,
    Cause,
    Finding,
    Step,
    cannot_tell,
    found,
    ruled_out,
)
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Hit
from tortie.doctor.words import Words


def judge(picture: Picture) -> Finding:
    hits, known = exhaustion(picture), numbers(picture)
    if known.leaking:
        return ruled_out(
            Words("blocks belong to nodes or pods that are gone", "地址块属于已消失的节点或 Pod"), known.places[:4]
        )
    limit = picture.hits(BLOCK_LIMIT, BLOCK_LIMIT_REACHED)
    if limit:
        return _limited(known, limit)
    if known.share is not None and known.share >= FULL and known.use:
        return ruled_out(
            Words(f"the addresses themselves are used up ({known.use.used})", f"地址本身已用完（{known.use.used} 个）"),
            (known.use,),
        )
    taken = known.blocks or known.affinities
    if known.capacity and known.nodes and known.nodes.value > known.capacity and hits:
        return _too_few(known, hits)
    if known.capacity and taken and taken.value >= known.capacity and hits:
        return _all_taken(known, taken.value, hits)
    if known.capacity and taken and taken.value < known.capacity // 2:
        return ruled_out(
            Words(
                f"{taken.value} of {known.capacity} blocks are taken",
                f"{known.capacity} 个块中只占用了 {taken.value} 个",
            ),
            (taken,),
        )
    blocks = picture.hits(NO_FREE_POOL_BLOCKS, NO_FREE_BLOCKS, RAN_OUT_OF_AFFINE)
    if hits or blocks:
        return _said_so(known, hits, blocks)
    return cannot_tell(Words("blocks, nodes and the pool's size are not shown", "没有地址块数、节点数和地址池大小"))


def _limited(known: Numbers, limit: list[Hit]) -> Finding:
    why = Words(
        "The host may own no further block (maxBlocksPerHost), and its blocks are full.",
        "该主机已达到块数上限（maxBlocksPerHost），且已有的块都已用满。",
    )
    return found(STRONG, why, (*_objects(known), "maxBlocksPerHost"), (*limit[:2], *known.places), cidr=known.cidr)


def _too_few(known: Numbers, hits: list[Hit]) -> Finding:
    assert known.capacity is not None
    assert known.nodes is not None
    why = Words(
        f"{known.cidr} holds {known.capacity} blocks, and {known.nodes.value} nodes need one each.",
        f"{known.cidr} 只能切出 {known.capacity} 个块，而 {known.nodes.value} 个节点至少各需一个。",
    )
    return found(PROVEN if known.use else STRONG, why, _objects(known), (*known.places, *hits[:2]), cidr=known.cidr)


def _all_taken(known: Numbers, taken: int, hits: list[Hit]) -> Finding:
    low = known.share is not None and known.share < 0.9
    use = f", {known.use.used} of {known.use.total} addresses are in use" if known.use else ""
    use_zh = f"，而 {known.use.total} 个地址只用了 {known.use.used} 个" if known.use else ""
    why = Words(
        f"All {taken} blocks of {known.cidr} are taken{use}.", f"{known.cidr} 的 {taken} 个块全部被占用{use_zh}。"
    )
    # Dead owners would be a leak; without pods, nodes or a check nothing excludes them.
    lively = known.pods is not None or (known.problems is not None and not known.problems.value)
    owned = bool(known.nodes and taken <= 2 * known.nodes.value)
    strength = (PROVEN if lively else STRONG) if low and (lively or owned) else POSSIBLE
    return found(strength, why, _objects(known), (*known.places, *hits[:2]), cidr=known.cidr)


def _said_so(known: Numbers, hits: list[Hit], blocks: list[Hit]) -> Finding:
    why = Words(
        "No block could be claimed; how many fit, and who owns them, is not shown.",
        "申请不到地址块；缺少块总数及其归属。",
    )
    low = known.share is not None and known.share < 0.9
    strength = LIKELY if blocks and low and known.pods else POSSIBLE
    return found(strength, why, _objects(known), (*known.places, *(blocks or hits)[:3]), cidr=known.cidr)


def _objects(known: Numbers) -> tuple[str, ...]:
    return (known.cidr, known.pool.name if known.pool else "", "blockSize")


def fix(picture: Picture, _finding: Finding) -> tuple[Step, ...]:
    return (
        Step(
            Words(
                "Add a second pool that does not overlap; blockSize of an existing pool cannot be edited",
                "新增一个不重叠的地址池；已有地址池的 blockSize 不能修改",
            ),
            "calicoctl create -f - <<'EOF'\napiVersion: projectcalico.org/v3\nkind: IPPool\nmetadata:\n"
            "  name: second-ipv4-ippool\nspec:\n  cidr: <free CIDR>\n  blockSize: 28\n"
            "  ipipMode: <as the first pool>\n  vxlanMode: <as the first pool>\n  natOutgoing: true\nEOF",
        ),
        Step(
            Words("Restart the agents that found no block", "重启拿不到地址块的 calico-node"),
            f"kubectl -n {picture.namespace} delete pod <calico-node pods of the new nodes>",
            "disruptive",
        ),
        Step(
            Words(
                "If a node hit its own limit, raise it (it needs strict affinity)",
                "若是单节点上限所致，提高该上限（需开启 strictAffinity）",
            ),
            "calicoctl ipam show --show-configuration",
        ),
    )


CAUSE = Cause(
    id="ippool-blocks-exhausted",
    code="TRT5004",
    severity="high",
    name=Words("address blocks exhausted", "地址块用尽"),
    what=Words(
        "The pool is cut into fewer blocks (2^(blockSize - prefix)) than the nodes need: late nodes get none while "
        "most addresses are free.",
        "地址池切出的块数（2^(blockSize - 前缀)）少于节点所需：后加入的节点拿不到块，而大多数地址仍空闲。",
    ),
    explains=(
        "crash-loop",
        "start-terminated",
        "sandbox-failed",
        "pod-pending",
        "not-ready",
        "no-address",
        "log-errors",
    ),
    look_alikes=(
        ("ipam-leak", Words("there blocks belong to nodes that are gone", "泄漏时有块属于已不存在的节点")),
        ("ippool-exhausted", Words("there the addresses themselves are used up", "那时地址本身已用完")),
    ),
    signs=(*EXHAUSTION, *NUMBERS),
    judge=judge,
    ask=Ask(
        "calicoctl ipam show --show-blocks | grep -c Block; calicoctl get ippool -o yaml | grep -e cidr -e blockSize; "
        "kubectl get nodes --no-headers | wc -l",
        Words(
            "all blocks taken by live nodes, with addresses free, is this",
            "所有块被在线节点占用且地址仍有空闲，即为本因",
        ),
    ),
    fix=fix,
    verify=(Step(Words("The late nodes own a block", "新节点已有地址块"), "calicoctl ipam show --show-blocks"),),
    prevent=(
        Words(
            "Plan two blocks or more for every node the cluster may ever have.",
            "按集群最大节点数、每节点至少两个块来规划。",
        ),
    ),
)
