"""ADD: addresses, handle and WorkloadEndpoint in one commit, then the cable. Whole, or nothing is left.

If the cable cannot be laid everything is given back at once; if the datastore is away by then, what is to be given back
is written down. A runtime that repeats an ADD gets the same addresses again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from ipaddress import ip_network
from typing import Final

from tortie.cni import delegation
from tortie.cni.config import Network
from tortie.cni.deleting import free
from tortie.cni.errors import CONFIG, ENVIRONMENT, CniError
from tortie.cni.gates import pass_gates
from tortie.cni.identity import LINK_DIGITS, Identity, endpoint_in, endpoint_value, identify, labels_in, profile_of
from tortie.cni.invocation import Invocation
from tortie.cni.means import ADD_S, DELETE_S, Means, mtu_for, refuse_without_ipam
from tortie.cni.results import (
    Attached,
    Document,
    addresses_in,
    attached_document,
    ipam_document,
    routes_in,
)
from tortie.cni.wishes import Wishes, wishes_of
from tortie.dataplane.workload import EVERYWHERE, GATEWAY4, GATEWAY6, HOST_MAC, Cable, lay
from tortie.ipam.request import Request
from tortie.model.errors import TortieError
from tortie.model.keys import ResourceKey
from tortie.model.kinds import BY_NAME
from tortie.model.names import endpoint_name_prefix
from tortie.model.network import CIDR, IP
from tortie.model.network import Network as Destination
from tortie.model.wire import Undecodable
from tortie.store.contract import ABSENT, Conflict, Delete, Operation, Put

_ENDPOINT: Final = BY_NAME["WorkloadEndpoint"]


async def add(means: Means, invocation: Invocation, network: Network, namespace: int, request: bytes) -> Document:
    who = identify(invocation, network, means.node, means.prefix)
    wishes = wishes_of(network, invocation.args)
    refuse_without_ipam(network, who)
    _refuse_impossible(network, wishes)
    mac = wishes.mac or means.new_mac()
    mtu = mtu_for(means, network)
    if network.readiness_gates:
        await pass_gates(network.readiness_gates)
    if not who.pod:
        await _refuse_shared_link(means, who)
        await _make_profile(means, network)
    try:
        addresses, destinations, dns, again = await _addresses(means, invocation, network, who, wishes, mac)
    except Exception as error:
        if _may_hold(network, error):
            await _undo(means, invocation, network, who, request)
        raise
    ips = tuple(address.ip for address in addresses)
    cable = Cable(
        *(who.host_interface, who.endpoint, mac, ips, destinations or EVERYWHERE),
        *(mtu, network.queues, network.forwarding),
    )
    try:
        lay(cable, namespace, warn=means.warn)
    except Exception:
        if again:
            await _withdraw(means, who)
        else:
            await _undo(means, invocation, network, who, request)
        raise
    attached = Attached(
        who.host_interface,
        HOST_MAC,
        who.endpoint,
        mac,
        mtu,
        invocation.netns,
        tuple(_alone(ip) for ip in ips),
        _routes(cable),
    )
    return attached_document(attached, network.version, dns)


def _may_hold(network: Network, error: Exception) -> bool:
    """Whoever was told for certain that nothing was written has nothing to give back."""
    if isinstance(error, delegation.NotAsked):
        return False
    return not network.owns_ipam or not isinstance(error, TortieError) or error.code == "unreachable"


async def add_addresses(means: Means, invocation: Invocation, network: Network) -> Document:
    """As somebody else's IPAM plugin: no cable, no endpoint."""
    who = identify(invocation, network, means.node, means.prefix)
    wishes = wishes_of(network, invocation.args)
    _refuse_impossible(network, wishes)
    assigned = await means.allocator.assign(_request(means, who, wishes, network), timeout_s=ADD_S)
    return ipam_document(assigned.addresses, network.version)


async def _addresses(
    means: Means, invocation: Invocation, network: Network, who: Identity, wishes: Wishes, mac: str
) -> tuple[Sequence[CIDR], tuple[Destination, ...], Document, bool]:
    """Once this returns the endpoint is in the datastore, too. The last: whether the handle had them before."""
    labels = labels_in(network)

    def endpoint(ips: Sequence[IP]) -> list[Operation]:
        value = endpoint_value(who, ips, mac, wishes, labels, means.clock(), means.new_uid())
        return [Put(who.key, value)]

    if wishes.bypassing:
        await means.store.commit(endpoint(wishes.bypassing), timeout_s=ADD_S)
        return tuple(map(_alone, wishes.bypassing)), (), {}, False
    if not network.owns_ipam:
        result = await delegation.run("ADD", invocation, network)
        found = addresses_in(result)
        if not found:
            why = "it succeeded without an address"
            raise CniError(CONFIG, f"{network.ipam_type} gave no address", why, "look at `ipam` in /etc/cni/net.d")
        await means.store.commit(endpoint([address.ip for address in found]), timeout_s=ADD_S)
        more = EVERYWHERE if network.default_routes_too else ()
        return found, (*routes_in(result), *more), dict(result.get("dns") or {}), False
    wanted = _request(means, who, wishes, network)._replace(along=endpoint)
    assigned = await means.allocator.assign(wanted, timeout_s=ADD_S)
    return assigned.addresses, (), {}, assigned.again


def _request(means: Means, who: Identity, wishes: Wishes, network: Network) -> Request:
    labels = network.args.get("namespaceLabels")
    return Request(
        means.node,
        who.handle,
        who.attributes(means.clock()),
        v4=1 if wishes.v4 and not wishes.given else 0,
        v6=1 if wishes.v6 and not wishes.given else 0,
        given=wishes.given,
        pools4=wishes.pools4,
        pools6=wishes.pools6,
        namespace_labels=_texts_of(labels) if isinstance(labels, dict) else None,
    )


def _texts_of(labels: Mapping[str, object]) -> dict[str, str]:
    return {name: value for name, value in labels.items() if isinstance(value, str)}


def _refuse_impossible(network: Network, wishes: Wishes) -> None:
    if wishes.given and not network.owns_ipam:
        what = f"an address was asked for, and {network.ipam_type} cannot be asked for one"
        raise CniError(CONFIG, what, "only calico-ipam can", 'set "ipam": {"type": "calico-ipam"}')
    if network.owns_ipam and not (wishes.v4 or wishes.v6 or wishes.given or wishes.bypassing):
        raise CniError(
            CONFIG, "the pod wants neither an IPv4 nor an IPv6 address", "assign_ipv4 and assign_ipv6 say so"
        )


async def _make_profile(means: Means, network: Network) -> None:
    key, value = profile_of(network.name, means.clock(), means.new_uid())
    if await means.store.get(key, timeout_s=ADD_S) is None:
        try:
            await means.store.commit([Put(key, value, ABSENT)], timeout_s=ADD_S)
        except Conflict:
            return


async def _refuse_shared_link(means: Means, who: Identity) -> None:
    """Without Kubernetes the name of the host interface has the beginning of the container's id only."""
    begin = endpoint_name_prefix(who.node, who.orchestrator) + who.container[:LINK_DIGITS].replace("-", "--")
    prefix = str(ResourceKey(_ENDPOINT, begin, who.namespace))
    for entry in (await means.store.scan(prefix, timeout_s=ADD_S)).entries:
        with suppress(Undecodable):
            other = endpoint_in(entry.key, entry.value)
            if entry.key != who.key and (other.node, other.host_interface) == (who.node, who.host_interface):
                what = f"the interface {who.host_interface} belongs to container {other.container}"
                why = f"it is named after the first {LINK_DIGITS} characters of a container's id"
                raise CniError(ENVIRONMENT, what, why, "give containers ids that begin differently")


async def _withdraw(means: Means, who: Identity) -> None:
    """The endpoint alone. The addresses were the handle's before: what was not given here is not taken away here."""
    try:
        entry = await means.store.get(who.key, timeout_s=DELETE_S)
        if entry is not None and endpoint_in(entry.key, entry.value).container == who.container:
            await means.store.commit([Delete(who.key, entry.revision)], timeout_s=DELETE_S)
    except (TortieError, Undecodable) as error:
        means.warn(f"The WorkloadEndpoint of {who.spoken} stays, although its cable could not be laid: {error}")


async def _undo(means: Means, invocation: Invocation, network: Network, who: Identity, request: bytes) -> None:
    try:
        await free(means, invocation, network, who)
    except Exception as error:
        means.warn(f"What was set up for {who.spoken} cannot be given back yet: {error}. It is written down for later")
        try:
            means.pending.remember(invocation, request.replace(b"\0CNI_COMMAND=ADD\0", b"\0CNI_COMMAND=DEL\0", 1))
        except (TortieError, OSError) as failure:
            means.warn(f"It cannot be written down either: {failure}. `tortie ipam check` finds it")


def _alone(ip: IP) -> CIDR:
    from ipaddress import ip_interface

    return ip_interface(ip)


def _routes(cable: Cable) -> tuple[tuple[Destination, IP | None], ...]:
    versions = {ip.version for ip in cable.ips}
    first: tuple[tuple[Destination, IP | None], ...] = ((ip_network(GATEWAY4), None),) if 4 in versions else ()
    return first + tuple(
        (destination, GATEWAY4 if destination.version == 4 else GATEWAY6)
        for destination in cable.destinations
        if destination.version in versions
    )
