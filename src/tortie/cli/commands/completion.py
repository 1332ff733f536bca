"""`tortie completion`: scripts that teach a shell our commands, flags, kinds and resource names."""

from __future__ import annotations

import sys

from tortie.cli.grammar import Argument, Command
from tortie.cli.program import program_name
from tortie.model.errors import UsageError

# Each asks `tortie __complete` with the words typed so far, the unfinished one last.
_SCRIPTS = {
    "bash": """\
_tortie() {
    local IFS=$'\\n'
    COMPREPLY=($(tortie __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _tortie tortie
""",
    "zsh": """\
#compdef tortie
_tortie() {
    local -a found
    found=("${(@f)$(tortie __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    [[ -n "${found[*]}" ]] && compadd -a found || _files
}
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }
compdef _tortie tortie
""",
    "fish": """\
function __tortie_complete
    set -l words (commandline -opc) (commandline -ct)
    tortie __complete $words[2..-1] 2>/dev/null
end
complete -c tortie -a '(__tortie_complete)'
""",
}


def completion(*, shell: str) -> int:
    if shell not in _SCRIPTS:
        known = ", ".join(_SCRIPTS)
        raise UsageError(f"no completion for the shell '{shell}'", "it is not one we know", f"use one of {known}")
    sys.stdout.write(_SCRIPTS[shell].replace("tortie", program_name().replace(" ", "-")))
    return 0


def _complete_shell(typed: str, _values: dict[str, object]) -> list[str]:
    return [shell for shell in _SCRIPTS if shell.startswith(typed)]


COMMAND = Command(
    summary="Print the completion script for bash, zsh or fish.",
    run=completion,
    arguments=(Argument("shell", "bash|zsh|fish", complete=_complete_shell),),
    examples="""
        source <(tortie completion bash)
        tortie completion zsh > ~/.zfunc/_tortie
        tortie completion fish > ~/.config/fish/completions/tortie.fish
    """,
)
