"""The full mesh: a session with every other node, for each family that both have. Pure.

There is one between two nodes while the mesh is enabled and neither of them is a route reflector. A peering that
somebody asked for with the same address and port takes its place: BIRD could not tell the two apart when one calls.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import Final, NamedTuple

from tortie.bgp.calling import waits
from tortie.bgp.entries import Speaker
from tortie.bgp.passwords import Secrets, password
from tortie.bgp.peering import FAMILIES, Nodes, Place
from tortie.bgp.plan import PREFIX_OF, Refusal, Session, SessionKind
from tortie.bgp.timers import RESTART_S, whole_seconds
from tortie.model.network import IP

_WHAT: Final = "the node-to-node mesh: no sessions"
_RESTART: Final = "nodeMeshMaxRestartTime of the BGPConfiguration default"


class _Neighbour(NamedTuple):
    speaker: Speaker
    own: IP
    peer: IP
    port: int


def session_name(kind: SessionKind, peer: str, port: int = 0) -> str:
    """Calico's: the address with its dots or colons made underscores, and the port if one was named."""
    place = peer.replace(".", "_").replace(":", "_")
    return f"{PREFIX_OF[kind]}_{place}" + (f"_port_{port}" if port else "")


def in_mesh(nodes: Nodes) -> bool:
    return nodes.cluster.configuration.nodeToNodeMeshEnabled is not False and nodes.me.cluster_id is None


def mesh_sessions(nodes: Nodes, taken: Container[Place], secrets: Secrets, refusals: list[Refusal]) -> list[Session]:
    """`taken` are the places where a session is already, or was refused."""
    cluster, me = nodes.cluster, nodes.me
    neighbours = list(_neighbours(nodes, taken, refusals)) if in_mesh(nodes) else []
    if not neighbours:
        return []
    secret = password(_WHAT, cluster.configuration.nodeMeshPassword, secrets)
    if isinstance(secret, Refusal):
        refusals.append(secret)
        return []
    restart_s = whole_seconds(cluster.configuration.nodeMeshMaxRestartTime, RESTART_S, _RESTART, refusals)
    local_as = cluster.as_of(me)
    own_texts = {family: str(me.ip(family)) for family in FAMILIES}
    sessions = []
    for speaker, own, peer, port in neighbours:
        text = str(peer)
        sessions.append(
            Session(
                session_name("mesh", text),
                "mesh",
                peer,
                cluster.as_of(speaker),
                local_as,
                speaker.name,
                peer_port=port,
                source=own,
                passive=waits(own_texts[own.version], text),
                password=secret,
                restart_time_s=restart_s,
            )
        )
    return sessions


def _neighbours(nodes: Nodes, taken: Container[Place], refusals: list[Refusal]) -> Iterator[_Neighbour]:
    cluster, me = nodes.cluster, nodes.me
    for speaker in cluster.speakers.values():
        if speaker.name == me.name or speaker.cluster_id is not None:
            continue
        port = cluster.port_of(speaker.name)
        for own, peer in ((me.ipv4, speaker.ipv4), (me.ipv6, speaker.ipv6)):
            if own is None or peer is None or (peer, port) in taken:
                continue
            holder = me if peer == own else nodes.at(peer)
            if holder is speaker:
                yield _Neighbour(speaker, own, peer, port)
            elif holder is not None:
                refusals.append(_same_address(speaker, peer, holder))


def _same_address(speaker: Speaker, peer: IP, holder: Speaker) -> Refusal:
    return Refusal(
        f"no session with the node {speaker.name}",
        f"it has registered {peer}, the address of the node {holder.name}",
        f"give one of them another address, or delete the record of the one that is gone:"
        f" `tortie delete node {speaker.name}`",
        "resource",
    )
