"""IPAMConfiguration and what IPAM reads, kept as one thing: each write of the resource is a write of both."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tortie.model.ipam_settings import IPAM_CONFIG as IPAM_CONFIG
from tortie.model.ipam_settings import RESOURCE, config_for, in_effect, readable
from tortie.model.wire import Document, decode, encode
from tortie.store.contract import Entry, Store
from tortie.store.retry import update_together


async def shown(store: Store, document: Document, *, timeout_s: float) -> Document:
    """The resource as it is in effect."""
    config = await store.get(IPAM_CONFIG, timeout_s=timeout_s)
    return in_effect(document, readable(config.value) if config else None)


async def rewrite(store: Store, decide: Callable[[Entry | None], bytes], *, timeout_s: float) -> Entry:
    """`decide` is given the resource as it is in effect, and what it returns is in effect when this ends."""

    def both(found: Sequence[Entry | None]) -> tuple[bytes, bytes]:
        resource, config = found
        stored = config.value if config else None
        if resource is not None:
            shown = in_effect(decode(resource.value, RESOURCE), readable(stored))
            resource = resource._replace(value=encode(shown))
        value = decide(resource)
        return value, config_for(decode(value, RESOURCE).get("spec") or {}, stored)

    after, _ = await update_together(store, (RESOURCE, IPAM_CONFIG), both, timeout_s=timeout_s)
    assert after is not None
    return after
