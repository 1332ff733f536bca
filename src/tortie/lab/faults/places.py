"""What faults of addresses and BGP ask of a scene: who stands where, and which addresses are free. Pure."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Interface
from typing import Final

from tortie.lab.faults.fault import Scene
from tortie.lab.plan import Machine, Nic

# Nodes are numbered from below, the router and etcd stand at the top; in between nobody is.
_FREE: Final = range(240, 200, -1)


def uplink(machine: Machine) -> Nic:
    """The NIC that the other machines reach it by."""
    return machine.nics[0]


def own_address(machine: Machine) -> IPv4Interface:
    """With the length of its network, as the kernel has it."""
    address = uplink(machine).addresses[0]
    if not isinstance(address, IPv4Interface):
        raise TypeError(f"{machine.name} has no IPv4 address in the first place")
    return address


def in_its_network(machine: Machine, address: object) -> str:
    """Another address with the length of the machine's own network."""
    return f"{address}/{own_address(machine).network.prefixlen}"


def free_address(scene: Scene) -> str:
    """An address of the node's segment that no machine of the lab has, with its length."""
    network = own_address(scene.node).network
    taken = {address.ip for machine in scene.plan.machines for nic in machine.nics for address in nic.addresses}
    chosen = [IPv4Address(int(network.network_address) + number) for number in _FREE]
    return in_its_network(scene.node, next(address for address in chosen if address not in taken))


def docker_bridge(scene: Scene) -> tuple[str, str]:
    """Name and MAC of a bridge as docker makes them for a network of its own."""
    name = f"br-{scene.random.getrandbits(48):012x}"
    tail = ":".join(f"{scene.random.getrandbits(8):02x}" for _ in range(4))
    return name, f"02:42:{tail}"
