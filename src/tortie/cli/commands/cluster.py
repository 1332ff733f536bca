"""`tortie cluster ...`: declared here, done in `tortie.cli.cluster`."""

from __future__ import annotations

from typing import Any

from tortie.cli.commands.node import WHERE
from tortie.cli.grammar import Command, Option


def diags(**values: Any) -> int:
    from tortie.cli.cluster.diags import diags as collect_diags

    return collect_diags(**values)


COMMAND = Command(
    summary="Collect what the whole cluster says.",
    commands={
        "diags": Command(
            summary="Collect resources, IPAM, pods, logs and events into an archive that doctor reads.",
            run=diags,
            description=(
                "Everything that is in Calico's datastore; and by kubectl what Kubernetes knows: nodes, pods, events, "
                "configuration, the logs of Calico's pods, and what each node says of its network. Without kubectl, or "
                "without the datastore, the bundle holds the rest and says what is missing. Every question has a "
                "deadline. Nothing is changed; Secrets are not asked for, and what looks like one is masked.\n\n"
                "Of each component of Calico's the logs of a few pods are taken: first those on --focus-nodes, then "
                "those that are not well."
            ),
            options=(
                Option(("--since",), "since", "Only logs newer than this: 30s, 5m, 2h.", "TIME"),
                Option(("--max-logs",), "max_logs", "Logs of each component of Calico's.", "N", default="5"),
                Option(("--max-parallelism",), "max_parallelism", "Questions at a time.", "N", default="10"),
                Option(("--focus-nodes",), "focus_nodes", "Nodes whose logs come first.", "NODE,..."),
                Option(("--skip-temp-dir-cleanup",), "skip_temp_dir_cleanup", "Leave the folder beside the archive."),
                Option(("--context",), "kube_context", "The cluster of the kubeconfig that kubectl asks.", "NAME"),
                *(option for option in WHERE if "--context" not in option.flags),
            ),
            examples="""
                tortie cluster diags                     then: tortie doctor ARCHIVE
                tortie cluster diags --since 1h --focus-nodes node-3,node-7
            """,
        ),
    },
)
