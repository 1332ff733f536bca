"""`tortie doctor ...`: declared here, done in `tortie.cli.doctor`."""

from __future__ import annotations

from typing import Any

from tortie.cli.grammar import Argument, Command, Option
from tortie.cli.language import COLOUR_CHOICES, LANGUAGES
from tortie.cli.options import output as output_option

FORMS = ("text", "json", "md", "html", "junit", "sarif")
_LANG = Option(("--lang",), "lang", "en or zh; otherwise the locale decides.", "LANG", choices=LANGUAGES)
_COLOR = Option(("--color",), "color", "auto, always or never.", "WHEN", default="auto", choices=COLOUR_CHOICES)


def examine(**values: Any) -> int:
    from tortie.cli.doctor.examine import examine as run

    return run(**values)


def collect(**values: Any) -> int:
    from tortie.cli.doctor.collect import collect as run

    return run(**values)


def causes(**values: Any) -> int:
    from tortie.cli.doctor.knowing import causes as run

    return run(**values)


def explain(**values: Any) -> int:
    from tortie.cli.doctor.knowing import explain as run

    return run(**values)


def evaluate(**values: Any) -> int:
    from tortie.cli.doctor.evaluate import evaluate as run

    return run(**values)


COMMAND = Command(
    summary="Name the cause of a failing cluster, from whatever was pasted or collected.",
    run=examine,
    description="""\
Reads any mixture of files, folders and archives: pasted tickets and chats in English or Chinese, kubectl and \
calicoctl output, logs, bundles. What each piece is shows its content, not its name. Nothing is executed or sent \
anywhere; tokens, keys and passwords are left out of every answer.

Exit codes: 0 healthy, 3 a cause was found, 4 only things worth fixing, 5 undetermined, 1 failed, 2 wrong usage.""",
    examples="""
        kubectl describe pod calico-node-x -n kube-system | tortie doctor -
        tortie doctor ticket.txt logs/ diags.tar.gz
        tortie doctor collect | bash > bundle.txt     on a machine without Tortie
        tortie doctor bundle/ -o html > report.html
        tortie doctor --lab                           what is wrong with the lab?
        tortie doctor explain TRT1001 --lang zh
    """,
    arguments=(Argument("paths", "PATH", required=False, repeated=True),),
    options=(
        output_option("text", *FORMS),
        Option(("--brief",), "brief", "Three lines of text: what it is, where, and the fix."),
        Option(("--here",), "here", "Collect from this machine's own agent and judge that."),
        Option(("--root",), "root", "With --here: the folder below which the agent's files are.", "DIR"),
        Option(("--lab",), "lab", "Collect from every node of the running lab and judge that."),
        Option(("--name",), "name", "With --lab: which lab. Without it: `lab`, or the only one there is.", "NAME"),
        _LANG,
        _COLOR,
    ),
    commands={
        "collect": Command(
            summary="Print a small read-only script that collects evidence where Tortie is not installed.",
            run=collect,
            description="The script needs bash and, for the cluster's part, kubectl. It changes nothing and leaves "
            "out what is secret.",
            examples="""
                tortie doctor collect | bash > bundle.txt
                tortie doctor collect | ssh node-1 sudo bash > node-1.txt
            """,
        ),
        "causes": Command(
            summary="List all causes that the doctor knows.",
            run=causes,
            examples="""
                tortie doctor causes
                tortie doctor causes -o json
                tortie doctor causes bgp           only those with this word
            """,
            arguments=(Argument("words", "WORD", required=False, repeated=True),),
            options=(output_option("text", "text", "json"), _LANG),
        ),
        "explain": Command(
            summary="Explain one cause: what it is, its signs, what looks alike, the fix.",
            run=explain,
            examples="""
                tortie doctor explain TRT1001
                tortie doctor explain ipam-leak --lang zh
            """,
            arguments=(Argument("cause", "CODE|ID"),),
            options=(output_option("text", "text", "json", "md"), _LANG),
        ),
        "eval": Command(
            summary="Score the doctor on labelled cases of your own.",
            run=evaluate,
            description="A case is a folder with evidence.txt (or a folder evidence/) and expected.json: "
            '{"cause": id, "acceptable": [ids], "object": text or null}; the cause may be healthy or '
            "insufficient-evidence.",
            examples="""
                tortie doctor eval cases/
                tortie doctor eval cases/ -v -o json
            """,
            arguments=(Argument("folders", "DIR", repeated=True),),
            options=(
                output_option("text", "text", "json"),
                Option(("-v", "--verbose"), "verbose", "A line for every case, not only for those missed."),
                _LANG,
            ),
        ),
    },
)
