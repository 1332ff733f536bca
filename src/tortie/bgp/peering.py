"""Which neighbours the BGPPeers ask of one node: those it shall call, and those that were told to peer with it. Pure.

Calico's rules. A BGPPeer without node and nodeSelector is global. Where its peer is a node of the cluster, that node
gets the reverse peering by itself, unless reversePeering says Manual. Of several peerings with one address and port one
is left: a global one before one for the node, one that was asked for before a reverse one, else the first by name.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Final, Literal, NamedTuple

from tortie.bgp.cluster import Cluster
from tortie.bgp.entries import Speaker, unusable
from tortie.bgp.plan import BGP_PORT, Refusal
from tortie.model.network import IP, Family
from tortie.model.resources.bgp import BGPPeerSpec
from tortie.model.selector import Selector, parse

FAMILIES: Final[tuple[Family, ...]] = (4, 6)

Kind = Literal["node", "global"]
Place = tuple[IP, int]


class Peering(NamedTuple):
    """A neighbour that a BGPPeer asks for."""

    kind: Kind
    resource: str
    spec: BGPPeerSpec
    peer: IP
    port: int  # 0 when nobody named one
    peer_as: int
    node: Speaker | None  # the node of this cluster that listens there
    reverse: bool = False  # it was the neighbour that was told to peer with us

    @property
    def place(self) -> Place:
        return self.peer, self.port or BGP_PORT


class Nodes:
    """The nodes of the cluster as seen from one of them; each selector and each address is looked up once."""

    def __init__(self, cluster: Cluster, me: Speaker) -> None:
        self.cluster = cluster
        self.me = me
        self._selected: dict[str, tuple[Speaker, ...]] = {}
        self._by_ip: dict[IP, Speaker] = {}

    def selected(self, selector: str) -> tuple[Speaker, ...]:
        found = self._selected.get(selector)
        if found is None:
            matches = _parsed(selector).matches
            found = tuple(speaker for speaker in self.cluster.speakers.values() if matches(speaker.labels))
            self._selected[selector] = found
        return found

    def selects_me(self, selector: str) -> bool:
        return _parsed(selector).matches(self.me.labels)

    def at(self, ip: IP) -> Speaker | None:
        """The node with that address; the first by name if several claim it."""
        if not self._by_ip:
            for speaker in self.cluster.speakers.values():
                for own in (speaker.ipv4, speaker.ipv6):
                    if own is not None:
                        self._by_ip.setdefault(own, speaker)
        return self._by_ip.get(ip)

    def listening_at(self, ip: IP, port: int) -> Speaker | None:
        """The node whose BGP one reaches there; with port 0 wherever it listens."""
        speaker = self.at(ip)
        return speaker if speaker and port in (0, self.cluster.port_of(speaker.name)) else None


@lru_cache(maxsize=1024)
def _parsed(selector: str) -> Selector:
    return parse(selector)


class Asked(NamedTuple):
    """What the BGPPeers come to for one node."""

    peerings: dict[Place, Peering]
    refusals: list[Refusal]


def asked(nodes: Nodes) -> Asked:
    found = Asked({}, [])
    peers = nodes.cluster.peers.items()
    kinds: tuple[Kind, ...] = ("global", "node")
    for kind in kinds:
        for name, spec in peers:
            if kind == _kind(spec) and _is_local(spec, nodes):
                for peering in _forward(kind, name, spec, nodes, found.refusals):
                    found.peerings.setdefault(peering.place, peering)
    for name, spec in peers:
        for peering in _reverse(name, spec, nodes):
            found.peerings.setdefault(peering.place, peering)
    return found


def _kind(spec: BGPPeerSpec) -> Kind:
    return "node" if spec.node or spec.nodeSelector else "global"


def _is_local(spec: BGPPeerSpec, nodes: Nodes) -> bool:
    if spec.nodeSelector:
        return nodes.selects_me(spec.nodeSelector)
    return not spec.node or spec.node == nodes.me.name


def _forward(kind: Kind, name: str, spec: BGPPeerSpec, nodes: Nodes, refusals: list[Refusal]) -> Iterator[Peering]:
    if spec.localWorkloadSelector:
        refusals.append(_workloads(name))
    elif spec.peerSelector:
        for speaker in nodes.selected(spec.peerSelector):
            if speaker.name != nodes.me.name:
                yield from _with_node(kind, name, spec, speaker, nodes.cluster.as_of(speaker), nodes)
    else:
        made = _with_address(kind, name, spec, nodes)
        if isinstance(made, Peering):
            yield made
        elif made is not None:
            refusals.append(made)


def _with_node(
    kind: Kind, name: str, spec: BGPPeerSpec, speaker: Speaker, peer_as: int, nodes: Nodes
) -> Iterator[Peering]:
    """One peering for each family that both have; none with a node that claims our own address."""
    port = nodes.cluster.port_given(speaker.name)
    for family in FAMILIES:
        own, ip = nodes.me.ip(family), speaker.ip(family)
        if own is not None and ip is not None and ip != own:
            yield Peering(kind, name, spec, ip, port, peer_as, speaker)


def _with_address(kind: Kind, name: str, spec: BGPPeerSpec, nodes: Nodes) -> Peering | Refusal | None:
    what = f"BGPPeer({name}): no session"
    if spec.peerIP is None:
        return Refusal(what, "it names no peer", "set its peerIP or its peerSelector")
    ip, port = spec.peerIP.address, spec.peerIP.port or 0
    if why := unusable(ip):
        return Refusal(what, why, "set its peerIP to the address of the neighbour")
    if ip in (nodes.me.ipv4, nodes.me.ipv6):
        if not spec.node:  # it is for all the nodes that are selected, other than the one that is the peer itself
            return None
        why = f"{ip} is an address of {nodes.me.name} itself"
        return Refusal(what, why, "set its peerIP to the address of the neighbour, or its node to the other node")
    family = ip.version
    if nodes.me.ip(family) is None:
        why = f"{ip} is an IPv{family} address, and this node has registered none of that family"
        variable = "IP" if family == 4 else "IP6"
        return Refusal(what, why, f"set {variable}=autodetect on this node, or leave the node out by its nodeSelector")
    speaker = nodes.listening_at(ip, port)
    peer_as = spec.asNumber or (nodes.cluster.as_of(speaker) if speaker else None)
    if peer_as is None:
        why = f"it has no asNumber, and {spec.peerIP} is no node of this cluster, whose AS would be known"
        return Refusal(what, why, "set its asNumber to the AS of the neighbour")
    if speaker and not port and peer_as == nodes.cluster.as_of(speaker):
        port = nodes.cluster.port_given(speaker.name)
    return Peering(kind, name, spec, ip, port, int(peer_as), speaker)


def _reverse(name: str, spec: BGPPeerSpec, nodes: Nodes) -> Iterator[Peering]:
    """If we are the peer that the BGPPeer means: peerings with the nodes that it is for."""
    if spec.reversePeering == "Manual" or spec.localWorkloadSelector:
        return
    if spec.peerSelector:
        if not nodes.selects_me(spec.peerSelector):
            return
        family: Family | None = None
    else:
        if spec.peerIP is None or not _means_me(spec, nodes):
            return
        family = spec.peerIP.address.version
    for speaker in _local_nodes(spec, nodes):
        if speaker.name == nodes.me.name:
            continue
        # Towards its peers that node speaks as the AS which the BGPPeer gives it.
        peer_as = int(spec.localASNumber or nodes.cluster.as_of(speaker))
        for peering in _with_node("node", name, spec, speaker, peer_as, nodes):
            if family in (None, peering.peer.version):
                yield peering._replace(reverse=True)


def _means_me(spec: BGPPeerSpec, nodes: Nodes) -> bool:
    if spec.peerIP is None or spec.peerIP.address not in (nodes.me.ipv4, nodes.me.ipv6):
        return False
    same_port = spec.peerIP.port in (None, nodes.cluster.port_of(nodes.me.name))
    return same_port and spec.asNumber in (None, nodes.cluster.as_of(nodes.me))


def _local_nodes(spec: BGPPeerSpec, nodes: Nodes) -> tuple[Speaker, ...]:
    if spec.nodeSelector:
        return nodes.selected(spec.nodeSelector)
    if not spec.node:
        return tuple(nodes.cluster.speakers.values())
    speaker = nodes.cluster.speakers.get(spec.node)
    return (speaker,) if speaker else ()


def _workloads(name: str) -> Refusal:
    return Refusal(
        f"BGPPeer({name}): no session with workloads",
        "it has a localWorkloadSelector, and Tortie does not speak BGP with pods",
        f"peer with the workloads' nodes or routers by peerIP, or delete it: `tortie delete bgppeer {name}`",
        "resource",  # a node that was to have nothing else is as ready as it can be
    )
