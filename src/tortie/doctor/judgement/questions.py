"""The one command to run next where no cause is in sight: each kind of symptom has a question that splits it best."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from tortie.doctor.causes.cause import HINT, Cause
from tortie.doctor.diagnosis import Area, Question, Symptom, Unexplained
from tortie.doctor.judgement.answered import left_of
from tortie.doctor.judgement.filling import filled
from tortie.doctor.judgement.seconds import Found
from tortie.doctor.picture.picture import Picture
from tortie.doctor.words import Words

_POD = "<pod>"


def _ask(command: str, en: str, zh: str) -> Question:
    return Question(command, Words(en, zh), "")


# The most telling symptom first: what stands earlier is asked about when several are seen.
_QUESTIONS: Final = (
    (
        "pod-not-created",
        _ask(
            "kubectl -n {ns} describe ds calico-node | tail -5",
            "why the pods are not created stands in its events",
            "Pod 未创建的原因在其事件里",
        ),
    ),
    (
        "image-pull",
        _ask(
            "kubectl -n {ns} describe pod {pod} | grep -A3 'Failed to pull'",
            "the registry's answer is the cause",
            "镜像仓库返回的内容就是原因",
        ),
    ),
    (
        "init-crash",
        _ask(
            "kubectl -n {ns} describe pod {pod} | grep -B2 -A8 'Last State'; kubectl -n {ns} logs {pod} "
            "--all-containers --tail=20",
            "which init container ends, and with which last line",
            "看是哪个初始化容器退出、最后一行日志是什么",
        ),
    ),
    (
        "init-stuck",
        _ask(
            "kubectl -n {ns} logs {pod} -c upgrade-ipam --tail=20; kubectl -n {ns} describe pod {pod} | tail -8",
            "retries in that log are the migration, silence is the runtime",
            "日志反复重试是 IPAM 迁移问题，没有日志是运行时问题",
        ),
    ),
    (
        "crash-loop",
        _ask(
            "kubectl -n {ns} logs -p {pod} --tail=30; kubectl -n {ns} describe pod {pod} | grep -e "
            "'Last State' -A5 -e Killing -e Liveness; uptime",
            "an error line, a kill from outside, or a limit: each looks different there",
            "是自身报错、被外部杀掉还是资源限制，从这里可以区分",
        ),
    ),
    (
        "killed-by-liveness",
        _ask(
            "kubectl -n {ns} describe pod {pod} | grep -e Liveness -e 'probe failed' -e Killing; "
            "kubectl -n {ns} logs -p {pod} --timestamps | sed -n '1p;$p'; uptime",
            "the window, how far the start came, and the load decide",
            "探测窗口、启动进度与负载决定原因",
        ),
    ),
    (
        "start-terminated",
        _ask(
            "kubectl -n {ns} logs -p {pod} | tail -20",
            "the line before Terminating is the reason",
            "Terminating 之前的一行就是原因",
        ),
    ),
    (
        "bgp-down",
        _ask(
            "kubectl get nodes -o custom-columns='NAME:.metadata.name,"
            'INTERNAL:.status.addresses[?(@.type=="InternalIP")].address,'
            "CALICO:.metadata.annotations.projectcalico\\.org/IPv4Address'",
            "a peer address that is nobody's InternalIP is a wrong interface; else test port 179 from the side that is "
            "not Passive",
            "对端地址若不是任何节点的 InternalIP，就是网卡选错；否则从非 Passive 一侧测试 179 端口",
        ),
    ),
    (
        "bird-not-ready",
        _ask("calicoctl node status", "which peers are down, and with which words", "看哪些对端未建立、显示什么原因"),
    ),
    (
        "felix-not-ready",
        _ask(
            "kubectl -n {ns} logs {pod} --tail=50 | grep -e WARN -e ERROR -e FATAL -e 'not ready'",
            "Felix says what it waits for",
            "Felix 会说明它在等什么",
        ),
    ),
    (
        "not-ready",
        _ask(
            "kubectl -n {ns} describe pod {pod} | tail -5",
            "the text after `probe failed:` tells which part is not ready",
            "`probe failed:` 之后的内容说明哪一部分未就绪",
        ),
    ),
    (
        "node-not-ready",
        _ask(
            "kubectl describe node <node> | grep -A8 Conditions; ping -c2 <node>",
            "whether kubelet reports, and whether the machine answers",
            "看 kubelet 是否上报、机器是否应答",
        ),
    ),
    (
        "api-unreachable",
        _ask(
            "kubectl -n kube-system get pod -o wide | grep kube-proxy; iptables-save -t nat | grep -c "
            "KUBE-SVC; curl -sk -m3 https://<real API address>:6443/readyz",
            "rules for the service address, and the API's direct answer",
            "看 Service 地址是否有规则、API 直连是否应答",
        ),
    ),
    (
        "sandbox-failed",
        _ask(
            "kubectl describe pod <pending pod> | tail -5; ls -la /etc/cni/net.d",
            "the plugin's own words are the cause",
            "CNI 插件自己的报错就是原因",
        ),
    ),
    (
        "controllers-failing",
        _ask(
            "kubectl -n {ns} logs deploy/calico-kube-controllers --tail=20",
            "its last error names what it cannot reach",
            "最后一条错误说明它访问不到什么",
        ),
    ),
    (
        "operator-degraded",
        _ask(
            "kubectl get tigerastatus calico -o yaml | grep -A4 Degraded",
            "the operator says what it cannot do",
            "operator 会说明它做不到什么",
        ),
    ),
    (
        "restarts",
        _ask(
            "kubectl -n {ns} logs -p {pod} --tail=30; kubectl -n {ns} describe pod {pod} | grep -A6 'Last State'",
            "how the last run ended is the cause",
            "上一次运行如何结束，就是原因",
        ),
    ),
    (
        "traffic-dead",
        _ask(
            "ip route get <remote pod>; tcpdump -ni <uplink> host <remote node> -c 20",
            "the device of the route, and what arrives at the receiver",
            "看路由走哪个设备、接收端收到了什么",
        ),
    ),
    (
        "service-dead",
        _ask(
            "kubectl get endpoints <service>; iptables-save -t nat | grep -c KUBE-SVC; calicoctl node status",
            "endpoints, rules, routes: the first that is missing",
            "后端、规则、路由：缺哪一个就是哪一个",
        ),
    ),
    (
        "evicted",
        _ask("kubectl describe node <node> | grep -A8 Conditions; df -h", "which resource ran out", "看哪种资源耗尽"),
    ),
    (
        "log-errors",
        _ask(
            "kubectl -n {ns} get pod -o wide | grep calico; kubectl -n {ns} describe pod {pod} | tail -10",
            "whether anything suffers from it",
            "看是否真的有影响",
        ),
    ),
)

NOTHING: Final = Question(
    "tortie doctor collect | bash > bundle.txt",
    Words(
        "nothing in the evidence points to one cause; this collects what decides (read-only)",
        "现有证据无法指向任何一个原因；此命令收集判断所需的信息（只读）",
    ),
    "",
)


NO_MORE: Final = Words(
    "what the usual commands show is all here, and more of the same will not help; look at {where}",
    "常用命令的输出都已提供，继续补充同类信息没有帮助；请排查：{where}",
)
_ENOUGH: Final = 5  # areas seen, from which a bundle would bring little that is new


def next_question(
    candidates: Sequence[Found],
    seen: list[Symptom],
    picture: Picture,
    covers: Sequence[Area],
    left: Sequence[Unexplained],
) -> Question:
    """The one that separates most candidates and was not answered; else about a symptom; else where to look."""
    for cause in _separating([cause for cause, finding in candidates if finding.strength > HINT]):
        command = left_of(filled(cause.ask.command, picture), picture)
        if command:
            others = [other.id for other, _ in candidates if other.id != cause.id][:2]
            separates = f" ({cause.id} / {' / '.join(others)})" if others else ""
            why = Words(cause.ask.why.en + separates, cause.ask.why.zh + separates)
            return Question(command, why, cause.id)
    for question in _about(seen, picture):
        command = left_of(question.command, picture)
        if command:
            return question._replace(command=command)
    if left and len(covers) >= _ENOUGH:
        phase = left[0].phase
        return Question("", Words(NO_MORE.en.format(where=phase.en), NO_MORE.zh.format(where=phase.zh)), "")
    return NOTHING


def _separating(causes: list[Cause]) -> list[Cause]:
    """In the order of how many of the others each one's question tells it from; the more probable first."""
    ids = {cause.id for cause in causes}
    alike = {cause.id: ids & {id_ for id_, _ in cause.look_alikes} for cause in causes}
    split = {
        cause.id: len((alike[cause.id] | {id_ for id_ in ids if cause.id in alike[id_]}) - {cause.id})
        for cause in causes
    }
    return sorted(causes, key=lambda cause: -split[cause.id])


def _about(seen: list[Symptom], picture: Picture) -> Iterator[Question]:
    """Questions about the symptoms that are still there, the most telling first."""
    now = {symptom.kind: symptom for symptom in reversed(seen) if symptom.current}
    for kind, question in _QUESTIONS:
        if kind in now:
            pod = next((name for name in now[kind].objects if name.startswith(("calico", "canal"))), _POD)
            command = question.command.replace("{ns}", picture.namespace).replace("{pod}", pod)
            yield question._replace(command=filled(command, picture))
