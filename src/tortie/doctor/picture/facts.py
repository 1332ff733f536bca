"""What evidence can say, as typed values. Readers make them, causes judge by them; each knows its place. Empty text and
None mean: not said. Text stays as written; times are seconds since the epoch (UTC) or None.
"""

from __future__ import annotations

from tortie.doctor.picture.machine_facts import (
    Action,
    Certificate,
    Clock,
    Disk,
    FilterRule,
    HostFile,
    Interface,
    Listener,
    Load,
    Machine,
    Number,
    Ping,
    PortTest,
    Process,
    Route,
    RoutingRule,
    RuleCount,
    Unit,
)
from tortie.doctor.reading.exhibit import Place
from tortie.model.tuples import NamedTuple

__all__ = [
    "Action", "CalicoNode", "Certificate", "Clock", "Condition", "Container", "Disk", "Document", "Event", "Fact",
    "FilterRule", "HostFile", "Interface", "Listener", "Load", "LogLine", "Machine", "Node", "Number", "Ping", "Pod",
    "Pool", "PoolUse", "PortTest", "Probe", "Process", "Registered", "ResourceCondition", "Route",
    "RoutingRule", "RuleCount", "Session", "Setting", "Statement", "Unit", "Version", "Workload",
]  # fmt: skip


class Node(NamedTuple):
    """A Kubernetes node as one exhibit shows it (get, describe, YAML, JSON)."""

    place: Place
    name: str
    status: str = ""  # Ready, NotReady, Ready,SchedulingDisabled
    roles: str = ""
    age: str = ""
    version: str = ""
    internal_ip: str = ""
    addresses: tuple[tuple[str, str], ...] = ()  # (type, address); the type is empty where it is not told
    annotations: tuple[tuple[str, str], ...] = ()
    labels: tuple[tuple[str, str], ...] = ()
    taints: tuple[str, ...] = ()
    pod_cidr: str = ""
    os_image: str = ""
    kernel: str = ""
    runtime: str = ""
    arch: str = ""

    def annotation(self, key: str) -> str:
        return dict(self.annotations).get(key, "")


class Condition(NamedTuple):
    """A condition of a node or pod."""

    place: Place
    owner: str
    kind: str  # Ready, MemoryPressure, NetworkUnavailable
    status: str  # True, False, Unknown
    reason: str = ""
    message: str = ""
    heartbeat: float | None = None
    transition: float | None = None


class ResourceCondition(NamedTuple):
    """A condition of anything else that has a status: TigeraStatus, Installation, APIService, a CRD ..."""

    place: Place
    resource: str  # its kind
    name: str  # calico, apiserver, ippools; v3.projectcalico.org
    kind: str  # Degraded, Available, Progressing, Established
    status: str  # True, False, Unknown
    reason: str = ""  # FailedDiscoveryCheck
    message: str = ""
    transition: float | None = None


class Pod(NamedTuple):
    """A pod as one exhibit shows it."""

    place: Place
    name: str
    namespace: str = ""
    ready: int | None = None  # containers ready ...
    containers: int | None = None  # ... of so many
    status: str = ""  # Running, CrashLoopBackOff, Init:0/3, ContainerCreating, Evicted
    restarts: int | None = None
    age_s: float | None = None
    ip: str = ""
    node: str = ""
    host_ip: str = ""
    started: float | None = None  # Start Time of describe, status.startTime
    owner: str = ""  # DaemonSet/calico-node
    restarted_s: float | None = None  # how long ago the last restart was: 4 (2d ago)

    @property
    def all_ready(self) -> bool:
        return self.containers is not None and self.ready == self.containers


class Container(NamedTuple):
    """A container of a described pod, or of a pod or workload template in YAML or JSON."""

    place: Place
    pod: str
    name: str
    init: bool = False
    image: str = ""
    state: str = ""  # Running, Waiting, Terminated
    reason: str = ""  # CrashLoopBackOff, PodInitializing, Completed
    message: str = ""
    started: float | None = None
    exit_code: int | None = None
    last_state: str = ""
    last_reason: str = ""
    last_exit_code: int | None = None
    last_started: float | None = None
    last_finished: float | None = None
    ready: bool | None = None
    restarts: int | None = None
    limits: tuple[tuple[str, str], ...] = ()  # (cpu, 250m)
    requests: tuple[tuple[str, str], ...] = ()
    command: str = ""
    mounts: tuple[str, ...] = ()  # mount paths


class Probe(NamedTuple):
    """A probe definition, from describe, YAML, JSON or a grep of them."""

    place: Place
    kind: str  # liveness, readiness, startup
    action: str = ""  # exec command line, or URL of an httpGet
    initial_delay_s: float = 0.0
    timeout_s: float = 1.0
    period_s: float = 10.0
    success: int = 1
    failure: int = 3
    owner: str = ""  # pod or workload
    container: str = ""

    @property
    def checks(self) -> frozenset[str]:
        """Parts of the agent that it asks, whatever release: `calico-node -bird-live`, `calico component node health
        --bird-live`; felix alone where the page of Felix is asked."""
        parts = {part for part in ("felix", "bird", "bird6") if f"-{part}-live" in self.action}
        parts |= {part for part in ("felix", "bird", "bird6") if f"-{part}-ready" in self.action}
        page = ":9099/" in self.action and self.action.endswith(("/liveness", "/readiness"))
        return frozenset(parts or ({"felix"} if page else ()))


class Event(NamedTuple):
    """A Kubernetes event, from describe, get events, YAML, JSON, or a bare pasted message of kubelet's."""

    place: Place
    reason: str  # Unhealthy, Killing, FailedCreatePodSandBox
    message: str
    kind: str = ""  # Warning, Normal
    object: str = ""  # pod/calico-node-x
    source: str = ""  # component
    host: str = ""  # node of the component
    age_s: float | None = None  # since it was last seen
    count: int = 1  # type: ignore[assignment] # a tuple has a method of that name, and nobody needs it here
    over_s: float | None = None  # since it was first seen
    cut: bool = False  # its message goes on, and the rest is not shown: what it does not say proves nothing
    time: float | None = None  # when it was last seen, where that is told as a moment


class LogLine(NamedTuple):
    """A line of a program's log: Calico's three generations, klog, logfmt, JSON, journal, syslog, kernel, bird."""

    place: Place
    message: str  # after the position
    time: float | None = None
    clock: str = ""  # whose clock: host or source
    level: str = ""  # DEBUG INFO WARNING ERROR FATAL PANIC
    program: str = ""  # startup, felix, confd, bird, kubelet, dockerd, kernel, cni-installer, tunnel-ip-allocator ...
    file: str = ""  # startup.go
    host: str = ""
    pod: str = ""
    of_some_year: float | None = None  # instead of `time`, as if in 2000: klog and the journal name no year, no zone


class Setting(NamedTuple):
    """One value of a configuration: an environment variable, sysctl, ConfigMap key, field of a resource or file."""

    place: Place
    scope: str  # env, sysctl, configmap, felixconfig, bgpconfig, ippool, installation, kubelet, containerd, cni, file
    name: str
    value: str
    owner: str = ""  # calico-node, default, the file
    host: str = ""


class Version(NamedTuple):
    """calico, kubernetes (server), kubelet, kernel, docker, containerd, ipset, iptables, etcd, operator."""

    place: Place
    component: str
    version: str  # v3.20.0, 1.25.4, 4.14.148-server
    host: str = ""


class Session(NamedTuple):
    """One BGP session as one side shows it (calicoctl node status, birdcl show protocols)."""

    place: Place
    peer: str  # address
    state: str  # up, start, down
    info: str = ""  # Established, Passive, Connect Socket: Network unreachable
    kind: str = ""  # node-to-node mesh, node specific, global
    since: str = ""
    host: str = ""  # where it was asked
    name: str = ""  # Mesh_10_0_0_1


class Registered(NamedTuple):
    """An address that a node registered with Calico, or was seen to choose."""

    place: Place
    node: str  # empty when nothing says whose
    address: str  # without prefix length
    length: int | None = None
    via: str = ""  # annotation, calicoctl, log, tunnel
    interface: str = ""
    asn: str = ""


class CalicoNode(NamedTuple):
    """A name that Calico's datastore lists as a node."""

    place: Place
    name: str
    labels: tuple[tuple[str, str], ...] = ()


class Pool(NamedTuple):
    """An IPPool."""

    place: Place
    name: str
    cidr: str
    block_size: int | None = None
    ipip: str = ""
    vxlan: str = ""
    disabled: bool | None = None
    selector: str = ""
    nat: bool | None = None


class PoolUse(NamedTuple):
    """A row of `calicoctl ipam show`."""

    place: Place
    grouping: str  # IP Pool, Block
    cidr: str
    total: int
    used: int
    free: int


class Workload(NamedTuple):
    """A DaemonSet, Deployment or StatefulSet row: how many are wanted and there."""

    place: Place
    kind: str
    name: str
    namespace: str = ""
    desired: int | None = None
    current: int | None = None
    ready: int | None = None


class Statement(NamedTuple):
    """Something a person says to have seen, in English or Chinese. `kind` names it, see reading/statements.py."""

    place: Place
    kind: str  # load-high, ping-works-tcp-not, cross-node-dead, rebooted, upgraded, firewall-off ...
    text: str
    values: tuple[str, ...] = ()


class Document(NamedTuple):
    """A YAML or JSON document, kept whole for causes that need a corner of it."""

    place: Place
    kind: str  # DaemonSet, Node, IPPool, conflist ...
    name: str
    body: dict[str, object]


Fact = (
    Node | Condition | Pod | Container | Probe | Event | LogLine | Setting | Version | Session | Registered
    | CalicoNode | Interface | Route | RoutingRule | PortTest | Ping | Listener | Process | Load | Unit | HostFile
    | Disk | FilterRule | RuleCount | Pool | PoolUse | Workload | Number | Certificate | Clock | Statement | Document
    | ResourceCondition | Action | Machine
)  # fmt: skip
