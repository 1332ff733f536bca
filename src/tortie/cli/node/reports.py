"""What the datastore says about the BGP of a cluster: its nodes, their reports, and the sessions it asks for. Pure."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final, NamedTuple

from tortie.bgp.cluster import Cluster
from tortie.bgp.plan import BGP_PORT, Secret
from tortie.bgp.sessions import plan, wanted_secrets
from tortie.cli.node.suspects import Pair
from tortie.model.network import IP, Family
from tortie.model.resources.nodestatus import CalicoNodeStatus

_KINDS: Final = {"NodeMesh": "mesh", "NodePeer": "node", "GlobalPeer": "global"}


class Member(NamedTuple):
    """A node as the datastore has it."""

    name: str
    addresses: tuple[IP, ...] = ()  # at most one of each family; none: it takes no part in BGP
    port: int = BGP_PORT  # where it listens

    def address(self, family: Family) -> IP | None:
        return next((address for address in self.addresses if address.version == family), None)


class Seen(NamedTuple):
    """What a node says about one of its peers."""

    peer: IP
    state: str  # in BGP's words: Established, Active, ...
    since: datetime | None = None
    kind: str = ""  # mesh, node, global


class Report(NamedTuple):
    node: str
    updated: datetime | None
    peers: tuple[Seen, ...] = ()


class Expected(NamedTuple):
    """The sessions that the cluster's configuration asks for."""

    between: frozenset[tuple[Family, Pair]] = frozenset()  # (a, b): a shall have a session with the node b
    outside: frozenset[tuple[str, IP, int]] = frozenset()  # with what is no node, and on which port


def members_of(cluster: Cluster) -> list[Member]:
    return [
        Member(name, tuple(ip for ip in (speaker.ipv4, speaker.ipv6) if ip is not None), cluster.port_of(name))
        for name, speaker in cluster.speakers.items()
    ]


def expected_of(cluster: Cluster) -> Expected:
    """What every node decides for itself, decided here for all of them. Passwords are taken to be there."""
    between, outside = set(), set()
    for name in cluster.speakers:
        secrets = {wanted: Secret("known to the node") for wanted in wanted_secrets(name, cluster)}
        for session in plan(name, cluster, secrets=secrets).sessions:
            if session.peer_node:
                between.add((session.family, (name, session.peer_node)))
            else:
                outside.add((name, session.peer, session.peer_port))
    return Expected(frozenset(between), frozenset(outside))


def report_of(resource: CalicoNodeStatus) -> Report | None:
    """None for one that nobody asked about BGP."""
    if "BGP" not in resource.spec.classes:
        return None
    bgp, updated = resource.status.bgp, moment(resource.status.lastUpdated)
    peers = tuple(
        Seen(peer.peerIP, peer.state, _before(updated, moment(peer.since)), _KINDS.get(peer.type, ""))
        for peer in (*bgp.peersV4, *bgp.peersV6)
        if peer.peerIP is not None
    )
    return Report(resource.spec.node or resource.metadata.name, updated, peers)


def _before(updated: datetime | None, since: datetime | None) -> datetime | None:
    """Nobody reports what has not happened yet: such a time is that of another time zone, and tells nothing."""
    return since if since and updated and since <= updated else None


def moment(text: str | None) -> datetime | None:
    """A point in time; None for what is none, such as the bare time of day that BIRD tells of things of today."""
    if not text or len(text) < len("2026-11-16T03:41:38"):
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
