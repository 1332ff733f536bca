"""Flags that stand before the command or behind it, as calicoctl has them."""

from __future__ import annotations

from tortie.cli.grammar import Command, Option, parse
from tortie.model.errors import UsageError
from tortie.model.light import Any, Final, NamedTuple

# From the quietest on; errors and warnings are always told, so that only the last two make a difference.
LEVELS: Final = ("panic", "fatal", "error", "warn", "info", "debug")

GLOBAL: Final = (
    Option(
        ("-l", "--log-level"),
        "log_level",
        "info: log on standard error what is done; debug: each request, too.",
        "LEVEL",
        choices=LEVELS,
        group="Everywhere",
    ),
    Option(("--context",), "context", "Of a kubeconfig; refused, as long as there is none.", "NAME", hidden=True),
    Option(
        ("--allow-version-mismatch",),
        "any_version",
        "Write without a warning what another release of Calico may read otherwise.",
        group="Everywhere",
    ),
)
_CONFIG: Final = Option(("-c", "--config"), "config", "", "FILE")
_BEFORE: Final = Command("", options=(*GLOBAL, _CONFIG))


class Wishes(NamedTuple):
    """What the flags say that every command has."""

    log_level: str = ""
    any_version: bool = False


def split_leading(words: list[str]) -> tuple[list[str], list[str]]:
    """Global flags at the beginning, with their values, and the rest."""
    with_value = {flag: bool(option.metavar) for option in _BEFORE.options for flag in option.flags}
    index = 0
    while index < len(words):
        flag, equals, _ = words[index].partition("=")
        if flag in with_value:
            index += 2 if with_value[flag] and not equals else 1
        elif len(flag) > 2 and flag[1] != "-" and with_value.get(flag[:2]):  # -ldebug
            index += 1
        else:
            break
    return words[:index], words[index:]


def value_wanted(leading: list[str]) -> Option | None:
    """The flag at the end of the leading ones whose value is still missing."""
    words = list(leading)
    while words:
        option = next((option for option in _BEFORE.options if words[0].partition("=")[0] in option.flags), None)
        taken = 2 if option and option.metavar and "=" not in words[0] else 1
        if taken > len(words):
            return option
        words = words[taken:]
    return None


def with_globals(command: Command) -> Command:
    """The command with those of the flags that mean nothing else for it. Another program's words are its own."""
    if command.verbatim:
        return command
    taken = {flag for option in command.options for flag in option.flags}
    more = [option for option in GLOBAL if taken.isdisjoint(option.flags)]
    return command._replace(options=(*command.options, *(option._replace(hidden=True) for option in more)))


def take_wishes(path: str, command: Command, leading: list[str], values: dict[str, Any]) -> Wishes:
    """Takes the global flags out of the command's values; what stands behind the command wins.

    A command for which a context means something has a flag of its own, and gets that of the beginning, too.
    """
    before = parse(path, _BEFORE, leading) if leading else {}
    if before.get("config"):
        name = next((name for name in ("config", "config_file") if name in values), None)
        if name is None:
            raise UsageError("-c has no meaning here", f"`{path}` asks no datastore", "leave it out")
        values[name] = values[name] or before["config"]
    level = values.pop("log_level", None) or before.get("log_level")
    context = values.pop("context", None) or before.get("context")
    for option in command.options:
        if "--context" in option.flags and option not in GLOBAL:
            values[option.name], context = values[option.name] or context, None
    any_version = bool(values.pop("any_version", None) or before.get("any_version"))
    if level and level not in LEVELS:
        expected = f"expected one of: {', '.join(LEVELS)}"
        raise UsageError(f"Unknown log level: {level}", expected, "--log-level=debug shows each request")
    if context:
        raise UsageError(
            f"--context {context} cannot be followed",
            "it chooses a cluster of a kubeconfig, and the Kubernetes datastore is not supported by this version",
            "leave it out, and say with DATASTORE_TYPE and ETCD_ENDPOINTS which datastore is meant",
        )
    return Wishes(level or "", any_version)
