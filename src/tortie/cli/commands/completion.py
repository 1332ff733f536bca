"""`tortie completion`: scripts that teach a shell our commands, kinds and resource names."""

from __future__ import annotations

import sys

import click
from click.shell_completion import get_completion_class

from tortie.model.errors import UsageError

_SHELLS = ("bash", "zsh", "fish")


@click.command(
    epilog="\b\nExamples:\n"
    "  source <(tortie completion bash)\n"
    "  tortie completion zsh > ~/.zfunc/_tortie\n"
    "  tortie completion fish > ~/.config/fish/completions/tortie.fish"
)
@click.argument("shell")
@click.pass_context
def completion(ctx: click.Context, shell: str) -> int:
    """Print the completion script for bash, zsh or fish."""
    found = get_completion_class(shell) if shell in _SHELLS else None
    if found is None:
        raise UsageError(f"no completion for the shell '{shell}'", "it is not one we know", f"use {', '.join(_SHELLS)}")
    script = found(ctx.find_root().command, {}, "tortie", "_TORTIE_COMPLETE")
    sys.stdout.write(script.source() + "\n")
    return 0
