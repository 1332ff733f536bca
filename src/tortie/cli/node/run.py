"""`tortie node run`: the health port first, then everything else."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING, Any

from tortie.health.health import Health
from tortie.health.page import serve
from tortie.health.routes import health_routes
from tortie.model.errors import TortieError, UsageError

if TYPE_CHECKING:
    from tortie.cli.node.sources import Sources
    from tortie.health.page import Page


def run(*, env_file: str | None, log_format: str, root: str, **flags: Any) -> int:
    if log_format not in ("calico", "json"):
        raise UsageError(f"unknown log format '{log_format}'", "there is no such form", "use calico or json")
    health = Health(time.monotonic)
    page = _open_page(health, env_file)
    health.begin("settings", 30.0, "reading the settings")
    from tortie.cli.node.sources import Sources

    try:
        return _run(health, Sources(env_file, root, flags), log_format, page)
    finally:
        if page:
            page.close()


def _open_page(health: Health, env_file: str | None) -> Page | None:
    """Before anything is read that could be slow. Only --env-file may name another port, so it is looked at here."""
    from tortie.node.settings.early import early_endpoints

    environment: Any = os.environ
    if env_file:
        from tortie.node.settings import load_env_file

        environment = load_env_file(env_file).over(os.environ)
    enabled, host, port = early_endpoints(environment)
    if not enabled:
        return None
    return serve(host, port, health_routes(health), who_holds=_holder)


def _holder(port: int) -> str:
    from tortie.host.ports import describe_holder

    return describe_holder(port)


def _run(health: Health, sources: Sources, log_format: str, page: Page | None) -> int:
    import asyncio

    from tortie.cli.node.assembly import Assembly
    from tortie.node.settings import refusal

    reading = sources.reading()
    if error := refusal(reading):
        raise error
    assembly = Assembly(health, sources, reading, log_format, page)
    try:
        return asyncio.run(assembly.run())
    except TortieError:
        assembly.refuse()
        raise
    finally:
        assembly.close()
        sys.stdout.flush()
