"""`tortie version`: ours, the Calico whose data model we write, and the cluster's as its datastore tells it."""

from __future__ import annotations

import sys
from typing import NoReturn

from tortie import __version__
from tortie.cli.grammar import Command, Option
from tortie.cli.options import DATASTORE
from tortie.cli.options import output as output_option
from tortie.cli.report import as_text
from tortie.cli.session import with_resources
from tortie.cli.settings import Settings
from tortie.model.errors import TortieError, UsageError
from tortie.model.kinds import BY_NAME
from tortie.model.release import DATA_MODEL
from tortie.store.resources import NotFound, Resources


def version(*, settings: Settings, client: bool, poll: str | None, output: str) -> int:
    if output not in ("text", "json", "yaml", "yml"):
        raise UsageError(f"unrecognized output format '{output}'", "there is no such form", "use text, yaml or json")
    pause_s = _pause(poll, output)
    lines = {"Client Version": f"v{__version__}", "Data Model": DATA_MODEL}
    if output == "text":
        _write(lines)  # at once: it needs no datastore
        if pause_s and not client:
            sys.stdout.flush()
            _follow(settings, pause_s)
        _write({} if client else with_resources(settings, _cluster))
        return 0
    if not client:
        lines |= with_resources(settings, _cluster)
    body = {name[0].lower() + name[1:].replace(" ", ""): value for name, value in lines.items()}
    if output == "json":
        from tortie.model.wire import to_json

        sys.stdout.write(to_json(body) + "\n")
    else:
        from tortie.model.manifest import to_yaml

        sys.stdout.write(to_yaml(body))
    return 0


def _pause(poll: str | None, output: str) -> float:
    if poll is None:
        return 0.0
    from tortie.model.fields import BadField, Duration

    try:
        seconds = Duration.parse(poll).seconds
    except BadField as error:
        raise UsageError(f"invalid poll duration specified: {poll}", str(error), error.right) from None
    if seconds < 0:
        raise UsageError(f"invalid poll duration specified: {poll}", "it lies in the past", "for example --poll 10s")
    if seconds and output != "text":
        raise UsageError(f"--poll cannot be combined with -o {output}", "it never ends", "leave one of the two out")
    return seconds


def _follow(settings: Settings, pause_s: float) -> NoReturn:
    """What has changed since it was last shown, until somebody ends it; while it cannot be read, why not."""
    import time

    shown: dict[str, str] = {}
    while True:
        try:
            found = with_resources(settings, _cluster)
        except TortieError as error:
            found = {}
            sys.stderr.write(as_text(error) + "\n")
        _write({name: text for name, text in found.items() if shown.get(name) != text})
        sys.stdout.flush()
        shown = found
        time.sleep(pause_s)


def _write(lines: dict[str, str]) -> None:
    sys.stdout.write("".join(f"{name + ':':<19}{value}\n" for name, value in lines.items()))


async def _cluster(resources: Resources) -> dict[str, str]:
    try:
        information = await resources.get(BY_NAME["ClusterInformation"], "default")
    except NotFound:
        return {"Cluster Version": "unknown", "Cluster Type": "unknown"}
    spec = information.get("spec") or {}
    return {
        "Cluster Version": str(spec.get("calicoVersion") or "unknown"),
        "Cluster Type": str(spec.get("clusterType") or "unknown"),
    }


COMMAND = Command(
    summary="Show the version of this command and of the cluster.",
    run=version,
    options=(
        Option(("--client",), "client", "Only this command's version; no datastore is asked."),
        Option(("--poll",), "poll", "Ask the cluster again and again, and show what has changed.", "TIME"),
        output_option("text", "text", "yaml", "json"),
        *DATASTORE,
    ),
    examples="""
        tortie version
        tortie version --client -o json
        tortie version --poll 10s
    """,
)
