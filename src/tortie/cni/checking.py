"""CHECK: whether everything that ADD made is still so: cable, routes, settings, WorkloadEndpoint, addresses in IPAM."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from ipaddress import ip_network
from typing import Any

from tortie.cni import delegation
from tortie.cni.config import Network
from tortie.cni.errors import CONFIG, DIFFERENT, CniError
from tortie.cni.identity import Identity, identify
from tortie.cni.invocation import Invocation
from tortie.cni.means import READ_S, Means
from tortie.cni.results import addresses_in, interface_in, routes_in
from tortie.dataplane.workload import EVERYWHERE, GATEWAY4, Cable
from tortie.dataplane.workload_check import differences
from tortie.ipam.block import same_handle
from tortie.ipam.records import read_block, read_handle
from tortie.model.keys import block_key, handle_key
from tortie.model.network import IP
from tortie.model.wire import decode


async def check(means: Means, invocation: Invocation, network: Network, namespace: int) -> None:
    """`CniError` with every difference."""
    previous = _previous(network)
    who = identify(invocation, network, means.node, means.prefix)
    inside = interface_in(previous, who.endpoint)
    if inside is None:
        why = f"it has no interface {who.endpoint} with a sandbox"
        raise CniError(CONFIG, "prevResult does not say what is to be checked", why)
    ips = tuple(address.ip for address in addresses_in(previous))
    told = tuple(to for to in routes_in(previous) if to != ip_network(GATEWAY4))
    mac, mtu = str(inside.get("mac") or "").lower(), inside.get("mtu") or network.mtu or 0
    cable = Cable(who.host_interface, who.endpoint, mac, ips, told or EVERYWHERE, mtu)
    found = differences(cable, namespace)
    found += await _datastore(means, who, network, ips, mac)
    if network.ipam_type and not network.owns_ipam:
        await delegation.run("CHECK", invocation, network)
    _tell(found, who)


async def check_addresses(means: Means, invocation: Invocation, network: Network) -> None:
    """As somebody else's IPAM plugin."""
    who = identify(invocation, network, means.node, means.prefix)
    ips = tuple(address.ip for address in addresses_in(_previous(network)))
    _tell(list(await _ipam(means, who, ips)), who)


def _previous(network: Network) -> Mapping[str, Any]:
    if network.previous is None:
        raise CniError(CONFIG, "CHECK without prevResult", "nobody can tell what was set up", "call it as libcni does")
    return network.previous


def _tell(found: list[str], who: Identity) -> None:
    if found:
        fix = "delete the pod, so that it is made anew; routes and settings of the node come back by themselves"
        raise CniError(DIFFERENT, f"{who.spoken} is not as it was set up: {found[0]}", "; ".join(found), fix)


async def _datastore(means: Means, who: Identity, network: Network, ips: tuple[IP, ...], mac: str) -> list[str]:
    entry = await means.store.get(who.key, timeout_s=READ_S)
    found: list[str] = []
    if entry is None:
        found.append(f"the datastore has no WorkloadEndpoint {who.key.rpartition('/')[2]}")
    else:
        spec = decode(entry.value, entry.key).get("spec") or {}
        found += _endpoint(who, spec, ips, mac)
    return found + (list(await _ipam(means, who, ips)) if network.owns_ipam else [])


def _endpoint(who: Identity, spec: Mapping[str, Any], ips: tuple[IP, ...], mac: str) -> Iterator[str]:
    wanted: dict[str, Any] = {
        "containerID": who.container,
        "interfaceName": who.host_interface,
        "ipNetworks": [f"{ip}/{ip.max_prefixlen}" for ip in ips],
    }
    if mac:
        wanted["mac"] = mac
    for field, value in wanted.items():
        if spec.get(field) != value:
            yield f"the WorkloadEndpoint has {field} {spec.get(field)!r}, not {value!r}"


async def _ipam(means: Means, who: Identity, ips: tuple[IP, ...]) -> list[str]:
    """Whether IPAM says that the addresses are this pod's."""
    entry = await means.store.get(handle_key(who.handle), timeout_s=READ_S)
    if entry is None:
        return [f"IPAM has no handle {who.handle}"]
    cidrs = list(read_handle(entry.key, entry.value).blocks)
    blocks = await means.store.snapshot([block_key(cidr) for cidr in cidrs], timeout_s=READ_S) if cidrs else None
    held = {
        holding.ip
        for block in (blocks.entries.values() if blocks else ())
        for holding in read_block(block.key, block.value).holdings()
        if same_handle(holding.attribute.handle, who.handle)
    }
    return [f"IPAM does not have {ip} as the pod's" for ip in ips if ip not in held]
