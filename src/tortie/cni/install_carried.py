"""The standard plugins that Calico's image brings along: what becomes of each of them, in one folder. Pure.

They are copies of what the machine has elsewhere. What somebody else put into the folder is never replaced, whatever
its age: it may be newer, and nobody could bring it back. So what was brought is written down beside it, by its digest.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from typing import Final, NamedTuple

from tortie.cni.install import MODES, Present, Step, Wanted, judged

# `loopback` is called by containerd 1.x for every pod; the others are what manifests and people chain.
CARRIED: Final = ("loopback", "host-local", "portmap", "bandwidth", "tuning")
RECORD: Final = ".tortie-cni.json"
OURS: Final = b"TORTIE-CNI"  # in every program of our own
_NOTE: Final = "what `tortie cni install` copied here, by SHA-256; `tortie cni uninstall` takes back just that"


class Source(NamedTuple):
    """A plugin that can be brought; `origin`: where it is from, as it is told."""

    content: bytes
    origin: str

    def __repr__(self) -> str:
        return f"Source({len(self.content)} bytes, {self.origin})"


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def read_record(text: str | None) -> dict[str, str]:
    """Names and digests. A record that makes no sense is none: then nothing there is known to be ours."""
    try:
        plugins = json.loads(text or "{}")["plugins"]
        return {name: str(value) for name, value in plugins.items() if name in CARRIED}
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return {}


def brought(name: str, present: Present, record: Mapping[str, str]) -> bool:
    """Whether what lies there is what an installation of ours put there."""
    return OURS in present.content or record.get(name) == digest(present.content)


def carry(
    folder: str,
    sources: Mapping[str, Source],
    present: Mapping[str, Present],
    record: Mapping[str, str],
    *,
    skipped: Collection[str] = (),
    update: bool = True,
) -> list[Step]:
    """`sources`, `present` and `record`: by name. The record comes first: of what it names and is not there, or is
    another, nobody takes anything away.
    """
    steps = []
    after = {name: known for name, known in record.items() if name in present and brought(name, present[name], record)}
    for name in CARRIED:
        if name not in sources:
            continue
        source = sources[name]
        path = f"{folder}/{name}"
        there = present.get(name)
        if there is not None and not brought(name, there, record) and name not in skipped:
            steps.append(Step("keep", path, "plugin", "it is not from Tortie, and stays"))
            continue
        wanted = Wanted(path, "plugin", source.content, MODES["plugin"], source.origin)
        step = judged(wanted, there, skipped, update=update)
        steps.append(step)
        if step.wanted and OURS not in source.content:
            after[name] = digest(source.content)
        elif step.wanted:
            after.pop(name, None)
    return [*_record_step(folder, after, record), *steps]


def _record_step(folder: str, after: Mapping[str, str], before: Mapping[str, str]) -> list[Step]:
    path = f"{folder}/{RECORD}"
    if after == before:
        return []
    if not after:
        return [Step("remove", path, "record", "nothing that it names is there")]
    ordered = {"note": _NOTE, "plugins": dict(sorted(after.items()))}
    text = json.dumps(ordered, indent=2) + "\n"
    wanted = Wanted(path, "record", text.encode(), MODES["record"])
    return [Step("replace" if before else "create", path, "record", "", wanted)]
