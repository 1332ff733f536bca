"""What a start of the release that is played writes: its Node, default pools, the cluster's defaults, one by one."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from ipaddress import IPv6Network
from secrets import randbits
from typing import Final

from tortie.addressing.pools import created_message, pool_document
from tortie.model.network import CIDR, Family, HostNetwork, Network
from tortie.node.classic.addresses import default_pool
from tortie.node.classic.log import ClassicLog
from tortie.node.classic.reading import ClassicReader
from tortie.node.classic.words import GoError
from tortie.node.picture import DEFAULTS, NODES, POOLS, Picture, key_of, read_picture
from tortie.node.registration import Intent, NewPool, Stamp, Write, plan
from tortie.node.settings import NodeSettings
from tortie.store.contract import Entry, Revision, Snapshot

_SINCE: Final = {
    "Tier": (3, 29),
    "BGPConfiguration": (3, 21),
    "IPAMConfiguration": (3, 30),
}
_OFF: Final = ("false", "0", "no", "n", "f")
_AGAIN_S: Final = 1.0
_TRIES: Final = 60  # Calico has no limit here
_FIRST_IPV6_POOL: Final = (3, 0)


class Defaults:
    def __init__(
        self,
        name: str,
        settings: NodeSettings,
        environment: Mapping[str, str],
        stamp: Stamp,
        reader: ClassicReader,
        log: ClassicLog,
    ) -> None:
        self._name = name
        self._settings = settings
        self._environment = environment
        self._stamp = stamp
        self._reader = reader
        self._log = log

    def picture(self, own: Entry | None, others: Sequence[Entry] = (), pools: Sequence[Entry] = ()) -> Picture:
        """As far as it was read."""
        entries = {entry.key: entry for entry in others}
        listings = {NODES: (own,) if own else (), POOLS: tuple(pools)}
        return read_picture(self._name, Snapshot(entries, listings, own.revision if own else 0))

    async def register(self, picture: Picture, addresses: Mapping[Family, CIDR | None]) -> Revision:
        """The own Node; it expects what was read at the beginning, and is not tried again."""
        intent = self._intent(addresses)
        write = plan(picture, intent, self._stamp)[0]
        if write.action == "leave":
            raise GoError(write.why)
        if write.operation is None:
            return picture.revision
        return await self._reader.write([write.operation])

    async def pools(self, network: HostNetwork) -> None:
        settings = self._settings
        if settings.no_default_pools.value:
            self._log.info("Skipping IP pool configuration")
            return
        existing = await self._reader.list(POOLS)
        present = {pool.version for pool in self.picture(None, pools=existing).pools}
        for family in _families():
            pool = settings.pool(family)
            if pool.disabled:
                self._log.info(f"Skipping IPv{family} pool configuration")
                continue
            if family in present or (family == 6 and not self._ipv6_supported()):
                continue
            cidr = pool.cidr or self._chosen(family, network)
            self._tell_switch(f"CALICO_IPV{family}POOL_NAT_OUTGOING", default=family == 4)
            made = NewPool(pool_document(family, cidr, pool), created_message(family, cidr, pool).text)
            await self._create_pool(made)

    async def cluster(self) -> None:
        wanted = [(kind, name) for kind, name in DEFAULTS if self._log.release >= _SINCE.get(kind, (0,))] + [
            ("FelixConfiguration", f"node.{self._name}")
        ]
        for kind, name in wanted:
            for attempt in range(_TRIES):
                entry = await self._reader.get(key_of(kind, name))
                picture = self.picture(None, others=[entry] if entry else [])
                write = self._planned(picture, f"{kind}({name})")
                if write is None or write.operation is None:
                    break
                try:
                    await self._reader.write([write.operation])
                    break
                except GoError as error:
                    if not error.text.startswith("update conflict") or attempt == _TRIES - 1:
                        raise
                    if kind != "ClusterInformation":
                        self._log.info(f"Ignoring conflict when setting value {kind}({name})")
                        break
                    await asyncio.sleep(_AGAIN_S)

    async def _create_pool(self, pool: NewPool) -> None:
        intent = self._intent({})._replace(pools=(pool,))
        picture = self.picture(None)
        write = next(each for each in plan(picture, intent, self._stamp) if each.what.startswith("IPPool"))
        assert write.operation is not None
        try:
            await self._reader.write([write.operation])
        except GoError as error:
            if not error.text.startswith("update conflict"):
                raise
            return  # another node was faster
        self._log.info(pool.said)

    def _planned(self, picture: Picture, what: str) -> Write | None:
        return next((each for each in plan(picture, self._intent({}), self._stamp) if each.what == what), None)

    def _intent(self, addresses: Mapping[Family, CIDR | None]) -> Intent:
        return Intent(
            self._name,
            ipv4=addresses.get(4),
            ipv6=addresses.get(6),
            as_number=self._settings.as_number.value,
            k8s_node_ref=self._settings.k8s_node_ref.value or "",
            cluster_types=self._settings.cluster_type.value,
            networking=self._settings.backend.value != "none",
            calico_version=str(self._log.release),
        )

    def _chosen(self, family: Family, network: HostNetwork) -> Network:
        if family == 6:
            return IPv6Network(((0xFD << 40 | randbits(40)) << 80, 48))
        cidr = default_pool(network, self._log.release)
        if self._log.release >= (3, 9):
            self._log.info(f"Selected default IP pool is '{cidr}'")
        return cidr

    def _ipv6_supported(self) -> bool:
        if self._log.release < _FIRST_IPV6_POOL:
            return False
        if not self._tell_switch("FELIX_IPV6SUPPORT", default=True):
            return False
        supported = os.path.isdir("/proc/sys/net/ipv6")
        self._log.info(f"IPv6 supported on this platform: {str(supported).lower()}")
        return supported

    def _tell_switch(self, variable: str, *, default: bool) -> bool:
        told = self._environment.get(variable, "").strip().lower()
        value = told not in _OFF if told else default
        how = "" if told else " (defaulted)"
        self._log.info(f"{variable} is {str(value).lower()}{how} through environment variable")
        return value


def _families() -> tuple[Family, ...]:
    return (4, 6)
