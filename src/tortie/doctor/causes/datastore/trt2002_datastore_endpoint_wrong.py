"""TRT2002: the address list or scheme handed to Calico is not where the datastore is."""

from __future__ import annotations

import re
from typing import NamedTuple

from tortie.doctor.causes.datastore.api_evidence import ETCD_PORTS, VIP_SIGNS, Trouble, troubles
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
from tortie.doctor.reading.exhibit import Place
from tortie.doctor.signs import Hit, Sign
from tortie.doctor.words import Words

NO_ACCESS = Sign("trt2002-no-access", "Unable to access datastore to query node configuration")
_HEALTH = re.compile(r'"health"\s*:\s*"?true')
HEALTHY = Sign("trt2002-healthy", "is healthy: (successfully committed proposal|got healthy result)")
PLAIN_SERVER = Sign("trt2002-plain-server", "server gave HTTP response to HTTPS client")
PLAIN_RECORD = Sign("trt2002-plain-record", "first record does not look like a TLS handshake")
TLS_SERVER = Sign("trt2002-tls-server", "malformed HTTP response")
MISSING_SCHEME = Sign("trt2002-missing-scheme", "unsupported protocol scheme")
ENDPOINTS = Sign("trt2002-endpoints", 'ETCD_ENDPOINTS(")?(=|:)( )?(")?<value>')
NAMES = ("ETCD_ENDPOINTS", "etcd_endpoints", "etcdEndpoints", "ETCD_AUTHORITY")
_URL = re.compile(r"(https?)://(\[?[\w.:-]*[\w\]]):(\d{2,5})")
_BARE = re.compile(r"^(?:\d{1,3}\.){3}\d{1,3}:\d{2,5}$|^[a-z][\w.-]*:\d{2,5}$", re.IGNORECASE)


def endpoint_settings(picture: Picture) -> list[Setting | Hit]:
    settings: list[Setting | Hit] = [s for name in NAMES if name != "ETCD_AUTHORITY" for s in picture.settings(name)]
    hits = [
        h for h in picture.hits(ENDPOINTS) if h.value("value") and not h.value("value").startswith(("__", "$", "<"))
    ]
    places = {s.place for s in settings}
    return settings + [hit for hit in hits if hit.place not in places]


def _value(item: Setting | Hit) -> str:
    value = item.value if isinstance(item, Setting) else item.value("value")
    words = str(value).split()  # what follows on the line is not part of it
    return words[0].strip("\"'\\") if words else ""


def configured(picture: Picture) -> list[str]:
    """Endpoints handed to Calico, each as written."""
    return list(dict.fromkeys(e.strip() for s in endpoint_settings(picture) for e in _value(s).split(",") if e.strip()))


def members(picture: Picture) -> dict[str, Place]:
    """Client addresses of living members, as etcdctl lists them."""
    found_at: dict[str, Place] = {}
    for words in (("etcdctl", "member list"), ("etcdctl", "endpoint status"), ("etcdctl", "endpoint health")):
        for exhibit in picture.commands(*words):
            for index, line in enumerate(exhibit.lines[:100]):
                if "unhealthy" in line or "failed" in line.lower():
                    continue
                client = line.split("clientURLs=")[-1] if "clientURLs=" in line else line
                for _, host, port in _URL.findall(client):
                    if port != "2380":
                        found_at.setdefault(host, exhibit.place(index))
    return found_at


class Healthy(NamedTuple):
    """An endpoint that said to be healthy when asked."""

    scheme: str
    host: str
    port: str
    place: Place


def healthy_endpoints(picture: Picture) -> list[Healthy]:
    answers = [Healthy(u[1], u[2], u[3], hit.place) for hit in picture.hits(HEALTHY) for u in _URL.finditer(hit.line)]
    for exhibit in picture.commands("/health"):
        lines = (i for i, line in enumerate(exhibit.lines[:50]) if _HEALTH.search(line))
        for index in lines:
            answers += [Healthy(u[1], u[2], u[3], exhibit.place(index)) for u in _URL.finditer(exhibit.command)]
    return answers


def _schemeless(picture: Picture) -> list[Setting | Hit]:
    return [s for s in endpoint_settings(picture) if any(_BARE.match(e.strip()) for e in _value(s).split(","))]


def _asked_beside(picture: Picture) -> set[str]:
    """Whom somebody asked together with living members: one that is silent may be a member that is down.

    Only the list of members tells; without it this is all there is.
    """
    if picture.commands("etcdctl", "member list"):
        return set()
    return {host for each in picture.commands("etcdctl", "endpoint ") for _, host, _ in _URL.findall(each.command)}


def _strangers(picture: Picture) -> list[Trouble]:
    """Failing etcd addresses that are no members."""
    known = members(picture)
    if not known:
        return []
    named = all(re.fullmatch(r"[\d.]+", host) for host in known)
    doubtful = {*known, *_asked_beside(picture)}
    failing = [t for t in troubles(picture) if t.port in ETCD_PORTS and t.address not in doubtful]
    return [t for t in failing if named and not t.address.startswith("127.")]


def _other_scheme_or_port(picture: Picture) -> list[Trouble | Place]:
    """The same machine answers with another scheme or at another port than Calico uses."""
    wrong: list[Trouble | Place] = []
    for scheme, host, port, place in healthy_endpoints(picture):
        for endpoint in configured(picture):
            match = _URL.match(endpoint)
            if match and match[2] == host and (match[1] != scheme or match[3] != port):
                wrong.append(place)
        wrong += [
            t for t in troubles(picture) if t.address == host and t.port != int(port) and t.port in (*ETCD_PORTS, 2378)
        ]
    return wrong


def _two_answers(picture: Picture) -> list[Place]:
    """A configured name that two hosts files map to different addresses, one of which fails."""
    names = {m[2] for e in configured(picture) if (m := _URL.match(e)) and not re.fullmatch(r"[\d.]+", m[2])}
    maps: dict[str, dict[str, Place]] = {}
    for exhibit in picture.commands("/etc/hosts"):
        for index, line in enumerate(exhibit.lines[:200]):
            words = line.split()
            for name in names.intersection(words[1:]):
                maps.setdefault(name, {}).setdefault(words[0], exhibit.place(index))
    failing = {t.address for t in troubles(picture)}
    return [place for seen in maps.values() if len(seen) > 1 and failing & set(seen) for place in seen.values()]


def _elsewhere(picture: Picture) -> list[str]:
    """Configured addresses, when none of them is in the list of members."""
    known = {host for host in members(picture) if re.fullmatch(r"[\d.]+", host) and not host.startswith("127.")}
    hosts = [m[2] for e in configured(picture) if (m := _URL.match(e))]
    apart = all(re.fullmatch(r"[\d.]+", host) and host not in known for host in hosts)
    return hosts if known and apart and picture.commands("etcdctl", "member list") else []


def misfit(picture: Picture) -> list[object]:
    """What shows that the configured endpoint is wrong, strongest first."""
    return [*_schemeless(picture), *_strangers(picture), *_other_scheme_or_port(picture), *_two_answers(picture)]


def judge(picture: Picture) -> Finding:
    bare, strangers, other = _schemeless(picture), _strangers(picture), _other_scheme_or_port(picture)
    health = healthy_endpoints(picture)
    symptoms = picture.hits(NO_ACCESS, MISSING_SCHEME)
    settings = endpoint_settings(picture)
    asked = configured(picture)
    scheme = [h for h in picture.hits(PLAIN_SERVER, PLAIN_RECORD, TLS_SERVER) if ":2379" in h.line or "etcd" in h.line]
    tail = (*symptoms[:2], *health[:1])
    if bare:
        value = _value(bare[0])
        why = Words(
            f"ETCD_ENDPOINTS is {value}: the scheme (http:// or https://) is missing.",
            f"ETCD_ENDPOINTS 为 {value}，缺少协议前缀（http:// 或 https://）。",
        )
        return found(
            PROVEN if health else STRONG,
            why,
            ("ETCD_ENDPOINTS", value, "etcd_endpoints"),
            (*bare[:1], *tail),
            value=value,
        )
    template = [s for s in settings if "<ETCD_PORT>" in _value(s)]  # an address is left out for privacy, a port never
    if template:
        value = _value(template[0])
        why = Words(
            f"etcd_endpoints still is the manifest's placeholder {value}.",
            f"etcd_endpoints 仍是清单中的占位符 {value}。",
        )
        return found(STRONG, why, ("etcd_endpoints", "ETCD_ENDPOINTS", value), (*template[:1], *tail))
    if strangers:
        gone = strangers[0].address
        living = list(members(picture))
        why = Words(
            f"Calico dials {gone}:{strangers[0].port}, which is no member of etcd; the members are "
            f"{', '.join(living[:5])}.",
            f"Calico 连接 {gone}:{strangers[0].port}，但它不是 etcd 成员；成员为 {'、'.join(living[:5])}。",
        )
        objects = (gone, "etcd_endpoints", "ETCD_ENDPOINTS", *(t.address for t in strangers), *asked)
        evidence = (*settings[:1], *strangers[:2], members(picture)[living[0]], *tail)
        return found(
            PROVEN if settings else STRONG, why, objects, evidence, value=",".join(f"https://{m}:2379" for m in living)
        )
    if other or scheme:
        item = (*other, *scheme)[0]
        right = next((f"{s}://{h}:{p}" for s, h, p, _ in health), "")
        why = Words(
            f"etcd answers at {right or 'its endpoint'}, but Calico uses another scheme or port "
            f"({', '.join(asked) or 'see the line'}).",
            f"etcd 在 {right or '其地址'} 正常响应，但 Calico "
            f"使用了不同的协议或端口（{', '.join(asked) or '见该行'}）。",
        )
        objects = (
            "ETCD_ENDPOINTS",
            "etcd_endpoints",
            *asked,
            *((item.address, str(item.port)) if isinstance(item, Trouble) else ()),
        )
        return found(STRONG if other else LIKELY, why, objects, (item, *settings[:1], *tail), value=right)
    if split := _two_answers(picture):
        why = Words(
            "The name of the endpoint leads the pod to another address than the host: the pod's hosts file is an "
            "outdated copy.",
            "端点域名在 Pod 内解析到与主机不同的地址：Pod 的 hosts 文件是过期的副本。",
        )
        stale = [t.address for t in troubles(picture) if t.port in ETCD_PORTS]
        objects = ("/etc/hosts", *stale, *asked, "etcd_endpoints")
        return found(STRONG, why, objects, (*split, *settings[:1], *tail))
    beside = _asked_beside(picture)
    failing = [t for t in troubles(picture) if t.port in ETCD_PORTS and t.address not in beside]
    moved = picture.said("etcd-moved")
    if failing and (moved or picture.said("etcd-health-ok") or any(h.host != failing[0].address for h in health)):
        why = Words(
            f"etcd is healthy, yet Calico dials {failing[0].address}:{failing[0].port} in vain.",
            f"etcd 健康，但 Calico 访问的 {failing[0].address}:{failing[0].port} 无响应。",
        )
        objects = (failing[0].address, "etcd_endpoints", "ETCD_ENDPOINTS", *asked)
        return found(LIKELY, why, objects, (*moved[:1], *failing[:2], *tail))
    apart = _elsewhere(picture)
    # A single address may be a balancer before the members; a whole list is one of members that were.
    if symptoms and (len(apart) > 1 or (apart and moved)):
        living = list(members(picture))
        why = Words(
            f"Calico is told {', '.join(apart[:5])}, none of which is a member of etcd; the members are "
            f"{', '.join(living[:5])}.",
            f"Calico 配置的 {'、'.join(apart[:5])} 都不是 etcd 成员；成员为 {'、'.join(living[:5])}。",
        )
        objects = ("etcd_endpoints", "ETCD_ENDPOINTS", *asked)
        evidence = (*settings[:1], members(picture)[living[0]], *tail)
        return found(STRONG, why, objects, evidence, value=",".join(f"https://{m}:2379" for m in living))
    known = members(picture)
    if known and asked and all(m[2] in known for e in asked if (m := _URL.match(e))):
        return ruled_out(Words("the configured endpoints are living members", "配置的端点都是存活的成员"), settings[:1])
    if failing or symptoms:
        evidence = (*failing[:1], *symptoms[:2])
        why = Words(
            "Calico's endpoint does not answer, but the members are not shown",
            "Calico 的端点无响应，但没有成员列表可以对照",
        )
        return found(POSSIBLE, why, (*(t.address for t in failing[:2]), "ETCD_ENDPOINTS"), evidence)
    return cannot_tell(
        Words("the configured endpoints and the member list are not shown", "没有端点配置，也没有成员列表")
    )


def fix(picture: Picture, finding: Finding) -> tuple[Step, ...]:
    namespace = picture.namespace
    value = finding.value("value")
    right = value if "://" in value else f"http(s)://{value or '<member>:2379'}"
    return (
        Step(Words("See where the members are", "查看成员所在地址"), "etcdctl member list -w table"),
        Step(
            Words("Give Calico the members with their scheme", "把带协议前缀的成员地址写入 Calico 配置"),
            f"kubectl -n {namespace} patch cm calico-config --type merge -p "
            f'\'{{"data":{{"etcd_endpoints":"{right}"}}}}\'',
        ),
        Step(
            Words(
                "Outside Kubernetes correct ETCD_ENDPOINTS in the unit, and etcd_endpoints in the CNI file",
                "非 Kubernetes 部署：修改 unit 中的 ETCD_ENDPOINTS 及 CNI 文件中的 etcd_endpoints",
            ),
            "grep -rn -i etcd_endpoints /etc/cni/net.d /etc/systemd/system /etc/calico",
        ),
        Step(
            Words(
                "Recreate the agents, one node after the other; a restart alone keeps the old hosts file",
                "逐个重建 calico-node；仅重启容器会保留旧的 hosts 文件",
            ),
            f"kubectl -n {namespace} rollout restart ds/calico-node",
            "disruptive",
        ),
    )


CAUSE = Cause(
    id="datastore-endpoint-wrong",
    code="TRT2002",
    severity="high",
    name=Words("datastore endpoint wrong", "数据存储地址配置错"),
    what=Words(
        "The address list or scheme handed to Calico is not where the datastore is; asked directly, the datastore is "
        "healthy.",
        "交给 Calico 的地址列表或协议与数据存储的实际位置不符；直接访问数据存储时它是健康的。",
    ),
    explains=("datastore-error", "start-terminated", "crash-loop", "api-unreachable", "controllers-failing"),
    look_alikes=(
        ("datastore-unreachable", Words("the endpoint is a member and does not answer", "端点是成员但无响应")),
        ("api-host-unresolvable", Words("the name does not resolve at all", "域名根本无法解析")),
    ),
    signs=(
        *VIP_SIGNS,
        NO_ACCESS,
        HEALTHY,
        PLAIN_SERVER,
        PLAIN_RECORD,
        TLS_SERVER,
        MISSING_SCHEME,
        ENDPOINTS,
    ),
    judge=judge,
    ask=Ask(
        "kubectl -n kube-system get cm calico-config -o jsonpath='{.data.etcd_endpoints}'; etcdctl member list",
        Words("endpoints that are no members are the fault", "不属于成员的端点就是故障所在"),
    ),
    fix=fix,
    verify=(Step(Words("calicoctl lists the nodes at once", "calicoctl 立即列出节点"), "calicoctl get nodes"),),
    prevent=(Words("Give members stable names or addresses.", "为成员使用稳定的域名或地址。"),),
)
