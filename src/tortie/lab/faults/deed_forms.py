"""Deeds as JSON and back, spread out over all nodes, and what each of them touches. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, get_args

from tortie.lab.failures import Said, at, phrase
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


def spread(planned: Iterable[Deed], nodes: Sequence[str]) -> Iterator[Deed]:
    """Deeds that are about every node become one for each of them."""
    for deed in planned:
        if not isinstance(deed, STORE_DEEDS) and deed.machine == ALL:
            yield from (deed._replace(machine=node) for node in nodes)
        else:
            yield deed


def touched(deed: Deed) -> Said:
    """What two faults must not both do something to, or nobody could say how it was before. "" for nothing."""
    match deed:
        case deeds.AddBridge() | deeds.AddNic() | deeds.SetLink():
            return at(deed.machine, phrase("link", link=deed.link))
        case deeds.AddAddress() | deeds.RemoveAddress():
            return at(deed.machine, phrase("address", address=deed.address))
        case deeds.SetKernel():
            return at(deed.machine, phrase("sysctl", key=deed.key.replace("/", ".")))
        case deeds.WriteFile() | deeds.RemoveFile() | deeds.CoverFile() | deeds.FillDisk() | deeds.SealFolder():
            return at(deed.machine, deed.path)
        case deeds.RunHelper():
            return at(deed.machine, phrase("process", name=deed.name))
        case deeds.SendSignal():
            return at(deed.machine, phrase("program", program=deed.program))
        case deeds.LimitCpu():
            return at(deed.machine, phrase("cpu-limit"))
        case deeds.SetVariable():
            return at(deed.machine, phrase("variable", variable=deed.variable))
        case deeds.HaltMachine():
            return at(deed.machine, phrase("machine-itself"))
        case deeds.PutResource():
            metadata = deed.document.get("metadata")
            name = metadata.get("name", "") if isinstance(metadata, dict) else ""
            return f"{deed.document.get('kind')}({name})"
        case deeds.PatchResource() | deeds.RemoveResource():
            return f"{deed.kind}({deed.name})"
        case deeds.PutKey():
            return deed.key
        case deeds.RunPods():
            return phrase("pods", prefix=deed.prefix)
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
