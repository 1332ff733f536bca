"""NAT for packets that leave the pools, as one table of nftables for each family. Pure.

Names and order are Felix's: sets of the pools, a chain behind kube-proxy's, and in it one rule for what leaves the
pools. Then rules for what this machine itself sends into a tunnel from an address that is not the tunnel's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from ipaddress import ip_network
from typing import Final

from tortie.dataplane.felix import FelixSettings
from tortie.dataplane.known import State
from tortie.dataplane.things import TUNNELS, NatTable
from tortie.model.network import IP, Family, Network

TABLE: Final = "calico"
MARK: Final = "tortie:"  # what our tables' comments begin with; the rest is a digest of the table
_PRIORITY: Final = 110  # ten behind where kube-proxy does its NAT
_FAMILIES: Final[tuple[Family, ...]] = (4, 6)


def nat_tables(state: State, tunnels: Iterable[Family]) -> tuple[NatTable, ...]:
    """For both families; an empty text where none is needed. `tunnels`: families that have a VXLAN device."""
    return tuple(_table(state, family, family in tunnels) for family in _FAMILIES)


def _table(state: State, family: Family, tunnelled: bool) -> NatTable:
    leaving = [pool.cidr for pool in state.pools if pool.cidr.version == family and pool.of_pods and pool.nat]
    pools = [pool.cidr for pool in state.pools if pool.cidr.version == family and pool.of_pods]
    if not leaving and not tunnelled:
        return NatTable(family)
    words = "ip" if family == 4 else "ip6"
    sets: list[tuple[str, list[str]]] = []
    rules: list[str] = []
    if leaving:
        sets += [
            (_set("masq-ipam-pools", family), _spanning(leaving)),
            (_set("network-ip-pools", family), _spanning(pools)),
        ]
        spared = state.felix.nat_spares_hosts
        if spared:
            sets.append((_set("all-hosts-net", family), _spanning(_hosts(state, family))))
        rules = list(_outgoing(state.felix, family, words, spared))
    masquerading = list(_into_tunnel(TUNNELS[family], state.felix.vxlan_port)) if tunnelled else []
    body = _body(family, sets, rules, masquerading)
    mark = MARK + sha256(body.encode()).hexdigest()[:32]
    head = f"table {words} {TABLE}\ndelete table {words} {TABLE}\n"
    text = f'{head}table {words} {TABLE} {{\n  comment "{mark}"\n{body}}}\n'
    return NatTable(family, text, mark, 2 + len(rules) + len(masquerading))


def _outgoing(felix: FelixSettings, family: Family, words: str, spared: bool) -> Iterator[str]:
    match = f"{words} saddr @{_set('masq-ipam-pools', family)} {words} daddr != @{_set('network-ip-pools', family)}"
    if spared:
        match += f" {words} daddr != @{_set('all-hosts-net', family)}"
    if felix.nat_interfaces:
        match += f' oifname "{felix.nat_interfaces.replace("+", "*")}"'
    address = felix.nat_address if family == 4 else None
    verdict = f"snat to {address}" if address else "masquerade"
    why = 'comment "leaves the pools"'
    if felix.nat_ports:
        first, last = felix.nat_ports
        ranged = f"{verdict}:{first}-{last}" if address else f"masquerade to :{first}-{last}"
        for protocol in ("tcp", "udp"):
            yield f"{match} meta l4proto {protocol} counter {ranged} {why}"
    yield f"{match} counter {verdict} {why}"


def _into_tunnel(device: str, vxlan_port: int) -> Iterator[str]:
    """Never from the port of VXLAN itself: the answer would be taken for a packet of the tunnel."""
    match = f'oifname "{device}" fib saddr . oif type != local fib saddr type local'
    why = 'comment "from another address of this machine"'
    if vxlan_port < 65535:
        yield f"{match} meta l4proto udp counter masquerade to :{vxlan_port + 1}-65535 {why}"
    yield f"{match} counter masquerade {why}"


def _body(
    family: Family, sets: Sequence[tuple[str, list[str]]], outgoing: Sequence[str], masquerading: Sequence[str]
) -> str:
    """One statement in each line: older versions of nft ask for it."""
    lines = []
    for name, elements in sets:
        lines += [f"  set {name} {{", f"    type ipv{family}_addr", "    flags interval"]
        lines += [f"    elements = {{ {', '.join(elements)} }}"] if elements else []
        lines.append("  }")
    lines += ["  chain nat-cali-nat-outgoing {", *(f"    {rule}" for rule in outgoing), "  }"]
    jump = "    counter jump nat-cali-nat-outgoing"
    lines += ["  chain nat-cali-POSTROUTING {", jump, *(f"    {rule}" for rule in masquerading), "  }"]
    hook = f"    type nat hook postrouting priority {_PRIORITY}; policy accept;"
    lines += ["  chain nat-POSTROUTING {", hook, "    counter jump nat-cali-POSTROUTING", "  }"]
    return "\n".join(lines) + "\n"


def _hosts(state: State, family: Family) -> list[Network]:
    ips: set[IP] = set()
    for node in state.nodes.values():
        address = node.address(family)
        ips |= {address.ip} if address else set()
        ips |= {ip for ip in node.others if ip.version == family}
    return [ip_network(ip) for ip in ips]


def _spanning(networks: Iterable[Network]) -> list[str]:
    """Without those that lie in another: nftables takes no element twice."""
    kept: list[Network] = []
    for network in sorted(set(networks), key=lambda network: (int(network.network_address), network.prefixlen)):
        if not kept or int(network.broadcast_address) > int(kept[-1].broadcast_address):
            kept.append(network)
    return [str(network) for network in kept]


def _set(name: str, family: Family) -> str:
    return f"cali{family}0{name}"
