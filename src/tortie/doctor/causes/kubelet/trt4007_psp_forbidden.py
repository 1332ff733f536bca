"""TRT4007: PodSecurityPolicy or Pod Security admission rejects Calico's pods."""

from __future__ import annotations

import re
from typing import Final

from tortie.doctor.causes.agent.start_evidence import lines_before
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
from tortie.doctor.picture.facts import Workload
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Hit, Sign
from tortie.doctor.words import Words

PSP: Final = Sign("psp-unable-to-validate", "unable to validate against any pod security policy")
PSP_ADMIT: Final = Sign("psp-unable-to-admit", "PodSecurityPolicy: unable to admit pod")
PSA: Final = Sign("psa-violates", 'is forbidden: violates PodSecurity "<level>"')
SCC: Final = Sign("scc-unable-to-validate", "unable to validate against any security context constraint")
WEBHOOK: Final = Sign("psp-webhook", "failed calling webhook")
OURS: Final = ("calico", "tigera", "canal", "typha", "goldmane", "whisker")
LABEL: Final = "pod-security.kubernetes.io/enforce"
_POD: Final = re.compile(r"pods \\?\"?([a-z0-9.-]+)\\?\"? is forbidden")


def judge(picture: Picture) -> Finding:
    rejected = picture.hits(PSA, PSP, PSP_ADMIT, SCC)
    if not rejected:
        if webhook := picture.hits(WEBHOOK):
            why = Words(
                "a webhook could not be called; no policy rejects the pods", "是 webhook 调用失败，并非策略拒绝"
            )
            return ruled_out(why, webhook[:1])
        return cannot_tell(Words("events of the DaemonSet are not shown", "没有 DaemonSet 的事件"))
    ours = [hit for hit in rejected if _is_ours(picture, hit)]
    first = (ours or rejected)[0]
    level = first.value("level").partition(":")[0]
    pods = [match[1] for hit in (ours or rejected) if (match := _POD.search(hit.line))]
    short = [row for row in picture.of(Workload) if row.desired and (row.current or 0) < row.desired]
    admission = first.sign == PSA.key
    objects = [
        *pods, *(pod.rstrip("-") for pod in pods), level, LABEL if admission else "PodSecurityPolicy",
        picture.namespace,
        *(row.name for row in short), "DaemonSet/calico-node" if ours else "", "PodSecurity",
    ]  # fmt: skip
    by = (
        (f'Pod Security admission at level "{level}"', f"Pod Security 准入（级别 {level}）")
        if admission
        else (
            ("PodSecurityPolicy", "PodSecurityPolicy") if first.sign != SCC.key else ("SecurityContextConstraints",) * 2
        )
    )
    why = Words(
        f"{by[0]} rejects Calico's pods, so they are never created.",
        f"{by[1]} 拒绝 Calico 的 pod，因此 pod 不会被创建。",
    )
    kind = "psa" if admission else "psp"
    if ours:
        return found(PROVEN if short else STRONG, why, objects, (*ours[:2], *short[:1]), level=level, kind=kind)
    return found(LIKELY if short else POSSIBLE, why, objects, (*rejected[:2], *short[:1]), level=level, kind=kind)


def _is_ours(picture: Picture, hit: Hit) -> bool:
    text = f"{hit.line} {hit.command}".lower()
    if any(word in text for word in OURS):
        return True
    return any(word in lines_before(picture, hit.place) for word in OURS)


def fix(picture: Picture, finding: Finding) -> tuple[Step, ...]:
    namespace = picture.namespace
    restart = Step(
        Words("The DaemonSet tries again by itself; this hurries it", "DaemonSet 会自动重试；此命令可加快"),
        f"kubectl -n {namespace} rollout restart ds/calico-node",
        "disruptive",
    )
    version = picture.version("kubernetes")
    if finding.value("kind") == "psp" and not (version and version >= (1, 25)):
        return (
            Step(
                Words(
                    "Give Calico's account the use of a privileged policy (host network, hostPath, privileged)",
                    "授权 Calico 的服务账号使用特权策略（hostNetwork、hostPath、privileged）",
                ),
                f"kubectl -n {namespace} create rolebinding calico-node-psp --clusterrole=<role that uses the "
                f"privileged policy> "
                f"--serviceaccount={namespace}:calico-node",
            ),
            restart,
        )
    return (
        Step(
            Words("Allow privileged pods in Calico's namespace only", "仅在 Calico 所在命名空间允许特权 pod"),
            f"kubectl label --overwrite ns {namespace} {LABEL}=privileged",
        ),
        restart,
    )


CAUSE = Cause(
    id="psp-forbidden",
    code="TRT4007",
    severity="medium",
    name=Words("security policy rejects the pods", "安全策略拒绝创建"),
    what=Words(
        "PodSecurityPolicy or Pod Security admission does not allow what calico-node needs: privileged, host "
        "network, hostPath.",
        "PodSecurityPolicy 或 Pod Security 准入不允许 calico-node 所需的特权、主机网络与 hostPath。",
    ),
    explains=("pod-not-created", "operator-degraded", "not-ready", "node-not-ready"),
    look_alikes=(
        ("webhook-blocking", Words("the text says `failed calling webhook`", "报错为 `failed calling webhook`")),
        ("rbac-forbidden", Words("a User cannot do something with a resource", "某 User 对某资源没有权限")),
    ),
    signs=(PSP, PSP_ADMIT, PSA, SCC, WEBHOOK),
    judge=judge,
    ask=Ask(
        "kubectl -n kube-system describe ds calico-node | tail -3; kubectl get ns kube-system -o yaml | grep "
        "pod-security",
        Words("`is forbidden` with a policy is this cause", "`is forbidden` 并指明策略，就是此原因"),
    ),
    fix=fix,
    verify=(
        Step(Words("CURRENT equals DESIRED", "CURRENT 等于 DESIRED"), "kubectl -n kube-system get ds calico-node"),
    ),
    prevent=(Words("Label the namespace before applying the manifest.", "应用清单之前先给命名空间打标签。"),),
)
