"""`tortie node run --classic VERSION`: the usual parts, started the way that release of Calico starts.

For the lab and the doctor's tests only, and it says so in its first line.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
import time
import uuid
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from tortie.cli.node.assembly import Assembly
from tortie.cli.node.sources import Sources, where_is
from tortie.cli.settings import Settings
from tortie.health.health import Health
from tortie.host.files import read_text
from tortie.ipam.allocator import Allocator
from tortie.model.effects.notes import Told
from tortie.model.errors import TortieError, UsageError
from tortie.node.classic.agent import ClassicAgent, Roles
from tortie.node.classic.bird import RunitBird
from tortie.node.classic.felix import Felix
from tortie.node.classic.log import ClassicLog
from tortie.node.classic.name import classic_name
from tortie.node.classic.release import Release, read_release
from tortie.node.classic.startup import Circumstances
from tortie.node.classic.words import GoError
from tortie.node.log import LEVELS
from tortie.node.machine import Machine
from tortie.node.paths import Paths
from tortie.node.registration import Stamp
from tortie.node.settings import Reading
from tortie.node.tunnels import TunnelAddresses

_FAILED: Final = 1
_ON: Final = ("true", "1", "yes", "y", "t")


def run_classic(version: str, *, env_file: str | None, log_format: str, root: str, flags: dict[str, Any]) -> int:
    if log_format != "calico":
        raise UsageError("--log-format json with --classic", "that release has one form only", "leave it out")
    release = read_release(version)
    if os.path.realpath(root) == "/":
        why = "it is for the lab only, and would change files of this machine"
        fix = f"tortie lab up --classic {version}, or --root DIR"
        raise UsageError("--classic without a root of its own", why, fix)
    # Until its services run a container ends at once when it is told to.
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    sources = Sources(env_file, root, flags)
    reading = sources.reading()
    level, refused = _level(sources.environment(), release)
    log = ClassicLog(sys.stdout, release, level=level)
    log.introduce()
    if refused:
        usual = "error" if release.bare else "info"
        unknown = GoError(f'not a valid logrus Level: "{refused}"')
        log.error(f"Failed to parse log level, defaulting to {usual}.", error=unknown)
    log.info(f"Early log level set to {log.level}")
    named = _named(log, sources, reading)
    try:
        datastore = sources.datastore()
        where_is(datastore)
    except TortieError as error:
        log.plain(_no_datastore(sources.environment(), error))
        log.plain("Calico node failed to start")
        return _FAILED
    assembly = ClassicAssembly(log, sources, reading, datastore, named)
    try:
        return asyncio.run(assembly.run())
    except KeyboardInterrupt:
        return 130
    finally:
        assembly.close()
        with suppress(OSError):
            sys.stdout.flush()


class _Named(NamedTuple):
    name: str
    stored: str  # what the file said


class ClassicAssembly(Assembly):
    """Its own `Health` is nobody's page: that of Felix has one, once the start is over."""

    BIRD = RunitBird

    def __init__(self, log: ClassicLog, sources: Sources, reading: Reading, datastore: Settings, named: _Named) -> None:
        super().__init__(Health(time.monotonic), sources, reading, datastore, "calico", None, lambda: False)
        self._startup_log = log
        self._named = named
        self._log = log.part("felix", level="info")
        self._felix_health = Health(time.monotonic)
        self._felix_health.started()

    async def run(self) -> int:
        settings, environment = self._reading.settings, self._sources.environment()
        log = self._startup_log
        await self._patiently("other-agent", self._claim.take)
        self._recorder.open(lambda _: None)
        name, stored = self._named
        self._recorder.node = name
        self._recorder.update()
        try:
            parts = self._parts(name, stored)
        except TortieError as error:
            log.plain(f"ERROR: Error accessing the Calico datastore: {error.what}: {error.why}")
            log.plain("Calico node failed to start")
            return _FAILED
        stamp = Stamp(_now, lambda: str(uuid.uuid4()))
        given = Circumstances(name, settings, environment, Paths(self._sources.root), Machine(), stamp)
        ignore = environment.get("FELIX_IGNORELOOSERPF", "").lower() in _ON
        host, port = settings.health_host.value, settings.health_port.value
        felix = Felix(
            self._felix_health,
            log.part("felix", level="info"),
            host,
            port,
            enabled=settings.health_enabled.value,
            ignore_loose_rpf=ignore,
        )
        tunnels = None
        if settings.backend.value != "none":
            allocator = Allocator(parts.store, name, clock=lambda: datetime.now(UTC))
            tunnels = TunnelAddresses(name, parts.store, self._health, self._log, allocator)
        return await ClassicAgent(parts, Roles(given, log, felix, tunnels)).run()

    def _warn_in_vain(self, told: list[Told]) -> None:
        """No release had such a line."""


def _named(log: ClassicLog, sources: Sources, reading: Reading) -> _Named:
    file = Paths(sources.root).below(reading.settings.nodename_file.value)
    try:
        stored = read_text(file)
    except TortieError:
        stored = None
    name, messages = classic_name(sources.environment(), stored, socket.gethostname(), file, log.release)
    for message in messages:
        log.at(message.level, message.text)
    return _Named(name, (stored or "").strip())


def _no_datastore(environment: dict[str, str], error: TortieError) -> str:
    told = environment.get("DATASTORE_TYPE", "")
    if "datastore type" in error.what:
        return f"ERROR: Error accessing the Calico datastore: unknown datastore type: {told}"
    return f"ERROR: Error loading datastore config: {error.what}"


def _level(environment: dict[str, str], release: Release) -> tuple[str, str]:
    """And what was told, if nobody knows such a level."""
    told = environment.get("CALICO_STARTUP_LOGLEVEL", "")
    level = "warning" if told.lower() == "warn" else told.lower()
    usual = "error" if release.bare else "info"
    return (level, "") if level in LEVELS else (usual, told)


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
