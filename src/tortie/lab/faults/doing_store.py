"""Deeds to the datastore of a lab: resources put, patched and removed, and single keys.

They are done where the store can be reached whatever is broken between nodes: in a process of its own, inside the first
member of etcd that answers; the embedded store is a file. What other writers have changed meanwhile stays: of a patched
resource only the patched fields are put back.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

from tortie.lab.failures import Phrase, phrase
from tortie.lab.faults.deeds import PatchResource, PutKey, PutResource, RemoveResource
from tortie.lab.faults.hands import Hands, refuse
from tortie.lab.faults.inside import run_apart
from tortie.lab.faults.ledger import Memo
from tortie.lab.faults.pool_blocks import remove_empty_blocks
from tortie.lab.seeding import open_store
from tortie.model.errors import TortieError
from tortie.model.keys import ResourceKey
from tortie.model.kinds import BY_NAME, find_kind
from tortie.model.wire import Document, decode, encode
from tortie.store.contract import Delete, Put, Store, Unreachable
from tortie.store.resources import Resources

_STORE_S: Final = 15.0
_PAUSE_S: Final = 0.1
_BOOKKEEPING: Final = ("uid", "creationTimestamp", "resourceVersion", "generation", "managedFields")


class KeyDoer:
    """Whatever is at one key: its bytes are kept as they are. What is done to the store is done in a session of it."""

    def look(self, hands: Hands, _tag: str, deed: Any) -> Memo:
        return look_all(hands, [deed])[0]

    def do(self, hands: Hands, _tag: str, deed: Any, memo: Memo) -> None:
        do_all(hands, [(deed, memo)])

    def undo(self, hands: Hands, _tag: str, deed: Any, memo: Memo) -> None:
        undo_all(hands, [(deed, memo)])

    def undone(self, hands: Hands, _tag: str, deed: Any, memo: Memo) -> list[Phrase]:
        return undone_all(hands, [(deed, memo)])[0]

    async def looked(self, store: Store, deed: Any) -> Memo:
        before = await _text(store, _key(deed))
        if before is None and isinstance(deed, RemoveResource):
            raise refuse(_named(deed), "no-resource")
        return {"before": before}

    async def did(self, store: Store, deed: Any, _memo: Memo) -> None:
        await _set(store, _key(deed), deed.value if isinstance(deed, PutKey) else None)

    async def took_back(self, store: Store, deed: Any, memo: Memo) -> None:
        await _set(store, _key(deed), memo["before"])

    async def left(self, store: Store, deed: Any, memo: Memo) -> str:
        """The key of a phrase; "" when all is as before."""
        now = await _text(store, _key(deed))
        if _matter(now) == _matter(memo["before"]):
            return ""
        return "still-there" if memo["before"] is None else "gone" if now is None else "changed"


class PutDoer(KeyDoer):
    async def did(self, store: Store, deed: PutResource, _memo: Memo) -> None:
        await Resources(store, timeout_s=_STORE_S).apply(dict(deed.document))

    async def took_back(self, store: Store, deed: PutResource, memo: Memo) -> None:
        await super().took_back(store, deed, memo)
        spec = deed.document.get("spec")
        if deed.document["kind"] == "IPPool" and memo["before"] is None and isinstance(spec, dict):
            await remove_empty_blocks(store, str(spec["cidr"]))


class PatchDoer(KeyDoer):
    async def looked(self, store: Store, deed: PatchResource) -> Memo:
        before = await _text(store, _key(deed))
        if before is None:
            raise refuse(_named(deed), "no-resource")
        return {"before": before, "inverse": inverse(json.loads(before), deed.patch)}

    async def did(self, store: Store, deed: PatchResource, _memo: Memo) -> None:
        await _patched(store, deed, deed.patch, "")

    async def took_back(self, store: Store, deed: PatchResource, memo: Memo) -> None:
        await _patched(store, deed, memo["inverse"], memo["before"])

    async def left(self, store: Store, deed: PatchResource, memo: Memo) -> str:
        now = await _text(store, _key(deed))
        if now is None:
            return "gone"
        document = json.loads(now)
        return "" if merged(document, memo["inverse"]) == document else "changed"


DOERS: Final[dict[type, KeyDoer]] = {
    PutResource: PutDoer(),
    PatchResource: PatchDoer(),
    RemoveResource: KeyDoer(),
    PutKey: KeyDoer(),
}


def look_all(hands: Hands, deeds: Sequence[Any]) -> list[Memo]:
    """Many at once: a session with etcd takes longer than what is done in it."""

    async def work(store: Store) -> list[Memo]:
        return [await DOERS[type(deed)].looked(store, deed) for deed in deeds]

    found: list[Memo] = in_store(hands, work)
    return found


def do_all(hands: Hands, pairs: Sequence[tuple[Any, Memo]]) -> None:
    async def work(store: Store) -> None:
        for deed, memo in pairs:
            await DOERS[type(deed)].did(store, deed, memo)

    in_store(hands, work)


def undo_all(hands: Hands, pairs: Sequence[tuple[Any, Memo]]) -> None:
    async def work(store: Store) -> None:
        for deed, memo in pairs:
            await DOERS[type(deed)].took_back(store, deed, memo)

    in_store(hands, work)


def undone_all(hands: Hands, pairs: Sequence[tuple[Any, Memo]]) -> list[list[Phrase]]:
    async def work(store: Store) -> list[str]:
        return [await DOERS[type(deed)].left(store, deed, memo) for deed, memo in pairs]

    found: list[str] = in_store(hands, work)
    return [[phrase(key, what=_named(deed))] if key else [] for key, (deed, _) in zip(found, pairs, strict=True)]


def merged(document: Any, patch: Any) -> Any:
    """RFC 7386: null takes a field away."""
    if not isinstance(patch, dict):
        return patch
    base = dict(document) if isinstance(document, dict) else {}
    for name, value in patch.items():
        if value is None:
            base.pop(name, None)
        else:
            base[name] = merged(base.get(name), value)
    return base


def inverse(document: Any, patch: Any) -> Any:
    """The patch that takes the other one back, and touches nothing else."""
    if not isinstance(patch, dict) or not isinstance(document, dict):
        return document
    return {name: inverse(document[name], value) if name in document else None for name, value in patch.items()}


def in_store(hands: Hands, work: Callable[[Store], Awaitable[Any]], timeout_s: float = _STORE_S) -> Any:
    """The answer of the first place from which the store can be reached."""
    members = [machine.name for machine in hands.plan.stores]

    def session() -> Any:
        return asyncio.run(_session(hands, work, time.monotonic() + timeout_s / max(1, len(members))))

    if not members:
        return run_apart(session, {}, "store", timeout_s + 5.0)
    failure: TortieError | None = None
    for member in members:
        try:
            return hands.inside(member, session, timeout_s + 5.0)
        except TortieError as error:
            failure = failure or error
    assert failure
    raise failure


async def _session(hands: Hands, work: Callable[[Store], Awaitable[Any]], deadline: float) -> Any:
    store = open_store(hands.plan, hands.folder.store)
    try:
        while True:
            try:
                return await work(store)
            except Unreachable:
                if time.monotonic() >= deadline:
                    raise
                await asyncio.sleep(_PAUSE_S)
    finally:
        await store.close()


async def _text(store: Store, key: str) -> str | None:
    entry = await store.get(key, timeout_s=_STORE_S)
    return entry.value.decode() if entry else None


async def _set(store: Store, key: str, value: str | None) -> None:
    now = await _text(store, key)
    if now == value or (value is not None and _matter(now) == _matter(value)):
        return
    await store.commit([Delete(key) if value is None else Put(key, value.encode())], timeout_s=_STORE_S)


async def _patched(store: Store, deed: PatchResource, patch: dict[str, object], otherwise: str) -> None:
    """`otherwise`: what is written when the resource has gone."""
    key = _key(deed)
    entry = await store.get(key, timeout_s=_STORE_S)
    if entry is None:
        if otherwise:
            await store.commit([Put(key, otherwise.encode())], timeout_s=_STORE_S)
        return
    document: Document = merged(decode(entry.value, key), patch)
    await store.commit([Put(key, encode(document), entry.revision)], timeout_s=_STORE_S)


def _key(deed: Any) -> str:
    match deed:
        case PutKey():
            return str(deed.key)
        case PutResource():
            metadata = deed.document["metadata"]
            assert isinstance(metadata, dict)
            namespace = metadata.get("namespace")
            return str(ResourceKey(BY_NAME[str(deed.document["kind"])], str(metadata["name"]), namespace))
        case _:
            return str(ResourceKey(find_kind(deed.kind), deed.name))


def _named(deed: Any) -> str:
    match deed:
        case PutKey():
            return str(deed.key)
        case PutResource():
            return f"{deed.document['kind']}({_key(deed).rpartition('/')[2]})"
        case _:
            return f"{find_kind(deed.kind).name}({deed.name})"


def _matter(text: str | None) -> Any:
    """Without what every write changes."""
    if text is None:
        return None
    try:
        document = json.loads(text)
    except ValueError:
        return text
    if not isinstance(document, dict):
        return document
    metadata = document.get("metadata")
    if isinstance(metadata, dict):
        kept = {name: value for name, value in metadata.items() if name not in _BOOKKEEPING}
        return {**document, "metadata": kept}
    return document
