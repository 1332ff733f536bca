"""KubeControllersConfiguration `default`: made where there is none, and its status kept true, as Calico's own do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Final

from tortie.controllers.running import KIND, new_document, status_of
from tortie.ipam.census import CLUSTER
from tortie.model.keys import ResourceKey
from tortie.model.kinds import BY_NAME
from tortie.model.resource import stored_form
from tortie.model.wire import Undecodable, decode, encode
from tortie.store.contract import Store
from tortie.store.retry import update

CONFIGURATION: Final = str(ResourceKey(BY_NAME[KIND], "default"))


async def keep(
    store: Store, environment: Mapping[str, str], *, today: Callable[[], datetime], new_uid: Callable[[], str]
) -> None:
    """What nobody can read is left as it is, and nothing is written while the datastore is locked."""
    if await _is_locked(store):
        return
    created, uid = today().strftime("%Y-%m-%dT%H:%M:%SZ"), new_uid()

    def decide(present: bytes | None) -> bytes:
        if present is None:
            document = stored_form(new_document("default", uid, created))
        else:
            try:
                document = decode(present, CONFIGURATION)
            except Undecodable:
                return present
        spec = document.get("spec")
        status = status_of(environment, spec if isinstance(spec, dict) else {})
        if present is not None and document.get("status") == status:
            return present
        return encode({**document, "status": status})

    await update(store, CONFIGURATION, decide)


async def _is_locked(store: Store) -> bool:
    entry = await store.get(CLUSTER)
    try:
        spec = decode(entry.value, entry.key).get("spec") if entry else None
    except Undecodable:
        return False
    return isinstance(spec, dict) and spec.get("datastoreReady") is False
