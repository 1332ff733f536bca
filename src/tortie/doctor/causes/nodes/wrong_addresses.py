"""Wrong registered addresses: every ground on which one can be told from what people paste."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_interface
from typing import Final

from tortie.bgp.calling import waits
from tortie.doctor.causes.cause import LIKELY, POSSIBLE, PROVEN, STRONG
from tortie.doctor.causes.nodes.address_replay import would_choose
from tortie.doctor.causes.nodes.bgp_addresses import (
    Seen,
    gateway_like,
    gone_from_host,
    inner_link,
    link_with,
    masked,
    near,
    registrations,
    session_link,
    told_old,
)
from tortie.doctor.causes.nodes.bgp_evidence import (
    complaints,
    conflicts,
    is_external,
    missing_peers,
    node_at,
    node_called,
    remembered,
    same_host,
    session_node,
    unknown_connects,
)
from tortie.doctor.causes.nodes.floating_addresses import floating
from tortie.doctor.causes.nodes.tunnel_networks import elsewhere
from tortie.doctor.causes.nodes.unnamed_addresses import beside_the_told, foreign
from tortie.doctor.picture.addresses import inside
from tortie.doctor.picture.facts import Interface, PortTest
from tortie.doctor.picture.picture import Picture
from tortie.model.tuples import NamedTuple

KUBELET: Final = 10250
_LEAST_OTHERS: Final = 2  # nodes whose addresses show where nodes are
ANSWERS: Final = ("open", "tls-error", "http-401", "http-403", "http-404", "http-200")


class Suspect(NamedTuple):
    """A wrong registered address, as far as one ground tells it; unknown parts are empty."""

    ground: str
    strength: float
    address: str = ""
    interface: str = ""
    node: str = ""
    internal: str = ""  # what the node should have registered
    evidence: tuple[object, ...] = ()


def is_network(address: str, length: int) -> bool:
    """The address of a whole network, which no host has: some releases register it for their node."""
    try:
        network = ip_interface(f"{address}/{length or 24}").network
    except ValueError:
        return False
    return network.prefixlen < network.max_prefixlen - 1 and str(network.network_address) == address


@remembered
def suspects(picture: Picture) -> list[Suspect]:
    """Strongest first."""
    grounds = (
        _floating,
        _registered,
        _inner,
        _nobodys,
        _on_inner,
        _second_link,
        _replayed,
        _against_order,
        _unknown,
        _contested,
        _moved,
        _odd_one,
        _odd_record,
        _unnamed,
        _elsewhere,
    )
    every = (suspect for ground in grounds for suspect in ground(picture))
    hosts = _hosts(picture)
    found = [one for one in every if not told_old(picture, one.address) and one.address not in hosts]
    return sorted(found, key=lambda suspect: -suspect.strength)


def _unnamed(picture: Picture) -> Iterator[Suspect]:
    for strength, seen in foreign(picture):
        if not is_network(seen.address, seen.length):
            yield Suspect("unnamed", strength, seen.address, seen.interface, evidence=(seen,))
    for strength, peer, said in beside_the_told(picture):
        yield Suspect("told", strength, peer.address, evidence=(said, peer))


def _elsewhere(picture: Picture) -> Iterator[Suspect]:
    """Tunnels lead through another link than the one that Kubernetes knows; a ping there in vain says what for."""
    if one := elsewhere(picture):
        strength = STRONG if one.silent else POSSIBLE
        yield Suspect("tunnels", strength, one.end.address, one.link.device, one.end.node, "", (one.end, *one[1:]))


def _hosts(picture: Picture) -> set[str]:
    """Addresses at which a kubelet answers: peers that look for a node there look at the right place."""
    return {test.address for test in picture.of(PortTest) if test.port == KUBELET and test.result in ANSWERS}


def _floating(picture: Picture) -> Iterator[Suspect]:
    """A VIP, which is elsewhere when its program moves it."""
    for one in floating(picture):
        name = one.seen.interface or (one.link.name if one.link else "")
        yield Suspect("floating", STRONG, one.seen.address, name, one.seen.node, one.own, one.why)


def _registered(picture: Picture) -> Iterator[Suspect]:
    """A node's stored or chosen address is not its InternalIP."""
    ips = picture.internal_ips()
    last = {seen.node: seen for seen in registrations(picture) if seen.node and ":" not in seen.address}
    wrong = {node: seen for node, seen in last.items() if node in ips and seen.address != ips[node]}
    named = {peer.address for peer in missing_peers(picture)}
    for node, seen in wrong.items():
        if ":" in ips[node] or gone_from_host(picture, node, seen.address) or seen.address in _others(ips, node):
            continue
        if is_network(seen.address, seen.length) or masked(picture, seen):
            continue  # no address of that node's link
        link = link_with(picture, seen.address, node)
        name = seen.interface or (link.name if link else "")
        apart = not near(seen.address, ips[node], seen.length or 24)
        # A network of its own for Calico is a decision, not an accident, as long as its sessions stand.
        shared = [other for other in last.values() if other.node != node and near(other.address, seen.address, 24)]
        twins = [other for other in shared if other.address == seen.address]
        if inner_link(name) or seen.address in named or twins:
            strength = PROVEN
        elif apart and not (shared and len(shared) == len(last) - 1 and not named):
            strength = STRONG
        else:
            strength = STRONG if link and seen.via == "log" else POSSIBLE
        yield Suspect("registered", strength, seen.address, name, node, ips[node], (seen, link))


def _others(ips: dict[str, str], node: str) -> set[str]:
    return {ip for name, ip in ips.items() if name != node}


def _inner(picture: Picture) -> Iterator[Suspect]:
    """The log says that a link of docker, libvirt or a VPN was chosen, and nothing later took it back."""
    ips = set(picture.internal_ips().values())
    logged = [seen for seen in registrations(picture) if seen.via == "log" and seen.interface]
    last = {(seen.place.source, seen.node or seen.place.first): seen for seen in logged}
    for seen in last.values():
        if seen.address in ips:
            continue
        if inner_link(seen.interface):
            yield Suspect("inner", STRONG, seen.address, seen.interface, seen.node, "", (seen,))
        elif session_link(seen.interface):
            yield Suspect("session-link", POSSIBLE, seen.address, seen.interface, seen.node, "", (seen,))


def _nobodys(picture: Picture) -> Iterator[Suspect]:
    """A peer of the mesh is nobody's InternalIP."""
    ips = picture.internal_ips()
    if not ips:
        return
    relics = _relics(picture)
    for peer in missing_peers(picture):
        if peer.address in ips.values() or ":" in peer.address or peer.address in relics:
            continue
        link = link_with(picture, peer.address)
        node = (node_called(picture, link.host) if link and link.host else "") or missing_node(picture, peer.seen_from)
        elsewhere = not any(near(peer.address, ip) for ip in ips.values())
        if elsewhere and (len(ips) > 1 or (link and inner_link(link.name))):
            strength = PROVEN if link and inner_link(link.name) else STRONG
        elif node and node in ips:
            # In the node's own network it may as well be an address that the node had before.
            strength = STRONG if link or not near(peer.address, ips[node], 24) else POSSIBLE
        elif len(ips) == 1 and not elsewhere:
            continue  # the other nodes are simply not shown
        else:
            strength = LIKELY if elsewhere and gateway_like(peer.address) else POSSIBLE
        name = link.name if link else ""
        yield Suspect("nobodys", strength, peer.address, name, node, ips.get(node, ""), (peer, link))


def _relics(picture: Picture) -> set[str]:
    """Addresses that only names have which Kubernetes does not list: nodes that were removed, not their links."""
    nodes = picture.nodes_now()
    recorded = [seen for seen in registrations(picture) if seen.node and seen.via != "log"]
    living = {seen.address for seen in recorded if seen.node in nodes}
    return {seen.address for seen in recorded if len(nodes) > 1 and seen.node not in nodes} - living


def missing_node(picture: Picture, seen_from: str) -> str:
    """The only node whose InternalIP is absent from the peers that this node shows."""
    ips = picture.internal_ips()
    if not seen_from or seen_from not in ips:
        return ""
    shown = {session.peer for session in picture.sessions() if session_node(picture, session) == seen_from}
    shown |= {address for c in complaints(picture) if c.node == seen_from for address in c.peers}
    absent = [name for name, ip in ips.items() if ip not in shown and name != seen_from]
    return absent[0] if len(absent) == 1 else ""


def _on_inner(picture: Picture) -> Iterator[Suspect]:
    """A peer's address hangs on a bridge that docker or libvirt made."""
    ips = set(picture.internal_ips().values())
    for peer in missing_peers(picture):
        link = link_with(picture, peer.address)
        if link and inner_link(link.name) and peer.address not in ips:
            # Every host has such a bridge; one that misses the peer is not that peer.
            node = node_called(picture, link.host) if not same_host(link.host, peer.seen_from) else ""
            yield Suspect("on-inner", STRONG, peer.address, link.name, node, "", (peer, link))


def _second_link(picture: Picture) -> Iterator[Suspect]:
    """A peer's address is on one link of a host, and another link of it lies where the other nodes are."""
    ips = set(picture.internal_ips().values())
    missing = missing_peers(picture)
    for peer in missing:
        link = link_with(picture, peer.address)
        if link is None or peer.address in ips or inner_link(link.name):
            continue
        others = ips | {session.peer for session in picture.sessions() if session.peer != peer.address}
        others |= {other.address for other in missing if other.address != peer.address}
        others |= {a.split("/")[0] for other in _uplinks(picture) if other.host != link.host for a in other.addresses}
        if any(near(peer.address, other, 24) for other in others):
            continue
        beside = [other for other in _uplinks(picture) if other.host == link.host and other.name != link.name]
        home = next(
            (a for other in beside for a in other.addresses if any(near(a.split("/")[0], o, 24) for o in others)), ""
        )
        if home:
            node = node_called(picture, link.host)
            yield Suspect("second-link", STRONG, peer.address, link.name, node, home.split("/")[0], (link, peer))


def _replayed(picture: Picture) -> Iterator[Suspect]:
    """A node without sessions on which first-found would take another address than its InternalIP; no proof."""
    ips = picture.internal_ips()
    for node in dict.fromkeys(peer.seen_from for peer in missing_peers(picture)):
        chosen = would_choose(picture, node) if node in ips else None
        registered = any(seen.node == node for seen in registrations(picture))
        if chosen and chosen.address not in ips.values() and not registered:
            yield Suspect("replay", POSSIBLE, chosen.address, chosen.interface, node, ips[node], (chosen,))


def _uplinks(picture: Picture) -> list[Interface]:
    return [link for link in picture.of(Interface) if link.name != "lo" and not inner_link(link.name)]


def _against_order(picture: Picture) -> Iterator[Suspect]:
    """Passive towards a peer that sorts below the InternalIP: the registered address must be another one."""
    ips = picture.internal_ips()
    for session in picture.sessions_down():
        if session.info.strip().lower() != "passive" or is_external(session) or ":" in session.peer:
            continue
        node = session_node(picture, session)
        own = ips.get(node, "")
        if own and not waits(own, session.peer) and own != session.peer and session.peer in ips.values():
            yield Suspect("order", STRONG, "", "", node, own, (session,))


def _unknown(picture: Picture) -> Iterator[Suspect]:
    """A node knocks from its InternalIP and is unknown: it is registered under another address."""
    if picture.value("nodeToNodeMeshEnabled") == "false":
        return
    registered = {(seen.node, seen.address) for seen in registrations(picture)}
    for hit in unknown_connects(picture):
        owner = picture.owner_of(hit.value("ip"))
        if (owner, hit.value("ip")) in registered:
            continue  # whoever does not know it has not read its own configuration
        if owner and any(peer.address != hit.value("ip") for peer in missing_peers(picture)):
            yield Suspect("unknown", STRONG, "", "", owner, hit.value("ip"), (hit,))


def _contested(picture: Picture) -> Iterator[Suspect]:
    """Start-up ended over an address that every host has: a bridge's or a NAT link's."""
    ips = picture.internal_ips()
    for hit in conflicts(picture):
        address = hit.value("ip")
        if address in ips.values():
            continue
        chosen = [seen for seen in registrations(picture) if seen.address == address and seen.interface]
        link = link_with(picture, address)
        name = chosen[-1].interface if chosen else link.name if link else ""
        node = (chosen[-1].node if chosen else "") or node_at(picture, hit.place, hit.host)
        elsewhere = len(ips) > 1 and not any(near(address, ip) for ip in ips.values())
        evidence = (*chosen[-1:], link, hit)
        if inner_link(name) or (elsewhere and (name or gateway_like(address))):
            yield Suspect("contested", PROVEN, address, name, node, "", evidence)
        elif elsewhere or gateway_like(address):
            yield Suspect("contested", STRONG, address, name, node, "", evidence)


def _moved(picture: Picture) -> Iterator[Suspect]:
    """One log chose one link first and another later, while running: the later one appeared in between."""
    ips = set(picture.internal_ips().values())
    chosen: dict[tuple[str, str], list[Seen]] = {}
    for seen in registrations(picture):
        if seen.via == "log" and seen.interface:
            chosen.setdefault((seen.place.source, seen.node), []).append(seen)
    for rows in chosen.values():
        first, last = rows[0], rows[-1]
        if first.interface != last.interface and first.address != last.address and last.address not in ips:
            strength = STRONG if first.address in ips or session_link(last.interface) else LIKELY
            yield Suspect("moved", strength, last.address, last.interface, last.node, first.address, (first, last))


def _in_network(address: str, told: str) -> bool:
    """As people tell it: 10.3., 10.3.x, or with a mask."""
    return inside(address, told) if "/" in told else address.startswith(told.rstrip("x*"))


def _odd_one(picture: Picture) -> Iterator[Suspect]:
    """An address such as docker hands to itself, while every other address of nodes lies elsewhere."""
    others = set(picture.internal_ips().values()) | {session.peer for session in picture.sessions()}
    others |= {address for complaint in complaints(picture) for address in complaint.peers}
    others |= {a.split("/")[0] for link in _uplinks(picture) for a in link.addresses if ":" not in a}
    said = picture.said("nodes-network")
    for peer in missing_peers(picture):
        address = peer.address
        rest = others - {address}
        if address in picture.internal_ips().values():
            continue
        told = any(address in one.text for one in said)  # a node of another network, which the person knows
        if said and not told and not any(_in_network(address, value) for one in said for value in one.values if value):
            yield Suspect("odd", LIKELY, address, "", "", "", (peer, *said))
        elif gateway_like(address):
            strength = LIKELY if rest and not any(near(address, other) for other in rest) else POSSIBLE
            yield Suspect("odd", strength, address, "", "", "", (peer,))


def _odd_record(picture: Picture) -> Iterator[Suspect]:
    """Of all nodes' records one carries an address that docker gives itself, and the others lie together elsewhere."""
    ips = picture.internal_ips()
    records = {seen.node: seen for seen in registrations(picture) if seen.node and seen.via != "log"}
    for node, seen in records.items():
        others = [one.address for name, one in records.items() if name != node]
        together = len(others) >= _LEAST_OTHERS and all(near(others[0], other) for other in others)
        if node in ips or not together or not gateway_like(seen.address) or near(seen.address, others[0], 12):
            continue
        yield Suspect("odd-record", STRONG, seen.address, "", node, "", (seen,))
