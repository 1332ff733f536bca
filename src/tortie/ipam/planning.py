"""How a request for addresses is served: from what is known to what shall be written. Pure.

The order is Calico's: what the handle holds already, the node's own blocks, a new block, an empty block that another
node has not used for a while, and, unless affinity is strict, addresses of other nodes' blocks. Nothing is decided on
what is not known: `Missing` says what has to be read first. All or nothing: a request that cannot be served whole is
refused, with what would have been possible.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from tortie.ipam.block import HOST, Attribute, Block, Holding, block_cidr, clean_handle
from tortie.ipam.claims import claim
from tortie.ipam.draft import Draft, Missing, Trial
from tortie.ipam.errors import AlreadyAssigned, NotInPool, NotReady, foreign_block, no_such_node
from tortie.ipam.facts import NODES
from tortie.ipam.pools import Labels, pool_with
from tortie.ipam.records import HOSTS, VIRTUALS, Handle
from tortie.ipam.request import Assigned, Request, interface
from tortie.ipam.search import Hunt
from tortie.ipam.view import FACTS, VIRTUAL_OWNER, Need, owner_prefix
from tortie.model.keys import block_key, handle_key
from tortie.model.network import CIDR, IP, Network
from tortie.store.contract import check_operations

LOAD_BALANCER: Final = "LoadBalancer"


class Found(NamedTuple):
    """What a handle holds that a request may be answered with."""

    fitting: tuple[Holding, ...]
    counts: dict[str, int]  # by block: all that it holds, fitting or not


def owner_of(request: Request) -> str:
    return VIRTUAL_OWNER if request.use == LOAD_BALANCER else HOST + request.node


def first_need(request: Request) -> Need:
    """What every request needs to know, in one read."""
    keys = {handle_key(request.handle)}
    if request.use != LOAD_BALANCER:
        keys.add(NODES + request.node)
    return FACTS | Need(frozenset(keys), frozenset({owner_prefix(owner_of(request))}))


def plan_assignment(draft: Draft, request: Request) -> tuple[Trial, Assigned]:
    trial = Trial(draft)
    labels = _labels(trial, request)
    found = _held(trial, request)
    attribute = Attribute(request.handle, dict(request.attributes) or None)
    if request.given:
        addresses, fresh = _given(trial, request, attribute, found)
    else:
        addresses, fresh = _counted(trial, request, attribute, found, labels)
    if fresh:
        counts = dict(found.counts)
        for address in fresh:
            cidr = str(address.network)
            counts[cidr] = counts.get(cidr, 0) + 1
        known = trial.handle(request.handle)
        trial.handles[request.handle] = known._replace(blocks=counts) if known else Handle(request.handle, counts)
    if request.along:
        trial.along = list(request.along([address.ip for address in addresses]))
        if trial.along:
            check_operations(trial.along)
    return trial, Assigned(tuple(sorted(addresses, key=_family)), again=not fresh)


def _family(address: CIDR) -> int:
    return address.version


def _labels(trial: Trial, request: Request) -> Labels:
    view = trial.view
    virtual = request.use == LOAD_BALANCER
    if view.facts is None or owner_of(request) not in view.rows or not (virtual or request.node in view.labels):
        raise Missing(first_need(request))
    if view.facts.trouble:
        raise view.facts.trouble
    if not view.facts.ready:
        raise NotReady
    if not virtual and request.node in view.broken_nodes:
        raise view.broken_nodes[request.node]
    labels = {} if virtual else view.labels[request.node]
    if labels is None:
        raise no_such_node(request.node)
    return labels


def _held(trial: Trial, request: Request) -> Found:
    """A request that is repeated, by a runtime or after an answer that got lost, finds what it was given."""
    handle = trial.handle(request.handle)
    if handle is None:
        return Found((), {})
    # What is answered without writing it has to be so, not to have been so.
    stale = {block_key(str(cidr)) for cidr in handle.networks() if not trial.is_fresh(cidr)}
    if not trial.is_fresh(request.handle):
        stale.add(handle_key(request.handle))
    if stale:
        raise Missing(Need(frozenset(stale)))
    blocks = blocks_of(trial, handle)
    fitting: list[Holding] = []
    counts: dict[str, int] = {}
    for cidr, block in blocks:
        holdings = block.held_by(request.handle)
        if holdings:
            counts[str(cidr)] = len(holdings)
        fitting += [holding for holding in holdings if holding.attribute.node in ("", request.node)]
    return Found(tuple(fitting), counts)


def blocks_of(trial: Trial, handle: Handle) -> list[tuple[Network, Block]]:
    """The blocks that a handle names, as far as they are there."""
    cidrs = handle.networks()
    unknown = [block_key(str(cidr)) for cidr in cidrs if not trial.knows(cidr)]
    if unknown:
        raise Missing(Need(frozenset(unknown)))
    blocks = ((cidr, trial.block(cidr)) for cidr in cidrs)
    return [(cidr, block) for cidr, block in blocks if block is not None]


def _counted(
    trial: Trial, request: Request, attribute: Attribute, found: Found, labels: Labels
) -> tuple[list[CIDR], list[CIDR]]:
    addresses: list[CIDR] = []
    fresh: list[CIDR] = []
    for family, wanted in ((4, request.v4), (6, request.v6)):
        if wanted <= 0:
            continue
        held = [holding.ip for holding in found.fitting if holding.ip.version == family]
        if len(held) < wanted or request.pools4 or request.pools6:
            pools = trial.view.answers.pools(trial.view, request, family, labels)
            if request.pools4 if family == 4 else request.pools6:
                held = [ip for ip in held if pool_with(pools, ip)]
        had = [_with_length(ip, found) for ip in held[:wanted]]
        addresses += had
        if len(had) < wanted:
            hunt = Hunt(trial, owner_of(request), pools, request.blocks_max)
            obtained = hunt.obtain(family, wanted - len(had), attribute, had=len(had))
            addresses += obtained
            fresh += obtained
    return addresses, fresh


def _given(trial: Trial, request: Request, attribute: Attribute, found: Found) -> tuple[list[CIDR], list[CIDR]]:
    held = {holding.ip for holding in found.fitting}
    addresses: list[CIDR] = []
    fresh: list[CIDR] = []
    places = {ip: _place(trial, request, ip) for ip in request.given if ip not in held}
    unknown = {block_key(str(cidr)) for cidr in places.values() if not trial.knows(cidr)}
    if unknown:
        raise Missing(Need(frozenset(unknown)))
    for ip in dict.fromkeys(request.given):
        if ip in held:
            addresses.append(_with_length(ip, found))
            continue
        address = _assign_given(trial, request, attribute, ip, places[ip])
        addresses.append(address)
        fresh.append(address)
    return addresses, fresh


def _place(trial: Trial, request: Request, ip: IP) -> Network:
    pools = trial.facts.pools
    pool = pool_with(pools, ip)
    if pool is None:
        disabled = pool_with(pools, ip, disabled=True)
        raise NotInPool(ip, f"its pool {disabled.name} is disabled" if disabled else "no pool has it")
    if request.use not in pool.spec.uses:
        uses = ", ".join(pool.spec.uses)
        raise NotInPool(ip, f"its pool {pool.name} is not allowed for use {request.use} (allowedUses: {uses})")
    return block_cidr(ip, pool.block_size)


def _assign_given(trial: Trial, request: Request, attribute: Attribute, ip: IP, cidr: Network) -> CIDR:
    """Reservations do not count, and a block more is allowed: it was asked for."""
    owner = owner_of(request)
    block = trial.block(cidr)
    if block is None:
        if trial.view.everything_taken is None:
            raise Missing(Need(prefixes=frozenset({HOSTS, VIRTUALS})))
        if trial.row(owner, cidr) is None and trial.view.taken().at(cidr.version, cidr.prefixlen)(
            int(cidr.network_address)
        ):
            raise NotInPool(ip, f"blocks of another size stand where its block {cidr} would be")
        block = claim(trial, owner, cidr)
    elif trial.facts.settings.strict_affinity and block.affinity != owner:
        raise foreign_block(request.node, ip, block.affinity)
    holding = block.holding(ip)
    if holding is not None:
        raise AlreadyAssigned(ip, clean_handle(holding.attribute.handle) if holding.attribute.handle else None)
    trial.blocks[cidr] = block.assign_given(ip, attribute)
    return interface(ip, cidr)


def _with_length(ip: IP, found: Found) -> CIDR:
    for cidr in Handle("", found.counts).networks():
        if ip in cidr:
            return interface(ip, cidr)
    raise AssertionError(f"{ip} was found in no block")
