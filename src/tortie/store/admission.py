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
from tortie.store.contract import Revision

if TYPE_CHECKING:
    from tortie.store.resources import Resources


class InUse(TortieError):
    """Something else still needs it."""

    code = "in-use"


class Neighbours:
    """The other resources that a rule looks at: those stored, and those that the same command is about to write."""

    def __init__(self, resources: Resources) -> None:
        self._resources = resources
        self._stored: dict[str, list[Document]] = {}
        self._coming: dict[tuple[str, str], Document] = {}

    def add(self, document: Document) -> None:
        self._coming[document["kind"], str(document["metadata"]["name"])] = document

    async def of(self, kind: str) -> list[Document]:
        if kind not in self._stored:
            self._stored[kind] = (await self._resources.list(BY_NAME[kind])).documents
        coming = {name: document for (its_kind, name), document in self._coming.items() if its_kind == kind}
        return [other for other in self._stored[kind] if other["metadata"]["name"] not in coming] + list(
            coming.values()
        )


async def admit(resources: Resources, document: Document, *, stored: Document | None) -> None:
    """Raises Invalid unless the document may be stored in place of `stored`."""
    problems = validate(document, stored=stored)
    problems = problems or await problems_beside(Neighbours(resources), document, stored=stored)
    if problems:
        metadata = document["metadata"]
        raise Invalid(BY_NAME[document["kind"]].describe(str(metadata["name"]), metadata.get("namespace")), problems)


async def problems_beside(neighbours: Neighbours, document: Document, *, stored: Document | None) -> list[Problem]:
    """What is wrong with a document, valid for itself, among the others."""
    match document["kind"]:
        case "IPPool" if stored is None:
            return await _pool_problems(neighbours, document)
        case "BGPPeer":
            return await _filter_problems(neighbours, document)
    return []


async def problems_with_earlier(resources: Resources, document: Document, revision: Revision) -> list[Problem]:
    """What a resource just created at the revision runs into that is older than it. Only pools exclude each other."""
    if document["kind"] != "IPPool":
        return []
    pools = (await resources.list(BY_NAME["IPPool"])).documents
    return _overlaps(document, [pool for pool in pools if int(pool["metadata"]["resourceVersion"]) < revision])


async def _pool_problems(neighbours: Neighbours, document: Document) -> list[Problem]:
    return _overlaps(document, await neighbours.of("IPPool"))


def _overlaps(document: Document, others: list[Document]) -> list[Problem]:
    pools = []
    for other in others:
        try:
            pools.append(typed(other))
        except Invalid:  # somebody else's broken pool is no reason to refuse this one
            continue
    pool = typed(document)
    assert isinstance(pool, IPPool)
    return list(overlapping(pool, [other for other in pools if isinstance(other, IPPool)]))


async def _filter_problems(neighbours: Neighbours, document: Document) -> list[Problem]:
    wanted = document.get("spec", {}).get("filters") or []
    if not wanted:
        return []
    existing = {other["metadata"]["name"] for other in await neighbours.of("BGPFilter")}
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
            "`tortie delete node` takes them away first; if they come back, its agent runs: stop it, and repeat",
        )
    along = []
    for kind_name in ("FelixConfiguration", "BGPConfiguration"):
        key = ResourceKey(BY_NAME[kind_name], f"node.{node}")
        if await resources.store.get(str(key), timeout_s=resources.timeout_s):
            along.append(key)
    for kind_name in ("BGPPeer", "HostEndpoint", "CalicoNodeStatus"):
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
