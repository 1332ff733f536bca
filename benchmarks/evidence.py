"""Evidence to measure the doctor with: a bundle of n nodes of which one is sick, and a folder of long logs.

Every node's part is of the same size whatever n is, so that twice the nodes are twice the work: beyond some tens of
nodes clusters peer with route reflectors.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

SICK = "node-00001"
CAUSE = "rpf-loose"
FATAL = (
    "[FATAL][98] felix/int_dataplane.go 1035: Kernel's RPF check is set to 'loose'.  This would allow endpoints to "
    "spoof their IP address.  Calico requires net.ipv4.conf.all.rp_filter to be set to 0 or 1."
)
_PEERS, _PODS, _FELIX, _KUBELET = 20, 30, 220, 150
_AGENT_LINES = (
    "felix/int_dataplane.go 1245: Finished applying updates to dataplane. msecToApply={}.118",
    "felix/summary.go 100: Summarising {} dataplane reconciliation loops over 1m2.4s: avg=11ms longest=43ms ()",
    "felix/route_table.go 237: Queueing a resync of routing table. ipVersion=0x4 tableIndex={}",
    "confd/client.go 995: Recompute BGP peerings: HostBGPConfig(node=node-{}; name=ip_addr_v4) updated",
    'felix/ipsets.go 306: Finished IPSets resync family="inet" numInconsistenciesFound=0 resyncDuration={}.4ms',
)
_KUBELET_LINES = (
    'I0401 {} 1203 kubelet.go:2171] "SyncLoop (PLEG): event for pod" pod="shop/cart-7d9f8b6c5d-{:05}" event=Started',
    'I0401 {} 1203 reconciler.go:254] "operationExecutor.MountVolume started for volume" pod="shop/cart-{:05}"',
    'I0401 {} 1203 topology_manager.go:187] "Topology Admit Handler" podUID=4d2c9f51-0000-4000-8000-0000000{:05}',
)


def address(number: int) -> str:
    return f"10.{32 + (number >> 16)}.{number >> 8 & 255}.{number & 255}"


def name_of(number: int) -> str:
    return f"node-{number:05}"


def write_bundle(folder: Path, nodes: int) -> int:
    """Files as `tortie doctor collect` lays them out; returns their size."""
    size = 0
    for path, text in itertools.chain(_cluster(nodes), *(_node(number, nodes) for number in range(1, nodes + 1))):
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        size += file.write_bytes(text.encode())
    return size


def write_logs(folder: Path, megabytes: int, files: int = 8) -> int:
    """Logs of agents that run for months; one of them says once what is wrong."""
    folder.mkdir(parents=True, exist_ok=True)
    piece = "".join(f"{line}\n" for line in itertools.islice(_agent_log(1), 2000)).encode()
    size = 0
    for number in range(files):
        with (folder / f"{name_of(number)}.log").open("wb") as out:
            for _ in range(max(1, (megabytes << 20) // files // len(piece))):
                size += out.write(piece)
            if number == files // 2:
                size += out.write(f"2026-04-01 00:00:00.000 {FATAL}\n".encode())
    return size


def _typed(host: str, command: str, answer: str) -> str:
    return f"[root@{host} ~]# {command}\n{answer}\n\n"


def _cluster(nodes: int) -> Iterator[tuple[str, str]]:
    first = name_of(1)
    rows = ["NAME STATUS ROLES AGE VERSION INTERNAL-IP EXTERNAL-IP OS-IMAGE KERNEL-VERSION CONTAINER-RUNTIME"]
    pods = ["NAMESPACE NAME READY STATUS RESTARTS AGE IP NODE NOMINATED-NODE READINESS-GATES"]
    for number in range(1, nodes + 1):
        name, ip = name_of(number), address(number)
        rows.append(f"{name} Ready <none> 80d v1.22.4 {ip} <none> Ubuntu-20.04 5.4.0-91-generic containerd://1.5.8")
        sick = "0/1 CrashLoopBackOff 31 (2m ago)" if name == SICK else "1/1 Running 0"
        pods.append(f"kube-system calico-node-{number:05} {sick} 80d {ip} {name} <none> <none>")
        pods.append(f"kube-system kube-proxy-{number:05} 1/1 Running 0 80d {ip} {name} <none> <none>")
        for pod in range(8):
            pod_ip = f"10.244.{number & 255}.{pod}"
            pods.append(f"shop cart-7d9f8b6c5d-{number:05}{pod} 1/1 Running 0 3d {pod_ip} {name} <none> <none>")
    yield "cluster/nodes.txt", _typed(first, "kubectl get nodes -o wide", _table(rows))
    yield "cluster/pods.txt", _typed(first, "kubectl get pods -A -o wide", _table(pods))
    events = [
        "LAST SEEN   TYPE      REASON      OBJECT                  MESSAGE",
        "2m          Warning   BackOff     pod/calico-node-00001   Back-off restarting failed container",
        *(
            f"{age}m          Normal    Pulled      pod/cart-{age:05}         Successfully pulled image"
            for age in range(98)
        ),
    ]
    yield "cluster/events.txt", _typed(first, "kubectl -n kube-system get events", "\n".join(events))
    config = (
        'apiVersion: v1\ndata:\n  calico_backend: bird\n  veth_mtu: "1440"\nkind: ConfigMap\n'
        "metadata:\n  name: calico-config\n"
        "  namespace: kube-system"
    )
    yield "cluster/configmaps.txt", _typed(first, "kubectl -n kube-system get configmap calico-config -o yaml", config)


def _table(rows: list[str]) -> str:
    """Cells in columns, as kubectl pads them."""
    cells = [row.replace(" (2m ago)", "\0(2m\0ago)").split() for row in rows]
    widths = [max(map(len, column)) + 3 for column in zip(*cells, strict=True)]
    lines = ("".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells)
    return "\n".join(lines).replace("\0", " ")


def _node(number: int, nodes: int) -> Iterator[tuple[str, str]]:
    name, ip = name_of(number), address(number)
    sick = name == SICK
    pod = f"calico-node-{number:05}"
    below = f"nodes/{name}"
    log = [*itertools.islice(_agent_log(number), _FELIX), *([f"2026-04-01 10:59:59.000 {FATAL}"] if sick else [])]
    peers = [address((number + offset) % nodes + 1) for offset in range(min(_PEERS, nodes - 1))]
    yield (
        f"{below}/describe.txt",
        _typed(name, f"kubectl -n kube-system describe pod {pod}", _described(name, ip, pod, sick)),
    )
    yield f"{below}/log-calico-node.txt", _typed(name, f"kubectl -n kube-system logs {pod}", "\n".join(log))
    yield f"{below}/node-status.txt", _typed(name, "calicoctl node status", "" if sick else _sessions(peers))
    yield f"{below}/ip-addr.txt", _typed(name, "ip addr", _links(number, ip))
    yield f"{below}/ip-route.txt", _typed(name, "ip route", _routes(number, peers))
    strict = 2 if sick else 1
    sysctl = f"net.ipv4.ip_forward = 1\nnet.ipv4.conf.all.rp_filter = {strict}\nnet.ipv4.conf.all.forwarding = 1"
    yield f"{below}/sysctl.txt", _typed(name, "sysctl net.ipv4.ip_forward net.ipv4.conf.all.rp_filter", sysctl)
    yield f"{below}/journal.txt", _typed(name, "journalctl -u kubelet -n 150 --no-pager", _journal(name))
    yield f"{below}/load.txt", _load(name)
    listening = "\n".join(
        f'LISTEN 0      4096   {at}:{port}      0.0.0.0:*    users:(("{program}",pid={1200 + port % 97},fd=7))'
        for at, port, program in (("127.0.0.1", 9099, "calico-node"), ("0.0.0.0", 179, "bird"), ("*", 10250, "kubelet"))
        if not (sick and program != "kubelet")
    )
    header = "State  Recv-Q Send-Q Local Address:Port  Peer Address:PortProcess"
    yield f"{below}/ports.txt", _typed(name, "ss -lntp", f"{header}\n{listening}")


def _agent_log(number: int) -> Iterator[str]:
    for tick in itertools.count():
        clock = f"{tick // 3600 % 24:02}:{tick // 60 % 60:02}:{tick % 60:02}.{tick % 1000:03}"
        text = _AGENT_LINES[tick % len(_AGENT_LINES)].format((tick + number) % 997)
        yield f"2026-04-01 {clock} [INFO][{tick % 90}] {text}"


def _journal(name: str) -> str:
    lines = []
    for tick in range(_KUBELET):
        clock = f"10:{tick // 60:02}:{tick % 60:02}"
        text = _KUBELET_LINES[tick % len(_KUBELET_LINES)].format(f"{clock}.123456", tick)
        lines.append(f"Apr 01 {clock} {name} kubelet[1203]: {text}")
    return "\n".join(lines)


def _sessions(peers: list[str]) -> str:
    edge = "+---------------+-------------------+-------+----------+-------------+"
    rows = (f"| {peer:13} | node-to-node mesh | up    | 08:00:00 | Established |" for peer in peers)
    above = f"Calico process is running.\n\nIPv4 BGP status\n{edge}"
    head = "| PEER ADDRESS  |     PEER TYPE     | STATE |  SINCE   |    INFO     |"
    return "\n".join((above, head, edge, *rows, edge, "", "IPv6 BGP status", "No IPv6 peers found."))


def _links(number: int, ip: str) -> str:
    lines = [
        "1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536 qdisc noqueue state UNKNOWN group default qlen 1000",
        "    link/loopback 00:00:00:00:00:00 brd 00:00:00:00:00:00\n    inet 127.0.0.1/8 scope host lo",
        "2: eth0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc mq state UP group default qlen 1000",
        f"    link/ether 52:54:00:00:{number >> 8 & 255:02x}:{number & 255:02x} brd ff:ff:ff:ff:ff:ff",
        f"    inet {ip}/8 brd 10.255.255.255 scope global eth0\n       valid_lft forever preferred_lft forever",
    ]
    for pod in range(_PODS):
        lines.append(
            f"{pod + 5}: cali{number:06x}{pod:03x}@if4: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1440 qdisc noqueue"
        )
        lines.append(f"    link/ether ee:ee:ee:ee:ee:ee brd ff:ff:ff:ff:ff:ff link-netnsid {pod}")
        lines.append(
            "    inet6 fe80::ecee:eeff:feee:eeee/64 scope link\n       valid_lft forever preferred_lft forever"
        )
    return "\n".join(lines)


def _routes(number: int, peers: list[str]) -> str:
    block = f"10.244.{number & 255}"
    lines = ["default via 10.32.0.254 dev eth0 proto static", f"blackhole {block}.0/26 proto bird"]
    lines += [f"10.245.{index}.0/26 via {peer} dev tunl0 proto bird onlink" for index, peer in enumerate(peers)]
    lines += [f"{block}.{pod} dev cali{number:06x}{pod:03x} scope link" for pod in range(_PODS)]
    return "\n".join(lines)


def _load(name: str) -> str:
    uptime = " 10:02:11 up 80 days,  3:11,  1 user,  load average: 0.42, 0.51, 0.47"
    memory = (
        "              total        used        free      shared  buff/cache   available\n"
        "Mem:          32088        9120        4021         311       18946       22213\n"
        "Swap:             0           0           0"
    )
    disk = (
        "Filesystem      Size  Used Avail Use% Mounted on\n/dev/vda1       194G   61G  134G  32% /\n"
        "tmpfs            16G  4.0K   16G   1% /dev/shm"
    )
    tasks = ["USER         PID %CPU %MEM    VSZ   RSS TTY      STAT START   TIME COMMAND"]
    tasks += [
        f"root        {1200 + task} {task % 5}.2  0.{task % 9} 812{task:03} 61{task:03} ?        Ssl  Jan12 {task}:11 "
        f"/usr/bin/task-{task}"
        for task in range(14)
    ]
    answers = {"uptime": uptime, "nproc": "8", "free -m": memory, "df -h": disk, "ps aux": "\n".join(tasks)}
    return "".join(_typed(name, command, answer) for command, answer in answers.items())


def _described(name: str, ip: str, pod: str, sick: bool) -> str:
    state = (
        "Waiting\n      Reason:       CrashLoopBackOff\n    Last State:     Terminated\n"
        "      Reason:       Error\n      Exit Code:    1"
        if sick
        else "Running\n      Started:      Mon, 12 Jan 2026 07:10:11 +0000"
    )
    ready = not sick
    environment = "\n".join(
        f"      {key}:  {value}"
        for key, value in {
            "DATASTORE_TYPE": "kubernetes", "WAIT_FOR_DATASTORE": "true", "CALICO_NETWORKING_BACKEND": "bird",
            "CLUSTER_TYPE": "k8s,bgp", "IP": "autodetect", "CALICO_IPV4POOL_IPIP": "Always",
            "CALICO_IPV4POOL_CIDR": "10.244.0.0/16", "FELIX_IPV6SUPPORT": "false", "FELIX_HEALTHENABLED": "true",
        }.items()
    )  # fmt: skip
    return f"""Name:                 {pod}
Namespace:            kube-system
Priority:             2000001000
Node:                 {name}/{ip}
Labels:               k8s-app=calico-node
Status:               Running
IP:                   {ip}
Controlled By:        DaemonSet/calico-node
Containers:
  calico-node:
    Image:          docker.io/calico/node:v3.21.2
    State:          {state}
    Ready:          {ready}
    Restart Count:  {31 if sick else 0}
    Requests:
      cpu:      250m
    Liveness:   exec [/bin/calico-node -felix-live -bird-live] delay=10s timeout=10s period=10s #success=1 #failure=6
    Readiness:  exec [/bin/calico-node -felix-ready -bird-ready] delay=0s timeout=10s period=10s #success=1 #failure=3
    Environment:
{environment}
Conditions:
  Type              Status
  Initialized       True
  Ready             {ready}
  PodScheduled      True
QoS Class:                   Burstable
Node-Selectors:              kubernetes.io/os=linux
Events:                      <none>"""


_EVENTS = (
    ("Normal", "Scheduled", "Successfully assigned {space}/{pod} to {node}"),
    ("Normal", "Pulled", 'Container image "registry.example/shop/cart:v1.{n}" already present on machine'),
    ("Normal", "Started", "Started container cart"),
    ("Warning", "Unhealthy", 'Readiness probe failed: Get "http://10.244.1.{n}:8080/healthz": connection refused'),
    ("Warning", "BackOff", "Back-off restarting failed container cart in pod {pod}_{space}"),
)


def write_events(path: Path, megabytes: float) -> int:
    """`kubectl get events -A` of a busy cluster; one row tells what an agent of it says."""
    rows = ["NAMESPACE     LAST SEEN   TYPE      REASON              OBJECT                                   MESSAGE"]
    size = 0
    for number in itertools.count():
        kind, reason, message = _EVENTS[number % len(_EVENTS)]
        pod, space = f"cart-7d9f8b6c5d-{number:05}", ("shop", "default", "monitoring")[number % 3]
        text = message.format(space=space, pod=pod, node=name_of(number % 40), n=number % 250)
        rows.append(f"{space:<13} {number % 59 + 1:>2}m         {kind:<9} {reason:<19} {'pod/' + pod:<40} {text}")
        size += len(rows[-1]) + 1
        if size > megabytes * 1e6:
            return path.write_bytes(("\n".join(rows) + "\n").encode())
    return 0


_SAID = (
    "the", "node", "is", "not", "ready", "and", "we", "see", "that", "pods", "cannot", "reach", "it", "after", "the",
    "upgrade", "because", "kubelet", "was", "restarted",
)  # fmt: skip


def write_prose(path: Path, megabytes: int) -> int:
    """Sentences without end, none like the other."""
    with path.open("w") as out:
        size = number = 0
        while size < megabytes << 20:
            words = [_SAID[(number * 7 + at * (number % 11 + 1)) % len(_SAID)] for at in range(6 + number % 11)]
            size += out.write(f"{' '.join(words)} {number}.\n" + ("\n" if number % 10 == 0 else ""))
            number += 1
    return size


HOSTILE = {
    "blanks": " " * 16_000, "addresses": "10.0.0.1," * 1_700, "options": "kubectl get -a -b " * 880,
    "images": "calico/node:v3." * 1_000,
    "mysql": "mysql -p " * 1_700, "words": "a " * 450, "URLs": "http://a:b@c/ " * 60,
}  # fmt: skip


def write_hostile(path: Path, name: str) -> int:
    """A megabyte of lines that keep expressions busy."""
    line = HOSTILE[name] + "\n"
    return path.write_bytes((line * (1_000_000 // len(line))).encode())
