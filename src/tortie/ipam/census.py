"""Everything in the store that has to do with addresses, as it was at one revision: read once, typed, and counted.

What cannot be read is told beside the rest and never takes anything else with it. Endpoints and handles come by the
hundred thousand, so of each only what is asked for later is kept, and the raw entries go as soon as they are read.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from ipaddress import IPv4Address, ip_address, ip_network
from sys import intern
from typing import Any, Final, NamedTuple, TypeVar

import msgspec

from tortie.ipam.block import Block
from tortie.ipam.records import (
    BLOCKS,
    HANDLES,
    HOSTS,
    VIRTUALS,
    Affinity,
    Handle,
    IpamSettings,
    parse_affinity_key,
    parse_block_key,
    read_affinity,
    read_block,
    read_handle,
    read_settings,
)
from tortie.model.errors import TortieError
from tortie.model.keys import IPAM_CONFIG, ResourceKey, resource_prefix
from tortie.model.kinds import BY_NAME
from tortie.model.network import IP, Network
from tortie.model.resources.ippool import IPPoolSpec
from tortie.model.shape import value_of
from tortie.model.wire import Document, decode
from tortie.store.contract import TIMEOUT_S, Entry, Snapshot, Store

T = TypeVar("T")

CLUSTER: Final = str(ResourceKey(BY_NAME["ClusterInformation"], "default"))
CONFIGURATION: Final = str(ResourceKey(BY_NAME["IPAMConfiguration"], "default"))
POOLS: Final = resource_prefix(BY_NAME["IPPool"])
NODES: Final = resource_prefix(BY_NAME["Node"])
ENDPOINTS: Final = resource_prefix(BY_NAME["WorkloadEndpoint"])
RESERVATIONS: Final = resource_prefix(BY_NAME["IPReservation"])

KEYS: Final = (CLUSTER, CONFIGURATION, IPAM_CONFIG)
PREFIXES: Final = (BLOCKS, HOSTS, VIRTUALS, HANDLES, POOLS, NODES, ENDPOINTS, RESERVATIONS)

# Where a Node says its tunnels' addresses, and what Calico calls each of them in an address's attributes.
_TUNNELS: Final = (
    (("bgp", "ipv4IPIPTunnelAddr"), "ipipTunnelAddress"),
    (("ipv4VXLANTunnelAddr",), "vxlanTunnelAddress"),
    (("ipv6VXLANTunnelAddr",), "vxlanV6TunnelAddress"),
    (("wireguard", "interfaceIPv4Address"), "wireguardTunnelAddress"),
    (("wireguard", "interfaceIPv6Address"), "wireguardV6TunnelAddress"),
)

# All of a large cluster may take its time.
_TIMEOUT_S: Final = 120.0


class NodeAddresses(NamedTuple):
    """A Node that exists, and the addresses of its tunnels with their types."""

    name: str
    tunnels: tuple[tuple[IP, str], ...] = ()
    revision: int = 0


class Endpoint(NamedTuple):
    """A WorkloadEndpoint: a pod's interface."""

    key: str
    namespace: str
    name: str
    node: str
    pod: str  # the workload, where the orchestrator is not Kubernetes
    container_id: str
    ips: tuple[IP, ...]
    revision: int = 0


class Service(NamedTuple):
    """A Service of Kubernetes with an address of its load balancer."""

    namespace: str
    name: str
    ip: IP


class Cluster(NamedTuple):
    """What ClusterInformation says; the revision is its own, and 0 if there is none."""

    guid: str = ""
    type: str = ""
    version: str = ""
    ready: bool | None = None  # None: it does not say
    revision: int = 0

    @property
    def is_locked(self) -> bool:
        return self.ready is False


class Unreadable(NamedTuple):
    key: str
    why: str


class Census(NamedTuple):
    blocks: Mapping[Network, Block] = {}
    block_revisions: Mapping[Network, int] = {}
    affinities: Mapping[str, tuple[Affinity, int]] = {}  # by key, each with its revision
    handles: Mapping[str, tuple[Handle, int]] = {}  # by id, each with its revision
    pools: Mapping[str, IPPoolSpec] = {}
    nodes: Mapping[str, NodeAddresses] = {}
    endpoints: tuple[Endpoint, ...] = ()
    settings: IpamSettings = IpamSettings()
    settings_revision: int | None = None  # None: they are not stored, so these are the defaults
    configuration: tuple[Document, int] | None = None  # the resource IPAMConfiguration/default and its revision
    reservations: Mapping[str, tuple[Network, ...]] = {}
    cluster: Cluster = Cluster()
    unreadable: tuple[Unreadable, ...] = ()
    revision: int = 0
    services: tuple[Service, ...] | None = None  # None: Kubernetes was not asked; the store does not know them


async def take_census(store: Store, *, timeout_s: float = _TIMEOUT_S) -> Census:
    """One question to the store, however much there is.

    A store that is not there is told at once: only one that answers may take its time.
    """
    await store.get(CLUSTER, timeout_s=min(TIMEOUT_S, timeout_s))
    snapshot = await store.snapshot(KEYS, PREFIXES, timeout_s=timeout_s)
    with _all_kept():
        return census_of(snapshot)


@contextmanager
def _all_kept() -> Iterator[None]:
    """Nothing of what is read becomes garbage, and looking for it again and again would take a fifth of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def census_of(snapshot: Snapshot) -> Census:
    """Takes the listings out of the snapshot as it reads them, so that not all is in memory twice."""
    lost: list[Unreadable] = []
    take = snapshot.listings.pop

    # The largest first, while there is little else.
    endpoints = tuple(_read(take(ENDPOINTS, ()), _endpoint, lost))
    blocks = dict(_read(take(BLOCKS, ()), _block, lost))
    affinities = dict(_read((*take(HOSTS, ()), *take(VIRTUALS, ())), _affinity, lost))
    handles = _handles(take(HANDLES, ()), lost)
    pools = dict(_read(take(POOLS, ()), _pool, lost))
    nodes = dict(_read(take(NODES, ()), _node, lost))
    reservations = dict(_read(take(RESERVATIONS, ()), _reservation, lost))
    cluster = _single(snapshot.get(CLUSTER), _cluster, lost)
    settings = _single(snapshot.get(IPAM_CONFIG), _settings, lost)
    configuration = _single(snapshot.get(CONFIGURATION), _document, lost)
    return Census(
        {cidr: block for cidr, (block, _) in blocks.items()},
        {cidr: revision for cidr, (_, revision) in blocks.items()},
        affinities,
        handles,
        pools,
        nodes,
        endpoints,
        settings[0] if settings else IpamSettings(),
        settings[1] if settings else None,
        configuration,
        reservations,
        cluster or Cluster(),
        tuple(lost),
        snapshot.revision,
    )


def _read(entries: Iterable[Entry], read: Callable[[Entry], T | None], lost: list[Unreadable]) -> Iterable[T]:
    return (found for entry in entries if (found := _attempt(entry, read, lost)) is not None)


def _single(entry: Entry | None, read: Callable[[Entry], T | None], lost: list[Unreadable]) -> T | None:
    return _attempt(entry, read, lost) if entry is not None else None


def _attempt(entry: Entry, read: Callable[[Entry], T | None], lost: list[Unreadable]) -> T | None:
    try:
        return read(entry)
    except TortieError as error:
        lost.append(Unreadable(entry.key, error.why or error.what))
    except (LookupError, TypeError, ValueError, AttributeError, msgspec.MsgspecError) as error:
        lost.append(Unreadable(entry.key, f"{type(error).__name__}: {error}"))
    return None


def _block(entry: Entry) -> tuple[Network, tuple[Block, int]]:
    named = parse_block_key(entry.key)
    if named is None:
        raise ValueError("its key is not that of a block")
    return named, (read_block(entry.key, entry.value), entry.revision)


def _affinity(entry: Entry) -> tuple[str, tuple[Affinity, int]] | None:
    if "/" not in entry.key.removeprefix(HOSTS):
        return None  # a host's own mark, which nobody needs
    if parse_affinity_key(entry.key) is None:
        raise ValueError("its key is not that of an affinity")
    return entry.key, (read_affinity(entry.key, entry.value), entry.revision)


def _handles(entries: Iterable[Entry], lost: list[Unreadable]) -> dict[str, tuple[Handle, int]]:
    """Most handles say the same, one address in one block: that is read once, and they share it."""
    read: dict[bytes, Handle] = {}
    handles: dict[str, tuple[Handle, int]] = {}
    for entry in entries:
        known = read.get(entry.value) or _attempt(entry, _handle, lost)
        if known is not None:
            read[entry.value] = known
            name = entry.key[len(HANDLES) :]
            handles[name] = (Handle(name, known.blocks, known.deleted, known.rest), entry.revision)
    return handles


def _handle(entry: Entry) -> Handle:
    return read_handle(entry.key, entry.value)


def _settings(entry: Entry) -> tuple[IpamSettings, int]:
    return read_settings(entry.key, entry.value), entry.revision


def _document(entry: Entry) -> tuple[Document, int]:
    return decode(entry.value, entry.key), entry.revision


def _pool(entry: Entry) -> tuple[str, IPPoolSpec]:
    return entry.key.removeprefix(POOLS), value_of(decode(entry.value, entry.key)["spec"], IPPoolSpec)


def _node(entry: Entry) -> tuple[str, NodeAddresses]:
    name = entry.key.removeprefix(NODES)
    spec = decode(entry.value, entry.key).get("spec") or {}
    tunnels = []
    for path, kind in _TUNNELS:
        value: Any = spec
        for step in path:
            value = (value or {}).get(step)
        if value:
            tunnels.append((ip_address(value), kind))
    return name, NodeAddresses(name, tuple(tunnels), entry.revision)


def _reservation(entry: Entry) -> tuple[str, tuple[Network, ...]]:
    spec = decode(entry.value, entry.key).get("spec") or {}
    cidrs = spec.get("reservedCIDRs") or []
    return entry.key.removeprefix(RESERVATIONS), tuple(ip_network(cidr, strict=False) for cidr in cidrs)


def _cluster(entry: Entry) -> Cluster:
    spec = decode(entry.value, entry.key).get("spec") or {}
    ready = spec.get("datastoreReady")
    if not isinstance(ready, bool | None):
        raise ValueError(f"datastoreReady is {ready!r}")
    guid, kind, version = (str(spec.get(name) or "") for name in ("clusterGUID", "clusterType", "calicoVersion"))
    return Cluster(guid, kind, version, ready, entry.revision)


class _EndpointSpec(msgspec.Struct):
    node: str = ""
    pod: str = ""
    workload: str = ""
    containerID: str = ""
    ipNetworks: list[str] | None = None


class _Endpoint(msgspec.Struct):
    """Of a hundred thousand endpoints only these fields are looked at; the others are not even made."""

    spec: _EndpointSpec


_ENDPOINT: Final = msgspec.json.Decoder(_Endpoint)


_OCTETS: Final = {str(number): number for number in range(256)}


def _address(text: str) -> IP:
    """What `ip_address` says, at a fraction of its price."""
    try:
        a, b, c, d = text.split(".")
        return IPv4Address(_OCTETS[a] << 24 | _OCTETS[b] << 16 | _OCTETS[c] << 8 | _OCTETS[d])
    except (ValueError, KeyError):
        return ip_address(text)


def _endpoint(entry: Entry) -> Endpoint:
    spec = _ENDPOINT.decode(entry.value).spec
    namespace, _, name = entry.key[len(ENDPOINTS) :].partition("/")
    # Each is a whole address with all of its bits; only what stands before the slash has to be read.
    ips = tuple([_address(text.partition("/")[0]) for text in spec.ipNetworks or ()])
    pod = spec.pod or spec.workload or spec.containerID
    return Endpoint(entry.key, intern(namespace), name, intern(spec.node), pod, spec.containerID, ips, entry.revision)
