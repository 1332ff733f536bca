"""TRT0001: this release of Calico does not fit the API of this cluster."""

from __future__ import annotations

from tortie.doctor.causes.datastore.api_errors import (
    FORBIDDEN,
    MISSING_KIND,
    MISSING_PATH,
    NO_MATCHES,
    calico_version,
    kubernetes_version,
    misfit,
    missing_kinds,
)
from tortie.doctor.causes.legacy import (
    HINT,
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
from tortie.doctor.causes.underlay.traffic_evidence import agents_fine
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Sign
from tortie.doctor.words import Words

SLICES = Sign("skew-slices", "Failed to perform list of current data during resync…kubernetesendpointslices")
CALC_GRAPH = Sign("skew-calc-graph", 'Reporter is not ready. name="async_calc_graph"')
NFT_PROXY = (3, 29)  # the first release that works with kube-proxy in nftables mode


def judge(picture: Picture) -> Finding:
    core = [kind for kind in missing_kinds(picture) if not kind.own]
    slices = [hit for hit in picture.hits(SLICES) if "could not find" in hit.line or "does not exist" in hit.line]
    calico, kubernetes = calico_version(picture), kubernetes_version(picture)
    cluster = "v" + ".".join(map(str, kubernetes)) if kubernetes else ""
    api = misfit(picture)
    kinds = [kind.kind for kind in core] or (["KubernetesEndpointSlice"] if slices else [])
    versions = tuple(v for name in ("calico", "kubernetes") for v in picture.versions(name)[-1:])
    waiting = picture.hits(CALC_GRAPH)[:1]
    plurals = [kind.plural for kind in core] or (["kubernetesendpointslices"] if slices else [])
    objects = (calico, cluster, *kinds, *plurals, api, *[kind.hit.value("version") for kind in core], "calico-node")
    pair_en = f"Calico {calico or '(version not shown)'} with Kubernetes {cluster or '(version not shown)'}"
    pair_zh = f"Calico {calico or '（版本未知）'} 与 Kubernetes {cluster or '（版本未知）'}"
    if core or slices:
        why = Words(
            f"{pair_en}: it asks for {kinds[0]}, which this API server does not serve.",
            f"{pair_zh}：它请求的 {kinds[0]} 在该 API Server 中不存在。",
        )
        evidence = (*[kind.hit for kind in core[:2]], *slices[:1], *versions, *waiting)
        fits = calico and kubernetes and not api and slices
        return found(PROVEN if api else LIKELY if fits else STRONG, why, objects, evidence, api=api)
    nft = _nft_proxy(picture)
    if nft:
        why = Words(
            f"kube-proxy runs in nftables mode, which {calico} does not support.",
            f"kube-proxy 使用 nftables 模式，而 {calico} 不支持。",
        )
        return found(LIKELY, why, (calico, "nftables", "kube-proxy", cluster), (nft, *versions))
    if api:
        why = Words(
            f"{pair_en}: this release needs {api}, which that cluster does not serve.",
            f"{pair_zh}：该版本需要 {api}，而集群不提供。",
        )
        return found(HINT if agents_fine(picture) else POSSIBLE, why, objects, versions, api=api)
    if calico and kubernetes and picture.agents() and agents_fine(picture):
        return ruled_out(Words(f"{pair_en} work together here", f"{pair_zh} 在此正常配合"), versions)
    return cannot_tell(
        Words("neither a missing API nor both versions are shown", "没有 API 缺失的报错，也没有两者的版本")
    )


def _nft_proxy(picture: Picture) -> object | None:
    version = picture.version("calico")
    if not version or version >= NFT_PROXY:
        return None
    return next((s for s in picture.settings("mode") if s.value.strip("\"' ") == "nftables"), None)


def fix(_picture: Picture, _finding: Finding) -> tuple[Step, ...]:
    return (
        Step(
            Words(
                "Choose a Calico release that was tested with this Kubernetes minor",
                "选择经过该 Kubernetes 小版本测试的 Calico 版本",
            ),
            "kubectl version; kubectl api-versions | grep -e discovery -e apiextensions",
        ),
        Step(
            Words(
                "Apply its whole manifest (CRDs, RBAC, DaemonSet), not only new images",
                "应用其完整清单（CRD、RBAC、DaemonSet），不要只改镜像",
            ),
            "kubectl apply --server-side --force-conflicts -f <calico.yaml of that release>",
            "disruptive",
        ),
    )


CAUSE = Cause(
    id="version-skew",
    code="TRT0001",
    severity="high",
    name=Words("Calico and Kubernetes do not fit", "Calico 与 Kubernetes 版本不匹配"),
    what=Words(
        "This release of Calico needs an API that the cluster no longer, or not yet, serves; Felix never gets in sync.",
        "该版本的 Calico 需要集群已移除或尚未提供的 API，Felix 无法完成同步。",
    ),
    explains=(
        "felix-not-ready",
        "not-ready",
        "crash-loop",
        "sandbox-failed",
        "datastore-error",
        "controllers-failing",
        "operator-degraded",
        "log-errors",
        "pod-not-created",
        "restarts",
    ),
    look_alikes=(
        ("rbac-forbidden", Words("there it says 'is forbidden'", "报 is forbidden")),
        (
            "crd-missing",
            Words("there only crd.projectcalico.org kinds are missing", "缺少的只是 crd.projectcalico.org 的类型"),
        ),
        ("manifest-image-skew", Words("there manifest and images differ", "清单与镜像版本不同")),
    ),
    signs=(SLICES, CALC_GRAPH, MISSING_KIND, MISSING_PATH, NO_MATCHES, FORBIDDEN),
    judge=judge,
    ask=Ask(
        "kubectl version; kubectl -n <ns> get ds calico-node -o jsonpath='{..image}'; "
        "kubectl api-versions | grep -e discovery -e apiextensions",
        Words("the two versions decide", "由两者的版本决定"),
    ),
    fix=fix,
    verify=(
        Step(
            Words("All agents become ready", "所有 calico-node 变为 Ready"),
            "kubectl get pods -A -l k8s-app=calico-node",
        ),
    ),
    prevent=(Words("Upgrade Calico before Kubernetes.", "先升级 Calico，再升级 Kubernetes。"),),
)
