"""A CNI configuration of Debian's own plugins for the nodes of a lab: what a runtime does, without any of ours."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.lab import Lab

PROGRAMS = Path("/usr/lib/cni")


def plain_network(lab: Lab, *more: dict[str, Any], version: str = "1.0.0") -> None:
    """Every node of a lab that is up gives its pods addresses of its own block, through `ptp` and `host-local`."""
    if not (PROGRAMS / "ptp").exists():
        pytest.fail("this test needs Debian's plugins: apt-get install containernetworking-plugins")
    record = json.loads((lab.folder / "lab.json").read_text())
    for machine in record["plan"]["machines"]:
        if machine["role"] != "node":
            continue
        root = lab.folder / "nodes" / machine["name"]
        ipam = {
            "type": "host-local",
            "dataDir": str(root / "var/lib/host-local"),
            "ranges": [[{"subnet": block}] for block in machine["blocks"]],
            "routes": [{"dst": "0.0.0.0/0" if "." in block else "::/0"} for block in machine["blocks"]],
        }
        folder = root / "etc/cni/net.d"
        folder.mkdir(parents=True, exist_ok=True)
        plugins = [{"type": "ptp", "ipam": ipam}, *more]
        (folder / "05-plain.conflist").write_text(
            json.dumps({"cniVersion": version, "name": "plain", "plugins": plugins})
        )


def held_addresses(lab: Lab, node: str) -> list[str]:
    """Which `host-local` has given out there."""
    folder = lab.folder / "nodes" / node / "var/lib/host-local/plain"
    return sorted(path.name for path in folder.glob("*") if path.name[0].isdigit() or ":" in path.name)
