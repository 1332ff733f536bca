"""The plugin as the one file that is installed: compiled where the package has it for this machine, else in Python.

Both take the request to the agent. What is done without the agent there is only once, in `tortie.cni.plugin_alone`: the
program in Python has it in itself, the compiled one among its settings, for the interpreter that it then becomes. So it
is with `loopback`, which the compiled program is, too, when it is called so; in Python that is another file.
"""

from __future__ import annotations

import ast
import os
from importlib.resources import files
from typing import Final, Literal, NamedTuple

from tortie import __version__

Form = Literal["compiled", "python"]

PYTHON: Final = "/usr/bin/python3"
PATIENCE_S: Final = 90.0  # more than the agent takes in its worst case
_NOTE: Final = "# Tortie's CNI plugin: hands the request to the agent. Written by `tortie cni install`."
_LOOPBACK_NOTE: Final = "# TORTIE-CNI loopback: the plugin for lo. Written by `tortie cni install`."

# As shim.c has them.
_MARK: Final = b"@TORTIE-CNI settings@"
_SETTINGS_MAX: Final = 32768


class Shim(NamedTuple):
    content: bytes
    loopback: bytes  # the plugin of that name, for machines that have none
    form: Form
    why: str = ""  # it is not compiled


def shim(
    socket: str, state: str, python: str = PYTHON, *, compiled: bool = True, patience_s: float = PATIENCE_S
) -> Shim:
    """`socket`: the agent's; `state`: the folder for what the agent has to finish; `python`: an absolute path."""
    why = "Python was asked for"
    if compiled:
        machine = os.uname().machine
        try:
            program = files("tortie.cni").joinpath(f"shim-{machine}").read_bytes()
            made = _filled(program, socket, state, python, patience_s)
            return Shim(made, made, "compiled")
        except FileNotFoundError:
            why = f"this Tortie was built without a C compiler, or not for {machine}"
    loopback = "\n".join((f"#!{python} -ISXutf8", _LOOPBACK_NOTE, _loopback()))
    return Shim(_in_python(socket, state, python, patience_s), loopback.encode(), "python", why)


def _loopback() -> str:
    return "\n".join((_lean("plugin_alone.py"), _lean("loopback.py", RELEASE=__version__), ""))


def _filled(program: bytes, socket: str, state: str, python: str, patience_s: float) -> bytes:
    """The compiled program with its settings."""
    alone = f"{_lean('plugin_alone.py', RELEASE=__version__)}\nhanded_over({socket!r}, {state!r})\n"
    texts = (socket, str(round(patience_s * 1000)), python, alone, _loopback())
    settings = b"".join(os.fsencode(text) + b"\0" for text in texts)
    place = program.index(_MARK)
    if len(settings) >= _SETTINGS_MAX:
        raise ValueError(f"{len(settings)} bytes of settings, and there is room for {_SETTINGS_MAX}")
    return program[:place] + settings.ljust(_SETTINGS_MAX, b"\0") + program[place + _SETTINGS_MAX :]


def _in_python(socket: str, state: str, python: str, patience_s: float) -> bytes:
    """The same in Python, which compiles a program anew each time it is called: comments and annotations stay at home,
    and what is needed only while the agent is away travels as comments of its own kind.

    -I and -S: nothing of the caller's environment or of site-packages has a say, and nothing of it is loaded. -X utf8:
    nor has the locale, which a runtime seldom sets, and which Python would spend most of a millisecond to replace.
    """
    alone = "".join(f"#|{line}\n" for line in _lean("plugin_alone.py", RELEASE=__version__).splitlines())
    text = _lean("plugin.py", SOCKET=socket, STATE=state, PATIENCE_S=patience_s)
    return os.fsencode(f"#!{python} -ISXutf8\n{_NOTE}\n{text}\n{alone}")


def _lean(name: str, **constants: str | float) -> str:
    """The source without docstrings, comments, annotations and imports of ours, and with other values for its
    constants.
    """
    tree = ast.parse(files("tortie.cni").joinpath(name).read_text(encoding="utf-8"))
    tree.body = [node for node in tree.body if not isinstance(node, ast.ImportFrom)]
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.FunctionDef) and ast.get_docstring(node) is not None:
            del node.body[0]
        if isinstance(node, ast.FunctionDef):
            node.returns = None
            for argument in node.args.args:
                argument.annotation = None
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id in constants:
            node.value = ast.Constant(constants[node.targets[0].id])
    return ast.unparse(tree)
