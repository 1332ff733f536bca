"""TRT0003: a CRD of Calico's is not installed."""

from __future__ import annotations

from tortie.doctor.causes.datastore.api_errors import (
    CRD_NOT_FOUND,
    HARMLESS_KINDS,
    MISSING_KIND,
    MISSING_PATH,
    NO_MATCHES,
    calico_version,
    missing_kinds,
    plural_of,
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
from tortie.doctor.causes.underlay.traffic_evidence import rows
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Sign
from tortie.doctor.words import Words

OLD_FORM = Sign("crd-old-form", "resource does not exist: <kind>\\(<name>\\)")
NO_TYPE = Sign("crd-no-type", 'the server doesn\'t have a resource type "<plural>"')
GROUP = "crd.projectcalico.org"
OURS = (
    "ippool",
    "felixconfig",
    "bgp",
    "clusterinfo",
    "globalnetwork",
    "hostendpoint",
    "ipam",
    "blockaffin",
    "networkset",
    "kubecontrollers",
    "tier",
    "caliconode",
    "staged",
    "networkpolicies",
    "ipreservation",
)


def judge(picture: Picture) -> Finding:
    missing = [kind for kind in missing_kinds(picture) if kind.own]
    absent = [
        hit for hit in picture.hits(CRD_NOT_FOUND) if GROUP in hit.value("crd") or "tigera.io" in hit.value("crd")
    ]
    untyped = [hit for hit in picture.hits(NO_TYPE) if hit.value("plural").lower().startswith(OURS)]
    names = [hit.value("crd").lower() for hit in absent]
    names += [f"{kind.plural}.{GROUP}" for kind in missing]
    names += [f"{hit.value('plural').partition('.')[0].lower()}.{GROUP}" for hit in untyped]
    names = list(dict.fromkeys(name for name in names if not name.startswith(HARMLESS_KINDS)))
    version = calico_version(picture)
    if missing or (absent and names):
        crd = names[0]
        present = next(rows(picture, rf"^{crd.replace('.', '[.]')}\s+\d{{4}}-", needle=GROUP), None)
        if present and not absent:
            return ruled_out(Words(f"{crd} is installed", f"{crd} 已安装"), (present,))
        why = Words(
            f"The CRD {crd} is not installed{f', which Calico {version} needs' if version else ''}.",
            f"CRD {crd} 未安装{f'，而 Calico {version} 需要它' if version else ''}。",
        )
        objects = (*names[:4], *[kind.kind for kind in missing[:3]], version, "CustomResourceDefinition")
        evidence = (*absent[:1], *[kind.hit for kind in missing[:2]], *untyped[:1])
        if not missing:  # somebody asked for it; that something needs it is not shown
            return found(LIKELY, why, objects, evidence, crd=crd)
        return found(PROVEN if absent or untyped else STRONG, why, objects, evidence, crd=crd)
    old = [hit for hit in picture.hits(OLD_FORM) if "with error" not in hit.line and not _harmless(hit.value("kind"))]
    if old:
        crd = f"{plural_of(old[0].value('kind'))}.{GROUP}"
        why = Words(
            f"{old[0].value('kind')} does not exist; its CRD {crd} may be missing",
            f"{old[0].value('kind')} 不存在，可能缺少 CRD {crd}",
        )
        failing = "ERROR" in old[0].line or "FATAL" in old[0].line or untyped
        return found(
            LIKELY if failing else POSSIBLE, why, (crd, old[0].value("kind")), (*old[:1], *untyped[:1]), crd=crd
        )
    if untyped:
        why = Words(f"the API server does not know {names[0]}", f"API Server 不认识 {names[0]}")
        return found(POSSIBLE, why, names[:3], untyped[:1], crd=names[0])
    return cannot_tell(Words("no error about a missing resource type is shown", "没有资源类型缺失的报错"))


def _harmless(kind: str) -> bool:
    return kind.lower().startswith(HARMLESS_KINDS) or kind.lower().startswith("kubernetes")


def fix(picture: Picture, _finding: Finding) -> tuple[Step, ...]:
    version = calico_version(picture) or "the running release"
    return (
        Step(
            Words(
                "Install the CRDs of the running release (helm does not upgrade them)",
                "安装当前版本的 CRD（helm 不会升级 CRD）",
            ),
            f"kubectl apply --server-side --force-conflicts -f <crds.yaml of {version}>",
        ),
        Step(
            Words("Restart what gave up on it", "重启因此失败的组件"),
            f"kubectl -n {picture.namespace} rollout restart deploy/calico-kube-controllers",
            "disruptive",
        ),
    )


CAUSE = Cause(
    id="crd-missing",
    code="TRT0003",
    severity="high",
    name=Words("CRD missing", "缺少 CRD"),
    what=Words(
        "A CRD of crd.projectcalico.org is not installed or wrongly named (partial apply, helm upgrade).",
        "crd.projectcalico.org 的某个 CRD 未安装或名称错误（只应用了一部分、helm 升级等）。",
    ),
    explains=(
        "crash-loop",
        "not-ready",
        "controllers-failing",
        "datastore-error",
        "start-terminated",
        "operator-degraded",
        "felix-not-ready",
        "log-errors",
        "restarts",
        "init-crash",
    ),
    look_alikes=(
        ("version-skew", Words("there a kind of Kubernetes itself is missing", "缺少的是 Kubernetes 自身的类型")),
        ("rbac-forbidden", Words("there it says 'is forbidden'", "报 is forbidden")),
    ),
    signs=(MISSING_KIND, MISSING_PATH, NO_MATCHES, CRD_NOT_FOUND, OLD_FORM, NO_TYPE),
    judge=judge,
    ask=Ask(
        "kubectl get crd | grep projectcalico; kubectl -n <ns> get ds calico-node -o jsonpath='{..image}'",
        Words("the list lacks what the release needs", "列表缺少该版本需要的 CRD"),
    ),
    fix=fix,
    verify=(Step(Words("It is listed", "已列出"), "kubectl get crd | grep projectcalico"),),
    prevent=(Words("A CRD step in every helm upgrade.", "每次 helm 升级都包含 CRD 步骤。"),),
    yields_to=("manifest-image-skew", "version-skew"),
)
