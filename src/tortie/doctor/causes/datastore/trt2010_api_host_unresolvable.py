"""TRT2010: the configured API or etcd host is a name the pod cannot resolve."""

from __future__ import annotations

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
from tortie.doctor.picture.facts import Setting
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Hit, Sign
from tortie.doctor.words import Words

LOOKUP_ON = Sign(
    "trt2010-lookup-on",
    "dial tcp: lookup <name> on <ip_dns>:<port>: (no such host|i/o timeout|server misbehaving|read udp … i/o timeout)",
)
LOOKUP = Sign(
    "trt2010-lookup",
    "dial tcp: lookup <name>: (no such host|Temporary failure in name resolution|i/o timeout|Try again)",
)
NAMES = ("KUBERNETES_SERVICE_HOST", "ETCD_ENDPOINTS", "etcd_endpoints", "controlPlaneEndpoint", "server")
SERVERS = (":6443", ":443/api", ":443", ":2379", "/api/v1", "/apis/", "/version", ":8443")
ELSEWHERE = ("pull", "image", "/v2/", "registry", "helm", "webhook")
CALICO = ("calico", "felix", "startup", "typha", "tigera", "operator", "install", "datastore", "etcd", "kubelet", "cni")


def _of_api(hit: Hit, settings: list[Setting]) -> bool:
    name, said = hit.value("name"), f"{hit.line} {hit.command}".lower()
    if name == "localhost" or any(word in said for word in ELSEWHERE):
        return False
    if any(name in setting.value for setting in settings):
        return True
    asked = any(f"//{name.lower()}{tail}" in said for tail in SERVERS)
    return asked or (
        any(word in said for word in CALICO) and any(word in name for word in ("api", "etcd", "master", "k8s", "kube"))
    )


def judge(picture: Picture) -> Finding:
    settings = [s for name in NAMES for s in picture.settings(name)]
    hits = [hit for hit in picture.hits(LOOKUP_ON, LOOKUP) if _of_api(hit, settings)]
    if not hits:
        named = [s for s in settings if any(c.isalpha() for c in s.value.split("//")[-1].split(":")[0])]
        if settings and not named:
            return ruled_out(
                Words("the configured hosts are addresses, not names", "配置的是地址而非域名"), settings[:1]
            )
        return cannot_tell(
            Words("no failed lookup of the API's or etcd's name is shown", "没有 API 或 etcd 域名解析失败的记录")
        )
    first = hits[0]
    name, dns = first.value("name"), first.value("ip_dns")
    inside = name.startswith("kubernetes.default")
    settled = "no such host" in first.text
    config = [s for s in settings if name in s.value]
    hosts = [e for e in picture.commands("/etc/hosts") if any(name in line.split()[1:] for line in e.lines)]
    empty = [
        e
        for e in picture.exhibits
        if e.command.startswith(("dig ", "nslookup ", "host ")) and name in e.command and _no_answer(e.lines)
    ]
    proof = (*config[:1], *hits[:2], *(e.place(0) for e in (*hosts[:1], *empty[:1]) if e.lines))
    at = f" by {dns}" if dns else ""
    why = Words(
        f"{name}, the host Calico is to use, is not resolved{at}{'; only the hosts file knows it' if hosts else ''}.",
        f"Calico 要访问的主机 {name} "
        f"无法解析{f'（DNS 服务器 {dns}）' if dns else ''}{'；只有 hosts 文件中有该名称' if hosts else ''}。",
    )
    if inside:
        strength = POSSIBLE
    elif hosts or empty:
        strength = PROVEN
    else:
        strength = STRONG if settled or config else LIKELY
    objects = (name, dns, *(s.name for s in config), *(s.owner for s in config), "kubernetes-services-endpoint")
    return found(strength, why, objects, proof, name=name, dns=dns)


def _no_answer(lines: tuple[str, ...]) -> bool:
    text = "\n".join(lines)
    return not text.strip() or "NXDOMAIN" in text or "can't find" in text or "ANSWER: 0" in text


def fix(picture: Picture, finding: Finding) -> tuple[Step, ...]:
    name = finding.value("name", "<name>")
    return (
        Step(
            Words(
                "Make a real DNS record for the name, or use the address instead",
                "为该名称添加正式的 DNS 记录，或直接使用地址",
            ),
            f"dig +short {name} @{finding.value('dns', '<dns from the message>')}",
        ),
        Step(
            Words(
                "Operator: put an address into the endpoint ConfigMap", "Operator 安装：在 endpoint ConfigMap 中写地址"
            ),
            "kubectl -n tigera-operator patch cm kubernetes-services-endpoint --type merge -p "
            '\'{"data":{"KUBERNETES_SERVICE_HOST":"<address>"}}\'',
            "disruptive",  # the operator then rolls the agents
        ),
        Step(
            Words(
                "Manifest: an address in calico-config, or hostAliases / dnsPolicy: Default in the DaemonSet",
                "清单安装：在 calico-config 中写地址，或在 DaemonSet 中使用 hostAliases / dnsPolicy: Default",
            ),
            f"kubectl -n {picture.namespace} edit cm calico-config",
            "disruptive",
        ),
        Step(
            Words("Recreate the pods", "重建 Pod"),
            f"kubectl -n {picture.namespace} rollout restart ds/calico-node",
            "disruptive",
        ),
    )


CAUSE = Cause(
    id="api-host-unresolvable",
    code="TRT2010",
    severity="high",
    name=Words("name of the API host does not resolve", "API 域名无法解析"),
    what=Words(
        "The configured API or etcd host is a name the pod cannot resolve: only in the machines' hosts file, or the "
        "DNS server "
        "asked does not know it.",
        "配置的 API 或 etcd 主机名在 Pod 内无法解析：只写在机器的 hosts 文件里，或所用 DNS 服务器没有该记录。",
    ),
    explains=(
        "api-unreachable",
        "crash-loop",
        "datastore-error",
        "init-crash",
        "operator-degraded",
        "controllers-failing",
    ),
    look_alikes=(
        ("localhost-misresolved", Words("the name is localhost", "域名是 localhost")),
        ("ebpf-misconfigured", Words("the endpoint is missing or loopback", "endpoint 缺失或为回环地址")),
        ("datastore-endpoint-wrong", Words("the name resolves, to a wrong address", "域名能解析，但地址错误")),
    ),
    signs=(LOOKUP_ON, LOOKUP),
    judge=judge,
    ask=Ask("dig +short <name> @<dns from the message>", Words("no answer proves it", "没有结果即可证实")),
    fix=fix,
    verify=(
        Step(
            Words("The name resolves where the pod asks", "Pod 所用 DNS 能解析该名称"),
            "dig +short <name> @<dns from the message>",
        ),
    ),
    prevent=(
        Words(
            "No names that only a hosts file knows in the cluster's configuration.",
            "集群配置中不要使用只存在于 hosts 文件的名称。",
        ),
    ),
)
