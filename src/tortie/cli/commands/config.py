"""`tortie config show`: which settings are in force, and where each comes from."""

from __future__ import annotations

import sys

from tortie.cli.grammar import Command
from tortie.cli.options import DATASTORE
from tortie.cli.options import output as output_option
from tortie.cli.settings import SETTINGS, Settings
from tortie.cli.tables import table
from tortie.model.errors import UsageError


def show(*, settings: Settings, output: str) -> int:
    shown = [
        {
            "setting": setting.name,
            "value": "(hidden)" if setting.secret else _one_line(_without_password(settings.get(setting.name))),
            "source": settings.source(setting.name) + ("" if setting.used else "; not used by this version"),
        }
        for setting in SETTINGS
        if setting.name in settings.values
    ]
    if output in ("ps", "wide"):
        sys.stdout.write(table(("SETTING", "VALUE", "SOURCE"), [tuple(row.values()) for row in shown]))
    elif output == "json":
        from tortie.model.wire import to_json

        sys.stdout.write(to_json({"settings": shown}) + "\n")
    elif output in ("yaml", "yml"):
        from tortie.model.manifest import to_yaml

        sys.stdout.write(to_yaml({"settings": shown}))
    else:
        raise UsageError(f"unrecognized output format '{output}'", "there is no such form", "use ps, yaml or json")
    return 0


def _without_password(text: str) -> str:
    """Endpoints are URLs, and a URL may carry one."""
    import re

    return re.sub(r"(?<=://)[^/@,]*@", "(hidden)@", text)


def _one_line(text: str) -> str:
    first, _, rest = text.partition("\n")
    return f"{first} …" if rest else first


COMMAND = Command(
    summary="Show which datastore is used, and who says so.",
    commands={
        "show": Command(
            summary="Print each setting, its value and its source.",
            description="""Print each setting, its value and its source: flag, environment variable, file or default.

Flags win over the environment, the environment over the file. Secrets are not shown.""",
            run=show,
            options=(output_option("ps", "ps", "yaml", "json"), *DATASTORE),
            examples="""
                tortie config show
                tortie config show -o json --etcd-endpoints http://10.0.0.1:2379
            """,
        )
    },
)
