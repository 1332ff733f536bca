"""What a template writes about some resources. What it may do, and how deep templates call each other, is bounded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from tortie.cli.gotemplate.functions import FUNCTIONS, LONGEST_RESULT, Refused, is_true, pointed
from tortie.cli.gotemplate.nodes import (
    Action,
    Branch,
    Call,
    Chain,
    Command,
    Constant,
    Dot,
    Field,
    Function,
    Nil,
    Nodes,
    Operand,
    Pipe,
    Text,
    Variable,
)
from tortie.cli.gotemplate.printing import printed, text_of, type_name
from tortie.cli.gotemplate.trouble import stuck
from tortie.cli.gotemplate.values import Shown, Struct
from tortie.model.errors import TortieError
from tortie.model.kinds import nearest

DEPTH_MAX: Final = 50  # templates that call each other
STEPS_MAX: Final = 5_000_000

_NOTHING: Final = object()  # no value comes through the pipe


class Template(NamedTuple):
    text: str
    bodies: dict[str, Nodes]  # by name; the template itself has none

    def render(self, objects: list[Struct], *, default_as: str = "64512") -> str:
        """Raises `TortieError` with the place in the template that does not fit."""
        return _Run(self, default_as).whole(objects)


class _Scope(NamedTuple):
    dot: Any
    variables: list[tuple[str, Any]]


class _Run:
    def __init__(self, template: Template, default_as: str) -> None:
        self.template = template
        self.default_as = default_as
        self.written: list[str] = []
        self.length = 0
        self.steps = 0
        self.depth = 0

    def whole(self, objects: list[Struct]) -> str:
        self.walk(self.template.bodies[""], _Scope(objects, [("$", objects)]))
        return "".join(self.written)

    def walk(self, nodes: Nodes, scope: _Scope) -> str:
        """`break` or `continue` where one was met, else nothing."""
        known = len(scope.variables)
        for node in nodes:
            if isinstance(node, Text):
                self.write(node.text, 0)
                continue
            self.step(node.at)
            match node:
                case Action():
                    value = self.pipe(node.pipe, scope)
                    if not node.pipe.variables:
                        self.write(printed(value), node.at)
                case Branch(word="range"):
                    self.ranged(node, scope)
                case Branch():
                    if jump := self.branch(node, scope):
                        return jump
                case Call():
                    self.call(node, scope)
                case _:
                    return str(node.word)
        del scope.variables[known:]
        return ""

    def branch(self, node: Branch, scope: _Scope) -> str:
        known = len(scope.variables)
        value = self.pipe(node.pipe, scope)
        if is_true(value):
            inner = scope._replace(dot=value) if node.word == "with" else scope
            jump = self.walk(node.body, inner)
        else:
            jump = self.walk(node.otherwise, scope)
        del scope.variables[known:]
        return jump

    def ranged(self, node: Branch, scope: _Scope) -> None:
        known = len(scope.variables)
        value = self.pipe(node.pipe._replace(variables=()), scope)
        any_element = False
        for key, element in self.elements(node, value):
            any_element = True
            self.step(node.at)
            names = node.pipe.variables
            pairs = [(names[-1], element)] if len(names) == 1 else list(zip(names, (key, element), strict=False))
            if node.pipe.assigning:
                for name, each in pairs:
                    self.assign(scope, name, each)
            else:
                scope.variables.extend(pairs)
            jump = self.walk(node.body, scope._replace(dot=element))
            del scope.variables[known:]
            if jump == "break":
                break
        if not any_element:
            self.walk(node.otherwise, scope)

    def elements(self, node: Branch, value: Any) -> Iterator[tuple[Any, Any]]:
        value = pointed(value)
        if isinstance(value, list):
            return enumerate(value)
        if isinstance(value, dict):
            return ((key, value[key]) for key in sorted(value))
        if isinstance(value, int) and not isinstance(value, bool):
            return ((number, number) for number in range(value))
        if value is None:
            return iter(())
        raise self.error(node.pipe.at, f"range can't iterate over {type_name(value)}", "a list or a map is wanted")

    def call(self, node: Call, scope: _Scope) -> None:
        body = self.template.bodies.get(node.name)
        if body is None:
            near = nearest(node.name, [name for name in self.template.bodies if name])
            fix = f"did you mean {near}?" if near else f'{{{{define "{node.name}"}}}}…{{{{end}}}} makes it'
            raise self.error(node.at, f'template "{node.name}" not defined', fix)
        dot = self.pipe(node.pipe, scope) if node.pipe else None
        self.depth += 1
        if self.depth > DEPTH_MAX:
            why = f"templates call each other more than {DEPTH_MAX} times deep"
            raise self.error(node.at, why, "does one call itself without an end?")
        self.walk(body, _Scope(dot, [("$", dot)]))
        self.depth -= 1

    def pipe(self, pipe: Pipe, scope: _Scope) -> Any:
        value: Any = _NOTHING
        for command in pipe.commands:
            value = self.command(command, value, scope)
        for name in pipe.variables:
            if pipe.assigning:
                self.assign(scope, name, value)
            else:
                scope.variables.append((name, value))
        return value

    def assign(self, scope: _Scope, name: str, value: Any) -> None:
        place = max(index for index, (known, _) in enumerate(scope.variables) if known == name)
        scope.variables[place] = (name, value)

    def command(self, command: Command, piped: Any, scope: _Scope) -> Any:
        first, *rest = command.words
        if isinstance(first, Function):
            return self.function(first, rest, piped, scope)
        if isinstance(first, Nil):
            raise self.error(first.at, "nil is not a command", "compare something with it")
        if rest or piped is not _NOTHING:
            why = f"can't give argument to non-function {self.template.text[first.at :].split('}')[0].split()[0]}"
            raise self.error(first.at, why, "only functions take arguments")
        return self.operand(first, scope)

    def function(self, function: Function, words: list[Operand], piped: Any, scope: _Scope) -> Any:
        self.step(function.at)
        if function.name in ("and", "or"):
            return self.either(function, words, piped, scope)
        values = [self.operand(word, scope) for word in words]
        if piped is not _NOTHING:
            values.append(piped)
        if function.name == "config":
            if len(values) == 1 and str(values[0]).lower() == "asnumber":
                return self.default_as
            raise self.error(
                function.at, "config knows one setting", 'config "asnumber" is the AS number of the cluster'
            )
        try:
            return FUNCTIONS[function.name](*values)
        except Refused as error:
            raise self.error(function.at, f"error calling {function.name}: {error.why}", error.right) from None
        except TypeError:
            why = f"wrong number of args for {function.name}: got {len(values)}"
            raise self.error(function.at, why, "see the functions of Go's text/template") from None

    def either(self, function: Function, words: list[Operand], piped: Any, scope: _Scope) -> Any:
        """`and` and `or`: the value that decides; those behind it are not looked at."""
        value = _NOTHING
        for word in words:
            value = self.operand(word, scope)
            if is_true(value) is (function.name == "or"):
                return value
        value = piped if piped is not _NOTHING else value
        if value is _NOTHING:
            raise self.error(function.at, f"wrong number of args for {function.name}: got 0", "it takes at least one")
        return value

    def operand(self, operand: Operand, scope: _Scope) -> Any:
        match operand:
            case Dot():
                return scope.dot
            case Constant():
                return operand.value
            case Field():
                return self.below(scope.dot, operand.names, operand.at)
            case Variable():
                value = next(value for name, value in reversed(scope.variables) if name == operand.name)
                return self.below(value, operand.names, operand.at)
            case Chain():
                return self.below(self.operand(operand.operand, scope), operand.names, operand.at)
            case Pipe():
                return self.pipe(operand, scope)
            case Function():
                return self.function(operand, [], _NOTHING, scope)
        return None

    def below(self, value: Any, names: tuple[str, ...], at: int) -> Any:
        for name in names:
            value = self.member(value, name, at)
        return value

    def member(self, value: Any, name: str, at: int) -> Any:
        holder, value = value, pointed(value)
        if isinstance(value, Struct):
            try:
                return value.field(name)
            except KeyError:
                near = nearest(name, value.names())
                fix = f"did you mean {near}?" if near else f"it has {', '.join(value.names()[:12])}"
                raise self.error(at, f"can't evaluate field {name} in type {type_name(value)}", fix) from None
        if isinstance(value, dict):
            return value.get(name)
        if name == "String" and isinstance(value, Shown | int):
            return text_of(value)
        if value is None:
            if holder is None:
                raise self.error(at, f'nil data; no entry for key "{name}"', "ask with {{if}} or {{with}} first")
            why = f"nil pointer evaluating {type_name(holder)}.{name}"
            raise self.error(at, why, "not every resource has it: ask with {{if}} or {{with}} first")
        fix = "it is a list: {{range .}} goes through it" if isinstance(value, list) else "it has no fields"
        raise self.error(at, f"can't evaluate field {name} in type {type_name(value)}", fix)

    def write(self, text: str, at: int) -> None:
        self.written.append(text)
        self.length += len(text)
        if self.length > LONGEST_RESULT:
            raise self.error(at, "the template writes too much", f"at most {LONGEST_RESULT:,} characters are written")

    def step(self, at: int) -> None:
        self.steps += 1
        if self.steps > STEPS_MAX:
            raise self.error(at, "the template does not come to an end", f"at most {STEPS_MAX:,} steps are taken")

    def error(self, at: int, why: str, fix: str) -> TortieError:
        return stuck(self.template.text, at, why, fix)
