"""TRT5005: no enabled pool selects the node."""

from __future__ import annotations

from tortie.doctor.causes.ipam.ipam_evidence import exhaustion
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
from tortie.doctor.picture.facts import Node, Pool
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Hit, Sign
from tortie.doctor.words import Words

NONE_FOR_NODE = Sign("no-ippool-for-node", "no configured Calico pools for node <node>")
NONE = Sign("no-ippool-none", "no configured Calico pools")
GIVEN_GONE = Sign("no-ippool-given", "the given pool \\(<cidr>\\) does not exist")
NOT_QUALIFIED = Sign("no-ippool-qualified", "cannot find a qualified ippool")


def judge(picture: Picture) -> Finding:
    hits = picture.hits(NONE_FOR_NODE, GIVEN_GONE, NOT_QUALIFIED) or picture.hits(NONE)
    pools = list({pool.name or pool.cidr: pool for pool in picture.of(Pool)}.values())
    enabled = [pool for pool in pools if not pool.disabled]
    nodes = _left_out(picture, enabled) if enabled else []
    refused = [hit for hit in picture.hits("ippool-overlaps-refused") if hits and _refused(hit, hits[0])]
    if refused:
        return ruled_out(
            Words(
                "the pool that pods ask for was refused when it was created: that comes first",
                "Pod 指定的地址池在创建时就被拒绝：那才是先发生的故障",
            ),
            (refused[-1], hits[0]),
        )
    if hits:
        return _said(hits, pools, enabled, nodes)
    if pools and not enabled and all(pool.disabled for pool in pools):
        why = Words("Every pool that is shown is disabled.", "所列的地址池全部被禁用。")
        strength = STRONG if exhaustion(picture) else LIKELY
        return found(strength, why, _objects(pools, []), pools, cidr=pools[0].cidr, pool=pools[0].name)
    if nodes and exhaustion(picture):
        return _selector(LIKELY, nodes, enabled, [])
    if nodes:
        return _selector(POSSIBLE, nodes, enabled, [])
    if any(pool.selector.replace(" ", "") == "all()" for pool in enabled):
        chosen = next(pool for pool in enabled if pool.selector.replace(" ", "") == "all()")
        return ruled_out(
            Words(
                f"{chosen.name or chosen.cidr} is enabled and selects all()",
                f"{chosen.name or chosen.cidr} 已启用且选择 all()",
            ),
            (chosen,),
        )
    return cannot_tell(Words("the pools and the node's labels are not shown", "没有地址池与节点标签"))


def _refused(refusal: Hit, hit: Hit) -> bool:
    return bool(hit.value("cidr")) and refusal.value("cidr_new") == hit.value("cidr")


def _said(hits: list[Hit], pools: list[Pool], enabled: list[Pool], nodes: list[Node]) -> Finding:
    node = hits[0].value("node").strip(":.") or (nodes[0].name if nodes else "")
    if nodes:
        return _selector(PROVEN, nodes, enabled, hits)
    off = [pool for pool in pools if pool.disabled]
    missing = hits[0].value("cidr")
    if off:
        why = Words(
            f"IPAM finds no pool for {node or 'the node'}; {off[0].name or off[0].cidr} is disabled.",
            f"IPAM 找不到可用的地址池{f'（节点 {node}）' if node else ''}；{off[0].name or off[0].cidr} 已被禁用。",
        )
    elif missing:
        why = Words(f"Pods ask for pool {missing}, which does not exist.", f"Pod 指定的地址池 {missing} 不存在。")
    else:
        why = Words(
            f"IPAM finds no enabled pool that selects {node or 'the node'}.",
            f"IPAM 找不到选中该节点{f'（{node}）' if node else ''}的已启用地址池。",
        )
    objects = (*_objects(off, []), missing, node, *_objects(enabled, []))
    host = node or hits[0].host
    return found(PROVEN if off else STRONG, why, (*objects, host), (*off[:1], *hits[:3]), node=host, cidr=missing,
                 pool=off[0].name if off else "")  # fmt: skip


def _selector(strength: float, nodes: list[Node], pools: list[Pool], hits: list[Hit]) -> Finding:
    pool, node = pools[0], nodes[0]
    why = Words(
        f"No enabled pool selects {node.name}: {pool.name or pool.cidr} wants {pool.selector}, its labels do not fit.",
        f"没有已启用的地址池选中 {node.name}：{pool.name or pool.cidr} 要求 {pool.selector}，该节点标签不满足。",
    )
    return found(
        strength, why, (*_objects(pools, nodes), pool.selector), (*pools[:2], *nodes[:1], *hits[:2]),
        node=node.name, pool=pool.name, cidr=pool.cidr, selector=pool.selector,
    )  # fmt: skip


def _left_out(picture: Picture, pools: list[Pool]) -> list[Node]:
    """Nodes whose labels are shown and which no enabled pool selects."""
    from tortie.model.selector import SelectorError, parse  # only when a pool and labels are there

    selectors = [pool.selector for pool in pools]
    if not all(selectors):
        return []
    try:
        parsed = [parse(text) for text in selectors]
    except SelectorError:
        return []
    labelled = [node for node in picture.nodes_now().values() if node.labels]
    return [node for node in labelled if not any(one.matches(dict(node.labels)) for one in parsed)]


def _objects(pools: list[Pool], nodes: list[Node]) -> tuple[str, ...]:
    return (*(pool.name for pool in pools), *(pool.cidr for pool in pools), *(node.name for node in nodes[:5]))


def fix(_picture: Picture, finding: Finding) -> tuple[Step, ...]:
    pool, node = finding.value("pool", "<pool>"), finding.value("node", "<node>")
    return (
        Step(
            Words("See which pool should serve the node", "确认该由哪个地址池服务此节点"),
            f"calicoctl get ippool -o yaml; kubectl get node {node} --show-labels",
        ),
        Step(
            Words("If it is disabled, enable it", "若已禁用则启用"),
            f'calicoctl patch ippool {pool} -p \'{{"spec": {{"disabled": false}}}}\'',
        ),
        Step(
            Words(
                "If its selector misses the node, label the node as the selector wants",
                "若选择器未命中，按选择器给节点打标签",
            ),
            f"kubectl label node {node} <key>=<value>",
        ),
    )


CAUSE = Cause(
    id="no-ippool-for-node",
    code="TRT5005",
    severity="medium",
    name=Words("no pool for the node", "节点无可用地址池"),
    what=Words(
        "No enabled pool selects the node: disabled, another selector, another allowed use, or there is none at all.",
        "没有已启用的地址池选中该节点：被禁用、选择器不符、allowedUses 不允许，或根本没有地址池。",
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
        ("ippool-exhausted", Words("there a pool selects the node and is full", "那时有地址池选中该节点，但已用满")),
        (
            "ippool-outside-cluster-cidr",
            Words("there the operator refuses the pool", "那时是 operator 拒绝该地址池"),
        ),
    ),
    signs=(NONE_FOR_NODE, NONE, GIVEN_GONE, NOT_QUALIFIED),
    judge=judge,
    ask=Ask(
        "calicoctl get ippool -o yaml; kubectl get node <node> --show-labels",
        Words(
            "a pool must be enabled, and its selector must match the labels", "地址池必须启用，且选择器与节点标签相符"
        ),
    ),
    fix=fix,
    verify=(Step(Words("The node gets a block", "该节点获得地址块"), "calicoctl ipam show --show-blocks"),),
    prevent=(Words("Keep one pool that selects all().", "保留一个选择 all() 的地址池。"),),
)
