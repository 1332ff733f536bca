"""The datastore's share of a cluster's bundle: all resources, all records of IPAM, and what our own commands say."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import Final

from tortie.cli.session import with_store
from tortie.cli.settings import Settings
from tortie.model.keys import IPAM, ROOT, parse_resource_key
from tortie.model.kinds import API_VERSION, KINDS
from tortie.model.manifest import to_yaml
from tortie.model.wire import Document, Undecodable
from tortie.store.contract import Entry, Store
from tortie.store.presenting import presented

_TIMEOUT_S: Final = 120.0
_COMMAND_S: Final = 30.0
_KEY: Final = f"{ROOT}ready"

# Words behind `tortie`, and where the answer goes.
COMMANDS: Final = (
    ("cluster/tortie", ("version",)),
    ("cluster/tortie", ("config", "show")),
    ("cluster/nodes", ("get", "nodes", "-o", "wide")),
    ("cluster/calico", ("get", "ippools", "-o", "wide")),
    ("cluster/calico", ("get", "bgppeers", "-o", "wide")),
    ("cluster/calico", ("node", "status", "--cluster")),
    ("cluster/ipam", ("ipam", "show", "--show-blocks")),
    ("cluster/ipam", ("ipam", "show", "--show-configuration")),
    ("cluster/ipam", ("ipam", "check", "--show-problem-ips")),
)


def read_all(settings: Settings) -> tuple[Entry, ...]:
    """Everything at one revision. Who is not there is told soon."""

    async def work(store: Store) -> tuple[Entry, ...]:
        await store.get(_KEY)
        return (await store.scan(ROOT, timeout_s=_TIMEOUT_S)).entries

    return with_store(settings, work)


def files_of(entries: Sequence[Entry]) -> Iterator[tuple[str, str]]:
    """Path and text: a YAML list for each kind, and the records of IPAM and others line by line."""
    by_kind: dict[str, list[Document]] = {}
    lines: dict[str, list[str]] = {}
    for entry in entries:
        key = parse_resource_key(entry.key)
        try:
            if key is None:
                raise Undecodable(entry.key, "no resource")
            by_kind.setdefault(key.kind.name, []).append(presented(key.kind, entry))
        except Undecodable:
            lines.setdefault("ipam" if entry.key.startswith(IPAM) else "others", []).append(_line(entry))
    for kind in KINDS:
        if kind.name in by_kind:
            body = {"apiVersion": API_VERSION, "kind": f"{kind.name}List", "items": by_kind[kind.name]}
            yield f"cluster/datastore/{kind.plural}.yaml", to_yaml(body)
    for name, rows in lines.items():
        yield f"cluster/datastore/{name}.jsonl", "".join(rows)


def _line(entry: Entry) -> str:
    try:
        value: object = json.loads(entry.value)
    except (ValueError, RecursionError):
        value = entry.value.decode(errors="backslashreplace")
    return json.dumps({"key": entry.key, "revision": entry.revision, "value": value}, ensure_ascii=False) + "\n"


def said(words: Sequence[str], flags: Sequence[str]) -> str:
    """What one of our own commands prints; a process of its own, so that it can be waited for and given up."""
    try:
        done = subprocess.run(
            [sys.executable, "-m", "tortie", *words, *flags],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_COMMAND_S,
            check=False,
        )
    except subprocess.TimeoutExpired as late:
        return (late.stdout or b"").decode(errors="replace") + f"^C (no answer within {_COMMAND_S:.0f} s)\n"
    return done.stdout.decode(errors="replace")
