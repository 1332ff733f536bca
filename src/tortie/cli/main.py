"""The `tortie` command: commands are found by name and imported when used; errors become text and exit codes."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence

from tortie.cli.grammar import Command, HelpWanted, Option, help_text, parse
from tortie.cli.program import as_called, program_name, speaking_as_called
from tortie.model.errors import TortieError, UsageError
from tortie.model.kinds import nearest
from tortie.model.light import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from tortie.cli.global_flags import Wishes

# One line each, so that `tortie --help` imports none of them; the command is COMMAND in the module of that name.
SUMMARIES = {
    "get": "Show resources: as a table, YAML, JSON, or what you pick from them.",
    "create": "Create resources from files; none may exist yet.",
    "apply": "Create resources from files, or replace those that exist.",
    "replace": "Replace resources that exist by those in files.",
    "patch": "Change some fields of one resource.",
    "label": "Set or remove a resource's labels.",
    "delete": "Delete resources, by name or by file.",
    "validate": "Check files without touching any datastore.",
    "node": "Run this machine's node, and see why it does what it does.",
    "ipam": "See, check, configure and repair how addresses are handed out.",
    "cluster": "Collect what the whole cluster says.",
    "cni": "Install the CNI plugin on this machine.",
    "controllers": "Clean up after nodes and pods that are gone.",
    "doctor": "Name the cause of a failing cluster, from whatever was pasted or collected.",
    "lab": "Bring up a whole cluster on this machine, look at it, take it down.",
    "datastore": "Take everything out of a datastore, or put it into one.",
    "config": "Show which datastore is used, and who says so.",
    "version": "Show the version of this command and of the cluster.",
    "completion": "Print the completion script for bash, zsh or fish.",
}

ROOT = Command(
    summary="Calico networking that starts, and says why when it does not.",
    commands={name: Command(summary) for name, summary in SUMMARIES.items()},
    options=(
        Option(("-V", "--version"), "version", "Show the version."),
        # Read by tortie.cli.global_flags, which every command has.
        Option(("-l", "--log-level"), "log_level", "Log on standard error what is done: info, or debug.", "LEVEL"),
        Option(("--context",), "context", "Of a kubeconfig; refused, as long as there is none.", "NAME"),
        Option(("--allow-version-mismatch",), "any_version", "Write to clusters of any release, without a warning."),
        Option(("-c", "--config"), "config", "Configuration in calicoctl's format.", "FILE"),
    ),
    examples="""
        tortie apply -f pools.yaml   into the embedded store, no set-up needed
        tortie get nodes -o wide
        tortie get ippools -o yaml --etcd-endpoints http://127.0.0.1:2379
        tortie config show           which datastore that was, and why
        tortie -l debug get nodes    what is asked of it, and how long that takes
    """,
)


def find_command(name: str) -> Command:
    import importlib

    command: Command = importlib.import_module(f"tortie.cli.commands.{name}").COMMAND
    return command


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code; nothing that goes wrong leaves as a traceback."""
    words = list(sys.argv[1:] if argv is None else argv)
    return speaking_as_called(lambda: _main(words))


def _main(words: list[str]) -> int:
    code, error = _outcome(words)
    try:
        sys.stdout.flush()
    except OSError as refused:
        _abandon(sys.stdout)
        if not isinstance(refused, BrokenPipeError):
            error = error or _refused(refused)
    return _report(error, words) if error else code


def _outcome(words: list[str]) -> tuple[int, TortieError | None]:
    try:
        return _run(words), None
    except TortieError as error:
        return error.exit_code, error
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        return 130, None
    except BrokenPipeError:  # whoever read our output has gone, as `head` does
        return 0, None
    except OSError as error:
        return 1, _refused(error)
    except Exception as error:
        if os.environ.get("TORTIE_DEBUG"):
            raise
        return 1, _defect(error)


def _run(words: list[str]) -> int:
    path = program_name()
    command = ROOT
    leading: list[str] = []
    while command.commands:
        if words and words[0].startswith("-") and not command.run:
            from tortie.cli.global_flags import split_leading

            found, words = split_leading(words)
            leading += found
            if leading and not words:
                raise UsageError("no command was given", "only flags were", f"`{path} --help` lists the commands")
        if command.run and not (words and words[0] in command.commands):
            break  # the family itself is a command, as in `tortie doctor FILE`
        if not words or words[0] in ("-h", "--help"):
            sys.stdout.write(as_called(help_text(path, command)))
            return 0
        if command is ROOT and words[0] in ("-V", "--version"):
            from tortie import __version__

            sys.stdout.write(f"tortie {__version__}\n")
            return 0
        if command is ROOT and words[0] == "__complete":
            from tortie.cli.completion import complete

            return complete(words[1:])
        path, command, words = _descend(path, command, words)
    from tortie.cli.global_flags import take_wishes, with_globals

    try:
        values = parse(path, with_globals(command), words)
    except HelpWanted:
        sys.stdout.write(as_called(help_text(path, command)))
        return 0
    wishes = take_wishes(path, command, leading, values)
    if "config" in values:
        values = _with_settings(values, wishes)
    elif "config_file" in values:  # a command of the node reads its settings itself
        values["log_level"] = wishes.log_level
    assert command.run is not None
    if wishes.log_level not in ("info", "debug"):
        return command.run(**values)
    from tortie.cli.logged import log

    log("info", f"Log level set to {wishes.log_level}")
    code = command.run(**values)
    log("info", f"{path} is done", exit=code)
    return code


def _descend(path: str, command: Command, words: list[str]) -> tuple[str, Command, list[str]]:
    word = words[0]
    if word not in command.commands:
        near = nearest(word, command.commands)
        fix = f"did you mean `{path} {near}`?" if near else f"`{path} --help` lists them"
        if word.startswith("-"):
            raise UsageError(f"unknown flag {word}", f"`{path}` has no flag of that name", f"`{path} --help`")
        raise UsageError(f"unknown command '{word}'", f"`{path}` has no command of that name", fix)
    found = find_command(word) if command is ROOT else command.commands[word]
    return f"{path} {word}", found, words[1:]


def _with_settings(values: dict[str, object], wishes: Wishes) -> dict[str, object]:
    """The datastore's flags, together with environment and file, become one parameter."""
    from tortie.cli.options import DATASTORE
    from tortie.cli.settings import read_settings

    flags = {option.name: values.pop(option.name, None) for option in DATASTORE}
    texts = {name: value for name, value in flags.items() if isinstance(value, str)}
    settings = read_settings(texts, os.environ, texts.get("config"))
    return {**values, "settings": settings._replace(log_level=wishes.log_level, any_version=wishes.any_version)}


def _report(error: TortieError, words: Sequence[str]) -> int:
    from tortie.cli.report import report

    try:
        return report(error, words)
    except OSError:  # nobody listens, but the exit code still tells
        _abandon(sys.stderr)
        return error.exit_code


def _abandon(stream: TextIO) -> None:
    """Python would try once more at exit, and complain."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _refused(error: OSError) -> TortieError:
    """Whoever works with files explains what befalls them; what arrives here befell our output."""
    reason = error.strerror or str(error)
    return TortieError("the answer could not be written", reason, "look where the output goes: full, or closed?")


def _defect(error: Exception) -> TortieError:
    defect = TortieError(
        f"internal error: {type(error).__name__}",
        str(error) or "no reason was given",
        "this is a defect of Tortie; TORTIE_DEBUG=1 shows where it is",
    )
    defect.code = "internal"
    return defect


def entry() -> None:
    _leave(perform())


def perform() -> int:
    """The command that `sys.argv` says, with everything that a process of its own needs; its exit code."""
    # Thousands of documents are no garbage: looking through them again and again took half of `tortie get`.
    gc.set_threshold(200_000)
    _open_closed_streams()
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr] # a terminal may not know Unicode
    return main()


def _leave(code: int) -> None:
    """Without taking everything to pieces that the system takes back anyway, unless somebody has to be told the end."""
    import atexit

    if atexit._ncallbacks() or "threading" in sys.modules:
        gc.freeze()  # at least the end does not look through everything once more
        sys.exit(code)
    try:  # noqa: SIM105 - contextlib is a module more
        sys.stderr.flush()
    except OSError:
        pass  # nobody listens
    os._exit(code)


def _open_closed_streams() -> None:
    """A stream closed by the caller (`>&-`) is None, and the next file opened would get its number."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115 - it stays open as long as we run
