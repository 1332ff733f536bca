"""The lab's commands around incidents, declared: break, watch, collect, heal, play."""

from __future__ import annotations

from typing import Any, Final

from tortie.cli.grammar import Argument, Command, Option
from tortie.cli.lab.options import NAME, SPEECH, USUAL


def faults(**values: Any) -> int:
    from tortie.cli.lab.faults import faults as list_faults

    return list_faults(**values)


def break_lab(**values: Any) -> int:
    from tortie.cli.lab.breaking import break_lab as strike

    return strike(**values)


def heal(**values: Any) -> int:
    from tortie.cli.lab.healing import heal as make_whole

    return make_whole(**values)


def play(**values: Any) -> int:
    from tortie.cli.lab.play import play as tell

    return tell(**values)


def evidence(**values: Any) -> int:
    from tortie.cli.lab.evidence import evidence as collect

    return collect(**values)


def kubectl(**values: Any) -> int:
    from tortie.cli.lab.kubectl import kubectl as show

    return show(**values)


def tool(**values: Any) -> int:
    from tortie.cli.lab.tool import tool as use

    return use(**values)


def helper(**values: Any) -> int:
    from tortie.cli.lab.helper import helper as do

    return do(**values)


def _complete_fault(typed: str, _values: dict[str, Any]) -> list[str]:
    from tortie.lab.faults.catalogue import names

    return [name for name in names() if name.startswith(typed)]


def _complete_play(typed: str, _values: dict[str, Any]) -> list[str]:
    from tortie.lab.plays.catalogue import names

    return [name for name in names() if name.startswith(typed)]


_FAULTS: Final = Argument("faults", "FAULT", required=False, repeated=True, complete=_complete_fault)

COMMANDS: Final = {
    "faults": Command(
        summary="List what can be broken: what it does, and which cause it stands for.",
        run=faults,
        description="With a name: all about that fault, what it needs, and what you will see.",
        arguments=(Argument("fault", "FAULT", required=False, complete=_complete_fault),),
        options=USUAL,
        examples="""
            tortie lab faults
            tortie lab faults docker-bridge
            tortie lab faults -o json
        """,
    ),
    "break": Command(
        summary="Break something on purpose: a fault or several, or a scenario file.",
        run=break_lab,
        description=(
            "Everything is done in the lab's own namespaces, processes and store, and written down before it is done, "
            "so that `tortie lab heal` undoes it, whatever happens in between. A fault that the lab has not got the "
            "parts for is refused, with the command that gives them."
        ),
        arguments=(_FAULTS,),
        options=(
            Option(("--node",), "node", "Which node suffers. Without it: the seed decides.", "NODE"),
            Option(("--seed",), "seed", "Makes choices repeatable.", "N"),
            Option(("-f", "--filename"), "file", "A scenario; - is standard input.", "FILE|-"),
            Option(("--decoy",), "decoys", "Something harmless beside it. Repeatable.", "DECOY", repeated=True),
            *USUAL,
        ),
        examples="""
            tortie lab break docker-bridge --node node-2
            tortie lab break bgp-port-dropped pool-exhausted --seed 7
            tortie lab break swap-on --node node-3 --decoy failing-pod
            tortie lab break -f examples/lab/scenarios/two-at-once.yaml
        """,
    ),
    "heal": Command(
        summary="Undo what was broken, and prove that all is as it was before.",
        run=heal,
        description=(
            "Undoes every deed of the faults, compares every machine with how it was before the first of them, and "
            "waits until the lab is as ready as it was. What remains is named, with exit code 1."
        ),
        arguments=(_FAULTS,),
        options=(
            Option(("--timeout",), "timeout", "How long to wait for the nodes.", "TIME", default="120s"),
            *USUAL,
        ),
        examples="""
            tortie lab heal
            tortie lab heal docker-bridge
        """,
    ),
    "play": Command(
        summary="Watch an incident: up, break, symptoms, the doctor, heal; narrated.",
        run=play,
        description=(
            "Brings up a lab of its own, shows it healthy, breaks it, shows what you would see and why it happens, "
            "asks the doctor, heals it, and takes the lab down again. Two minutes at most."
        ),
        arguments=(Argument("play", "PLAY", required=False, complete=_complete_play),),
        options=(
            Option(("--keep",), "keep", "Leave the lab up at the end, broken or healed."),
            Option(("--record",), "record", "Write the text as an asciicast, too.", "FILE"),
            *USUAL,
        ),
        examples="""
            tortie lab play                          the list
            tortie lab play docker-bridge
            tortie lab play far-datastore --lang zh
        """,
    ),
    "evidence": Command(
        summary="Collect what a careful person would, from every node, for the doctor.",
        run=evidence,
        description=(
            "A folder in the layout of `tortie doctor collect`: each command as typed on its node, the answer "
            "below. Nothing is changed; tokens, keys and passwords are left out. A folder that is not empty is "
            "refused."
        ),
        options=(
            Option(("-o", "--output"), "output", "A new folder; - is standard output, as one text.", "DIR|-"),
            Option(("--format",), "form", "text or json.", "FORM", default="text", choices=("text", "json")),
            NAME,
            *SPEECH,
        ),
        examples="""
            tortie lab evidence -o bundle/ && tortie doctor bundle/
            tortie lab evidence -o - | tortie doctor -
            tortie lab evidence -o bundle/ --format json
        """,
    ),
    "kubectl": Command(
        summary="Ask the lab's kubelets as kubectl would: get, describe, logs, and more.",
        run=kubectl,
        description=(
            "Everything behind the first word is kubectl's own: get pods|nodes|events|ds …, -o wide|yaml|json, "
            "describe, logs [-p], delete pod, set env, patch, rollout."
        ),
        arguments=(Argument("words", "COMMAND", repeated=True),),
        options=(NAME, SPEECH[0]),
        verbatim=True,
        examples="""
            tortie lab kubectl get pods -n kube-system -o wide
            tortie lab kubectl describe node node-1
            tortie lab kubectl logs -p calico-node-x7k2p -n kube-system
        """,
    ),
    "tool": Command(
        summary="What people type on a node: crictl, systemctl, journalctl, swapoff.",
        run=tool,
        arguments=(Argument("program", "PROGRAM"), Argument("words", "WORD", required=False, repeated=True)),
        options=(NAME, Option(("--node",), "node", "On which node. Inside of one: that.", "NODE")),
        verbatim=True,
        hidden=True,
        examples="""
            tortie lab tool crictl ps -a
        """,
    ),
    "helper": Command(
        summary="What faults run in a machine of the lab, as long as they last.",
        run=helper,
        arguments=(Argument("words", "WORD", repeated=True),),
        verbatim=True,
        hidden=True,
        examples="""
            tortie lab helper hog
        """,
    ),
}
