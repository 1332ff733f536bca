"""Which addresses are held for pods and tunnels that do not exist any more, and how we know. Pure.

An address is a suspect when it is held for a pod, and neither an endpoint has it nor has that pod an endpoint that is
still being set up. It is a leak when that was so all through the grace period, or when its node is gone. A tunnel's
address is one only when its node is gone. What is held for somebody that we do not understand is never released. And
all addresses of a handle must be leaks, because the pod that uses one of them is alive.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from tortie.controllers.ripening import seen_again
from tortie.ipam.block import Holding, clean_handle
from tortie.ipam.census import ENDPOINTS, Census
from tortie.ipam.usage import Users, held_for
from tortie.model.names import parse_endpoint_name
from tortie.model.network import IP, Network


class Suspect(NamedTuple):
    """One allocation; the same address given out again is another one."""

    ip: IP
    handle: str
    sequence: int | None


class Leak(NamedTuple):
    """A suspect with all that speaks against it."""

    suspect: Suspect
    block: Network
    kind: str  # pod or tunnel
    owner: str
    node: str
    node_gone: bool
    missing: str  # what was looked for and not found
    attributes: Mapping[str, str]
    age_s: float = 0.0  # since it was first seen so

    @property
    def ip(self) -> IP:
        return self.suspect.ip

    @property
    def handle(self) -> str:
        return self.suspect.handle

    def evidence(self) -> dict[str, object]:
        """For the log."""
        noted = ",".join(f"{name}={value}" for name, value in sorted(self.attributes.items()))
        return {
            "ip": str(self.ip),
            "handle": self.handle,
            "block": str(self.block),
            "node": self.node,
            "nodeExists": not self.node_gone,
            "attributes": noted,
            "missing": self.missing,
            "suspectSeconds": round(self.age_s, 1),
        }


class Stranger(NamedTuple):
    """An address on a node that is gone, of somebody whom we cannot ask."""

    ip: IP
    node: str
    owner: str


class Leaks(NamedTuple):
    confirmed: tuple[Leak, ...] = ()
    candidates: tuple[Leak, ...] = ()
    resurrected: tuple[Suspect, ...] = ()  # were suspects, and are in use after all
    strangers: tuple[Stranger, ...] = ()
    in_use: Mapping[str, int] = {}  # how many addresses of each node somebody uses
    since: Mapping[Suspect, float] = {}


def find_leaks(
    census: Census, users: Users, gone: Collection[str], before: Mapping[Suspect, float], now: float, grace_s: float
) -> Leaks:
    """`gone`: nodes that are known to be gone for good. A grace of 0 lets nothing of present nodes be a leak."""
    unknown = _Unreadable(census)
    suspects: dict[Suspect, Leak] = {}
    strangers: list[Stranger] = []
    back: list[Suspect] = []
    in_use: dict[str, int] = defaultdict(int)
    clean: set[str] = set()  # handles of which at least one address is in use
    for cidr, holding in _holdings(census):
        held = held_for(holding.ip, holding.attribute)
        if held.kind in ("windows", "loadbalancer") or holding.attribute.released_at:
            continue
        node, handle = held.node, clean_handle(holding.attribute.handle or "")
        is_gone = node in gone
        if held.kind == "unknown":
            if is_gone:
                strangers.append(Stranger(holding.ip, node, held.owner))
            continue
        suspect = Suspect(holding.ip, handle, holding.sequence)
        missing = users.why_unused(holding)
        if held.kind == "tunnel" and not is_gone:
            missing = ""  # its node still is there, and may be about to say so
        if not missing or unknown.may_use(holding):
            in_use[node] += 1
            clean.add(handle)
            if suspect in before:
                back.append(suspect)
            continue
        noted = dict(holding.attribute.secondary or {})
        suspects[suspect] = Leak(suspect, cidr, held.kind, held.owner, node, is_gone, missing, noted)
    since = seen_again(before, suspects, now)
    aged = {suspect: leak._replace(age_s=now - since[suspect]) for suspect, leak in suspects.items()}
    ready = {suspect for suspect, leak in aged.items() if leak.node_gone or (grace_s > 0 and leak.age_s >= grace_s)}
    waiting = clean | {suspect.handle for suspect in aged if suspect not in ready}
    confirmed = tuple(leak for suspect, leak in aged.items() if suspect in ready and suspect.handle not in waiting)
    chosen = {leak.suspect for leak in confirmed}
    return Leaks(
        confirmed,
        tuple(leak for suspect, leak in aged.items() if suspect not in chosen),
        tuple(back),
        tuple(strangers),
        dict(in_use),
        since,
    )


def _holdings(census: Census) -> Iterator[tuple[Network, Holding]]:
    for cidr, block in census.blocks.items():
        for holding in block.holdings():
            yield cidr, holding


class _Unreadable:
    """Endpoints that nobody can read: whoever they may belong to is not suspected."""

    def __init__(self, census: Census) -> None:
        self._pods: set[tuple[str, str]] = set()
        self._anybody = False
        for key, _ in census.unreadable:
            if key.startswith(ENDPOINTS):
                namespace, _, name = key[len(ENDPOINTS) :].partition("/")
                parsed = parse_endpoint_name(name)
                if parsed is None:
                    self._anybody = True
                else:
                    self._pods.add((namespace, parsed.workload))

    def may_use(self, holding: Holding) -> bool:
        if self._anybody or not self._pods:
            return self._anybody
        noted = holding.attribute.secondary or {}
        return (noted.get("namespace", ""), noted.get("pod", "")) in self._pods
