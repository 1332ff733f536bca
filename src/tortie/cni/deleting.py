"""DEL: the cable at once, then addresses and WorkloadEndpoint in one commit. Asked twice, it is done twice.

A pod must be able to end whatever state the cluster is in: no namespace, no endpoint, no handle are fine, and when the
datastore is away, what is to be freed there is written down, and the runtime is told that all is well. An IPAM plugin
of others that is not there any more is not waited for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Final, ParamSpec, TypeVar

from tortie.cni import delegation
from tortie.cni.config import Network
from tortie.cni.errors import LATER, CniError
from tortie.cni.identity import Identity, container_of, identify
from tortie.cni.invocation import Invocation
from tortie.cni.means import DELETE_S, Means
from tortie.dataplane.workload import cut_inside, cut_outside
from tortie.ipam.request import Released
from tortie.model.errors import TortieError
from tortie.model.wire import Undecodable
from tortie.store.contract import Conflict, Delete, Entry, Operation

if TYPE_CHECKING:
    from concurrent.futures import Executor

P = ParamSpec("P")
T = TypeVar("T")

_ATTEMPTS: Final = 6
_CUTS_AT_ONCE: Final = 32


async def remove(
    means: Means, invocation: Invocation, network: Network, namespace: int | None, request: bytes
) -> Released | None:
    """None if addresses are left for later."""
    who = identify(invocation, network, means.node, means.prefix)
    cut = not invocation.is_ipam and await _cut(who, namespace)
    try:
        released = await free(means, invocation, network, who, cut=cut)
    except TortieError as error:
        if not _is_temporary(error):
            raise
        means.pending.remember(invocation, request)
        means.warn(f"{who.spoken} is gone from this node; its addresses are freed later: {error}")
        return None
    means.pending.forget(means.pending.name_of(invocation))
    return released


def _is_temporary(error: TortieError) -> bool:
    return error.code in ("unreachable", "unauthorized", "conflict", "not-ready") or (
        isinstance(error, CniError) and error.number == LATER
    )


async def _cut(who: Identity, namespace: int | None) -> bool:
    """Whether there was one."""
    if namespace is None:
        return False  # where the namespace is gone its links are, too
    return await _in_thread(cut_inside, who.endpoint, namespace)


async def _in_thread(cut: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """The kernel takes a while until nobody uses a link any more, and others want to be served."""
    return await asyncio.get_running_loop().run_in_executor(_cutters(), lambda: cut(*args, **kwargs))


@cache
def _cutters() -> Executor:
    """Threads of their own: they only wait, so there may be more of them than asyncio has for the number of cores."""
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(_CUTS_AT_ONCE, "cut")


async def free(means: Means, invocation: Invocation, network: Network, who: Identity, *, cut: bool = False) -> Released:
    """What the datastore has of an attachment, and what another IPAM plugin has; and the cable, unless it is `cut`."""
    if invocation.is_ipam:
        return await _release(means, who, ())
    if network.ipam_type and not network.owns_ipam:
        try:
            await delegation.run("DEL", invocation, network)
        except delegation.NotAsked as error:
            # It may never come back, and the pod would never end.
            means.warn(f"{network.ipam_type} could not be asked to free what {who.spoken} may have of it: {error}")
    # Also where another plugin gave the address: it may have been taken over by IPAM since.
    return await _free(means, who, cut=cut)


async def _free(means: Means, who: Identity, *, cut: bool) -> Released:
    attempt = 0
    while True:
        entry = await means.store.get(who.key, timeout_s=DELETE_S)
        ours = entry is not None and _is_ours(means, who, entry)
        along: Sequence[Operation] = [Delete(who.key, entry.revision)] if entry is not None and ours else ()
        try:
            released = await _release(means, who, along)
        except Conflict as conflict:
            # Somebody wrote the endpoint meanwhile: whose it is now decides.
            attempt += 1
            if conflict.key != who.key or attempt == _ATTEMPTS:
                raise
            continue
        if ours and not cut:
            await _in_thread(_cut_rest, means, who)
        return released


def _cut_rest(means: Means, who: Identity) -> None:
    """The node's end, if the runtime could not name the pod's namespace any more and something still holds that."""
    try:
        cut_outside(who.host_interface)
    except TortieError as error:
        means.warn(f"{who.host_interface} of {who.spoken} cannot be removed: {error}")


def _is_ours(means: Means, who: Identity, entry: Entry) -> bool:
    """A pod that was made anew has the same endpoint with another container; then it is not to be deleted."""
    try:
        container = container_of(who.key, entry.value)
    except Undecodable:
        return True  # of use to nobody
    if container != who.container:
        means.say("CNI_CONTAINERID does not match WorkloadEndpoint ContainerID, don't delete WEP.")
    return container == who.container


async def _release(means: Means, who: Identity, along: Sequence[Operation]) -> Released:
    released = await means.allocator.release_handle(who.handle, along=along, timeout_s=DELETE_S)
    if not released.released:
        for handle in who.old_handles:
            released = await means.allocator.release_handle(handle, timeout_s=DELETE_S)
    return released
