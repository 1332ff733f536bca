"""Whose evidence it is: what a machine says of itself counts for the cluster only if the machine is one of its nodes.

People collect from a jump box or a laptop, whose load, sysctl and links say nothing of any node. What kubectl and
calicoctl print there is the cluster's, and counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import (
    CalicoNode,
    Clock,
    Disk,
    FilterRule,
    HostFile,
    Interface,
    Listener,
    Load,
    LogLine,
    Node,
    Number,
    Process,
    Route,
    RoutingRule,
    RuleCount,
    Setting,
    Unit,
)
from tortie.doctor.picture.picture import Picture, remembered
from tortie.doctor.reading.archives import Skipped
from tortie.doctor.reading.commands import effective, programs, word_set
from tortie.doctor.reading.exhibit import Exhibit, Place
from tortie.doctor.words import Words

_OF_MACHINES: Final = (
    Clock, Disk, FilterRule, HostFile, Interface, Listener, Load, LogLine, Number, Process, Route, RoutingRule,
    RuleCount, Unit,
)  # fmt: skip
# Programs that ask others, wherever they run: a cluster's API, another machine.
_ASK_OTHERS: Final = word_set(
    "kubectl oc helm k9s etcdctl istioctl aws gcloud az openstack ansible ssh curl wget nc ncat netcat telnet ping "
    "ping6 openssl dig nslookup host traceroute mtr tracepath nmap talosctl eksctl kops rke rancher tortie virsh"
)
_SHOW_FILES: Final = word_set("cat less more head tail grep egrep zgrep zcat sed awk jq yq vi vim")
_OWN_FILES: Final = lazily(
    r"(?:^|[\s'\"=])/(?:etc|proc|sys|run|opt/cni|usr|var/lib|var/run|var/log/(?:messages|syslog|kern|calico|pods|"
    r"containers|audit))\b"
)
_OF_AGENTS: Final = ("calico-node", "bird", "felix", "confd", "kubelet", "kube-proxy", "kube-apiserver")
# A list that a command narrowed down does not name all nodes.
_ALL_NODES: Final = lazily(
    r"\bget\s{1,8}(?:-\S{1,60}\s{1,8}){0,8}no(?:des?)?\b(?!\s+[a-z0-9])"
    r"(?![^;]{0,400}?(?:\s-l\b|--selector|\|))"
)
# What only a node has, asked where it is; an answer that there is no such thing says the opposite.
_OWN_UNITS: Final = lazily(
    r"\b(?:systemctl|journalctl|service)\b.{0,300}\b(?:kubelet|calico-node|kube-proxy|k3s|rke2|microk8s)"
    r"|\b(?:crictl|ctr) "
)
_ABSENT: Final = (
    "Unit ",
    "-- No entries",
    "inactive",
    "unknown",
    "bash:",
    "-bash:",
    "sudo:",
    "Failed to ",
    "WARN",
    "FATA",
)
_ANY_NAME: Final = frozenset(("localhost", "local", "linux", "ubuntu", "debian", "centos", "host", "server", "root"))
_OF_CLUSTERS: Final = lazily(
    r"node|master|worker|minion|k8s|kube|k3s|rke|control|cluster|etcd|slave|agent|compute|infra|\bcp\d|^ip-\d|^[nmw]\d+$"
)
_WORD: Final = lazily(r"[a-z]{3,}")
_NO_ADDRESS: Final = ("127.", "169.254.", "::1", "fe80:")


def only_of_nodes(picture: Picture) -> Picture:
    """The same picture without what machines say of themselves that are none of the cluster's nodes."""
    foreign = foreign_hosts(picture)
    if not foreign:
        return picture
    own = {(exhibit.source, number) for exhibit in picture.exhibits if exhibit.host in foreign
           for number in _numbers(exhibit)}  # fmt: skip
    left = Picture(picture.exhibits)
    left.inputs = picture.inputs
    left.add(fact for fact in picture.facts() if not (_of_machine(fact) and _stands_on(fact.place, own)))
    left.add_hits(hit for hit in picture.all_hits() if not _stands_on(hit.place, own))
    left.left_out = {source: set(lines) for source, lines in picture.left_out.items()}
    for source, number in own:
        left.left_out.setdefault(source, set()).add(number)
    left.skipped = (*picture.skipped, *(Skipped(host, _why(host)) for host in sorted(foreign)))
    return left


def _why(host: str) -> Words:
    return Words(
        f"what {host} says of itself does not count: it is none of the cluster's nodes",
        f"{host} 不是集群节点，它本机的信息不作为依据",
    )


@remembered
def foreign_hosts(picture: Picture) -> frozenset[str]:
    """Hosts of prompts that are known not to be nodes. In doubt a host is one."""
    listed = _listed(picture)
    hosts = {exhibit.host for exhibit in picture.exhibits if exhibit.host and not exhibit.prose}
    if not listed or not hosts:
        return frozenset()
    names = _names(picture)
    return frozenset(host for host in hosts if _is_foreign(picture, host, names))


def _listed(picture: Picture) -> bool:
    """Whether the evidence names all nodes: a list without filter, or several of them in a table."""
    rows = [node for node in picture.of(Node) if node.status]
    if len({node.name for node in rows}) > 1:
        return True
    return bool(rows) and any(_ALL_NODES.search(exhibit.command) for exhibit in picture.exhibits if exhibit.command)


def _names(picture: Picture) -> set[str]:
    """Everything that a node is called: names, host names, addresses."""
    names = {*picture.nodes_now(), *(node.name for node in picture.of(CalicoNode)), *picture.internal_ips()}
    for node in picture.of(Node):
        names |= {value for _, value in node.addresses} | {node.internal_ip}
        names |= {value for key, value in node.labels if key == "kubernetes.io/hostname"}
    names |= {*picture.internal_ips().values(), *(fact.address for fact in picture.registered())}
    return {name.lower() for name in names if name}


def _is_foreign(picture: Picture, host: str, names: set[str]) -> bool:
    low = host.lower()
    own = {low, *(s.value.lower() for s in picture.settings("name", "host") if s.host == host)}
    if own & names or {name.partition(".")[0] for name in own} & {
        name.partition(".")[0] for name in names if _is_name(name)
    }:
        return False
    if _runs_agent(picture, host):
        return False
    if _OF_CLUSTERS.search(low) or len(low) == 1:
        return False
    words = set(_WORD.findall(low)) - _ANY_NAME
    called = [name for name in names if _is_name(name)]
    if any(word in name or set(_WORD.findall(name)) & words for word in words for name in called):
        return False
    addresses = set(_addresses(picture, host))
    known = {name for name in names if not _is_name(name)}
    # A name that says nothing (vm, localhost) needs addresses that are nobody's.
    return not addresses & known if addresses and known else bool(words)


def _is_name(name: str) -> bool:
    """Not an address."""
    return not (":" in name or name.replace(".", "").isdecimal())


def _addresses(picture: Picture, host: str) -> Iterator[str]:
    """Addresses of a machine's own, as far as it shows them."""
    for link in picture.interfaces(host):
        yield from (a.partition("/")[0] for a in link.addresses if not a.startswith(_NO_ADDRESS))
    for setting in picture.settings("addresses", "host"):
        if setting.host == host:
            yield from setting.value.split()


def _runs_agent(picture: Picture, host: str) -> bool:
    """A machine with pods' links, kubelet or the agent is a node, whatever its prompt calls it."""
    if any(link.name.startswith(("cali", "vxlan.calico", "tunl0")) for link in picture.interfaces(host)):
        return True
    asked = (e for e in picture.exhibits if e.host == host and e.lines and _OWN_UNITS.search(e.command))
    if any(not line.startswith(_ABSENT) for exhibit in asked for line in exhibit.lines[:1]):
        return True
    of_host = (
        *(process.command for process in picture.of(Process) if process.host == host),
        *(listener.program for listener in picture.of(Listener) if listener.host == host),
        *(unit.name for unit in picture.of(Unit) if unit.host == host and unit.active != "not-found"),
        *(line.program for line in picture.of(LogLine) if line.host == host),
        *(each.name for each in picture.of(Setting) if each.host == host and each.scope == "runtime-container"),
        *(file.name for file in picture.of(HostFile) if file.host == host and "cni" in file.folder),
    )  # fmt: skip
    return any(agent in word for word in of_host for agent in (*_OF_AGENTS, "calico"))


def _numbers(exhibit: Exhibit) -> Iterator[int]:
    """The lines of an exhibit, if its command asks the machine that it was typed at."""
    if exhibit.prose or exhibit.pod or not asks_itself(exhibit.command):
        return
    yield from (exhibit.number(index) for index in range(len(exhibit.lines)))


def asks_itself(command: str) -> bool:
    if not command:
        return True
    reached = effective(command)
    if reached.host or reached.pod:
        return False
    used = programs(command)
    if any(program in _ASK_OTHERS for program in used):
        return False
    if "calicoctl" in used or "calico" in used:
        return re.search(r"\bnode\s+(?:status|checksystem|diags)\b", command) is not None
    if used and all(program in _SHOW_FILES for program in used):
        return _OWN_FILES.search(command) is not None
    return True


def _of_machine(fact: object) -> bool:
    return isinstance(fact, (*_OF_MACHINES, Setting)) and bool(getattr(fact, "host", "") or isinstance(fact, LogLine))


def _stands_on(place: Place, lines: set[tuple[str, int]]) -> bool:
    return all((place.source, number) in lines for number in range(place.first, place.last + 1))
