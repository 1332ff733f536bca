"""What a start of the release that is played writes: its Node, default pools, the cluster's defaults, one by one."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from typing import Final

from tortie.addressing.methods import go_cidr
from tortie.model.network import CIDR, Family, HostNetwork
from tortie.model.wire import Undecodable, decode
from tortie.node.classic.log import ClassicLog
from tortie.node.classic.pools import Machine, ToMake, asked_pools, pools_to_make
from tortie.node.classic.reading import ClassicReader
from tortie.node.classic.words import GoError
from tortie.node.classic.words_of_go import Ends, Line
from tortie.node.picture import DEFAULTS, NODES, POOLS, Picture, key_of, read_picture
from tortie.node.registration import Intent, NewPool, Stamp, Write, plan
from tortie.node.settings import NodeSettings
from tortie.node.ula import random_ula
from tortie.store.contract import Entry, Revision, Snapshot

# Of the defaults, what there was before v3.29; the others came later.
_KNOWN: Final = ("ClusterInformation", "FelixConfiguration")
_AGAIN_S: Final = 1.0
_TRIES: Final = 60  # Calico has no limit here


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

    async def register(
        self, picture: Picture, addresses: Mapping[Family, CIDR | None], as_number: int | None = None
    ) -> Revision:
        """The own Node; it expects what was read at the beginning, and is not tried again."""
        intent = self._intent(addresses)._replace(as_number=as_number)
        write = plan(picture, intent, self._stamp)[0]
        if write.action == "leave":
            raise GoError(write.why)
        if write.operation is None:
            return picture.revision
        return await self._reader.write([write.operation])

    async def pools(self, network: HostNetwork) -> None:
        """Raises `Ends` where the release gives up."""
        asked = asked_pools(self._environment, self._log.release)
        if asked is None:
            self._log.info("Skipping IP pool configuration")
            return
        try:
            existing = {entry.key[len(POOLS) :]: _cidr_of(entry) for entry in await self._reader.list(POOLS)}
        except GoError as error:
            raise Ends(Line("error", "Unable to fetch IP pool list", {"error": error})) from error
        unreadable = [(name, text) for name, text in existing.items() if go_cidr(text) is None]
        machine = Machine(network, _has_ipv6(), random_ula)
        texts = list(existing.values())
        for step in pools_to_make(asked, self._environment, self._log.release, texts, machine):
            if isinstance(step, Line):
                self._log.tell((step,))
            else:
                await self._create_pool(step, unreadable)

    async def cluster(self) -> None:
        wanted = [(kind, name) for kind, name in DEFAULTS if kind in _KNOWN]
        wanted.append(("FelixConfiguration", f"node.{self._name}"))
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

    async def _create_pool(self, pool: ToMake, unreadable: Sequence[tuple[str, str]]) -> None:
        for name, text in unreadable:  # each new pool is compared with all others
            broken = GoError(f"invalid CIDR address: {text}")
            self._log.error("IPPool is configured with an invalid CIDR", error=broken, Name=name)
        intent = self._intent({})._replace(pools=(NewPool(pool.document, pool.said),))
        write = next(each for each in plan(self.picture(None), intent, self._stamp) if each.what.startswith("IPPool"))
        assert write.operation is not None
        try:
            if pool.refused:
                raise GoError(pool.refused)
            await self._reader.write([write.operation])
        except GoError as error:
            if error.text.startswith("update conflict"):
                return  # another node was faster
            which = "" if self._log.release.bare else f": {pool.cidr}"
            failed = f"Failed to create default IPv{pool.family} IP pool{which}"
            raise Ends(Line("error", failed, {"error": error})) from error
        self._log.info(pool.said)

    def _planned(self, picture: Picture, what: str) -> Write | None:
        return next((each for each in plan(picture, self._intent({}), self._stamp) if each.what == what), None)

    def _intent(self, addresses: Mapping[Family, CIDR | None]) -> Intent:
        return Intent(
            self._name,
            ipv4=addresses.get(4),
            ipv6=addresses.get(6),
            k8s_node_ref=self._settings.k8s_node_ref.value or "",
            cluster_types=self._settings.cluster_type.value,
            networking=self._settings.backend.value != "none" or self._log.release.addresses_policy_only,
            calico_version=str(self._log.release),
        )


def _cidr_of(entry: Entry) -> str:
    try:
        spec = decode(entry.value, entry.key).get("spec")
    except Undecodable:
        spec = None
    return str(spec.get("cidr") or "") if isinstance(spec, dict) else ""


def _has_ipv6() -> bool:
    return os.path.isdir("/proc/sys/net/ipv6")
