"""What a careful person asks on each machine of a cluster, and in which file of the bundle each answer belongs.

Files and commands are those of the script that `tortie doctor collect` prints; a test holds the two side by side.
Commands are written as typed at a prompt. `{root}` stands before paths that lie below the node's own root: people see
the path without it.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

LIMIT: Final = 200_000  # bytes of an answer
LOG_LIMIT: Final = 60_000
ROOT: Final = "{root}"
_PEERS_MAX: Final = 8
_TUNNELS_MAX: Final = 4
_TUNNELS: Final = ("vxlan.calico", "vxlan-v6.calico", "tunl0", "wireguard.cali")
_LARGE: Final = 1400  # bytes that a ping carries, and still fit into every tunnel of a path for 1500


class Question(NamedTuple):
    part: str  # the file, without folder and ending: "ip-addr"
    command: str
    limit: int = LIMIT
    needs: str = ""  # a program; without it nobody asks
    silent: bool = False  # asked only to know what to ask next; not part of the bundle
    real: str = ""  # what is run, where that differs from what is typed: inside a pod there is no `kubectl exec` left


class Answer(NamedTuple):
    question: Question
    text: str
    late: bool = False
    code: int = 0


class Around(NamedTuple):
    """What questions depend on."""

    environment: Mapping[str, str]
    tools: frozenset[str] = frozenset()  # of the lab's own kubelets: systemctl, journalctl, crictl, kubectl
    has_log: bool = True
    folders: tuple[str, ...] = ()  # of the node, those that are there
    healed: str = ""  # the file that says since when nothing of what was broken before counts any more


_MACHINE: Final = (
    ("load", "date -u"),
    ("load", "uname -r"),
    ("load", "uptime"),
    ("load", "nproc"),
    ("load", "free -m"),
    ("load", "cat /proc/swaps"),
    ("load", "df -h"),
    ("load", "ps aux --sort=-%cpu | head -15"),
    ("ip-addr", "ip addr"),
    ("ip-addr", "ip -d link show type vxlan"),
    ("ip-route", "ip route"),
    ("ip-route", "ip rule"),
    ("ip-route", "ip neigh | head -100"),
    ("ports", "ss -lntp"),
    ("ports", "ss -tno '( sport = :179 or dport = :179 )'"),
    ("ports", "nstat -asz TcpExtTCPMD5NotFound TcpExtTCPMD5Unexpected TcpExtTCPMD5Failure"),
    (
        "sysctl",
        "sysctl net.ipv4.ip_forward net.ipv4.conf.all.rp_filter net.ipv4.conf.all.forwarding "
        "net.netfilter.nf_conntrack_count net.netfilter.nf_conntrack_max",
    ),
    ("sysctl", "sysctl -ar 'ipv4.conf.*[.]rp_filter' | head -40"),
    ("sysctl", "cat /etc/hosts"),
    ("sysctl", "getent ahostsv4 localhost"),
    ("nft", 'nft list ruleset | grep -n -e "hook input" -e "hook forward" -e reject -e drop | head -60'),
    ("cni-files", "ls -la --time-style=full-iso {root}/etc/cni/net.d"),
    ("cni-files", "ls -la {root}/opt/cni/bin"),
    ("cni-files", "ls -la {root}/var/lib/cni/networks/k8s-pod-network | head"),
    ("cni-files", "cat {root}/var/lib/calico/nodename"),
    ("cni-files", "cat {root}/etc/cni/net.d/10-calico.conflist"),
    ("cni-files", "ls -la {root}/var/lib/calico {root}/var/run/calico"),
)
FOLDERS: Final = (
    "/etc/cni/net.d",
    "/opt/cni/bin",
    "/var/lib/calico",
    "/var/lib/cni",
    "/var/run/calico",
    "/var/log",
    "/run",
)
_NEEDS: Final = {name: name for name in ("ss", "nstat", "nft", "sysctl", "getent")}
_UNITS: Final = ("kubelet", "containerd")
_STATUS: Final = (
    'curl -s -m 3 -o /dev/null -w "%{http_code}\\n" http://127.0.0.1:9099/liveness',
    'curl -s -m 3 -o /dev/null -w "%{http_code}\\n" http://127.0.0.1:9099/readiness',
    'curl -s -m 3 -o /dev/null -w "%{http_code}\\n" http://localhost:9099/liveness',
)
_AGENT: Final = (
    "tortie node status",
    "tortie get nodes -o wide",
    "tortie node explain",
    "tortie node timeline",
)
_X509: Final = "openssl x509 -noout -subject -issuer -dates"
RESOURCES: Final = ("ippools", "bgpconfigurations", "bgppeers", "felixconfigurations", "clusterinformations")


def of_node(around: Around) -> tuple[Question, ...]:
    """First round; `more_of_node` asks what these answers make somebody ask."""
    return (*_of_machine(around), *_of_units(around), *_of_agent(around), *_of_store(around.environment, "datastore"))


def _of_machine(around: Around) -> Iterator[Question]:
    for part, command in _MACHINE:
        # All mounts of the machine below would be listed; only those of the node are its business.
        real = (
            " ".join((command, ROOT, *(f"{ROOT}{folder}" for folder in around.folders))) if command == "df -h" else ""
        )
        yield Question(part, command, needs=_NEEDS.get(command.split()[0], ""), real=real)


def _of_units(around: Around) -> Iterator[Question]:
    """Only where the lab has kubelets: units of the machine below are another matter."""
    for unit in _UNITS:
        if "systemctl" in around.tools:
            yield Question("units", f"systemctl status {unit} --no-pager -n 0 -l")
    for unit in _UNITS:
        if "journalctl" in around.tools:
            part = "journal-kubelet" if unit == "kubelet" else "journal-runtime"
            yield Question(part, f"journalctl -u {unit} -n 150 --no-pager", LOG_LIMIT)
    if "crictl" in around.tools:
        yield Question("runtime", "crictl ps -a | head -40")


def _of_agent(around: Around) -> Iterator[Question]:
    for command in _STATUS:
        yield Question("node-status", command, needs="curl")
    for command in _AGENT:
        yield Question("node-status", command)
    if around.has_log:
        yield Question("node-status", "tail -n 200 {root}/log", LOG_LIMIT)


def more_of_node(answers: Sequence[Answer]) -> tuple[Question, ...]:
    """Peers that are not up: do they answer at all, and at BGP's port? Do large packets pass the tunnels?"""
    asked: list[Question] = []
    for peer in peers_down(_text(answers, "tortie node status")):
        asked.append(Question("node-status", f"ping -c 2 -W 1 {peer}", needs="ping"))
        probe = f"timeout 3 bash -c '</dev/tcp/{peer}/179' && echo 179 open || echo 179 closed"
        asked.append(Question("node-status", probe))
    for far in far_ends(_text(answers, "ip route")):
        asked.append(Question("node-status", f"ping -c 1 -W 1 {far}", needs="ping"))
        asked.append(Question("node-status", f"ping -c 1 -W 1 -M do -s {_LARGE} {far}", needs="ping"))
    return tuple(asked)


def _text(answers: Sequence[Answer], command: str) -> str:
    return next((answer.text for answer in answers if answer.question.command == command), "")


def peers_down(status: str) -> tuple[str, ...]:
    """Addresses of sessions that `node status` shows as anything but established."""
    found = []
    for line in status.splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) > 4 and re.search("start|down", cells[3]) and re.fullmatch(r"[0-9.]+", cells[1]):
            found.append(cells[1])
    return tuple(found[:_PEERS_MAX])


def far_ends(routes: str) -> tuple[str, ...]:
    """Where tunnels lead to."""
    found = re.findall(r"^\S+ via (\S+) dev (\S+)", routes, re.MULTILINE)
    return tuple(dict.fromkeys(via for via, link in found if link in _TUNNELS))[:_TUNNELS_MAX]


def _of_store(environment: Mapping[str, str], part: str) -> Iterator[Question]:
    """etcd, as this machine reaches it."""
    names = ("ETCD_CA_CERT_FILE", "ETCD_CERT_FILE", "ETCD_KEY_FILE")
    trust, certificate, key = (_word(environment.get(name, "")) for name in names)
    curl = "curl -sS -m 3"
    curl += f" --cacert {trust}" if trust else ""
    curl += f" --cert {certificate} --key {key}" if certificate and key else ""
    endpoints = [each.strip() for each in environment.get("ETCD_ENDPOINTS", "").split(",") if each.strip()]
    for endpoint in endpoints:
        yield Question(part, f"{curl} {_word(endpoint)}/health", needs="curl")
    for endpoint in endpoints:
        place = _word(endpoint.partition("://")[2].rstrip("/"))
        if endpoint.startswith("https://"):
            shown = f"openssl s_client -connect {place} </dev/null 2>/dev/null | {_X509}"
            yield Question(part, shown, needs="openssl")
    if certificate:
        yield Question(part, f"{_X509} -in {certificate}", needs="openssl")


def _word(text: str) -> str:
    """For a shell, whatever somebody's settings say; with brackets, as IPv6 has them, as people type it."""
    return text if re.fullmatch(r"[-\w.,:/@%+=\[\]]*", text, re.ASCII) else shlex.quote(text)


def of_store(environment: Mapping[str, str]) -> tuple[Question, ...]:
    """On a machine that runs a member of etcd. `environment` is that of a node."""
    endpoints = environment.get("ETCD_ENDPOINTS", "")
    flags = [f"--endpoints={_word(endpoints)}"]
    for flag, variable in (("cacert", "ETCD_CA_CERT_FILE"), ("cert", "ETCD_CERT_FILE"), ("key", "ETCD_KEY_FILE")):
        if environment.get(variable):
            flags.append(f"--{flag}={_word(environment[variable])}")
    etcdctl = " ".join(("etcdctl", "--command-timeout=3s", "--dial-timeout=2s", *flags))
    return (
        Question("load", "date -u"),  # not the load: this machine's is that of all machines of the lab, and of others
        Question("ip-addr", "ip addr"),
        Question("ports", "ss -lntp", needs="ss"),
        Question("datastore", f"{etcdctl} endpoint health", needs="etcdctl"),
        Question("datastore", f"{etcdctl} endpoint status -w table", needs="etcdctl"),
        Question("datastore", "tail -n 150 {root}/log", LOG_LIMIT),
    )


def of_cluster(around: Around) -> tuple[Question, ...]:
    """What is the same wherever it is asked. Parts are below cluster/."""
    asked = list(_of_kubectl()) if "kubectl" in around.tools else []
    asked += [Question("calico", f"tortie get {kind} -o yaml") for kind in RESOURCES]
    asked += [Question("calico", "tortie ipam show"), Question("calico", "tortie ipam show --show-blocks")]
    asked += [Question("calico", "tortie ipam check")]
    asked += [Question("lab", f"cat {_word(around.healed)}")] if around.healed else []
    return tuple(asked)


def _of_kubectl() -> Iterator[Question]:
    yield Question("pods", "kubectl get pods -A -o json", 1 << 24, silent=True)
    yield Question("nodes", "kubectl get nodes --no-headers", silent=True)
    yield Question("nodes", "kubectl version")
    yield Question("nodes", "kubectl get nodes -o wide")
    yield Question("pods", "kubectl get pods -A -o wide", 3 * LIMIT)
    yield Question("pods", "kubectl get ds -A")
    yield Question("events", "kubectl -n kube-system get events --sort-by=.lastTimestamp | tail -100", LIMIT // 2)
    yield Question("configmaps", "kubectl -n kube-system get configmap calico-config -o yaml")
    yield Question("daemonsets", "kubectl -n kube-system get ds calico-node -o yaml")


class _Pod(NamedTuple):
    namespace: str
    name: str
    containers: tuple[tuple[str, bool], ...]  # and whether it has run before
    well: bool


_OURS: Final = ("calico-", "canal", "kube-calico")
_SICK_MAX: Final = 12
_WELL_MAX: Final = 3


def more_of_cluster(answers: Sequence[Answer]) -> tuple[Question, ...]:
    """Pods of Calico that are not well are looked at closely, and some that are, to compare with."""
    asked: list[Question] = []
    for pod in _looked_at(_pods(_text(answers, "kubectl get pods -A -o json"))):
        asked.append(Question(f"describe/{pod.name}", f"kubectl -n {pod.namespace} describe pod {pod.name}", LOG_LIMIT))
        for container, again in pod.containers:
            logs = f"kubectl -n {pod.namespace} logs {pod.name} -c {container} --tail=200"
            before = f"kubectl -n {pod.namespace} logs -p {pod.name} -c {container} --tail=200 2>/dev/null"
            wanted = (logs, before) if again else (logs,)
            asked += [Question(f"logs/{pod.name}", command, LOG_LIMIT) for command in wanted]
    return tuple(asked)


def nodes_not_ready(answers: Sequence[Answer]) -> tuple[str, ...]:
    rows = [line.split() for line in _text(answers, "kubectl get nodes --no-headers").splitlines()]
    return tuple(row[0] for row in rows if len(row) > 1 and not row[1].startswith("Ready"))[:5]


def about_node(node: str, answers: Sequence[Answer]) -> tuple[Question, ...]:
    """A node that Kubernetes has lost, or that is not well: what it says of it, and whether the machine answers."""
    rows = [line.split() for line in _text(answers, "kubectl get nodes -o wide").splitlines()]
    addresses = [row[5] for row in rows if len(row) > 5 and row[0] == node and re.fullmatch(r"[0-9.]+", row[5])]
    pings = [Question(f"nodes/{node}/describe", f"ping -c 2 -W 1 {each}", needs="ping") for each in addresses]
    return describe_node(node), *pings


def describe_node(node: str) -> Question:
    return Question(f"nodes/{node}/describe", f"kubectl describe node {node}", LOG_LIMIT)


def unreachable(node: str) -> Question:
    """What somebody hears who tries to log in to a machine that is off, or cut off."""
    return Question("load", f"ssh {node} uptime", real=f"echo ssh: connect to host {node} port 22: No route to host")


def _pods(text: str) -> list[_Pod]:
    try:
        items = json.loads(text)["items"]
    except (ValueError, KeyError, TypeError):
        return []
    return [pod for item in items if (pod := _pod(item)).name.startswith(_OURS)]


def _pod(item: Mapping[str, object]) -> _Pod:
    def field(parent: object, name: str) -> object:
        return parent.get(name) if isinstance(parent, dict) else None

    def listed(parent: object, name: str) -> list[object]:
        found = field(parent, name)
        return found if isinstance(found, list) else []

    metadata, spec, status = (field(item, name) for name in ("metadata", "spec", "status"))
    states = listed(status, "containerStatuses")
    again = {field(each, "name") for each in (*listed(status, "initContainerStatuses"), *states) if _ran(each)}
    names = [str(field(each, "name")) for each in (*listed(spec, "initContainers"), *listed(spec, "containers"))]
    ready = bool(states) and all(field(each, "ready") is True for each in states)
    well = ready and field(status, "phase") == "Running"
    containers = tuple((name, name in again) for name in names)
    return _Pod(str(field(metadata, "namespace")), str(field(metadata, "name")), containers, well)


def _ran(state: object) -> bool:
    return isinstance(state, dict) and bool(state.get("restartCount") or state.get("lastState"))


def _looked_at(pods: Sequence[_Pod]) -> list[_Pod]:
    pods = sorted(pods, key=lambda pod: (pod.namespace, pod.name))
    sick = [pod for pod in pods if not pod.well][:_SICK_MAX]
    well = [pod for pod in pods if pod.well][:_WELL_MAX]
    return sick + well
