"""`tortie datastore lock` and `unlock`: while it is locked, nobody hands out addresses.

The lock is ClusterInformation's datastoreReady, which Calico's programs look at as well.
"""

from __future__ import annotations

import sys
import uuid
from datetime import UTC, datetime
from typing import Any

from tortie.cli.ipam.forms import refuse_form
from tortie.cli.session import with_store
from tortie.cli.settings import Settings
from tortie.ipam.census import CLUSTER
from tortie.model.kinds import API_VERSION
from tortie.model.wire import Document, Undecodable, decode, encode, to_json
from tortie.store.retry import update


def set_ready(*, settings: Settings, output: str, ready: bool) -> int:
    refuse_form(output, "text", "json")
    fresh = _new_information()

    def decide(present: bytes | None) -> bytes:
        try:
            document: Document = decode(present, CLUSTER) if present is not None else fresh
        except Undecodable:  # what nobody can read is what has to be replaced
            document = fresh
        spec: Any = document.get("spec")
        spec = dict(spec) if isinstance(spec, dict) else {}
        if spec.get("datastoreReady") is ready and present is not None:
            return present
        return encode({**document, "spec": {**spec, "datastoreReady": ready}})

    entry = with_store(settings, lambda store: update(store, CLUSTER, decide))
    if output == "json":
        body = {"apiVersion": "tortie/v1", "kind": "DatastoreLock", "locked": not ready}
        body |= {"revision": entry.revision if entry else None}
        sys.stdout.write(to_json(body) + "\n")
    else:
        sys.stdout.write("Datastore unlocked.\n" if ready else "Datastore locked.\n")
    return 0


def _new_information() -> Document:
    """For a datastore that no node has started on yet; the first one fills in the rest."""
    created = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    metadata = {"name": "default", "uid": str(uuid.uuid4()), "creationTimestamp": created}
    return {
        "kind": "ClusterInformation",
        "apiVersion": API_VERSION,
        "metadata": metadata,
        "spec": {"clusterGUID": uuid.uuid4().hex},
    }
