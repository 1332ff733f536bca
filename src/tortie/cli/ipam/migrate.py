"""`tortie ipam migrate`: pods that got their addresses from host-local keep them under Calico's IPAM.

It may run as a node's first container, where Calico has `upgrade-ipam`: it always ends, within one deadline, and says
why. It writes what concerns this node only. host-local's folder is moved aside, whole, after everything was written
and read back; so it can be killed at any moment and run again.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from tortie.cli.ipam.migrate_folder import HostLocalFolder
from tortie.cli.ipam.migrate_text import COMPLETE, NOT_FOUND, Told, summary, tell
from tortie.cli.settings import Settings, open_store
from tortie.cni.install_conflist import ipam_of
from tortie.cni.install_settings import CONF_FOLDER, MOUNTED_CONF_FOLDER, SUFFIXES
from tortie.host.files import read_text
from tortie.host.links import observe
from tortie.ipam.migration import NETWORK, Plan, check_cluster, check_plan, plan_migration
from tortie.ipam.migration_files import Folder, read_folder
from tortie.ipam.migration_pods import Pod, pods_in, users_of
from tortie.ipam.migration_run import Deadline, Watcher, adopt, check_kept, look
from tortie.ipam.migration_tunnel import Tunnel, decide_tunnel
from tortie.model.errors import TortieError, UsageError
from tortie.model.fields import BadField, Duration
from tortie.model.network import HostNetwork
from tortie.node.name import choose_name
from tortie.node.paths import Paths
from tortie.store.contract import Store

_DATA: Final = "/var/lib/cni/networks"
_NODENAME: Final = "/var/lib/calico/nodename"
_LOCK_S: Final = 3.0  # host-local holds it for a moment only; who has it longer will not give it back soon
_LOCK_POLL_S: Final = 0.05
_HEARTBEAT_S: Final = 5.0


class Heartbeat(Watcher):
    """Says every few seconds what is going on, so that a log never just stops."""

    def __init__(self, total_s: float, *, speaks: bool) -> None:
        self._total_s = total_s
        self._speaks = speaks
        self._began = time.monotonic()
        self._doing = ""
        self._last = ""

    def step(self, doing: str) -> None:
        self._doing = doing

    def again(self, error: TortieError) -> None:
        if self._speaks and str(error) != self._last:
            self._last = str(error)
            sys.stderr.write(f"trying again until {self._total_s:g} s are over: {error}\n")
            sys.stderr.flush()

    async def beat(self) -> None:
        while self._speaks:
            await asyncio.sleep(_HEARTBEAT_S)
            passed = time.monotonic() - self._began
            sys.stderr.write(f"still {self._doing}: {passed:.0f} of at most {self._total_s:g} s\n")
            sys.stderr.flush()


def migrate(
    *,
    settings: Settings,
    network: str | None,
    folder: str | None,
    node: str | None,
    pods: str | None,
    timeout: str | None,
    dry_run: bool,
    root: str,
    output: str,
    or_leave: bool = False,
    classic: str | None = None,
) -> int:
    if classic is not None:
        from tortie.cli.ipam.migrate_classic import migrate_classic

        return migrate_classic(classic, settings, Paths(os.path.abspath(root)), node)
    if output not in ("text", "json"):
        raise UsageError(f"unrecognized output format '{output}'", "there is no such form", "use text or json")
    seconds = _seconds(timeout or "60s")
    if network and not re.fullmatch(r"[a-zA-Z0-9][a-zA-Z0-9_.-]*", network):
        raise UsageError(
            f"'{network}' is no network's name", "it has letters, digits, _ . and -", f"--network {NETWORK}"
        )
    paths, network = Paths(os.path.abspath(root)), network or NETWORK
    data = HostLocalFolder(os.path.join(paths.below(folder or _DATA), network))
    try:
        told = _told(settings, paths, network, data, node, pods, seconds, dry_run=dry_run, speaks=output == "text")
    except TortieError as error:
        if not or_leave:
            raise
        told = Told("left", data.path, _left(error, data.path))
    tell(told, output)
    return 0


def _told(
    settings: Settings,
    paths: Paths,
    network: str,
    data: HostLocalFolder,
    node: str | None,
    pods: str | None,
    seconds: float,
    *,
    dry_run: bool,
    speaks: bool,
) -> Told:
    if not data.exists():
        return Told("nothing", data.path, NOT_FOUND)
    if file := _host_local_in_force(paths, network):
        message = (
            f"skipped: {file} is in force and gives addresses of '{network}' by host-local, so its files are in use; "
            "to change over, run `tortie cni install` first, then this, then start the agent"
        )
        return Told("skipped", data.path, message)
    name = _node_name(paths, node)
    listed = _listed_pods(pods, name)

    async def work(store: Store, deadline: Deadline, watcher: Watcher) -> Told:
        job = Job(data, name, network, listed, store, deadline, watcher)
        return await (_rehearse(job) if dry_run else locked(job))

    return asyncio.run(_session(settings, work, seconds, speaks=speaks))


def _left(error: TortieError, path: str) -> str:
    """A node that does not start helps nobody: what cannot be taken over now can be later."""
    why = f": {error.why}" if error.why else ""
    fix = f" First: {error.fix}." if error.fix else ""
    return (
        f"WARNING: host-local's addresses were not taken over, and the node starts without them: {error.what}{why}. "
        f"{path} stays as it is.{fix} Then: tortie ipam migrate"
    )


class Job(NamedTuple):
    data: HostLocalFolder
    node: str
    network: str
    pods: tuple[Pod, ...]
    store: Store
    deadline: Deadline
    watcher: Watcher


async def _session(
    settings: Settings, work: Callable[[Store, Deadline, Watcher], Awaitable[Told]], seconds: float, *, speaks: bool
) -> Told:
    store = open_store(settings, in_loop=True)
    heartbeat = Heartbeat(seconds, speaks=speaks)
    beating = asyncio.create_task(heartbeat.beat())
    try:
        return await work(store, Deadline(seconds), heartbeat)
    finally:
        beating.cancel()
        with suppress(asyncio.CancelledError):
            await beating
        await store.close()


async def locked(job: Job) -> Told:
    job.watcher.step("acquiring lock on host-local IPAM")
    patience = Deadline(min(_LOCK_S, job.deadline.left))
    while not job.data.try_lock():
        if patience.left <= 0:
            raise TortieError(
                f"host-local is at work: the lock {job.data.path}/lock is held",
                f"by {job.data.holder()}, for more than {patience.seconds:g} s",
                "let it end, or end it if it hangs; then run this again: nothing was changed",
            )
        await asyncio.sleep(_LOCK_POLL_S)
    try:
        return await _migrate(job)
    finally:
        job.data.unlock()


async def _migrate(job: Job) -> Told:
    data = job.data
    if not data.is_ours():
        return Told("nothing", data.path, f"{NOT_FOUND} (another run has just moved it)")
    entries = data.entries()
    folder = read_folder(entries)
    if folder.is_empty:
        data.remove_bookkeeping()
        message = f"{data.path} held no address; it was removed, and nothing is left to migrate"
        return Told("nothing", data.path, message)
    plan, tunnel = await _plan(job, folder)
    if plan.adoptions or tunnel.ip:
        await adopt(job.store, job.node, plan, tunnel, job.deadline, job.watcher, lambda: datetime.now(UTC))
        census, _ = await look(job.store, job.node, job.deadline, job.watcher)
        check_kept(plan, census)
    if data.entries() != entries:
        why = "somebody changed it without its lock; all that was there before is in the datastore by now"
        raise TortieError(f"{data.path} changed meanwhile", why, "run this again: it adopts what is new")
    backup = data.move_aside()
    return Told("migrated", data.path, f"{COMPLETE}: {summary(plan)}", plan, tunnel, backup)


async def _rehearse(job: Job) -> Told:
    plan, tunnel = await _plan(job, read_folder(job.data.entries()))
    return Told("planned", job.data.path, "dry run: nothing was changed", plan, tunnel)


async def _plan(job: Job, folder: Folder) -> tuple[Plan, Tunnel]:
    """Refuses before anything is written; what nobody uses needs neither a node nor a pool."""
    census, record = await look(job.store, job.node, job.deadline, job.watcher)
    users = users_of(job.node, census.endpoints, job.pods, _here())
    plan = plan_migration(job.node, job.network, folder, users, census)
    if len(plan.having("stale")) < len(plan.decisions):
        check_cluster(job.node, census)
    check_plan(plan)
    if census.cluster.is_locked:
        return plan, Tunnel(None, "the datastore is locked")
    leased = {decision.lease.ip for decision in plan.decisions if decision.user}
    return plan, decide_tunnel(job.node, record, census, leased)


def _here() -> HostNetwork:
    try:
        return observe()
    except (TortieError, OSError):  # a sandbox without netlink: then the others have to tell who is alive
        return HostNetwork()


def _seconds(text: str) -> float:
    try:
        seconds = Duration.parse(f"{text}s" if text.isdigit() else text).seconds
    except BadField as error:
        raise UsageError(f"'{text}' is no time", f"--timeout {error}", "for example 60s or 2m") from None
    if seconds <= 0:
        raise UsageError(f"'{text}' is no time to wait", "--timeout has to be more than nothing", "for example 60s")
    return seconds


def _node_name(paths: Paths, node: str | None) -> str:
    told = node or os.environ.get("KUBERNETES_NODE_NAME", "").strip()
    if told:
        return told
    import socket

    file = paths.below(os.environ.get("CALICO_NODENAME_FILE") or _NODENAME)
    chosen = choose_name(os.environ, read_text(file), socket.gethostname(), file)
    if chosen.problems:
        raise chosen.problems[0]
    return chosen.name


def _listed_pods(file: str | None, node: str) -> tuple[Pod, ...]:
    if file is None:
        return ()
    import json

    text = sys.stdin.read() if file == "-" else read_text(file)
    if text is None:
        raise UsageError(f"{file} cannot be read", "there is no such file", "check --pods")
    try:
        document: Any = json.loads(text)
    except ValueError as error:
        why = f"it is not JSON: {error}"
        raise UsageError(
            f"{file} cannot be used", why, "make it with: kubectl get pods -A -o json > pods.json"
        ) from None
    return pods_in(document, node, file)


def _host_local_in_force(paths: Paths, network: str) -> str:
    """The configuration that runtimes use, if it is this network's and gives addresses by host-local; else ""."""
    import json

    mounted = paths.below(MOUNTED_CONF_FOLDER)
    folder = mounted if os.path.isdir(mounted) else paths.below(CONF_FOLDER)
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(SUFFIXES))
    except OSError:
        return ""
    for name in names:
        path = os.path.join(folder, name)
        try:
            document = json.loads(read_text(path) or "")
        except (TortieError, ValueError):
            continue  # runtimes pass over it, too
        used = isinstance(document, dict) and document.get("name") == network and "host-local" in ipam_of(document)
        return path if used else ""
    return ""
