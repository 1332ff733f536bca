"""What stands in the datastore without an effect on this node: what is asked for it, and what the answers mean. Pure.

Policies and their like are counted and named, never read: there may be thousands, and that they are there is all that
matters. Settings are read, those that this node would take.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from tortie.model.effects.notes import VARIABLE, Note, Told, gathered, notes_of, notes_of_key, notes_of_variables
from tortie.model.effects.reasons import IPIP, NODE_SELECTOR, PROFILE, VARIABLES
from tortie.model.effects.table import KINDS_WITHOUT
from tortie.model.keys import parse_resource_key, resource_prefix
from tortie.model.kinds import BY_NAME
from tortie.model.wire import Undecodable, decode
from tortie.node.picture import key_of
from tortie.node.settings import NodeSettings
from tortie.node.settings.felix import FIELD_TO_PARAMETER
from tortie.node.settings.variables import BY_NAME as BY_VARIABLE
from tortie.node.settings.variables import LATER
from tortie.store.contract import Snapshot, Tally

FIRST: Final = 64  # names of each kind
_FELIX: Final = resource_prefix(BY_NAME["FelixConfiguration"])
_PROFILES: Final = resource_prefix(BY_NAME["Profile"])
_OF_NODES: Final = f"{_FELIX}node."
_OF_NAMESPACES: Final = (f"{_PROFILES}kns.", f"{_PROFILES}ksa.")
# What a Felix of Calico would do, if one runs here in our place.
_FELIX_WOULD: Final = frozenset((*KINDS_WITHOUT, "FelixConfiguration"))

# Tiers are read, being few: every cluster has some that mean nothing.
_COUNTED: Final = {resource_prefix(BY_NAME[kind]): kind for kind in KINDS_WITHOUT if kind != "Tier"}
PREFIXES: Final = (resource_prefix(BY_NAME["IPPool"]), resource_prefix(BY_NAME["Tier"]))
TALLIED: Final = (*_COUNTED, _FELIX, *_OF_NAMESPACES)


def keys(node: str) -> tuple[str, ...]:
    wanted = (
        *((kind, name) for kind in ("FelixConfiguration", "BGPConfiguration") for name in ("default", f"node.{node}")),
        ("IPAMConfiguration", "default"),
        ("KubeControllersConfiguration", "default"),
    )
    return tuple(key_of(kind, name) for kind, name in wanted)


def found(snapshot: Snapshot, tallies: Mapping[str, Tally], *, own_dataplane: bool) -> list[Told]:
    """By reason. With another program as dataplane, what it may well do is none of our business."""
    entries = [*snapshot.entries.values(), *(entry for prefix in PREFIXES for entry in snapshot.listings[prefix])]
    notes: list[Note] = []
    for entry in entries:
        try:
            notes += notes_of(decode(entry.value, entry.key))
        except Undecodable:
            continue  # told where it is read
    counts = {kind: tallies[prefix].total for prefix, kind in _COUNTED.items()}
    counts["Profile"] -= sum(tallies[prefix].total for prefix in _OF_NAMESPACES)
    for prefix, kind in _COUNTED.items():
        notes += _named(kind, tallies[prefix])
    if counts["Profile"] > 0 and not any(note.kind == "Profile" for note in notes):
        notes.append(Note("Profile", "", PROFILE))
    notes += _of_no_node(tallies[_FELIX])
    # That such pools are not reached is told already, by BGP, and makes the node not ready.
    notes = [note for note in notes if note.reason is not IPIP]
    if not own_dataplane:
        notes = [note for note in notes if note.kind not in _FELIX_WOULD]
    return gathered(notes, counts)


def of_environment(settings: NodeSettings) -> list[Told]:
    """Variables that ask for something in vain: parameters of Felix, and what is read for later parts."""
    fields = {parameter: field for field, parameter in FIELD_TO_PARAMETER.items()}
    given = [
        (name, fields.get(parameter, parameter), setting.text)
        for name, setting in settings.others.items()
        if (parameter := name.removeprefix("FELIX_")) != name
    ]
    later = [
        Note(VARIABLE, name, VARIABLES)
        for name in settings.others
        if not name.startswith("FELIX_") and BY_VARIABLE[name].use == LATER
    ]
    felix = () if settings.disable_felix.value else notes_of_variables(given)
    return gathered([*felix, *later])


def _named(kind: str, tally: Tally) -> Iterator[Note]:
    for text in tally.keys:
        if key := parse_resource_key(text):
            yield from notes_of_key(kind, f"{key.namespace}/{key.name}" if key.namespace else key.name)


def _of_no_node(tally: Tally) -> Iterator[Note]:
    """FelixConfigurations for some nodes, by a selector; as far as they come before those of single nodes."""
    for text in tally.keys:
        name = text[len(_FELIX) :]
        if name != "default" and not text.startswith(_OF_NODES):
            yield Note("FelixConfiguration", name, NODE_SELECTOR, "nodeSelector")
