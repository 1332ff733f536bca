"""`tortie node status --cluster`: reads what all nodes report in the datastore, and tells who sees whom."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from typing import Any, Final

from tortie.bgp.cluster import Known, prefixes
from tortie.cli.node.matrix import matrix
from tortie.cli.node.matrix_json import as_json
from tortie.cli.node.matrix_text import as_text
from tortie.cli.node.reports import Report, expected_of, members_of, report_of
from tortie.cli.node.sources import Sources
from tortie.cli.program import as_called
from tortie.cli.session import note_absent_store, with_store
from tortie.model.errors import Invalid
from tortie.model.keys import resource_prefix
from tortie.model.kinds import BY_NAME
from tortie.model.resource import typed
from tortie.model.resources.nodestatus import CalicoNodeStatus
from tortie.model.wire import Undecodable, to_json
from tortie.store.contract import Snapshot, Store
from tortie.store.presenting import presented

_KIND: Final = BY_NAME["CalicoNodeStatus"]
_REPORTS: Final = resource_prefix(_KIND)
_NOBODY: Final = ""  # no node of its own: the blocks and ports of one node do not matter here


def cluster_status(output: str, root: str, flags: dict[str, Any], *, everything: bool) -> int:
    settings = Sources(None, root, flags).datastore()
    wanted = (*prefixes(_NOBODY), _REPORTS)

    async def read(store: Store) -> Snapshot:
        return await store.snapshot((), wanted)

    snapshot = with_store(settings, read)
    note_absent_store(settings)
    known = Known(_NOBODY)
    for entries in snapshot.listings.values():
        for entry in entries:
            known.learn(entry.key, entry.value)
    cluster = known.cluster()
    reports, unreadable = _reports(snapshot)
    unreadable = [f"{each}: {each.why}" for each in cluster.unreadable] + unreadable
    found = matrix(members_of(cluster), reports, expected_of(cluster))
    healthy, now = found.healthy and not unreadable, datetime.now(UTC)
    if output == "json":
        body = as_json(found, now) | {"healthy": healthy, "unreadable": unreadable}
        sys.stdout.write(to_json(body) + "\n")
    else:
        sys.stdout.write(as_called(as_text(found, now, everything=everything)))
        if unreadable:
            sys.stdout.write("\nCannot be read:\n" + "".join(f"  {line}\n" for line in unreadable))
    return 0 if healthy else 3


def _reports(snapshot: Snapshot) -> tuple[list[Report], list[str]]:
    """One that makes no sense must not hide the others."""
    reports, unreadable = [], []
    for entry in snapshot.listings[_REPORTS]:
        try:
            resource = typed(presented(_KIND, entry))
        except (Invalid, Undecodable) as error:
            unreadable.append(str(error))
            continue
        if isinstance(resource, CalicoNodeStatus) and (report := report_of(resource)):
            reports.append(report)
    return reports, unreadable
