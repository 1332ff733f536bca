"""Chats: who spoke, and when, stands before what was said; that may be a sentence, a command, output or a log.

`[14:21] timo: took a dump …`, `19:18 @mira: pods on one host can talk`, `[10:02 agnes] restarted it`.
"""

from __future__ import annotations

from typing import Final

from tortie.doctor.lazily import lazily
from tortie.model.tuples import NamedTuple

_CLOCK: Final = r"(?:\d{4}-\d\d-\d\d )?\d{1,2}:\d\d(?::\d\d)?(?: ?[AP]M)?"
_NAME: Final = r"[^\W\d_][\w.-]{0,23}"
_TURN: Final = lazily(
    rf"(?:\[{_CLOCK}\] {{1,4}}|{_CLOCK} {{1,4}}(?=@))<?@?(?P<one>{_NAME})>?(?:： {{0,8}}|: {{1,8}}|:$)"
    rf"|\[{_CLOCK} @?(?P<other>{_NAME})\](?: {{1,8}}|$)"
)
_LEAST: Final = 3  # turns that make a chat
# Logs have such heads, too.
_PROGRAMS: Final = frozenset(
    ("bird", "bird6", "felix", "confd", "kubelet", "kernel", "containerd", "dockerd", "systemd", "etcd", "calico",
     "typha", "error", "warning", "warn", "info", "debug", "fatal", "panic", "notice", "trace", "err")
)  # fmt: skip


class Chat(NamedTuple):
    lines: tuple[str, ...]  # what was said, without who said it
    turns: frozenset[int]  # the indexes of lines with which somebody begins to speak


def chat(lines: tuple[str, ...]) -> Chat:
    """The lines as they are where nobody chats."""
    turns = {index: match for index, line in enumerate(lines) if ":" in line[:20] and (match := _TURN.match(line))}
    names = {(match["one"] or match["other"]).lower() for match in turns.values()}
    if len(turns) < _LEAST or any(name in _PROGRAMS or name.startswith("calico") for name in names):
        return Chat(lines, frozenset())
    said = tuple(line[turns[index].end() :] if index in turns else line for index, line in enumerate(lines))
    return Chat(said, frozenset(turns))
