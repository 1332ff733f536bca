"""TRT5007: a new pool overlaps another pool and is rejected."""

from __future__ import annotations

from tortie.doctor.causes.legacy import STRONG, Ask, Cause, Finding, Step, cannot_tell, found, ruled_out
from tortie.doctor.picture.facts import Pool
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Sign
from tortie.doctor.words import Words

OVERLAPS = Sign("ippool-overlaps", "CIDR overlaps with IPPool\\(<pool>\\) CIDR <cidr>")
OVERLAPS_CUT = Sign("ippool-overlaps-cut", "overlaps with IPPool\\(<pool>\\)")
REFUSED = Sign("ippool-overlaps-refused", "IPPool.Spec.CIDR = '<cidr_new>'")


def judge(picture: Picture) -> Finding:
    hits = picture.hits(OVERLAPS) or picture.hits(OVERLAPS_CUT)
    if hits:
        hit = hits[-1]
        refused = picture.hits(REFUSED)
        new = refused[-1].value("cidr_new") if refused else picture.value("CALICO_IPV4POOL_CIDR")
        pool, cidr = hit.value("pool"), hit.value("cidr")
        why = Words(
            f"The new pool {new or ''} overlaps {pool} ({cidr or 'its CIDR'}) and was rejected.",
            f"新地址池 {new or ''} 与 {pool}（{cidr or '其网段'}）重叠，被拒绝。",
        )
        return found(STRONG, why, (new, cidr, pool), (*hits[:2], *refused[:1]), new=new, cidr=cidr, pool=pool)
    pools = list({pool.cidr: pool for pool in picture.of(Pool)}.values())
    if len(pools) > 1 and not _overlapping(pools):
        return ruled_out(Words("the pools shown are disjoint", "所列地址池互不重叠"), pools[:3])
    return cannot_tell(Words("no pool was refused in this evidence", "证据中没有地址池被拒绝"))


def _overlapping(pools: list[Pool]) -> bool:
    import ipaddress  # only when two pools are shown

    networks = []
    for pool in pools:
        try:
            networks.append(ipaddress.ip_network(pool.cidr, strict=False))
        except ValueError:
            continue
    same = [(a, b) for i, a in enumerate(networks) for b in networks[i + 1 :] if a.version == b.version]
    return any(a.overlaps(b) for a, b in same)


def fix(picture: Picture, finding: Finding) -> tuple[Step, ...]:
    return (
        Step(Words("See all pools", "查看全部地址池"), "calicoctl get ippool -o wide"),
        Step(
            Words(
                f"Choose a CIDR disjoint from {finding.value('cidr', 'every other pool')} and create the pool with it",
                f"选择与 {finding.value('cidr', '其他地址池')} 不相交的网段再创建",
            ),
            "calicoctl create -f pool.yaml",
        ),
        Step(
            Words(
                "If start-up creates it: CALICO_IPV4POOL_CIDR must be the CIDR of the pool that is there, or be unset",
                "若由启动过程创建：CALICO_IPV4POOL_CIDR 应与已有地址池一致，或去掉该变量",
            ),
            f"kubectl -n {picture.namespace} set env ds/calico-node CALICO_IPV4POOL_CIDR=<CIDR of the existing pool>",
            "disruptive",
        ),
    )


CAUSE = Cause(
    id="ippool-overlaps-pool",
    code="TRT5007",
    severity="low",
    name=Words("pools overlap", "地址池互相重叠"),
    what=Words("A new pool overlaps one that exists; Calico rejects it.", "新地址池与已有地址池重叠，被 Calico 拒绝。"),
    explains=("crash-loop", "start-terminated", "operator-degraded", "sandbox-failed", "no-address", "log-errors"),
    look_alikes=(
        (
            "cidr-overlap",
            Words("there a pool overlaps hosts or services", "那时是地址池与主机或服务网段重叠"),
        ),
    ),
    signs=(OVERLAPS, OVERLAPS_CUT, REFUSED),
    judge=judge,
    ask=Ask("calicoctl get ippool -o wide", Words("compare the CIDRs", "比较各网段")),
    fix=fix,
    verify=(Step(Words("The new pool is listed", "新地址池已列出"), "calicoctl get ippool -o wide"),),
    prevent=(Words("Keep an address plan of all pools.", "维护所有地址池的地址规划。"),),
)
