"""Every regular expression of the doctor, and how the code uses it: found in modules, and in calls of their source."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, Final, NamedTuple

import tortie.doctor
from tortie.doctor.lazily import Lazy, lazily

_AT_BEGINNING: Final = frozenset({"match", "fullmatch"})
_ANYWHERE: Final = frozenset({"search", "sub", "subn", "finditer", "findall", "split", "groups"})
_DEEPEST: Final = 5  # tables in tables


class Expression(NamedTuple):
    """`anywhere` is false for one that is only ever tried at the beginning of a text."""

    where: str
    pattern: re.Pattern[str]
    anywhere: bool


def modules() -> list[ModuleType]:
    found = pkgutil.walk_packages(tortie.doctor.__path__, "tortie.doctor.")
    return [importlib.import_module(each.name) for each in found]


def all_expressions() -> tuple[list[Expression], list[str]]:
    """The expressions, and the calls in the source whose expression could not be told without running them."""
    from tortie.doctor.causes.catalogue import all_signs
    from tortie.doctor.reading.lexicon import RULES

    found: dict[tuple[str, int], Expression] = {}
    unknown: list[str] = []

    def add(where: str, pattern: re.Pattern[str], anywhere: bool) -> None:
        if not isinstance(pattern.pattern, str):
            return
        key = pattern.pattern, pattern.flags
        before = found.get(key)
        found[key] = Expression(
            before.where if before else where, pattern, anywhere or bool(before and before.anywhere)
        )

    loaded = modules()
    trees = {module.__name__: ast.parse(Path(module.__file__ or "").read_text("utf-8")) for module in loaded}
    used = {name: _methods(tree) for name, tree in trees.items()}
    compilers = {name for tree in trees.values() for name in _compilers(tree)}
    everywhere: dict[str, set[str]] = {}
    for own in used.values():
        for name, methods in own.items():
            everywhere.setdefault(name, set()).update(methods)
    for module in loaded:
        own = used[module.__name__]
        for name, value in vars(module).items():
            methods = (own if name.startswith("_") else everywhere).get(name, set())
            # What is in a table is used by other names.
            whole = isinstance(value, re.Pattern | Lazy)
            anywhere = not whole or not methods or bool(methods & _ANYWHERE)
            for pattern in _patterns(value, 0):
                add(f"{module.__name__}.{name}", pattern, anywhere)
        tree = trees[module.__name__]
        for call in _calls(tree, compilers):
            where = f"{module.__name__}:{call.lineno}"
            patterns = _told(call, module)
            if not patterns:
                unknown.append(f"{where}: {ast.unparse(call)}")
            for pattern in patterns:
                add(where, pattern, _is_anywhere(call, tree, own, everywhere))
    for sign in all_signs():
        add(f"sign {sign.key}", sign.pattern, True)
    for rule in RULES:
        add(f"rule {rule.kind} {rule.words[:40]}", rule.pattern, True)
    return list(found.values()), unknown


def _methods(tree: ast.AST) -> dict[str, set[str]]:
    """Which methods are called, or handed on, of which names; of `_compiled(X)` those of X."""
    found: dict[str, set[str]] = {}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute) or node.attr not in _AT_BEGINNING | _ANYWHERE:
            continue
        owner = node.value
        if isinstance(owner, ast.Call) and owner.args and isinstance(owner.args[0], ast.Name):
            owner = owner.args[0]
        name = owner.id if isinstance(owner, ast.Name) else owner.attr if isinstance(owner, ast.Attribute) else ""
        if name:
            found.setdefault(name, set()).add(node.attr)
    return found


def _patterns(value: Any, depth: int) -> Iterator[re.Pattern[str]]:
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, Lazy):
        yield value.compiled
    elif isinstance(value, dict | list | tuple | set | frozenset) and depth < _DEEPEST:
        for each in (*value, *value.values()) if isinstance(value, dict) else value:
            yield from _patterns(each, depth + 1)


def _compilers(tree: ast.AST) -> Iterator[str]:
    """Functions that compile what they are given."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and len(node.args.args) == 1:
            inside = [ast.unparse(call) for call in ast.walk(node) if isinstance(call, ast.Call)]
            if any(text.startswith(f"re.compile({node.args.args[0].arg}") for text in inside):
                yield node.name


def _calls(tree: ast.AST, compilers: set[str]) -> Iterator[ast.Call]:
    """Calls that have an expression as their first argument, outside of what compiles for others."""
    inner = {
        id(call)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name in compilers
        for call in ast.walk(node)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and node.args and id(node) not in inner:
            function = node.func
            if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
                if function.value.id == "re" and function.attr in _AT_BEGINNING | _ANYWHERE | {"compile"}:
                    yield node
            elif isinstance(function, ast.Name) and function.id in compilers | {"lazily"}:
                yield node


def _told(call: ast.Call, module: ModuleType) -> list[re.Pattern[str]]:
    """The expression of a call whose arguments are constants of the module.

    Of a name that walks over a table of the module it is whatever compiles there.
    """
    function = vars(module).get(ast.unparse(call.func))
    flags: ast.expr | None = next((word.value for word in call.keywords if word.arg == "flags"), None)
    if flags is None and ast.unparse(call.func) in ("re.compile", "lazily") and len(call.args) > 1:
        flags = call.args[1]

    def value(part: ast.expr) -> Any:
        return eval(compile(ast.Expression(part), "expression", "eval"), dict(vars(module)))

    try:
        texts = [value(call.args[0])]
    except NameError:
        texts = _table(call.args[0], module)
    with_flags = value(flags) if flags else 0
    compiler: Any = function if callable(function) and function is not lazily else None
    made = [compiler(text) if compiler else None for text in texts if isinstance(text, str | bytes)]
    # What makes something else of an expression is given it as it stands.
    plain: list[Any] = [re.compile(text, with_flags) for text in texts if isinstance(text, str | bytes)]
    return [pattern for each in made for pattern in _patterns(each, 0)] or plain


def _table(part: ast.expr, module: ModuleType) -> list[str]:
    """Strings of the module's tables, for an expression taken out of one of them."""
    inside = {node.id for node in ast.walk(part) if isinstance(node, ast.Name)}
    tables = [name for name in inside if isinstance(vars(module).get(name), dict | tuple | list)]
    if not tables and isinstance(part, ast.Name):
        tables = [name for name in vars(module) if isinstance(vars(module)[name], dict | tuple | list)]
    return [text for name in tables for text in _strings(vars(module)[name], 0)]


def _strings(value: Any, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        try:
            re.compile(value)
        except re.error:
            return
        yield value
    elif isinstance(value, dict | list | tuple) and depth < _DEEPEST:
        for each in value.values() if isinstance(value, dict) else value:
            yield from _strings(each, depth + 1)


def _is_anywhere(call: ast.Call, tree: ast.AST, own: dict[str, set[str]], everywhere: dict[str, set[str]]) -> bool:
    method = ast.unparse(call.func).removeprefix("re.")
    if method in _AT_BEGINNING:
        return False
    if method in _ANYWHERE:
        return True
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.value is call:  # _compiled(…).match
            return node.attr in _ANYWHERE
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is call:
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            name = ast.unparse(target)
            methods = (own if name.startswith("_") else everywhere).get(name, set())
            return not methods or bool(methods & _ANYWHERE)
    return True
