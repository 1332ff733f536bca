"""The commands of a page, and what the page says that they print; so that pages can be held to their word."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

REST: Final = "..."  # stands for lines that the page does not show
_PATIENCE_S: Final = 90.0
_LOOK_S: Final = 0.2
_COMMAND_S: Final = 120.0

_BLOCK: Final = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_REMARK: Final = re.compile(r"  +# .*$")
# What differs from run to run; a table or a frame around it may then be wider or narrower.
_VARYING: Final = (
    (re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d:\d\d(?:\.\d+)?)?|\d\d:\d\d:\d\d"), "TIME"),
    (re.compile(r"\b(?:[0-9a-f]{64}|[0-9a-f]{12})\b"), "CONTAINER"),
    (re.compile(r"✓ \d+(?:\.\d+)?(?=\s|$)"), "✓ MS"),
    (re.compile(r"\d+(?:\.\d+)? (?:s|秒)|\d+ min(?: \d+ s)?|\b(?:\d+[dhm])*\d+[dhms]\b|(?:\d+[天时分])*\d+秒"), "SPAN"),
    (re.compile(r"(process|进程) \d+"), r"\1 PID"),
    (re.compile(r"\]\[\d+\]"), "][PID]"),
    (re.compile(r"\d+ (processes|个进程)"), r"MANY \1"),  # a probe may be under way
    (re.compile(r"\b(calico-node|calico-kube-controllers-\w+)-[a-z0-9]{5}\b"), r"\1-NAME"),
    (re.compile(r"\bcalico-kube-controllers-\w+-NAME"), "calico-kube-controllers-NAME"),
    (re.compile(r"-{2,}"), "--"),
    (re.compile(r" {2,}"), " "),
)
# These change something, so that they are not asked twice.
_ONCE: Final = re.compile(
    r"tortie lab (up|down|start|stop|break|heal|evidence|pod run|pod delete)\b|kubectl .*set env|&$|\bcat >|\bkill\b"
    r"|-- bird |birdc .*down|/bgpd |ip addr add"
    r"|tortie (delete|cni install|controllers run|datastore (un)?lock|ipam (migrate|repair))\b|sed -i"
)
# After these somebody who listened on the router's BGP port is about to end, and the next one needs that port.
_LISTENERS: Final = "tortie lab exec router -- ss -Hltn 'sport = :179'"
_ENDS_A_SPEAKER: Final = re.compile(r"birdc .*down|\bkill\b")


class Step(NamedTuple):
    command: str
    printed: str


def steps(page: str, about: str, without: str = "\0") -> Iterator[Step]:
    """Of all blocks of a page that have `about` in them, and nothing of `without`."""
    for language, block in _BLOCK.findall(page):
        if about in block and without not in block and not language:
            yield from _steps(block)


def _steps(block: str) -> Iterator[Step]:
    command: list[str] = []
    printed: list[str] = []
    until = ""
    for line in block.splitlines():
        if until or (command and command[-1].endswith("\\") and not printed):
            command.append(line)
            until = "" if line == until else until
        elif line.startswith("$ "):
            if command:
                yield Step("\n".join(command), "\n".join(printed))
            command, printed = [_REMARK.sub("", line[2:])], []
            until = "END" if "<<END" in line else ""
        else:
            printed.append(line)
    if command:
        yield Step("\n".join(command), "\n".join(printed))


class Desk:
    """A folder in which the commands of a page are typed, one after the other."""

    def __init__(self, folder: Path, **variables: str) -> None:
        programs = os.pathsep.join((os.path.dirname(sys.executable), os.environ["PATH"], "/usr/sbin", "/sbin"))
        self._folder = folder
        self._environment = {"PATH": programs, "LANG": "C.UTF-8", "HOME": str(folder), "TERM": "dumb", **variables}

    def type(self, command: str) -> str:
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self._folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_COMMAND_S,
            check=False,
        )
        return done.stdout.decode()

    def follow(self, step: Step) -> None:
        """A look is repeated for a while: sessions and routes take a moment."""
        deadline = time.monotonic() + _PATIENCE_S
        while True:
            printed = self.type(step.command)
            if agrees(step.printed, printed):
                break
            if _ONCE.search(step.command) or time.monotonic() > deadline:
                assert settled(printed) == settled(step.printed), f"$ {step.command}\n{printed}"
            time.sleep(_LOOK_S)
        while _ENDS_A_SPEAKER.search(step.command) and self.type(_LISTENERS):
            assert time.monotonic() < deadline, f"$ {step.command}\nsomebody still listens for BGP"
            time.sleep(_LOOK_S)


def agrees(page: str, printed: str) -> bool:
    pattern = re.escape(settled(page)).replace(re.escape(REST), ".*")
    return re.fullmatch(pattern, settled(printed), re.DOTALL) is not None


def settled(text: str) -> str:
    """Without what differs from run to run."""
    for varying, name in _VARYING:
        text = varying.sub(name, text)
    return "\n".join(line.strip() for line in text.strip().splitlines())
