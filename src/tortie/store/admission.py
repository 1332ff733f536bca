"""Rules that need to see other resources, asked before a resource is written or deleted."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_network
from typing import TYPE_CHECKING

from tortie.model.errors import Invalid, Problem, TortieError
from tortie.model.keys import IPAM, ResourceKey, host_affinity_prefix
from tortie.model.kinds import BY_NAME, Kind
from tortie.model.policy_names import TIERED
from tortie.model.resource import typed, validate
from tortie.model.resources.ippool import IPPool, overlapping
from tortie.model.resources.policies import BUILT_IN_TIERS
from tortie.model.wire import Document

if TYPE_CHECKING:
    from tortie.store.resources import Resources


class InUse(TortieError):
    """Something else still needs it."""

    code = "in-use"


async def admit(resources: Resources, document: Document, *, stored: Document | None) -> None:
    """Raises Invalid unless the document may be stored in place of `stored`."""
    problems = validate(document, stored=stored)
    kind = BY_NAME[document["kind"]]
    if not problems and kind.name == "IPPool" and stored is None:
        problems += await _pool_problems(resources, document)
    if not problems and kind.name == "BGPPeer":
        problems += await _filter_problems(resources, document)
    if problems:
        metadata = document["metadata"]
        raise Invalid(kind.describe(str(metadata["name"]), metadata.get("namespace")), problems)


async def _pool_problems(resources: Resources, document: Document) -> list[Problem]:
    pools = []
    for other in (await resources.list(BY_NAME["IPPool"])).documents:
        try:
            pools.append(typed(other))
        except Invalid:  # somebody else's broken pool is no reason to refuse this one
            continue
    pool = typed(document)
    assert isinstance(pool, IPPool)
    return list(overlapping(pool, [other for other in pools if isinstance(other, IPPool)]))


async def _filter_problems(resources: Resources, document: Document) -> list[Problem]:
    wanted = document.get("spec", {}).get("filters") or []
    if not wanted:
        return []
    existing = {other["metadata"]["name"] for other in (await resources.list(BY_NAME["BGPFilter"])).documents}
    return [
        Problem(f"spec.filters[{index}]", name, "there is no BGPFilter of that name", "create the filter first")
        for index, name in enumerate(wanted)
        if name not in existing
    ]


async def admit_deletion(resources: Resources, kind: Kind, document: Document) -> tuple[list[ResourceKey], int]:
    """What has to go along with the resource, and how many address blocks stay; raises InUse if it may not go."""
    name = str(document["metadata"]["name"])
    match kind.name:
        case "Tier":
            await _admit_tier_deletion(resources, name)
        case "Node":
            return await _along_with_node(resources, name)
        case "IPPool":
            return [], await _blocks_in(resources, str(document.get("spec", {}).get("cidr", "")))
    return [], 0


async def _admit_tier_deletion(resources: Resources, tier: str) -> None:
    if tier in BUILT_IN_TIERS:
        raise InUse(f"the tier {tier} cannot be deleted", "it is built in", "leave it")
    for kind_name in sorted(TIERED):
        for policy in (await resources.list(BY_NAME[kind_name])).documents:
            if (policy.get("spec") or {}).get("tier") == tier:
                where = BY_NAME[kind_name].describe(policy["metadata"]["name"], policy["metadata"].get("namespace"))
                raise InUse(f"the tier {tier} cannot be deleted", f"{where} is in it", "delete its policies first")


async def _along_with_node(resources: Resources, node: str) -> tuple[list[ResourceKey], int]:
    workloads = [
        found["metadata"]["name"]
        for found in (await resources.list(BY_NAME["WorkloadEndpoint"])).documents
        if (found.get("spec") or {}).get("node") == node
    ]
    if workloads:
        raise InUse(
            f"the node {node} cannot be deleted",
            f"{len(workloads)} workload endpoints still live on it, for example {workloads[0]}",
            "drain the node; its pods give their addresses back as they go",
        )
    along = []
    for kind_name in ("FelixConfiguration", "BGPConfiguration"):
        key = ResourceKey(BY_NAME[kind_name], f"node.{node}")
        if await resources.store.get(str(key), timeout_s=resources.timeout_s):
            along.append(key)
    for kind_name in ("BGPPeer", "HostEndpoint"):
        along += list(_on_node(BY_NAME[kind_name], (await resources.list(BY_NAME[kind_name])).documents, node))
    affinities = await resources.store.scan(host_affinity_prefix(node), timeout_s=resources.timeout_s)
    return along, len(affinities.entries)


def _on_node(kind: Kind, documents: list[Document], node: str) -> Iterator[ResourceKey]:
    for document in documents:
        if (document.get("spec") or {}).get("node") == node:
            yield ResourceKey(kind, document["metadata"]["name"])


async def _blocks_in(resources: Resources, cidr: str) -> int:
    family = "ipv6" if ":" in cidr else "ipv4"
    try:
        pool = ip_network(cidr)
    except ValueError:
        return 0
    prefix = f"{IPAM}assignment/{family}/block/"
    blocks = await resources.store.scan(prefix, timeout_s=resources.timeout_s)
    inside = 0
    for entry in blocks.entries:
        try:
            block = ip_network(entry.key.removeprefix(prefix).replace("-", "/"))
        except ValueError:
            continue
        inside += block.version == pool.version and block.subnet_of(pool)  # type: ignore[arg-type]
    return inside
