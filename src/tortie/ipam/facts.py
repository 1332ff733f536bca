"""What people have set up, as far as IPAM asks: settings, pools, reservations, the lock, a node's labels. Pure.

A pool or a reservation that makes no sense is passed over. Settings that make none are no reason to keep an address
from being taken back: then the defaults are taken, and only whoever wants a new address is told.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from ipaddress import ip_network
from typing import Final, NamedTuple, TypeVar

from tortie.ipam.errors import NotUsed, SettingsUnreadable
from tortie.ipam.pools import Pool, pool_of
from tortie.ipam.records import IpamSettings, NotReadable, read_settings
from tortie.ipam.reservations import Reservations
from tortie.model.errors import Invalid, TortieError
from tortie.model.keys import IPAM_CONFIG, ResourceKey, resource_prefix
from tortie.model.kinds import API_VERSION, BY_NAME
from tortie.model.network import CIDR, Network
from tortie.model.resource import typed
from tortie.model.resources.ipam import IPReservation
from tortie.model.resources.ippool import IPPool
from tortie.model.wire import decode
from tortie.store.contract import Entry, Snapshot

T = TypeVar("T")

POOLS: Final = resource_prefix(BY_NAME["IPPool"])
RESERVATIONS: Final = resource_prefix(BY_NAME["IPReservation"])
CLUSTER: Final = str(ResourceKey(BY_NAME["ClusterInformation"], "default"))
NODES: Final = resource_prefix(BY_NAME["Node"])

_CONFIGURE: Final = (
    "set it anew: `tortie ipam configure --strictaffinity=false`, with the other options as they shall be"
)
_UNLOCK: Final = "`tortie datastore unlock` writes it anew and says that requests may go on"


class Facts(NamedTuple):
    settings: IpamSettings
    pools: tuple[Pool, ...]
    unreadable: tuple[NotUsed, ...]  # pools that make no sense
    reservations: Reservations
    ready: bool
    trouble: SettingsUnreadable | None = None  # why nobody can tell whether, and how, addresses may be given out


def facts_of(snapshot: Snapshot) -> Facts:
    pools, unreadable = [], []
    for entry in snapshot.listings[POOLS]:
        try:
            pools.append(_pool(entry))
        except TortieError as error:
            if cidr := _cidr_of(entry):
                unreadable.append(NotUsed(entry.key[len(POOLS) :], cidr, f"it cannot be read: {error}"))
    reserved: list[CIDR] = []
    for entry in snapshot.listings[RESERVATIONS]:
        # One that makes no sense reserves nothing: it must not keep every pod from its address.
        with suppress(TortieError):
            reserved += _typed(entry, IPReservation).spec.reservedCIDRs
    settings, ready = IpamSettings(), True
    trouble: SettingsUnreadable | None = None
    if stored := snapshot.entries.get(IPAM_CONFIG):
        try:
            settings = read_settings(stored.key, stored.value)
        except TortieError as error:
            trouble = SettingsUnreadable(stored.key, error.why, _CONFIGURE)
    if cluster := snapshot.entries.get(CLUSTER):
        try:
            ready = _ready(cluster)
        except TortieError as error:
            trouble = trouble or SettingsUnreadable(cluster.key, error.why, _UNLOCK)
    by_name = tuple(sorted(pools, key=lambda pool: pool.name))
    return Facts(settings, by_name, tuple(unreadable), Reservations(reserved), ready, trouble)


def _pool(entry: Entry) -> Pool:
    pool = pool_of(_typed(entry, IPPool))
    # The rest of what a pool should not be does no harm here; these would make every block of it a wrong one.
    if wrong := [problem for problem in pool.spec.problems() if problem.field == "blockSize"]:
        raise Invalid(f"IPPool({pool.name})", wrong)
    return pool


def _typed(entry: Entry, kind: type[T]) -> T:
    document = decode(entry.value, entry.key)
    metadata = document.get("metadata")
    name = entry.key.rpartition("/")[2]
    named = {**metadata, "name": name} if isinstance(metadata, dict) else {"name": name}
    resource = typed({**document, "kind": kind.__name__, "apiVersion": API_VERSION, "metadata": named})
    assert isinstance(resource, kind)
    return resource


def _cidr_of(entry: Entry) -> Network | None:
    try:
        spec = decode(entry.value, entry.key).get("spec")
        return ip_network(str(spec.get("cidr"))) if isinstance(spec, dict) else None
    except (ValueError, TortieError):
        return None


def _ready(entry: Entry) -> bool:
    """Only who says no is locked: very old records say nothing."""
    spec = decode(entry.value, entry.key).get("spec")
    if spec is None:
        return True
    said = spec.get("datastoreReady") if isinstance(spec, dict) else spec
    if not isinstance(spec, dict) or not isinstance(said, bool | None):
        raise NotReadable(entry.key, f"it does not say whether the datastore is locked: {said!r:.40}")
    return said is not False


def labels_of(entry: Entry) -> Mapping[str, str]:
    """Of a node."""
    metadata = decode(entry.value, entry.key).get("metadata")
    labels = metadata.get("labels") if isinstance(metadata, dict) else metadata
    if labels is None:
        return {}
    if not isinstance(labels, dict) or not all(isinstance(value, str) for value in labels.values()):
        raise NotReadable(entry.key, "its labels are no texts by name")
    return labels
