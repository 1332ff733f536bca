"""TRT5010: IPAM and reality disagree otherwise: one address with two owners, a pod on a tunnel's address."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Final

from tortie.doctor.causes.cause import LIKELY, POSSIBLE, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.cni.pods_served import all_served
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.ipam.block_owners import contests
from tortie.doctor.causes.ipam.ipam_evidence import (
    CHECK_DONE,
    CHECK_HANDLES,
    CHECK_LEAKED,
    CHECK_OUTSIDE,
    CHECK_UNALLOCATED,
    host_local,
)
from tortie.doctor.causes.nodes.installations import uses_etcd
from tortie.doctor.causes.steps import Step
from tortie.doctor.causes.underlay.traffic_evidence import Row, rows
from tortie.doctor.causes.ways import restart_agent
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Interface, Pod, Route
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Place
from tortie.doctor.signs import Hit, Sign
from tortie.model.tuples import NamedTuple

OCCUPIED: Final = Sign("ipam-tunnel-occupied", "Current address is occupied, assign a new one")
IPIP_ADDRESS: Final = Sign("ipam-ipip-tunnel-address", "projectcalico.org/IPv4IPIPTunnelAddr: <ip>")
VXLAN_ADDRESS: Final = Sign("ipam-vxlan-tunnel-address", "projectcalico.org/IPv4VXLANTunnelAddr: <ip>")
TUNNELS: Final = ("tunl0", "vxlan.calico", "wireguard.cali")
ANNOTATIONS: Final = {
    "projectcalico.org/IPv4IPIPTunnelAddr": "tunl0",
    "projectcalico.org/IPv4VXLANTunnelAddr": "vxlan.calico",
}
GONE: Final = ("Completed", "Evicted", "Succeeded", "Failed", "Terminating", "Error")
_IPV4: Final = lazily(r"(?:\d{1,3}\.){3}\d{1,3}")
_LISTED: Final = lazily(r"\s++((?:\d{1,3}\.){3}\d{1,3})\s")  # an address that begins a line of the check


class Tunnel(NamedTuple):
    device: str
    node: str
    place: Place


class Seen:
    """Addresses of pods and tunnels, and what a check of IPAM counts."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.odd = [hit for hit in picture.hits(CHECK_UNALLOCATED, CHECK_OUTSIDE, CHECK_HANDLES) if _number(hit)]
        self.occupied = picture.hits(OCCUPIED)
        self.checked = picture.hits(CHECK_DONE)

    @cached_property
    def pods(self) -> list[Pod]:
        """Pods that live now with an address of their own."""
        hosts = set(self.picture.internal_ips().values())
        addressed = [pod for pod in self.picture.pods_now() if pod.ip and pod.status not in GONE]
        return [pod for pod in addressed if pod.ip not in hosts and pod.ip != pod.host_ip]

    @cached_property
    def tunnels(self) -> dict[str, Tunnel]:
        """By address, as the device or the node's annotation has it."""
        tunnels: dict[str, Tunnel] = {}
        for link in self.picture.of(Interface):
            if link.name.split("@")[0] in TUNNELS:
                for address in link.addresses:
                    tunnels[address.partition("/")[0]] = Tunnel(link.name, link.host, link.place)
        for node in self.picture.nodes_now().values():
            for key, device in ANNOTATIONS.items():
                if node.annotation(key):
                    tunnels[node.annotation(key)] = Tunnel(device, node.name, node.place)
        for hit in self.picture.hits(IPIP_ADDRESS, VXLAN_ADDRESS):
            device = TUNNELS[0] if hit.sign == IPIP_ADDRESS.key else TUNNELS[1]
            tunnels.setdefault(hit.value("ip"), Tunnel(device, "", hit.place))
        return tunnels

    def pairs(self) -> Iterator[tuple[Pod, Pod]]:
        """Two pods with one address; three and more, or system pods, are on the host's network."""
        owners: dict[str, list[Pod]] = {}
        for pod in self.pods:
            owners.setdefault(pod.ip, []).append(pod)
        two = (some for some in owners.values() if len(some) == 2)
        return ((first, second) for first, second in two if _own(first) and _own(second))

    def owners(self, ip: str) -> list[Row]:
        """Who has an address, as `calicoctl ipam show --ip` says."""
        shown = rows(self.picture, r"^\s*pod: (?P<pod>\S+)", "ipam show", needle="pod: ")
        return [row for row in shown if row.command.endswith((f"={ip}", f" {ip}"))]

    def full_name(self, host: str) -> str:
        """A host as Kubernetes names it: its own shell may leave the domain out."""
        names = [*self.picture.nodes_now(), *(pod.node for pod in self.pods if pod.node)]
        return next((name for name in names if host and name.startswith(f"{host}.")), host)

    @cached_property
    def listed(self) -> list[str]:
        """Addresses that the check names."""
        lines = (line for e in self.picture.exhibits if "ipam check" in e.command for line in e.lines[:2000])
        return list(dict.fromkeys(match[1] for line in lines if (match := _LISTED.match(line))))[:5]


def _own(pod: Pod) -> bool:
    system = pod.name.startswith(("kube-", "etcd-", "calico-node", "canal", "node-exporter", "tortie-node"))
    return bool(pod.node) and not system


def _number(hit: Hit) -> int:
    return int(float(hit.value("n") or 0))


def tunnel_taken(seen: Seen) -> Finding | None:
    pods = {pod.ip: pod for pod in seen.pods}
    ip = next((ip for ip in seen.tunnels if ip in pods), "")
    if not ip:
        return None
    pod, tunnel = pods[ip], seen.tunnels[ip]
    blamed = culprits(
        named("address", ip), named("pod", pod.name), named("interface", tunnel.device),
        named("node", tunnel.node, pod.node),
    )  # fmt: skip
    return found(
        PROVEN, blamed, (tunnel.place, pod), ip=ip, pod=pod.name, pod_namespace=pod.namespace,
        device=tunnel.device, node=seen.full_name(tunnel.node),
    )  # fmt: skip


def tunnel_routed(seen: Seen) -> Finding | None:
    """The host has the address itself, and a route for it to one of its pods, which gets nothing."""
    both = (
        (route, tunnel)
        for route in seen.picture.of(Route)
        if route.device.startswith("cali") and (tunnel := seen.tunnels.get(route.destination.removesuffix("/32")))
        and route.host == tunnel.node
    )  # fmt: skip
    route, tunnel = next(both, (None, None))
    if route is None or tunnel is None:
        return None
    ip = route.destination.removesuffix("/32")
    blamed = culprits(named("address", ip), named("interface", tunnel.device, route.device), named("node", tunnel.node))
    return found(
        PROVEN, blamed, (tunnel.place, route), ip=ip, device=tunnel.device, link=route.device,
        node=seen.full_name(tunnel.node),
    )  # fmt: skip


def block_contested(seen: Seen) -> Finding | None:
    contest = next(contests(seen.picture), None)
    if contest is None:
        return None
    first, second = contest.claims[:2]
    wrong = contest.others[0] if contest.others else None
    known = wrong.name if wrong else ""
    blamed = culprits(
        named("resource", *([known] if wrong else [claim.name for claim in contest.claims])),
        named("block", contest.block), named("node", *([wrong.node] if wrong else [])),
        named("node", *(claim.node for claim in contest.claims)),
    )  # fmt: skip
    return found(
        PROVEN if contest.routes or contest.holder else STRONG, blamed, (first.place, second.place, *contest.routes),
        block=contest.block, first=first.node, second=second.node, key=known if known.startswith("/") else "",
        affinity="" if known.startswith("/") else known,
        record=contest.block.replace(".", "-").replace("/", "-"), etcd_block=contest.block.replace("/", "-"),
    )  # fmt: skip


def two_pods(seen: Seen) -> Finding | None:
    pair = next(seen.pairs(), None)
    if pair is None:
        return None
    first, second = pair
    blamed = culprits(named("address", first.ip), named("pod", first.name, second.name))
    # On one node both may be on the host's network, unless IPAM gave the address to one of them, or its check says that
    # pods hold what nobody gave them.
    unallocated = [hit for hit in seen.odd if hit.sign == CHECK_UNALLOCATED.key]
    owner = [row for row in seen.owners(first.ip) if row["pod"] in (first.name, second.name)]
    if owner and owner[0]["pod"] == second.name:
        first, second = second, first  # who was given the address keeps it
    sure = first.node != second.node or owner
    return found(
        PROVEN if sure else LIKELY if unallocated else POSSIBLE, blamed, (*pair, *owner[:1], *unallocated[:1]),
        ip=first.ip, other=first.name, pod=second.name, pod_namespace=second.namespace,
    )  # fmt: skip


def addresses_in_files(seen: Seen) -> Finding | None:
    """With host-local every address is one that Calico's IPAM has not allocated."""
    return ruled_out(seen.odd[:1]) if seen.odd and host_local(seen.picture) else None


def check_disagrees(seen: Seen) -> Finding | None:
    if not seen.odd:
        return None
    leaks = [hit for hit in seen.picture.hits(CHECK_LEAKED) if _number(hit)]
    unallocated = any(hit.sign == CHECK_UNALLOCATED.key for hit in seen.odd)
    blamed = culprits(
        named("address", *seen.listed), Culprit("program", "calicoctl ipam check"), Culprit("resource", "IPAM")
    )
    return found(
        LIKELY if unallocated and not leaks else POSSIBLE, blamed, (*seen.odd[:3], *seen.checked[:1]),
        aside=bool(all_served(seen.picture)),  # true, and nobody's symptom yet
        counts="; ".join(hit.text for hit in seen.odd[:3]), ip=seen.listed[0] if seen.listed else "",
        unallocated="yes" if unallocated else "",
    )  # fmt: skip


def tunnel_occupied(seen: Seen) -> Finding | None:
    if not seen.occupied:
        return None
    after = (hit.line.rpartition("occupied")[2] for hit in seen.occupied)
    address = next((match[0] for text in after if (match := _IPV4.search(text))), "")
    # The node takes another address by itself then: what agents suffer from is something else.
    alone = not seen.picture.agents_now()
    blamed = culprits(named("address", address), named("interface", TUNNELS[0]))
    return found(LIKELY if alone else POSSIBLE, blamed, seen.occupied[:2], ip=address)


def check_clean(seen: Seen) -> Finding | None:
    return ruled_out(seen.checked[-1:]) if seen.checked and not _number(seen.checked[-1]) else None


def fix(picture: Picture, finding: Finding) -> Iterator[Do | Step]:
    if finding.rule == "block-contested":
        in_etcd = bool(finding.value("key")) or uses_etcd(picture)
        yield do("whose-block-etcd" if in_etcd else "whose-block")
        yield do("give-up-etcd" if in_etcd else "give-up")
        return
    yield do("look")
    general = not finding.rule
    if finding.rule == "two-pods":
        yield do("one-of-two")
    elif finding.value("pod") or finding.rule == "tunnel-routed":
        yield do("recreate")
    elif general or finding.value("unallocated"):
        yield from _unallocated(picture)
    if finding.value("node"):
        yield from restart_agent(picture, finding.value("node"))
    elif general or finding.rule in ("tunnel-taken", "tunnel-routed", "tunnel-occupied"):
        yield do("restart")
    if general or finding.rule == "check-disagrees":
        yield do("report")
        yield do("release")


def _unallocated(picture: Picture) -> Iterator[Do]:
    """The pods whose addresses the check names, where they are shown."""
    listed = Seen(picture).listed
    pods = [pod for pod in picture.pods_now() if pod.ip and pod.ip in listed]
    yield from (do("recreate", pod=pod.name, pod_namespace=pod.namespace) for pod in pods)
    if not pods:
        yield do("recreate")


CAUSE = Cause(
    module=__name__,
    id="ipam-inconsistent",
    code="TRT5010",
    severity="medium",
    explains=("traffic-dead", "service-dead", "sandbox-failed", "log-errors"),
    signs=(
        OCCUPIED, IPIP_ADDRESS, VXLAN_ADDRESS, CHECK_UNALLOCATED, CHECK_OUTSIDE, CHECK_HANDLES, CHECK_LEAKED,
        CHECK_DONE,
    ),
    look=Seen,
    rules=(
        tunnel_taken, tunnel_routed, two_pods, block_contested, addresses_in_files, check_disagrees, tunnel_occupied,
        check_clean,
    ),
    fix=fix,
    yields_to=("duplicate-nodename", "stale-cni-config"),
)  # fmt: skip
