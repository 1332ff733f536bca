"""What the store says as far as BGP is concerned: the nodes, how they shall peer, and this node's blocks. Pure.

`Known` is told entry by entry and reads each once; in whatever order it is told, the cluster comes out the same. An
entry that cannot be read never spoils the others. What it said before stays in force meanwhile, because a slip in one
resource must not tear down sessions that carry traffic; `Cluster.unreadable` tells of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Generic, NamedTuple, TypeVar

from tortie.bgp.entries import (
    NotReadable,
    Speaker,
    read_block,
    read_configuration,
    read_filter,
    read_peer,
    read_pool,
    read_speaker,
)
from tortie.bgp.plan import BGP_PORT, DEFAULT_AS
from tortie.model.keys import host_affinity_prefix, resource_prefix
from tortie.model.kinds import BY_NAME
from tortie.model.network import Network
from tortie.model.resources.bgp import BGPConfigurationSpec, BGPFilterSpec, BGPPeerSpec
from tortie.model.resources.ippool import IPPoolSpec

T = TypeVar("T")

DEFAULT: Final = "default"
_BLOCK: Final = "BlockAffinity"


class Unreadable(NamedTuple):
    """An entry that makes no sense."""

    kind: str
    name: str
    why: str
    kept: bool  # what it said before is still in force

    def __str__(self) -> str:
        return f"{self.kind}({self.name})"


class Cluster(NamedTuple):
    """Everything by name, and in the order of names."""

    speakers: Mapping[str, Speaker] = {}
    configuration: BGPConfigurationSpec = BGPConfigurationSpec()  # of the cluster
    own_configuration: BGPConfigurationSpec = BGPConfigurationSpec()  # of this node, which wins where it says something
    ports: Mapping[str, int] = {}  # where nodes listen that have a port of their own
    peers: Mapping[str, BGPPeerSpec] = {}
    filters: Mapping[str, BGPFilterSpec] = {}
    pools: Mapping[str, IPPoolSpec] = {}
    blocks: tuple[Network, ...] = ()  # this node's, by CIDR
    unreadable: tuple[Unreadable, ...] = ()

    @property
    def as_number(self) -> int:
        """The AS of every node that has none of its own."""
        return self.configuration.asNumber or DEFAULT_AS

    def as_of(self, speaker: Speaker) -> int:
        return speaker.as_number or self.as_number

    def port_given(self, node: str) -> int:
        """Where a node listens, if the node or the cluster has been given a port; else 0."""
        return self.ports.get(node) or self.configuration.listenPort or 0

    def port_of(self, node: str) -> int:
        return self.port_given(node) or BGP_PORT

    def lost(self, kind: str, name: str) -> str:
        """Why nothing at all is known of a resource that is there; "" if something is, or it is not there."""
        found = (entry.why for entry in self.unreadable if entry[:2] == (kind, name) and not entry.kept)
        return next(found, "")


def prefixes(node: str) -> tuple[str, ...]:
    """What of the store to follow."""
    return tuple(shelf.prefix for shelf in Known(node).shelves)


class Known:
    """What has been learnt of the store so far."""

    def __init__(self, node: str) -> None:
        self._node = node
        self._speakers = _Shelf(_prefix("Node"), "Node", read_speaker)
        self._configurations = _Shelf(_prefix("BGPConfiguration"), "BGPConfiguration", read_configuration)
        self._peers = _Shelf(_prefix("BGPPeer"), "BGPPeer", read_peer)
        self._filters = _Shelf(_prefix("BGPFilter"), "BGPFilter", read_filter)
        self._pools = _Shelf(_prefix("IPPool"), "IPPool", read_pool)
        affinities = host_affinity_prefix(node)
        self._blocks = tuple(
            _Shelf[Network](f"{affinities}ipv{family}/block/", _BLOCK, read_block) for family in (4, 6)
        )
        self.shelves: tuple[_Shelf[Any], ...] = (
            self._speakers,
            self._configurations,
            self._peers,
            self._filters,
            self._pools,
            *self._blocks,
        )

    @property
    def nodes(self) -> int:
        return len(self._speakers)

    def learn(self, key: str, value: bytes | None) -> bool:
        """An entry as it is now, or None when it is gone. Whether the cluster looks different since."""
        for shelf in self.shelves:
            if key.startswith(shelf.prefix):
                return shelf.learn(key[len(shelf.prefix) :], value)
        return False

    def cluster(self) -> Cluster:
        configurations = self._configurations.ordered()
        nodes = {name.removeprefix("node."): spec for name, spec in configurations.items() if name.startswith("node.")}
        blocks = [block for shelf in self._blocks for block in shelf.ordered().values()]
        return Cluster(
            self._speakers.ordered(),
            configurations.get(DEFAULT, BGPConfigurationSpec()),
            nodes.get(self._node, BGPConfigurationSpec()),
            {name: spec.listenPort for name, spec in nodes.items() if spec.listenPort},
            self._peers.ordered(),
            self._filters.ordered(),
            self._pools.ordered(),
            tuple(sorted(blocks, key=in_order)),
            tuple(sorted(entry for shelf in self.shelves for entry in shelf.unreadable())),
        )


def in_order(network: Network) -> tuple[int, int, int]:
    """IPv4 first, then by address, wider networks before what they hold."""
    return network.version, int(network.network_address), network.prefixlen


class _Shelf(Generic[T]):
    """All entries of one kind, by name."""

    def __init__(self, prefix: str, kind: str, read: Callable[[str, bytes], T | None]) -> None:
        self.prefix = prefix
        self._kind = kind
        self._read = read
        self._known: dict[str, T] = {}
        self._why_not: dict[str, str] = {}

    def __len__(self) -> int:
        return len(self._known)

    def learn(self, name: str, value: bytes | None) -> bool:
        before, why_not_before = self._known.get(name), self._why_not.get(name)
        if value is None:
            self._forget(name)
        else:
            try:
                read = self._read(name, value)
            except NotReadable as error:
                self._why_not[name] = str(error)
            else:
                self._forget(name)
                if read is not None:
                    self._known[name] = read
        return (before, why_not_before) != (self._known.get(name), self._why_not.get(name))

    def _forget(self, name: str) -> None:
        self._known.pop(name, None)
        self._why_not.pop(name, None)

    def ordered(self) -> dict[str, T]:
        return dict(sorted(self._known.items(), key=lambda item: item[0]))

    def unreadable(self) -> list[Unreadable]:
        return [Unreadable(self._kind, name, why, name in self._known) for name, why in self._why_not.items()]


def _prefix(kind: str) -> str:
    return resource_prefix(BY_NAME[kind])
