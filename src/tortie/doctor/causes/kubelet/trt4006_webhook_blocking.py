"""TRT4006: a fail-closed admission webhook that cannot be reached rejects Calico's own pods."""

from __future__ import annotations

import re
from typing import Final

from tortie.doctor.causes.agent.start_evidence import lines_before
from tortie.doctor.causes.legacy import (
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

FAILED: Final = Sign("webhook-failed", 'failed calling webhook "<webhook>": <rest>')
ADMISSION: Final = Sign("webhook-failed-admission", 'failed calling admission webhook "<webhook>": <rest>')
POLICY: Final = Sign("webhook-failure-policy", "failurePolicy: Fail")
OURS: Final = ("calico", "tigera", "canal", "typha", "controller_installation")
_SERVICE: Final = re.compile(r"https?://([a-z0-9-]+)\.([a-z0-9-]+)\.svc")
_UNREACHABLE: Final = re.compile(
    r"no endpoints available|deadline exceeded|connection refused|i/o timeout|no route to host|no such host|"
    r"Client\.Timeout|EOF|service \\?\"[\w-]+\\?\" not found|x509|unreachable|timed out",
    re.I,
)


def judge(picture: Picture) -> Finding:
    failed = picture.hits(FAILED, ADMISSION)
    if not failed:
        return cannot_tell(Words("events of the DaemonSet are not shown", "没有 DaemonSet 的事件"))
    short = [
        row for row in picture.of(Workload) if _is_ours(row.name) and row.desired and (row.current or 0) < row.desired
    ]
    ours = [hit for hit in failed if _about_ours(picture, hit)]
    policy = picture.hits(POLICY)
    first = (ours or failed)[0]
    webhooks = [hit.value("webhook") for hit in (*ours, *failed)]
    services = [match for hit in (*ours, *failed) if (match := _SERVICE.search(hit.line + hit.text))]
    objects = [
        *webhooks, *(match[1] for match in services), *(f"{match[2]}/{match[1]}" for match in services),
        "failurePolicy",
        *(row.name for row in short), *(match[2] for match in services),
    ]  # fmt: skip
    evidence = (*policy[:1], *(ours or failed)[:2], *short[:1])
    why = Words(
        f"The webhook {first.value('webhook')} cannot be reached and fails closed, so the API server rejects "
        f"Calico's pods; the "
        "webhook itself needs the network they make.",
        f"webhook {first.value('webhook')} 不可达且失败即拒绝，API 服务器因此拒绝创建 Calico 的 pod；而该 webhook "
        f"又依赖这些 pod 提供的网络。",
    )
    answered = not _UNREACHABLE.search(first.value("rest") + first.line)
    if answered and "denied the request" in first.line:
        return ruled_out(Words("the webhook answered and denied the request", "webhook 有应答并拒绝了请求"), [first])
    if ours or short:
        return found(
            PROVEN if policy or (ours and short) else STRONG, why, objects, evidence, webhook=first.value("webhook")
        )
    why = Words(
        f"The webhook {first.value('webhook')} cannot be reached; nothing shows that it rejects Calico's own pods, "
        f"so it may be a "
        "consequence of a dead pod network.",
        f"webhook {first.value('webhook')} 不可达；没有证据表明它拒绝了 Calico 自身的 pod，可能只是 pod "
        f"网络不通的结果。",
    )
    return found(POSSIBLE / 2, why, objects, evidence, webhook=first.value("webhook"))


def _is_ours(name: str) -> bool:
    return any(word in name for word in OURS)


def _about_ours(picture: Picture, hit: Hit) -> bool:
    """The rejected object is Calico's: the line, its command or the described DaemonSet names it, not the webhook."""
    line = hit.line.replace(hit.value("webhook"), "")
    if _is_ours(line) or _is_ours(hit.command):
        return True
    if not hit.command and any(word in lines_before(picture, hit.place, 1) for word in ("operator", "calico-node")):
        return True
    events = [
        event
        for event in picture.events("FailedCreate", "ReplicaSetCreateError")
        if event.place.first == hit.place.first
    ]
    return any(_is_ours(event.object) for event in events) or ("Error creating:" in line and not hit.command)


def fix(picture: Picture, finding: Finding) -> tuple[Step, ...]:
    webhook = finding.value("webhook", "<webhook>")
    return (
        Step(
            Words("Find the configuration that holds it", "找到包含该 webhook 的配置"),
            f"kubectl get mutatingwebhookconfigurations,validatingwebhookconfigurations -o yaml | grep -n -B40 "
            f"'{webhook}' | grep -e 'kind:' -e ' name:' -e failurePolicy",
        ),
        Step(
            Words(
                "Let it pass while its backend is unreachable; note the old value",
                "在其后端不可达期间改为放行；记下原值",
            ),
            "kubectl patch mutatingwebhookconfiguration <name> --type json -p "
            '\'[{"op":"replace","path":"/webhooks/0/failurePolicy","value":"Ignore"}]\'',
            "disruptive",
        ),
        Step(
            Words(
                "For good: exclude kube-system, calico-system and tigera-operator by namespaceSelector, then restore "
                "the policy",
                "长期做法：用 namespaceSelector 排除 kube-system、calico-system、tigera-operator，再恢复原策略",
            ),
            "kubectl edit mutatingwebhookconfiguration <name>",
            "disruptive",
        ),
    )


CAUSE = Cause(
    id="webhook-blocking",
    code="TRT4006",
    severity="critical",
    name=Words("admission webhook blocks Calico", "准入 webhook 阻塞"),
    what=Words(
        "A fail-closed admission webhook whose backend sits on the broken pod network rejects Calico's pods: a "
        "deadlock.",
        "失败即拒绝的准入 webhook 的后端位于已中断的 pod 网络中，又拒绝创建 Calico 的 pod，形成死锁。",
    ),
    explains=("pod-not-created", "operator-degraded", "not-ready", "node-not-ready", "pod-pending"),
    look_alikes=(
        (
            "psp-forbidden",
            Words("the text says `is forbidden` and names a policy", "报错为 `is forbidden` 并指明某策略"),
        ),
        ("kubelet-not-running", Words("pods are created and not run", "pod 已创建但未运行")),
    ),
    signs=(FAILED, ADMISSION, POLICY),
    judge=judge,
    ask=Ask(
        "kubectl -n kube-system describe ds calico-node | tail -5; "
        "kubectl get mutatingwebhookconfigurations,validatingwebhookconfigurations",
        Words(
            "FailedCreate with `failed calling webhook` is this cause",
            "FailedCreate 且为 `failed calling webhook`，就是此原因",
        ),
    ),
    fix=fix,
    verify=(
        Step(Words("CURRENT equals DESIRED", "CURRENT 等于 DESIRED"), "kubectl -n kube-system get ds calico-node"),
    ),
    prevent=(Words("Webhooks always exclude system namespaces.", "webhook 一律排除系统命名空间。"),),
)
