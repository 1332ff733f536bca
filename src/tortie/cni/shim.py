"""The plugin as the one file that is installed: `tortie.cni.plugin` with its settings and its second half filled in.

Python compiles a program anew each time it is called. So comments and annotations stay at home, and the second half,
which is needed only while the agent is away, travels as comments of its own kind.
"""

from __future__ import annotations

import ast
from importlib.resources import files
from typing import Final

from tortie import __version__

PYTHON: Final = "/usr/bin/python3"
_NOTE: Final = "# Tortie's CNI plugin: hands the request to the agent. Written by `tortie cni install`."


def shim_text(socket: str, state: str, python: str = PYTHON) -> str:
    """`socket`: the agent's; `state`: the folder for what the agent has to finish; `python`: an absolute path.

    -I and -S: nothing of the caller's environment or of site-packages has a say, and nothing of it is loaded. -X utf8:
    nor has the locale, which a runtime seldom sets, and which Python would spend most of a millisecond to replace.
    """
    alone = "".join(f"#|{line}\n" for line in _lean("plugin_alone.py", RELEASE=__version__).splitlines())
    text = _lean("plugin.py", SOCKET=socket, STATE=state)
    return f"#!{python} -ISXutf8\n{_NOTE}\n{text}\n{alone}"


def _lean(name: str, **constants: str) -> str:
    """The source without docstrings, comments and annotations, and with other values for its constants."""
    tree = ast.parse(files("tortie.cni").joinpath(name).read_text(encoding="utf-8"))
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
