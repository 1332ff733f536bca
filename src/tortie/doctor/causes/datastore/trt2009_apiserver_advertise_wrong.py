"""TRT2009: the `kubernetes` endpoint is an address that other nodes cannot use."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from ipaddress import ip_address, ip_network
from typing import Final

from tortie.doctor.causes.cause import HINT, LIKELY, POSSIBLE, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.datastore.api_evidence import (
    RULE_SIGNS,
    VIP_SIGNS,
    Endpoint,
    agents_well,
    alive_otherwise,
    answered,
    bad_node,
    direct_answers,
    direct_failures,
    kubernetes_endpoints,
    vip_troubles,
)
from tortie.doctor.causes.steps import Step
from tortie.doctor.causes.ways import restart_agent
from tortie.doctor.picture.facts import Interface, PortTest
from tortie.doctor.picture.picture import Picture

NAT: Final = ip_network("10.0.2.0/24")  # what common desktop hypervisors give every guest
ADVERTISE: Final = Culprit("setting", "advertise-address")


class Seen:
    """Where the `kubernetes` service leads, who fails on it, and which addresses are the masters'."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.endpoints = kubernetes_endpoints(picture)
        self.failing = vip_troubles(picture)
        self.own = picture.internal_ips()
        self.tested, self.untold = direct_answers(picture), direct_failures(picture)
        nodes = picture.nodes_now().values()
        roles = [node.name for node in nodes if "master" in node.roles or "control-plane" in node.roles]
        self.master_names = roles + [pod.node for pod in picture.pods_now("kube-apiserver") if pod.node]
        self.masters = [self.own[name] for name in dict.fromkeys(self.master_names) if name in self.own]

    @cached_property
    def targets(self) -> list[Target]:
        return [Target(self, endpoint) for endpoint in self.endpoints]

    def having(self, address: str) -> set[str]:
        """Nodes with this address, of whatever type: two machines of one address are two ends of no path."""
        listed = self.picture.nodes_now().items()
        nodes = {name for name, node in listed if any(each == address for _, each in node.addresses)}
        return nodes | {name for name, ip in self.own.items() if ip == address}

    @cached_property
    def silent_peers(self) -> set[str]:
        """Endpoints that were asked in vain."""
        return {endpoint.address for endpoint in self.endpoints} & {test.address for test in self.untold}


class Target:
    """One endpoint: who has its address, whether it answers, and which other addresses do."""

    def __init__(self, seen: Seen, endpoint: Endpoint) -> None:
        self.seen, self.endpoint, self.address = seen, endpoint, endpoint.address
        links = seen.picture.of(Interface)
        self.holders = [link for link in links if any(text.split("/")[0] == self.address for text in link.addresses)]
        self.hosts = {link.host for link in self.holders if link.host}
        self.refused = [test for test in seen.untold if test.address == self.address]
        self.others = [test for test in seen.tested if test.address != self.address]
        masters = set(seen.master_names)
        tried = [test for test in seen.tested if test.address == self.address]
        self.answers = [test for test in tried if test.host not in masters | self.hosts]
        self.foreign = bool(seen.own) and self.address not in seen.own.values()

    @cached_property
    def holder(self) -> str:
        """A machine that has this address and is not the master: its packets never leave it."""
        seen, hosts = self.seen, self.hosts
        agents = seen.picture.agents_now()
        sick = {
            pod.node for pod in agents if not pod.all_ready and seen.own.get(pod.node, self.address) != self.address
        }
        no_master = seen.masters and not hosts & set(seen.master_names) and self.address not in seen.masters
        served = any(_served_elsewhere(seen.picture, host, self.others) for host in hosts)
        wrong = len(hosts) > 1 or hosts & sick or served or (hosts and no_master)
        return max(hosts) if wrong else ""

    @cached_property
    def unclear(self) -> bool:
        """It is silent for a reason that need not be the address: a closed port, or a balancer answers for it."""
        if not self.refused:
            return False
        if alive_otherwise(self.seen.picture, self.seen.silent_peers):
            return True  # the machines are there, their port is not open
        beside = bool(self.others) and all(_beside(test.address, self.address) for test in self.others)
        known = self.address in self.seen.own.values()
        return beside and (known or (not self.seen.own and not self.holders))

    @property
    def fine(self) -> bool:
        """Seen to answer from another machine, or silent for a reason of its own."""
        return bool(self.answers) or self.unclear

    @property
    def nat(self) -> bool:
        """The address that a hypervisor gives to every guest, where the nodes have others."""
        elsewhere = any(ip_address(ip) not in NAT for ip in self.seen.own.values() if _plain(ip))
        return ip_address(self.address) in NAT and (self.foreign or elsewhere)


def _served_elsewhere(picture: Picture, host: str, others: list[PortTest]) -> bool:
    """This machine reaches the API at another machine's address: it is not the server, though it has its address."""
    links = (link for link in picture.of(Interface) if link.host == host)
    own = {text.split("/")[0] for link in links for text in link.addresses}
    return any(test.host == host and test.address not in own for test in others)


def _beside(one: str, other: str) -> bool:
    """In one small network: a virtual address of a balancer rather than another network of the machine."""
    return one.rpartition(".")[0] == other.rpartition(".")[0]


def _plain(text: str) -> bool:
    return text.count(".") == 3 and text.replace(".", "").isdecimal()


def _first(seen: Seen, fits: Callable[[Target], bool]) -> Target | None:
    return next((target for target in seen.targets if fits(target)), None)


def _wrong(target: Target, strength: float, *proof: object, holder: str = "", other: str = "") -> Finding:
    seen = target.seen
    if not seen.failing and strength < PROVEN:
        strength = min(strength, POSSIBLE if agents_well(seen.picture) else LIKELY)
    vip = seen.failing[0].address if seen.failing else ""
    blamed = culprits(
        named("address", target.address),
        ADVERTISE,
        Culprit("service", "kubernetes"),
        named("address", vip, *seen.masters),
    )
    return found(
        strength, blamed, (target.endpoint, *proof, *seen.failing[:2]), address=target.address, holder=holder,
        other=other, right=_right(target), node=bad_node(seen.picture),
    )  # fmt: skip


def _right(target: Target) -> str:
    """The one master's address that is not this; else what answers, unless that may be a balancer."""
    seen = target.seen
    masters = [address for address in dict.fromkeys(seen.masters) if address != target.address]
    if len(masters) == 1 and len(seen.masters) == 1:
        return masters[0]
    direct = [test.address for test in target.others if not seen.own or test.address in seen.own.values()]
    return direct[0] if len(set(direct)) == 1 else ""


def held_by_another(seen: Seen) -> Finding | None:
    target = _first(seen, lambda one: bool(one.holder))
    return _wrong(target, PROVEN, target.holders[-1], *target.refused[:1], holder=target.holder) if target else None


def shared_by_nodes(seen: Seen) -> Finding | None:
    target = _first(seen, lambda one: len(seen.having(one.address)) > 1)
    return _wrong(target, STRONG) if target else None


def another_answers(seen: Seen) -> Finding | None:
    target = _first(seen, lambda one: bool(one.refused and one.others) and not one.unclear)
    if not target:
        return None
    return _wrong(target, PROVEN, target.refused[0], target.others[0], other=target.others[0].address)


def nobodys_and_another_answers(seen: Seen) -> Finding | None:
    target = _first(seen, lambda one: one.foreign and bool(one.others) and not one.fine)
    return _wrong(target, STRONG, target.others[0], other=target.others[0].address) if target else None


def nobodys_and_silent(seen: Seen) -> Finding | None:
    target = _first(seen, lambda one: one.foreign and bool(one.refused) and not one.unclear)
    return _wrong(target, STRONG, target.refused[0]) if target else None


def nat_address(seen: Seen) -> Finding | None:
    target = _first(seen, lambda one: one.nat and not one.fine)
    return _wrong(target, STRONG) if target else None


def nobodys(seen: Seen) -> Finding | None:
    def fits(one: Target) -> bool:
        return one.foreign and not one.fine and (ip_address(one.address).is_global or bool(seen.master_names))

    target = _first(seen, fits)
    # Where no node is a master the control plane is somebody else's, and its address never one of the nodes'.
    return _wrong(target, LIKELY if seen.master_names else POSSIBLE) if target else None


def a_masters(seen: Seen) -> Finding | None:
    addresses = {endpoint.address for endpoint in seen.endpoints}
    good = [test for test in seen.picture.of(PortTest) if test.address in addresses and answered(test)]
    right = good or (addresses and addresses <= set(seen.masters))
    return ruled_out((seen.endpoints[0], *good[:1])) if right else None


def untried(seen: Seen) -> Finding | None:
    if not seen.failing or not seen.endpoints:
        return None
    first = seen.endpoints[0]
    blamed = culprits(named("address", first.address), ADVERTISE)
    return found(POSSIBLE, blamed, (first, *seen.failing[:1]), address=first.address)


def no_endpoint_shown(seen: Seen) -> Finding | None:
    if not seen.failing:
        return None
    return found(HINT, named("address", seen.failing[0].address), seen.failing[:1], vip=seen.failing[0].address)


def fix(picture: Picture, finding: Finding) -> Iterator[Do | Step]:
    yield do("links")
    versions = [node.version for node in picture.nodes_now().values()]
    packed = next((name for name in ("k3s", "rke2") if any(f"+{name}" in version for version in versions)), "")
    if packed:
        yield do(packed)
    else:
        yield do("manifest")
        yield do("kubeadm")
    if finding.rule in ("shared-by-nodes", "held-by-another", "nat-address"):
        yield do("node-ip")
    yield from restart_agent(picture, finding.value("node"))


CAUSE = Cause(
    module=__name__,
    id="apiserver-advertise-wrong",
    code="TRT2009",
    severity="high",
    explains=(
        "api-unreachable", "init-crash", "init-stuck", "crash-loop", "datastore-error", "service-dead",
        "controllers-failing",
    ),
    signs=(*VIP_SIGNS, *RULE_SIGNS),
    look=Seen,
    rules=(
        held_by_another, shared_by_nodes, another_answers, nobodys_and_another_answers, nobodys_and_silent, nat_address,
        nobodys, a_masters, untried, no_endpoint_shown,
    ),
    fix=fix,
)  # fmt: skip
