"""TRT7003: Felix writes one iptables backend, the host and kube-proxy use the other."""

from __future__ import annotations

from typing import NamedTuple

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
from tortie.doctor.causes.underlay.traffic_evidence import counted, trouble
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Sign
from tortie.doctor.words import Words

FELIX_MODE = Sign("backend-felix-mode", 'backendMode="<backend>"')
FELIX_DETECTED = Sign("backend-felix-detected", 'Detected iptables backend… detected="<backend>"')
IPTABLES_VERSION = Sign("backend-iptables-version", "iptables v<version> \\(<backend>\\)")
LEGACY_PRESENT = Sign("backend-legacy-present", "Warning: iptables-legacy tables present")
INCOMPATIBLE = Sign("backend-nft-incompatible", "is incompatible, use 'nft' tool")
ENV, FIELD = "FELIX_IPTABLESBACKEND", "iptablesBackend"


class Side(NamedTuple):
    backend: str  # legacy or nft; empty when nothing says
    evidence: tuple[object, ...]
    host: str = ""


def judge(picture: Picture) -> Finding:
    felix, host = _felix(picture), _host(picture)
    cali, kube = _rules(picture, "cali", host.backend), _rules(picture, "KUBE", host.backend)
    warning, trouble_seen = picture.hits(LEGACY_PRESENT, INCOMPATIBLE), trouble(picture)
    objects = (
        ENV,
        FIELD,
        felix.backend,
        host.backend,
        "nf_tables" if host.backend == "nft" else "",
        host.host,
        "iptables",
    )
    evidence = (
        *felix.evidence[:2],
        *host.evidence[:1],
        *cali.evidence[:2],
        *kube.evidence[:1],
        *warning[:1],
        *trouble_seen[:1],
    )
    if cali.backend and kube.backend:
        if cali.backend == kube.backend:
            return ruled_out(
                Words(f"rules of both are in {cali.backend}", f"两者的规则都在 {cali.backend} 中"), evidence
            )
        why = Words(
            f"Calico's rules are in {cali.backend}, kube-proxy's in {kube.backend}: the two do not work together.",
            f"Calico 的规则写在 {cali.backend}，kube-proxy 的规则写在 {kube.backend}，两者互不生效。",
        )
        return found(PROVEN, why, objects, evidence, backend=kube.backend)
    if felix.backend and host.backend:
        if felix.backend == host.backend:
            return ruled_out(
                Words(f"Felix and the host both use {host.backend}", f"Felix 与主机都使用 {host.backend}"), evidence
            )
        why = Words(
            f"Felix writes {felix.backend} tables while the host uses {host.backend}.",
            f"Felix 写入 {felix.backend} 表，而主机使用 {host.backend}。",
        )
        strength = (
            (PROVEN if warning or kube.backend else STRONG) if trouble_seen or warning or kube.backend else LIKELY
        )
        return found(strength, why, objects, evidence, backend=host.backend)
    if warning and (felix.backend or host.backend or trouble_seen):
        why = Words("tables of both backends exist on the host", "主机上同时存在两种后端的表")
        return found(POSSIBLE, why, objects, evidence, backend=host.backend or "nft")
    return cannot_tell(
        Words("the backends of Felix and of the host are not both shown", "没有同时给出 Felix 与主机的 iptables 后端")
    )


def _felix(picture: Picture) -> Side:
    """What Felix uses: its log first, then what it was told."""
    for hit in picture.hits(FELIX_MODE, FELIX_DETECTED):
        if backend := _name(hit.value("backend")):
            return Side(backend, (_told(picture), hit))
    told = _told(picture)
    if told is not None and (backend := _name(getattr(told, "value", ""))):
        return Side(backend, (told,))
    for hit in picture.hits(IPTABLES_VERSION):
        if "exec" in hit.command and (backend := _name(hit.value("backend"))):
            return Side(backend, (hit,))
    return Side("", ())


def _told(picture: Picture) -> object | None:
    return picture.setting(ENV) or picture.setting(FIELD)


def _host(picture: Picture) -> Side:
    for hit in picture.hits(IPTABLES_VERSION):
        if "exec" not in hit.command and not hit.prose and (backend := _name(hit.value("backend"))):
            return Side(backend, (hit,), hit.host)
    return Side("", ())


def _rules(picture: Picture, word: str, host: str) -> Side:
    """The backend in which such rules were counted and the other one has none."""
    counts: dict[str, tuple[int, object]] = {}
    for command, number, exhibit in counted(picture, word):
        if "exec" in exhibit.command:
            continue
        backend = (
            "legacy" if "legacy" in command else "nft" if "nft" in command else host if "iptables" in command else ""
        )
        if backend:
            counts[backend] = (number, exhibit.place(0))
    places = tuple(place for _, place in counts.values())
    full = [backend for backend, (number, _) in counts.items() if number > 0]
    if len(full) == 1:
        return Side(full[0], places)
    if not full and len(counts) == 1 and picture.hit(LEGACY_PRESENT):
        return Side("legacy" if "nft" in counts else "nft", places)
    return Side("", places)


def _name(text: str) -> str:
    low = text.lower()
    return "nft" if low in ("nft", "nf_tables", "nftables") else "legacy" if low == "legacy" else ""


def fix(picture: Picture, finding: Finding) -> tuple[Step, ...]:
    value = {"legacy": "Legacy", "nft": "NFT"}.get(finding.value("backend"), "Auto")
    steps = []
    if picture.setting(ENV):
        steps.append(
            Step(
                Words(
                    "Remove the fixed value from the DaemonSet; it wins over the resource",
                    "去掉 DaemonSet 中写死的值，它的优先级更高",
                ),
                f"kubectl -n {picture.namespace} set env ds/calico-node {ENV}-",
                "disruptive",
            )
        )
    return (
        *steps,
        Step(
            Words("Make Felix use the host's backend", "让 Felix 使用与主机相同的后端"),
            f'kubectl patch felixconfiguration default --type merge -p \'{{"spec":{{"{FIELD}":"{value}"}}}}\'',
            "disruptive",
        ),
        Step(
            Words(
                "Reboot the nodes one by one to flush the other backend's rules", "逐台重启节点，清空另一后端残留的规则"
            ),
            "kubectl drain <node> --ignore-daemonsets && reboot",
            "disruptive",
        ),
    )


CAUSE = Cause(
    id="iptables-backend-mismatch",
    code="TRT7003",
    severity="high",
    name=Words("iptables backends differ", "iptables 后端不一致"),
    what=Words(
        "Felix writes its rules into one backend (legacy or nft) while host, kube-proxy or firewall use the other.",
        "Felix 把规则写入一种后端（legacy 或 nft），而主机、kube-proxy 或防火墙使用另一种。",
    ),
    explains=("traffic-dead", "service-dead", "not-ready", "log-errors"),
    look_alikes=(
        ("kernel-module-missing", Words("there commands fail", "命令本身会失败")),
        ("firewalld-interference", Words("a third table rejects", "由第三张表拒绝")),
        ("kube-proxy-down", Words("there are no service rules at all", "完全没有服务规则")),
    ),
    signs=(FELIX_MODE, FELIX_DETECTED, IPTABLES_VERSION, LEGACY_PRESENT, INCOMPATIBLE),
    judge=judge,
    ask=Ask(
        "iptables -V; iptables-legacy-save | grep -c cali-; iptables-nft-save | grep -c cali-; "
        "iptables-nft-save | grep -c KUBE-; kubectl -n <ns> logs <pod> | grep -i backend",
        Words("cali- and KUBE- rules must be in the same backend", "cali- 与 KUBE- 规则必须在同一后端"),
    ),
    fix=fix,
    verify=(
        Step(
            Words("The other backend holds no cali- rule", "另一后端中没有 cali- 规则"),
            "iptables-legacy-save | grep -c cali-",
        ),
    ),
    prevent=(Words("One backend in every node image.", "所有节点镜像统一使用一种后端。"),),
)
