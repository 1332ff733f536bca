"""TRT5008: pod or service range overlaps node addresses or each other."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from ipaddress import ip_address
from typing import Final

from tortie.doctor.causes.cause import (
    LIKELY,
    POSSIBLE,
    PROVEN,
    STRONG,
    Cause,
    Do,
    Finding,
    do,
    found,
    places,
    ruled_out,
)
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.datastore.api_evidence import RULE_SIGNS, VIP_SIGNS, troubles, vip_rules
from tortie.doctor.causes.ipam.cluster_ranges import (
    CLUSTER_FLAG,
    POD_SUBNET,
    SERVICE_FLAG,
    SERVICE_SUBNET,
    Overlap,
    host_addresses,
    lies_in,
    network_of,
    overlaps,
    pod_ranges,
)
from tortie.doctor.causes.ipam.further_pool import like_the_first
from tortie.doctor.causes.ipam.outside_in_pool import outsiders
from tortie.doctor.causes.ipam.swallowed import Swallowed, swallowed
from tortie.doctor.causes.ipam.told_networks import ToldOverlap, beyond, told_overlap
from tortie.doctor.causes.ipam.trt5012_nat_outgoing_off import UPSTREAM
from tortie.doctor.causes.shared import DNS_FAILED
from tortie.doctor.causes.steps import Step
from tortie.doctor.causes.ways import set_agent_env
from tortie.doctor.picture.facts import Ping, Pod, PortTest, Route, Session, Statement
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Sign
from tortie.doctor.texts import Text

OWN_ADDRESS: Final = Sign("trt5008-own-address", "lies in the pool <cidr>, where pods live")  # an agent of Tortie's
_NEAR: Final = (
    "kube",
    "k8s",
    "api",
    ".svc",
    ".local",
    ".internal",
    ".lan",
    ".intra",
)  # names in a cluster's own network
_PORTS: Final = (443, 6443, 53)  # the API and DNS


def _far(address: str) -> bool:
    """On the Internet, where no range of a cluster is: whoever does not get there has another trouble."""
    try:
        return ip_address(address).is_global
    except ValueError:
        return "." in address and not any(word in address for word in _NEAR)


class Seen:
    """The overlaps, and who suffers."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.clashes = overlaps(picture)
        self.outsiders = sorted(outsiders(picture), key=lambda one: -one.sure)
        self.agents = picture.agents_now()
        self.healthy = bool(self.agents) and all(pod.all_ready for pod in self.agents)
        self.troubles = [trouble for trouble in troubles(picture) if not _far(trouble.address)]
        self.failing = [trouble for trouble in self.troubles if trouble.port in _PORTS]
        self.from_pods = [trouble for trouble in self.failing if trouble.from_pod]

    @property
    def clash(self) -> Overlap:
        return self.clashes[0]

    @cached_property
    def served(self) -> bool:
        """Nothing says that the service has no rules: that would be kube-proxy's fault."""
        rules = vip_rules(self.picture)
        return not rules or rules.present

    @cached_property
    def unwell(self) -> bool:
        down = any(session.state != "up" for session in self.picture.of(Session))
        return (bool(self.agents) and not self.healthy) or down

    @property
    def suffered(self) -> list[Statement]:
        """People say that something is not reached."""
        return self.picture.said("suffers", "network-dead", "cross-node-dead", "host-pod-dead", "service-dead")

    @cached_property
    def claimed(self) -> list[Route]:
        """Blocks that nodes own, or have learned, with a node's address in them: packets for it end there."""
        addresses = [clash.other for clash in self.clashes if clash.kind == "pods-nodes"]
        owned = (r for r in self.picture.of(Route) if r.kind == "blackhole" or r.protocol in ("bird", "80"))
        blocks = ((route, network_of(route.destination)) for route in owned)
        return [route for route, block in blocks if block and any(lies_in(address, block) for address in addresses)]

    @cached_property
    def swallowed(self) -> list[Swallowed]:
        """Blocks inside of the machines' own networks, which lie inside of a pool."""
        return swallowed(self.picture, [str(item.network) for item in pod_ranges(self.picture)])

    @cached_property
    def told(self) -> ToldOverlap | None:
        return told_overlap(self.picture)

    @cached_property
    def lost_with_pods(self) -> list[Statement]:
        return self.picture.said("host-lost-with-pods")

    @cached_property
    def avoided(self) -> list[object]:
        return [hit for hit in self.picture.hits(OWN_ADDRESS) if hit.value("cidr") == self.clash.range]

    @cached_property
    def stuck(self) -> list[Pod]:
        others = [pod for pod in self.picture.pods_now() if pod not in self.agents]
        return [pod for pod in others if pod.status in ("CrashLoopBackOff", "Error") or pod.ready == 0]

    @cached_property
    def tried(self) -> list[object]:
        silent = [trouble for trouble in self.troubles if trouble.how != "refused"]
        return [*(ping for ping in self.picture.of(Ping) if not ping.ok and not _far(ping.address)), *silent]

    @cached_property
    def beside_nodes(self) -> list[object]:
        """Pods' trials of machines beside the nodes, inside of a pool: what is in one leaves without NAT."""
        addresses = [clash.other for clash in self.clashes if clash.kind == "pods-nodes"]
        near = [network for address in addresses if (network := network_of(_beside(address)))]
        pods = {pod.ip for pod in self.picture.of(Pod)}
        trials: list[Ping | PortTest] = [ping for ping in self.picture.of(Ping) if ping.pod and not ping.ok]
        trials += [test for test in self.picture.of(PortTest) if test.pod and test.result == "timeout"]
        tried = [one for one in trials if one.address not in pods]
        return [one for one in tried if any(lies_in(one.address, network) for network in near)]

    @cached_property
    def unanswered(self) -> list[object]:
        """Trials of the address from pods, or from nobody knows where."""
        asked = [hit for hit in self.picture.hits(UPSTREAM) if hit.value("ip_server") == self.clash.other]
        pings = [ping for ping in self.picture.of(Ping) if not ping.ok and ping.address == self.clash.other]
        return [*asked, *(ping for ping in pings if ping.pod or not ping.host)]

    @property
    def evidence(self) -> tuple[object, ...]:
        silent = self.unanswered[:2] if self.clash.kind == "pods-outside" else ()
        shown = (
            *self.clash.places,
            *silent,
            *self.claimed[:1],
            *self.avoided[:1],
            *self.from_pods[:2],
            *self.failing[:1],
        )
        return (*shown, *(self.tried or self.beside_nodes)[:1], *self.stuck[:2])

    @property
    def culprits(self) -> tuple[Culprit, ...]:
        first, rest = self.clash, self.clashes
        return culprits(
            named("cidr", first.range),
            named("address", first.other),
            named("pool", first.pool) if first.pool else named("setting", first.name),
            named("cidr", *(clash.range for clash in rest)),
            named("address", *(clash.other for clash in rest)),
        )


def disjoint(seen: Seen) -> Finding | None:
    met = seen.clashes or seen.outsiders or seen.told or any(one.gateway for one in seen.swallowed)
    pods = [] if met else pod_ranges(seen.picture)
    clear = pods and host_addresses(seen.picture)
    return ruled_out((pods[0].place,), range=str(pods[0].network)) if clear else None


def pods_fail(seen: Seen) -> Finding | None:
    fits = seen.clashes and seen.from_pods and seen.served
    return _overlap(seen, PROVEN if seen.healthy else STRONG) if fits else None


def name_server_silent(seen: Seen) -> Finding | None:
    """What lies in a pool is looked for among pods, and leaves without NAT: it never answers."""
    if not seen.clashes or seen.clash.kind != "pods-outside" or not seen.unanswered:
        return None
    return _overlap(seen, PROVEN if seen.healthy else STRONG)


def _beside(address: str) -> str:
    return f"{address}/64" if ":" in address else f"{address}/24"


def service_outside(seen: Seen) -> Finding | None:
    """An address of a pool that is no pod's: NAT is left out for it, whatever the pool says."""
    if not seen.outsiders:
        return None
    first = seen.outsiders[0]
    if not first.sure and seen.clashes:
        return None
    clash = Overlap("pods-beyond", first.pool.cidr, first.address, first.places, first.pool.name)
    return found(
        (POSSIBLE, LIKELY, STRONG, PROVEN)[first.sure], first.culprits, first.places, overlap=_told(clash),
        range=clash.range, kind=clash.kind, pool=clash.pool, other=clash.other, pods=first.pods or clash.range,
        say="service-in-disabled-pool" if first.pool.disabled else "",
    )  # fmt: skip


def network_in_block(seen: Seen) -> Finding | None:
    """The gateway, or neighbours of the machine, are taken for pods."""
    felt = [*seen.lost_with_pods, *seen.suffered]
    if not seen.swallowed or not (felt or seen.unwell):
        return None
    clashes = [clash for clash in seen.clashes if clash.kind == "pods-nodes"]
    first = seen.swallowed[0]
    if not clashes and not first.gateway:
        return None  # a pool that was cut out of the machines' network: somebody may have wanted that
    item = next(
        one for one in pod_ranges(seen.picture) if lies_in(first.block.destination.partition("/")[0], one.network)
    )
    clash = next(iter(clashes), None) or Overlap(
        "pods-gateway", str(item.network), first.other, (item.place,), item.name
    )
    who = culprits(
        named("cidr", clash.range), named("address", clash.other, first.other), named("block", first.block.destination),
        named("pool", clash.pool) if clash.pool else named("setting", clash.name), named("node", first.host),
    )  # fmt: skip
    return found(
        PROVEN if seen.avoided or (first.gateway and felt) else STRONG, who,
        (*clash.places, first.block, first.place, *felt[:1]),
        say="gateway-in-block" if first.gateway else "network-in-block",
        overlap=_told(clash), range=clash.range, kind="pods-nodes", pool=clash.pool, block=first.block.destination,
        other=first.other,
    )  # fmt: skip


def network_told(seen: Seen) -> Finding | None:
    """Nothing shows the machines' addresses; a person says that their network, or a server, is where the pods are."""
    shown = any(clash.kind.startswith("pods") for clash in seen.clashes)
    if not seen.told or shown or not (seen.suffered or seen.tried or seen.unwell):
        return None
    item, first, addresses = seen.told.range, seen.told.first, seen.told.addresses
    clash = Overlap("pods-lan", str(item.network), first.address, (item.place, first.place), item.name)
    who = culprits(
        named("cidr", clash.range), named("address", *addresses[:3]),
        named("pool", clash.pool) if clash.pool else named("setting", clash.name),
    )  # fmt: skip
    network, several = "/" in first.address, len(addresses) > 1
    # Where the nodes are elsewhere, that network is of others: it matters to whoever does not get there.
    nodes = host_addresses(seen.picture)
    sure = (not nodes and (network or several)) or any(beyond(one.text, seen.told.told) for one in seen.suffered)
    return found(
        STRONG if sure and network and several else LIKELY if sure else POSSIBLE, who,
        (*clash.places, *seen.suffered[:2], *seen.tried[:1]),
        overlap=_told(clash), range=clash.range, kind=clash.kind, pool=clash.pool,
    )  # fmt: skip


def overlap_told(seen: Seen) -> Finding | None:
    """A person says that the ranges are the same, and that something in them is not reached."""
    said = seen.picture.said("pods-cidr-overlap")
    pods = pod_ranges(seen.picture)
    if not said or not pods or seen.clashes or not (seen.suffered or seen.tried):
        return None
    item = next((one for one in pods if any(str(one.network) in each.text for each in said)), pods[0])
    clash = Overlap("pods-told", str(item.network), "", (item.place, said[0].place), item.name)
    who = culprits(
        named("cidr", clash.range), named("pool", clash.pool) if clash.pool else named("setting", clash.name)
    )
    return found(
        LIKELY, who, (*clash.places, *seen.suffered[:2]), say="network-told",
        overlap=_told(clash), range=clash.range, kind="pods-lan", pool=clash.pool,
    )  # fmt: skip


def machine_lost(seen: Seen) -> Finding | None:
    """Told, not shown: the machine loses the network when the first block is taken."""
    if not seen.clashes or seen.clash.kind != "pods-nodes" or not seen.lost_with_pods:
        return None
    finding = _overlap(seen, STRONG)
    return finding._replace(evidence=places((*seen.lost_with_pods[:1], *finding.evidence)))


def address_in_block(seen: Seen) -> Finding | None:
    if not seen.clashes or seen.clash.kind != "pods-nodes" or not seen.claimed:
        return None
    if not seen.unwell and not seen.suffered:
        return None
    return _overlap(seen, PROVEN if seen.avoided else STRONG if seen.unwell else LIKELY)


def address_avoided(seen: Seen) -> Finding | None:
    fits = seen.clashes and seen.clash.kind == "pods-nodes" and seen.unwell and seen.avoided
    return _overlap(seen, STRONG) if fits else None


def service_fails(seen: Seen) -> Finding | None:
    if not seen.clashes or not seen.failing or not seen.served:
        return None
    return _overlap(seen, LIKELY if seen.clash.kind == "pods-nodes" else STRONG)


def traffic_fails(seen: Seen) -> Finding | None:
    if not seen.clashes:
        return None
    broken = seen.picture.said("pods-cidr-overlap", "cross-node-dead", "service-dead", "host-pod-dead")
    unserved = seen.clash.kind in ("services-pods", "pods-service") and seen.picture.hits(DNS_FAILED)
    waiting = seen.stuck and (seen.healthy or not seen.agents)
    dead = (seen.healthy and seen.tried) or seen.beside_nodes
    return _overlap(seen, LIKELY) if waiting or broken or unserved or dead else None


def nothing_fails(seen: Seen) -> Finding | None:
    return _overlap(seen, LIKELY)._replace(aside=True) if seen.clashes else None


def _overlap(seen: Seen, strength: float) -> Finding:
    clash = seen.clash
    block = seen.claimed[0].destination if seen.claimed else ""
    return found(
        strength, seen.culprits, seen.evidence,
        overlap=_told(clash), range=clash.range, kind=clash.kind, pool=clash.pool, block=block,
    )  # fmt: skip


def _told(clash: Overlap) -> Text:
    told = (("range", clash.range), ("other", clash.other), ("node", clash.node))
    return Text(__name__, f"word {clash.kind}", told)


def fix(picture: Picture, finding: Finding) -> Iterator[Do | Step]:
    if finding.value("kind") == "pods-beyond" and ":" not in finding.value("range"):
        yield do("by-hand")
    if finding.value("kind") == "pods-beyond" and finding.value("pods") != finding.value("range"):
        yield do("delete")  # no pod of today's has its address there
        return
    if finding.value("kind") not in ("pods-nodes", "pods-outside", "pods-beyond", "pods-lan"):
        yield do("rebuild")
        yield do("pools")
        return
    yield do("new-pool", **like_the_first(picture))
    yield do("close")
    yield from set_agent_env(picture, "CALICO_IPV4POOL_CIDR", "")
    yield do("elsewhere")
    yield do("recreate")
    yield do("delete")


CAUSE = Cause(
    module=__name__,
    id="cidr-overlap",
    code="TRT5008",
    severity="high",
    explains=(
        "controllers-failing", "api-unreachable", "service-dead", "traffic-dead", "crash-loop", "datastore-error",
        "not-ready", "bgp-down",
    ),
    signs=(
        *VIP_SIGNS, *RULE_SIGNS, POD_SUBNET, SERVICE_SUBNET, SERVICE_FLAG, CLUSTER_FLAG, OWN_ADDRESS, UPSTREAM,
        DNS_FAILED,
    ),
    look=Seen,
    rules=(
        disjoint, pods_fail, name_server_silent, service_outside, network_in_block, machine_lost, address_in_block,
        address_avoided, network_told, overlap_told, service_fails, traffic_fails, nothing_fails,
    ),
    fix=fix,
)  # fmt: skip
