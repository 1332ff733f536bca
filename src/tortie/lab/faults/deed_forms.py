"""Deeds as JSON and back, spread out over all nodes, and what each of them touches. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, get_args

from tortie.lab.faults import deeds
from tortie.lab.faults.deeds import ALL, Deed

Json = dict[str, Any]

KINDS: Final[dict[str, Any]] = {kind.__name__: kind for kind in get_args(Deed)}

STORE_DEEDS: Final = (deeds.PutResource, deeds.PatchResource, deeds.RemoveResource, deeds.PutKey)
MOUNT_DEEDS: Final = (deeds.CoverFile, deeds.FillDisk, deeds.SealFolder)


def as_json(deed: Deed) -> Json:
    return {"deed": type(deed).__name__, **deed._asdict()}


def from_json(raw: Mapping[str, Any]) -> Deed:
    fields = {name: value for name, value in raw.items() if name != "deed"}
    if "words" in fields:
        fields["words"] = tuple(fields["words"])
    deed: Deed = KINDS[raw["deed"]](**fields)
    return deed


def machine_of(deed: Deed) -> str | None:
    """None for deeds in the datastore."""
    return None if isinstance(deed, STORE_DEEDS) else deed.machine


def spread(planned: Iterable[Deed], nodes: Sequence[str]) -> Iterator[Deed]:
    """Deeds that are about every node become one for each of them."""
    for deed in planned:
        if not isinstance(deed, STORE_DEEDS) and deed.machine == ALL:
            yield from (deed._replace(machine=node) for node in nodes)
        else:
            yield deed


def touched(deed: Deed) -> str:
    """What two faults must not both do something to, or nobody could say how it was before. "" for nothing."""
    match deed:
        case deeds.AddBridge() | deeds.AddNic() | deeds.SetLink():
            return f"{deed.machine}: link {deed.link}"
        case deeds.AddAddress() | deeds.RemoveAddress():
            return f"{deed.machine}: address {deed.address}"
        case deeds.SetKernel():
            return f"{deed.machine}: sysctl {deed.key.replace('/', '.')}"
        case deeds.WriteFile() | deeds.RemoveFile() | deeds.CoverFile() | deeds.FillDisk() | deeds.SealFolder():
            return f"{deed.machine}: {deed.path}"
        case deeds.RunHelper():
            return f"{deed.machine}: process {deed.name}"
        case deeds.SendSignal():
            return f"{deed.machine}: program {deed.program}"
        case deeds.LimitCpu():
            return f"{deed.machine}: CPU limit"
        case deeds.SetVariable():
            return f"{deed.machine}: variable {deed.variable}"
        case deeds.HaltMachine():
            return f"{deed.machine}: the machine itself"
        case deeds.PutResource():
            metadata = deed.document.get("metadata")
            name = metadata.get("name", "") if isinstance(metadata, dict) else ""
            return f"{deed.document.get('kind')}({name})"
        case deeds.PatchResource() | deeds.RemoveResource():
            return f"{deed.kind}({deed.name})"
        case deeds.PutKey():
            return deed.key
        case deeds.RunPods():
            return f"pods {deed.prefix}"
        case _:
            return ""  # a table of its own; a new start


def made_links(planned: Iterable[Deed]) -> set[tuple[str, str]]:
    """Links that a fault itself makes: what it does to them goes with them."""
    return {(deed.machine, deed.link) for deed in planned if isinstance(deed, deeds.AddBridge | deeds.AddNic)}


def on_made_link(deed: Deed, made: set[tuple[str, str]]) -> bool:
    match deed:
        case deeds.AddAddress() | deeds.RemoveAddress() | deeds.SetLink():
            return (deed.machine, deed.link) in made
        case deeds.SetKernel():
            return any(deed.machine == machine and f"/{link}/" in deed.key for machine, link in made)
        case _:
            return False
