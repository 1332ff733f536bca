"""`tortie node run --dryrun`: the command with everything that flags set, and what it would decide here and now."""

from __future__ import annotations

import re
import shlex
import sys
from typing import Any

from tortie.cli.node.run_flags import given_by
from tortie.cli.settings import SETTINGS
from tortie.node.settings.setting import HIDDEN


def dryrun(*, env_file: str | None, root: str, flags: dict[str, Any]) -> int:
    from tortie.cli.node.explain import explain

    variables = {name: given.text for name, given in given_by(flags).items()}
    words = ["tortie", "node", "run", *_words(env_file, root, flags)]
    if flags.get("init_system"):
        _tell("Use the following unit to start the node:", _unit(variables, words))
        _tell("Use the following command to stop the node:", "systemctl stop tortie-node")
    else:
        _tell("Use the following command to start the node:", _command(variables, words))
    sys.stdout.write("What it would do:\n\n")
    return explain(output="text", calico=None, env_file=env_file, root=root, **flags)


def _tell(heading: str, text: str) -> None:
    """Without the password that a URL may carry."""
    text = re.sub(r"(//)[^/@\s]*@", rf"\1{HIDDEN}@", text)
    sys.stdout.write(f"{heading}\n\n{text}\n\n")


def _words(env_file: str | None, root: str, flags: dict[str, Any]) -> list[str]:
    words = [f"--env-file={env_file}"] if env_file else []
    words += [f"--root={root}"] if root not in ("", "/") else []
    words += [f"--felix-config={flags['felix_config']}"] if flags.get("felix_config") else []
    words += [f"--config={flags['config_file']}"] if flags.get("config_file") else []
    return words + [f"{setting.flag}={flags[setting.name]}" for setting in SETTINGS if flags.get(setting.name)]


def _command(variables: dict[str, str], words: list[str]) -> str:
    assigned = [f"{name}={shlex.quote(text)}" for name, text in variables.items()]
    return " ".join([*assigned, *map(shlex.quote, words)])


def _unit(variables: dict[str, str], words: list[str]) -> str:
    lines = [f"Environment={_quoted(f'{name}={text}')}" for name, text in variables.items()]
    return "\n".join(("[Service]", *lines, f"ExecStart=/usr/bin/env {' '.join(map(_quoted, words))}", "Restart=always"))


def _quoted(text: str) -> str:
    """As systemd reads it, to whom % and $ mean something else."""
    if all(letter.isalnum() or letter in "-_./=:," for letter in text):
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{escaped}"'
