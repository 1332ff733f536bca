"""A cluster of another release of Calico than the one whose resources we write: told before the first write."""

from __future__ import annotations

import json
import re
import sys
from typing import Final

from tortie.cli.settings import Settings
from tortie.model.errors import TortieError
from tortie.model.kinds import BY_NAME
from tortie.model.release import DATA_MODEL
from tortie.store.resources import Resources

# What is read for that; who reads ahead reads it along.
CLUSTER: Final = (BY_NAME["ClusterInformation"], "default", None)


async def warn_of_other_release(resources: Resources, settings: Settings, output: str) -> None:
    """One more read, before a write only: whoever reads loses nothing, because unknown fields are kept and shown.

    Where the output is JSON, so is the warning, like errors are.
    """
    if settings.any_version:
        return
    try:
        information = await resources.get(*CLUSTER)
    except TortieError:  # a cluster that has none yet, or a datastore of which the write itself will tell
        return
    spec = information.get("spec")
    if text := other_release(str(spec.get("calicoVersion") or "") if isinstance(spec, dict) else ""):
        body = {"apiVersion": "tortie/v1", "kind": "Warning", "what": text}
        sys.stderr.write((json.dumps(body) if output == "json" else f"warning: {text}") + "\n")


def other_release(cluster: str) -> str:
    """What to tell about a cluster's version; nothing for the minor release whose model we write."""
    theirs, ours = _minor(cluster), _minor(DATA_MODEL)
    if theirs is None or theirs == ours:
        return ""
    if ours is not None and theirs > ours:
        effect = "fields that only the newer one has stay as they are, and its new defaults are not set"
    else:
        effect = "it may not know some of their fields"
    return (
        f"the cluster runs Calico {cluster}, and resources are written as Calico {DATA_MODEL} writes them: "
        f"{effect}; --allow-version-mismatch leaves this warning out"
    )


def _minor(version: str) -> tuple[int, int] | None:
    found = re.match(r"v?(\d{1,6})\.(\d{1,6})", version)
    return (int(found[1]), int(found[2])) if found else None
