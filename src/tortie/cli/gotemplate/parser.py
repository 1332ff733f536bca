"""Reads a template: texts and actions, nested as `if`, `with`, `range`, `block` and `define` nest them."""

from __future__ import annotations

from typing import Final

from tortie.cli.gotemplate.functions import NAMES
from tortie.cli.gotemplate.lexer import Token, number_of, tokens_of, unquoted
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
    Jump,
    Nil,
    Node,
    Nodes,
    Operand,
    Pipe,
    Text,
    Variable,
)
from tortie.cli.gotemplate.run import Template
from tortie.cli.gotemplate.trouble import misspelt
from tortie.model.errors import UsageError
from tortie.model.kinds import nearest

NESTING_MAX: Final = 100


def compile_template(text: str) -> Template:
    """Raises `UsageError`, with line, column and a hint, for what is no template."""
    if not text:
        example = "try go-template='{{range .}}{{range .Items}}{{.Name}}{{\"\\n\"}}{{end}}{{end}}'"
        raise UsageError("need to specify a template", "an empty one would print nothing", example)
    parser = _Parser(text)
    body, _ = parser.nodes(())
    return Template(text, {"": body, **parser.defined})


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = tokens_of(text)
        self.next = 0
        self.nesting = 0
        self.ranges = 0
        self.variables = ["$"]
        self.defined: dict[str, Nodes] = {}

    def nodes(self, ends: tuple[str, ...]) -> tuple[Nodes, Token]:
        """All until one of the words that end this part; that word has been taken."""
        opened = self.tokens[max(0, self.next - 1)]
        found: list[Node] = []
        while True:
            token = self.take()
            if token.kind == "text":
                found.append(Text(token.text))
            elif token.kind == "end":
                if ends:
                    raise misspelt(self.text, opened.at, "unexpected end of the template", "close it with {{end}}")
                return tuple(found), token
            else:
                word = self.peek()
                if word.kind == "keyword" and word.text in ("end", "else"):
                    self.take()
                    if word.text not in ends:
                        why = f"unexpected {{{{{word.text}}}}}"
                        raise misspelt(self.text, word.at, why, "nothing is open here that it would belong to")
                    return tuple(found), word
                found += self.action(word)

    def action(self, word: Token) -> list[Node]:
        if word.kind != "keyword" or word.text in ("nil", "true", "false"):
            pipe = self.pipe("close")
            return [Action(word.at, pipe)]
        self.take()
        if word.text in ("if", "with", "range"):
            return [self.branch(word)]
        if word.text in ("break", "continue"):
            self.expect("close")
            if not self.ranges:
                raise misspelt(self.text, word.at, f"{{{{{word.text}}}}} outside {{{{range}}}}", "it belongs into one")
            return [Jump(word.at, word.text)]
        name = unquoted(self.text, self.expect("string"))
        if word.text == "define":
            if self.nesting:
                raise misspelt(self.text, word.at, "unexpected {{define}}", "define templates outside of others")
            self.expect("close")
            self.defined[name] = self.apart()
            return []
        dot: Pipe | None = None
        if word.text == "template" and self.peek().kind == "close":
            self.take()
        else:
            dot = self.pipe("close")
        if word.text == "block":
            self.defined[name] = self.apart()
        return [Call(word.at, name, dot)]

    def apart(self) -> Nodes:
        """The body of a template of its own, which sees no variables but `$`."""
        kept, self.variables = self.variables, ["$"]
        ranges, self.ranges = self.ranges, 0
        self.deeper()
        body, _ = self.nodes(("end",))
        self.expect("close")
        self.nesting -= 1
        self.variables, self.ranges = kept, ranges
        return body

    def branch(self, word: Token) -> Branch:
        self.deeper()
        known = len(self.variables)
        pipe = self.pipe("close", ranging=word.text == "range")
        self.ranges += word.text == "range"
        body, closing = self.nodes(("end", "else"))
        self.ranges -= word.text == "range"
        otherwise: Nodes = ()
        if closing.text == "else":
            following = self.peek()
            if following.kind == "keyword" and following.text == word.text and word.text in ("if", "with"):
                self.take()
                otherwise = (self.branch(following),)  # it takes the {{end}} for both
            else:
                self.expect("close")
                otherwise, _ = self.nodes(("end",))
                self.expect("close")
        else:
            self.expect("close")
        del self.variables[known:]
        self.nesting -= 1
        return Branch(word.at, word.text, pipe, body, otherwise)

    def pipe(self, ending: str, *, ranging: bool = False) -> Pipe:
        start = self.peek()
        variables, assigning = self.declared(ranging=ranging)
        commands: list[Command] = []
        while True:
            at = self.peek().at
            words = self.words()
            if not words:
                token = self.peek()
                what = "missing value" if token.kind == "close" or token.text == "|" else "unexpected " + token.text
                raise misspelt(self.text, token.at, what, "write a field, a variable or a function")
            if commands and isinstance(words[0], Dot | Nil | Constant):
                raise misspelt(self.text, at, "a value behind |", "a function has to stand there")
            commands.append(Command(at, words))
            token = self.take()
            if token.text == "|" and token.kind == "sign":
                continue
            if token.kind == ending or token.text == ending:
                break
            what = "unclosed left paren" if ending == ")" else f"unexpected {token.text!r}"
            raise misspelt(self.text, token.at, what, "an action ends with }}, a group with )")
        if not assigning:
            self.variables += variables
        return Pipe(start.at, tuple(commands), variables, assigning)

    def declared(self, *, ranging: bool) -> tuple[tuple[str, ...], bool]:
        """`$x :=`, `$x =`, and in a range `$i, $x :=`."""
        names: list[Token] = []
        ahead = self.next
        while self.tokens[ahead].kind == "variable":
            names.append(self.tokens[ahead])
            sign = self.tokens[ahead + 1]
            if sign.text in (":=", "="):
                break
            if not (ranging and sign.text == "," and len(names) == 1):
                return (), False
            ahead += 2
        else:
            return (), False
        assigning = self.tokens[ahead + 1].text == "="
        for name in names:
            if assigning:
                self.known(name)
        self.next = ahead + 2
        return tuple(name.text for name in names), assigning

    def words(self) -> tuple[Operand, ...]:
        found: list[Operand] = []
        while (operand := self.operand()) is not None:
            found.append(operand)
            following = self.peek()
            if (
                following.glued
                and not (following.kind == "sign" and following.text in "|)")
                and following.kind != "close"
            ):
                raise misspelt(
                    self.text, following.at, f"unexpected {following.text!r}", "a blank stands between words"
                )
        return tuple(found)

    def operand(self) -> Operand | None:
        token = self.peek()
        operand: Operand
        match token.kind, token.text:
            case "field", _:
                self.take()
                return Field(token.at, (token.text[1:], *self.fields()))
            case "variable", _:
                self.take()
                self.known(token)
                return Variable(token.at, token.text, self.fields())
            case "dot", _:
                self.take()
                operand = Dot(token.at)
            case "word", name:
                if name not in NAMES:
                    near = nearest(name, NAMES)
                    fix = f"did you mean {near}?" if near else f"a field begins with a dot: .{name}"
                    raise misspelt(self.text, token.at, f'function "{name}" not defined', fix)
                self.take()
                operand = Function(token.at, name)
            case "sign", "(":
                self.take()
                self.deeper()
                operand = self.pipe(")")
                self.nesting -= 1
            case "keyword", "nil":
                self.take()
                operand = Nil(token.at)
            case ("keyword", "true" | "false") | ("number" | "string" | "character", _):
                self.take()
                operand = Constant(token.at, self.constant(token))
            case _:
                return None
        names = self.fields()
        if not names:
            return operand
        if isinstance(operand, Nil | Constant | Dot):
            raise misspelt(self.text, token.at, f"unexpected . after {token.text}", "it has no fields")
        return Chain(token.at, operand, names)

    def constant(self, token: Token) -> str | int | float | bool:
        if token.kind == "keyword":
            return token.text == "true"
        if token.kind == "number":
            return number_of(self.text, token)
        value = unquoted(self.text, token)
        if token.kind == "string":
            return value
        if len(value) != 1:
            raise misspelt(self.text, token.at, f"malformed character {token.text}", 'write "…" for a text')
        return ord(value)

    def fields(self) -> tuple[str, ...]:
        names = []
        while self.peek().kind == "field" and self.peek().glued:
            names.append(self.take().text[1:])
        return tuple(names)

    def known(self, token: Token) -> None:
        if token.text not in self.variables:
            raise misspelt(self.text, token.at, f'undefined variable "{token.text}"', f"declare it: {token.text} := …")

    def deeper(self) -> None:
        self.nesting += 1
        if self.nesting > NESTING_MAX:
            raise misspelt(self.text, self.peek().at, "nested too deeply", f"at most {NESTING_MAX} levels are read")

    def peek(self) -> Token:
        return self.tokens[self.next]

    def take(self) -> Token:
        token = self.tokens[self.next]
        self.next = min(self.next + 1, len(self.tokens) - 1)
        return token

    def expect(self, kind: str) -> Token:
        token = self.take()
        if token.kind != kind:
            right = {"close": "}}", "string": "a name in quotes"}[kind]
            raise misspelt(self.text, token.at, f"unexpected {token.text!r}", f"{right} belongs here")
        return token
