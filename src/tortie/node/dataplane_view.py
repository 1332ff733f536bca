"""What is known about this node's dataplane at one moment, and how it is shown. Pure."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from tortie.dataplane.things import Concern, Desired
from tortie.health.exposition import Metric, Sample

_SHOWN: Final = 5


class DataplaneView(NamedTuple):
    wish: Desired
    nodes: int
    endpoints: int
    changes: int  # since the agent has started
    failures: tuple[Concern, ...] = ()  # of the last attempt
    concerns: tuple[Concern, ...] = ()  # what was asked for and cannot be done
    notes: tuple[str, ...] = ()  # what makes no sense in the datastore
    last: str = ""  # the last change

    @property
    def wrong(self) -> Concern | None:
        return next(iter((*self.failures, *self.concerns)), None)


def as_json(view: DataplaneView) -> dict[str, Any]:
    wish = view.wish
    return {
        "endpoints": view.endpoints,
        "waiting": [f"{name}: {why}" for name, why in list(wish.waiting.items())[:_SHOWN]],
        "tunnels": [
            {"name": device.name, "local": str(device.local), "dev": device.parent, "mtu": device.mtu}
            for device in wish.devices.values()
        ],
        "nodes": view.nodes,
        "routes": len(wish.routes),
        "neighbours": len(wish.neighbours),
        "forwarding_entries": len(wish.forwardings),
        "nat": [f"ipv{table.family}" for table in wish.tables if table.text],
        "pod_mtu": wish.mtu,
        "changes": view.changes,
        "last_change": view.last or None,
        "last_error": view.wrong._asdict() if view.wrong else None,
        "notes": list(view.notes[:_SHOWN]),
    }


def metrics(view: DataplaneView) -> tuple[Metric, ...]:
    """Felix's names where they mean the same."""
    told = (
        ("felix_active_local_endpoints", "Pods of this node.", view.endpoints),
        ("felix_cluster_num_hosts", "Nodes that the dataplane knows.", view.nodes),
        ("felix_route_table_num_routes", "Routes that shall be in the kernel.", len(view.wish.routes)),
        ("tortie_dataplane_failures", "What could not be done the last time.", len(view.failures)),
    )
    gauges = (Metric(name, text, "gauge", (Sample(value),)) for name, text, value in told)
    changes = "What was changed in the kernel since the start."
    return (*gauges, Metric("tortie_dataplane_changes_total", changes, "counter", (Sample(view.changes),)))
