"""What the store says as far as the dataplane is concerned. Pure.

`Known` is told entry by entry and reads each once. An entry that cannot be read never spoils the others, and what it
said before stays in force: a slip in one resource must not take routes away that carry traffic.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Generic, NamedTuple, TypeVar

from tortie.dataplane.felix import FelixSettings, read_felix
from tortie.dataplane.records import (
    Block,
    Endpoint,
    NotReadable,
    Peer,
    Pool,
    endpoint_may_be_of,
    read_block,
    read_endpoint,
    read_felix_spec,
    read_peer,
    read_pool,
)
from tortie.model.keys import IPAM, resource_prefix
from tortie.model.kinds import BY_NAME

T = TypeVar("T")

BLOCKS: Final = f"{IPAM}assignment/"


class State(NamedTuple):
    """Everything at one moment."""

    node: str
    nodes: Mapping[str, Peer] = {}
    pools: tuple[Pool, ...] = ()  # by name
    endpoints: Mapping[str, Endpoint] = {}  # this node's
    blocks: tuple[Block, ...] = ()  # of all nodes, by address; none where no pool needs them
    felix: FelixSettings = FelixSettings()
    notes: tuple[str, ...] = ()  # what makes no sense and is passed over

    @property
    def me(self) -> Peer | None:
        return self.nodes.get(self.node)


class Known:
    def __init__(self, node: str) -> None:
        self._node = node
        self._nodes = _Shelf(_prefix("Node"), "Node", read_peer)
        self._pools = _Shelf(_prefix("IPPool"), "IPPool", read_pool)
        self._felix = _Shelf(_prefix("FelixConfiguration"), "FelixConfiguration", read_felix_spec)
        self._endpoints = _Shelf(
            _prefix("WorkloadEndpoint"), "WorkloadEndpoint", lambda name, value: read_endpoint(name, value, node)
        )
        self._blocks = _Shelf(BLOCKS, "IPAMBlock", read_block)

    @property
    def nodes(self) -> int:
        return len(self._nodes.known)

    @property
    def wants_blocks(self) -> bool:
        """Blocks change with every pod of the cluster; who has no tunnels need not hear of them."""
        return any(pool.vxlan for pool in self._pools.known.values())

    def prefixes(self) -> tuple[str, ...]:
        """What of the store to follow. They change when `wants_blocks` does."""
        shelves = [self._nodes, self._pools, self._felix, self._endpoints]
        return tuple(shelf.prefix for shelf in (*shelves, *((self._blocks,) if self.wants_blocks else ())))

    def learn(self, key: str, value: bytes | None) -> bool:
        """An entry as it is now, or None when it is gone. Whether anything looks different since."""
        shelves: tuple[_Shelf[Any], ...] = (self._blocks, self._endpoints, self._nodes, self._pools, self._felix)
        for shelf in shelves:
            if key.startswith(shelf.prefix):
                name = key[len(shelf.prefix) :]
                if shelf is self._endpoints and not endpoint_may_be_of(name, self._node):
                    return False
                return shelf.learn(name, value)
        return False

    def state(self, environment: Mapping[str, str]) -> State:
        felix = self._felix.known
        settings, notes = read_felix(environment, felix.get(f"node.{self._node}", {}), felix.get("default", {}))
        shelves: tuple[_Shelf[Any], ...] = (self._nodes, self._pools, self._felix, self._endpoints, self._blocks)
        unreadable = (
            f"{shelf.kind}({name}) cannot be read: {why}"
            for shelf in shelves
            for name, why in sorted(shelf.why_not.items())
        )
        blocks = self._blocks.known.values() if self.wants_blocks else ()
        return State(
            self._node,
            dict(sorted(self._nodes.known.items())),
            tuple(pool for _, pool in sorted(self._pools.known.items())),
            dict(sorted(self._endpoints.known.items())),
            tuple(sorted(blocks, key=lambda block: (block.cidr.version, int(block.cidr.network_address)))),
            settings,
            (*notes, *unreadable),
        )


class _Shelf(Generic[T]):
    """All entries of one kind, by name."""

    def __init__(self, prefix: str, kind: str, read: Callable[[str, bytes], T | None]) -> None:
        self.prefix = prefix
        self.kind = kind
        self.known: dict[str, T] = {}
        self.why_not: dict[str, str] = {}
        self._read = read

    def learn(self, name: str, value: bytes | None) -> bool:
        before = self.known.get(name), self.why_not.get(name)
        if value is None:
            self._forget(name)
        else:
            try:
                read = self._read(name, value)
            except NotReadable as error:
                self.why_not[name] = str(error)
            except Exception as error:  # whatever somebody has written there, the other entries are read
                self.why_not[name] = f"{type(error).__name__}: {error}"
            else:
                self._forget(name)
                if read is not None:
                    self.known[name] = read
        return before != (self.known.get(name), self.why_not.get(name))

    def _forget(self, name: str) -> None:
        self.known.pop(name, None)
        self.why_not.pop(name, None)


def _prefix(kind: str) -> str:
    return resource_prefix(BY_NAME[kind])
