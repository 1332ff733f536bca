"""The part of calicoctl's migration file that holds IPAM: affinities, blocks, handles, settings. Both ways, pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from tortie.ipam.records import BLOCKS, HANDLES, HOSTS, TUNNEL_HANDLES, VIRTUALS, parse_affinity_key, parse_block_key
from tortie.model.errors import UsageError
from tortie.model.keys import IPAM_CONFIG, handle_key, host_affinity_prefix
from tortie.model.wire import Document, decode, encode
from tortie.store.contract import Entry

PREFIXES: Final = (HOSTS, VIRTUALS, BLOCKS, HANDLES)
_NODE_AFFINITY: Final = "host:"
# In calicoctl's order. Each list with what its keys have to look like.
_LISTS: Final[tuple[tuple[str, Callable[[str], bool]], ...]] = (
    ("block_affinities", lambda key: parse_affinity_key(key) is not None),
    ("blocks", lambda key: parse_block_key(key) is not None),
    ("handles", lambda key: key.startswith(HANDLES) and len(key) > len(HANDLES)),
)


def exported_ipam(
    listings: Mapping[str, Iterable[Entry]], settings: Entry | None, names: Mapping[str, str]
) -> Document:
    """What is empty is left out, as Go does."""
    affinities = [*listings[HOSTS], *listings[VIRTUALS]]
    part: Document = {
        "block_affinities": [
            _pair(_affinity_key(entry.key, names), _affinity(entry)) for entry in affinities if _is_affinity(entry)
        ],
        "blocks": [_pair(entry.key, _block(decode(entry.value, entry.key), names)) for entry in listings[BLOCKS]],
        "handles": [
            _pair(handle_key(_handle(entry.key[len(HANDLES) :], names)), decode(entry.value, entry.key))
            for entry in listings[HANDLES]
        ],
    }
    if settings is not None:
        part["config"] = _pair(settings.key, decode(settings.value, settings.key))
    return {name: value for name, value in part.items() if value}


def imported_ipam(part: Document, source: str) -> list[tuple[str, bytes]]:
    """Keys and values as the datastore has them; raises UsageError at what is none of IPAM's."""
    found: list[tuple[str, bytes]] = []
    try:
        for name, fits in _LISTS:
            for item in part.get(name) or ():
                key, value = str(item["Key"]), item["Value"]
                if not fits(key) or not isinstance(value, dict):
                    raise _no_ipam(source, f"{key} does not belong to its {name}")
                found.append((key, encode(value)))
        if part.get("config"):
            found.append((IPAM_CONFIG, encode(part["config"]["Value"])))
    except (KeyError, TypeError, AttributeError) as error:
        raise _no_ipam(source, f"{type(error).__name__}: {error}") from None
    if unknown := sorted(part.keys() - {name for name, _ in _LISTS} - {"config"}):
        raise _no_ipam(source, f"nobody knows its {', '.join(unknown)}")
    return found


def _pair(key: str, value: Document) -> Document:
    return {"Key": key, "Value": value, "TTL": 0}


def _is_affinity(entry: Entry) -> bool:
    return parse_affinity_key(entry.key) is not None


def _affinity(entry: Entry) -> Document:
    """Old Calico stored nothing there; Go writes what it takes that for."""
    return {"state": "", "deleted": False, **(decode(entry.value, entry.key) if entry.value else {})}


def _affinity_key(key: str, names: Mapping[str, str]) -> str:
    if not key.startswith(HOSTS):
        return key
    node, _, rest = key[len(HOSTS) :].partition("/")
    return host_affinity_prefix(names.get(node, node)) + rest


def _handle(handle: str, names: Mapping[str, str]) -> str:
    """A tunnel's is named after its node."""
    for prefix in sorted(TUNNEL_HANDLES.values()):
        node = handle.removeprefix(prefix)
        if node != handle and node in names:
            return prefix + names[node]
    return handle


def _block(block: Document, names: Mapping[str, str]) -> Document:
    affinity = block.get("affinity")
    if isinstance(affinity, str) and affinity.startswith(_NODE_AFFINITY):
        node = affinity.removeprefix(_NODE_AFFINITY)
        block = {**block, "affinity": _NODE_AFFINITY + names.get(node, node)}
    return {**block, "attributes": [_attribute(each, names) for each in block.get("attributes") or []]}


def _attribute(attribute: Any, names: Mapping[str, str]) -> Any:
    if not isinstance(attribute, dict):
        return attribute
    renamed = dict(attribute)
    if isinstance(renamed.get("handle_id"), str):
        renamed["handle_id"] = _handle(renamed["handle_id"], names)
    for field in ("secondary", "alternateOwnerAttrs"):
        owner = renamed.get(field)
        if isinstance(owner, dict) and owner.get("node") in names:
            renamed[field] = {**owner, "node": names[owner["node"]]}
    return renamed


def _no_ipam(source: str, why: str) -> UsageError:
    return UsageError(f"{source}: failed to read IPAM resources", why, "export again")
