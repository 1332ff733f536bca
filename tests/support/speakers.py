"""Clusters for tests of BGP, told entry by entry as the store tells them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.support.documents import document

from tortie.bgp.cluster import Cluster, Known
from tortie.bgp.plan import Plan, Refusal, Secret, Session
from tortie.bgp.sessions import plan
from tortie.model.keys import ResourceKey, host_affinity_key
from tortie.model.kinds import BY_NAME
from tortie.model.wire import encode

StoreEntry = tuple[str, bytes | None]
Secrets = Mapping[tuple[str, str], Secret | str]


def key(kind: str, name: str) -> str:
    return str(ResourceKey(BY_NAME[kind], name))


def stored(kind: str, name: str, labels: Mapping[str, str] | None = None, **spec: Any) -> StoreEntry:
    metadata = {"labels": dict(labels)} if labels else {}
    return key(kind, name), encode(document(kind, name, spec, **metadata))


def node(
    name: str, ipv4: str = "", ipv6: str = "", *, asn: int | str = 0, reflector: str = "", **labels: str
) -> StoreEntry:
    given = {
        "ipv4Address": ipv4,
        "ipv6Address": ipv6,
        "asNumber": asn,
        "routeReflectorClusterID": reflector,
    }
    return stored("Node", name, labels, bgp={field: value for field, value in given.items() if value})


def default(**spec: Any) -> StoreEntry:
    return stored("BGPConfiguration", "default", **spec)


def own(node_name: str, **spec: Any) -> StoreEntry:
    return stored("BGPConfiguration", f"node.{node_name}", **spec)


def peer(name: str, **spec: Any) -> StoreEntry:
    return stored("BGPPeer", name, **spec)


def pool(name: str, cidr: str, **spec: Any) -> StoreEntry:
    return stored("IPPool", name, cidr=cidr, **spec)


def block(node_name: str, cidr: str, value: bytes = b'{"state":"confirmed","deleted":false}') -> StoreEntry:
    return host_affinity_key(node_name, cidr), value


def secret(name: str) -> dict[str, Any]:
    """The field `password` of a BGPPeer, or `nodeMeshPassword`."""
    return {"secretKeyRef": {"name": name, "key": "password"}}


def told(me: str, *entries: StoreEntry) -> Cluster:
    known = Known(me)
    for entry in entries:
        known.learn(*entry)
    return known.cluster()


def planned(
    me: str, *entries: StoreEntry, secrets: Secrets | None = None, router_id: str = "", has_ipip: bool = True
) -> Plan:
    return plan(me, told(me, *entries), secrets=secrets or {}, router_id=router_id, has_ipip=has_ipip)


def names(made: Plan) -> list[str]:
    return [session.name for session in made.sessions]


def session(made: Plan, name: str) -> Session:
    found = {session.name: session for session in made.sessions}
    assert name in found, f"{name} is not among {sorted(found)}; refused: {made.refusals}"
    return found[name]


def refused(made: Plan, fragment: str) -> Refusal:
    """The one refusal that has the fragment in what it is about."""
    found = [refusal for refusal in made.refusals if fragment in refusal.what]
    assert len(found) == 1, f"{fragment!r}: {made.refusals}"
    assert found[0].why, found
    assert found[0].fix, found
    return found[0]
