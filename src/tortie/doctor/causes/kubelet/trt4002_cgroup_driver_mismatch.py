"""TRT4002: kubelet and the container runtime use different cgroup drivers; containers are torn down in cycles."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tortie.doctor.causes.agent.start_evidence import START_SIGNS, hosts_of, kills, settled
from tortie.doctor.causes.cause import (
    HINT,
    LIKELY,
    POSSIBLE,
    PROVEN,
    STRONG,
    Cause,
    Do,
    Finding,
    do,
    found,
    ruled_out,
)  # fmt: skip
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.kubelet.containerd_config import of_default_handler, unconfigured
from tortie.doctor.causes.kubelet.node_evidence import not_ready
from tortie.doctor.picture.facts import Container, Pod
from tortie.doctor.picture.picture import Picture
from tortie.doctor.picture.places import exhibit_at
from tortie.doctor.reading.exhibit import Place
from tortie.doctor.signs import Hit, Sign

RUNTIME_SYSTEMD: Final = Sign("cgroup-systemd-cgroup", "SystemdCgroup( )?=( )?<value>")
DOCKER_DRIVER: Final = Sign("cgroup-docker-driver", "Cgroup Driver: <driver>")
KUBELET_DRIVER: Final = Sign("cgroup-kubelet-driver", "cgroupDriver: <driver>")
KUBELET_FLAG: Final = Sign("cgroup-kubelet-flag", "--cgroup-driver=<driver>")
KUBELET_LOG: Final = Sign("cgroup-kubelet-log", "CgroupDriver(:|=)<driver>")  # its nodeConfig, its configz
RUNTIME_JSON: Final = Sign("cgroup-systemd-json", '"SystemdCgroup": <value>')  # crictl info
DIFFERENT: Final = Sign(
    "cgroup-different", 'kubelet cgroup driver: "<kubelet>" is different from docker cgroup driver: "<runtime>"'
)
SANDBOX: Final = Sign("cgroup-sandbox-changed", "Pod sandbox changed, it will be killed and re-created")
STOPPING: Final = Sign("cgroup-stopping", "Stopping container calico-node")
CYCLE_S: Final = 7200.0  # who runs for longer is not torn down in cycles; machines that are rebooted look like that
DRIVERS: Final = ("systemd", "cgroupfs")
CONFIG: Final = "/etc/containerd/config.toml"
DOCKER: Final = "/etc/docker/daemon.json"
OTHERS: Final = ("kube-proxy", "etcd", "kube-apiserver", "kube-scheduler", "kube-controller-manager")


class Seen:
    """The drivers of runtime and kubelet, and containers that end cleanly again and again."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.different = picture.hits(DIFFERENT)
        (self.runtime, self.runtime_hit), (self.kubelet, self.kubelet_hit) = _drivers(picture)
        self.symptoms = _symptoms(picture)
        self.where = [hit for hit in (self.runtime_hit, self.kubelet_hit) if hit]

    @property
    def program(self) -> str:
        docker = self.runtime_hit is not None and self.runtime_hit.sign == DOCKER_DRIVER.key
        return "docker" if docker or self.different else "containerd"

    @property
    def pods_in_step(self) -> list[Pod]:
        often = [pod for pod in self.picture.of(Pod) if pod.name.startswith(OTHERS) and (pod.restarts or 0) >= 3]
        return [pod for pod in often if pod.age_s is None or pod.age_s < CYCLE_S * (pod.restarts or 0)]

    def culprits(self, *hits: Hit) -> tuple[Culprit, ...]:
        docker = self.program == "docker"
        setting, file = ("native.cgroupdriver", DOCKER) if docker else ("SystemdCgroup", CONFIG)
        return culprits(
            Culprit("setting", setting),
            Culprit("file", file),
            Culprit("setting", "cgroupDriver"),
            named("node", *hosts_of(self.picture, *hits)),
            Culprit("program", self.program),
            Culprit("file", "/var/lib/kubelet/config.yaml"),
        )


def well_now(seen: Seen) -> Finding | None:
    """kubelet ended with it once, and by now every agent runs and was never started again."""
    pods = settled(seen.picture) if seen.different and not not_ready(seen.picture) else []
    return ruled_out(pods[:1]) if pods else None


def different(seen: Seen) -> Finding | None:
    """kubelet says it itself, and what is configured now does not speak against it."""
    if not seen.different or (seen.runtime and seen.runtime == seen.kubelet and _of_one_host(seen)):
        return None
    first = seen.different[0]
    kubelet, runtime = first.value("kubelet"), first.value("runtime")
    who = seen.culprits(*seen.different)
    return found(STRONG, who, seen.different[:2], kubelet=kubelet, runtime=runtime, program=seen.program)


def _of_one_host(seen: Seen) -> bool:
    """Message and settings come from one machine, as far as is told."""
    return len({hit.host for hit in (*seen.different, *seen.where) if hit.host}) < 2


def same(seen: Seen) -> Finding | None:
    if seen.runtime and seen.runtime == seen.kubelet:
        return ruled_out(seen.where, kubelet=seen.kubelet)
    return None


def unlike(seen: Seen) -> Finding | None:
    if not (seen.runtime and seen.kubelet):
        return None
    return found(
        PROVEN if seen.symptoms else STRONG, seen.culprits(*seen.where), (*seen.where, *seen.symptoms[:3]),
        say="different", kubelet=seen.kubelet, runtime=seen.runtime, program=seen.program,
    )  # fmt: skip


def killed_by_liveness(seen: Seen) -> Finding | None:
    killed = kills(seen.picture)
    return ruled_out(killed[:1]) if killed else None


def killed_hard(seen: Seen) -> Finding | None:
    hard = [box for box in seen.picture.containers() if 137 in (box.exit_code, box.last_exit_code)]
    return ruled_out(hard[:1]) if hard and not seen.runtime else None


def cgroupfs_in_cycles(seen: Seen) -> Finding | None:
    if seen.runtime == "cgroupfs" and seen.symptoms:
        evidence = (*seen.where, *seen.symptoms[:3])
        return found(LIKELY, seen.culprits(*seen.where), evidence, program=seen.program)
    return None


def nothing_configured(seen: Seen) -> Finding | None:
    """containerd that nobody told a driver uses cgroupfs, and kubeadm tells kubelet systemd."""
    if seen.runtime or seen.kubelet == "cgroupfs" or not (seen.symptoms or seen.pods_in_step):
        return None
    place = unconfigured(seen.picture)
    if place is None:
        return None
    cycles = bool(seen.symptoms) and bool(seen.pods_in_step)
    strength = STRONG if cycles and seen.kubelet else LIKELY if cycles or seen.kubelet else POSSIBLE
    evidence = (place, *seen.where, *seen.symptoms[:2], *seen.pods_in_step[:1])
    return found(strength, seen.culprits(*seen.where), evidence, program="containerd")


def clean_ends(seen: Seen) -> Finding | None:
    if not seen.symptoms:
        return None
    sandbox = seen.picture.hits(SANDBOX)
    clean = [item for item in seen.symptoms if isinstance(item, Container)]
    in_step = seen.pods_in_step
    strength = LIKELY if sandbox and clean and in_step else POSSIBLE if clean or in_step else HINT
    return found(
        strength, seen.culprits(*sandbox), (*seen.symptoms[:3], *in_step[:2]),
        say="clean-ends-in-step" if in_step else "clean-ends", program=seen.program,
    )  # fmt: skip


def _symptoms(picture: Picture) -> list[Hit | Container]:
    """Clean ends and new sandboxes."""
    clean = [
        box
        for box in picture.containers(init=False)
        if box.last_reason == "Completed" and box.last_exit_code == 0 and (box.restarts is None or box.restarts > 2)
        if box.last_started is None or box.last_finished is None or box.last_finished - box.last_started < CYCLE_S
    ]
    return [*clean, *picture.hits(SANDBOX, STOPPING)]


Driver = tuple[str, Hit | None]


def _drivers(picture: Picture) -> tuple[Driver, Driver]:
    """What runtime and kubelet use, of a host where they differ if there is one: other hosts may be shown as well."""
    runtimes, kubelets = _runtimes(picture), _kubelets(picture)
    everywhere = {driver for driver, _ in kubelets.values()}
    pairs: list[tuple[Driver, Driver]] = []
    for host, runtime in runtimes.items():
        # A configuration without a host, or the same everywhere, is that of every host.
        shared = next(iter(kubelets.values())) if len(everywhere) == 1 else None
        pairs.append((runtime, kubelets.get(host) or shared or ("", None)))
    differing = [pair for pair in pairs if pair[1][0] and pair[0][0] != pair[1][0]]
    unlike = [pair for pair in pairs if pair[0][0] == "cgroupfs" and not pair[1][0]]
    if pairs:
        return (differing or unlike or pairs)[-1]
    return ("", None), next(reversed(list(kubelets.values())), ("", None))


def _runtimes(picture: Picture) -> dict[str, Driver]:
    found: dict[str, Driver] = {}
    shown: dict[str, tuple[Place | None, dict[str, Hit]]] = {}
    for hit in picture.hits(RUNTIME_SYSTEMD, RUNTIME_JSON):
        value = hit.value("value").lower()
        if value not in ("true", "false") or hit.line.strip().startswith("#"):
            continue
        exhibit = exhibit_at(picture, hit.place)
        if exhibit and of_default_handler(exhibit) not in ("", value):
            continue  # of a handler that is used by whoever asks for it
        where = exhibit.place(0) if exhibit else None
        values = shown[hit.host][1] if hit.host in shown and shown[hit.host][0] == where else {}
        shown[hit.host] = where, {**values, value: hit}
    for host, (_, values) in shown.items():  # as shown last; of several handlers with different drivers nobody can tell
        if len(values) == 1:
            value, hit = next(iter(values.items()))
            found[host] = ("systemd" if value == "true" else "cgroupfs"), hit
    for hit in picture.hits(DOCKER_DRIVER):
        if driver := _driver(hit):
            found.setdefault(hit.host, (driver, hit))
    return found


def _kubelets(picture: Picture) -> dict[str, Driver]:
    found: dict[str, Driver] = {}
    for hit in picture.hits(KUBELET_FLAG, KUBELET_LOG, KUBELET_DRIVER):
        if driver := _driver(hit):
            found[hit.host] = driver, hit
    return found


def _driver(hit: Hit) -> str:
    """The driver that a hit names; brackets or the marks of Chinese may stand right behind it."""
    return next((driver for driver in DRIVERS if hit.value("driver").lower().startswith(driver)), "")


def fix(picture: Picture, finding: Finding) -> Iterator[Do]:
    program = finding.value("program", "containerd")
    yield do("docker" if program == "docker" else "containerd")
    yield do("kubelet")
    yield do("restart", program=program)
    node = next((one.name for one in finding.culprits if one.kind == "node"), "")
    yield do("pods", node=node)


CAUSE = Cause(
    module=__name__,
    id="cgroup-driver-mismatch",
    code="TRT4002",
    severity="high",
    explains=("restarts", "crash-loop", "not-ready", "node-not-ready", "bird-not-ready"),
    signs=(
        RUNTIME_SYSTEMD, RUNTIME_JSON, DOCKER_DRIVER, KUBELET_DRIVER, KUBELET_FLAG, KUBELET_LOG, DIFFERENT, SANDBOX,
        STOPPING, *START_SIGNS,
    ),
    look=Seen,
    rules=(well_now, different, same, unlike, killed_by_liveness, killed_hard, cgroupfs_in_cycles,
        nothing_configured, clean_ends),
    fix=fix,
)  # fmt: skip
