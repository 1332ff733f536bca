"""Rules that need to see other resources, asked before a resource is written or deleted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from ipaddress import ip_network
from typing import TYPE_CHECKING, Final

from tortie.model.errors import Invalid, Problem, TortieError
from tortie.model.keys import IPAM, ResourceKey, host_affinity_prefix
from tortie.model.kinds import BY_NAME, Kind
from tortie.model.network import Network
from tortie.model.policy_names import TIERED
from tortie.model.resource import typed, validate
from tortie.model.resources.ippool import IPPool, overlapping
from tortie.model.resources.policies import BUILT_IN_TIERS, DEFAULT_TIER, OF_KUBERNETES
from tortie.model.wire import Document
from tortie.store.contract import Revision

if TYPE_CHECKING:
    from tortie.store.resources import Resources


class InUse(TortieError):
    """Something else still needs it."""

    code = "in-use"


class OfKubernetes(TortieError):
    """Calico's controllers keep it in step with an object of Kubernetes; only its name says so."""

    code = "read-only"

    def __init__(self, what: str) -> None:
        super().__init__(
            f"operation delete is not supported on {what}",
            "it is the copy of a network policy of Kubernetes, and would come back",
            "kubernetes network policies must be managed through the kubernetes API: kubectl delete networkpolicy",
        )


# What policies and peers name, and what therefore is written before them.
_NEEDED: Final = ("Tier", "BGPFilter")


def needed_first(document: Document) -> int:
    """The sort key for documents that are written together: what others need comes first, the rest as it was given."""
    return 0 if document["kind"] in _NEEDED else 1


class Neighbours:
    """The other resources that a rule looks at: those stored, and those that the same command is about to write.

    Each kind is read once, and a question by name costs the same however many documents are judged.
    """

    def __init__(self, resources: Resources) -> None:
        self._resources = resources
        self._stored: dict[str, list[Document]] = {}
        self._names: dict[str, set[str]] = {}
        self._coming: dict[str, dict[str, Document]] = {}
        self._blocks: dict[int, list[Network]] = {}

    def add(self, document: Document) -> None:
        self._coming.setdefault(document["kind"], {})[str(document["metadata"]["name"])] = document

    async def of(self, kind: str) -> list[Document]:
        coming = self._coming.get(kind, {})
        stored = [other for other in await self._those_stored(kind) if other["metadata"]["name"] not in coming]
        return [*stored, *coming.values()]

    async def has(self, kind: str, name: str) -> bool:
        if name in self._coming.get(kind, {}):
            return True
        if kind not in self._names:
            self._names[kind] = {str(other["metadata"]["name"]) for other in await self._those_stored(kind)}
        return name in self._names[kind]

    async def blocks(self, version: int) -> list[Network]:
        """The address blocks of one family."""
        if version not in self._blocks:
            self._blocks[version] = await _blocks(self._resources, version)
        return self._blocks[version]

    async def _those_stored(self, kind: str) -> list[Document]:
        if kind not in self._stored:
            self._stored[kind] = (await self._resources.list(BY_NAME[kind])).documents
        return self._stored[kind]


async def admit(resources: Resources, document: Document, *, stored: Document | None, judged: bool = False) -> None:
    """Raises Invalid unless the document may be stored in place of `stored`; if `judged`, it is valid for itself."""
    problems = [] if judged else validate(document, stored=stored)
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
        case kind if kind in TIERED:
            return await _tier_problems(neighbours, document, stored)
    return []


async def problems_with_earlier(resources: Resources, document: Document, revision: Revision) -> list[Problem]:
    """What a resource just created at the revision runs into that is older than it. Only pools exclude each other."""
    if document["kind"] != "IPPool":
        return []
    pools = (await resources.list(BY_NAME["IPPool"])).documents
    return _overlaps(document, [pool for pool in pools if int(pool["metadata"]["resourceVersion"]) < revision])


async def _pool_problems(neighbours: Neighbours, document: Document) -> list[Problem]:
    problems = _overlaps(document, await neighbours.of("IPPool"))
    return problems or _size_problems(document, await neighbours.blocks(_pool(document).spec.cidr.version))


def _pool(document: Document) -> IPPool:
    pool = typed(document)
    assert isinstance(pool, IPPool)
    return pool


def _size_problems(document: Document, blocks: Iterable[Network]) -> list[Problem]:
    """Blocks outlive their pool as long as somebody has an address in them, and two sizes would overlap."""
    spec = _pool(document).spec
    size = spec.block_size
    for block in blocks:
        if block.prefixlen != size and block.version == spec.cidr.version and block.overlaps(spec.cidr):
            why = f"conflicts with existing allocations that use a different blockSize: there is the block {block}"
            right = f"blockSize: {block.prefixlen}, or free what is left in the old blocks first"
            return [Problem("spec.blockSize", size, why, right)]
    return []


def _overlaps(document: Document, others: list[Document]) -> list[Problem]:
    ranges = ((str(other["metadata"]["name"]), _range_of(other)) for other in others)
    return list(overlapping(_pool(document), ((name, cidr) for name, cidr in ranges if cidr)))


def _range_of(pool: Document) -> Network | None:
    """None for somebody else's broken pool, which is no reason to refuse another one."""
    spec = pool.get("spec")
    cidr = spec.get("cidr") if isinstance(spec, dict) else None
    return _network(cidr) if isinstance(cidr, str) else None


@lru_cache(maxsize=4096)  # each of many new pools is compared with all the others
def _network(text: str) -> Network | None:
    try:
        return ip_network(text, strict=False) if "/" in text else None
    except ValueError:
        return None


async def _filter_problems(neighbours: Neighbours, document: Document) -> list[Problem]:
    return [
        Problem(f"spec.filters[{index}]", name, "there is no BGPFilter of that name", "create the filter first")
        for index, name in enumerate(document.get("spec", {}).get("filters") or [])
        if not await neighbours.has("BGPFilter", name)
    ]


async def _tier_problems(neighbours: Neighbours, document: Document, stored: Document | None) -> list[Problem]:
    """Nobody asks a policy whose tier does not exist. The built-in tiers exist as soon as a node has started."""
    tier = _tier(document)
    if tier in BUILT_IN_TIERS or (stored is not None and _tier(stored) == tier) or await neighbours.has("Tier", tier):
        return []
    right = "create the tier first, or put it into the same files"
    return [Problem("spec.tier", tier, f"resource does not exist: Tier({tier})", right)]


def _tier(document: Document) -> str:
    spec = document.get("spec")
    return str((spec.get("tier") if isinstance(spec, dict) else "") or DEFAULT_TIER)


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
        case "NetworkPolicy" if name.startswith(OF_KUBERNETES):
            raise OfKubernetes(kind.describe(name, document["metadata"].get("namespace")))
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
    try:
        pool = ip_network(cidr)
    except ValueError:
        return 0
    blocks = await _blocks(resources, pool.version)
    return sum(block.subnet_of(pool) for block in blocks)  # type: ignore[arg-type]


async def _blocks(resources: Resources, version: int) -> list[Network]:
    prefix = f"{IPAM}assignment/ipv{version}/block/"
    found = await resources.store.scan(prefix, timeout_s=resources.timeout_s)
    blocks = []
    for entry in found.entries:
        try:
            block = ip_network(entry.key.removeprefix(prefix).replace("-", "/"))
        except ValueError:
            continue
        if block.version == version:
            blocks.append(block)
    return blocks
