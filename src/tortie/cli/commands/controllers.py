"""`tortie controllers ...`: declared here, done in `tortie.cli.controllers`."""

from __future__ import annotations

from typing import Any

from tortie.cli.grammar import Command, Option
from tortie.cli.options import DATASTORE
from tortie.cli.options import output as output_option

ROOT_FOLDER = Option(
    ("--root",),
    "root",
    "Folder below which the files of this instance lie; TORTIE_ROOT.",
    "DIR",
    default="/",
    variable="TORTIE_ROOT",
)
_CLASSIC = Option(
    ("--classic",), "classic", "As kube-controllers of this release of Calico. For the lab only.", "VERSION"
)


def run(**values: Any) -> int:
    if values["once"]:
        from tortie.cli.controllers.once import once

        return once(settings=values["settings"], grace=values["grace"], output=values["output"])
    from tortie.cli.controllers.run import run as run_controllers

    return run_controllers(**{name: value for name, value in values.items() if name != "once"})


def status(**values: Any) -> int:
    from tortie.cli.controllers.status import status as show_status

    return show_status(**values)


def check(**values: Any) -> int:
    values.pop("readiness")  # check-status's own flag; it asks for nothing else
    from tortie.cli.controllers.check import check as check_readiness

    return check_readiness(**values)


COMMAND = Command(
    summary="Clean up after nodes and pods that are gone.",
    description="""Clean up after nodes and pods that are gone: addresses that leaked, endpoints, blocks, handles.

Any number of instances may run; one leads, the others stand by. Settings are those of calico/kube-controllers: its
environment, then the resource KubeControllersConfiguration `default`, which is followed and made if there is none.""",
    commands={
        "run": Command(
            summary="Clean up until SIGTERM; with --once, one time.",
            run=run,
            description="""Clean up until SIGTERM, or one time with --once.

Nothing is released before it has been unused for the whole grace period, except what belongs to nodes that are gone.
With --once there is no earlier look to compare with: say --grace, and it waits that long and looks again.""",
            options=(
                Option(("--once",), "once", "Look and clean up one time, say what was done, and end."),
                Option(
                    ("--grace",),
                    "grace",
                    "How long an address must be unused before it is released: 15m. 0 turns that off.",
                    "TIME",
                ),
                output_option("text", "text", "json"),
                Option(
                    ("--lease",), "lease", "How long a leader may be silent before another takes over.", "TIME", "15s"
                ),
                Option(
                    ("--host",),
                    "host",
                    "Where the page with health and metrics listens; empty: everywhere.",
                    "HOST",
                    "",
                ),
                Option(("--port",), "port", "Its port, 0 for none; else as configured, else 9094.", "PORT"),
                Option(
                    ("--log-format",),
                    "log_format",
                    "calico: Calico's lines; json: one object per line.",
                    "FORMAT",
                    default="calico",
                    choices=("calico", "json"),
                ),
                _CLASSIC,
                ROOT_FOLDER,
                *DATASTORE,
            ),
            examples="""
                tortie controllers run --once
                tortie controllers run --once --grace 1s -o json
            """,
        ),
        "status": Command(
            summary="Show who leads, when it last looked, and with which settings.",
            run=status,
            description="Exit code 0: somebody leads; 3: nobody does, or the leader has not renewed its lease in time.",
            options=(output_option("text", "text", "json"), *DATASTORE),
            examples="""
                tortie controllers status
                tortie controllers status -o json
            """,
        ),
        "check": Command(
            summary="Say whether the instance on this machine is ready; for exec probes.",
            run=check,
            description="Prints `Ready` and ends with 0, or prints the reasons and ends with 3.",
            options=(
                output_option("text", "text", "json"),
                _CLASSIC,
                Option(("-r",), "readiness", "With --classic: as check-status has it.", hidden=True),
                ROOT_FOLDER,
            ),
            examples="""
                tortie controllers check
            """,
        ),
    },
)
