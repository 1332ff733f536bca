"""Felix's own file of settings, /etc/calico/felix.cfg: `Parameter = value` below `[global]`, as in any INI file.

Each line says what the variable FELIX_PARAMETER would say.
"""

from __future__ import annotations

import re
from typing import Final

from tortie.model.errors import UsageError
from tortie.node.settings.envfile import EnvFile
from tortie.node.settings.felix import FELIX_PREFIX
from tortie.node.settings.setting import HIDDEN, Finding, Given, printable

_LINE: Final = re.compile(r"([A-Za-z][A-Za-z0-9_]*)\s*[=:]\s*(.*)")
_QUOTED: Final = re.compile(r"(\"[^\"]*\"|'[^']*'|`[^`]*`)\s*([#;].*)?")


def load_felix_file(path: str) -> EnvFile:
    try:
        with open(path, encoding="utf-8-sig", errors="surrogateescape") as file:
            return parse_felix_file(file.read(), path)
    except (OSError, ValueError) as error:
        why = str(getattr(error, "strerror", None) or error)
        raise UsageError(f"cannot read Felix's file of settings: {path}", why, "check --felix-config") from None


def parse_felix_file(text: str, path: str) -> EnvFile:
    entries: dict[str, Given] = {}
    refused: list[Finding] = []
    warnings: list[Finding] = []
    for number, raw in enumerate(text.splitlines(), start=1):
        line = raw.strip()
        if not line or line[0] in "#;" or (line[0] == "[" and line.endswith("]")):
            continue
        source = f"file {path}, line {number}"
        parts = _LINE.fullmatch(line)
        if parts is None:
            refused.append(
                Finding("", HIDDEN, printable(source), "is not Parameter = value", "LogSeverityScreen = Info")
            )
            continue
        name = FELIX_PREFIX + parts[1].upper()
        if name in entries:
            why = f"{printable(parts[1])} is set a second time; this one counts"
            warnings.append(Finding("", HIDDEN, printable(source), why, "keep one"))
        entries[name] = Given(_value(parts[2]), source)
    return EnvFile(path, entries, tuple(refused), tuple(warnings))


def _value(text: str) -> str:
    """Without quotes, and without a remark behind a blank."""
    if quoted := _QUOTED.fullmatch(text):
        return quoted[1][1:-1]
    return re.split(r"\s[#;]", text, maxsplit=1)[0].strip()
