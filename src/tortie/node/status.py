"""What the agent tells over its own socket: how this node is, in one JSON document, beside the answers to probes."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from typing import Any

from tortie.health.health import Health
from tortie.health.message import JSON, Response
from tortie.health.metrics import NodeAddress
from tortie.health.routes import Routes, health_routes
from tortie.node.mesh import Mesh
from tortie.node.mesh_view import as_json


def status_routes(
    name: str,
    health: Health,
    addresses: Callable[[], Sequence[NodeAddress]],
    mesh: Callable[[], Mesh | None],
    dataplane: Callable[[], dict[str, Any] | None],
) -> Routes:
    """Called in the page's thread; it reads values that never change."""

    def status() -> dict[str, Any]:
        report = health.report()
        routing = mesh()
        view = routing.view if routing else None
        return {
            "node": name,
            "pid": os.getpid(),
            "addresses": [each.address for each in addresses()],
            "phase": report.phase,
            "doing": report.doing,
            "live": report.live,
            "ready": report.ready,
            "age_s": round(health.age_s(), 3),
            "not_ready": [
                {"name": cause.name, **cause.trouble._asdict(), "since_s": round(cause.since_s, 3)}
                for cause in report.not_ready
            ],
            "last_error": report.last.trouble.what if report.last else None,
            "routing": routing is not None,
            "bgp": as_json(view) if view else None,
            "dataplane": dataplane(),
        }

    return {**health_routes(health), "/status": lambda _: Response(200, json.dumps(status()) + "\n", JSON)}
