"""From host-local to Calico's IPAM: what becomes of every address that host-local has given out on this node. Pure.

An address that somebody uses is adopted under the handle that Calico's plugin would have given it, so that the pod's
end releases it. One that nobody is known to use is not adopted; its file is kept. If a single address that is used
cannot be adopted, nothing is done at all: half a migration would let the others be given out twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, Literal, NamedTuple

from tortie.ipam.block import block_cidr, same_handle
from tortie.ipam.census import Census
from tortie.ipam.errors import NotReady, WrongNode, no_such_node
from tortie.ipam.migration_files import Folder, Lease, Strange
from tortie.ipam.migration_pods import User, endpoint_document
from tortie.model.errors import TortieError
from tortie.model.keys import block_key
from tortie.model.kinds import nearest
from tortie.model.network import IP
from tortie.model.resource import validate
from tortie.model.resources.ippool import IPPoolSpec
from tortie.model.wire import Document

NETWORK: Final = "k8s-pod-network"

Verdict = Literal["adopt", "ours", "stale", "refused"]


class Decision(NamedTuple):
    lease: Lease
    verdict: Verdict
    why: str = ""
    fix: str = ""
    user: User | None = None
    handle: str = ""


class Adoption(NamedTuple):
    """All addresses of one container, to be taken together."""

    handle: str
    ips: tuple[IP, ...]  # those that are not ours yet
    attributes: Mapping[str, str]
    endpoint: Document | None = None  # to be written, because the store knows no such pod
    doubt: str = ""  # why there is none although the store knows no such pod


class Plan(NamedTuple):
    decisions: tuple[Decision, ...]
    adoptions: tuple[Adoption, ...]
    strange: tuple[Strange, ...] = ()

    @property
    def unendorsed(self) -> list[Adoption]:
        """Containers whose addresses will be held for no pod that the store knows."""
        return [adoption for adoption in self.adoptions if adoption.doubt]

    def having(self, verdict: Verdict) -> list[Decision]:
        return [decision for decision in self.decisions if decision.verdict == verdict]


class Refused(TortieError):
    """Some address that is in use cannot be adopted; nothing was written."""

    code = "refused"

    def __init__(self, refused: Sequence[Decision], used: int) -> None:
        self.refused = tuple(refused)
        super().__init__(
            f"refusing to migrate: {len(refused)} of {used} addresses in use cannot be adopted; nothing was changed",
            "\n".join(f"-  {each.lease.ip}{_used_by(each)}: {each.why}" for each in refused),
            "\n".join(dict.fromkeys(each.fix for each in refused)),
        )


def _used_by(decision: Decision) -> str:
    return f" ({decision.user.told})" if decision.user else ""


def check_cluster(node: str, census: Census) -> None:
    """What has to be so before any address is looked at."""
    if census.cluster.is_locked:
        raise NotReady()
    if node not in census.nodes:
        missing = no_such_node(node)
        if near := nearest(node, census.nodes):
            why = f"the datastore has no Node of that name; the nearest is {near}"
            raise WrongNode(node, missing.what, why, f"name it as it is registered: --node {near}; or {missing.fix}")
        raise missing


def plan_migration(node: str, network: str, folder: Folder, users: Mapping[IP, User], census: Census) -> Plan:
    lost = {each.key: each.why for each in census.unreadable}
    decisions = tuple(_decide(lease, node, network, users.get(lease.ip), census, lost) for lease in folder.leases)
    return Plan(decisions, tuple(_adoptions(decisions, node)), folder.strange)


def check_plan(plan: Plan) -> None:
    if refused := plan.having("refused"):
        raise Refused(refused, len(plan.decisions) - len(plan.having("stale")))


def _decide(
    lease: Lease, node: str, network: str, user: User | None, census: Census, lost: Mapping[str, str]
) -> Decision:
    if user is None:
        return Decision(lease, "stale", lease.trouble or "no pod is known to use it")
    container = lease.container or user.container
    if not container:
        fix = f"end the pod that uses {lease.ip}, then run this again; or write its sandbox's id into {lease.name}"
        return Decision(lease, "refused", f"nobody knows its container: {lease.trouble}", fix, user)
    handle = f"{network}.{container}"
    found = pool_of(lease.ip, census.pools.items())
    if found is None:
        why = _no_pool(lease.ip, census)
        fix = (
            "make an IP pool that holds these addresses, and enable it: `tortie apply -f pool.yaml`; "
            "the pools there are: `tortie get ippools`"
        )
        return Decision(lease, "refused", why, fix, user, handle)
    cidr = block_cidr(lease.ip, found[1].block_size)
    if reason := lost.get(block_key(str(cidr))):
        why = f"its block {cidr} cannot be read: {reason}"
        return Decision(lease, "refused", why, "repair it: `tortie ipam check`", user, handle)
    block = census.blocks.get(cidr)
    holding = block.holding(lease.ip) if block else None
    if holding:
        if same_handle(holding.attribute.handle, handle):
            return Decision(lease, "ours", "", "", user, handle)
        holder = holding.attribute.handle or "nobody, but it was released a moment ago and cools down"
        why = f"resource already exists: Address already assigned in block {cidr}; it is held by {holder}"
        fix = f"see whose it is: `tortie ipam show --ip={lease.ip}`; end one of the two pods, then run this again"
        return Decision(lease, "refused", why, fix, user, handle)
    if block and block.host != node and census.settings.strict_affinity:
        why = f"Block host affinity does not match: {cidr} is {block.host or 'nobody'}'s, and strictAffinity is on"
        return Decision(lease, "refused", why, "allow borrowing meanwhile: `tortie ipam configure`", user, handle)
    borrowed = f"borrowed from the block {cidr} of {block.host or 'nobody'}" if block and block.host != node else ""
    return Decision(lease, "adopt", borrowed, "", user, handle)


def pool_of(ip: IP, pools: Iterable[tuple[str, IPPoolSpec]], use: str = "Workload") -> tuple[str, IPPoolSpec] | None:
    """The enabled pool that the address is in, if it may be used for that."""
    return next(
        ((name, spec) for name, spec in pools if _holds(spec, ip) and not spec.disabled and use in spec.uses), None
    )


def _holds(spec: IPPoolSpec, ip: IP) -> bool:
    return spec.cidr.version == ip.version and ip in spec.cidr


def _no_pool(ip: IP, census: Census) -> str:
    """Calico's words, and what is behind them."""
    what = "The provided IP address is not in a configured pool"
    for name, spec in census.pools.items():
        if _holds(spec, ip):
            reason = "is disabled" if spec.disabled else f"is only for {', '.join(spec.uses)}"
            return f"{what}: {name} ({spec.cidr}) {reason}"
    there = ", ".join(f"{name} ({spec.cidr})" for name, spec in census.pools.items() if spec.cidr.version == ip.version)
    return f"{what}: there is {f'only {there}' if there else f'no IPv{ip.version} pool'}"


def _adoptions(decisions: Sequence[Decision], node: str) -> Iterator[Adoption]:
    containers: dict[str, list[Decision]] = {}
    for decision in decisions:
        if decision.verdict in ("adopt", "ours"):
            containers.setdefault(decision.handle, []).append(decision)
    for handle, held in containers.items():
        first = next((each for each in held if each.user and each.user.pod), held[0])
        user = first.user
        assert user is not None
        attributes = {"node": node}
        if user.pod:
            attributes |= {"namespace": user.namespace, "pod": user.pod}
        endpoint, doubt = _endpoint(first, node)
        ips = tuple(each.lease.ip for each in held if each.verdict == "adopt")
        if ips or endpoint:
            yield Adoption(handle, ips, attributes, endpoint, doubt)


def _endpoint(decision: Decision, node: str) -> tuple[Document | None, str]:
    lease, user = decision.lease, decision.user
    if user is None or user.source == "endpoint":
        return None, ""
    if user.document is None:
        return None, "its name is not known"
    try:
        document = endpoint_document(
            node, user.document, lease.container or user.container, lease.interface, user.interface
        )
    except TortieError as error:
        return None, str(error)
    if problems := validate(document):
        return None, str(problems[0])
    return document, ""
