"""The command's first step. A probe runs every few seconds on every node, so it goes past everything it can do without.

Only `node check` with its plain flags goes that way; whatever else stands behind it is for the usual parser to judge.
"""

import sys

_SWITCHES = ("live", "ready")
_VALUES = ("host", "port", "timeout")


def entry() -> None:
    words = sys.argv[1:]
    flags = probe_flags(words[2:]) if words[:2] == ["node", "check"] else None
    if flags is None:
        from tortie.cli.main import entry as usual

        usual()
        return
    from tortie.cli.node.check import check

    try:
        code = check(**flags)  # type: ignore[arg-type]
        sys.stdout.flush()
    except Exception:
        from tortie.cli.main import entry as usual  # which tells what is wrong, in the words of every command

        usual()
        return
    sys.exit(code)


def probe_flags(words: list[str]) -> "dict[str, bool | str | None] | None":
    """The parameters of `check`; None for anything that has to be explained."""
    flags: dict[str, bool | str | None] = dict.fromkeys(_SWITCHES, False) | dict.fromkeys(_VALUES)
    rest = iter(words)
    for word in rest:
        name, equals, value = word.removeprefix("--").partition("=")
        if not word.startswith("--") or name not in flags or (equals and name in _SWITCHES):
            return None
        if name in _SWITCHES:
            flags[name] = True
        elif equals:
            flags[name] = value
        else:
            flags[name] = next(rest, None)
            if flags[name] is None:
                return None
    return flags
