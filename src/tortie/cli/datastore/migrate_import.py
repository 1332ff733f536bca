"""`tortie datastore migrate import`: calicoctl's migration file into an etcd or an embedded store.

calicoctl itself imports only into Kubernetes. The rules are its own: the target holds nothing of Calico's yet, is
locked before the first write, and stays locked. What an interrupted import has written does not hinder its repetition.
"""

from __future__ import annotations

import sys
import uuid
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from tortie.cli.datastore.migrate_export import CLUSTER_KEY, whole
from tortie.cli.effects import warn_without_effect
from tortie.cli.outcome import Outcome, counted
from tortie.cli.progress import Bar
from tortie.cli.session import with_store
from tortie.cli.settings import Settings
from tortie.ipam.calico_file import PREFIXES as IPAM_PREFIXES
from tortie.ipam.calico_file import imported_ipam
from tortie.model.errors import TortieError, UsageError
from tortie.model.keys import IPAM_CONFIG, resource_prefix
from tortie.model.kinds import API_VERSION, BY_NAME
from tortie.model.wire import Document, decode, encode
from tortie.store.bulk import Identity, keys_of
from tortie.store.calico_file import CLUSTER, KINDS, PROTECTED_TIERS, read_parts
from tortie.store.contract import Entry, Snapshot, Store
from tortie.store.presenting import presented
from tortie.store.resources import Resources, identity
from tortie.store.retry import update
from tortie.store.transfer import Imported, import_entries

if TYPE_CHECKING:
    from tortie.model.manifest import Manifest

_TIMEOUT_S = 120.0


class Occupied(TortieError):
    """The target has a life of its own already."""

    code = "conflict"

    def __init__(self, where: str, found: list[str]) -> None:
        more = ", ..." if len(found) > 3 else ""
        super().__init__(
            f"datastore already has Calico resources: found existing {found[0]}",
            f"the {where} has {len(found):,} things that the file does not say: {', '.join(found[:3])}{more}; "
            "nothing was written",
            "import into an empty datastore: --store NEW.db, or an etcd without /calico",
        )


def import_(*, settings: Settings, filename: str | None) -> int:
    if not filename:
        raise UsageError(
            "no file was given", "-f says what to import", "tortie datastore migrate import -f calico.yaml"
        )
    from tortie.cli.writing import refuse_invalid, refuse_misfits, write_all
    from tortie.store.admission import needed_first
    from tortie.store.together import Together

    content, source = _read(filename)
    parts = read_parts(content, source)
    manifests = sorted(_manifests(parts.resources, source), key=lambda each: needed_first(each.document))
    ipam = imported_ipam(parts.ipam, source)
    bar = Bar("importing")

    async def work(store: Store) -> tuple[Outcome, Imported | None]:
        snapshot = await whole(store)
        present = _present(snapshot)
        wanted = {identity(manifest.document): manifest.document for manifest in manifests}
        strange = [
            *_strange_cluster(snapshot.get(CLUSTER_KEY), parts.cluster),
            *_strange_resources(present, wanted),
            *_strange_ipam(snapshot, dict(ipam)),
        ]
        if strange:
            raise Occupied(store.where, strange)
        together = Together(store)
        stored = [present.get(identity(each.document)) for each in manifests]
        refuse_invalid(manifests, stored)
        await refuse_misfits(Resources(together), manifests, stored)
        await update(store, CLUSTER_KEY, _locked(parts.cluster))
        await together.look_ahead(keys_of(identity(each.document) for each in manifests))
        documents = [manifest.document for manifest in manifests]
        outcome = await write_all(together, documents, "apply", Resources.apply, bar)
        if len(outcome.written) < len(manifests):
            return outcome, None
        sys.stderr.write("Importing IPAM resources\n")
        return outcome, await import_entries(store, sorted(ipam), progress=bar, timeout_s=_TIMEOUT_S)

    try:
        outcome, result = with_store(settings, work)
    finally:
        bar.clear()
    if outcome.written:
        sys.stdout.write(f"Successfully applied {counted(outcome.written)}\n")
    warn_without_effect(outcome.written, "text")
    outcome.raise_failures()
    assert result is not None
    sys.stdout.write(f"Successfully applied {sum(result)} IPAM resource(s)\n")
    sys.stdout.write("Datastore information successfully imported.\n")
    sys.stderr.write("the datastore is locked; `tortie datastore migrate unlock` lets it take effect\n")
    return 0


def _read(filename: str) -> tuple[bytes, str]:
    try:
        if filename == "-":
            return sys.stdin.buffer.read(), "standard input"
        with open(filename, "rb") as file:
            return file.read(), filename
    except OSError as error:
        raise UsageError(f"{filename} cannot be read", error.strerror or str(error), "check the path") from None


def _manifests(text: str, source: str) -> list[Manifest]:
    from tortie.model.manifest import read_manifests

    manifests = [each for each in read_manifests(text, source) if each.document.get("kind") is not None]
    known = {kind.name for kind in KINDS}
    for manifest in manifests:
        name = manifest.document["kind"]
        if name not in known:
            raise UsageError(
                f"{manifest.place('kind')}: a migration file has no {name}", "others make it anew", "export again"
            )
        if BY_NAME[name].namespaced:
            manifest.document["metadata"].setdefault("namespace", "default")
    return manifests


def _present(snapshot: Snapshot) -> dict[Identity, Document]:
    documents = (presented(kind, entry) for kind in KINDS for entry in snapshot.listings[resource_prefix(kind)])
    return {identity(document): document for document in documents}


def _strange_cluster(entry: Entry | None, cluster: Document) -> Iterator[str]:
    """One that was only locked is nobody's; that of the same cluster is what an interrupted import left."""
    if entry is None:
        return
    here, there = _spec(decode(entry.value, entry.key)), _spec(cluster)
    if here.get("calicoVersion") and here.get("clusterGUID") != there.get("clusterGUID"):
        yield f"Calico {CLUSTER.name} resource"


def _strange_resources(present: dict[Identity, Document], wanted: dict[Identity, Document]) -> Iterator[str]:
    for who, document in present.items():
        kind, name, namespace = who
        if kind.name == "Tier" and name in PROTECTED_TIERS:
            continue
        if who not in wanted or not _says_the_same(wanted[who], document):
            yield f"Calico {kind.describe(name, namespace)} resource"


def _says_the_same(wanted: Document, stored: Document) -> bool:
    """Who it is and since when belongs to each datastore."""
    from tortie.model.resource import stored_form

    try:
        first, second = stored_form(wanted), stored_form(stored)
    except (TortieError, LookupError, TypeError, ValueError, AttributeError):
        return False  # told properly by whoever judges the file
    return _spec(first) == _spec(second) and _labels(first) == _labels(second)


def _strange_ipam(snapshot: Snapshot, ipam: dict[str, bytes]) -> Iterator[str]:
    settings = snapshot.get(IPAM_CONFIG)
    entries: Iterable[Entry] = [entry for prefix in IPAM_PREFIXES for entry in snapshot.listings[prefix]]
    for entry in [*entries, *([settings] if settings else [])]:
        if ipam.get(entry.key) != entry.value:
            yield f"IPAM resource {entry.key}"


def _spec(document: Document) -> Document:
    spec = document.get("spec")
    return spec if isinstance(spec, dict) else {}


def _labels(document: Document) -> Document:
    return document["metadata"].get("labels") or {}


def _locked(cluster: Document) -> Any:
    """ClusterInformation as calicoctl leaves it: which cluster and which release from the file, and locked."""
    wanted = {name: _spec(cluster)[name] for name in ("clusterGUID", "calicoVersion") if _spec(cluster).get(name)}
    created = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    metadata = {"name": "default", "uid": str(uuid.uuid4()), "creationTimestamp": created}
    fresh: Document = {"kind": CLUSTER.name, "apiVersion": API_VERSION, "metadata": metadata, "spec": {}}

    def decide(present: bytes | None) -> bytes:
        from tortie.model.resource import stored_form

        document = decode(present, CLUSTER_KEY) if present is not None else fresh
        return encode(stored_form({**document, "spec": {**_spec(document), **wanted, "datastoreReady": False}}))

    return decide
