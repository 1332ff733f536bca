"""What evidence says of machines, as typed values: links, routes, trials, programs, files, packet filters."""

from __future__ import annotations

from tortie.doctor.reading.exhibit import Place
from tortie.model.tuples import NamedTuple

OF_POD = "pod/"  # before the name of a pod, where the host of its links would be


class Interface(NamedTuple):
    """A link and its addresses (ip addr, ip link, ip -br, ifconfig, /sys/class/net)."""

    place: Place
    name: str
    host: str = ""
    index: int | None = None  # type: ignore[assignment]
    state: str = ""  # UP DOWN UNKNOWN
    mtu: int | None = None
    addresses: tuple[str, ...] = ()  # 10.0.0.1/24
    mac: str = ""
    kind: str = ""  # vxlan, ipip, bridge, veth


class Machine(NamedTuple):
    """A row of a list of machines: gcloud, aws, az, openstack, virsh, hcloud ..."""

    place: Place
    names: tuple[str, ...]  # every word that may be its name: which one it is depends on the tool
    addresses: tuple[str, ...]  # private ones where there are some
    stopped: bool = False


class Route(NamedTuple):
    """A route, or the answer of `ip route get`."""

    place: Place
    destination: str  # default, 10.0.0.0/26, 10.96.0.1
    host: str = ""
    via: str = ""
    device: str = ""
    protocol: str = ""
    kind: str = ""  # blackhole, unreachable, local
    table: str = ""
    text: str = ""


class RoutingRule(NamedTuple):
    place: Place
    priority: int
    selector: str  # from 10.0.0.5
    table: str
    host: str = ""


class PortTest(NamedTuple):
    """Somebody tried a TCP or UDP port: nc, telnet, curl, /dev/tcp, openssl s_client."""

    place: Place
    address: str
    port: int
    result: str  # open, refused, timeout, unreachable, closed, tls-error, http-<code>
    host: str = ""  # tried from here
    tool: str = ""
    text: str = ""
    pod: str = ""  # tried inside of this pod; the host is then only where kubectl was typed
    source: str = ""  # the address or link that it was told to leave by, whatever the routes say


class Ping(NamedTuple):
    place: Place
    address: str
    ok: bool
    host: str = ""
    size: int | None = None  # payload, when given
    text: str = ""
    pod: str = ""  # as of PortTest


class Listener(NamedTuple):
    """A listening socket (ss, netstat, lsof)."""

    place: Place
    port: int
    address: str = ""
    program: str = ""
    host: str = ""


class Process(NamedTuple):
    place: Place
    command: str
    pid: int | None = None
    cpu: float | None = None
    host: str = ""

    @property
    def part(self) -> str:
        """The part of Calico's agent that it runs: felix, confd, monitor-addresses, bird ...; empty for other programs.
        Old releases say `calico-node -felix`, new ones `calico component felix` or `calico component node confd`."""
        words = self.command.split()
        name = words[0].rpartition("/")[2].rstrip(":") if words else ""
        if name in ("bird", "bird6", "confd"):
            return name
        if name in ("calico-felix", "felix"):
            return "felix"
        rest = words[1:]
        if name == "calico" and rest[:1] == ["component"]:
            rest = rest[2:] if rest[1:2] == ["node"] else rest[1:]
        elif name != "calico-node":
            return ""
        return rest[0].lstrip("-") if rest else "node"


class Load(NamedTuple):
    """Load averages, with the number of cores where it is shown."""

    place: Place
    one: float
    five: float | None = None
    fifteen: float | None = None
    cores: int | None = None
    host: str = ""


class Unit(NamedTuple):
    """A systemd unit (systemctl status, is-active, show)."""

    place: Place
    name: str
    active: str  # active, inactive, failed, activating
    detail: str = ""  # running, auto-restart; exit status
    host: str = ""


class HostFile(NamedTuple):
    """A file seen in a listing."""

    place: Place
    folder: str
    name: str
    host: str = ""
    mode: str = ""
    modified: float | None = None
    link_to: str = ""


class Disk(NamedTuple):
    """A line of df."""

    place: Place
    mount: str
    used_percent: int
    inodes: bool = False
    host: str = ""


class Number(NamedTuple):
    """A command whose whole answer is a number: `... | wc -l`, `grep -c`."""

    place: Place
    command: str
    value: int
    host: str = ""


class Certificate(NamedTuple):
    """Dates or names of a certificate (openssl x509, kubeadm certs check-expiration)."""

    place: Place
    subject: str = ""
    not_before: float | None = None
    not_after: float | None = None
    names: tuple[str, ...] = ()
    endpoint: str = ""  # what openssl s_client connected to, or the file


class Clock(NamedTuple):
    """What a machine's clock showed (date, timedatectl)."""

    place: Place
    time: float | None = None
    synchronised: bool | None = None
    host: str = ""


class Action(NamedTuple):
    """Something that a person did to a machine or the cluster, between what was shown before and after it."""

    place: Place
    verb: str  # stop, start, restart, disable, flush, set, delete, apply, reboot ...
    object: str  # firewalld, net.ipv4.ip_forward=1, pod/calico-node-x, -P FORWARD ACCEPT
    host: str = ""
    failed: bool = False  # its answer is an error


class FilterRule(NamedTuple):
    """A rule or the policy of a chain of a packet filter (iptables in all its forms, nft), in the order of the list."""

    place: Place
    chain: str  # FORWARD, cali-FORWARD, filter_FORWARD
    verdict: str  # DROP, REJECT, ACCEPT, RETURN; or the chain that it jumps to
    table: str = ""  # filter, nat, raw, mangle; `inet firewalld` of nft
    matches: str = ""  # what a packet has to be like: `-i cali+ -p tcp --dport 179`, or the columns of a list
    packets: int | None = None  # how many it met
    hook: str = ""  # input, forward, output ... of a chain that the kernel itself calls
    backend: str = ""  # legacy, nft
    policy: bool = False  # what happens to a packet that no rule of the chain decides
    host: str = ""

    @property
    def refuses(self) -> bool:
        return self.verdict in ("DROP", "REJECT")

    @property
    def of_all(self) -> bool:
        """Whether it takes every packet that comes to it."""
        return self.policy or not self.matches


class RuleCount(NamedTuple):
    """How many lines or rules one backend of iptables holds: counted by `wc -l`, `grep -c`, or in a whole list."""

    place: Place
    backend: str  # legacy, nft; empty where the command does not say
    rules: int
    words: str = ""  # only those with this text were counted: cali-, KUBE-
    host: str = ""
