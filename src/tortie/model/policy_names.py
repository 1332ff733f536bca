"""How policies are named in the datastore, which changed over Calico's versions.

Up to v3.31 the policy `web` of the default tier is kept as `default.web`; from v3.32 on as `web`. Readers of either
age see `web`. An annotation, written since v3.30, holds the name as the person gave it and wins over the rule.
"""

from __future__ import annotations

from tortie.model.kinds import Kind
from tortie.model.light import Final
from tortie.model.wire import Document

TIERED: Final = frozenset({"NetworkPolicy", "GlobalNetworkPolicy", "StagedNetworkPolicy", "StagedGlobalNetworkPolicy"})
_LEGACY_PREFIX: Final = "default."
_ANNOTATION: Final = "projectcalico.org/metadata"


def possible_names(kind: Kind, name: str) -> tuple[str, ...]:
    """The names under which the policy may be stored, today's first."""
    if kind.name not in TIERED or name.startswith(_LEGACY_PREFIX):
        return (name,)
    return (name, _LEGACY_PREFIX + name)


def stored_name(kind: Kind, name: str, tier: str, calico_version: str | None) -> str:
    """Where a new policy goes: in the layout of the Calico that shares the datastore, if there is one."""
    if kind.name not in TIERED or tier not in ("", "default") or name.startswith(_LEGACY_PREFIX):
        return name
    import re

    found = re.match(r"v?(\d+)\.(\d+)", calico_version or "")
    return _LEGACY_PREFIX + name if found and (int(found[1]), int(found[2])) < (3, 32) else name


def annotated(metadata: Document) -> Document:
    """The annotations with the one that holds the policy's name; `metadata` has the name as it was given."""
    from tortie.model.go_json import ENCODER

    return {**(metadata.get("annotations") or {}), _ANNOTATION: ENCODER.encode({"name": metadata["name"]})}


def shown(kind: Kind, document: Document) -> Document:
    """The metadata of a stored policy as people see it: with the name as given, and without the note of it."""
    metadata: Document = document["metadata"] | {"name": given_name(kind, document)}
    if kind.name in TIERED and isinstance(annotations := metadata.get("annotations"), dict):
        metadata["annotations"] = {key: value for key, value in annotations.items() if key != _ANNOTATION}
        if not metadata["annotations"]:
            del metadata["annotations"]
    return metadata


def given_name(kind: Kind, document: Document) -> str:
    """The policy's name as people know it."""
    metadata = document.get("metadata") or {}
    name = str(metadata.get("name", ""))
    if kind.name not in TIERED:
        return name
    import json

    try:
        annotated = json.loads((metadata.get("annotations") or {})[_ANNOTATION])["name"]
    except (KeyError, TypeError, ValueError):
        annotated = None
    if isinstance(annotated, str) and annotated:
        return annotated
    spec = document.get("spec")
    tier = (spec.get("tier") if isinstance(spec, dict) else None) or "default"
    return name.removeprefix(_LEGACY_PREFIX) if tier == "default" else name
