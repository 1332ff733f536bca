"""`tortie ipam split`: one pool becomes several smaller ones, which together have the same addresses.

Blocks, affinities and pods stay as they are, only their pool has another name. Up to 64 pools that is one commit. More
are made in several, the old pool's deletion in the last; interrupted, the same command goes on where it was.
"""

from __future__ import annotations

import sys
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from ipaddress import ip_network
from typing import Any

from tortie.cli.ipam.forms import refuse_form
from tortie.cli.session import with_store
from tortie.cli.settings import Settings
from tortie.ipam.census import CLUSTER, POOLS
from tortie.model.errors import TortieError, UsageError
from tortie.model.network import Network
from tortie.model.resources.ippool import IPPoolSpec
from tortie.model.shape import value_of
from tortie.model.wire import Document, decode, encode, to_json
from tortie.store.contract import ABSENT, Conflict, Delete, Entry, Operation, Put, Store

_NAME_MAX = 253
_CHILDREN_MAX = 4096
_BATCH_MAX = 100
Children = list[tuple[str, Network]]  # names and what they get

_LOCK = "tortie datastore lock"


class NotLocked(TortieError):
    code = "not-locked"


def split(*, settings: Settings, number: str, name: str | None, cidr: str | None, output: str) -> int:
    refuse_form(output, "text", "json")
    parts = _parts(number)
    wanted = _network(cidr) if cidr else None
    if bool(name) == bool(cidr):
        what = "both a name and a CIDR were given" if name else "no name or CIDR provided"
        raise UsageError(what, "one of the two says which pool is meant", f"tortie ipam split {number} --name POOL")
    pool, made = with_store(settings, lambda store: _split(store, parts, name, wanted))
    if output == "json":
        children = [{"name": child, "cidr": str(network)} for child, network in made]
        body = {"apiVersion": "tortie/v1", "kind": "IPAMSplit", "pool": pool, "pools": children}
        sys.stdout.write(to_json(body) + "\n")
    else:
        sys.stdout.write(f"IP Pool {pool} was successfully split into {parts} smaller pools.\n")
        sys.stdout.writelines(f"Created {child} with CIDR {network}.\n" for child, network in made)
        sys.stdout.write("You may now unlock the data store.\n")
    return 0


def _parts(text: str) -> int:
    parts = int(text) if text.isascii() and text.isdigit() else 0
    if parts < 2 or parts & (parts - 1):
        why = "halves, quarters and so on are networks again, other parts are not"
        raise UsageError(f"number to split CIDR into is not a valid power of 2: {text}", why, "2, 4, 8, 16, ...")
    if parts > _CHILDREN_MAX:
        raise UsageError(f"{parts} pools", "so many pools are more than a node can follow", f"at most {_CHILDREN_MAX}")
    return parts


def _network(text: str) -> Network:
    try:
        return ip_network(text)
    except ValueError as error:
        raise UsageError(f"--cidr={text}", str(error), "as `tortie get ippools` shows it") from None


async def _split(store: Store, parts: int, name: str | None, cidr: Network | None) -> tuple[str, Children]:
    snapshot = await store.snapshot([CLUSTER], [POOLS])
    cluster = snapshot.get(CLUSTER)
    if cluster is None or (decode(cluster.value, cluster.key).get("spec") or {}).get("datastoreReady") is not False:
        why = "an address that is given out while the pool changes could be given out by a rule that is gone"
        raise NotLocked("datastore is not locked", why, f"{_LOCK}, split, then tortie datastore unlock")
    entries = {entry.key.removeprefix(POOLS): entry for entry in snapshot.listing(POOLS).entries}
    pool = _find(entries, name, cidr)
    document = decode(pool.value, pool.key)
    parent = pool.key.removeprefix(POOLS)
    spec = value_of(document["spec"], IPPoolSpec)
    networks = _children(spec, parent, parts)
    named = [(_child_name(parent, index), network) for index, network in enumerate(networks)]
    operations = list(_creations(named, document, entries))
    try:
        while len(operations) > _BATCH_MAX:
            await store.commit(operations[:_BATCH_MAX])
            operations = operations[_BATCH_MAX:]
        await store.commit([*operations, Delete(pool.key, pool.revision)])
    except Conflict as conflict:
        why = f"{conflict.key} was written by somebody else meanwhile"
        raise TortieError(f"the pool {parent} could not be split", why, "look at the pools, then repeat it") from None
    return parent, named


def _find(entries: dict[str, Entry], name: str | None, cidr: Network | None) -> Entry:
    for each, entry in entries.items():
        try:
            own: Any = (decode(entry.value, entry.key).get("spec") or {}).get("cidr")
            if each == name or (cidr is not None and ip_network(own) == cidr):
                return entry
        except (TortieError, ValueError):
            if each == name:
                raise
    which = f"name {name}" if name else f"CIDR {cidr}"
    known = ", ".join(entries) or "there are no pools"
    raise TortieError(f"unable to find IP pool with {which}", "no pool is stored like that", f"one of: {known}")


def _children(spec: IPPoolSpec, name: str, parts: int) -> Iterator[Network]:
    length = spec.cidr.prefixlen + parts.bit_length() - 1
    if length > spec.block_size:
        most = 1 << max(0, spec.block_size - spec.cidr.prefixlen)
        raise UsageError(
            f"the CIDR {spec.cidr} is not large enough to be split into {parts} parts",
            f"the pool {name} has blocks of /{spec.block_size}, and a pool has at least one",
            f"at most {most} parts" if most > 1 else "it is one block already",
        )
    return spec.cidr.subnets(new_prefix=length)


def _child_name(parent: str, index: int) -> str:
    name = f"split-{parent}-{index}"
    return name if len(name) <= _NAME_MAX else f"split-{parent[: _NAME_MAX - len(f'split--{index}')]}-{index}"


def _creations(named: Children, parent: Document, entries: dict[str, Entry]) -> Iterator[Operation]:
    """Those that an interrupted split has made already are left as they are."""
    created = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    dropped = ("uid", "resourceVersion", "generation", "selfLink", "creationTimestamp", "generateName", "name")
    metadata = {key: value for key, value in (parent.get("metadata") or {}).items() if key not in dropped}
    for name, network in named:
        spec = {**parent["spec"], "cidr": str(network)}
        if name in entries:
            if decode(entries[name].value, name).get("spec") == spec:
                continue
            why = "it is there already and is another pool than the split would make"
            raise TortieError(f"the pool {name} cannot be created", why, "delete it, if nobody needs it")
        own = {"name": name, "uid": str(uuid.uuid4()), "creationTimestamp": created, **metadata}
        yield Put(f"{POOLS}{name}", encode({**parent, "metadata": own, "spec": spec}), ABSENT)
