"""TRT2011: proxy variables send requests for the API through an HTTP proxy."""

from __future__ import annotations

import re
from ipaddress import ip_address, ip_network

from tortie.doctor.causes.datastore.api_evidence import (
    NO_PROXY,
    NO_PROXY_SHORT,
    PROXY_VARIABLE,
    PROXY_VARIABLE_PLAIN,
    VIP_SIGNS,
    direct_answers,
    vip_troubles,
    vips,
)
from tortie.doctor.causes.legacy import (
    HINT,
    LIKELY,
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

PROXY_CONNECT = Sign("trt2011-proxyconnect", "proxyconnect tcp: <rest>")
TUNNEL_FAILED = Sign("trt2011-tunnel", "Tunnel Connection Failed")
SERVICE_UNAVAILABLE = Sign("trt2011-unavailable", 'https://<ip_asked>(:443)?/<path>(")?: Service Unavailable')
FORBIDDEN_BY_PROXY = Sign("trt2011-forbidden", 'https://<ip_asked>(:443)?/<path>(")?: Forbidden')
GATEWAY = Sign(
    "trt2011-gateway",
    'https://<ip_asked>(:443)?/<path>(")?: (Bad Gateway|Gateway Timeout|Proxy Authentication Required)',
)
INTERCEPTED = (PROXY_CONNECT, TUNNEL_FAILED, SERVICE_UNAVAILABLE, FORBIDDEN_BY_PROXY, GATEWAY)
ELSEWHERE = ("pull", "image", "/v2/", "registry", "helm")
_ASKED = re.compile(r"https://((?:\d{1,3}\.){3}\d{1,3})[:/]")
VARIABLES = ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy")


def _proxies(picture: Picture) -> list[Setting | Hit]:
    settings: list[Setting | Hit] = [s for name in VARIABLES for s in picture.settings(name) if s.value]
    return settings or list(picture.hits(PROXY_VARIABLE, PROXY_VARIABLE_PLAIN))


def _value(item: Setting | Hit) -> str:
    return item.value if isinstance(item, Setting) else item.value("value")


def _exceptions(picture: Picture) -> list[str]:
    settings = [s.value for name in ("NO_PROXY", "no_proxy") for s in picture.settings(name)]
    hits = [h.value("value") + h.value("rest").split(" ")[0] for h in picture.hits(NO_PROXY)]
    hits = hits or [h.value("value") for h in picture.hits(NO_PROXY_SHORT)]
    return [part.strip().strip("\"'") for value in (settings or hits) for part in value.split(",") if part.strip()]


def covers(exceptions: list[str], address: str) -> bool:
    """Whether NO_PROXY excepts an address, as Go's client reads it: addresses, networks, `*`."""
    for entry in exceptions:
        if entry in ("*", address):
            return True
        try:
            if "/" in entry and ip_address(address) in ip_network(entry, strict=False):
                return True
        except ValueError:
            continue
    return False


def judge(picture: Picture) -> Finding:
    connects = [h for h in picture.hits(*INTERCEPTED) if not any(word in h.line.lower() for word in ELSEWHERE)]
    connects = [h for h in connects if "metrics.k8s.io" not in h.line]
    variables, exceptions, failing = _proxies(picture), _exceptions(picture), vip_troubles(picture)
    known = vips(picture) + [h.value("ip_asked") for h in connects if h.value("ip_asked")]
    known += [match[1] for h in connects if (match := _ASKED.search(h.line))]
    vip = known[0] if known else ""
    proxy = _value(variables[0]) if variables else ""
    bare = proxy.split("//")[-1].rstrip("/")
    named = [h.value("rest").split("dial tcp ")[-1].split(": ")[0] for h in connects if h.value("rest")]
    lacking = bool(variables) and bool(vip) and not covers(exceptions, vip)
    bypass = [
        t for t in picture.exhibits if "--noproxy" in t.command and any("ok" in x or "200" in x for x in t.lines[-3:])
    ]
    objects = (
        "HTTPS_PROXY",
        "NO_PROXY",
        "HTTP_PROXY",
        bare.split("@")[-1],
        *(n for n in named if len(n) < 60),
        *_services(picture),
        vip,
    )
    evidence = (
        *variables[:2],
        *picture.hits(NO_PROXY, NO_PROXY_SHORT)[:1],
        *connects[:2],
        *(e.place(0) for e in bypass[:1]),
        *failing[:1],
    )
    if connects:
        own = connects[0].sign in (PROXY_CONNECT.key, TUNNEL_FAILED.key)
        if variables and (lacking or bypass or own):
            strength = PROVEN
        else:
            strength = STRONG if own or bypass else LIKELY if variables else HINT
        why = Words(
            f"Requests for the API{f' ({vip})' if vip else ''} go through the proxy "
            f"{bare.split('@')[-1] or (named or ['named in the line'])[0]}; "
            "NO_PROXY does not except it.",
            f"对 API{f'（{vip}）' if vip else ''}的请求走了代理 "
            f"{bare.split('@')[-1] or (named or ['（见该行）'])[0]}，NO_PROXY 没有排除它。",
        )
        return found(strength, why, objects, evidence, vip=vip)
    if variables and failing and lacking and (bypass or direct_answers(picture)):
        why = Words(
            f"{vip} fails with the proxy variables set, and answers without them.",
            f"设置代理变量时 {vip} 失败，不经代理则正常。",
        )
        return found(STRONG if bypass else HINT, why, objects, evidence, vip=vip)
    if variables and vip and not lacking:
        return ruled_out(Words(f"NO_PROXY excepts {vip}", f"NO_PROXY 已排除 {vip}"), variables[:1])
    if variables and failing:
        why = Words(
            "proxy variables are set without the service range; the error is a plain dial error, though",
            "设置了代理变量且未排除服务网段，但错误只是普通的连接失败",
        )
        return found(HINT, why, objects, evidence, vip=vip)
    shown = picture.commands("systemctl", "Environment")
    if shown and not variables:
        return ruled_out(Words("no proxy variable is set", "没有设置代理变量"), (shown[0].place(0),))
    return cannot_tell(Words("no proxy variable and no proxy's answer is shown", "没有代理变量，也没有代理应答"))


def _services(picture: Picture) -> list[str]:
    """Who carries the variables."""
    said = " ".join(e.command + " " + " ".join(e.lines[:3]) for e in picture.exhibits if "proxy" in e.text.lower())
    return [name for name in ("containerd", "docker", "kubelet", "crio", "http-proxy.conf") if name in said]


def fix(_picture: Picture, finding: Finding) -> tuple[Step, ...]:
    services = [name for name in ("containerd", "docker", "kubelet", "crio") if name in finding.objects] or [
        "containerd"
    ]
    unit = services[0]
    return (
        Step(
            Words("See who carries the variables", "查看哪些服务带有代理变量"),
            "systemctl show containerd docker kubelet -p Environment; systemctl cat containerd | grep -i proxy",
        ),
        Step(
            Words(
                "Except service, pod and node networks in the unit's drop-in",
                "在服务的 drop-in 中排除服务、Pod 与节点网段",
            ),
            f"mkdir -p /etc/systemd/system/{unit}.service.d && printf "
            "'[Service]\\nEnvironment=\"NO_PROXY=localhost,127.0.0.1,"
            "<service CIDR>,<pod CIDR>,<node network>,.svc,.cluster.local\"\\n' > "
            f"/etc/systemd/system/{unit}.service.d/90-no-proxy.conf",
        ),
        Step(
            Words("Drain the node, then restart the service", "先驱逐节点上的 Pod，再重启该服务"),
            f"kubectl drain <node> --ignore-daemonsets; systemctl daemon-reload && systemctl restart {unit}",
            "disruptive",
        ),
    )


CAUSE = Cause(
    id="http-proxy-intercepts",
    code="TRT2011",
    severity="high",
    name=Words("HTTP proxy takes API requests", "代理截走 API 请求"),
    what=Words(
        "Runtime or kubelet pass proxy variables to the CNI plugin or pods, and NO_PROXY lacks the service, pod and "
        "node networks.",
        "运行时或 kubelet 把代理变量传给 CNI 插件或 Pod，而 NO_PROXY 缺少服务、Pod 与节点网段。",
    ),
    explains=(
        "sandbox-failed",
        "api-unreachable",
        "datastore-error",
        "no-address",
        "crash-loop",
        "init-crash",
        "controllers-failing",
    ),
    look_alikes=(
        ("kube-proxy-down", Words("a plain dial time-out without a proxy", "普通连接超时，没有代理")),
        ("rbac-forbidden", Words("403 of the API itself names a User", "API 自身的 403 会指出 User")),
    ),
    signs=(*VIP_SIGNS, *INTERCEPTED, PROXY_VARIABLE, PROXY_VARIABLE_PLAIN, NO_PROXY, NO_PROXY_SHORT),
    judge=judge,
    ask=Ask(
        "systemctl show containerd docker kubelet -p Environment; cat /proc/$(pgrep -o containerd)/environ | tr "
        "'\\0' '\\n' | grep -i proxy",
        Words("a proxy without the service range in NO_PROXY is the fault", "有代理而 NO_PROXY 不含服务网段即为故障"),
    ),
    fix=fix,
    verify=(
        Step(
            Words("A new pod gets its address", "新 Pod 能获得地址"),
            "kubectl run probe --image=<image> --restart=Never && kubectl get pod probe -o wide",
        ),
    ),
    prevent=(Words("Keep these ranges in the proxy template of every node.", "在节点代理模板中固定包含这些网段。"),),
)
