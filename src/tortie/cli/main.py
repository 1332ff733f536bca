"""The `tortie` command: commands are found by name and imported when used; errors become text and exit codes."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence

import click

from tortie import __version__
from tortie.cli.report import explain, report
from tortie.model.errors import TortieError, UsageError
from tortie.model.kinds import nearest

# Name, module and one line of help, so that `tortie --help` imports none of them.
COMMANDS: dict[str, tuple[str, str]] = {
    "get": ("get", "Show resources, as a table, YAML, JSON or what you pick from them."),
    "create": ("write", "Create resources from files; none may exist yet."),
    "apply": ("write", "Create resources from files, or replace those that exist."),
    "replace": ("write", "Replace resources that exist by those in files."),
    "patch": ("edit", "Change some fields of one resource."),
    "label": ("edit", "Set or remove a resource's labels."),
    "delete": ("delete", "Delete resources, by name or by file."),
    "validate": ("write", "Check files without touching any datastore."),
    "datastore": ("datastore", "Take everything out of a datastore, or put it into one."),
    "config": ("config", "Show which datastore is used, and who says so."),
    "version": ("version", "Show the version of this command and of the cluster."),
    "completion": ("completion", "Print the completion script for bash, zsh or fish."),
}

_EPILOG = """\b
Examples:
  tortie apply -f pools.yaml             into the embedded store, no set-up needed
  tortie get nodes -o wide
  ETCD_ENDPOINTS=http://127.0.0.1:2379 tortie get ippools -o yaml
  tortie config show                     which datastore that was, and why
"""


class LazyGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"tortie.cli.commands.{COMMANDS[cmd_name][0]}")
        command: click.Command = getattr(module, cmd_name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            near = nearest(args[0], COMMANDS)
            fix = f"did you mean `{ctx.command_path} {near}`?" if near else f"`{ctx.command_path} --help` lists them"
            raise UsageError(f"unknown command '{args[0]}'", "there is no command of that name", fix)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=_EPILOG,
    no_args_is_help=True,
)
@click.version_option(__version__, "-V", "--version", message="tortie %(version)s")
def root() -> None:
    """Calico networking that starts, and says why when it does not."""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code; nothing that goes wrong leaves as a traceback."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        return _run(arguments)
    except TortieError as error:
        return report(error, arguments)
    except click.ClickException as error:
        return report(explain(error), arguments)
    except click.Abort:
        return 130
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        return 130
    except BrokenPipeError:
        # Whoever read our output has gone, as `head` does. Python would complain once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        if os.environ.get("TORTIE_DEBUG"):
            raise
        return report(_defect(error), arguments)


def _run(arguments: list[str]) -> int:
    name = os.path.basename(sys.argv[0] or "tortie")
    program = "kubectl tortie" if name.startswith("kubectl-") else "tortie"
    code = root.main(args=arguments, prog_name=program, complete_var="_TORTIE_COMPLETE", standalone_mode=False)
    sys.stdout.flush()
    return code if isinstance(code, int) else 0


def _defect(error: Exception) -> TortieError:
    text = str(error) or type(error).__name__
    defect = TortieError(
        f"internal error: {type(error).__name__}", text, "this is a defect of Tortie; TORTIE_DEBUG=1 shows where it is"
    )
    defect.code = "internal"
    return defect


def entry() -> None:
    sys.exit(main())
