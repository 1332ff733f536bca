"""`tortie version`: ours, the Calico whose data model we write, and the cluster's as its datastore tells it."""

from __future__ import annotations

import sys

from tortie import __version__
from tortie.cli.grammar import Command, Option
from tortie.cli.options import DATASTORE
from tortie.cli.options import output as output_option
from tortie.cli.session import with_resources
from tortie.cli.settings import Settings
from tortie.model.errors import UsageError
from tortie.model.kinds import BY_NAME
from tortie.model.release import DATA_MODEL
from tortie.store.resources import NotFound, Resources


def version(*, settings: Settings, client: bool, output: str) -> int:
    if output not in ("text", "json", "yaml", "yml"):
        raise UsageError(f"unrecognized output format '{output}'", "there is no such form", "use text, yaml or json")
    lines = {"Client Version": f"v{__version__}", "Data Model": DATA_MODEL}
    if output == "text":
        _write(lines)  # at once: it needs no datastore
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
        output_option("text", "text", "yaml", "json"),
        *DATASTORE,
    ),
    examples="""
        tortie version
        tortie version --client -o json
    """,
)
