"""The standard plugins on their way into the folders of an installation: looked for, asked, compared, taken back."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from tortie.cli.cni.placing import present
from tortie.cni.config import VERSIONS
from tortie.cni.install import Step
from tortie.cni.install_carried import CARRIED, RECORD, Source, brought, carry, read_record
from tortie.host.files import read_text
from tortie.model.errors import TortieError

_LONGEST: Final = 256 << 20  # of a plugin
_ASK_S: Final = 10.0


def sources_in(folders: Sequence[str], loopback: bytes) -> dict[str, Source]:
    """The first of each name; `loopback` at least our own."""
    found = {}
    for name in CARRIED:
        for folder in folders:
            path = os.path.join(folder, name)
            if os.path.isfile(path) and os.access(path, os.X_OK) and (file := present(path, _LONGEST)):
                found[name] = Source(file.content, f"copy of {path}")
                break
    return {"loopback": Source(loopback, "Tortie's own"), **found}


def carried_to(folder: str, sources: Mapping[str, Source], skipped: Collection[str], *, update: bool) -> list[Step]:
    """Where the machine's plugins are looked for anyway there is nothing to bring."""
    usable = {name: source for name, source in sources.items() if source.origin != f"copy of {folder}/{name}"}
    there = {name: file for name in CARRIED if (file := present(os.path.join(folder, name), _LONGEST))}
    return carry(folder, usable, there, _record(folder), skipped=skipped, update=update)


def taken_back(folder: str) -> list[Step]:
    """What an installation brought, and what is written down about it."""
    record = _record(folder)
    steps = []
    for name in CARRIED:
        path = os.path.join(folder, name)
        file = present(path, _LONGEST)
        if file is None:
            continue
        if brought(name, file, record):
            steps.append(Step("remove", path, "plugin"))
        elif name in record:
            steps.append(Step("skip", path, "plugin", "it is another one since it was copied here"))
    path = os.path.join(folder, RECORD)
    return [*steps, Step("remove", path, "record")] if os.path.exists(path) else steps


def _record(folder: str) -> dict[str, str]:
    try:
        return read_record(read_text(os.path.join(folder, RECORD)))
    except TortieError:
        return {}


def versions_of(programs: Sequence[str]) -> tuple[str, ...]:
    """Those of the specification that all of the plugins speak, and we."""
    spoken = [_versions(program) for program in programs]
    return tuple(version for version in VERSIONS if all(version in each for each in spoken))


def _versions(program: str) -> Collection[str]:
    """As it says itself. One that does not say is taken for one of 1.0.0, as most of them are."""
    import json
    import subprocess

    try:
        done = subprocess.run(
            [program],
            input=b'{"cniVersion":"0.3.1","name":"ask","type":"ask"}',
            env={"CNI_COMMAND": "VERSION", "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"},
            capture_output=True,
            timeout=_ASK_S,
            check=False,
        )
        told = json.loads(done.stdout)["supportedVersions"]
        if isinstance(told, list) and told:
            return [str(version) for version in told]
    except (OSError, subprocess.TimeoutExpired, ValueError, LookupError, TypeError):
        pass
    return VERSIONS[: VERSIONS.index("1.0.0") + 1]
