"""`tortie node run`: the health port first, then everything else."""

from __future__ import annotations

import os
import signal
import sys
import time
from typing import TYPE_CHECKING, Any

from tortie.cli.node.run_flags import refuse_meaningless
from tortie.health.health import Health
from tortie.health.page import serve
from tortie.health.routes import health_routes
from tortie.host.memory import expect_a_long_life
from tortie.model.errors import TortieError, UsageError

if TYPE_CHECKING:
    from tortie.cli.node.sources import Sources
    from tortie.health.page import Page


def run(*, env_file: str | None, log_format: str, root: str, classic: str | None = None, **flags: Any) -> int:
    refuse_meaningless(flags)
    if flags.get("dryrun"):
        from tortie.cli.node.dryrun import dryrun

        return dryrun(env_file=env_file, root=root, flags=flags)
    expect_a_long_life()
    if classic is not None:
        from tortie.cli.node.classic import run_classic

        return run_classic(classic, env_file=env_file, log_format=log_format, root=root, flags=flags)
    if log_format not in ("calico", "json"):
        raise UsageError(f"unknown log format '{log_format}'", "there is no such form", "use calico or json")
    page: Page | None = None
    health = Health(time.monotonic)
    try:
        _listen_for_signals()
        page = _open_page(health, env_file, root, flags)
        health.begin("settings", 30.0, "reading the settings")
        from tortie.cli.node.sources import Sources

        return _run(health, Sources(env_file, root, flags), log_format, page)
    except Stopped:
        _record_stop(health, root)
        return 0
    finally:
        _ignore_signals()  # what is left to do takes a moment, and is done in any case
        if page:
            page.close()


class Stopped(BaseException):
    """SIGTERM or SIGINT before the agent listens for them itself."""


# Python drops an exception that is raised in a callback of the import system, and prints it; what was said must not be
# lost with it, and is nobody's trouble.
_told_to_stop: list[int] = []


def _listen_for_signals() -> None:
    """From the first moment: a start that is stopped early ends as orderly as a late one."""

    def stop(number: int, _frame: object) -> None:
        _told_to_stop.append(number)
        raise Stopped

    def tell_dropped(dropped: sys.UnraisableHookArgs) -> None:
        if dropped.exc_type is not Stopped:
            sys.__unraisablehook__(dropped)

    sys.unraisablehook = tell_dropped
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # the settings are about to be read anyway


def _record_stop(health: Health, root: str) -> None:
    """Every start leaves a record, also one that was over before it knew its name."""
    from tortie.node.paths import Paths
    from tortie.node.record import Recorder
    from tortie.node.timeline import STOPPED, Timeline

    _ignore_signals()
    recorder = Recorder(Timeline(Paths(root).starts), health, lambda _: None)
    recorder.open(lambda _: None)
    recorder.finish(STOPPED)


def _ignore_signals() -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


def _open_page(health: Health, env_file: str | None, root: str, flags: dict[str, Any]) -> Page | None:
    """Before anything is read that could be slow. Only files that flags name may have another port: they are read."""
    from tortie.node.settings.early import early_endpoints

    environment: Any = os.environ
    if env_file or flags.get("felix_config"):
        from tortie.cli.node.sources import Sources

        environment = Sources(env_file, root, flags).environment()
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

    reading, datastore = sources.checked()
    assembly = Assembly(health, sources, reading, datastore, log_format, page, lambda: bool(_told_to_stop))
    agent = assembly.run()
    try:
        return asyncio.run(agent)
    except Stopped:
        agent.close()  # it may not have begun; Python would complain of that
        assembly.stop()
        return 0
    except TortieError:
        assembly.refuse()
        raise
    finally:
        assembly.close()
        sys.stdout.flush()
