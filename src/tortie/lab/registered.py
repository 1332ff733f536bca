"""What the nodes of a lab have registered in its embedded store, as Calico notes it at Kubernetes's nodes."""

from __future__ import annotations

from collections.abc import Coroutine, Iterator
from typing import Any, Final

from tortie.model.errors import TortieError
from tortie.model.kinds import BY_NAME
from tortie.store.embedded import EmbeddedStore, inline
from tortie.store.resources import Resources

_TIMEOUT_S: Final = 3.0
_FIELDS: Final = {
    "projectcalico.org/IPv4Address": ("bgp", "ipv4Address"),
    "projectcalico.org/IPv6Address": ("bgp", "ipv6Address"),
    "projectcalico.org/ASNumber": ("bgp", "asNumber"),
    "projectcalico.org/IPv4IPIPTunnelAddr": ("bgp", "ipv4IPIPTunnelAddr"),
    "projectcalico.org/IPv4VXLANTunnelAddr": ("ipv4VXLANTunnelAddr",),
}


def noted_at_nodes(path: str) -> dict[str, dict[str, str]]:
    """By node; empty while the store cannot be read."""
    try:
        nodes = _finished(_nodes(path))
    except (TortieError, OSError):
        return {}
    return {str(node["metadata"]["name"]): dict(_noted(node.get("spec") or {})) for node in nodes}


def _finished(work: Coroutine[Any, Any, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Driven without an event loop, whose import would cost more than all the rest: this store never waits for one."""
    try:
        work.send(None)
    except StopIteration as done:
        nodes: list[dict[str, Any]] = done.value
        return nodes
    work.close()
    raise AssertionError("the embedded store suspended without an event loop")


async def _nodes(path: str) -> list[dict[str, Any]]:
    store = EmbeddedStore(path, durable=False, offload=inline)
    try:
        return (await Resources(store, timeout_s=_TIMEOUT_S).list(BY_NAME["Node"])).documents
    finally:
        await store.close()


def _noted(spec: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for name, fields in _FIELDS.items():
        value: Any = spec
        for field in fields:
            value = value.get(field) if isinstance(value, dict) else None
        if value:
            yield name, str(value)
