"""`tortie node ...`: declared here, done in `tortie.cli.node`; a probe must not pay for what the agent needs."""

from __future__ import annotations

from typing import Any

from tortie.cli.grammar import Argument, Command, Option
from tortie.cli.node.run_flags import RUN_FLAGS
from tortie.cli.options import DATASTORE
from tortie.cli.options import output as output_option

# Read by the command itself: the health port is opened before anything is read, and --env-file may say more.
WHERE = tuple(option._replace(name="config_file") if option.name == "config" else option for option in DATASTORE)
ROOT_FOLDER = Option(
    ("--root",),
    "root",
    "Folder below which all files of the node lie; TORTIE_ROOT.",
    "DIR",
    default="/",
    variable="TORTIE_ROOT",
)
ENV_FILE = Option(
    ("--env-file",), "env_file", "KEY=VALUE lines that win over the environment; read again on SIGHUP.", "FILE"
)
CLASSIC_CHECKS = ("felix_live", "bird_live", "bird6_live", "felix_ready", "bird_ready", "bird6_ready")


def _classic_check(name: str) -> Option:
    """Spelled with one dash, as there, or with two."""
    word = name.replace("_", "-")
    return Option((f"--{word}", f"-{word}"), name, "With --classic.", hidden=True)


def run(**values: Any) -> int:
    from tortie.cli.node.run import run as run_agent

    return run_agent(**values)


def explain(**values: Any) -> int:
    from tortie.cli.node.explain import explain as explain_start

    return explain_start(**values)


def timeline(**values: Any) -> int:
    from tortie.cli.node.timeline import timeline as show_timeline

    return show_timeline(**values)


def status(**values: Any) -> int:
    from tortie.cli.node.status import status as show_status

    return show_status(**values)


def check(**values: Any) -> int:
    parts = {name: values.pop(name) for name in CLASSIC_CHECKS}
    classic, threshold = values.pop("classic"), values.pop("threshold")
    if classic is not None or any(parts.values()):
        from tortie.cli.node.classic_check import check_classic

        return check_classic(classic, [name for name, wanted in parts.items() if wanted], threshold)
    from tortie.cli.node.check import check as check_health

    return check_health(**values)


def checksystem(**values: Any) -> int:
    from tortie.cli.node.checksystem import checksystem as check_machine

    return check_machine(**values)


def diags(**values: Any) -> int:
    from tortie.cli.node.diags import diags as collect_diags

    return collect_diags(**values)


def entrypoints(**values: Any) -> int:
    from tortie.cli.node.entrypoints import entrypoints as make_links

    return make_links(**values)


COMMAND = Command(
    summary="Run this machine's node, and see why it does what it does.",
    description=(
        "The node of this machine: the agent itself, what it would decide and why, how its last start went, and "
        "whether it is well. Settings are those of calico/node's environment."
    ),
    commands={
        "explain": Command(
            summary="Show every decision of a start here and now, with reasons; write nothing.",
            run=explain,
            options=(
                output_option("text", "text", "json"),
                Option(("--calico",), "calico", "Show also what Calico of this version would choose.", "VERSION"),
                ENV_FILE,
                ROOT_FOLDER,
                *WHERE,
            ),
            examples="""
                tortie node explain
                IP_AUTODETECTION_METHOD=interface=eth.* tortie node explain -o json
                tortie node explain --calico v3.24.2      its first-found, on this machine
            """,
        ),
        "run": Command(
            summary="Run the agent: start, register, stay.",
            run=run,
            description=(
                "Starts the node, registers it and keeps it right until SIGTERM. The health port answers from the "
                "first moment: curl -s '127.0.0.1:9099/readiness?verbose'. The log goes to standard output. SIGHUP "
                "reads the settings again."
            ),
            options=(
                ENV_FILE,
                Option(
                    ("--log-format",),
                    "log_format",
                    "calico: Calico's lines; json: one object per line.",
                    "FORMAT",
                    default="calico",
                    choices=("calico", "json"),
                ),
                Option(
                    ("--classic",),
                    "classic",
                    "Start the way this release of Calico does, with its faults: 2.6, 3.9, 3.20, 3.28. For the lab and "
                    "the doctor's tests only.",
                    "VERSION",
                ),
                ROOT_FOLDER,
                *RUN_FLAGS,
                *WHERE,
            ),
            examples="""
                tortie node run
                tortie node run --name n1 --ip autodetect --backend none
                tortie node run --ip 10.0.0.1 --dryrun --init-system
                NODENAME=n1 IP=10.0.0.1 tortie node run --etcd-endpoints http://10.0.0.9:2379
                tortie node run --env-file /etc/calico/calico.env --log-format json
            """,
        ),
        "status": Command(
            summary="Show whether the node runs and how its BGP sessions stand; of all nodes with --cluster.",
            run=status,
            description=(
                "Asks this node's BIRD over its control socket, which needs no root where the socket allows it, and "
                "the agent for the reasons. With --cluster it reads what all nodes report in the datastore, and shows "
                "who sees whom. Exit code 0: all is established; 3: not all; 1: the node does not run, or BIRD or the "
                "datastore cannot be asked."
            ),
            options=(
                output_option("text", "text", "json"),
                Option(("--cluster",), "cluster", "The matrix of who sees whom, from the datastore."),
                Option(
                    ("-a", "--all"), "everything", "With --cluster: all rows, also of a large cluster that is well."
                ),
                ROOT_FOLDER,
                *WHERE,
            ),
            examples="""
                tortie node status
                tortie node status -o json
                tortie node status --cluster         which node is the odd one
            """,
        ),
        "timeline": Command(
            summary="Show the phases of the last start against the probe's window.",
            run=timeline,
            options=(
                output_option("text", "text", "json"),
                Option(("-a", "--all"), "everything", "All recorded starts, one line each."),
                Option(
                    ("--probe",),
                    "probe",
                    "Liveness probe: initialDelaySeconds,periodSeconds,failureThreshold.",
                    "D,P,F",
                    default="10,10,6",
                ),
                ROOT_FOLDER,
            ),
            examples="""
                tortie node timeline
                tortie node timeline --probe 5,10,6 -o json
            """,
        ),
        "check": Command(
            summary="Ask the agent whether it is live and ready; for exec probes.",
            run=check,
            options=(
                Option(("--live",), "live", "Ask for liveness."),
                Option(("--ready",), "ready", "Ask for readiness."),
                Option(("--host",), "host", "Where the health page is; FELIX_HEALTHHOST, else localhost.", "HOST"),
                Option(("--port",), "port", "Its port; FELIX_HEALTHPORT, else 9099.", "PORT"),
                Option(("--timeout",), "timeout", "How long to wait for the answer: 5s, 800ms.", "TIME"),
                output_option("text", "text", "json"),
                Option(
                    ("--classic",), "classic", "Check as calico-node of this release does; for the lab only.", "VERSION"
                ),
                *map(_classic_check, CLASSIC_CHECKS),
                Option(
                    ("--threshold-time",), "threshold", "With --classic: how long a node is young.", "TIME", hidden=True
                ),
            ),
            examples="""
                tortie node check                both
                tortie node check --live         for a livenessProbe
            """,
        ),
        "diags": Command(
            summary="Collect what this machine says about its node into an archive that doctor reads.",
            run=diags,
            description=(
                "What `tortie doctor collect` asks, and beyond it whole routing tables, firewall rules, sockets, "
                "Calico's containers and the logs of --log-dir, each in its own file of a tar.gz in the system's "
                "folder for temporary files. Nothing is changed; secrets are masked. Run it as root."
            ),
            options=(
                Option(("--log-dir",), "log_dir", "The folder of Calico's logs.", "DIR", default="/var/log/calico"),
                ROOT_FOLDER,
            ),
            examples="""
                tortie node diags                        then: tortie doctor ARCHIVE
                tortie node diags --log-dir /srv/log/calico
            """,
        ),
        "checksystem": Command(
            summary="Check this machine before a start: kernel, ports, swap, clock, folders, BIRD.",
            run=checksystem,
            options=(
                output_option("text", "text", "json"),
                Option(
                    ("-f", "--kernel-config"),
                    "kernel_config",
                    "Judge the kernel by this configuration, plain or gzip, instead of trying the running one.",
                    "FILE",
                ),
                ENV_FILE,
                ROOT_FOLDER,
            ),
            examples="""
                tortie node checksystem
                tortie node checksystem -f /proc/config.gz       or of a kernel yet to boot
                tortie node checksystem -o json
            """,
        ),
        "entrypoints": Command(
            summary="Link the names by which manifests and scripts of Calico call its programs.",
            description=(
                "Makes links to this command where the images of Calico have their programs: calico-node, which is "
                "all without a NAME; start_runit, calico-ipam, install, install-cni.sh. Called by such a name it takes "
                "that program's flags and has its exit codes, 0 and 1. A file that is there and no link of ours stays, "
                "and nothing is done then. --all is for images: on a machine /opt/cni/bin is the folder of CNI plugins."
            ),
            arguments=(Argument("names", "NAME", required=False, repeated=True),),
            run=entrypoints,
            options=(
                Option(("-a", "--all"), "everything", "All of them, as in an image."),
                Option(("--remove",), "remove", "Take links of ours away again."),
                Option(("--dry-run",), "dry_run", "Only show what would be done."),
                output_option("text", "text", "json"),
                ROOT_FOLDER,
            ),
            examples="""
                tortie node entrypoints calico-node --dry-run
                tortie node entrypoints --all --root image --dry-run
            """,
        ),
    },
)
