"""What faults of addresses and BGP ask of a scene: who stands where, and which addresses are free. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Interface, IPv4Network
from itertools import chain, islice
from typing import Final

from tortie.lab.failures import LabFailure
from tortie.lab.faults.fault import Scene
from tortie.lab.plan import Machine, Nic

_KEPT: Final = 14  # addresses at the top: the router's, etcd's, and those that etcd may still get


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
    """An address of the node's segment that no machine of the lab has, with its length; each node gets another one."""
    network = own_address(scene.node).network
    taken = {address.ip for machine in scene.plan.machines for nic in machine.nics for address in nic.addresses}
    number = [node.name for node in scene.plan.nodes].index(scene.node.name)
    free = list(islice((address for address in _unlikely(network) if address not in taken), number + 1))
    if not free:
        raise LabFailure("no-free-address", node=scene.node.name, network=network)
    return in_its_network(scene.node, free[number % len(free)])


def _unlikely(network: IPv4Network) -> Iterator[IPv4Address]:
    """Its addresses, first those that come to be used last: nodes are numbered from below, all others from the top."""
    first, last = int(network.network_address) + 1, int(network.broadcast_address) - 1
    middle = max(first, last - _KEPT)
    yield from (IPv4Address(number) for number in chain(range(middle, first - 1, -1), range(last, middle, -1)))


def docker_bridge(scene: Scene) -> tuple[str, str]:
    """Name and MAC of a bridge as docker makes them for a network of its own."""
    name = f"br-{scene.random.getrandbits(48):012x}"
    tail = ":".join(f"{scene.random.getrandbits(8):02x}" for _ in range(4))
    return name, f"02:42:{tail}"
