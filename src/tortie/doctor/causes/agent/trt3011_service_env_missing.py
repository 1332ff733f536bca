"""TRT3011: the pod was created before kubelet knew the services, so its KUBERNETES_SERVICE_* variables are missing."""

from __future__ import annotations

from typing import Final

from tortie.doctor.causes.agent.start_evidence import culprits, sick_names
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
from tortie.doctor.reading.exhibit import Place
from tortie.doctor.signs import Sign
from tortie.doctor.words import Words

MUST_BE_DEFINED: Final = Sign(
    "service-env-undefined", "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT must be defined"
)
NOT_READ: Final = Sign("service-env-not-read", "services have not yet been read at least once")
WANT_UP: Final = Sign("service-env-want-up", "/etc/service/enabled/<service>: <list>, want up")
DEFINED: Final = Sign("service-env-defined", "KUBERNETES_SERVICE_HOST=<ip>")
VARIABLE: Final = "KUBERNETES_SERVICE_HOST"


def judge(picture: Picture) -> Finding:
    undefined = [hit for hit in picture.hits(MUST_BE_DEFINED) if "calicoctl" not in hit.command]
    unread, down = picture.hits(NOT_READ), picture.hits(WANT_UP)
    absent, asked = _absent(picture)
    pods = [pod for place in asked for pod in _pods_asked(picture, place)]
    objects = [
        VARIABLE, "KUBERNETES_SERVICE_PORT", *pods, *culprits(picture, *undefined[:2], *down[:2], *unread[:1]),
        *sick_names(picture), *(hit.value("service") for hit in down[:2]),
    ]  # fmt: skip
    if picture.hits(DEFINED) and not absent:
        if undefined and not picture.commands("env"):
            pass  # the variables were printed by something else than the container
        else:
            return ruled_out(
                Words(f"{VARIABLE} is set in the container", f"容器内已设置 {VARIABLE}"), picture.hits(DEFINED)[:1]
            )
    why = Words(
        f"The pod has no {VARIABLE}: kubelet created it before it had read the services, so confd and BIRD never run.",
        f"该 pod 没有 {VARIABLE}：kubelet 在读到 Service 之前就创建了它，confd 与 BIRD 因此无法运行。",
    )
    evidence = (*unread[:1], *asked[:1], *undefined[:2], *down[:2])
    if undefined and (absent or unread or down):
        return found(PROVEN, why, objects, evidence)
    if undefined or (absent and (down or unread)):
        return found(STRONG, why, objects, evidence)
    if absent:
        return found(LIKELY, why, objects, evidence)
    if unread and down:
        return found(LIKELY, why, objects, evidence)
    if down and not unread and picture.sessions() and not picture.sessions_down():
        told = Words("BIRD runs: all sessions are established", "BIRD 在运行：会话全部 Established")
        return ruled_out(told, picture.sessions()[:1])
    if unread or down:
        return found(POSSIBLE, why, objects, evidence)
    return cannot_tell(Words("the container's environment is not shown", "没有容器内的环境变量"))


def _absent(picture: Picture) -> tuple[bool, list[Place]]:
    """Somebody asked the container for the variables, and the answer does not have them."""
    for exhibit in picture.exhibits:
        asked = "env" in exhibit.command and "exec" in exhibit.command and "KUBERNETES" in exhibit.command
        if asked and not any(f"{VARIABLE}=" in line for line in exhibit.lines):  # of several pods, the one without them
            return True, [exhibit.place(0)]
    return False, []


def _pods_asked(picture: Picture, place: Place) -> list[str]:
    asked = [exhibit.command.split() for exhibit in picture.exhibits if exhibit.place(0) == place]
    return [word for words in asked for word in words if word.startswith(("calico-node-", "canal-"))]


def fix(picture: Picture, finding: Finding) -> tuple[Step, ...]:
    pod = next((name for name in finding.objects if name.startswith(("calico-node-", "canal-"))), "<calico-node pod>")
    return (
        Step(
            Words("Delete that pod; its successor gets the variables", "删除该 pod；新建的 pod 会带上这些变量"),
            f"kubectl -n {picture.namespace} delete pod {pod}",
            "disruptive",
        ),
    )


CAUSE = Cause(
    id="service-env-missing",
    code="TRT3011",
    severity="medium",
    name=Words("service variables are missing", "缺少服务环境变量"),
    what=Words(
        "kubelet created the pod before it had listed services; without KUBERNETES_SERVICE_* confd and BIRD never run.",
        "kubelet 在列出 Service 之前创建了 pod；没有 KUBERNETES_SERVICE_*，confd 与 BIRD 无法运行。",
    ),
    explains=("bird-not-ready", "bgp-down", "not-ready", "traffic-dead", "crash-loop", "log-errors"),
    look_alikes=(
        (
            "bird-config-invalid",
            Words(
                "the variables are there and BIRD names a line of its file", "变量存在，而 BIRD 指出配置文件的某一行"
            ),
        ),
        ("bird-overloaded", Words("bird runs and is busy", "bird 在运行且繁忙")),
        ("bird-probe-without-bgp", Words("the backend is vxlan or none", "后端为 vxlan 或 none")),
    ),
    signs=(MUST_BE_DEFINED, NOT_READ, WANT_UP, DEFINED),
    judge=judge,
    ask=Ask(
        "kubectl -n kube-system exec <pod> -- sh -c 'env | grep KUBERNETES_SERVICE; sv status /etc/service/enabled/*'",
        Words("no variable, and bird or confd down, is this cause", "没有该变量且 bird 或 confd 未运行，就是此原因"),
    ),
    fix=fix,
    verify=(
        Step(
            Words("The variables are there and every service runs", "变量存在，各服务均在运行"),
            "kubectl -n kube-system exec <pod> -- sh -c 'env | grep KUBERNETES_SERVICE; sv status "
            "/etc/service/enabled/*'",
        ),
    ),
    prevent=(
        Words(
            "Probes with -bird-live (v3.11 or newer) restart such a pod by themselves.",
            "使用带 -bird-live 的探测（v3.11 及以上），此类 pod 会自动重启。",
        ),
    ),
)
