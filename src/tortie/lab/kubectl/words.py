"""The words of a kubectl command: the verb, what it is about, and flags, wherever they stand. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

DEFAULT: Final = "kube-system"  # of the lab's context: what people look at is there

# Flags by their long names; what a short one means may depend on the verb.
_VALUED: Final = frozenset(
    [
        "namespace",
        "output",
        "selector",
        "field-selector",
        "container",
        "tail",
        "since",
        "since-time",
        "type",
        "patch",
        "sort-by",
        "label-columns",
        "timeout",
        "grace-period",
        "template",
        "context",
        "kubeconfig",
        "request-timeout",
        "server",
        "cascade",
        "chunk-size",
        "for",
        "types",
        "limit-bytes",
        "max-log-requests",
        "revision",
        "pod-selector",
        "v",
        "cluster",
        "user",
        "token",
        "as",
        "as-group",
        "filename",
        "patch-file",
        "resource-version",
        "certificate-authority",
        "client-certificate",
        "client-key",
        "cache-dir",
        "dry-run",
        "field-manager",
        "subresource",
        "from",
        "prefix-env",
        "resource",
        "keys",
        "env",
        "pod-running-timeout",
        "to-revision",
        "skip-wait-for-delete-timeout",
    ]
)
_SWITCHES: Final = frozenset(
    [
        "all-namespaces",
        "no-headers",
        "show-labels",
        "watch",
        "watch-only",
        "previous",
        "follow",
        "timestamps",
        "all-containers",
        "prefix",
        "force",
        "now",
        "wait",
        "overwrite",
        "all",
        "ignore-not-found",
        "ignore-daemonsets",
        "delete-emptydir-data",
        "delete-local-data",
        "disable-eviction",
        "short",
        "client",
        "list",
        "show-events",
        "show-kind",
        "show-managed-fields",
        "record",
        "recursive",
        "local",
        "stdin",
        "tty",
        "quiet",
        "ignore-errors",
        "insecure-skip-tls-verify",
        "server-print",
        "allow-missing-template-keys",
        "help",
        "insecure-skip-tls-verify-backend",
        "warnings-as-errors",
        "match-server-version",
        "resolve",
    ]
)
_SHORT: Final = {
    "n": "namespace",
    "o": "output",
    "l": "selector",
    "c": "container",
    "A": "all-namespaces",
    "w": "watch",
    "L": "label-columns",
    "s": "server",
    "v": "v",
    "i": "stdin",
    "t": "tty",
    "q": "quiet",
    "R": "recursive",
    "h": "help",
    "e": "env",
}
_SHORT_OF_VERB: Final = {
    ("p", "logs"): "previous",
    ("p", "patch"): "patch",
    ("f", "logs"): "follow",
    ("p", ""): "patch",
    ("f", ""): "filename",
}
_OPTIONAL: Final = {"dry-run": "unchanged", "cascade": "background"}  # flags that may stand without their value


class BadWords(ValueError):
    """In the words of kubectl."""


class Request(NamedTuple):
    verb: str
    words: tuple[str, ...] = ()
    flags: Mapping[str, str] = {}  # long name → value; a switch has `true` or `false`
    command: tuple[str, ...] = ()  # what follows --

    def flag(self, name: str, otherwise: str = "") -> str:
        return self.flags.get(name, otherwise)

    def has(self, name: str) -> bool:
        return self.flags.get(name, "false").lower() not in ("false", "0", "f", "")

    @property
    def namespace(self) -> str:
        """Where it looks; "" for everywhere."""
        return "" if self.has("all-namespaces") else self.flag("namespace", DEFAULT)

    @property
    def anywhere(self) -> bool:
        """Whether nobody said where: what is asked for by name may then be in any namespace."""
        return "namespace" not in self.flags


def request_of(words: Sequence[str]) -> Request:
    verb, others, flags = "", [], {}
    pending = list(words)
    command: tuple[str, ...] = ()
    while pending:
        word = pending.pop(0)
        if word == "--":
            command = tuple(pending)
            break
        if word.startswith("--"):
            name, sign, value = word[2:].partition("=")
            flags[name] = _long(name, sign, value, pending, verb)
        elif word.startswith("-") and len(word) > 1 and not _is_number(word):
            _short(word, pending, verb, flags)
        elif not verb:
            verb = word
        else:
            others.append(word)
    return Request(verb, tuple(others), flags, command)


def _is_number(word: str) -> bool:
    """`--tail -1` has its value as a word of its own, which is taken with the flag; any other is one of kubectl's."""
    return word[1:].isdigit()


def _long(name: str, sign: str, value: str, pending: list[str], verb: str) -> str:
    if name in _SWITCHES:
        return value if sign else "true"
    if name not in _VALUED:
        raise BadWords(f"error: unknown flag: --{name}\nSee 'kubectl {verb} --help' for usage.".replace("  ", " "))
    if sign:
        return value
    if name in _OPTIONAL:
        return _OPTIONAL[name]
    if not pending:
        raise BadWords(f"error: flag needs an argument: --{name}\nSee 'kubectl {verb} --help' for usage.")
    return pending.pop(0)


def _short(word: str, pending: list[str], verb: str, flags: dict[str, str]) -> None:
    """One letter, or several switches together, the last of which may have a value: -owide, -it, -n kube-system."""
    letters = word[1:]
    while letters:
        letter, letters = letters[0], letters[1:]
        name = _SHORT_OF_VERB.get((letter, verb)) or _SHORT.get(letter) or _SHORT_OF_VERB.get((letter, ""))
        if name is None:
            raise BadWords(
                f"error: unknown shorthand flag: '{letter}' in {word}\nSee 'kubectl {verb} --help' for usage."
            )
        if name in _SWITCHES:
            flags[name] = "true"
            continue
        if letters:
            flags[name] = letters.removeprefix("=")
        elif pending:
            flags[name] = pending.pop(0)
        else:
            raise BadWords(
                f"error: flag needs an argument: '{letter}' in {word}\nSee 'kubectl {verb} --help' for usage."
            )
        return
