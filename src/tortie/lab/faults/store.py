"""Faults of the datastore and of the way to it: etcd gone, a wrong endpoint, certificates that are not accepted."""

from __future__ import annotations

from typing import Final

from tortie.lab.certificates import SECRETS, SERVER
from tortie.lab.faults.deeds import Deed, RestartNode, SendSignal, SetVariable, WriteFile
from tortie.lab.faults.fault import Fault, Scene
from tortie.lab.surroundings import CLIENT_PORT
from tortie.lab.words import Pair


def _gone(scene: Scene) -> tuple[Deed, ...]:
    killed = (SendSignal(store.name, "etcd", "KILL") for store in scene.plan.stores)
    return (*killed, RestartNode(scene.node.name))


def _wrong_endpoint(scene: Scene) -> tuple[Deed, ...]:
    """Another node's address, as after a move of etcd: the host answers, and nobody listens there."""
    address = scene.others[0].address
    host = f"[{address}]" if address.version == 6 else str(address)
    scheme = "https" if scene.plan.store.tls else "http"
    endpoint = f"{scheme}://{host}:{CLIENT_PORT}"
    return SetVariable(scene.node.name, "ETCD_ENDPOINTS", endpoint), RestartNode(scene.node.name)


def _served(scene: Scene, file: str) -> tuple[Deed, ...]:
    """etcd reads its certificate for each client that connects; it is signed for the same key."""
    text = scene.certificates.get(file, "")
    files = (WriteFile(store.name, f"{SERVER}/server.pem", text, 0o600) for store in scene.plan.stores)
    return (*files, RestartNode(scene.node.name))


def _expired(scene: Scene) -> tuple[Deed, ...]:
    return _served(scene, "expired.pem")


def _not_yet(scene: Scene) -> tuple[Deed, ...]:
    return _served(scene, "tomorrow.pem")


def _wrong_ca(scene: Scene) -> tuple[Deed, ...]:
    text = scene.certificates.get("other-ca.pem", "")
    return WriteFile(scene.node.name, f"{SECRETS}/etcd-ca", text, 0o600), RestartNode(scene.node.name)


FAULTS: Final = (
    Fault(
        "datastore-gone",
        "datastore-unreachable",
        "TRT2001",
        Pair("all members of etcd are killed, then a node restarts", "杀死全部 etcd 成员，再重启一个节点"),
        Pair(
            "2379 refuses connections. Calico's start hangs and is killed by liveness; Tortie's node answers its "
            "probes, is not ready and says which endpoint refuses. Nodes that run go on.",
            "2379 端口拒绝连接。Calico 启动卡住并被存活探测杀掉；Tortie 节点能响应探测但未就绪，"
            "并说明哪个端点拒绝连接。正在运行的节点不受影响。",
        ),
        _gone,
        needs=("etcd",),
    ),
    Fault(
        "wrong-endpoint",
        "datastore-endpoint-wrong",
        "TRT2002",
        Pair("ETCD_ENDPOINTS of a node names a host without etcd", "节点的 ETCD_ENDPOINTS 指向没有 etcd 的主机"),
        Pair(
            "Only this node cannot reach its datastore, while etcd is healthy: the address it asks is no member's.",
            "只有该节点连不上数据存储，而 etcd 是健康的：它访问的地址不是任何成员的地址。",
        ),
        _wrong_endpoint,
        needs=("etcd", "two-nodes"),
    ),
    Fault(
        "expired-certificate",
        "datastore-tls-invalid",
        "TRT2003",
        Pair("etcd shows a certificate that expired yesterday", "etcd 出示昨天已过期的证书"),
        Pair(
            "Whoever connects anew refuses it. Calico's etcd client says nothing and its start hangs; Tortie's node "
            "names the certificate and the day it expired.",
            "新建的连接都会拒绝它。Calico 的 etcd 客户端不输出任何信息，启动卡住；Tortie 节点会指出证书及其过期日期。",
        ),
        _expired,
        needs=("etcd", "tls"),
    ),
    Fault(
        "wrong-ca",
        "datastore-tls-invalid",
        "TRT2003",
        Pair("a node has the CA certificate of another cluster", "节点上的 CA 证书属于另一个集群"),
        Pair(
            "The node does not trust etcd's certificate. Calico's start hangs without a word; Tortie's node names the "
            "CA file.",
            "该节点不信任 etcd 的证书。Calico 启动卡住且无提示；Tortie 节点会指出 CA 文件。",
        ),
        _wrong_ca,
        needs=("etcd", "tls"),
    ),
    Fault(
        "clock-moved",
        "clock-skew",
        "TRT2005",
        Pair("etcd's certificate begins tomorrow: clocks disagree", "etcd 证书明天才生效：时钟不一致"),
        Pair(
            "As if it was issued by a machine whose clock runs a day ahead: `is not yet valid`, `is before`. Machines "
            "of a lab share one kernel, and a kernel has one clock: it is the certificate that moves.",
            "如同由时钟快了一天的机器签发：`is not yet valid`、`is before`。实验环境的机器共用一个内核，"
            "而内核只有一个时钟，因此改动的是证书。",
        ),
        _not_yet,
        needs=("etcd", "tls"),
    ),
)
