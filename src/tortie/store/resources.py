"""Resources over a store: create, read, replace, change, delete, with the meaning Calico gives these words.

What is handed out are documents (see `tortie.model.shape`), with the store's revision as their resourceVersion.
"""

from __future__ import annotations

from collections.abc import Callable

from tortie.model.errors import Invalid, TortieError
from tortie.model.keys import IPAM_CONFIG, ResourceKey, parse_resource_key, resource_prefix
from tortie.model.kinds import API_VERSION, BY_NAME, Kind
from tortie.model.light import TYPE_CHECKING, Final, NamedTuple
from tortie.model.policy_names import possible_names, stored_name
from tortie.model.wire import Document, Undecodable, decode, encode
from tortie.store.contract import ABSENT, TIMEOUT_S, Conflict, Delete, Entry, Operation, Put, Revision, Store
from tortie.store.presenting import GIVEN, Edit, in_place_of, presented, replaced, same_resource
from tortie.store.retry import update

if TYPE_CHECKING:
    from datetime import datetime

# Stored twice; whoever writes these one by one keeps both (see `tortie.store.ipam_settings`).
_TWOFOLD: Final = "IPAMConfiguration"

# Calico's built-in profile: everybody sees it, nobody stores it.
DEFAULT_ALLOW: Final[Document] = {
    "kind": "Profile",
    "apiVersion": API_VERSION,
    "metadata": {"name": "projectcalico-default-allow"},
    "spec": {direction: [{"action": "Allow", "source": {}, "destination": {}}] for direction in ("ingress", "egress")},
}


class NotFound(TortieError):
    code = "not-found"

    def __init__(self, key: ResourceKey, where: str) -> None:
        self.key = key
        scope = f" in namespace {key.namespace}" if key.namespace else ""
        super().__init__(
            f"resource does not exist: {key.describe()}",
            f"the {where} has no {key.kind.name} of that name{scope}",
            f"`tortie get {key.kind.plural}{' -A' if key.kind.namespaced else ''}` lists those there are",
        )


class AlreadyExists(TortieError):
    code = "already-exists"

    def __init__(self, key: ResourceKey, where: str) -> None:
        self.key = key
        super().__init__(
            f"resource already exists: {key.describe()}",
            f"the {where} has one of that name, and create never overwrites",
            "use `tortie apply` to create or update it, or `tortie replace`",
        )


class UpdateConflict(TortieError):
    code = "conflict"

    def __init__(self, key: ResourceKey, expected: str, found: Revision) -> None:
        self.key = key
        super().__init__(
            f"update conflict: {key.describe()}",
            f"the file was made from resourceVersion {expected}, the datastore is at {found}",
            "read it again and repeat your change, or remove resourceVersion from the file to overwrite",
        )


class ReadOnly(TortieError):
    code = "read-only"

    def __init__(self, operation: str, key: ResourceKey) -> None:
        super().__init__(
            f"operation {operation} is not supported on {key.describe()}: resource is readonly",
            "the cluster itself provides it",
            f"`tortie get {key.kind.plural} {key.name} -o yaml` shows it",
        )


class Documents(NamedTuple):
    documents: list[Document]
    revision: Revision
    unreadable: list[Undecodable]


class Deleted(NamedTuple):
    document: Document
    along: list[ResourceKey]  # what went with it, because it made no sense without
    blocks_left: int  # address blocks that outlive it until they are collected


class Resources:
    """All resources of one store. The clock and the source of UIDs are passed in, so that tests can hold them."""

    def __init__(
        self,
        store: Store,
        *,
        timeout_s: float = TIMEOUT_S,
        now: Callable[[], datetime] | None = None,
        new_uid: Callable[[], str] | None = None,
    ) -> None:
        self.store = store
        self.timeout_s = timeout_s
        self._now = now or _utc_now
        self._new_uid = new_uid or _random_uid

    async def get(self, kind: Kind, name: str, namespace: str | None = None) -> Document:
        if (kind.name, name) == ("Profile", DEFAULT_ALLOW["metadata"]["name"]):
            return DEFAULT_ALLOW
        entry = await self._find(kind, name, namespace)
        if entry is None:
            raise NotFound(ResourceKey(kind, name, namespace), self.store.where)
        return await self._shown(kind, presented(kind, entry))

    async def list(self, kind: Kind, namespace: str | None = None) -> Documents:
        listing = await self.store.scan(resource_prefix(kind, namespace), timeout_s=self.timeout_s)
        documents, unreadable = [], []
        for entry in listing.entries:
            try:
                documents.append(presented(kind, entry))
            except Undecodable as error:
                unreadable.append(error)
        if kind.name == _TWOFOLD:
            documents = [await self._shown(kind, document) for document in documents]
        if kind.name == "Profile":
            documents.append(DEFAULT_ALLOW)
        return Documents(documents, listing.revision, unreadable)

    async def create(self, document: Document, *, judged: bool = False) -> Document:
        """`judged`: the caller has validated the document for itself; what it does beside others is judged here."""
        from tortie.store.admission import admit, problems_with_earlier

        kind, name, namespace = identity(document)
        self._refuse_read_only("Create", kind, name, namespace)
        if await self._find(kind, name, namespace):
            raise AlreadyExists(ResourceKey(kind, name, namespace), self.store.where)
        await admit(self, document, stored=None, judged=judged)
        key, value = await self._new_value(kind, document)
        if kind.name == _TWOFOLD:
            return await self._create_twofold(kind, ResourceKey(kind, name), value)
        try:
            revision = await self.store.commit([Put(key, value, ABSENT)], timeout_s=self.timeout_s)
        except Conflict:
            raise AlreadyExists(ResourceKey(kind, name, namespace), self.store.where) from None
        created = Entry(key, value, revision)
        if problems := await problems_with_earlier(self, presented(kind, created), revision):
            # Somebody created what rules this out between our look and our commit: whoever came second withdraws.
            await self.store.commit([Delete(key, revision)], timeout_s=self.timeout_s)
            raise Invalid(kind.describe(name, namespace), problems)
        return presented(kind, created)

    async def replace(self, document: Document, *, judged: bool = False) -> Document:
        """The stored resource becomes what the document says; of its metadata, labels and annotations do.

        `judged`: as for `create`. What stands there when it is written is looked at all the same.
        """
        kind, name, namespace = identity(document)
        self._refuse_read_only("Update", kind, name, namespace)
        entry = await self._find(kind, name, namespace)
        if entry is None:
            raise NotFound(ResourceKey(kind, name, namespace), self.store.where)
        expected = str((document.get("metadata") or {}).get("resourceVersion") or "")
        if expected and expected != str(entry.revision):
            raise UpdateConflict(ResourceKey(kind, name, namespace), expected, entry.revision)
        return await self._rewrite(
            kind, entry, lambda stored: in_place_of(stored, document), pinned=bool(expected), judged=judged
        )

    async def apply(self, document: Document, *, judged: bool = False) -> Document:
        """Creates the resource, or replaces the one there is."""
        kind, name, namespace = identity(document)
        if await self._find(kind, name, namespace):
            return await self.replace(document, judged=judged)
        unversioned = {key: value for key, value in document["metadata"].items() if key != "resourceVersion"}
        try:
            return await self.create({**document, "metadata": unversioned}, judged=judged)
        except AlreadyExists:  # somebody created it a moment ago
            return await self.replace(document, judged=judged)

    async def edit(self, kind: Kind, name: str, namespace: str | None, change: Edit) -> Document:
        """Read-modify-write: `change` sees the stored document, and again if somebody else was faster."""
        self._refuse_read_only("Update", kind, name, namespace)
        entry = await self._find(kind, name, namespace)
        if entry is None:
            raise NotFound(ResourceKey(kind, name, namespace), self.store.where)
        return await self._rewrite(kind, entry, lambda stored: same_resource(stored, change(stored)), pinned=False)

    async def delete(
        self, kind: Kind, name: str, namespace: str | None = None, *, revision: str | None = None
    ) -> Deleted:
        """With a revision, only if the resource is still the one that the caller has seen."""
        from tortie.store.admission import admit_deletion

        self._refuse_read_only("Delete", kind, name, namespace)
        entry = await self._find(kind, name, namespace)
        if entry is None:
            raise NotFound(ResourceKey(kind, name, namespace), self.store.where)
        if revision and revision != str(entry.revision):
            raise UpdateConflict(ResourceKey(kind, name, namespace), revision, entry.revision)
        try:
            document = presented(kind, entry)
        except Undecodable:  # nobody can read it, but everybody may get rid of it
            document = {"kind": kind.name, "apiVersion": API_VERSION, "metadata": {"name": name}}
        along, blocks_left = await admit_deletion(self, kind, document)
        operations: list[Operation] = [Delete(entry.key, entry.revision if revision else None)]
        operations += [Delete(str(key)) for key in along]
        if kind.name == _TWOFOLD:
            operations.append(Delete(IPAM_CONFIG))
        while operations:  # the resource itself goes last, so that an interrupted deletion can be repeated
            batch, operations = operations[-100:], operations[:-100]
            try:
                await self.store.commit(batch, timeout_s=self.timeout_s)
            except Conflict as conflict:
                found = conflict.found.revision if conflict.found else 0
                raise UpdateConflict(ResourceKey(kind, name, namespace), str(revision), found) from None
        return Deleted(document, along, blocks_left)

    async def _find(self, kind: Kind, name: str, namespace: str | None) -> Entry | None:
        for candidate in possible_names(kind, name):
            key = ResourceKey(kind, candidate, namespace)
            if entry := await self.store.get(str(key), timeout_s=self.timeout_s):
                return entry
        return None

    async def _new_value(self, kind: Kind, document: Document) -> tuple[str, bytes]:
        from tortie.model.resource import stored_form

        _, name, namespace = identity(document)
        tier = str((document.get("spec") or {}).get("tier") or "")
        name = stored_name(kind, name, tier, await self._calico_version() if kind.name.endswith("Policy") else None)
        metadata = {field: value for field, value in document["metadata"].items() if field in GIVEN}
        metadata |= {"uid": self._new_uid(), "creationTimestamp": self._now().strftime("%Y-%m-%dT%H:%M:%SZ")}
        key = str(ResourceKey(kind, name, namespace))
        return key, encode(stored_form({**document, "metadata": metadata}, stored_as=name))

    async def _calico_version(self) -> str | None:
        key = ResourceKey(BY_NAME["ClusterInformation"], "default")
        entry = await self.store.get(str(key), timeout_s=self.timeout_s)
        spec = decode(entry.value, entry.key).get("spec") if entry else None
        return spec.get("calicoVersion") if isinstance(spec, dict) else None

    async def _rewrite(self, kind: Kind, entry: Entry, change: Edit, *, pinned: bool, judged: bool = False) -> Document:
        """`pinned`: the caller named the revision it has seen, so somebody else's write is a conflict, not a race."""
        from tortie.store.admission import admit

        before = await self._shown(kind, presented(kind, entry))
        await admit(self, change(before), stored=before, judged=judged)
        _, name, namespace = identity({**before, "kind": kind.name})
        key = ResourceKey(kind, name, namespace)

        def decide(present: bytes | None) -> bytes:
            if present is None:
                raise NotFound(key, self.store.where)
            return replaced(kind, entry.key, present, change)

        if kind.name == _TWOFOLD:
            return await self._rewrite_twofold(kind, entry, change, pinned=pinned)
        if not pinned:
            after = await update(self.store, entry.key, decide, timeout_s=self.timeout_s)
            assert after is not None
            return presented(kind, after)
        value = decide(entry.value)
        if value == entry.value:
            return presented(kind, entry)
        try:
            revision = await self.store.commit([Put(entry.key, value, entry.revision)], timeout_s=self.timeout_s)
        except Conflict as conflict:
            raise UpdateConflict(key, str(entry.revision), conflict.found.revision if conflict.found else 0) from None
        return presented(kind, Entry(entry.key, value, revision))

    async def _shown(self, kind: Kind, document: Document) -> Document:
        if kind.name != _TWOFOLD:
            return document
        from tortie.store import ipam_settings

        return await ipam_settings.shown(self.store, document, timeout_s=self.timeout_s)

    async def _create_twofold(self, kind: Kind, key: ResourceKey, value: bytes) -> Document:
        from tortie.store import ipam_settings

        def decide(present: Entry | None) -> bytes:
            if present is not None and present.value != value:
                raise AlreadyExists(key, self.store.where)
            return value

        return presented(kind, await ipam_settings.rewrite(self.store, decide, timeout_s=self.timeout_s))

    async def _rewrite_twofold(self, kind: Kind, entry: Entry, change: Edit, *, pinned: bool) -> Document:
        from tortie.store import ipam_settings

        key = parse_resource_key(entry.key)
        assert key is not None

        def decide(present: Entry | None) -> bytes:
            if present is None:
                raise NotFound(key, self.store.where)
            if pinned and present.revision != entry.revision:
                raise UpdateConflict(key, str(entry.revision), present.revision)
            return replaced(kind, entry.key, present.value, change)

        return presented(kind, await ipam_settings.rewrite(self.store, decide, timeout_s=self.timeout_s))

    def _refuse_read_only(self, operation: str, kind: Kind, name: str, namespace: str | None) -> None:
        if kind.name == "ClusterInformation" or (kind.name, name) == ("Profile", DEFAULT_ALLOW["metadata"]["name"]):
            raise ReadOnly(operation, ResourceKey(kind, name, namespace))


def _utc_now() -> datetime:
    from datetime import UTC, datetime

    return datetime.now(UTC)


def _random_uid() -> str:
    import uuid

    return str(uuid.uuid4())


def identity(document: Document) -> tuple[Kind, str, str | None]:
    metadata = document["metadata"]
    kind = BY_NAME[document["kind"]]
    return kind, str(metadata["name"]), (metadata.get("namespace") or None) if kind.namespaced else None
