"""Which programs a command line would run, those behind ssh, sh -c, sudo, kubectl exec and $(…), too. Pure.

This reads what our templates are made of, not all that a shell knows. What it cannot read is one program without a
name, which nobody takes for safe; it never raises.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from tortie.doctor.lazily import lazily
from tortie.model.tuples import NamedTuple

_OPERATOR: Final = lazily(r"&&|\|\||;;?|\|&?|&(?!>)|\n|\)")
_REDIRECT: Final = lazily(r"(?:&>>?|<<<|<>|<<-?|>>|>\||>&|<&|<(?!\()|>(?!\())(?:[0-9-](?=\s|$|[;|&)]))? *")
HEREDOC: Final = lazily(
    r"<<-?\s*(?P<quote>['\"]?)(?P<end>\w+)(?P=quote)(?P<rest>[^\n]{0,400})\n(?P<body>.*?)\n\s*(?P=end)(?=\n|$)",
    re.DOTALL,
)
_ASSIGNMENT: Final = lazily(r"[A-Za-z_]\w*\+?=")
_KEYWORDS: Final = frozenset(
    ("do", "done", "then", "fi", "else", "elif", "if", "while", "until", "!", "{", "}", "time")
)
_SHELLS: Final = ("sh", "bash", "ash", "su")
_COMMAND_OPTION: Final = lazily(r"-[a-z]*c")
_IN_CONTAINERS: Final = ("kubectl", "oc", "docker", "crictl", "nerdctl", "podman")
_DISTRIBUTIONS: Final = ("microk8s", "k3s", "rke2", "k0s", "minikube")
DEEPEST: Final = 20  # a template is read by people: nobody nests shells like this

# Options that have a value behind them, by program.
_KUBECTL: Final = (
    "-n --namespace -c --container -l --selector -o --output -f --filename -s --server -L -p --patch --context "
    "--kubeconfig --type --field-selector --tail --since --as --timeout --token --user"
)
_DOCKER: Final = "-u --user -w --workdir -e --env -H --host -f --format"
_VALUED: Final[Mapping[str, str]] = {
    "kubectl": _KUBECTL,
    "oc": _KUBECTL,
    "docker": _DOCKER,
    "nerdctl": _DOCKER,
    "podman": _DOCKER,
    "etcdctl": "--endpoints --cacert --cert --key --user -w --write-out --command-timeout --peer-urls",
    "calicoctl": "-c --config -o --output -f --filename -p --patch -t --type --context -n --namespace",
    "ssh": "-i -p -l -o -J -F -b -c -D -E -e -I -L -m -O -Q -R -S -W -w -B",
    "sudo": "-u -g -h -p -C -r -t -U -D -R",
    "timeout": "-k -s --signal --kill-after",
    "xargs": "-n -I -P -L -d -E -s -a",
    "watch": "-n --interval",
    "nice": "-n",
    "ionice": "-c -n -p",
    "env": "-u -C",
    "nsenter": "-t --target -S -G",
    "crictl": "-r --runtime-endpoint -i --image-endpoint --timeout -o --output",
    "ctr": "-n --namespace -a --address",
    "systemctl": "-n -o -p --property -t --type -H -M --lines",
    "talosctl": "-n --nodes -e --endpoints --talosconfig",
    "ip": "-n -netns -f -family",
    "tc": "-n -netns",
    "nmcli": "-f --fields -g -t",
    "sysctl": "",
    "conntrack": "-p -s -d -f -o",
}


class Simple(NamedTuple):
    """One program with its words, without the quotes around them; holes are shown as `<label>`."""

    program: str
    words: tuple[str, ...]
    redirections: tuple[str, ...] = ()  # each begins with its sign: `>file`, `2>&1`

    @property
    def options(self) -> tuple[str, ...]:
        return tuple(word for word in self.words if word.startswith("-"))

    @property
    def operands(self) -> tuple[str, ...]:
        """Words that are neither options nor values of options: verb first."""
        return tuple(self.words[index] for index in self._places())

    def after(self, count: int) -> tuple[str, ...]:
        """Everything from this operand on: the program that another one runs."""
        places = self._places()
        return self.words[places[count] :] if len(places) > count else ()

    def _places(self) -> list[int]:
        valued = _VALUED.get(self.program, "").split()
        found: list[int] = []
        skip = ended = False
        for index, word in enumerate(self.words):
            if skip:
                skip = False
            elif word == "--" and not ended:
                ended = True
            elif word.startswith("-") and len(word) > 1 and not ended:
                skip = word in valued
            else:
                found.append(index)
        return found


class _Segment(NamedTuple):
    """What stands between two operators."""

    words: list[str]
    redirections: list[str]
    inner: list[str]  # scripts in $(…), `…`, <(…) and (…)


def programs(text: str, depth: int = 0) -> Iterator[Simple]:
    """All of them, in the order of the text."""
    try:
        segments = list(_Reader(text).segments()) if depth <= DEEPEST else [_unread(text)]
    except UnreadableError:
        segments = [_unread(text)]
    for segment in segments:
        for script in segment.inner:
            yield from programs(script, depth + 1)
        words = _without_keywords(segment.words)
        if words:
            yield from _run(Simple(words[0], tuple(words[1:]), tuple(segment.redirections)), depth)
        elif segment.redirections:
            yield Simple(":", (), tuple(segment.redirections))


def _unread(text: str) -> _Segment:
    return _Segment(["", text], [], [])


def _without_keywords(words: list[str]) -> list[str]:
    while words and (words[0] in _KEYWORDS or _ASSIGNMENT.match(words[0])):
        words = words[1:]
    return [] if words[:1] == ["for"] else words


def _run(command: Simple, depth: int) -> Iterator[Simple]:
    """The program; or, where it only runs another one, that one."""
    command = command._replace(program=command.program.rpartition("/")[2])
    inner = _inner(command)
    if depth > DEEPEST or inner is None:
        yield command
    elif isinstance(inner, str):
        yield from programs(inner, depth + 1)
        if command.redirections:
            yield Simple(":", (), command.redirections)
    else:
        yield from _run(Simple(inner[0], inner[1:], command.redirections), depth + 1)


def _inner(command: Simple) -> tuple[str, ...] | str | None:
    """What it runs: words, a script, or nothing but itself."""
    name, words = command.program, command.words
    if name == "ssh":
        return " ".join(command.after(1)) or None
    if name == "watch":
        return " ".join(command.after(0)) or None
    if name in _SHELLS:
        places = [index for index, word in enumerate(words) if _COMMAND_OPTION.fullmatch(word)]
        return words[places[0] + 1] if places and len(words) > places[0] + 1 else None
    if name in _IN_CONTAINERS and command.operands[:1] == ("exec",):
        return (words[words.index("--") + 1 :] if "--" in words else _exec(command)) or None
    if name in _DISTRIBUTIONS and command.operands[:1] == ("kubectl",):
        return ("kubectl", *(word for word in command.after(0)[1:] if word != "--"))
    if name == "ip" and command.operands[:2] == ("netns", "exec"):
        return command.after(3) or None
    if name in ("sudo", "xargs", "nohup", "nice", "ionice", "nsenter", "stdbuf", "env"):
        return _assigned(command.after(0)) or None
    if name in ("timeout", "chroot"):
        return command.after(1) or None
    return ("kubectl", *words) if name in ("microk8s.kubectl", "rke2-kubectl") else None


def _exec(command: Simple) -> tuple[str, ...]:
    """docker exec and crictl exec need no `--`; kubectl does."""
    return command.after(2) if command.program not in ("kubectl", "oc") else ()


def _assigned(words: tuple[str, ...]) -> tuple[str, ...]:
    while words and _ASSIGNMENT.match(words[0]):
        words = words[1:]
    return words


class UnreadableError(Exception):
    """A quote, a bracket or a here-document without its end."""


class _Reader:
    """Splits a text into programs' words; a redirection is one word that begins with its sign."""

    def __init__(self, text: str) -> None:
        self._inner: list[str] = []  # scripts in $(…), `…`, <(…) and (…) of the program that is read
        documents = [document for document in HEREDOC.finditer(text) if not document["quote"]]
        self._text = HEREDOC.sub(lambda found: found["rest"], text)
        if re.search(r"(?<!<)<<(?!<)", re.sub(r"'[^']*'", "", self._text)):
            raise UnreadableError
        for document in documents:
            self._inner.extend(substitutions(document["body"]))
        self._words: list[str] = []
        self._redirections: list[str] = []
        self._word: str | None = None
        self._redirects = False
        self._at = 0

    def segments(self) -> Iterator[_Segment]:
        while self._at < len(self._text):
            operator = _OPERATOR.match(self._text, self._at)
            if operator:
                self._at = operator.end()
                self._end_word()
                yield self._taken()
            else:
                self._step(self._text[self._at])
        self._end_word()
        yield self._taken()

    def _taken(self) -> _Segment:
        taken = _Segment(self._words, self._redirections, self._inner)
        self._words, self._redirections, self._inner = [], [], []
        return taken

    def _step(self, letter: str) -> None:
        if letter in " \t":
            self._at += 1
            self._end_word()
        elif letter == "#" and self._word is None:
            end = self._text.find("\n", self._at)
            self._at = end if end >= 0 else len(self._text)
        elif letter in "'\"":
            end = closing(self._text, self._at)
            quoted = self._text[self._at + 1 : end]
            self._inner.extend(substitutions(quoted) if letter == '"' else ())
            self._take(quoted, end + 1)
        elif letter == "\\":
            escaped = self._text[self._at + 1 : self._at + 2]
            if escaped == "\n":
                self._at += 2
            else:
                self._take(escaped, self._at + 2)
        else:
            self._bare(letter)

    def _bare(self, letter: str) -> None:
        text, at = self._text, self._at
        redirect = _REDIRECT.match(text, at)
        if letter == "`" or text.startswith(("$(", "<(", ">("), at) or (letter == "(" and self._word is None):
            opening = at if letter in "`(" else at + 1
            end = closing(text, opening)
            self._take(text[at : end + 1], end + 1)
            self._inner.extend(_scripts(text[opening + 1 : end]))
            if letter == "(":
                self._word = None  # a script of its own, not a word
        elif redirect:
            if self._word is not None and not self._word.isdigit():
                self._end_word()
            self._take(redirect[0].strip(), redirect.end())
            self._redirects = True
        else:
            self._take(letter, at + 1)

    def _take(self, text: str, end: int) -> None:
        self._word = (self._word or "") + text
        self._at = end

    def _end_word(self) -> None:
        if self._word is not None:
            (self._redirections if self._redirects else self._words).append(self._word)
        self._word, self._redirects = None, False


def _scripts(inside: str) -> tuple[str, ...]:
    """What `$(…)` runs; `$((…))` only counts."""
    return () if inside.startswith("(") and inside.endswith(")") else (inside,)


def substitutions(quoted: str) -> Iterator[str]:
    """Scripts inside of double quotes or of a here-document that is not quoted."""
    index = 0
    while index < len(quoted):
        if quoted.startswith("$(", index) or quoted[index] == "`":
            opening = index + (quoted[index] == "$")
            index = closing(quoted, opening)
            yield from _scripts(quoted[opening + 1 : index])
        index += 2 if quoted[index : index + 1] == "\\" else 1


def closing(text: str, start: int) -> int:
    """Where the quote, the backtick or the bracket that opens here is closed."""
    opener = text[start]
    closer = ")" if opener == "(" else opener
    index = start + 1
    while index < len(text):
        letter = text[index]
        if letter == closer:
            return index
        if letter == "\\" and opener != "'":
            index += 1
        elif opener == '"' and text.startswith("$(", index):
            index = closing(text, index + 1)
        elif opener == "(" and letter in "'\"(`":
            index = closing(text, index)
        index += 1
    raise UnreadableError
