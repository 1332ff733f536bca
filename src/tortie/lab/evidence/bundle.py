"""Answers as files: each command at its prompt, its answer below, in the layout that `tortie doctor collect` has."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

from tortie.lab.evidence.questions import ROOT, Answer
from tortie.lab.evidence.sending import Heard

LATE: Final = "^C (no answer within 10 s)"
UNHEARD: Final = "(the machine did not answer in time)"

Redacted = Callable[[Sequence[str]], Iterable[str]]


class File(NamedTuple):
    path: str  # nodes/node-1/ip-addr.txt
    text: str


class Bundle(NamedTuple):
    lab: str
    nodes: tuple[str, ...]
    files: tuple[File, ...]
    redactions: int
    seconds: float


def files_of(all_heard: Sequence[Heard], redacted: Redacted, mask: str) -> tuple[tuple[File, ...], int]:
    """Sorted by path; and how many secrets were taken out."""
    texts: dict[str, list[str]] = {}
    count = 0
    for heard in all_heard:
        if not heard.whole:
            texts.setdefault(f"{heard.errand.folder}/load", []).append(f"[root@{heard.errand.host} ~]# \n{UNHEARD}\n")
        for answer in heard.answers:
            if answer.question.silent:
                continue
            part = answer.question.part
            path = part if part.startswith("nodes/") else f"{heard.errand.folder}/{part}"
            text, hidden = _without_secrets(shown(heard.errand.host, answer, heard.errand.root), redacted, mask)
            count += hidden
            texts.setdefault(path, []).append(text)
    return tuple(File(f"{path}.txt", "\n".join(parts)) for path, parts in sorted(texts.items())), count


def shown(host: str, answer: Answer, root: str) -> str:
    """As on a terminal; paths are those that the node itself has."""
    command = answer.question.command.replace(ROOT, "")
    text = own_paths(answer.text, root)
    if text and not text.endswith("\n"):
        text += "\n"
    if command == "df -h":
        text = _once(text)
    late = f"{LATE}\n" if answer.late else ""
    return f"[root@{host} ~]# {own_paths(command, root)}\n{text}{late}"


def own_paths(text: str, root: str) -> str:
    """Nodes of a lab have their files below folders of the machine; it is the node that people ask about."""
    nodes = os.path.dirname(root)
    return re.sub(re.escape(nodes) + r"/[a-z0-9][-.a-z0-9]*(?:/|(?![-.a-z0-9]))", "/", text) if nodes else text


def _once(table: str) -> str:
    return "".join(f"{line}\n" for line in dict.fromkeys(table.splitlines()))


def _without_secrets(text: str, redacted: Redacted, mask: str) -> tuple[str, int]:
    lines = text.split("\n")
    clean = "\n".join(redacted(lines))
    return clean, clean.count(mask) - text.count(mask)
