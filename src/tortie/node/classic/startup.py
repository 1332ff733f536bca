"""A start as the release that is played makes it: its steps in their order, its reads, its lines, its end on failure.

Whatever fails ends the process: `Terminated`, after `Terminating` was said. Nothing is tried again but the wait for
the datastore that WAIT_FOR_DATASTORE asks for.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple

from tortie.addressing.choice import Surroundings
from tortie.addressing.decision import variable
from tortie.host.files import write_whole
from tortie.model.errors import TortieError
from tortie.model.fields import BadField, Name
from tortie.model.network import CIDR, IP, Family, HostNetwork
from tortie.node.classic.addresses import FAMILIES, Found, destinations, find_addresses
from tortie.node.classic.conflicts import check_conflicts
from tortie.node.classic.defaults import Defaults
from tortie.node.classic.kube import read_kube
from tortie.node.classic.log import ClassicLog
from tortie.node.classic.reading import LONGEST_S, ClassicReader
from tortie.node.classic.words import GoError
from tortie.node.classic.words_of_go import Ends, as_number
from tortie.node.decisions import Addressed
from tortie.node.machine import Machine
from tortie.node.paths import Paths
from tortie.node.picture import Picture, addresses_of, key_of
from tortie.node.registration import Stamp
from tortie.node.settings import NodeSettings
from tortie.store.contract import Revision

_REACH_S: Final = 2.0
_AGAIN_S: Final = 1.0
_SOCKETS: Final = "/var/run/calico"
_NO_KUBECONFIG: Final = (
    "Neither --kubeconfig nor --master was specified.  Using the inClusterConfig.  This might not work."
)
_NOT_IN_CLUSTER: Final = (
    "error creating inClusterConfig, falling back to default config: unable to load in-cluster configuration, "
    "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT must be defined"
)


class Terminated(Exception):
    """The start is over, and has said why; the process ends with 1."""


class Circumstances(NamedTuple):
    """What a start rests on."""

    name: str
    settings: NodeSettings  # pools and files; addresses are read from the environment as it is
    environment: Mapping[str, str]
    paths: Paths
    machine: Machine
    stamp: Stamp


class Started(NamedTuple):
    network: HostNetwork
    addressed: tuple[Addressed, ...]
    revision: Revision


class Startup:
    def __init__(
        self,
        given: Circumstances,
        reader: ClassicReader,
        log: ClassicLog,
        phase: Callable[[str, float, str], None],
    ) -> None:
        self._given = given
        self._reader = reader
        self._log = log
        self._release = log.release
        self._defaults = Defaults(given.name, given.settings, given.environment, given.stamp, reader, log)
        self._phase = phase

    async def run(self) -> Started:
        """From the datastore's test to `Using node name`."""
        self._phase("datastore", LONGEST_S, "testing the datastore")
        await self._test_datastore()
        picture = await self._own_node()
        in_kubernetes = self._look_for_kubernetes()
        network = self._given.machine.observe()
        found = Found(())
        if self._networking or self._release.addresses_policy_only:
            self._phase("address", LONGEST_S, "choosing this node's address")
            found = await self._address(picture, network)
        as_number = self._as_number(picture) if self._networking else None
        if self._networking and in_kubernetes and self._release.available_early:
            self._log.info("Setting NetworkUnavailable to False")
        self._phase("register", LONGEST_S, "writing this node's record")
        revision = picture.revision
        if not self._release.writes_only_changes:
            self._folders()
        if not self._release.writes_only_changes or self._is_news(found, as_number):
            revision = await self._register(picture, found, as_number)
        if self._release.writes_only_changes:
            self._folders()
        await self._ensure(network)
        self._write_name()
        self._log.info(f"Using node name: {self._given.name}")
        if self._networking and in_kubernetes and self._release.available_late:
            self._log.info("Setting NetworkUnavailable to false")
        return Started(network, found.addressed, revision)

    @property
    def _networking(self) -> bool:
        return self._given.settings.backend.value != "none"

    def _is_news(self, found: Found, as_number: int | None) -> bool:
        """Whether that release thinks the node has changed: an AS number or a reference that is told always counts."""
        return found.changed or as_number is not None or bool(self._given.environment.get("CALICO_K8S_NODE_REF"))

    def _look_for_kubernetes(self) -> bool:
        """A lab's kubelet stands for it. Calico asks it for what only kubeadm and Rancher have."""
        in_kubernetes = read_kube(self._given.paths, self._given.name).node is not None
        if self._release.looks_for_kubeconfig and not self._given.environment.get("KUBECONFIG"):
            self._log.warning(_NO_KUBECONFIG)
            if not in_kubernetes:
                self._log.warning(_NOT_IN_CLUSTER)
        return in_kubernetes

    async def _test_datastore(self) -> None:
        """Only the exact word makes it wait; then it never stops trying, within our own last deadline."""
        if self._given.environment.get("WAIT_FOR_DATASTORE") != "true":
            self._log.info("Skipping datastore connection test")
            return
        self._log.info("Checking datastore connection")
        while True:
            try:
                await self._reader.get(key_of("Node", "foo"))
            except GoError as error:
                if "unauthorized" in error.text:
                    self._log.warning("Connection to the datastore is unauthorized", error=error)
                    raise self.terminate() from error
                self._log.info("Hit error connecting to datastore - retry", error=error)
                if self._reader.is_over:
                    raise self.terminate() from error
                await asyncio.sleep(_AGAIN_S)
            else:
                break
        self._log.info("Datastore connection verified")
        self._log.info("Datastore is ready")

    async def _own_node(self) -> Picture:
        try:
            entry = await self._reader.own(self._given.name)
        except GoError as error:
            self._log.info("Unable to query node configuration", error=error, Name=self._given.name)
            self._log.warning("Unable to access datastore to query node configuration")
            raise self.terminate() from error
        if entry is None:
            self._log.info("Building new node resource", Name=self._given.name)
        picture = self._defaults.picture(entry)
        if picture.node and picture.node.unreadable:
            unreadable = GoError(picture.node.unreadable)
            self._log.info("Unable to query node configuration", error=unreadable, Name=self._given.name)
            self._log.warning("Unable to access datastore to query node configuration")
            raise self.terminate()
        return picture

    async def _address(self, picture: Picture, network: HostNetwork) -> Found:
        document = picture.node.document if picture.node else {}
        if not (document.get("spec") or {}).get("bgp"):
            self._log.info("Initialise BGP data" if self._release.bare else "Initialize BGP data")
        found = await look(self._given, document, network, self._log)
        if found.failed:
            await self._clear(picture, found, FAMILIES)
        if found.failed or found.ended:
            raise self.terminate()
        if found.changed and self._given.environment.get("DISABLE_NODE_IP_CHECK") != "true":
            self._phase("conflicts", LONGEST_S, "reading every node to compare addresses")
            try:
                nodes = await self._reader.everybody()
            except GoError as error:
                self._log.error("Unable to query node configuration", error=error)
                raise self.terminate() from error
            checked = check_conflicts(self._given.name, found.addresses, nodes, self._log)
            if not checked.free:
                await self._clear(picture, found, checked.taken)
                raise self.terminate()
        return found

    async def _clear(self, picture: Picture, found: Found, families: Iterable[Family]) -> None:
        """The loser's record loses what it detected, so that the next start does not meet it again; a node that was
        never stored has none."""
        asked = [family for family in families if self._given.environment.get(variable(family)) == "autodetect"]
        if picture.node is None or not asked or not self._release.clears_addresses:
            return
        for family in asked:
            was = str(found.addresses.get(family) or "")
            self._log.info(f"Clearing out-of-date IPv{family} address from this node", IP=was)
        kept = {family: cidr for family, cidr in found.addresses.items() if family not in asked}
        try:
            await self._defaults.register(picture, kept)
        except GoError as error:
            self._log.warning("Failed to clear node addresses", error=error)

    def _as_number(self, picture: Picture) -> int | None:
        """What the environment says."""
        told = self._given.environment.get("AS", "")
        bgp = ((picture.node.document if picture.node else {}).get("spec") or {}).get("bgp") or {}
        if told:
            try:
                number = as_number(told)
            except GoError as error:
                self._log.error(f"The AS number specified in the environment (AS={told}) is not valid", error=error)
                raise self.terminate() from error
            self._log.info(f"Using AS number specified in environment (AS={number})")
            return number
        if bgp.get("asNumber"):
            self._log.info(f"Using AS number {bgp['asNumber']} configured in node resource")
        else:
            self._log.info("No AS number configured on node resource, using global value")
        return None

    def _folders(self) -> None:
        """In a container they are mounted; a lab's node has them below its root."""
        settings = self._given.settings
        wanted = self._given.paths.folders(
            backend=settings.backend.value, file_logging=not settings.disable_file_logging.value
        )
        was_here = os.path.exists(self._given.paths.below(settings.nodename_file.value))
        for folder in wanted:
            if was_here and folder.endswith(_SOCKETS):
                continue  # then it is gone because nothing is mounted there any more; nobody in the container makes it
            try:
                os.makedirs(folder, exist_ok=True)
            except OSError as error:
                self._log.error(f"Unable to create '{folder}'", error=GoError(f"mkdir {folder}: {error.strerror}"))
                raise self.terminate() from error

    async def _register(self, picture: Picture, found: Found, as_number: int | None) -> Revision:
        try:
            Name.parse(self._given.name)
        except BadField:
            self._log.error("Unable to set node resource configuration", error=GoError(_bad_name(self._given.name)))
            raise self.terminate() from None
        try:
            # 0 is taken and told, and nobody could work with it: it stays out of the record.
            return await self._defaults.register(picture, found.addresses, as_number or None)
        except GoError as error:
            self._log.error("Unable to set node resource configuration", error=error)
            raise self.terminate() from error

    async def _ensure(self, network: HostNetwork) -> None:
        try:
            await self._defaults.pools(network)
            await self._defaults.cluster()
        except Ends as over:
            self._log.tell(over.lines)
            raise self.terminate() from over
        except GoError as error:
            self._log.error("Unable to set global default configuration", error=error)
            raise self.terminate() from error

    def _write_name(self) -> None:
        file = self._given.paths.below(self._given.settings.nodename_file.value)
        try:
            os.makedirs(os.path.dirname(file), exist_ok=True)
            write_whole(file, self._given.name.encode())
        except (OSError, TortieError) as error:
            self._log.error(f"Unable to write to {file}", error=GoError(str(error)))
            raise self.terminate() from error

    def terminate(self) -> Terminated:
        self._log.warning("Terminating")
        return Terminated()


def _bad_name(name: str) -> str:
    return (
        f"error with field Metadata.Name = '{name}' (name must consist of lower case alphanumeric characters, '-' or "
        "'.' (regex: [a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*))"
    )


async def look(given: Circumstances, document: Mapping[str, object], network: HostNetwork, log: ClassicLog) -> Found:
    """Detects and decides, and says what that release says."""
    reach: dict[tuple[str, Family], IP | str] = {}
    for destination, family in destinations(given.environment):
        reach[destination, family] = await asyncio.to_thread(given.machine.reach, destination, family, _REACH_S)
    stored: dict[Family, CIDR] = {
        (4 if cidr.version == 4 else 6): cidr for cidr in addresses_of(dict(document)) if document
    }
    internal = read_kube(given.paths, given.name).internal_ips
    surroundings = Surroundings(network, stored=tuple(stored.values()), reach=reach, internal_ips=internal)
    found = find_addresses(given.environment, stored, surroundings, log.release)
    log.tell(found.lines)
    return found
