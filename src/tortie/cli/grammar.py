"""What a command takes, declared once: parsing, help and shell completion are read off it.

The standard library's getopt does the parsing. A larger command-line library was measured at four times the start
of the interpreter, before a single line of ours has run; `docs/explanation/dependencies.md` has the figures.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from tortie.model.errors import UsageError
from tortie.model.kinds import nearest
from tortie.model.light import Any, NamedTuple

# From what is typed so far and the values parsed so far to the words that may follow.
Completer = Callable[[str, dict[str, Any]], list[str]]


class Option(NamedTuple):
    flags: tuple[str, ...]
    name: str  # the parameter it fills
    help: str
    metavar: str = ""  # empty: a switch
    default: str | None = None
    repeated: bool = False
    hidden: bool = False
    choices: tuple[str, ...] = ()  # offered by completion; the command itself checks
    group: str = "Options"
    variable: str = ""  # of the environment, which counts where the flag is not given


class Argument(NamedTuple):
    name: str
    metavar: str
    required: bool = True
    repeated: bool = False
    complete: Completer | None = None


class Command(NamedTuple):
    summary: str
    run: Callable[..., int] | None = None  # None: only a family of commands; with `commands`: both
    description: str = ""
    examples: str = ""
    arguments: tuple[Argument, ...] = ()
    options: tuple[Option, ...] = ()
    commands: dict[str, Command] = {}  # noqa: RUF012
    verbatim: bool = False  # from the first word that is no flag on, everything is another program's
    hidden: bool = False


HELP = Option(("-h", "--help"), "help", "Show this message.")


class HelpWanted(Exception):
    """Raised by -h and --help, wherever they stand."""


def parse(path: str, command: Command, words: list[str]) -> dict[str, Any]:
    """The command's parameters; `path` is how the command was called, for messages."""
    getopt = _getopt()
    options = (*command.options, HELP)
    short = "".join(
        flag[1] + (":" if option.metavar else "") for option in options for flag in option.flags if len(flag) == 2
    )
    long = [
        flag[2:] + ("=" if option.metavar else "") for option in options for flag in option.flags if flag[:2] == "--"
    ]
    # Go's programs spell long flags with one dash; who declares that gets it.
    with_one_dash = {flag for option in options for flag in option.flags if len(flag) > 2 and flag[1] != "-"}
    words = [f"-{word}" if word in with_one_dash else word for word in words]
    words, others = _split(words, options) if command.verbatim else (words, [])
    try:
        given, rest = getopt.gnu_getopt(words, short, long)
        rest += others
    except getopt.GetoptError as error:
        raise _misunderstood(path, command, options, error) from None
    values: dict[str, Any] = {option.name: _unsaid(option) for option in options}
    by_flag = {flag: option for option in options for flag in option.flags}
    for flag, text in given:
        option = by_flag[flag]
        value: Any = text.removeprefix("=") if len(flag) == 2 else text  # -o=json is kubectl's habit
        values[option.name] = (*values[option.name], value) if option.repeated else value if option.metavar else True
    if values.pop("help") or (command.verbatim and not {"-h", "--help"}.isdisjoint(rest)):
        raise HelpWanted
    return values | _positional(path, command, rest)


def _getopt() -> Any:
    """Without `gettext`, which it wants for messages that nobody sees, and which brings `re` into every command."""
    import sys

    absent = "gettext" not in sys.modules
    if absent:
        sys.modules["gettext"] = None  # type: ignore[assignment] # import then says that there is none
    try:
        import getopt
    finally:
        if absent:
            del sys.modules["gettext"]
    return getopt


def _split(words: list[str], options: tuple[Option, ...]) -> tuple[list[str], list[str]]:
    """Our own flags, as far as the words begin with them, and what is another program's: its flags, too."""
    flags = {flag: option for option in options for flag in option.flags}
    index = 0
    while index < len(words) and (option := flags.get(words[index].partition("=")[0])):
        index += 2 if option.metavar and "=" not in words[index] else 1
    ours, others = words[:index], words[index:]
    return ours, others[1:] if others[:1] == ["--"] else others


def _unsaid(option: Option) -> Any:
    """What holds when the flag is not given. The environment is looked at now: one process may be several in turn."""
    if option.repeated:
        return ()
    if not option.metavar:
        return False
    return (os.environ.get(option.variable) if option.variable else None) or option.default


def _positional(path: str, command: Command, words: list[str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for argument in command.arguments:
        if argument.repeated:
            values[argument.name], words = tuple(words), []
        else:
            values[argument.name], words = (words[0], words[1:]) if words else (None, [])
        if argument.required and not values[argument.name]:
            what = f"{argument.metavar} is missing"
            raise UsageError(what, f"`{path}` needs it", f"{path} {usage_of(command)}")
    if words:
        raise UsageError(f"unexpected word '{words[0]}'", f"`{path}` takes nothing more", f"`{path} --help`")
    return values


def _misunderstood(path: str, command: Command, options: tuple[Option, ...], error: Any) -> UsageError:
    flag = f"--{error.opt}" if len(error.opt) > 1 else f"-{error.opt}"
    known = [name for option in options for name in option.flags if not option.hidden]
    if flag in known:
        return UsageError(f"the flag {flag} is used wrongly", str(error.msg), f"`{path} --help` shows how")
    near = nearest(flag, known)
    hint = f"did you mean {near}? " if near else ""
    what = f"unknown flag {flag}"
    if command.arguments and command.arguments[-1].metavar == "COMMAND":
        hint += "if it is the command's, put -- before the command; "
    return UsageError(what, f"`{path}` has no flag of that name", f"{hint}`{path} --help` lists them")


def usage_of(command: Command) -> str:
    words = []
    for argument in command.arguments:
        word = argument.metavar if argument.required else f"[{argument.metavar}]"
        words.append(word + ("..." if argument.repeated else ""))
    return " ".join(words)


def help_text(path: str, command: Command) -> str:
    import shutil
    import textwrap

    width = max(60, min(shutil.get_terminal_size().columns, 110))

    def wrapped(text: str, indent: int, first: str = "") -> str:
        blank = " " * indent
        return textwrap.fill(text, width, initial_indent=first.ljust(indent), subsequent_indent=blank)

    tails = [f"[OPTIONS] {usage_of(command)}".strip()] if command.run or not command.commands else []
    tails += ["COMMAND ..."] if command.commands else []
    parts = ["\n".join(f"{lead} {path} {tail}" for lead, tail in zip(("Usage:", "   or:"), tails, strict=False))]
    parts.append("\n\n".join(wrapped(text, 2) for text in (command.description or command.summary).split("\n\n")))
    if command.commands:
        rows = [wrapped(sub.summary, 14, f"  {name}") for name, sub in command.commands.items() if not sub.hidden]
        parts.append("Commands:\n" + "\n".join(rows))
    groups: dict[str, list[str]] = {}
    for option in (*command.options, HELP):
        if not option.hidden:
            label = ", ".join(option.flags) + (f" {option.metavar}" if option.metavar else "")
            shown = option.help + (f" [default: {option.default}]" if option.default else "")
            gap = f"  {label}\n" if len(label) > 26 else ""
            text = wrapped(shown, 30, "" if gap else f"  {label}")
            groups.setdefault(option.group, []).append(gap + text)
    parts += [f"{group}:\n" + "\n".join(rows) for group, rows in groups.items()]
    if command.examples:
        parts.append("Examples:\n" + textwrap.indent(textwrap.dedent(command.examples).strip(), "  "))
    return "\n\n".join(parts) + "\n"
