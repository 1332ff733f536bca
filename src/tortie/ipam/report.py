"""What a check found, as files: calicoctl's report, and our own list of repairs. Both ways, pure.

A file is only a wish. It says which cluster it is of and what stood there; what is done in the end is what a fresh
check finds as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from ipaddress import ip_address, ip_network
from typing import Any, Final, NamedTuple

from tortie.ipam.block import Block, Holding
from tortie.ipam.census import Census
from tortie.ipam.check import Report, is_borrowed
from tortie.ipam.problems import (
    ConfirmAffinity,
    CountHandle,
    DeleteAffinity,
    DeleteHandle,
    Problem,
    ReleaseAddress,
    Repair,
)
from tortie.ipam.usage import Users, held_for
from tortie.model.errors import UsageError
from tortie.model.wire import Document, to_json

REPAIRS: Final = {"apiVersion": "tortie/v1", "kind": "IPAMRepairs"}
_ACTIONS: Final[dict[str, type[Repair]]] = {
    "release-address": ReleaseAddress,
    "delete-handle": DeleteHandle,
    "count-handle": CountHandle,
    "delete-affinity": DeleteAffinity,
    "confirm-affinity": ConfirmAffinity,
}
_NAMES: Final = {kind: name for name, kind in _ACTIONS.items()}


class Wishes(NamedTuple):
    """What a file asks for, and of which cluster it speaks."""

    source: str
    guid: str
    version: str
    cluster_revision: str  # of ClusterInformation when it was made: it changes when the datastore is locked
    repairs: tuple[Repair, ...]
    is_calicos: bool = False  # the report that calicoctl writes too, whoever wrote this one


def calico_version(census: Census, played: str) -> str:
    """What a report calls its program: calicoctl takes only what one of its own release has written.

    That release is the cluster's, or calicoctl would not work there at all; `played` is what we write data for
    otherwise.
    """
    stated = census.cluster.version.partition("-")[0]
    return stated if re.fullmatch(r"v\d+\.\d+\.\d+", stated) else played


def same_age(version: str, others: Iterable[str]) -> bool:
    """Of the same minor release as one of the others: they see the same things."""
    minor = _minor(version)
    return minor is not None and minor in map(_minor, others)


def _minor(version: str) -> str | None:
    found = re.match(r"v?(\d+\.\d+)(\.|-|$)", version)
    return found[1] if found else None


def calico_report(census: Census, report: Report, version: str) -> Document:
    """As `calicoctl ipam check -o FILE` writes it."""
    allocations: dict[str, list[Document]] = {}
    for block in census.blocks.values():
        for holding in block.holdings():
            allocations.setdefault(str(holding.ip), []).append(_allocation(holding, block, report.users))
    orphans = [problem.repair for problem in report.of("handle-orphaned")]
    leaked = [
        {"ID": repair.handle, "UID": None, "Revision": str(repair.revision)}
        for repair in orphans
        if isinstance(repair, DeleteHandle)
    ]
    return {
        "version": version,
        "clusterGUID": census.cluster.guid,
        "datastoreLocked": census.cluster.is_locked,
        "clusterInformationRevision": str(census.cluster.revision or ""),
        "clusterType": census.cluster.type,
        "allocations": allocations,
        **({"leakedHandles": leaked} if leaked else {}),
    }


def _allocation(holding: Holding, block: Block, users: Users) -> Document:
    """Fields that are empty are left out, as Go does."""
    attribute, secondary = holding.attribute, holding.attribute.secondary or {}
    kind = held_for(holding.ip, attribute).kind
    owners = [use.owner for use in users.of(holding.ip)]
    if kind == "windows":
        owners.append("Reserved for Windows")
    optional = {
        "handle": attribute.handle if kind != "windows" else "",
        "sequenceNumber": holding.sequence or 0,
        "pod": secondary.get("pod"),
        "namespace": secondary.get("namespace"),
        "node": attribute.node or block.host,
        "type": secondary.get("type"),
        "creationTimestamp": secondary.get("timestamp"),
        "borrowed": is_borrowed(holding, block),
        "coolingDown": bool(attribute.released_at),
    }
    filled = {name: value for name, value in optional.items() if value or name == "sequenceNumber"}
    in_use = not attribute.released_at and not users.why_unused(holding)
    return {"ip": str(holding.ip), **filled, "inUse": in_use, "owners": owners or None}


def repair_file(census: Census, problems: Iterable[Problem], version: str) -> Document:
    return {
        **REPAIRS,
        "version": version,
        "clusterGUID": census.cluster.guid,
        "clusterInformationRevision": str(census.cluster.revision or ""),
        "revision": census.revision,
        "repairs": [
            {**repair_document(problem.repair), "problem": problem.kind, "why": f"{problem.subject}: {problem.why}"}
            for problem in problems
            if problem.repair is not None
        ],
    }


def repair_document(repair: Repair) -> Document:
    fields = {
        name: value if isinstance(value, dict | int | None) else str(value) for name, value in repair._asdict().items()
    }
    return {"action": _NAMES[type(repair)], **fields}


def same_repair(repair: Repair) -> str:
    """Equal for what asks for the same, seen in the same state."""
    return to_json(repair_document(repair))


def read_wishes(document: Any, source: str) -> Wishes:
    """From either form; raises UsageError if it is neither."""
    if not isinstance(document, dict):
        raise _not_one(source, "it is no JSON object")
    try:
        if document.get("kind") == REPAIRS["kind"]:
            repairs = tuple(_repair(item) for item in document["repairs"])
        elif "allocations" in document:
            repairs = (*_leaked_addresses(document), *_leaked_handles(document))
        else:
            raise _not_one(source, "it has neither allocations nor repairs")
        guid, version, revision = (
            str(document.get(name) or "") for name in ("clusterGUID", "version", "clusterInformationRevision")
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise _not_one(source, f"{type(error).__name__}: {error}") from None
    return Wishes(source, guid, version, revision, repairs, document.get("kind") != REPAIRS["kind"])


def common(files: Sequence[Wishes]) -> tuple[Repair, ...]:
    """What all of them ask for: what was wrong at several times was not just on its way."""
    wanted = {same_repair(repair): repair for repair in files[0].repairs}
    for wishes in files[1:]:
        also = {same_repair(repair) for repair in wishes.repairs}
        wanted = {key: repair for key, repair in wanted.items() if key in also}
    return tuple(wanted.values())


def _repair(item: Document) -> Repair:
    kind = _ACTIONS[item["action"]]
    if kind is ReleaseAddress:
        return ReleaseAddress(ip_address(item["ip"]), item["handle"], item["sequence"])
    if kind is ConfirmAffinity:
        return ConfirmAffinity(item["key"], item["revision"], ip_network(item["cidr"]), int(item["block_revision"]))
    if kind is CountHandle:
        counts = {str(ip_network(cidr)): int(count) for cidr, count in item["blocks"].items()}
        return CountHandle(str(item["handle"]), item["revision"], counts)
    if kind is DeleteHandle:
        return DeleteHandle(str(item["handle"]), int(item["revision"]))
    return DeleteAffinity(str(item["key"]), int(item["revision"]))


def _leaked_addresses(document: Document) -> Iterable[Repair]:
    for allocations in document["allocations"].values():
        for item in allocations:
            if not item["inUse"] and not item.get("coolingDown"):
                sequence = item.get("sequenceNumber") or None
                yield ReleaseAddress(ip_address(item["ip"]), item.get("handle") or None, sequence)


def _leaked_handles(document: Document) -> Iterable[Repair]:
    """Older ones name only the handle; what cannot be compared is left to a newer report."""
    for item in document.get("leakedHandles") or ():
        if isinstance(item, dict) and item.get("Revision"):
            yield DeleteHandle(str(item["ID"]), int(item["Revision"]))


def _not_one(source: str, why: str) -> UsageError:
    fix = "tortie ipam check --report FILE, or --repair-file FILE, writes one"
    return UsageError(f"{source} is no report of IPAM", why, fix)
