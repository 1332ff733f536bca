"""All faults, and all decoys, by name."""

from __future__ import annotations

from typing import Final

from tortie.lab.faults import addresses, bgp, bird, cni, dataplane, host, incidents, ipam, probes, store
from tortie.lab.faults.decoys import DECOYS
from tortie.lab.faults.fault import Fault

# In the order in which people look for them: the incidents first.
_GROUPS: Final = (incidents, addresses, bgp, bird, probes, dataplane, store, ipam, cni, host)

FAULTS: Final[tuple[Fault, ...]] = tuple(fault for group in _GROUPS for fault in group.FAULTS)


def all_faults() -> tuple[Fault, ...]:
    return FAULTS


def fault_named(name: str) -> Fault | None:
    return next((fault for fault in FAULTS if fault.name == name), None)


def decoy_named(name: str) -> Fault | None:
    return next((decoy for decoy in DECOYS if decoy.name == name), None)


def anything_named(name: str) -> Fault | None:
    return fault_named(name) or decoy_named(name)


def names() -> list[str]:
    return [fault.name for fault in FAULTS]


def decoy_names() -> list[str]:
    return [decoy.name for decoy in DECOYS]
