"""TRT1013: BIRD rejects the configuration that was rendered for it, so it never runs."""

from __future__ import annotations

from typing import Final

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
from tortie.doctor.causes.nodes.bgp_evidence import node_at
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Sign
from tortie.doctor.words import Words

REFUSED: Final = Sign("trt1013-line", "<file>.cfg, line <n>: <rest>")
REFUSED_NEW: Final = Sign("trt1013-line-new", "/etc/calico/confd/config/<file>:<n>:<n_column> <rest>")
CHECK_FAILED: Final = Sign("trt1013-check", "Config check failed")
NO_BACKEND: Final = Sign("bgp-no-backend", "None of the BGP backend processes \\(BIRD or GoBGP\\) are running")
NOT_YET: Final = Sign("trt1013-not-yet", "Unable to open configuration file <rest>")


def judge(picture: Picture) -> Finding:
    lines = [hit for hit in picture.hits(REFUSED, REFUSED_NEW) if "bird" in hit.value("file") or "bird" in hit.line]
    checks = picture.hits(CHECK_FAILED)
    stopped = picture.hits(NO_BACKEND)
    if lines:
        first = lines[0]
        name, number = first.value("file").rpartition("/")[2], first.value("n")
        file = name if name.endswith(".cfg") else f"{name}.cfg"
        reason = first.value("rest").strip()
        node = node_at(picture, first.place, first.host)
        why = Words(f"BIRD refuses {file} at line {number}: {reason}.", f"BIRD 拒绝 {file} 第 {number} 行：{reason}。")
        strength = PROVEN if len(lines) > 1 or stopped or checks else STRONG
        objects = (file, f"line {number}", reason, node, f"/etc/calico/confd/config/{file}")
        return found(strength, why, objects, (*lines[:2], *checks[:1], *stopped[:1]), line=number, file=file, node=node)
    if checks:
        why = Words("confd's check of the rendered configuration failed.", "confd 对渲染出的配置校验失败。")
        return found(STRONG if stopped else POSSIBLE, why, ("bird.cfg",), (*checks[:2], *stopped[:1]), file="bird.cfg")
    if picture.sessions():
        return ruled_out(Words("BIRD runs and shows its sessions", "BIRD 在运行并列出了会话"), picture.sessions()[:1])
    return cannot_tell(Words("BIRD's own log lines", "BIRD 自身的日志"))


def fix(picture: Picture, finding: Finding) -> tuple[Step, ...]:
    number = int(finding.value("line", "0"))
    file = finding.value("file", "bird.cfg")
    pod = f"kubectl -n {picture.namespace} exec <calico-node pod> -- "
    return (
        Step(
            Words("Look at that line: it belongs to one peer, node or filter", "查看该行属于哪个对等体、节点或过滤器"),
            f"{pod}sed -n '{max(1, number - 5)},{number + 3}p' /etc/calico/confd/config/{file}",
        ),
        Step(
            Words(
                "Correct the BGPPeer, Node or BGPFilter behind it; confd renders the file again. A hand-edited file is "
                "overwritten",
                "修正对应的 BGPPeer、Node 或 BGPFilter，confd 会重新渲染；不要手改文件，会被覆盖",
            ),
            "calicoctl get bgppeer -o yaml; calicoctl get node -o yaml",
        ),
        Step(
            Words("IPv6-only hosts have no router id: derive one", "纯 IPv6 主机没有 router id：由哈希生成"),
            f"kubectl -n {picture.namespace} set env ds/calico-node CALICO_ROUTER_ID=hash",
            "disruptive",
        ),
    )


CAUSE = Cause(
    id="bird-config-invalid",
    code="TRT1013",
    severity="medium",
    name=Words("BIRD's configuration is invalid", "BIRD 配置无效"),
    what=Words(
        "The rendered bird.cfg is refused: a reflector client in another AS, an empty router id, a hand edit.",
        "渲染出的 bird.cfg 被拒绝：反射器客户端属于其他 AS、router id 为空、手工修改等。",
    ),
    explains=("bgp-down", "bird-not-ready", "not-ready", "traffic-dead"),
    look_alikes=(
        (
            "bird-probe-without-bgp",
            Words("the backend is vxlan, BIRD is off on purpose", "后端是 vxlan，本来就不运行 BIRD"),
        ),
        ("missing-mount", Words("the control socket is not there", "控制套接字不存在")),
        ("service-env-missing", Words("confd itself does not run", "confd 本身没有运行")),
    ),
    signs=(REFUSED, REFUSED_NEW, CHECK_FAILED, NO_BACKEND, NOT_YET),
    judge=judge,
    ask=Ask(
        "kubectl -n <namespace> logs <calico-node pod> | grep ^bird | tail",
        Words("BIRD names the line that it refuses", "BIRD 会指出拒绝的是哪一行"),
    ),
    fix=fix,
    verify=(Step(Words("BIRD answers with its sessions", "BIRD 能列出会话"), "calicoctl node status"),),
    prevent=(Words("Change one peer at a time.", "一次只改一个对等体。"),),
)
