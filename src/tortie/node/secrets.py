"""Passwords of BGP sessions: files below one folder, as Kubernetes mounts its Secrets: <folder>/<secret>/<key>."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Final

from tortie.bgp.plan import Secret
from tortie.host.files import read_text
from tortie.model.errors import TortieError
from tortie.node.paths import Paths

FOLDER: Final = "/etc/calico/secrets"


def read_secrets(paths: Paths, wanted: Iterable[tuple[str, str]]) -> dict[tuple[str, str], Secret | str]:
    """Each secret, or a text that says why it cannot be read."""
    return {(name, key): _read(paths.below(os.path.join(FOLDER, name, key)), name, key) for name, key in wanted}


def _read(path: str, name: str, key: str) -> Secret | str:
    if not name or "/" in name or "/" in key or name.startswith(".") or key.startswith(".."):
        return f"'{name}/{key}' is no name of a secret"
    try:
        text = read_text(path)
    except TortieError as error:
        return f"{error.what}: {error.why}"
    if text is None:
        return f"there is no {path}"
    return Secret(text.rstrip("\n")) if text.strip() else f"{path} is empty"
