"""The one command to run next where no cause is in sight: each kind of symptom has a question that splits it best."""

from __future__ import annotations

from typing import Final

from tortie.doctor.diagnosis import Question, Symptom
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


def first_question(seen: list[Symptom], namespace: str) -> Question:
    """The question about the most telling symptom that is still there."""
    now = {symptom.kind: symptom for symptom in reversed(seen) if symptom.current}
    for kind, question in _QUESTIONS:
        if kind in now:
            pod = next((name for name in now[kind].objects if name.startswith(("calico", "canal"))), _POD)
            command = question.command.replace("{ns}", namespace).replace("{pod}", pod)
            return question._replace(command=command)
    return NOTHING
