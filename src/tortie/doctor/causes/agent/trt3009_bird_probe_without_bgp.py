"""TRT3009: the backend runs no BGP daemon, and the probes still ask BIRD."""

from __future__ import annotations

from typing import Final

from tortie.doctor.causes.agent.start_evidence import START_SIGNS, culprits, kills, settled, sick_names
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
from tortie.doctor.picture.facts import Probe, Setting
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Hit, Sign
from tortie.doctor.words import Words

NO_DAEMON: Final = Sign("bird-probe-no-daemon", "CALICO_NETWORKING_BACKEND is <backend> - no need to run a BGP daemon")
NO_SOCKET: Final = Sign(
    "bird-probe-no-socket", "dial unix /var/run/<folder>/<socket>: connect: no such file or directory"
)
NOT_LIVE: Final = Sign("bird-probe-not-live", "bird/confd is not live")
FLAG: Final = Sign("bird-probe-flag", "-bird-live")
READY_FLAG: Final = Sign("bird-probe-ready-flag", "-bird-ready")
WITHOUT_BGP: Final = ("vxlan", "none")


def judge(picture: Picture) -> Finding:
    said = [hit for hit in picture.hits(NO_DAEMON) if hit.value("backend").strip("'\"") in WITHOUT_BGP]
    setting = _backend(picture)
    backend = said[0].value("backend") if said else setting.value.strip("'\"") if setting else ""
    asking = _asking(picture)
    failing = [hit for hit in picture.hits(NO_SOCKET, NOT_LIVE) if "bird" in hit.text.lower()]
    if backend and backend not in WITHOUT_BGP:
        return ruled_out(Words(f"the backend is {backend}", f"后端为 {backend}"), (setting,))
    if pods := settled(picture):
        return ruled_out(Words("all agents are ready", "所有 calico-node 均已就绪"), pods[:2])
    probes = [probe for kind in ("liveness", "readiness") if (probe := picture.probe(kind))]
    if backend and probes and not asking and not failing:
        why = Words("the probes do not ask BIRD, as it must be without BGP", "探测没有检查 BIRD，无 BGP 时本应如此")
        return ruled_out(why, probes)
    flags = [flag for flag in ("-bird-live", "-bird-ready") if any(flag in _flags(item) for item in asking)]
    objects = [
        *(flags or ["-bird-live", "-bird-ready"]), "livenessProbe", "readinessProbe", "calico_backend", backend,
        "CALICO_NETWORKING_BACKEND", *culprits(picture, *failing[:2], *said[:1]), *sick_names(picture), "calico-node",
    ]  # fmt: skip
    evidence = (setting, *said[:1], *asking[:2], *failing[:2], *kills(picture)[:1])
    if backend and (asking or failing):
        asked = " ".join(flags) or "BIRD"
        why = Words(
            f"The backend is {backend}, so no BIRD runs, and the probes still ask for it ({asked}).",
            f"后端为 {backend}，不会运行 BIRD，而探测仍在检查它（{asked}）。",
        )
        return found(PROVEN if failing else STRONG, why, objects, evidence, backend=backend)
    vxlan = [pool for pool in picture.settings("CALICO_IPV4POOL_VXLAN") if pool.value in ("Always", "CrossSubnet")]
    if failing and vxlan and any(s.value == "Never" for s in picture.settings("CALICO_IPV4POOL_IPIP")):
        why = Words(
            "BIRD is asked on a VXLAN-only installation; whether the backend runs it is not shown.",
            "仅使用 VXLAN 的部署仍在检查 BIRD；后端是否运行 BIRD 未给出。",
        )
        return found(POSSIBLE, why, objects, (*vxlan[:1], *evidence))
    return cannot_tell(Words("calico_backend and the probes are not shown", "没有 calico_backend 与探测配置"))


def _backend(picture: Picture) -> Setting | None:
    """The last backend that is a value; describe shows only a reference to the ConfigMap."""
    named = [*picture.settings("calico_backend"), *picture.settings("CALICO_NETWORKING_BACKEND")]
    return next((setting for setting in reversed(named) if setting.value.strip("'\"") in ("bird", *WITHOUT_BGP)), None)


def _asking(picture: Picture) -> list[Probe | Hit]:
    """Probes whose command asks BIRD: as definitions, or their flags in a part of a manifest."""
    probes = [probe for probe in picture.of(Probe) if "-bird-" in probe.action]
    flags = [hit for hit in picture.hits(FLAG, READY_FLAG) if not hit.prose and "time " not in hit.command]
    return [*probes, *flags]


def _flags(item: Probe | Hit) -> str:
    return item.action if isinstance(item, Probe) else item.text


def fix(picture: Picture, finding: Finding) -> tuple[Step, ...]:
    patch = (
        '{"spec":{"template":{"spec":{"containers":[{"name":"calico-node","livenessProbe":{"exec":{"command":'
        '["/bin/calico-node","-felix-live"]}},"readinessProbe":{"exec":{"command":["/bin/calico-node","-felix-ready"]}}}]}}}}'
    )
    return (
        Step(
            Words(
                "Let the probes ask only Felix; agents restart one after another",
                "探测只检查 Felix；calico-node 会逐个重启",
            ),
            f"kubectl -n {picture.namespace} patch ds calico-node -p '{patch}'",
            "disruptive",
        ),
        Step(
            Words(
                "If BGP was meant, set the backend to bird instead and restart the agents",
                "若本意是使用 BGP，则把后端改回 bird 并重启 calico-node",
            ),
            f"kubectl -n {picture.namespace} get cm calico-config -o jsonpath='{{.data.calico_backend}}'",
        ),
    )


CAUSE = Cause(
    id="bird-probe-without-bgp",
    code="TRT3009",
    severity="medium",
    name=Words("BIRD is probed without BGP", "无 BGP 却探测 BIRD"),
    what=Words(
        "The backend is vxlan or none, but the probes still contain -bird-ready or -bird-live, so a working Felix is "
        "killed.",
        "后端为 vxlan 或 none，但探测仍带有 -bird-ready 或 -bird-live，正常工作的 Felix 因此被杀。",
    ),
    explains=("killed-by-liveness", "not-ready", "bird-not-ready", "crash-loop", "restarts"),
    look_alikes=(
        (
            "bird-config-invalid",
            Words("the backend is bird and BIRD refuses its configuration", "后端为 bird，但 BIRD 拒绝其配置"),
        ),
        (
            "service-env-missing",
            Words(
                "the backend is bird and KUBERNETES_SERVICE_* are missing", "后端为 bird，但缺少 KUBERNETES_SERVICE_*"
            ),
        ),
    ),
    signs=(NO_DAEMON, NO_SOCKET, NOT_LIVE, FLAG, READY_FLAG, *START_SIGNS),
    judge=judge,
    ask=Ask(
        "kubectl -n kube-system get cm calico-config -o jsonpath='{.data.calico_backend}'; "
        "kubectl -n kube-system describe ds calico-node | grep -e Liveness -e Readiness",
        Words("vxlan or none with -bird-* flags is this cause", "vxlan 或 none 且带 -bird-* 参数，就是此原因"),
    ),
    fix=fix,
    verify=(
        Step(
            Words("No -bird- in the probes, all pods 1/1", "探测中没有 -bird-，所有 pod 为 1/1"),
            "kubectl -n kube-system describe ds calico-node | grep -e Liveness -e Readiness",
        ),
    ),
    prevent=(Words("Take the manifest that is made for the backend.", "使用与后端对应的官方清单。"),),
)
