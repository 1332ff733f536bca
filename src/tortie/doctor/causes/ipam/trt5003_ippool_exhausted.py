"""TRT5003: every address of the pools that fit is really in use."""

from __future__ import annotations

from tortie.doctor.causes.ipam.ipam_evidence import (
    EXHAUSTION,
    FULL,
    NUMBERS,
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
            Words(
                "addresses are held by pods or nodes that are gone, not by live ones",
                "占用地址的是已消失的 Pod 或节点，而不是在线的 Pod",
            ),
            known.places[:4],
        )
    if known.share is not None and known.share < 0.9 and known.use:
        return ruled_out(
            Words(
                f"only {known.use.used} of {known.use.total} addresses of {known.cidr} are in use",
                f"{known.cidr} 的 {known.use.total} 个地址只用了 {known.use.used} 个",
            ),
            (known.use,),
        )
    if known.share is not None and known.share >= FULL and known.use:
        return _full(known, hits)
    if hits:
        return _said_so(known, hits)
    return cannot_tell(Words("the use of the pool is not shown", "没有地址池的使用情况"))


def _full(known: Numbers, hits: list[Hit]) -> Finding:
    use, pods = known.use, known.pods
    assert use is not None
    free = f"{use.used} of {use.total} addresses of {known.cidr} are in use"
    free_zh = f"{known.cidr} 共 {use.total} 个地址，已用 {use.used} 个"
    if pods:
        why = Words(f"{free}, and {pods.value} pods account for them.", f"{free_zh}，与 {pods.value} 个 Pod 相符。")
        strength = PROVEN if hits else STRONG
    else:
        checked = known.problems is not None and not known.problems.value
        why = Words(f"{free}; how many pods hold them is not shown.", f"{free_zh}；没有 Pod 数可供核对。")
        strength = STRONG if checked else LIKELY if hits and _few_blocks(known) else POSSIBLE
    return found(strength, why, _objects(known), (*known.places, *hits[:2]), cidr=known.cidr)


def _few_blocks(known: Numbers) -> bool:
    """As many affinities as nodes need: nothing hints at dead owners."""
    owned = known.affinities or known.blocks
    return bool(owned and known.nodes and known.use and owned.value <= known.nodes.value + known.use.total // 64)


def _said_so(known: Numbers, hits: list[Hit]) -> Finding:
    why = Words(
        "IPAM finds no free address; pods and addresses in use must be compared.",
        "IPAM 找不到空闲地址；需要对比 Pod 数与已用地址数。",
    )
    return found(POSSIBLE, why, _objects(known), hits[:3], cidr=known.cidr)


def _objects(known: Numbers) -> tuple[str, ...]:
    return (known.cidr, known.pool.name if known.pool else "")


def fix(_picture: Picture, _finding: Finding) -> tuple[Step, ...]:
    return (
        Step(
            Words(
                "Add a second pool inside the cluster CIDR that overlaps neither pools, services nor hosts",
                "在集群网段内新增一个地址池，与现有地址池、服务网段、主机网段都不重叠",
            ),
            "calicoctl create -f - <<'EOF'\napiVersion: projectcalico.org/v3\nkind: IPPool\nmetadata:\n"
            "  name: second-ipv4-ippool\nspec:\n  cidr: <free CIDR>\n  ipipMode: <as the first pool>\n"
            "  vxlanMode: <as the first pool>\n  natOutgoing: true\nEOF",
        ),
        Step(
            Words("Until then: scale down what is not needed", "在此之前：缩减不必要的工作负载"),
            "kubectl get deploy -A --sort-by=.spec.replicas",
        ),
    )


CAUSE = Cause(
    id="ippool-exhausted",
    code="TRT5003",
    severity="high",
    name=Words("address pool exhausted", "地址池用尽"),
    what=Words(
        "Every address of the matching pools is held by a live pod or tunnel.",
        "匹配的地址池中每个地址都被在线的 Pod 或隧道占用。",
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
        ("ipam-leak", Words("there far fewer pods run than addresses are in use", "泄漏时 Pod 数远少于已用地址数")),
        (
            "ippool-blocks-exhausted",
            Words("there addresses are free, but no block is", "块用尽时仍有空闲地址，只是没有空闲块"),
        ),
    ),
    signs=(*EXHAUSTION, *NUMBERS),
    judge=judge,
    ask=Ask(
        "calicoctl ipam show; kubectl get pod -A -o wide --no-headers | grep -c ' <pool prefix>'",
        Words("IPS FREE 0 with as many pods means really full", "IPS FREE 为 0 且 Pod 数相当，即为真正用尽"),
    ),
    fix=fix,
    verify=(Step(Words("The new pool has free addresses", "新地址池有空闲地址"), "calicoctl ipam show"),),
    prevent=(Words("Alarm when 80 % of a pool is in use.", "地址池使用率到 80% 时告警。"),),
)
