"""`tortie ipam ...`: declared here, done in `tortie.cli.ipam`."""

from __future__ import annotations

from typing import Any

from tortie.cli.grammar import Argument, Command, Option
from tortie.cli.options import DATASTORE
from tortie.cli.options import output as output_option

_TEXT = output_option("text", "text", "json")
_TABLE = output_option("ps", "ps", "json")
_FORCE = Option(("--force",), "force", "Do it although the check of the circumstances says no.")


def show(**values: Any) -> int:
    from tortie.cli.ipam.show import show as show_figures

    return show_figures(**values)


def show_blocks(**values: Any) -> int:
    return show(ip=None, show_blocks=True, show_borrowed=False, show_configuration=False, **values)


def show_ip(**values: Any) -> int:
    return show(show_blocks=False, show_borrowed=False, show_configuration=False, **values)


def check(**values: Any) -> int:
    from tortie.cli.ipam.check import check as check_records

    return check_records(**values)


def release(**values: Any) -> int:
    from tortie.cli.ipam.release import release as release_addresses

    return release_addresses(**values)


def repair(**values: Any) -> int:
    from tortie.cli.ipam.release import repair as repair_records

    return repair_records(**values)


def configure(**values: Any) -> int:
    from tortie.cli.ipam.configure import configure as configure_ipam

    return configure_ipam(**values)


def split(**values: Any) -> int:
    from tortie.cli.ipam.split import split as split_pool

    return split_pool(**values)


def migrate(**values: Any) -> int:
    from tortie.cli.ipam.migrate import migrate as migrate_addresses

    return migrate_addresses(**values)


COMMAND = Command(
    summary="See, check, configure and repair how addresses are handed out.",
    description=(
        "Addresses come out of pools, cut into blocks; nodes own blocks, and handles say who holds which addresses. "
        "These commands show that, check that everything agrees, and set it right where it does not."
    ),
    commands={
        "show": Command(
            summary="Show how full pools are, or one address, what is borrowed, the settings.",
            description="""Show how many addresses of each pool are in use.

Numbers have five digits, as calicoctl shows them. The column IPS RESERVED is there when there are IPReservations;
reserved are addresses that nobody has and nobody may get.""",
            run=show,
            options=(
                Option(("--ip",), "ip", "Say whether this address is in use, and for whom.", "IP"),
                Option(("--show-blocks",), "show_blocks", "Show the blocks below their pools."),
                Option(("--show-borrowed",), "show_borrowed", "Show addresses out of other nodes' blocks."),
                Option(("--show-configuration",), "show_configuration", "Show the settings of IPAM."),
                _TABLE,
                *DATASTORE,
            ),
            examples="""
                tortie ipam show
                tortie ipam show --show-blocks
                tortie ipam show --ip=10.0.0.5
                tortie ipam show --show-borrowed -o json
            """,
        ),
        "show-blocks": Command(
            summary="Show how full pools and their blocks are: show --show-blocks.",
            run=show_blocks,
            options=(_TABLE, *DATASTORE),
            examples="tortie ipam show-blocks",
        ),
        "show-ip": Command(
            summary="Say whether an address is in use, and for whom: show --ip=IP.",
            run=show_ip,
            arguments=(Argument("ip", "IP"),),
            options=(_TABLE, *DATASTORE),
            examples="tortie ipam show-ip 10.0.0.5",
        ),
        "check": Command(
            summary="Check that all records of addresses agree with each other and with pods and nodes.",
            description="""Check that all records of addresses agree with each other and with pods and nodes.

Exit code 0: all agree; 3: something is wrong; 4: only warnings. -o FILE, or --report FILE, writes
calicoctl's report, which release --from-report takes from either program; --repair-file writes what can be repaired
safely, for repair. Addresses of load balancers are known to Kubernetes only: with --kubeconfig it is asked by kubectl,
without they count as used.""",
            run=check,
            options=(
                Option(("--show-all-ips",), "show_all_ips", "Print all addresses that are checked."),
                Option(("--show-problem-ips",), "show_problem_ips", "Print all addresses with a problem."),
                Option(("--report",), "report_file", "Write calicoctl's report to this file.", "FILE"),
                Option(("--repair-file",), "repair", "Write what can be repaired to this file.", "FILE"),
                Option(("--kubeconfig",), "kubeconfig", "Ask Kubernetes for addresses of load balancers.", "FILE"),
                Option(
                    ("-o", "--output"),
                    "output",
                    "text, json; or a file for calicoctl's report.",
                    "FORMAT|FILE",
                    default="text",
                    choices=("text", "json"),
                ),
                *DATASTORE,
            ),
            examples="""
                tortie ipam check --show-problem-ips
                tortie ipam check -o json
                tortie datastore lock && tortie ipam check -o leaks.json
                tortie ipam check --kubeconfig ~/.kube/config
            """,
        ),
        "release": Command(
            summary="Take back addresses: some, a handle's, a node's that is gone, or all leaked ones.",
            description="""Take back addresses: some, a handle's, a node's that is gone, or all leaked ones.

What a pod or a node still uses, and the blocks of a node that exists, need --force. From a report only that is released
which a fresh check finds as well; with several reports, what all of them name. The reports have to be of this cluster
and version, one of them of the present ClusterInformation, and the datastore locked, unless --force.""",
            run=release,
            options=(
                Option(("--ip",), "ips", "Address to release. May be repeated.", "IP", repeated=True),
                Option(("--handle",), "handle", "Release all addresses of this handle.", "ID"),
                Option(("--node",), "node", "Give up all blocks of this node.", "NODE"),
                Option(("--from-report",), "reports", "Release what leaked. May be repeated.", "FILE", repeated=True),
                _FORCE,
                _TEXT,
                *DATASTORE,
            ),
            examples="""
                tortie ipam release --handle=k8s-pod-network.4f1c09
                tortie ipam release --node=node-9
                tortie ipam check --report r; tortie ipam release --from-report r --force
            """,
        ),
        "repair": Command(
            summary="Carry out what `check --repair-file` wrote, as far as it still holds.",
            description="""Carry out what `check --repair-file` wrote, as far as it still holds.

Leaked addresses are released, handles deleted or counted anew, affinities deleted or confirmed. Nothing is touched that
has changed since; the same rules hold as for release --from-report.""",
            run=repair,
            arguments=(Argument("files", "FILE", repeated=True),),
            options=(_FORCE, _TEXT, *DATASTORE),
            examples="""
                tortie ipam check --repair-file fix.json; tortie ipam repair fix.json --force
            """,
        ),
        "configure": Command(
            summary="Change the settings of IPAM.",
            description="""Change the settings of IPAM.

What IPAM reads and the resource IPAMConfiguration are changed together, so that they never say two things.""",
            run=configure,
            options=(
                Option(
                    ("--strictaffinity",),
                    "strict_affinity",
                    "Whether nodes keep to their own blocks.",
                    "BOOL",
                    choices=("true", "false"),
                ),
                Option(
                    ("--auto-allocate-blocks",),
                    "auto_allocate_blocks",
                    "Whether nodes may claim new blocks.",
                    "BOOL",
                    choices=("true", "false"),
                ),
                Option(("--max-blocks-per-host",), "max_blocks_per_host", "How many a node may have; 0: 20.", "N"),
                Option(("--ip-cooldown-seconds",), "cooldown", "How long a released address rests.", "SECONDS"),
                Option(
                    ("--kubevirt-ip-persistence",),
                    "persistence",
                    "Whether virtual machines keep their addresses.",
                    "WORD",
                    choices=("Enabled", "Disabled"),
                ),
                _TEXT,
                *DATASTORE,
            ),
            examples="""
                tortie ipam configure --strictaffinity=true
                tortie ipam configure --strictaffinity=true --max-blocks-per-host=4
            """,
        ),
        "split": Command(
            summary="Split a pool into NUMBER smaller ones; blocks and pods stay as they are.",
            run=split,
            arguments=(Argument("number", "NUMBER"),),
            options=(
                Option(("--name",), "name", "Name of the pool to split.", "POOL"),
                Option(("--cidr",), "cidr", "CIDR of the pool to split.", "CIDR"),
                _TEXT,
                *DATASTORE,
            ),
            examples="""
                tortie datastore lock && tortie ipam split 4 --name pool
                tortie datastore lock && tortie ipam split 2 --cidr 10.1.0.0/16
            """,
        ),
        "migrate": Command(
            summary="Take over the addresses that host-local handed out on this machine.",
            description="""Take over the addresses that host-local handed out on this machine, as upgrade-ipam does.

Every address that host-local has noted is given to the same pod in Calico's IPAM. Nothing is removed before everything
is safely written; what cannot be taken over is told, and then nothing is changed.""",
            run=migrate,
            options=(
                Option(("--network",), "network", "Name of host-local's network.", "NAME", default="k8s-pod-network"),
                Option(
                    ("--folder",), "folder", "Where host-local keeps its files.", "DIR", default="/var/lib/cni/networks"
                ),
                Option(("--node",), "node", "Name of this node; else as the node itself finds it.", "NODE"),
                Option(("--pods",), "pods", "This node's pods, as `kubectl get pods -o json` lists them.", "FILE"),
                Option(("--timeout",), "timeout", "How long all of it may take.", "TIME", default="60s"),
                Option(("--dry-run",), "dry_run", "Say what would be done, and do nothing."),
                Option(
                    ("--or-leave",),
                    "or_leave",
                    "For a node's first container: what cannot be taken over now is told and left as it is, and the "
                    "node starts all the same.",
                ),
                Option(
                    ("--classic",),
                    "classic",
                    "Do it as upgrade-ipam of this release of Calico, which never gives up. For the lab only.",
                    "VERSION",
                ),
                Option(
                    ("--root",),
                    "root",
                    "Folder below which all files of the node lie; TORTIE_ROOT.",
                    "DIR",
                    default="/",
                    variable="TORTIE_ROOT",
                ),
                _TEXT,
                *DATASTORE,
            ),
            examples="""
                tortie ipam migrate --node n1 --folder networks --dry-run
                tortie ipam migrate --or-leave        before the node's own container
            """,
        ),
    },
)
