"""`tortie controllers status`: who leads, what it last did, and with which settings."""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime
from typing import Any, NamedTuple

from tortie.cli.session import with_store
from tortie.cli.settings import Settings
from tortie.controllers.config import Config, read_config
from tortie.controllers.keeping import CONFIGURATION
from tortie.controllers.lease import KEY, Record, read_record
from tortie.ipam.census import CLUSTER
from tortie.model.errors import UsageError
from tortie.model.spans import span
from tortie.model.wire import Undecodable, decode
from tortie.store.contract import Entry, Store

_UNHEALTHY = 3


class Found(NamedTuple):
    record: Record | None
    silent_s: float | None  # since the leader last renewed, by both machines' clocks; None: not known
    config: Config
    stored: bool  # whether the resource exists
    locked: bool

    @property
    def is_led(self) -> bool:
        if self.record is None or not self.record.holder:
            return False
        return self.silent_s is None or self.silent_s < 2 * self.record.duration_s


def status(*, settings: Settings, output: str) -> int:
    if output not in ("text", "json"):
        raise UsageError(f"unrecognized output format '{output}'", "there is no such form", "use text or json")

    async def work(store: Store) -> Found:
        snapshot = await store.snapshot((KEY, CONFIGURATION, CLUSTER))
        record = read_record(snapshot.get(KEY))
        spec, cluster = _spec(snapshot.get(CONFIGURATION)), _spec(snapshot.get(CLUSTER)) or {}
        config = read_config(os.environ, spec)
        locked = cluster.get("datastoreReady") is False
        return Found(record, _silent_s(record), config, spec is not None, locked)

    found = with_store(settings, work)
    if output == "json":
        import json

        sys.stdout.write(json.dumps(_document(found), ensure_ascii=False, indent=2) + "\n")
    else:
        sys.stdout.write("".join(f"{name + ':':<16}{value}\n" for name, value in _lines(found)))
    return 0 if found.is_led else _UNHEALTHY


def _spec(entry: Entry | None) -> dict[str, Any] | None:
    if entry is None:
        return None
    try:
        spec = decode(entry.value, entry.key).get("spec")
    except Undecodable:
        return None
    return spec if isinstance(spec, dict) else None


def _silent_s(record: Record | None) -> float | None:
    try:
        renewed = datetime.fromisoformat(record.renewed) if record else None
    except ValueError:
        return None
    return max(0.0, (datetime.now(UTC) - renewed).total_seconds()) if renewed else None


def _lines(found: Found) -> list[tuple[str, str]]:
    record, config = found.record, found.config
    if record is None:
        lines = [("Leader", "nobody: no instance of the controllers runs, or none has begun to lead yet")]
    else:
        lines = [("Leader", record.holder or "not known: the lease cannot be read"), ("Leads since", record.since)]
        silent = f", {span(found.silent_s)} ago" if found.silent_s is not None else ""
        over = "" if found.is_led else f"; its lease of {record.duration_s:g} s is over, so it is probably gone"
        lines.append(("Lease renewed", f"{record.renewed}{silent}{over}"))
        lines.append(("Last scan", str(record.doing.get("lastScan") or "none yet")))
        work = record.doing.get("lastWork")
        if isinstance(work, dict):
            done = ", ".join(f"{count} x {kind}" for kind, count in work.items() if kind != "at")
            lines.append(("Last work", f"{work.get('at', '')}: {done}"))
    grace = span(config.grace_s) if config.grace_s else "0, leaks on nodes that exist are not looked for"
    source = "KubeControllersConfiguration default" if found.stored else "defaults, no KubeControllersConfiguration"
    lines += [("Grace period", grace), ("Scan every", span(config.scan_every_s)), ("Configured by", source)]
    if found.locked:
        lines.append(("Datastore", "locked, nothing is cleaned up"))
    return [(name, value) for name, value in lines if value]


def _document(found: Found) -> dict[str, Any]:
    record = found.record
    leader = None
    if record is not None:
        leader = {
            "holder": record.holder,
            "leaseDurationSeconds": record.duration_s,
            "since": record.since,
            "renewed": record.renewed,
            **record.doing,
        }
    return {
        "led": found.is_led,
        "leader": leader,
        "datastoreLocked": found.locked,
        "leakGracePeriodSeconds": found.config.grace_s,
        "scanEverySeconds": found.config.scan_every_s,
    }
