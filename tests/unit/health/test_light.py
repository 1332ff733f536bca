"""How little the probe and the page load: the page answers before anything large is imported."""

from __future__ import annotations

import json
import subprocess
import sys

HEAVY = {
    "asyncio",
    "msgspec",
    "yaml",
    "ssl",
    "http",
    "json",
    "ipaddress",
    "dataclasses",
    "inspect",
    "logging",
    "socket",
    "selectors",
    "threading",
    "subprocess",
}


def loaded_by(script: str) -> set[str]:
    script += "\nimport sys; names = sorted(sys.modules); import json; print(json.dumps(names), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=60, check=True)
    return set(json.loads(done.stderr))


def test_a_probe_loads_hardly_more_than_the_interpreter() -> None:
    check = "from tortie.cli.node.check import check"
    loaded = loaded_by(f"{check}\ncheck(live=True, ready=True, host='localhost', port='1', timeout='5s')")
    assert loaded & (HEAVY | {"typing", "re", "enum", "collections"}) == set()
    ours = {name for name in loaded - loaded_by("") if not name.startswith("tortie")}
    assert ours <= {"__future__", "_socket"}


def test_the_page_answers_before_anything_large_is_loaded() -> None:
    loaded = loaded_by("""
import time
from tortie.health.health import Health
from tortie.health.page import serve
from tortie.health.probe import ask
from tortie.health.routes import health_routes
page = serve("localhost", 0, health_routes(Health(time.monotonic)))
assert ask("localhost", page.addresses[0][1], "/liveness", 10).status == 200
page.close()
""")
    assert loaded & HEAVY == set()


def test_what_the_agent_needs_beside_the_page_is_light_too() -> None:
    assert loaded_by("import tortie.host.systemd, tortie.host.child") & HEAVY == set()
