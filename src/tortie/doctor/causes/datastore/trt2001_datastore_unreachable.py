"""TRT2001: the etcd or API server that Calico is rightly pointed at does not answer at its real address."""

from __future__ import annotations

from tortie.doctor.causes.datastore.api_evidence import (
    API_PORTS,
    ETCD_PORTS,
    VIP_SIGNS,
    Trouble,
    alive_otherwise,
    answered,
    direct_answers,
    kubectl_answers,
    troubles,
    vip_troubles,
    vips,
)
from tortie.doctor.causes.datastore.api_trust import NO_SAN, UNKNOWN_CA, WRONG_NAME, refusals
from tortie.doctor.causes.datastore.etcd_evidence import leaders_in_turn
from tortie.doctor.causes.datastore.trt2002_datastore_endpoint_wrong import configured, healthy_endpoints, misfit
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
from tortie.doctor.picture.facts import Ping, Pod, PortTest, Setting, Unit
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Hit, Sign
from tortie.doctor.words import Words

UNAVAILABLE = Sign("trt2001-unavailable", "etcd cluster is unavailable or misconfigured")
RETRY = Sign("trt2001-retry", "Hit error connecting to datastore - retry")
INITIALISE = Sign("trt2001-initialise", "Failed to initialize Calico datastore")
SKIPPING = Sign("trt2001-skipping", "Skipping datastore connection test")
KUBECTL_REFUSED = Sign("trt2001-kubectl-refused", "The connection to the server <server> was refused")
UNHEALTHY = Sign("trt2001-unhealthy", "is unhealthy: failed to (commit proposal|connect)")
UNREACHABLE_MEMBER = Sign("trt2001-unreachable-member", "failed to check the health of member <member>")
NO_LEADER = Sign("trt2001-no-leader", "etcdserver: no leader")
MAY_BE_UNHEALTHY = Sign("trt2001-may-be-unhealthy", "cluster may be unhealthy: failed to list members")
SERVERS = ("etcd-", "kube-apiserver")
CONTAINERS = ("etcd", "kube-apiserver", "k8s_etcd", "k8s_kube-apiserver")
ANSWERED = ("x509", "Unauthorized", "forbidden", "lookup ", "proxyconnect")  # somebody answered, or was never asked


def servers_down(picture: Picture) -> list[Pod | Unit | Setting]:
    """etcd or API server pods, units and containers that do not run now."""
    pods = [pod for pod in picture.pods_now(*SERVERS) if pod.status not in ("", "Running") or pod.ready == 0]
    units = [u for u in picture.of(Unit) if u.name.startswith(("etcd", "kube-apiserver")) and u.active != "active"]
    states = [s for s in picture.of(Setting) if s.scope == "runtime-container" and s.name.startswith(CONTAINERS)]
    running = {(s.name, s.host) for s in states if s.value.startswith(("Running", "Up"))}
    ended = [s for s in states if s.value.startswith("Exited") and (s.name, s.host) not in running]
    return [*pods, *units, *ended]


def judge(picture: Picture) -> Finding:
    known = vips(picture)
    real = [t for t in troubles(picture) if t.port in (*ETCD_PORTS, *API_PORTS) and t.address not in known]
    real = [t for t in real if not t.address.startswith("127.") or t.port in ETCD_PORTS]
    own = [h for h in picture.hits(UNAVAILABLE, RETRY, INITIALISE) if not any(w in h.line for w in ANSWERED)]
    health = picture.hits(UNHEALTHY, UNREACHABLE_MEMBER, NO_LEADER, MAY_BE_UNHEALTHY)
    kubectl = picture.hits(KUBECTL_REFUSED)
    good = _answering(picture, real)
    if good:
        return ruled_out(
            Words(
                f"{good.address}:{good.port} answers when asked directly", f"直接访问 {good.address}:{good.port} 有响应"
            ),
            (good,),
        )
    if misfit(picture):
        return ruled_out(
            Words("the configured endpoint is not where the datastore is", "配置的地址并不是数据存储所在的地址"),
            misfit(picture),
        )
    alive = direct_answers(picture)
    if alive and real and all(t.port in API_PORTS for t in real):
        why = Words(
            f"the API server answers at {alive[0].address}; only the path to other addresses is cut",
            f"API server 在 {alive[0].address} 有响应，只是到其他地址的路径不通",
        )
        return ruled_out(why, alive[:1])
    tls = refusals(picture, NO_SAN, UNKNOWN_CA, WRONG_NAME)
    if tls and not real:
        return ruled_out(Words("TCP connects; it is TLS that fails", "TCP 可以连上，失败的是 TLS"), (tls[0].hit,))
    down = servers_down(picture)
    tested = [t for t in real if t.tried]
    if real or health or kubectl or (down and own):
        return _unreachable(picture, real, tested, down, [*health, *kubectl], own)
    vip = vip_troubles(picture)
    if vip and (working := kubectl_answers(picture)):
        why = Words(
            f"the API server answers kubectl; only its service address {vip[0].address} fails",
            f"API server 能响应 kubectl，失败的只是服务地址 {vip[0].address}",
        )
        return ruled_out(why, (working.place(0), vip[0]))
    if vip or own:
        why = Words(
            "Calico cannot reach its datastore, but nothing shows how the real address behaves",
            "Calico 连不上数据存储，但没有证据说明真实地址的状况",
        )
        return found(POSSIBLE if own else HINT, why, (vip[0].address if vip else "",), (*vip[:1], *own[:2]))
    if picture.hits(SKIPPING) and not picture.agents_now():
        return cannot_tell(Words("the log shows no answer of the datastore", "日志没有显示数据存储的响应"))
    return cannot_tell(Words("nothing asks the datastore at its real address", "没有针对数据存储真实地址的探测"))


def _answering(picture: Picture, real: list[Trouble]) -> PortTest | None:
    """A trial of an address in question that succeeded; from the server itself it says nothing about the path."""
    asked = {(t.address, t.port) for t in real}
    for test in picture.of(PortTest):
        if (
            (test.address, test.port) in asked
            and answered(test)
            and picture.owner_of(test.address) != (test.host or "-")
        ):
            return test
    return None


def _unreachable(
    picture: Picture,
    real: list[Trouble],
    tested: list[Trouble],
    down: list[Pod | Unit | Setting],
    health: list[Hit],
    own: list[Hit],
) -> Finding:
    addresses = list(dict.fromkeys(t.address for t in real))
    ports = list(dict.fromkeys(str(t.port) for t in real))
    servers = [h.value("server") or h.value("member") for h in health]
    dead = [ping for ping in picture.of(Ping) if not ping.ok and ping.address in addresses]
    said = picture.said("etcd-down")
    proof = [*down, *health, *tested, *dead, *said]
    stores = "".join((*(hit.text for hit in own), *(d.name for d in down)))
    kind = "etcd" if "etcd" in stores or any(t.port in ETCD_PORTS for t in real) else "API server"
    listed = ", ".join(f"{t.address}:{t.port}" for t in list({(t.address, t.port): t for t in real}.values())[:3])
    shown = listed or ", ".join(d.name for d in down[:3]) or ", ".join(s for s in servers[:2] if s)
    if real and (down or health) and tested:
        strength = PROVEN
    elif down or (real and (health or tested or dead or said)):
        strength = STRONG
    elif health:
        strength = LIKELY
    else:
        strength = POSSIBLE
    in_turn = leaders_in_turn(picture) and any(t.how != "refused" for t in real)
    if healthy_endpoints(picture) or in_turn:
        strength = POSSIBLE  # some answer, or they do so now and then
    api_only = bool(real) and all(t.port in API_PORTS for t in real) and not down and not health
    dropped = all(t.how != "refused" for t in real)
    if api_only and (kubectl_answers(picture) or (dropped and alive_otherwise(picture, set(addresses)))):
        strength = min(strength, POSSIBLE)  # somebody is served, or the machine is there: a path, not the server
    if real and all(t.from_pod for t in real):
        strength = min(strength, POSSIBLE)  # a pod's path may be broken elsewhere
    why = Words(
        f"{'etcd' if kind == 'etcd' else 'The API server'} does not answer at its real address ({shown}).",
        f"{kind} 在其真实地址（{shown}）上没有响应。",
    )
    objects = (*addresses, *(getattr(d, "name", "") for d in down), *servers, kind, *ports, *configured(picture))
    return found(strength, why, objects, (*proof[:4], *real[:2], *own[:2]), address=shown.split(",")[0], kind=kind)


def fix(picture: Picture, finding: Finding) -> tuple[Step, ...]:
    address = finding.value("address", "<endpoint>")
    return (
        Step(
            Words(
                "See on each server whether etcd and kube-apiserver run and why not",
                "在每台服务器上查看 etcd 与 kube-apiserver 是否运行及原因",
            ),
            "crictl ps -a | grep -e etcd -e kube-apiserver; systemctl status etcd --no-pager; journalctl -u etcd -u "
            "kubelet -n 50 --no-pager",
        ),
        Step(
            Words(
                "Ask every member; start those that are down until a majority answers",
                "逐个询问成员，启动停止的成员直到多数派恢复",
            ),
            f"etcdctl --endpoints={address} endpoint health --cluster",
        ),
        Step(
            Words(
                "Start the stopped member (static pod: repair its manifest; unit: start and enable)",
                "启动停止的成员（静态 Pod 修复清单；systemd 单元则启动并设为开机自启）",
            ),
            "systemctl enable --now etcd",
            "disruptive",
        ),
        Step(
            Words("Then recreate the agents that are stuck", "然后重建卡住的 calico-node"),
            f"kubectl -n {picture.namespace} delete pod <stuck calico-node pod>",
            "disruptive",
        ),
    )


CAUSE = Cause(
    id="datastore-unreachable",
    code="TRT2001",
    severity="high",
    name=Words("datastore unreachable", "数据存储不可达"),
    what=Words(
        "The etcd or API server that Calico is rightly pointed at does not answer at its real address: it is down, has "
        "lost quorum, or the path to it is cut.",
        "Calico 指向的 etcd 或 API server 地址正确，但在真实地址上没有响应：进程停止、失去多数派或链路中断。",
    ),
    explains=(
        "api-unreachable",
        "datastore-error",
        "crash-loop",
        "controllers-failing",
        "start-terminated",
        "init-stuck",
    ),
    look_alikes=(
        (
            "kube-proxy-down",
            Words("only the service address fails, the real one answers", "只有服务地址失败，真实地址有响应"),
        ),
        ("datastore-tls-invalid", Words("TCP connects, TLS fails", "TCP 可连接，TLS 失败")),
        ("datastore-endpoint-wrong", Words("the endpoint asked is no member", "所访问的地址不是成员")),
        ("etcd-slow", Words("it succeeds now and then", "时而成功")),
    ),
    signs=(
        *VIP_SIGNS,
        UNAVAILABLE,
        RETRY,
        INITIALISE,
        SKIPPING,
        KUBECTL_REFUSED,
        UNHEALTHY,
        UNREACHABLE_MEMBER,
        NO_LEADER,
        MAY_BE_UNHEALTHY,
        NO_SAN,
        UNKNOWN_CA,
        WRONG_NAME,
    ),
    judge=judge,
    ask=Ask(
        "curl -sk -m3 https://<real API>:6443/readyz; ip route get <VIP>; iptables-save -t nat | grep -c KUBE-SVC; "
        "ipvsadm -Ln | head; env | grep -i proxy",
        Words("if the real address answers, it is not the datastore", "真实地址有响应则不是数据存储的问题"),
    ),
    fix=fix,
    verify=(
        Step(Words("Every endpoint is healthy", "所有端点健康"), "etcdctl endpoint health --cluster"),
        Step(Words("The API server is ready", "API server 就绪"), "curl -sk -m3 https://<real API>:6443/readyz"),
    ),
    prevent=(
        Words("Run three or five etcd members.", "etcd 使用三个或五个成员。"),
        Words("Alarm on endpoint health.", "对端点健康状况设置告警。"),
    ),
    yields_to=("datastore-endpoint-wrong", "datastore-tls-invalid", "clock-skew", "policy-blocks-host"),
)
