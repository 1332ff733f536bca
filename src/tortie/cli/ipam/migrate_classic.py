"""`tortie ipam migrate --classic VERSION`: upgrade-ipam as Calico has it, which repeats itself every second for ever.

For the lab and the doctor's tests. The conditions are the real ones: host-local's folder, the node's record, its
podCIDR, the pools. Where Calico would go on to lock the whole cluster and to delete plugins, Tortie's own migration
does the rest instead.
"""

from __future__ import annotations

import asyncio
import os
import sys
from datetime import UTC, datetime
from ipaddress import ip_address, ip_network
from typing import Any, Final

from tortie.cli.ipam.migrate import Heartbeat, Job, locked
from tortie.cli.ipam.migrate_folder import HostLocalFolder
from tortie.cli.settings import Settings, open_store
from tortie.ipam.allocator import Allocator
from tortie.ipam.errors import AlreadyAssigned, IpamError
from tortie.ipam.migration import NETWORK
from tortie.ipam.migration_pods import pods_in
from tortie.ipam.migration_run import Deadline
from tortie.ipam.request import Request
from tortie.model.errors import TortieError
from tortie.model.network import IP
from tortie.model.wire import Document, Undecodable, decode
from tortie.node.classic.kube import Kube, read_kube
from tortie.node.classic.log import ClassicLog
from tortie.node.classic.reading import ClassicReader
from tortie.node.classic.release import SAYING, read_release
from tortie.node.classic.words import GoError, go_error
from tortie.node.paths import Paths
from tortie.node.picture import key_of
from tortie.node.tunnel_choice import IPIP, current_address, why_not_readable, with_address
from tortie.store.contract import Entry, Put, Store

_DATA: Final = "/var/lib/cni/networks"
_AGAIN_S: Final = 1.0
_LOCK_POLL_S: Final = 0.2
_REST_S: Final = 60.0


def migrate_classic(version: str, settings: Settings, paths: Paths, node: str | None) -> int:
    release = read_release(version)
    component = "ipam" if release >= (3, 24) else ""
    log = ClassicLog(sys.stdout, release, component=component)
    log.warning(f"Classic mode: this is Tortie, migrating as Calico {release} does, {SAYING}")
    log.info("migrating from host-local to calico-ipam...")
    name = node or os.environ.get("KUBERNETES_NODE_NAME", "").strip() or os.environ.get("NODENAME", "").strip()
    if not name:
        log.at("fatal", "KUBERNETES_NODE_NAME not specified, refusing to migrate...")
        return 1
    asyncio.run(_until_it_works(settings, paths, name, log))
    log.info("migration from host-local to calico-ipam complete", node=name)
    return 0


async def _until_it_works(settings: Settings, paths: Paths, name: str, log: ClassicLog) -> None:
    """No end to it: that is the fault which this plays. A signal ends the process."""
    store = open_store(settings, in_loop=True)
    migration = ClassicMigration(store, paths, name, log)
    try:
        while True:
            try:
                await migration.attempt()
                return
            except GoError as error:
                log.error("failed to migrate ipam, retrying...", error=error, node=name)
                await asyncio.sleep(_AGAIN_S)
    finally:
        await store.close()


class ClassicMigration:
    def __init__(self, store: Store, paths: Paths, name: str, log: ClassicLog) -> None:
        self._store = store
        self._paths = paths
        self._name = name
        self._log = log
        self._data = HostLocalFolder(os.path.join(paths.below(_DATA), NETWORK))

    async def attempt(self) -> None:
        """One turn; returns when there is nothing left to do."""
        word = "dir dir" if self._log.release < (3, 21) else "dir"
        self._log.info(f"checking host-local IPAM data {word} existence...")
        if not self._is_there():
            self._log.info(f"host-local IPAM data {word} not found; no migration necessary, successfully exiting...")
            return
        kube = read_kube(self._paths, self._name)
        await self._tunnel_address(kube)
        names = self._names()
        if not names:
            self._remove()
            return
        self._log.info("acquiring lock on host-local IPAM")
        while not self._try_lock():  # noqa: ASYNC110 - silently, as there; the kernel rings no bell for it
            await asyncio.sleep(_LOCK_POLL_S)
        self._log.info("reading files from host-local IPAM")
        for each in names:
            if "last" not in each and each != "lock" and not _is_address(each):
                raise GoError(f"failed to parse IP {each}")
        await self._rest(kube)

    async def _tunnel_address(self, kube: Kube) -> None:
        self._log.info("retrieving node for IPIP tunnel address")
        try:
            entry = await ClassicReader(self._store, self._log).get(key_of("Node", self._name))
        except GoError as error:
            raise GoError(f"failed to get calico node resource: {error}") from None
        if entry is None and kube.node is None:
            missing = f'resource does not exist: Node({self._name}) with error: nodes "{self._name}" not found'
            raise GoError(f"failed to get calico node resource: {missing}")
        document = _document(entry)
        if document and current_address(IPIP, document):
            return
        self._log.info("IPIP tunnel address not found, assigning...")
        if kube.node is None:
            raise GoError(f'failed to get k8s node resource: nodes "{self._name}" not found')
        try:
            pods = ip_network(kube.pod_cidr, strict=False)
        except ValueError:
            told = kube.pod_cidr
            raise GoError(f"PodCIDR {told} did not parse successfully: invalid CIDR address: {told}") from None
        if pods.version == 4:
            await self._take(pods[1], entry, document)

    async def _take(self, ip: IP, entry: Entry | None, document: Document) -> None:
        self._log.info(f"Assigning IP: {ip}", ip=str(ip))
        handle = IPIP.handle + self._name
        request = Request(self._name, handle, {"node": self._name, "type": IPIP.attribute}, use="Tunnel", given=(ip,))
        failed = f"failed to get add IPIP tunnel addr {ip}"
        try:
            await Allocator(self._store, self._name, clock=_now).assign(request)
        except AlreadyAssigned:
            if self._log.release < (3, 9):
                raise GoError(f"{failed}: Address already assigned in block") from None
        except IpamError as error:
            raise GoError(f"{failed}: {error.what}") from None
        except TortieError as error:
            raise GoError(f"{failed}: {go_error(error, self._log.release, _now())}") from None
        if entry is not None and document:
            try:
                await self._store.commit([Put(entry.key, with_address(IPIP, document, ip), entry.revision)])
            except TortieError as error:
                raise GoError(f"failed to update node: {go_error(error, self._log.release, _now())}") from None

    def _is_there(self) -> bool:
        return os.path.isdir(self._data.path)

    def _names(self) -> list[str]:
        try:
            return sorted(os.listdir(self._data.path))
        except OSError as error:
            raise GoError(f"failed to open host-local IPAM data dir: {error.strerror}") from None

    def _remove(self) -> None:
        try:
            os.rmdir(self._data.path)
        except OSError as error:
            raise GoError(f"failed to remove host-local IPAM data dir: {error.strerror}") from None

    def _try_lock(self) -> bool:
        try:
            if not self._data.try_lock():
                return False
        except TortieError as error:
            raise GoError(f"failed to lock host-local IPAM: {error.why}") from None
        self._data.unlock()
        return True

    async def _rest(self, kube: Kube) -> None:
        """Tortie's own: it writes before it removes, and touches nobody else's node."""
        pods = pods_in({"items": list(kube.pods)}, self._name, "the kubelet's list")
        watcher = Heartbeat(_REST_S, speaks=False)
        job = Job(self._data, self._name, NETWORK, pods, self._store, Deadline(_REST_S), watcher)
        try:
            await locked(job)
        except TortieError as error:
            raise GoError(f"failed to assign IP to calico backend: {error.what}: {error.why}") from None


def _document(entry: Entry | None) -> dict[str, Any]:
    if entry is None:
        return {}
    try:
        document = decode(entry.value, entry.key)
    except Undecodable:
        return {}
    return {} if why_not_readable(document) else document


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def _now() -> datetime:
    return datetime.now(UTC)
