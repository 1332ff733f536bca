"""`tortie lab ...`: declared here, done in `tortie.cli.lab`."""

from __future__ import annotations

from typing import Any

from tortie.cli.grammar import Argument, Command, Option
from tortie.cli.lab.incidents import COMMANDS
from tortie.cli.lab.options import FORM, NAME, SPEECH, USUAL
from tortie.cli.options import output as output_option

_NAME_TO_UP = Option(
    ("--name",),
    "name",
    "Which lab. Without it: the file's name, else `lab`; without flags and file the only lab there is.",
    "NAME",
)
_NAME_TO_END = Option(("--name",), "name", "Which lab. Without it: `lab`.", "NAME")


def up(**values: Any) -> int:
    from tortie.cli.lab.up import up as bring_up

    return bring_up(**values)


def status(**values: Any) -> int:
    from tortie.cli.lab.status import status as show_status

    return show_status(**values)


def execute(**values: Any) -> int:
    from tortie.cli.lab.inside import execute as execute_inside

    return execute_inside(**values)


def shell(**values: Any) -> int:
    from tortie.cli.lab.inside import shell as shell_inside

    return shell_inside(**values)


def logs(**values: Any) -> int:
    from tortie.cli.lab.agents import logs as show_logs

    return show_logs(**values)


def graph(**values: Any) -> int:
    from tortie.cli.lab.graph import graph as draw

    return draw(**values)


def list_labs(**values: Any) -> int:
    from tortie.cli.lab.listing import list_labs as list_all

    return list_all(**values)


def start(**values: Any) -> int:
    from tortie.cli.lab.agents import start as start_agent

    return start_agent(**values)


def stop(**values: Any) -> int:
    from tortie.cli.lab.agents import stop as stop_agent

    return stop_agent(**values)


def down(**values: Any) -> int:
    from tortie.cli.lab.down import down as take_down

    return take_down(**values)


def pod_run(**values: Any) -> int:
    from tortie.cli.lab.pods import run

    return run(**values)


def pod_list(**values: Any) -> int:
    from tortie.cli.lab.pods import list_pods

    return list_pods(**values)


def pod_delete(**values: Any) -> int:
    from tortie.cli.lab.pods import delete

    return delete(**values)


def pod_exec(**values: Any) -> int:
    from tortie.cli.lab.inside import execute_in_pod

    return execute_in_pod(**values)


def ping(**values: Any) -> int:
    from tortie.cli.lab.ping import ping as ask_all

    return ask_all(**values)


def _complete_machine(typed: str, values: dict[str, Any]) -> list[str]:
    from tortie.cli.lab.talk import machine_names

    return [name for name in machine_names(values.get("name")) if name.startswith(typed)]


def _complete_pod(typed: str, values: dict[str, Any]) -> list[str]:
    from tortie.cli.lab.talk import pod_names

    return [name for name in pod_names(values.get("name")) if name.startswith(typed)]


def _complete_place(typed: str, values: dict[str, Any]) -> list[str]:
    return [*_complete_machine(typed, values), *_complete_pod(typed, values)]


_MACHINE = Argument("machine", "NODE", complete=_complete_machine)
_PLACE = Argument("machine", "NODE", complete=_complete_place)
_PODS = Argument("pods", "POD", required=False, repeated=True, complete=_complete_pod)
_NAMESPACE = Option(("-n", "--namespace"), "namespace", "The pod's namespace.", "NAME", default="default")
_POD_TIME = Option(("--timeout",), "timeout", "How long to wait, as 90s or 5m.", "TIME", default="30s")

_POD = Command(
    summary="Run pods, wired through the node's CNI plugin; list and delete them.",
    description=(
        "A pod of a lab is a network and a hostname, without any process, wired as a container runtime does it: the "
        "plugins that the node's /etc/cni/net.d names are called in order. Pods stay when agents and BIRD restart; "
        "with their node, and with the lab, they go."
    ),
    examples="""
        tortie lab pod run web-1 --node node-1
        tortie lab pod list
        tortie lab pod exec web-1 -- ip addr
        tortie lab pod delete --all
    """,
    commands={
        "run": Command(
            summary="Make pods and wire them, all at the same time.",
            run=pod_run,
            description=(
                "Waits until every pod has its network. A node that is not ready to wire pods is asked again until "
                "time is up. A pod that is there already is left as it is; one that gets no network is removed again."
            ),
            arguments=(Argument("pods", "POD", repeated=True),),
            options=(
                Option(("--node",), "node", "On which node. Without it: where the fewest pods are.", "NODE"),
                Option(("--count",), "count", "So many of each: web-1, web-2, …", "N"),
                _NAMESPACE,
                _POD_TIME,
                *USUAL,
            ),
            examples="""
                tortie lab pod run web-1 --node node-1
                tortie lab pod run web --count 30
                tortie lab pod run db-1 db-2 -n other -o json
            """,
        ),
        "list": Command(
            summary="List all pods: node, addresses, interface on the node, age.",
            run=pod_list,
            options=USUAL,
            examples="""
                tortie lab pod list
                tortie lab pod list -o json
            """,
        ),
        "exec": Command(
            summary="Run a command in a pod.",
            run=pod_exec,
            description=(
                "The command runs in the pod's network, with its hostname and with your terminal; its exit code is "
                "the answer."
            ),
            arguments=(
                Argument("pod", "POD", complete=_complete_pod),
                Argument("command", "COMMAND", required=False, repeated=True),
            ),
            options=(_NAMESPACE, *USUAL),
            examples="""
                tortie lab pod exec web-1 -- ip route
                tortie lab pod exec web-1 -- ping -c 3 10.244.0.65
            """,
        ),
        "delete": Command(
            summary="Delete pods; their addresses are free again.",
            run=pod_delete,
            arguments=(_PODS,),
            options=(Option(("-a", "--all"), "everything", "All pods."), _NAMESPACE, _POD_TIME, *USUAL),
            examples="""
                tortie lab pod delete web-1 web-2
                tortie lab pod delete --all
            """,
        ),
    },
)

COMMAND = Command(
    summary="Bring up a whole cluster on this machine, look at it, take it down.",
    description=(
        "A lab is a cluster on this machine: each node a network namespace with the real agent and the real BIRD, "
        "cabled to a virtual switch. It needs no Docker and no Kubernetes, and root only where the kernel forbids "
        "user namespaces. Nothing of the machine's own network is changed."
    ),
    examples="""
        tortie lab up                              three nodes, in two seconds
        tortie lab exec node-2 -- tortie node status
        tortie lab graph
        tortie lab pod run web --count 6           pods, dealt out to the nodes
        tortie lab ping                            all of them reach each other
        tortie lab down
    """,
    commands={
        "up": Command(
            summary="Bring a lab up, or to what is asked for now, and wait until all is ready.",
            run=up,
            description=(
                "Makes the machines, starts their agents and waits until every node is ready and every BGP session "
                "is established. On a lab that is up it makes up the difference: nodes are added, removed or changed, "
                "agents that have ended are started again, the rest notices nothing. What flags leave open stays as it "
                "is; without flags and file all of it does. When time is up and a session is missing, the exit code "
                "is 3. An interrupted start leaves nothing behind."
            ),
            options=(
                Option(("--nodes",), "nodes", "How many nodes. [default: 3]", "N"),
                Option(("--racks",), "racks", "Deal them out to racks behind a router.", "N"),
                Option(
                    ("--store",), "store", "embedded or etcd. [default: embedded]", "KIND", choices=("embedded", "etcd")
                ),
                Option(("--members",), "members", "Members of etcd, 1 or 3. [default: 1]", "N", choices=("1", "3")),
                Option(("--ipv6",), "ipv6", "IPv6 beside IPv4."),
                Option(("--tls",), "tls", "etcd with certificates."),
                Option(("--kubelet",), "kubelet", "Nodes run as pods: with probes, restarts and events."),
                Option(("--hurry",), "hurry", "How many times faster the kubelets' clocks tick. [default: 1]", "N"),
                Option(("--classic",), "classic", "Nodes start as that release of Calico, in pods.", "RELEASE"),
                Option(("-f", "--filename"), "filename", "A topology instead of these; - is standard input.", "FILE|-"),
                Option(("--dry-run",), "dry_run", "Print the plan, or what would change; do nothing."),
                Option(
                    ("--timeout",), "timeout", "How long to wait, as 90s or 5m. [default: 60s + 1s per node]", "TIME"
                ),
                _NAME_TO_UP,
                *FORM,
            ),
            examples="""
                tortie lab up --nodes 3
                tortie lab up --nodes 6 --racks 2 --store etcd --members 3
                tortie lab up -f examples/lab/two-racks.yaml --dry-run
                tortie lab up --classic 3.20 --hurry 10    as Calico starts, only faster
                tortie lab up --name other --nodes 50 -o json      with seconds by phase
            """,
        ),
        "status": Command(
            summary="Show every node: address, phase, ready, BGP sessions, routes, age.",
            run=status,
            description="Asks every agent. Exits with 3 when a node is not ready, and says why it is not.",
            options=USUAL,
            examples="""
                tortie lab status
                tortie lab status --name other -o json
            """,
        ),
        "exec": Command(
            summary="Run a command in a machine or a pod of the lab.",
            run=execute,
            description=(
                "The command runs in the machine's network, with its hostname and the environment of its agent, and "
                "with your terminal; its exit code is the answer. Members of etcd, the router and pods can be entered, "
                "too."
            ),
            arguments=(_PLACE, Argument("command", "COMMAND", required=False, repeated=True)),
            options=USUAL,
            examples="""
                tortie lab exec node-2 -- tortie node status
                tortie lab exec node-1 -- ip route
                tortie lab exec router -- tcpdump -ni eth0 port 179
            """,
        ),
        "shell": Command(
            summary="Open a shell in a machine or a pod of the lab.",
            run=shell,
            arguments=(_PLACE,),
            options=(NAME, output_option("text", "text"), *SPEECH),
            examples="""
                tortie lab shell node-1
            """,
        ),
        "logs": Command(
            summary="Show what a machine's agent, etcd or BIRD has written.",
            run=logs,
            arguments=(_MACHINE,),
            options=(
                Option(("-f", "--follow"), "follow", "Go on as it grows."),
                Option(("--tail",), "tail", "Only the last lines.", "N"),
                NAME,
                output_option("text", "text", "json"),
                *SPEECH,
            ),
            examples="""
                tortie lab logs node-1
                tortie lab logs node-1 -f --tail 20
                tortie lab logs keeper                 the process that holds the lab
            """,
        ),
        "graph": Command(
            summary="Draw the lab with the state of every BGP session.",
            run=graph,
            options=(NAME, output_option("ascii", "ascii", "mermaid", "dot", "svg", "json"), *SPEECH),
            examples="""
                tortie lab graph
                tortie lab graph -o svg > lab.svg
                tortie lab graph -o dot | dot -Tpng > lab.png
            """,
        ),
        "pod": _POD,
        "ping": Command(
            summary="Let all pods ping each other, and show who reaches whom.",
            run=ping,
            description=(
                "Every pod asks every other one, all at once, over IPv4 and IPv6 as far as they have both. Whoever "
                "does not answer is asked again until time is up. With names: only these among each other; one name "
                "alone: this one with all others. Milliseconds are shown; exits with 3 when a pair has no answer."
            ),
            arguments=(_PODS,),
            options=(
                Option(("--count",), "count", "How many answers each pair has to give.", "N", default="1"),
                Option(("--timeout",), "timeout", "How long to wait for each answer.", "TIME", default="3s"),
                *USUAL,
            ),
            examples="""
                tortie lab ping
                tortie lab ping web-1 web-2 --count 10
                tortie lab ping -o json
            """,
        ),
        **COMMANDS,
        "list": Command(
            summary="List all labs: up, dead, or left half-made.",
            run=list_labs,
            options=USUAL,
            examples="""
                tortie lab list
                tortie lab list -o json
            """,
        ),
        "start": Command(
            summary="Start what a machine runs: its agent, etcd or BIRD.",
            run=start,
            arguments=(_MACHINE,),
            options=USUAL,
            examples="""
                tortie lab start node-2
            """,
        ),
        "stop": Command(
            summary="Stop what a machine runs, orderly or with a signal of your choice.",
            run=stop,
            arguments=(_MACHINE,),
            options=(
                Option(("--signal",), "signal_name", "Which signal is sent.", "SIGNAL", default="TERM"),
                *USUAL,
            ),
            examples="""
                tortie lab stop node-2
                tortie lab stop node-2 --signal KILL
                tortie lab stop etcd-1 --signal STOP      it hangs, until --signal CONT
            """,
        ),
        "down": Command(
            summary="Take a lab down, and prove that nothing of it is left.",
            run=down,
            description=(
                "Ends everything that runs in the lab, also what `exec` started there, removes its folder, and looks "
                "for namespaces, links, processes, cgroups and files. Whatever is left is named, with exit code 1."
            ),
            options=(Option(("-a", "--all"), "everything", "All labs."), _NAME_TO_END, *FORM),
            examples="""
                tortie lab down
                tortie lab down --all
            """,
        ),
    },
)
