"""`tortie datastore migrate export`: all of it as the file that `calicoctl datastore migrate import` reads."""

from __future__ import annotations

import sys

from tortie.cli.session import with_store
from tortie.cli.settings import Settings
from tortie.ipam.calico_file import PREFIXES as IPAM_PREFIXES
from tortie.ipam.calico_file import exported_ipam
from tortie.model.errors import TortieError
from tortie.model.keys import IPAM_CONFIG, ResourceKey, resource_prefix
from tortie.model.kinds import BY_NAME
from tortie.model.wire import decode
from tortie.store.calico_file import (
    CLUSTER,
    KINDS,
    as_json,
    cluster_document,
    exported,
    listed,
    node_names,
    together,
)
from tortie.store.contract import Entry, Snapshot, Store

# Much data may take its time; whether anybody is there at all is asked first, and answered sooner.
TIMEOUT_S = 120.0
CLUSTER_KEY = str(ResourceKey(CLUSTER, "default"))
PREFIXES = (*(resource_prefix(kind) for kind in KINDS), *IPAM_PREFIXES)


class NotLocked(TortieError):
    """What changes while it is copied is not copied."""

    code = "not-locked"

    def __init__(self) -> None:
        super().__init__(
            "datastore is not locked. Run the `tortie datastore migrate lock` command in order to begin migration",
            "addresses that are handed out after the export would be given away a second time",
            "tortie datastore migrate lock",
        )


async def whole(store: Store) -> Snapshot:
    """Everything that the file is about, at one revision."""
    await store.get(CLUSTER_KEY)
    return await store.snapshot((CLUSTER_KEY, IPAM_CONFIG), PREFIXES, timeout_s=TIMEOUT_S)


def export(*, settings: Settings) -> int:
    async def work(store: Store) -> Snapshot:
        snapshot = await whole(store)
        cluster = snapshot.get(CLUSTER_KEY)
        if cluster is None or not is_locked(cluster):
            raise NotLocked
        return snapshot

    sys.stdout.write(exported_text(with_store(settings, work)))
    sys.stderr.write("not exported, as with calicoctl: WorkloadEndpoints and Profiles, which are made anew\n")
    return 0


def exported_text(snapshot: Snapshot) -> str:
    """The whole file; the datastore has to have a ClusterInformation."""
    from tortie.model.manifest import to_yaml

    cluster = snapshot.get(CLUSTER_KEY)
    assert cluster is not None
    names = node_names(snapshot.listings[resource_prefix(BY_NAME["Node"])])
    resources = []
    for kind in KINDS:
        documents = exported(kind, snapshot.listings[resource_prefix(kind)], names)
        resources.append(to_yaml(listed(kind, documents, snapshot.revision)))
    ipam = exported_ipam(snapshot.listings, snapshot.get(IPAM_CONFIG), names)
    return together(resources, as_json(cluster_document(cluster)), as_json(ipam))


def is_locked(cluster: Entry) -> bool:
    spec = decode(cluster.value, cluster.key).get("spec")
    return isinstance(spec, dict) and spec.get("datastoreReady") is False
