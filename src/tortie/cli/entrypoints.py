"""The programs that manifests and scripts written for Calico call: `calico-node -felix-live`, `install`, and others.

One file for all of them; the name by which it is called says which is meant. The names are links that
`tortie node entrypoints` makes, where and when somebody wants them. A probe runs every few seconds on every node, so
nothing is loaded here that it does not need. Exit codes are Calico's: 0 or 1.
"""

from __future__ import annotations

import os
import sys

from tortie.cli.node.check import TIMEOUT, felix_port, felix_setting, reasons_of, stranger
from tortie.health.probe import Answer, NoAnswer, ask_all, connect_path

TYPE_CHECKING = False  # typing's own name for it would have to be imported
if TYPE_CHECKING:
    from collections.abc import Callable

    Usual = Callable[[list[str]], int]  # a command of ours, by its words

_PROBES = ("felix_live", "bird_live", "bird6_live", "bird_ready", "bird6_ready", "felix_ready")
# What the agent does all the time, or when it starts; in Calico each is a program of its own.
_OF_THE_AGENT = (
    "felix",
    "confd",
    "node_services",
    "monitor_addresses",
    "monitor_token",
    "status_reporter",
    "allocate_tunnel_addrs",
)
_AT_ITS_START = ("startup", "complete_startup")
_NOT_NEEDED = {
    "init": "nothing to mount: no BPF is used",
    "hostpath_init": "nothing to prepare: the agent makes its folders when it starts",
    "shutdown": "nothing to do before: the agent does what has to be done when SIGTERM comes",
}
_ABSENT = {
    "bpf": "there is no BPF dataplane; `nft list ruleset` and `ip route` show what the kernel has",
    "flows": "there are no flow logs",
}
_ALONE = ("v", "felix", "startup", "confd", "node_services", "monitor_addresses", "monitor_token", "status_reporter")
_SWITCHES = (
    *("v", "show_status", "best_effort", "confd_run_once", "confd_keep_stage_file", "allocate_tunnel_addrs_run_once"),
    *(*_PROBES, *_OF_THE_AGENT, *_AT_ITS_START, *_NOT_NEEDED, "bpf"),
)
_VALUES = ("threshold_time", "confd_confdir", "flows")
_NOT_READY = "calico/node is not ready: "
_BGP = "BGP not established with "
_SOCKET = "/var/run/calico/bird.ctl"
_BIRD_S = 2.0  # as long as Calico waits for it
_TRUE, _FALSE = ("1", "t", "T", "true", "TRUE", "True"), ("0", "f", "F", "false", "FALSE", "False")


class Misread(Exception):
    """What Go's flag package says."""


def run_as(name: str, words: list[str], usual: Usual) -> int:
    """Whatever goes wrong is told in one line on standard output, which is what a kubelet shows."""
    try:
        return PROGRAMS[name](words, usual)
    except Misread as error:
        sys.stdout.write(f"{error}\n")
    except Exception as error:
        what = getattr(error, "what", "") or str(error) or type(error).__name__
        sys.stdout.write(f"{name}: {what}\n")
    return 1


def _calico_node(words: list[str], usual: Usual) -> int:
    flags = read_flags(words)
    asked = [name for name in _ALONE if flags.get(name)]
    if len(asked) > 1:
        raise Misread("More than one incompatible argument provided")
    probes = [name for name in _PROBES if flags.get(name)]
    if probes:
        return probe(probes, str(flags.get("threshold_time") or "30s"))
    if flags.get("v"):
        return _version()
    if flags.get("show_status"):
        return 1 if usual(["node", "status", "--root", _root()]) in (1, 2) else 0
    for name, why in _NOT_NEEDED.items():
        if flags.get(name):
            sys.stdout.write(f"Tortie: {why}\n")
            return 0
    for name, why in _ABSENT.items():
        if flags.get(name):
            raise Misread(f"Tortie: {why}")
    for name in (*_AT_ITS_START, *_OF_THE_AGENT):
        if flags.get(name):
            return _ask_agent(name, once=name in _AT_ITS_START or bool(flags.get("allocate_tunnel_addrs_run_once")))
    raise Misread(f"No valid options provided. Usage:\n{_usage()}")


def read_flags(words: list[str]) -> dict[str, str | bool]:
    """As Go reads them: one dash or two, `=` or a blank before a value, and nothing behind the first other word."""
    flags: dict[str, str | bool] = {}
    rest = iter(words)
    for word in rest:
        if not word.startswith("-") or word == "-":
            break
        told, equals, value = word.removeprefix("-").removeprefix("-").partition("=")
        name = told.replace("-", "_")
        if told in ("h", "help"):
            raise Misread(f"Usage of calico-node, as Tortie has it:\n{_usage()}")
        if "_" in told or name not in (*_SWITCHES, *_VALUES):
            raise Misread(f"flag provided but not defined: -{told}")
        if name in _SWITCHES:
            if equals and value not in (*_TRUE, *_FALSE):
                raise Misread(f'invalid boolean value "{value}" for -{told}: parse error')
            flags[name] = value in _TRUE if equals else True
            continue
        given = value if equals else next(rest, None)
        if given is None:
            raise Misread(f"flag needs an argument: -{told}")
        flags[name] = given
    return flags


def probe(probes: list[str], threshold: str) -> int:
    """Every failure in Calico's words, and below it what the agent says of it."""
    timeout_s = min(seconds(TIMEOUT), seconds(threshold))
    pages = {"/liveness": "felix_live" in probes, "/readiness": any(name.endswith("_ready") for name in probes)}
    paths = tuple(path for path, wanted in pages.items() if wanted)
    host = felix_setting(os.environ, "HEALTHHOST") or "localhost"
    answers = dict(zip(paths, ask_all(host, felix_port(), paths, timeout_s), strict=True))
    told: list[str] = []
    for name in probes:
        if name.endswith("bird_live") or name == "bird6_live":
            told += _bird_live("bird6" if "6" in name else "bird")
        elif name == "felix_live":
            told += _felix("Felix is not live", "liveness", answers["/liveness"])
        elif name == "felix_ready":
            told += _felix("felix is not ready", "readiness", answers["/readiness"])
        else:
            told += _bird_ready("BIRD6" if "6" in name else "BIRD", answers["/readiness"])
    sys.stdout.write("".join(f"{line}\n" for line in dict.fromkeys(told)))
    return 1 if told else 0


def _felix(failed: str, question: str, answer: Answer | NoAnswer) -> list[str]:
    """All that is not well, but what only BIRD's own probe asks for."""
    if isinstance(answer, NoAnswer):
        return [f"{_NOT_READY}{failed}: {answer.what}", *_indented(reasons_of(answer))]
    if 200 <= answer.status < 400:
        return []
    blocks = _blocks(answer)
    others = [block for block in blocks if not _is_birds(block)]
    if blocks and not others and question == "readiness":
        return []
    why = [line for block in others for line in block] or reasons_of(answer)
    return [f"{_NOT_READY}{failed}: {question} probe reporting {answer.status}", *_indented(why)]


def _bird_ready(name: str, answer: Answer | NoAnswer) -> list[str]:
    if isinstance(answer, NoAnswer):
        return [f"{_NOT_READY}{name} is not ready: {answer.what}", *_indented(reasons_of(answer))]
    if 200 <= answer.status < 400:
        return []
    if not answer.is_page:
        return [f"{_NOT_READY}{name} is not ready: {stranger(answer)}"]
    for block in _blocks(answer):
        if block[0].startswith("not ready: start-up is in "):
            said = block[0].removeprefix("not ready: ")
            return [f"{_NOT_READY}{name} is not ready: {said}", *_indented(block[1:])]
        if not _is_birds(block):
            continue
        said = block[0].partition(" is not ready: ")[2]
        if said.startswith(_BGP):
            peers = said.removeprefix(_BGP).split(",")
            mine = [peer for peer in peers if (":" in peer) is (name == "BIRD6")]
            if not mine:  # of the other family
                continue
            said = _BGP + ",".join(mine)
        return [f"{_NOT_READY}{name} is not ready: {said}", *_indented(block[1:])]
    return []


def _blocks(answer: Answer) -> list[list[str]]:
    """Each reason with the lines below it."""
    blocks: list[list[str]] = []
    for line in reasons_of(answer):
        if line.startswith(("not ready: ", "not live: ")):
            blocks.append([line])
        elif blocks:
            blocks[-1].append(line)
    return blocks


def _is_birds(block: list[str]) -> bool:
    return block[0].startswith(("not ready: BIRD is not ready: ", "not ready: BIRD6 is not ready: "))


def _indented(lines: list[str]) -> list[str]:
    return [f"  {line}" for line in lines]


def _bird_live(name: str) -> list[str]:
    """One BIRD has both families. It greets only when its main loop comes round, so a greeting is a sign of life; and
    asking for no more spares this probe what takes longer than the answer."""
    import _socket

    path = os.path.join(_root(), _SOCKET.lstrip("/"))
    socket = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    socket.settimeout(_BIRD_S)
    try:
        connect_path(socket, path)
        if socket.recv(64).startswith(b"0001 BIRD"):
            return []
        why = "what listens there is no BIRD"
    except TimeoutError:
        why = "BIRD does not answer; `tortie node status` tells what the agent thinks of it"
        return [f"{_NOT_READY}{name} is not live: dial unix {_SOCKET}: i/o timeout", f"  why: {why}"]
    except OSError as error:
        said = os.strerror(error.errno or 0).lower()
        why = f"{path}: {said}; the agent starts BIRD again a moment after its end, unless its backend has none"
    finally:
        socket.close()
    return [f"{_NOT_READY}{name}/confd is not live: exit status 1", f"  why: {why}"]


def _ask_agent(name: str, *, once: bool) -> int:
    """Once: fine if the agent has done it. For ever: a second program would only be in its way."""
    flag = "-" + name.replace("_", "-")
    if not once:
        raise Misread(f"Tortie: {flag} is no program of its own; `tortie node run` does it, from its start on")
    said = probe(["felix_live"], "30s")
    if said == 0:
        sys.stdout.write(f"Tortie: {flag} is part of the agent, which runs\n")
    return said


def _version() -> int:
    from tortie import __version__
    from tortie.model.release import DATA_MODEL

    sys.stdout.write(f"tortie {__version__}, data model of Calico {DATA_MODEL}\n")
    return 0


def _usage() -> str:
    flags = sorted(name.replace("_", "-") for name in (*_SWITCHES, *_VALUES))
    return "\n".join(f"  -{name}" for name in flags)


def _calico_ipam(words: list[str], usual: Usual) -> int:
    told = [word.lstrip("-") for word in words]
    if told == ["v"]:
        return _version()
    if told == ["upgrade"]:
        return min(1, usual(["ipam", "migrate", "--or-leave", "--root", _root()]))
    raise Misread("Tortie: this is for `calico-ipam -upgrade`; the CNI plugin is put there by `tortie cni install`")


def _install(words: list[str], usual: Usual) -> int:
    """Variables say everything. That pods need more, which it tells, is no reason to begin again."""
    if words:
        raise Misread(f"Tortie: install takes no words, its settings are variables: {' '.join(words)}")
    return 0 if usual(["cni", "install"]) in (0, 4) else 1


def _start_runit(_: list[str], usual: Usual) -> int:
    return usual(["node", "run", "--root", _root()])


def _root() -> str:
    return os.environ.get("TORTIE_ROOT") or "/"


def seconds(text: str) -> float:
    """A duration as Go writes it: 30s, 1m30s, 800ms."""
    factors = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001, "us": 1e-6, "ns": 1e-9}
    total, number, unit = 0.0, "", ""
    for letter in f"{text} ":
        if unit and not letter.isalpha():
            if unit not in factors or not number:
                break
            total, number, unit = total + float(number) * factors[unit], "", ""
        if letter in "0123456789.":
            number += letter
        elif letter.isalpha():
            unit += letter
        elif letter == " ":
            if number or unit or not text:
                break
            return max(0.001, total)
        else:
            break
    raise Misread(f'invalid value "{text}" for flag -threshold-time: parse error')


PROGRAMS: dict[str, Callable[[list[str], Usual], int]] = {
    "calico-node": _calico_node,
    "calico-ipam": _calico_ipam,
    "install": _install,
    "install-cni.sh": _install,
    "start_runit": _start_runit,
}
