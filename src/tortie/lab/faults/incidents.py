"""Incidents that begin with the machine, the runtime or the datastore: 1, 3, 4, 5, 7 and 8 of the eight."""

from __future__ import annotations

from typing import Final

from tortie.lab.faults.deeds import (
    CoverFile,
    Deed,
    LimitCpu,
    PatchResource,
    PutResource,
    RemoveResource,
    RestartNode,
    RestartUnit,
    RunHelper,
    SendSignal,
    SetVariable,
    WriteFile,
)
from tortie.lab.faults.fault import Fault, Scene
from tortie.lab.surroundings import CLIENT_PORT
from tortie.lab.words import Pair

HOGS: Final = 20

NODES_IN_ALL: Final = 53
_FAR_PORT: Final = 12379
_ONE_WAY_MS: Final = 250  # real links are half as slow; so is a real etcd with TLS and a loaded disk
_FASTEST: Final = 10  # a probe does not ask more often than once a second, however much it hurries

_PAUSE_MS, _RUN_MS = 8000, 2000  # etcd itself gives a request up after 6 s; members miss their leader after 0.5 s

_SWAPS: Final = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n/dev/sda3 partition 27992060 0 -2\n"

_HOST_LOCAL: Final = "/var/lib/cni/networks/k8s-pod-network"
_FOREIGN: Final = "10.88.0"  # of the bridge that some runtimes bring along; in no pool of a lab


def _overloaded(scene: Scene) -> tuple[Deed, ...]:
    """For the agent and the hogs together so much of a core that a start takes several windows of liveness."""
    node, percent = scene.node.name, 1.2 * max(1, scene.hurry)
    hogs = RunHelper(node, "hog", ("hog", str(HOGS)), starved=True)
    return LimitCpu(node, percent), hogs, RestartNode(node)


def _far(scene: Scene) -> tuple[Deed, ...]:
    """The node is new: its record goes. Six reads for each of 53 take twice the time that liveness grants."""
    node, store = scene.node.name, scene.plan.stores[0]
    one_way_ms = _ONE_WAY_MS // max(1, min(scene.hurry, _FASTEST))
    target = f"[{store.address}]" if store.address.version == 6 else str(store.address)
    words = ("proxy", f"127.0.0.1:{_FAR_PORT}", f"{target}:{CLIENT_PORT}", str(one_way_ms))
    scheme = "https" if scene.plan.store.tls else "http"
    ghosts = range(len(scene.plan.nodes) + 1, NODES_IN_ALL + 1)
    return (
        *(PutResource(_ghost(number)) for number in ghosts),
        RunHelper(node, "far-datastore", words),
        SetVariable(node, "ETCD_ENDPOINTS", f"{scheme}://127.0.0.1:{_FAR_PORT}"),
        RemoveResource("Node", node),
        RestartNode(node),
    )


def _ghost(number: int) -> dict[str, object]:
    """Registered with an address, but not in the mesh: nobody is meant to miss it."""
    return {
        "apiVersion": "projectcalico.org/v3",
        "kind": "Node",
        "metadata": {"name": f"far-{number:02}"},
        "spec": {"addresses": [{"address": f"198.18.{number}.1/24", "type": "InternalIP"}]},
    }


def _stuck_runtime(scene: Scene) -> tuple[Deed, ...]:
    return (RunHelper(scene.node.name, "stuck-runtime", ("hold-init", "upgrade-ipam")),)


def _swap(scene: Scene) -> tuple[Deed, ...]:
    return CoverFile(scene.node.name, "/proc/swaps", _SWAPS), RestartUnit(scene.node.name, "kubelet")


def _unstable(scene: Scene) -> tuple[Deed, ...]:
    """One member is killed, so that there is no spare one; whichever of the others leads is paused."""
    names = [store.name for store in scene.plan.stores]
    killed = scene.random.choice(names)
    words = ("pause-again", "etcd", str(_PAUSE_MS), str(_RUN_MS), "leader")
    pauses = (RunHelper(name, "unstable-etcd", words) for name in names if name != killed)
    return SendSignal(killed, "etcd", "KILL"), *pauses


def _stuck_migration(scene: Scene) -> tuple[Deed, ...]:
    """Calico may lock the whole cluster before it gets stuck; what is patched here to what it is, heals that."""
    node = scene.node.name
    container = "".join(scene.random.choices("0123456789abcdef", k=64))
    return (
        PatchResource("ClusterInformation", "default", {"spec": {"datastoreReady": True}}),
        WriteFile(node, f"{_HOST_LOCAL}/{_FOREIGN}.5", f"{container}\r\neth0"),
        WriteFile(node, f"{_HOST_LOCAL}/{_FOREIGN}.5.bak", f"{container}\r\neth0"),
        WriteFile(node, f"{_HOST_LOCAL}/last_reserved_ip.0", f"{_FOREIGN}.5"),
        WriteFile(node, f"{_HOST_LOCAL}/lock", ""),
        RestartNode(node),
    )


FAULTS: Final = (
    Fault(
        "overloaded",
        "node-overloaded",
        "TRT3003",
        Pair("20 busy processes leave the agent next to no CPU", "20 个繁忙进程几乎不给 calico-node 留下 CPU"),
        Pair(
            "Calico opens 9099 only when its start is over, so liveness kills it again and again: CrashLoopBackOff, "
            "`9099 connection refused`. Tortie's page answers at once, and its start finishes late.",
            "Calico 启动结束后才打开 9099，因此存活探测反复杀掉它：CrashLoopBackOff、`9099 connection refused`。"
            "Tortie 的健康页立即响应，启动虽慢但能完成。",
        ),
        _overloaded,
        needs=("kubelet", "cpu-limit"),
        spared=True,
        incident=1,
        release="3.8",
    ),
    Fault(
        "far-datastore",
        "liveness-window-too-short",
        "TRT3001",
        Pair("a new node among 53, far away from etcd", "53 个节点中的新节点，远离 etcd"),
        Pair(
            "Calico 2.6 reads six keys of each host one after the other and is killed half-way, for ever, with no "
            "error. Tortie reads all nodes at once.",
            "Calico 2.6 逐个读取每台主机的六个键，中途被杀，反复如此且没有错误。Tortie 一次读完所有节点。",
        ),
        _far,
        needs=("kubelet", "etcd"),
        spared=True,
        incident=3,
        release="2.6",
    ),
    Fault(
        "stuck-runtime",
        "runtime-unresponsive",
        "TRT4001",
        Pair("the runtime stops while an init container runs", "init 容器运行时容器运行时卡死"),
        Pair(
            "Init:0/2 with upgrade-ipam Running and Restart Count 0 although it has ended long ago; crictl hangs, "
            "`PLEG is not healthy`. The same with Tortie's node: it has not even been started.",
            "Init:0/2，upgrade-ipam 早已结束却仍显示 Running、重启次数 0；crictl 卡住，`PLEG is not healthy`。"
            "Tortie 节点也一样：它根本还没有被启动。",
        ),
        _stuck_runtime,
        needs=("kubelet",),
        incident=4,
    ),
    Fault(
        "swap-on",
        "kubelet-swap-on",
        "TRT4003",
        Pair("swap is on after a reboot, so kubelet refuses to run", "重启后 swap 又打开，kubelet 拒绝运行"),
        Pair(
            "kubelet exits with 255 every few seconds, the node turns NotReady, and its pods look Running: what they "
            "show is old. Containers go on, of Calico as of Tortie.",
            "kubelet 每隔几秒以 255 退出，节点变为 NotReady，其 Pod 看似 Running，其实是旧状态。"
            "容器仍在运行，Calico 与 Tortie 都是如此。",
        ),
        _swap,
        needs=("kubelet",),
        incident=5,
    ),
    Fault(
        "unstable-etcd",
        "etcd-slow",
        "TRT2006",
        Pair("etcd loses a member, and its leader again and again", "etcd 失去一个成员，leader 反复失联"),
        Pair(
            "Requests fail now and then: `etcdserver: request timed out`, `leader changed`. calico-kube-controllers "
            "turns 0/1: `Error verifying datastore`. Nodes go on, of Calico as of Tortie.",
            "请求时而失败：`etcdserver: request timed out`、`leader changed`。calico-kube-controllers 变为 0/1："
            "`Error verifying datastore`。节点照常工作，Calico 与 Tortie 都是如此。",
        ),
        _unstable,
        needs=("kubelet", "etcd", "three-members"),
        everywhere=True,
        incident=7,
    ),
    Fault(
        "stuck-migration",
        "ipam-migration-stuck",
        "TRT5001",
        Pair("state of an old CNI that cannot be migrated is left over", "旧 CNI 遗留下无法迁移的地址数据"),
        Pair(
            "Calico's upgrade-ipam tries every second and never ends: Init:0/2, Running, 0 restarts. Tortie "
            "takes over what pods use, keeps the rest aside, says so, and starts.",
            "Calico 的 upgrade-ipam 每秒重试，永不结束：Init:0/2、Running、0 次重启。"
            "Tortie 接管 Pod 在用的地址，其余另存并说明，然后启动。",
        ),
        _stuck_migration,
        needs=("kubelet",),
        spared=True,
        incident=8,
    ),
)
