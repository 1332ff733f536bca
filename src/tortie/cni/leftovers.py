"""Which attachments of a network on this node nobody lists any more, by what IPAM says. Pure.

An address that a pod holds outlives everything else of it, and its handle says whose it is: the network, the container
and, unless it is the first one, the interface, with dots between them. All three may have dots in them, so what one
handle says can be read in two ways. Only what certainly belongs to the network counts: rather an address is left over
than taken from a pod that runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from tortie.cni.identity import DEFAULT_INTERFACE, Endpoint, handle_of
from tortie.ipam.block import Block, clean_handle

# Ids as runtimes make them, in hexadecimal digits or as a UUID: nobody gives an interface or a network such a name.
_MADE_BY_RUNTIMES: Final = re.compile(r"[0-9a-f\-]{32,}")

Attachment = tuple[str, str]  # container, interface


class Leftover(NamedTuple):
    container: str
    interface: str
    args: Mapping[str, str]


def leftovers(
    node: str, network: str, valid: Iterable[Attachment], blocks: Iterable[Block], endpoints: Sequence[Endpoint]
) -> list[Leftover]:
    """Of `endpoints`, those of the node: who certainly has an address, and which containers there are."""
    keep = {handle for container, interface in valid for handle in _handles(network, container, interface)}
    users = {ip: endpoint for endpoint in endpoints for ip in endpoint.ips}
    known = {
        tail: (endpoint.container, endpoint.interface or DEFAULT_INTERFACE)
        for endpoint in endpoints
        if endpoint.container
        for tail in (endpoint.container, f"{endpoint.container}.{endpoint.interface}")
    }
    found: dict[str, Leftover] = {}
    for block in blocks:
        for holding in block.holdings():
            handle = clean_handle(holding.attribute.handle or "")
            if holding.attribute.node != node or handle in keep or not handle.startswith(f"{network}."):
                continue
            owner = attachment_of(handle, network, known)
            user = users.get(str(holding.ip))
            if owner is None or (user is not None and user.container != owner[0]):
                keep.add(handle)  # with all that it holds
                continue
            said = holding.attribute.secondary or {}
            args = {"K8S_POD_NAME": said.get("pod", ""), "K8S_POD_NAMESPACE": said.get("namespace", "")}
            found[handle] = Leftover(*owner, args)
    return [each for handle, each in found.items() if handle not in keep]


def _handles(network: str, container: str, interface: str) -> tuple[str, str]:
    """Calico gives all interfaces of a pod the same handle."""
    return handle_of(network, container, interface), handle_of(network, container, DEFAULT_INTERFACE)


def attachment_of(handle: str, network: str, known: Mapping[str, Attachment]) -> Attachment | None:
    """None if it is, or may be, one of another network. `known`: the ends of handles of endpoints that exist."""
    labels = handle.split(".")
    tails = [".".join(labels[start:]) for start in range(1, len(labels))]
    told = {handle[: -len(tail) - 1]: known[tail] for tail in tails if tail in known}
    if told:
        return told.get(network)
    container, _, interface = handle[len(network) + 1 :].partition(".")
    if not interface:
        return container, DEFAULT_INTERFACE
    return (container, interface) if _MADE_BY_RUNTIMES.fullmatch(container) else None
