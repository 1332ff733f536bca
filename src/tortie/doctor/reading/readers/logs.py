"""Log lines of every form as facts, with the program that wrote them, on whose clock, from which pod.

Programs go by one name each, whatever release wrote the line: startup, felix, confd, bird, bird6, cni, cni-installer,
ipam, upgrade-ipam, tunnel-ip-allocator, monitor-addresses, status-reporter, kube-controllers, typha, operator,
calico-apiserver, kubelet, kube-proxy, kube-apiserver, coredns, etcd, dockerd, containerd, kernel, systemd,
NetworkManager; an unknown one keeps its own. `span` and `runs` answer how long a program ran.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Final

from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import LogLine
from tortie.doctor.reading.commands import effective, programs, word_set, words
from tortie.doctor.reading.exhibit import Exhibit
from tortie.doctor.reading.logforms import Parsed, cut_calico, parse
from tortie.doctor.reading.moments import year_in
from tortie.model.tuples import NamedTuple

_COMPONENTS: Final = {
    "cni-plugin": "cni", "ipam-plugin": "ipam", "calico-ipam": "ipam", "dockerd-current": "dockerd",
    "hyperkube": "kubelet", "microk8s.daemon-kubelet": "kubelet", "microk8s.daemon-kubelite": "kubelet",
    "microk8s.daemon-containerd": "containerd", "node": "calico-node", "install-cni": "cni-installer", "calico": "cni",
}  # fmt: skip
# Which file betrays its program; files of libraries that all programs share are left out.
_FILES: Final = {
    "startup": "startup.go autodetection_methods.go interfaces.go filtered.go autodetection",
    "tunnel-ip-allocator": "allocateip.go allocate_ipip_addr.go",
    "upgrade-ipam": "migrate.go",
    "ipam": "ipam_plugin.go",
    "cni": "plugin.go dataplane_linux.go utils.go network_linux.go",
    "cni-installer": "install.go",
    "felix": "int_dataplane.go ipsets.go ip_sets.go daemon.go table.go route_table.go route_rule.go "
    "vxlan_mgr.go vxlan_fdb.go "
    "endpoint_mgr.go policy_mgr.go async_calc_graph.go calc_graph.go feature_detect.go features.go iface_monitor.go "
    "masq_mgr.go ipip_mgr.go floating_ip_mgr.go l3_route_resolver.go summary.go bpf_ep_mgr.go wireguard.go "
    "config_params.go "
    "driver.go active_rules_calculator.go event_sequencer.go validation_filter.go usagerep.go conntrack.go "
    "int_dataplane "
    "logutils.go",
    "confd": "run.go resource.go processor.go client.go.confd peer.go",
    "kubelet": "kubelet.go cni.go remote_runtime.go pod_workers.go kubelet_node_status.go eviction_manager.go "
    "prober.go "
    "kuberuntime_manager.go kuberuntime_sandbox.go docker_sandbox.go generic.go nestedpendingoperations.go "
    "certificate_manager.go container_manager_linux.go kubelet_network_linux.go kubelet_getters.go "
    "summary_sys_containers.go",
    "kube-proxy": "proxier.go server_others.go iptables.go.proxy ipvs.go",
    "typha": "sync_server.go k8s_healthcheck.go",
    "kube-controllers": "kdd.go node_controller.go",
}  # fmt: skip
_BY_FILE: Final = {file: program for program, files in _FILES.items() for file in files.split()}
_PODS: Final = (
    ("calico-kube-controllers", "kube-controllers"), ("calico-typha", "typha"), ("kube-proxy", "kube-proxy"),
    ("calico-apiserver", "calico-apiserver"), ("tigera-operator", "operator"), ("coredns", "coredns"), ("etcd", "etcd"),
    ("kube-apiserver", "kube-apiserver"), ("kube-controller-manager", "kube-controller-manager"),
    ("kube-scheduler", "kube-scheduler"),
)  # fmt: skip
_CONTAINERS: Final = {
    "install-cni": "cni-installer", "upgrade-ipam": "upgrade-ipam", "flexvol-driver": "flexvol-driver",
    "mount-bpffs": "mount-bpffs", "kube-flannel": "flannel", "ebpf-bootstrap": "mount-bpffs",
}  # fmt: skip
_CARRIERS: Final = ("docker", "sh", "bash", "env")  # run programs and print their lines
_AGENT_PODS: Final = ("calico-node", "canal", "rke2-canal", "kube-calico")
_UNITS: Final = {
    "kubelet": "kubelet", "docker": "dockerd", "containerd": "containerd", "NetworkManager": "NetworkManager",
    "kube-proxy": "kube-proxy", "etcd": "etcd", "firewalld": "firewalld", "crio": "crio",
}  # fmt: skip
# What start-up prints without any stamp: all of v2's messages, and the last words of every release.
_STARTUP = lazily(
    r"Skipping datastore connection test|Using (?:autodetected|auto-detected|global AS|configured|IPv[46] "
    r"address|node name)|"
    r"Calico node (?:failed to start|started successfully|name)|Terminating$|ERROR: |WARNING: |No IPv4|Starting "
    r"(?:libnetwork|node)|"
    r"Created default IPv[46] pool|Node IPv[46] changed|Unable to access datastore|Waiting for etcd|No AS number"
)
_LIBRARY_CNI = lazily(
    r"cp: can't|/install-cni|Wrote Calico CNI|CNI plugin version|Created CNI config|Done configuring CNI|"
    r"Installed /host|/host/"
)
_ANY_YEAR: Final = 2000  # one that has all days
_LOG_FILE = lazily(r"\.log\b|/var/log/|\bmessages\b|\bsyslog\b")
_VALUED: Final = word_set(
    "-n --namespace --tail --since --since-time -l --selector --context --kubeconfig --limit-bytes"
)


class Origin(NamedTuple):
    """What the command says about the lines below it."""

    log: bool = False  # everything printed is log
    pod: str = ""
    program: str = ""
    foreign: bool = False  # another command, whose output only looks like a log here and there


def read(exhibit: Exhibit) -> Iterator[LogLine]:
    if exhibit.prose or not exhibit.lines:
        return
    origin = origin_of(exhibit.command)
    found = list(_parsed(exhibit, origin))
    if not found:
        return
    year = 0
    if any(parsed.moment and not parsed.moment.year for _, parsed in found):
        year = year_in(exhibit.text)
    by_pid: dict[str, str] = {}
    last = ""
    for index, parsed in found:
        program = _program(parsed, origin, by_pid, last)
        if parsed.pid and program:
            by_pid[parsed.pid] = program
        last = program
        host = parsed.host or exhibit.host
        pod = parsed.pod or origin.pod
        # What kubectl prints comes from the pod's machine, not from the one at whose prompt it was typed.
        if origin.pod and not parsed.host:
            host = ""
        time = parsed.moment.epoch(year) if parsed.moment else None
        clock = host or pod or exhibit.source
        yield LogLine(
            exhibit.place(index), parsed.message, time, clock, parsed.level, program, parsed.file, host, pod,
            parsed.moment.epoch(_ANY_YEAR) if parsed.moment and time is None else None,
        )  # fmt: skip


def _parsed(exhibit: Exhibit, origin: Origin) -> Iterator[tuple[int, Parsed]]:
    """The log lines among the lines. Bare text counts where all is log, or beside stamped lines of a pasted log."""
    previous = -2
    held: list[int] = []
    any_log = False
    for index, line in enumerate(exhibit.lines):
        text = line.strip() if origin.log else line
        if not text:
            continue
        parsed = parse(text) if text[0] not in " \t|+" else None
        if parsed is None and (origin.log or any_log or index == 0):
            parsed = cut_calico(text)
        if parsed is not None and origin.foreign and not _sure(parsed):
            parsed = None
        if parsed is not None:
            any_log = True
            for bare in held:
                yield bare, Parsed(exhibit.lines[bare].strip())
            held = []
            previous = index
            yield index, parsed
        elif origin.log:
            any_log = True
            yield index, Parsed(text)
        elif not origin.foreign and _STARTUP.match(text):
            if previous == index - 1:
                previous = index
                yield index, Parsed(text, program="startup")
            else:
                held = [*held, index]
    for bare in held if any_log or len(held) >= 2 else ():
        yield bare, Parsed(exhibit.lines[bare].strip(), program="startup")


def _sure(parsed: Parsed) -> bool:
    return bool(parsed.level or parsed.program or parsed.host)


@lru_cache(maxsize=512)
def _own(program: str) -> str:
    name = program.rpartition("/")[2].removesuffix(".service").removeprefix("snap.")
    return _COMPONENTS.get(name, name)


def _program(parsed: Parsed, origin: Origin, by_pid: dict[str, str], last: str) -> str:
    own = _own(parsed.program) if parsed.program else ""
    if own and own not in _CARRIERS:
        return own
    if parsed.container in _CONTAINERS:
        return _CONTAINERS[parsed.container]
    if origin.program:
        return origin.program
    if parsed.file in _BY_FILE:
        return _BY_FILE[parsed.file]
    if parsed.file == "health.go" and "Number of node(s)" in parsed.message:
        return "calico-node"
    if parsed.pid in by_pid:
        return by_pid[parsed.pid]
    if not parsed.file and _STARTUP.match(parsed.message):
        return "startup"
    if not parsed.file and _LIBRARY_CNI.match(parsed.message):
        return "cni-installer"
    if not last and not own and origin.pod.startswith(_AGENT_PODS):
        return "startup"  # the first thing that an agent's log holds
    return own or last


def origin_of(command: str) -> Origin:
    """Whose log a command shows: of a pod's container, a unit, the kernel, a file, or none."""
    if not command:
        return Origin()
    inner = effective(command).command
    used = programs(inner)
    plain = words(inner)
    first = used[0] if used else ""
    if first in ("kubectl", "oc", "k3s") and ("logs" in plain or "log" in plain):
        return _of_pod(plain)
    if first in ("docker", "crictl", "nerdctl", "podman") and "logs" in plain:
        program = next((_CONTAINERS[word] for word in plain if word in _CONTAINERS), "")
        return Origin(True, "", program)
    if first == "journalctl":
        unit = (_option(plain, "-u", "--unit", "-t") or _short_unit(plain)).removesuffix(".service")
        return Origin(False, "", "kernel" if "-k" in plain or "--dmesg" in plain else _UNITS.get(unit, ""))
    if first == "dmesg":
        return Origin(True, "", "kernel")
    if first in ("cat", "tail", "head", "grep", "zgrep", "less", "egrep") and _LOG_FILE.search(command):
        program = "cni" if "calico/cni" in command else ""
        return Origin(first != "grep" or program != "", "", program)
    return Origin(foreign=True)


def _short_unit(plain: Sequence[str]) -> str:
    """`-ukubelet`, `-xeu kubelet`, `-fu kubelet`."""
    for index, word in enumerate(plain):
        if word.startswith("-u") and len(word) > 2:
            return word[2:]
        if word.startswith("-") and not word.startswith("--") and word.endswith("u") and index + 1 < len(plain):
            return plain[index + 1]
    return ""


def _of_pod(plain: Sequence[str]) -> Origin:
    at = plain.index("logs") if "logs" in plain else plain.index("log")
    container = _option(plain, "-c", "--container")
    names: list[str] = []
    index = at + 1
    while index < len(plain) and plain[index] not in ("|", "||", "&&", ";", ">", ">>"):
        word = plain[index]
        if word.startswith("-"):
            index += 2 if word in _VALUED or word in ("-c", "--container") else 1
            continue
        if not word[:1].isdigit() or "-" in word:
            names.append(word)
        index += 1
    pod = names[0] if names else ""
    kind, slash, name = pod.partition("/")
    if slash:
        pod = name if kind in ("pod", "pods", "po") else ""
    container = container or (names[1] if len(names) > 1 else "")
    named = name or names[0] if names else ""
    selector = _option(plain, "-l", "--selector").rpartition("=")[2]
    program = _CONTAINERS.get(container, "")
    if not program:
        program = next((known for prefix, known in _PODS if (named or selector).startswith(prefix)), "")
    return Origin(True, pod if pod and not pod.startswith("$") else "", program)


def _option(plain: Sequence[str], *names: str) -> str:
    for index, word in enumerate(plain):
        if word in names and index + 1 < len(plain):
            return plain[index + 1]
        for name in names:
            if word.startswith(f"{name}="):
                return word[len(name) + 1 :]
    return ""


def span(lines: Iterable[LogLine]) -> tuple[float, float] | None:
    """The first and the last time among these lines; None when none of them has a time."""
    times = [line.time for line in lines if line.time is not None]
    return (min(times), max(times)) if times else None


_BEGIN = ("Early log level set to", "NODENAME environment not specified")


def runs(lines: Iterable[LogLine], program: str = "startup") -> list[list[LogLine]]:
    """The lines of one program cut at its starts, in their order; each pod and source by itself."""
    found: list[list[LogLine]] = []
    origin: tuple[str, str] | None = None
    for line in lines:
        if line.program != program:
            continue
        here = (line.place.source, line.pod)
        begins = line.message.startswith(_BEGIN[0])
        if not found or here != origin or begins:
            found.append([])
        origin = here
        found[-1].append(line)
    return found
