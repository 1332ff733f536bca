"""TRT4002: kubelet and the container runtime use different cgroup drivers; containers are torn down in cycles."""

from __future__ import annotations

from typing import Final

from tortie.doctor.causes.agent.start_evidence import START_SIGNS, culprits, kills
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
from tortie.doctor.picture.facts import Container, Pod
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Hit, Sign
from tortie.doctor.words import Words

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
DRIVERS: Final = ("systemd", "cgroupfs")
CONFIG: Final = "/etc/containerd/config.toml"
OTHERS: Final = ("kube-proxy", "etcd", "kube-apiserver", "kube-scheduler", "kube-controller-manager")


def judge(picture: Picture) -> Finding:
    if said := picture.hits(DIFFERENT):
        kubelet, runtime = said[0].value("kubelet"), said[0].value("runtime")
        return found(STRONG, _why(kubelet, runtime), _objects(picture, said, "docker"), said[:2], runtime="docker")
    (runtime, runtime_hit), (kubelet, kubelet_hit) = _drivers(picture)
    name = "docker" if runtime_hit and runtime_hit.sign == DOCKER_DRIVER.key else "containerd"
    symptoms = _symptoms(picture)
    where = [hit for hit in (runtime_hit, kubelet_hit) if hit]
    if runtime and kubelet:
        if runtime == kubelet:
            why = Words(f"kubelet and runtime both use {kubelet}", f"kubelet 与运行时都使用 {kubelet}")
            return ruled_out(why, where)
        strength = PROVEN if symptoms else STRONG
        return found(
            strength, _why(kubelet, runtime), _objects(picture, where, name), (*where, *symptoms[:3]), runtime=name
        )
    if killed := kills(picture):
        why = Words("the event says that liveness killed the container", "事件表明容器由存活探测杀掉")
        return ruled_out(why, killed[:1])
    killed_hard = [box for box in picture.containers() if 137 in (box.exit_code, box.last_exit_code)]
    if killed_hard and not runtime:
        return ruled_out(
            Words("the container ended with 137, not cleanly", "容器以 137 结束，并非正常停止"), killed_hard[:1]
        )
    if runtime == "cgroupfs" and symptoms:
        why = Words(
            "The runtime uses cgroupfs, kubeadm gives kubelet systemd, and containers are stopped cleanly in cycles; "
            "kubelet's "
            "driver is not shown.",
            "运行时使用 cgroupfs，而 kubeadm 默认给 kubelet 配 systemd，且容器周期性正常停止；kubelet 的驱动未给出。",
        )
        return found(LIKELY, why, _objects(picture, where, name), (*where, *symptoms[:3]), runtime=name)
    return _by_symptoms(picture, symptoms)


def _by_symptoms(picture: Picture, symptoms: list[Hit | Container]) -> Finding:
    others = [pod for pod in picture.of(Pod) if pod.name.startswith(OTHERS) and (pod.restarts or 0) >= 3]
    sandbox = picture.hits(SANDBOX)
    clean = [item for item in symptoms if isinstance(item, Container)]
    if not symptoms:
        return cannot_tell(Words("the drivers of kubelet and runtime are not shown", "没有 kubelet 与运行时的驱动"))
    why = Words(
        "Containers end cleanly (exit code 0) and are created again"
        + (", kube-proxy or etcd in step." if others else "."),
        "容器正常结束（退出码 0）后被重建" + ("，kube-proxy 或 etcd 同步重启。" if others else "。"),
    )
    in_step = {pod.name.rsplit("-", 1)[0] for pod in others}
    strength = LIKELY if sandbox and clean and in_step else POSSIBLE if clean or in_step else HINT
    return found(
        strength, why, _objects(picture, sandbox, "containerd"), (*symptoms[:3], *others[:2]), runtime="containerd"
    )


def _symptoms(picture: Picture) -> list[Hit | Container]:
    """Clean ends and new sandboxes."""
    clean = [
        box
        for box in picture.containers(init=False)
        if box.last_reason == "Completed" and box.last_exit_code == 0 and (box.restarts is None or box.restarts > 2)
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
    for hit in picture.hits(RUNTIME_SYSTEMD, RUNTIME_JSON):
        value = hit.value("value").lower()
        if value in ("true", "false") and not hit.line.strip().startswith("#"):
            found[hit.host] = ("systemd" if value == "true" else "cgroupfs"), hit
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


def _why(kubelet: str, runtime: str) -> Words:
    return Words(
        f"kubelet uses the cgroup driver {kubelet} and the runtime {runtime}; containers are torn down and created "
        f"again.",
        f"kubelet 的 cgroup 驱动为 {kubelet}，运行时为 {runtime}；容器被反复拆除重建。",
    )


def _objects(picture: Picture, hits: list[Hit], runtime: str) -> list[str]:
    setting = ["native.cgroupdriver", "/etc/docker/daemon.json"] if runtime == "docker" else ["SystemdCgroup", CONFIG]
    return [*setting, "cgroupDriver", *culprits(picture, *hits), runtime, "/var/lib/kubelet/config.yaml"]


def fix(picture: Picture, finding: Finding) -> tuple[Step, ...]:
    if finding.value("runtime") == "docker":
        change = Step(
            Words("Let docker use systemd: merge this into its file", "让 docker 使用 systemd：合并到其配置文件"),
            """vi /etc/docker/daemon.json  # "exec-opts": ["native.cgroupdriver=systemd"]""",
        )
    else:
        change = Step(
            Words("Let containerd use systemd", "让 containerd 使用 systemd"),
            f"sed -i 's/SystemdCgroup = false/SystemdCgroup = true/' {CONFIG}",
        )
    runtime = finding.value("runtime", "containerd")
    return (
        change,
        Step(
            Words("kubelet must name the same driver", "kubelet 必须使用同一驱动"),
            "grep cgroupDriver /var/lib/kubelet/config.yaml",
        ),
        Step(
            Words("Restart both, on one node after the other", "逐个节点重启两者"),
            f"systemctl restart {runtime} kubelet",
            "disruptive",
        ),
        Step(
            Words("Let the pods of that node be created again", "重建该节点上的 pod"),
            f"kubectl -n {picture.namespace} delete pod --field-selector spec.nodeName=<node>",
            "disruptive",
        ),
    )


CAUSE = Cause(
    id="cgroup-driver-mismatch",
    code="TRT4002",
    severity="high",
    name=Words("cgroup drivers differ", "cgroup 驱动不一致"),
    what=Words(
        "kubelet uses systemd cgroups and the runtime cgroupfs, or the reverse; containers are torn down cleanly in "
        "cycles.",
        "kubelet 使用 systemd 而运行时使用 cgroupfs（或相反），容器被周期性地正常拆除。",
    ),
    explains=("restarts", "crash-loop", "not-ready", "node-not-ready", "bird-not-ready"),
    look_alikes=(
        ("probe-timeout", Words("an event says `failed liveness probe`", "事件中有 `failed liveness probe`")),
        ("oom-killed", Words("OOMKilled, exit code 137", "OOMKilled，退出码 137")),
        ("runtime-unresponsive", Words("containers hang instead of ending", "容器卡住而不是结束")),
    ),
    signs=(
        RUNTIME_SYSTEMD,
        RUNTIME_JSON,
        DOCKER_DRIVER,
        KUBELET_DRIVER,
        KUBELET_FLAG,
        KUBELET_LOG,
        DIFFERENT,
        SANDBOX,
        STOPPING,
        *START_SIGNS,
    ),
    judge=judge,
    ask=Ask(
        f"grep SystemdCgroup {CONFIG}; grep cgroupDriver /var/lib/kubelet/config.yaml; stat -fc %T /sys/fs/cgroup",
        Words("false against systemd is this cause", "false 而 kubelet 为 systemd，就是此原因"),
    ),
    fix=fix,
    verify=(
        Step(
            Words("Both say systemd, restarts stop", "两者均为 systemd，且不再重启"),
            f"grep SystemdCgroup {CONFIG}; grep cgroupDriver /var/lib/kubelet/config.yaml",
        ),
    ),
    prevent=(Words("Generate config.toml in provisioning.", "装机时统一生成 config.toml。"),),
)
