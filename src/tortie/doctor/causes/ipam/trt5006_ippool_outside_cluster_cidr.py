"""TRT5006: the operator refuses a pool outside of the platform's pod network and stops reconciling."""

from __future__ import annotations

from tortie.doctor.causes.legacy import STRONG, Ask, Cause, Finding, Step, cannot_tell, found
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Hit, Sign
from tortie.doctor.words import Words

OUTSIDE = Sign(
    "ippool-outside-platform",
    "IPPool <pool> is not within the platform's configured pod network CIDR(\\(s\\))? [<list_cidrs>]",
)
# YAML doubles the quote of `platform's`, and folds the message anywhere.
OUTSIDE_YAML = Sign("ippool-outside-platform-yaml", "IPPool <cidr_pool> is not within the platform")
RANGES = Sign("ippool-outside-ranges", "configured pod network CIDR(\\(s\\))? [<list_cidrs>]")
OUTSIDE_CUT = Sign("ippool-outside-platform-cut", "is not within the platform's configured pod network")
UNRESOLVED = Sign("ippool-outside-unresolved", "Could not resolve CalicoNetwork IPPool and kubeadm configuration")
HERE = "tigerastatus"


def judge(picture: Picture) -> Finding:
    hits = picture.hits(OUTSIDE) or picture.hits(OUTSIDE_YAML)
    if hits:
        hit = hits[-1]
        ranges = picture.hits(RANGES)
        listed = hit.value("list_cidrs") or (ranges[-1].value("list_cidrs") if ranges else "")
        pool, platform = hit.value("pool") or hit.value("cidr_pool"), listed.replace(" ", ", ").replace(",,", ",")
        why = Words(
            f"The operator refuses pool {pool}: it is not inside the platform's pod network {platform}.".replace(
                " .", "."
            ),
            f"operator 拒绝地址池 {pool}：不在平台的 Pod 网段 {platform} 之内。",
        )
        objects = (pool, *platform.replace(",", " ").split(), "Installation", "podSubnet", HERE)
        return found(STRONG, why, objects, _in_order(picture, hits), pool=pool, platform=platform)
    cut = picture.hits(OUTSIDE_CUT, UNRESOLVED)
    if cut:
        why = Words(
            "The operator refuses the Installation's pool: it is outside of kubeadm's pod network.",
            "operator 拒绝 Installation 中的地址池：不在 kubeadm 的 Pod 网段之内。",
        )
        values = (picture.value("cidr"), picture.value("podSubnet"))
        return found(STRONG, why, (*values, "Installation", "podSubnet", HERE), _in_order(picture, cut))
    return cannot_tell(Words("tigerastatus is not shown", "没有 tigerastatus 的输出"))


def _in_order(picture: Picture, hits: list[Hit]) -> tuple[Hit, ...]:
    return (*hits[:2], *picture.hits(UNRESOLVED)[:1])


def fix(_picture: Picture, finding: Finding) -> tuple[Step, ...]:
    platform = finding.value("platform", "<podSubnet>")
    return (
        Step(
            Words("See both ranges", "对照两个网段"),
            "kubectl get installation default -o jsonpath='{.spec.calicoNetwork.ipPools}'; "
            "kubectl -n kube-system get cm kubeadm-config -o yaml | grep podSubnet",
        ),
        Step(
            Words(
                f"Set the Installation's pool to a range inside {platform}",
                f"把 Installation 的地址池改为 {platform} 之内的网段",
            ),
            "kubectl edit installation default",
            "disruptive",
        ),
        Step(
            Words(
                "Or, when the pool is right, correct podSubnet in kubeadm-config and --cluster-cidr with it",
                "若地址池才是正确的，则同时修改 kubeadm-config 的 podSubnet 与 --cluster-cidr",
            ),
            "kubectl -n kube-system edit cm kubeadm-config",
            "disruptive",
        ),
    )


CAUSE = Cause(
    id="ippool-outside-cluster-cidr",
    code="TRT5006",
    severity="medium",
    name=Words("pool outside of the cluster CIDR", "地址池不在集群网段内"),
    what=Words(
        "The operator refuses pools outside of kubeadm's podSubnet and stops reconciling; what runs keeps running.",
        "operator 拒绝 podSubnet 之外的地址池并停止调谐；已运行的组件不受影响。",
    ),
    explains=("operator-degraded", "status-stale", "log-errors"),
    look_alikes=(
        (
            "cidr-overlap",
            Words(
                "there ranges overlap, and traffic suffers, not the operator", "那时是网段重叠，影响流量而非 operator"
            ),
        ),
        ("version-skew", Words("there an API of Kubernetes is missing", "那时缺少 Kubernetes 的 API")),
    ),
    signs=(OUTSIDE, OUTSIDE_YAML, RANGES, OUTSIDE_CUT, UNRESOLVED),
    judge=judge,
    ask=Ask(
        "kubectl get tigerastatus calico -o yaml | grep -A4 Degraded",
        Words("it quotes the pool and the pod network", "其中会写明地址池与 Pod 网段"),
    ),
    fix=fix,
    verify=(Step(Words("DEGRADED is False", "DEGRADED 为 False"), "kubectl get tigerastatus"),),
    prevent=(Words("Plan one cluster CIDR that contains every pool.", "规划一个包含全部地址池的集群网段。"),),
)
