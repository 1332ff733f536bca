"""TRT5002: addresses and blocks of nodes or pods that are gone were never released, so the pool fills."""

from __future__ import annotations

from tortie.doctor.causes.ipam.ipam_evidence import EXHAUSTION, NUMBERS, RELEASE_NOT_EMPTY, Numbers, exhaustion, numbers
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
        return _leak(known, hits)
    if known.use and known.expected is not None and known.pods:
        return ruled_out(
            Words(
                f"{known.use.used} addresses in use fit {known.pods.value} pods",
                f"已用地址 {known.use.used} 个，与 {known.pods.value} 个 Pod 相符",
            ),
            (known.use, known.pods),
        )
    if known.leaked and not known.leaked.value:
        return ruled_out(
            Words("calicoctl ipam check finds no leak", "calicoctl ipam check 没有发现泄漏"), (known.leaked,)
        )
    if not hits:
        return cannot_tell(Words("addresses in use and pods are not shown", "没有已用地址数与 Pod 数"))
    return _by_half(picture, known, hits)


def _by_half(picture: Picture, known: Numbers, hits: list[Hit]) -> Finding:
    """The pool is said to be exhausted, and the numbers that decide are not all there."""
    if known.affinities and known.nodes and known.affinities.value > 2 * known.nodes.value:
        many, nodes = known.affinities.value, known.nodes.value
        full = bool(known.capacity and many >= known.capacity)
        why = Words(
            f"{many} block affinities for {nodes} nodes: blocks of nodes that are gone, most likely.",
            f"{nodes} 个节点却有 {many} 条块亲和记录：很可能属于已不存在的节点。",
        )
        strength = LIKELY if full and picture.said("nodes-replaced", "spot-instances") else POSSIBLE
        return found(strength, why, _objects(known), (known.affinities, known.nodes, *hits[:2]), cidr=known.cidr)
    why = Words(
        "No address can be had; whether dead nodes hold them needs the numbers.",
        "已分配不到地址；是否被已消失的节点占用，需要数字来判断。",
    )
    churn = picture.hits(RELEASE_NOT_EMPTY)
    return found(POSSIBLE, why, _objects(known), (*churn[:1], *hits[:2]), cidr=known.cidr)


def _leak(known: Numbers, hits: list[Hit]) -> Finding:
    parts_en, parts_zh = [], []
    above = known.use and known.expected is not None and known.use.used > known.expected
    if above and known.use and known.pods:
        parts_en.append(f"{known.use.used} addresses of {known.cidr} are in use for {known.pods.value} pods")
        parts_zh.append(f"{known.cidr} 已用 {known.use.used} 个地址，而 Pod 只有 {known.pods.value} 个")
    if known.affinities and known.nodes and known.affinities.value > known.nodes.value:
        parts_en.append(f"{known.affinities.value} block affinities for {known.nodes.value} nodes")
        parts_zh.append(f"{known.nodes.value} 个节点却有 {known.affinities.value} 条块亲和记录")
    if known.leaked and known.leaked.value:
        parts_en.append(f"calicoctl counts {known.leaked.value} addresses that nobody uses")
        parts_zh.append(f"calicoctl 统计出 {known.leaked.value} 个无人使用的地址")
    if known.dead_owners:
        some = ", ".join(known.dead_owners[:3])
        parts_en.append(f"blocks belong to hosts that are no nodes ({some})")
        parts_zh.append(f"有地址块属于已不存在的节点（{some}）")
    elif known.dead and known.dead.value:
        parts_en.append(f"{known.dead.value} owners of blocks are no nodes")
        parts_zh.append(f"{known.dead.value} 个地址块的所有者已不是节点")
    why = Words("; ".join(parts_en) + ".", "；".join(parts_zh) + "。")
    places = (*known.places, *hits[:2])
    # A leak that has not filled the pool is worth mending, but it is nobody's symptom yet.
    full = bool(hits) or (known.share is not None and known.share >= 0.9)
    if not full:
        return found(POSSIBLE, why, _objects(known), places, aside=True, cidr=known.cidr)
    return found(PROVEN if above and hits else STRONG, why, _objects(known), places, cidr=known.cidr)


def _objects(known: Numbers) -> tuple[str, ...]:
    return (known.cidr, known.pool.name if known.pool else "", *known.dead_owners[:10])


def fix(picture: Picture, _finding: Finding) -> tuple[Step, ...]:
    return (
        Step(
            Words("Write a report of what is leaked", "生成泄漏报告"),
            "calicoctl ipam check --show-problem-ips -o report.json",
        ),
        Step(
            Words("Lock the datastore: no new pod gets an address meanwhile", "锁定数据存储：期间新 Pod 拿不到地址"),
            "calicoctl datastore migrate lock",
            "disruptive",
        ),
        Step(
            Words("Release exactly what the report names", "只释放报告中列出的地址"),
            "calicoctl ipam release --from-report=report.json",
            "disruptive",
        ),
        Step(Words("Unlock again", "解锁"), "calicoctl datastore migrate unlock"),
        Step(
            Words(
                "See why calico-kube-controllers did not do it (live nodes too from v3.20)",
                "查明 calico-kube-controllers 为何没有回收（v3.20 起也回收在线节点的泄漏）",
            ),
            f"kubectl -n {picture.namespace} logs deploy/calico-kube-controllers --tail=50",
        ),
    )


CAUSE = Cause(
    id="ipam-leak",
    code="TRT5002",
    severity="high",
    name=Words("leaked addresses", "地址泄漏"),
    what=Words(
        "Addresses and blocks of nodes or pods that no longer exist were never released and fill the pool.",
        "已不存在的节点或 Pod 的地址和地址块没有被释放，占满了地址池。",
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
        (
            "ippool-exhausted",
            Words("there the pods account for the addresses in use", "真正用尽时，已用地址与 Pod 数相符"),
        ),
        (
            "ippool-blocks-exhausted",
            Words("there use is low and all blocks belong to live nodes", "块用尽时使用率低，且所有块都属于在线节点"),
        ),
        ("no-ippool-for-node", Words("there no enabled pool selects the node", "那时没有任何启用的地址池选中该节点")),
    ),
    signs=(*EXHAUSTION, *NUMBERS),
    judge=judge,
    ask=Ask(
        "calicoctl ipam show; calicoctl ipam check | tail -20; "
        "kubectl get blockaffinities.crd.projectcalico.org --no-headers | wc -l; "
        "kubectl get nodes --no-headers | wc -l",
        Words(
            "in use far above the pods, or more affinities than nodes need, is a leak",
            "已用地址远多于 Pod，或亲和记录远多于节点所需，即为泄漏",
        ),
    ),
    fix=fix,
    verify=(
        Step(Words("No leaked address is left", "不再有泄漏的地址"), "calicoctl ipam check | tail -5"),
        Step(Words("Addresses are free again", "地址池重新有空闲地址"), "calicoctl ipam show"),
    ),
    prevent=(
        Words(
            "Drain a node before deleting it; keep calico-kube-controllers running.",
            "删除节点前先 drain；保持 calico-kube-controllers 运行。",
        ),
        Words("Alarm on `calicoctl ipam show` at 80 %.", "对 `calicoctl ipam show` 设置 80% 告警。"),
    ),
)
