"""`tortie lab tool`: what people type on a node, answered by the lab. The small scripts in a node's PATH call it."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any, Final, NamedTuple

from tortie.cli.lab.talk import Talk, spoken
from tortie.lab.failures import LabFailure
from tortie.lab.kubelet.jobs import Paths
from tortie.lab.kubelet.runtime_client import DEADLINE, RuntimeFailure, ask_runtime
from tortie.lab.kubelet.service_texts import Unit, containers_table, journal, unit_of, unit_status
from tortie.lab.registry import LabFolder

_CRICTL_S: Final = 10.0
_UNIT_S: Final = 30.0
_STATUS_LINES: Final = 10
_ALIASES: Final = {"kubelet": "kubelet", "containerd": "containerd", "docker": "containerd"}
_ACTIONS: Final = ("start", "stop", "restart")
_USES: Final = {
    "systemctl": "systemctl status|is-active|start|stop|restart kubelet|containerd|docker",
    "journalctl": "journalctl -u kubelet|containerd|docker [-n N] [--no-pager]",
    "crictl": "crictl ps [-a] [-o json] | info | logs [--tail N] CONTAINER",
    "swapoff": "swapoff -a",
}
_NOT_KNOWN: Final = {
    "en": "{program}: the lab has only a part of it: {use}\n",
    "zh": "{program}：实验环境只提供其中一部分：{use}\n",
}
_NOT_A_NODE: Final = {
    "en": "{program}: say on which node: tortie lab exec NODE {program} …, or --node NODE\n",
    "zh": "{program}：请指明节点：tortie lab exec 节点 {program} …，或 --node 节点\n",
}


class _Place(NamedTuple):
    talk: Talk
    folder: LabFolder
    node: str

    @property
    def paths(self) -> Paths:
        return Paths(self.folder.machine(self.node))

    def ask(self, do: str, timeout_s: float = _UNIT_S, **fields: Any) -> dict[str, Any]:
        with closing(self.talk.keeper(self.folder)) as keeper:
            return keeper.ask(do, deadline=time.monotonic() + timeout_s, **fields)


def tool(
    *, name: str | None, program: str, words: tuple[str, ...], node: str | None = None, lang: str | None = None
) -> int:
    name = name or os.environ.get("TORTIE_LAB") or None
    if program == "kubectl":
        from tortie.cli.lab.kubectl import kubectl

        return kubectl(name=name, lang=lang, words=words)

    def work(talk: Talk) -> int:
        does = _TOOLS.get(program)
        if does is None:
            return _refuse(talk, _NOT_KNOWN, program, "; ".join(_USES.values()))
        where = node or os.environ.get("NODENAME")
        if not where:
            return _refuse(talk, _NOT_A_NODE, program)
        folder = talk.folder()
        if "/" in where or where.startswith(".") or not os.path.isdir(folder.machine(where)):
            raise LabFailure("unknown-machine", lab=folder.name, machine=where, machines=_nodes(folder))
        return does(_Place(talk, folder, where), list(words))

    return spoken(work, name=name, lang=lang, output="text", color="auto", forms=("text",))


def _nodes(folder: LabFolder) -> str:
    return ", ".join(sorted(os.listdir(os.path.join(folder.path, "nodes")))) or "-"


def _refuse(talk: Talk, texts: dict[str, str], program: str, use: str = "") -> int:
    sys.stderr.write(texts[talk.language].format(program=program, use=use))
    return 2


# systemctl


def _systemctl(place: _Place, words: list[str]) -> int:
    lines, words = _lines_wanted(words)
    plain = [word for word in words if not word.startswith("-")]
    names = [word.removesuffix(".service") for word in plain[1:]]
    if plain == ["daemon-reload"]:
        return 0
    if not names or plain[0] not in ("status", "is-active", *_ACTIONS):
        return _refuse(place.talk, _NOT_KNOWN, "systemctl", _USES["systemctl"])
    codes = [_unit(place, plain[0], name, lines) for name in names]
    return max(codes)


def _lines_wanted(words: list[str]) -> tuple[int, list[str]]:
    """`-n 0`: how much of the journal `status` shows; and the words without it."""
    for index, word in enumerate(words[:-1]):
        if word in ("-n", "--lines") and words[index + 1].isdigit():
            return int(words[index + 1]), words[:index] + words[index + 2 :]
    return _STATUS_LINES, words


def _unit(place: _Place, action: str, name: str, lines_max: int) -> int:
    title = _ALIASES.get(name)
    if title is None:
        if action == "is-active":
            sys.stdout.write("inactive\n")
            return 3
        told = "could not be found" if action == "status" else "not found"
        sys.stderr.write(f"Unit {name}.service {told}.\n")
        return 4 if action == "status" else 5
    if action in _ACTIONS:
        place.ask("unit", machine=place.node, unit=title, action=action)
        return 0
    unit = _told_unit(place, title)
    if action == "is-active":
        sys.stdout.write(unit.word + "\n")
    else:
        lines = _journal(place, title)[-lines_max:] if lines_max else []
        command = f"tortie lab {'kubelet' if title == 'kubelet' else 'runtime'} {place.node}"
        sys.stdout.write(unit_status(unit, command, lines, time.time()))
    return 0 if unit.running else 3


def _told_unit(place: _Place, title: str) -> Unit:
    machines = place.ask("status")["machines"]
    told: dict[str, Any] = next((each for each in machines if each["name"] == place.node), {})
    return unit_of(title, (told.get("units") or {}).get(title) or {}, time.time())


# journalctl


def _journalctl(place: _Place, words: list[str]) -> int:
    unit, count = "", 0
    rest = iter(words)
    for word in rest:
        flag, _, value = word.partition("=")
        if flag in ("-u", "--unit"):
            unit = value or next(rest, "")
        elif flag in ("-n", "--lines"):
            count = int(text) if (text := value or next(rest, "")).isdigit() else 10
        elif word[:2] in ("-u", "-n") and len(word) > 2 and not word.startswith("--"):
            unit, count = (word[2:], count) if word[1] == "u" else (unit, int(word[2:]) if word[2:].isdigit() else 10)
        elif flag in ("--since", "--until", "-S", "-U", "-p", "--priority", "-o", "--output") and not value:
            next(rest, "")
    title = _ALIASES.get(unit.removesuffix(".service"))
    if title is None:
        return _refuse(place.talk, _NOT_KNOWN, "journalctl", _USES["journalctl"])
    lines = _journal(place, title)
    sys.stdout.write("\n".join(lines[-count:] if count else lines) + "\n" if lines else "-- No entries --\n")
    return 0


def _journal(place: _Place, title: str) -> list[str]:
    paths = place.paths
    log, pid = (paths.kubelet_log, paths.kubelet_pid) if title == "kubelet" else (paths.runtime_log, paths.runtime_pid)
    number = _read(pid).strip()
    return journal(title, _read(log).splitlines(), place.node, int(number) if number.isdigit() else None)


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


# crictl


def _crictl(place: _Place, words: list[str]) -> int:
    plain = [word for word in words if not word.startswith("-")]
    began = time.monotonic()
    try:
        match plain[:1]:
            case ["ps"]:
                return _crictl_ps(place, words)
            case ["info" | "version"]:
                return _crictl_info(place)
            case ["logs"]:
                return _crictl_logs(place, words[words.index("logs") + 1 :])
    except RuntimeFailure as failure:
        return _fatal(place, plain[0], failure, time.monotonic() - began)
    return _refuse(place.talk, _NOT_KNOWN, "crictl", _USES["crictl"])


def _fatal(place: _Place, verb: str, failure: RuntimeFailure, seconds: float) -> int:
    doing = {"ps": "listing containers", "logs": "getting container status"}.get(verb, "getting status of runtime")
    why = f"{doing}: {failure}"
    if failure.code != DEADLINE:
        why = (
            f'connect: connect endpoint "unix://{place.paths.runtime_socket}", make sure you are running as root '
            "and the endpoint has been started: context deadline exceeded"
        )
    sys.stderr.write(f"FATA[{int(seconds):04d}] {why}\n")
    return 1


def _containers(place: _Place) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = ask_runtime(place.paths.runtime_socket, "list", _CRICTL_S)["containers"]
    return found


def _crictl_ps(place: _Place, words: Sequence[str]) -> int:
    containers = _containers(place)
    every = any(word in ("-a", "--all") for word in words)
    if "json" in words or "-ojson" in words or "--output=json" in words:
        shown = [each for each in containers if every or each["state"] == "CONTAINER_RUNNING"]
        sys.stdout.write(json.dumps({"containers": shown}, indent=2) + "\n")
        return 0
    sys.stdout.write(containers_table(containers, time.time(), every=every))
    return 0


def _crictl_info(place: _Place) -> int:
    told = ask_runtime(place.paths.runtime_socket, "version", _CRICTL_S)
    conditions = [
        {"type": "RuntimeReady", "status": True, "reason": "", "message": ""},
    ]
    document = {"status": {"conditions": conditions}, **told}
    sys.stdout.write(json.dumps(document, indent=2) + "\n")
    return 0


def _crictl_logs(place: _Place, words: Sequence[str]) -> int:
    tail, ident = 0, ""
    rest = iter(words)
    for word in rest:
        if word == "--tail":
            text = next(rest, "0")
            tail = int(text) if text.isdigit() else 0
        elif word.startswith("--tail="):
            tail = int(word[7:]) if word[7:].isdigit() else 0
        elif not word.startswith("-"):
            ident = word
    found = [each for each in _containers(place) if ident and str(each["id"]).startswith(ident)]
    if not found:
        why = f'an error occurred when try to find container "{ident}": not found'
        sys.stderr.write(f"FATA[0000] rpc error: code = NotFound desc = {why}\n")
        return 1
    lines = _read(str(found[0]["log"])).splitlines()
    sys.stdout.write("".join(f"{line}\n" for line in (lines[-tail:] if tail else lines)))
    return 0


# swapoff


def _swapoff(place: _Place, words: list[str]) -> int:
    if not words or any(word in ("-h", "--help") for word in words):
        return _refuse(place.talk, _NOT_KNOWN, "swapoff", _USES["swapoff"])
    place.ask("uncover", machine=place.node, path="/proc/swaps")
    return 0


_TOOLS: Final[dict[str, Callable[[_Place, list[str]], int]]] = {
    "systemctl": _systemctl,
    "journalctl": _journalctl,
    "crictl": _crictl,
    "swapoff": _swapoff,
}
