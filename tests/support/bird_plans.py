"""Plans for BIRD, put together by hand."""

from __future__ import annotations

from ipaddress import IPv4Address, ip_address, ip_interface, ip_network
from typing import Any

from tortie.bgp.plan import PREFIX_OF, Plan, Session
from tortie.model.network import CIDR, IP, Network
from tortie.model.resources.bgp import BGPFilterSpec
from tortie.model.shape import value_of


def networks(*texts: str) -> tuple[Network, ...]:
    return tuple(ip_network(text) for text in texts)


def addresses(*texts: str) -> tuple[CIDR, ...]:
    return tuple(ip_interface(text) for text in texts)


def rules(**lists: list[dict[str, Any]]) -> BGPFilterSpec:
    """A BGPFilter's spec from what people write in YAML."""
    return value_of(lists, BGPFilterSpec)


def session(peer: str, **fields: Any) -> Session:
    """A neighbour, internal unless told otherwise, named as Calico names it."""
    ip: IP = ip_address(peer)
    kind = fields.setdefault("kind", "mesh")
    name = f"{PREFIX_OF[kind]}_{peer.replace('.', '_').replace(':', '_')}"
    if "peer_port" in fields:
        name += f"_port_{fields['peer_port']}"
    if isinstance(source := fields.get("source"), str):
        fields["source"] = ip_address(source)
    return Session(**{"name": name, "peer": ip, "peer_as": 64512, "local_as": 64512, **fields})


def plan(*sessions: Session, **fields: Any) -> Plan:
    """Of the node 10.77.0.1."""
    given = {"node": "node-1", "router_id": IPv4Address("10.77.0.1"), "as_number": 64512}
    return Plan(**{**given, "networks": addresses("10.77.0.1/24"), "sessions": sessions, **fields})
