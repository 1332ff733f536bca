"""A plan as JSON and back: what `--dry-run -o json` prints and what the keeper leaves in the lab's folder.

Neighbours are left out: they follow from the machines, and in a large lab they would be most of the file.
"""

from __future__ import annotations

from ipaddress import IPv4Network, IPv6Network, ip_address, ip_interface, ip_network
from typing import Any

from tortie.lab.plan import Bridge, LabPlan, Machine, Nic, PoolPlan, Segment, StorePlan
from tortie.lab.planning import with_neighbours

Json = dict[str, Any]


def as_json(plan: LabPlan) -> Json:
    return {
        "name": plan.name,
        "store": {"kind": plan.store.kind, "members": list(plan.store.members), "tls": plan.store.tls},
        "racks": list(plan.racks),
        "as_number": plan.as_number,
        "classic": plan.classic,
        "hurry": plan.hurry,
        "pools": [_texts(pool._asdict()) for pool in plan.pools],
        "segments": [_texts(segment._asdict()) for segment in plan.segments],
        "machines": [_machine_json(machine) for machine in plan.machines],
    }


def from_json(raw: Json) -> LabPlan:
    """The plan that `as_json` wrote down."""
    return LabPlan(
        raw["name"],
        tuple(_segment(each) for each in raw["segments"]),
        with_neighbours(_machine(each) for each in raw["machines"]),
        StorePlan(raw["store"]["kind"], tuple(raw["store"]["members"]), raw["store"].get("tls", False)),
        tuple(PoolPlan(**{**each, "cidr": ip_network(each["cidr"])}) for each in raw["pools"]),
        tuple(raw["racks"]),
        raw["as_number"],
        raw.get("classic", ""),
        raw.get("hurry", 0),
    )


def _texts(fields: Json) -> Json:
    """Networks and addresses as people write them; all else as it is."""
    plain = (str, int, type(None))
    return {name: value if isinstance(value, plain) else str(value) for name, value in fields.items()}


def _machine_json(machine: Machine) -> Json:
    return {
        "name": machine.name,
        "role": machine.role,
        "rack": machine.rack,
        "address": str(machine.address),
        "nics": [
            {**_texts(nic._asdict()), "addresses": [str(address) for address in nic.addresses]} for nic in machine.nics
        ],
        "bridges": [
            {"name": bridge.name, "addresses": [str(address) for address in bridge.addresses]}
            for bridge in machine.bridges
        ],
        "routes": [{"destination": str(network), "gateway": str(ip)} for network, ip in machine.routes],
        "forwarding": machine.forwarding,
        "settings": machine.settings,
        "labels": machine.labels,
        "blocks": [str(block) for block in machine.blocks],
    }


def _segment(raw: Json) -> Segment:
    network6 = IPv6Network(raw["network6"]) if raw["network6"] else None
    return Segment(raw["name"], IPv4Network(raw["network"]), network6, raw["mtu"])


def _machine(raw: Json) -> Machine:
    return Machine(
        raw["name"],
        raw["role"],
        raw["rack"],
        tuple(Nic(**{**nic, "addresses": tuple(map(ip_interface, nic["addresses"]))}) for nic in raw["nics"]),
        tuple(Bridge(bridge["name"], tuple(map(ip_interface, bridge["addresses"]))) for bridge in raw["bridges"]),
        tuple((ip_network(route["destination"]), ip_address(route["gateway"])) for route in raw["routes"]),
        forwarding=raw["forwarding"],
        settings=dict(raw["settings"]),
        labels=dict(raw["labels"]),
        blocks=tuple(map(ip_network, raw["blocks"])),
    )
