"""From what the store says to what this node's BGP shall be: its sessions, and everything else of its plan. Pure.

The rules are Calico's, so that a mesh of both is one mesh. Where Calico leaves out what was asked for and says nothing,
the plan refuses and tells why: a session without its password, or without one of its filters, would let in more than
its owner wanted, so it is not made at all, and no other takes its place.
"""

from __future__ import annotations

from ipaddress import IPv4Address
from typing import Final, Literal

from tortie.bgp.calling import waits
from tortie.bgp.cluster import DEFAULT, Cluster, Unreadable
from tortie.bgp.entries import Speaker
from tortie.bgp.mesh import in_mesh, mesh_sessions, session_name
from tortie.bgp.passwords import Reference, Secrets, password, reference
from tortie.bgp.peering import Nodes, Peering, asked
from tortie.bgp.plan import BGP_PORT, Plan, Refusal, Session
from tortie.bgp.router import (
    advertisements,
    chosen_router_id,
    first_set,
    ignored_interfaces,
    log_level,
    normal_priority,
    pools,
    services,
)
from tortie.bgp.timers import KEEPALIVE_S, RESTART_S, whole_seconds
from tortie.model.resources.bgp import BGPPeerSpec

Subject = Literal["session", "pool", "resource"]

# What a resource that cannot be read takes with it, where nothing is known of it from before.
_WITHOUT: Final[dict[str, tuple[str, Subject]]] = {
    "Node": ("there is no session with it", "session"),
    "BGPConfiguration": ("the settings of the cluster hold for that node", "resource"),
    "BGPPeer": ("its sessions are not made", "session"),
    "BGPFilter": ("sessions that name it are not made", "resource"),  # each of them says so, too
    "IPPool": ("its routes are treated like those of no pool", "pool"),
    "BlockAffinity": ("the block is not announced", "resource"),
}


def plan(
    node: str,
    cluster: Cluster,
    *,
    secrets: Secrets,
    router_id: str = "",
    has_ipip: bool = True,
    own_dataplane: bool = True,
) -> Plan:
    """`router_id` is what CALICO_ROUTER_ID says. `secrets` holds those of `wanted_secrets`.

    `own_dataplane`: tunnels are Tortie's to make, not Felix's.
    """
    me = cluster.speakers.get(node)
    refusals = [_unreadable(entry, node) for entry in cluster.unreadable]
    sessions = _sessions(cluster, me, secrets, refusals)
    own, default = cluster.own_configuration, cluster.configuration
    named = {name for session in sessions for name in session.filters}
    return Plan(
        node,
        chosen_router_id(node, router_id, me, refusals),
        cluster.as_of(me) if me else cluster.as_number,
        me.cidrs() if me else (),
        listen_port=cluster.port_of(node),
        bind_to_node=first_set(own.bindMode, default.bindMode) == "NodeIP",
        log_level=log_level(cluster),
        sessions=tuple(sorted(sessions, key=lambda session: session.name)),
        blocks=cluster.blocks,
        services=services(cluster, me),
        pools=pools(cluster.pools, has_ipip, own_dataplane, refusals),
        advertisements=advertisements(cluster, refusals),
        filters={name: cluster.filters[name] for name in sorted(named)},
        ignored_interfaces=ignored_interfaces(cluster, refusals),
        normal_priority=normal_priority(cluster),
        reflects=me is not None and me.cluster_id is not None,
        refusals=tuple(sorted(set(refusals))),
    )


def wanted_secrets(node: str, cluster: Cluster) -> frozenset[Reference]:
    """Names and keys of the secrets without which this node cannot make all of its sessions."""
    me = cluster.speakers.get(node)
    if me is None:
        return frozenset()
    nodes = Nodes(cluster, me)
    wanted = {reference(peering.spec.password) for peering in asked(nodes).peerings.values()}
    if in_mesh(nodes):
        wanted.add(reference(cluster.configuration.nodeMeshPassword))
    return frozenset(secret for secret in wanted if secret is not None)


def _sessions(cluster: Cluster, me: Speaker | None, secrets: Secrets, refusals: list[Refusal]) -> list[Session]:
    if me is None or cluster.lost("BGPConfiguration", DEFAULT):
        return []
    nodes = Nodes(cluster, me)
    wishes = asked(nodes)
    refusals += wishes.refusals
    sessions = [_session(peering, nodes, secrets, refusals) for peering in wishes.peerings.values()]
    made = [session for session in sessions if session is not None]
    return made + mesh_sessions(nodes, wishes.peerings, secrets, refusals)


def _session(peering: Peering, nodes: Nodes, secrets: Secrets, refusals: list[Refusal]) -> Session | None:
    cluster, me, spec = nodes.cluster, nodes.me, peering.spec
    resource = f"BGPPeer({peering.resource})"
    what = f"{resource}: no session"
    secret = password(what, spec.password, secrets)
    if isinstance(secret, Refusal):
        refusals.append(secret)
        return None
    if absent := [name for name in spec.filters if name not in cluster.filters]:
        refusals += [_no_filter(what, name, cluster) for name in absent]
        return None
    # What the BGPPeer says of the node that it is for does not hold for the other one.
    ours = None if peering.reverse else spec
    local_as = int(ours.localASNumber) if ours and ours.localASNumber else cluster.as_of(me)
    own, text = me.ip(peering.peer.version), str(peering.peer)
    return Session(
        session_name(peering.kind, text, peering.port),
        peering.kind,
        peering.peer,
        peering.peer_as,
        local_as,
        peering.node.name if peering.node else "",
        peering.resource,
        peer_port=peering.port or BGP_PORT,
        source=None if spec.sourceAddress == "None" else own,
        # As in Calico, a session for one node always calls: its neighbour may be somebody who only waits.
        passive=peering.kind == "global" and peering.node is not None and waits(str(own), text),
        password=secret,
        reflects_as=_reflects(me, peering, local_as),
        next_hop=_next_hop(spec, internal=peering.peer_as == local_as),
        ttl_security=spec.ttlSecurity or None,
        restart_time_s=whole_seconds(spec.maxRestartTime, RESTART_S, f"maxRestartTime of {resource}", refusals),
        keepalive_s=whole_seconds(spec.keepaliveTime, KEEPALIVE_S, f"keepaliveTime of {resource}", refusals),
        allowed_local_as=(ours.numAllowedLocalASNumbers or None) if ours else None,
        reachable_by=ours.reachableBy if ours and not ours.peerSelector else None,
        filters=spec.filters,
    )


def _reflects(me: Speaker, peering: Peering, local_as: int) -> IPv4Address | None:
    """Neighbours of the same AS are clients of a reflector, other than reflectors of the same cluster."""
    if peering.peer_as != local_as or (peering.node and peering.node.cluster_id == me.cluster_id):
        return None
    return me.cluster_id


def _next_hop(spec: BGPPeerSpec, *, internal: bool) -> Literal["auto", "self", "keep"]:
    if spec.nextHopMode == "Self":
        return "self"
    if spec.nextHopMode == "Keep":
        return "keep"
    return "keep" if spec.keepOriginalNextHop and spec.nextHopMode is None and not internal else "auto"


def _no_filter(what: str, name: str, cluster: Cluster) -> Refusal:
    lost = cluster.lost("BGPFilter", name)
    why = f"its filter {name} " + (f"cannot be read: {lost}" if lost else "does not exist")
    return Refusal(what, f"{why}; without it the session would be open", f"create or correct the BGPFilter {name}")


def _unreadable(entry: Unreadable, node: str) -> Refusal:
    result, subject = _WITHOUT[entry.kind]
    if entry.kept:
        result, subject = "what it said before stays in force", "resource"
    elif (entry.kind, entry.name) == ("BGPConfiguration", DEFAULT):
        result, subject = "no sessions are made, because it says which AS, which mesh and which password", "session"
    elif (entry.kind, entry.name) == ("Node", node):
        result = "this node has no sessions while its own addresses are not known"
    fix = f"correct it: `tortie get {entry.kind.lower()} {entry.name} -o yaml` shows it"
    if entry.kind == "BlockAffinity":
        fix = "`tortie datastore export` shows it as it is"
    return Refusal(f"{entry} cannot be read", f"{entry.why}; {result}", fix, subject)
