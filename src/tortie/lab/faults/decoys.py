"""Things that look like trouble and are none: what a diagnosis must not fall for. Healed as faults are.

Lines are those that healthy clusters write, word for word; the pod really fails, and has nothing to do with the
network; the bridge is there, and no node has registered its address.
"""

from __future__ import annotations

import json
from typing import Final

from tortie.lab.faults.deeds import AddBridge, Deed, RunHelper, WriteFile
from tortie.lab.faults.fault import Fault, Scene
from tortie.lab.words import Pair

_KUBELET_LOG: Final = "/var/log/kubelet.log"
_RUNTIME_LOG: Final = "/var/log/containerd.log"
_MANIFEST: Final = "/etc/kubernetes/manifests/{name}.json"

KUBELET_NOISE: Final = (
    "W {time} {pid} driver-call.go:149] FlexVolume: driver call failed: executable: "
    "/usr/libexec/kubernetes/kubelet-plugins/volume/exec/nodeagent~uds/uds, args: [init], "
    'error: executable file not found in $PATH, output: ""',
    'E {time} {pid} plugins.go:736] "Error dynamically probing plugins" err="error creating Flexvolume plugin from '
    'directory nodeagent~uds, skipping. Error: unexpected end of JSON input"',
    "I {time} {pid} flags.go:64] Flag --cgroup-driver has been deprecated, This parameter should be set via the config "
    "file specified by the Kubelet's --config flag.",
)
RUNTIME_NOISE: Final = (
    'time="{rfc}" level=warning msg="failed to retrieve runc version: exit status 1"',
    'time="{rfc}" level=warning msg="cleanup warnings time=\\"{rfc}\\" level=info msg=\\"starting signal loop\\""',
)


def _noise(scene: Scene) -> tuple[Deed, ...]:
    """Written by a process of its own, as other programs of a node do; the lines are taken out again with it."""
    node = scene.node.name
    return (
        RunHelper(node, "noise-kubelet", ("say", _KUBELET_LOG, "2", *KUBELET_NOISE)),
        RunHelper(node, "noise-runtime", ("say", _RUNTIME_LOG, "3", *RUNTIME_NOISE)),
    )


def _failing_pod(scene: Scene) -> tuple[Deed, ...]:
    name = "report-" + "".join(scene.random.choices("bcdfghjkmnpqrstvwxz2456789", k=5))
    script = "echo 'report: cannot open /etc/report/settings.ini: No such file or directory' >&2; exit 1"
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "labels": {"app": "report"}},
        "spec": {
            "restartPolicy": "Always",
            "containers": [
                {"name": "report", "image": "example/report:1.4", "command": ["/bin/sh", "-c", script]},
            ],
        },
    }
    return (WriteFile(scene.node.name, _MANIFEST.format(name=name), json.dumps(pod, indent=1)),)


def _idle_bridge(scene: Scene) -> tuple[Deed, ...]:
    """Docker's own, made after the agent has chosen its address."""
    return (AddBridge(scene.node.name, "docker0", "172.17.0.1/16", _mac(scene)),)


def _mac(scene: Scene) -> str:
    return "02:42:" + ":".join(f"{scene.random.randrange(256):02x}" for _ in range(4))


def _old_events(scene: Scene) -> tuple[Deed, ...]:
    """Readiness failures of the first minute, of a pod that has been ready since."""
    return (
        RunHelper(
            scene.node.name,
            "old-events",
            (
                "say",
                _KUBELET_LOG,
                "60",
                'I {time} {pid} prober.go:107] "Probe failed" probeType="Readiness" '
                'pod="kube-system/calico-node" containerName="calico-node" probeResult="failure" '
                'output="calico/node is not ready: BIRD is not ready: Error querying BIRD: unable to connect to BIRDv4 '
                'socket: dial unix /var/run/calico/bird.ctl: connect: connection refused\\n"',
            ),
        ),
    )


DECOYS: Final = (
    Fault(
        "noise",
        "",
        "",
        Pair("harmless lines in the journals of kubelet and runtime", "kubelet 和运行时日志中的无害内容"),
        Pair("FlexVolume and runc warnings, as healthy clusters have them.", "FlexVolume 与 runc 警告，健康集群也有。"),
        _noise,
        needs=("kubelet",),
    ),
    Fault(
        "failing-pod",
        "",
        "",
        Pair("a pod that has nothing to do with the network and fails", "一个与网络无关且失败的 pod"),
        Pair("A pod report-… in CrashLoopBackOff: it lacks a file.", "pod report-… 处于 CrashLoopBackOff：缺少文件。"),
        _failing_pod,
        needs=("kubelet",),
    ),
    Fault(
        "idle-bridge",
        "",
        "",
        Pair("docker's bridge docker0, which no node has registered", "docker0 网桥，没有节点注册其地址"),
        Pair(
            "docker0 with 172.17.0.1/16 in `ip addr`, and nothing else.",
            "`ip addr` 中有 docker0 172.17.0.1/16，仅此而已。",
        ),
        _idle_bridge,
    ),
    Fault(
        "old-events",
        "",
        "",
        Pair("a probe that failed once, while the pod started", "pod 启动时失败过一次的探针"),
        Pair(
            "One line about BIRD's socket in kubelet's journal; the pod is ready.",
            "kubelet 日志中一行 BIRD 套接字失败；pod 已就绪。",
        ),
        _old_events,
        needs=("kubelet",),
    ),
)
