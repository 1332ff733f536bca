"""GC and STATUS: what is left over on this node, and whether a pod could be made here now."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any, Final

from tortie.cni import delegation
from tortie.cni.config import Network
from tortie.cni.deleting import free
from tortie.cni.errors import ENVIRONMENT, LIMITED, NO_ADDRESS, UNAVAILABLE, VERSION, CniError
from tortie.cni.identity import Endpoint, endpoint_in, identify
from tortie.cni.invocation import Invocation
from tortie.cni.leftovers import Leftover, leftovers
from tortie.cni.means import READ_S, Means
from tortie.ipam.block import Block
from tortie.ipam.records import BLOCKS, NotReadable, read_block
from tortie.model.errors import TortieError
from tortie.model.keys import ResourceKey, resource_prefix
from tortie.model.kinds import BY_NAME
from tortie.model.wire import Undecodable, decode

_CLUSTER: Final = str(ResourceKey(BY_NAME["ClusterInformation"], "default"))
_ENDPOINTS: Final = resource_prefix(BY_NAME["WorkloadEndpoint"])
_POOLS: Final = resource_prefix(BY_NAME["IPPool"])
_SCAN_S: Final = 30.0


async def collect(means: Means, invocation: Invocation, network: Network) -> None:
    """Frees every attachment of this node and network that the runtime does not list. Goes on after failures."""
    failures: list[str] = []
    if network.ipam_type and not network.owns_ipam:
        await _ask_other("GC", invocation, network, failures)
    else:
        for each in await _leftovers(means, network):
            arguments = invocation._replace(container=each.container, ifname=each.interface, args=each.args)
            who = identify(arguments, network, means.node, means.prefix)
            try:
                await free(means, arguments, network, who)
                means.say(f"Freed what {who.spoken} had left: nobody listed it as in use")
            except TortieError as error:
                failures.append(f"{who.spoken}: {error}")
    if failures:
        what = f"{len(failures)} attachments could not be freed: {failures[0]}"
        raise CniError(NO_ADDRESS, what, "; ".join(failures), "the next GC tries again")


async def _leftovers(means: Means, network: Network) -> list[Leftover]:
    snapshot = await means.store.snapshot([], [BLOCKS, _ENDPOINTS], timeout_s=_SCAN_S)
    blocks: list[Block] = []
    for entry in snapshot.listings[BLOCKS]:
        try:
            blocks.append(read_block(entry.key, entry.value))
        except (NotReadable, Undecodable) as error:
            means.say(f"{error}; what it holds is not looked at")
    endpoints: list[Endpoint] = []
    for entry in snapshot.listings[_ENDPOINTS]:
        with suppress(Undecodable):  # says nothing, and stays
            endpoints.append(endpoint_in(entry.key, entry.value))
    here = [endpoint for endpoint in endpoints if endpoint.node == means.node]
    return leftovers(means.node, network.name, network.attachments or (), blocks, here)


async def status(means: Means, invocation: Invocation, network: Network) -> None:
    """Silence means that pods can be made."""
    standing = means.standing()
    if not standing.registered:
        why = standing.why_not or "the agent has only just begun"
        raise CniError(UNAVAILABLE, f"node {means.node} is not registered yet", why, "`tortie node status` tells more")
    try:
        snapshot = await means.store.snapshot([_CLUSTER], [_POOLS], timeout_s=READ_S)
    except TortieError as error:
        raise CniError(UNAVAILABLE, error.what, error.why, error.fix) from None
    cluster = snapshot.get(_CLUSTER)
    if cluster and _spec(cluster.key, cluster.value).get("datastoreReady") is False:
        what = "Calico is currently not ready to process requests"
        why = "datastoreReady is false in ClusterInformation/default: the datastore is locked"
        raise CniError(UNAVAILABLE, what, why, "wait until whoever locked it is done")
    if network.owns_ipam or invocation.is_ipam:
        pools = [_spec(entry.key, entry.value) for entry in snapshot.listings[_POOLS]]
        if not any(not pool.get("disabled") and "Workload" in pool.get("allowedUses", ["Workload"]) for pool in pools):
            why = f"of {len(pools)} pools none is enabled for workloads" if pools else "there is no IP pool"
            raise CniError(UNAVAILABLE, "no pod can get an address", why, "`tortie get ippools -o wide`")
    elif network.ipam_type:
        failures: list[str] = []
        await _ask_other("STATUS", invocation, network, failures)
        if failures:
            raise CniError(UNAVAILABLE, failures[0])
    if standing.limited:
        raise CniError(LIMITED, f"pods on {means.node} may not reach everything", standing.limited)


async def _ask_other(command: str, invocation: Invocation, network: Network, failures: list[str]) -> None:
    """Plugins from before version 1.1 know neither command, and that is no failure."""
    try:
        await asyncio.wait_for(delegation.run(command, invocation, network), delegation.TIMEOUT_S)
    except CniError as error:
        if error.number not in (ENVIRONMENT, VERSION):
            failures.append(str(error))


def _spec(key: str, value: bytes) -> dict[str, Any]:
    try:
        spec = decode(value, key).get("spec")
    except Undecodable:
        return {"disabled": True}
    return spec if isinstance(spec, dict) else {}
