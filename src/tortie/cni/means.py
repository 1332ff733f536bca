"""What the commands of the plugin work with, and small questions that several of them ask."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import datetime
from typing import Final, NamedTuple

from tortie.cni.config import MTU_MAX, Network
from tortie.cni.errors import CONFIG, LATER, CniError
from tortie.cni.identity import Identity
from tortie.cni.pending import Pending
from tortie.ipam.allocator import Allocator
from tortie.store.contract import Store

# Of one request, all waiting for the datastore together. The plugin waits for longer, and runtimes, too.
ADD_S: Final = 10.0
DELETE_S: Final = 5.0
READ_S: Final = 5.0


class Standing(NamedTuple):
    """How the node is, for STATUS and for requests that come too early."""

    registered: bool = True  # the node's record is in the datastore
    why_not: str = ""  # what a node that is not registered waits for
    limited: str = ""  # what does not work although pods can be made: no BGP session, say


class Means(NamedTuple):
    node: str
    store: Store
    allocator: Allocator
    clock: Callable[[], datetime]
    new_uid: Callable[[], str]
    new_mac: Callable[[], str]
    root: str
    prefix: str
    say: Callable[[str], None]
    warn: Callable[[str], None]
    standing: Callable[[], Standing]
    pending: Pending

    def below(self, path: str) -> str:
        return path if self.root in ("", "/") else os.path.join(self.root, path.lstrip("/"))


def refuse_too_early(means: Means, network: Network) -> None:
    standing = means.standing()
    if standing.registered:
        if network.nodename and network.nodename != means.node:
            raise CniError(
                CONFIG,
                f"the network's configuration is for node {network.nodename}",
                f"the agent here runs node {means.node}",
                "correct `nodename` in /etc/cni/net.d: `tortie cni install` writes it anew",
            )
        return
    why = standing.why_not or "the agent has only just begun"
    path = means.below(network.nodename_file)
    if network.needs_nodename_file and not os.path.exists(path):
        what = (
            f"stat {network.nodename_file}: no such file or directory: check that the calico/node container is "
            "running and has mounted /var/lib/calico/"
        )
        raise CniError(
            LATER, what, f"node {means.node} is not registered yet: {why}", "`tortie node status` tells more"
        )
    raise CniError(LATER, f"node {means.node} is not registered yet", why, "`tortie node status` tells more")


def mtu_for(means: Means, network: Network) -> int:
    """As configured, else as the node's dataplane found out, else 0: what the kernel likes."""
    if network.mtu:
        return network.mtu
    path = means.below("/var/lib/calico/mtu")
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            mtu = int(os.read(descriptor, 32).strip() or b"0")
        finally:
            os.close(descriptor)
        if 0 <= mtu <= MTU_MAX:
            return mtu
        means.warn(f"{path} is of no use, going on without it: no link has an MTU of {mtu}")
    except FileNotFoundError:
        if network.needs_mtu_file:
            what = f"{path} is not there, and require_mtu_file is set"
            raise CniError(LATER, what, "the dataplane has not written it yet", "wait, or set `mtu`") from None
    except (OSError, ValueError) as error:
        means.warn(f"{path} is of no use, going on without it: {error}")
    return 0


def refuse_without_ipam(network: Network, who: Identity) -> None:
    if not network.ipam_type:
        why = f"the configuration of network {network.name} names no IPAM plugin, and {who.spoken} needs an address"
        raise CniError(CONFIG, "`ipam.type` is missing", why, 'set "ipam": {"type": "calico-ipam"} in /etc/cni/net.d')
