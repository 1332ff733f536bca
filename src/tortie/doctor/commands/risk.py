"""How much a command can hurt, computed from what it runs. Pure.

`safe` is what only reads, or what can be undone without anything having been lost or interrupted. A program, verb or
option that is not known here is disruptive: a table that forgets something errs on the side of care.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final, Literal

from tortie.doctor.commands.harmless import (
    CALICOCTL_READS,
    CHANGES,
    CUTS,
    DROP_IN,
    ETCDCTL_READS,
    FIREWALL_READS,
    KUBECTL_PAIRS,
    KUBECTL_READS,
    PROBES,
    READERS,
    SYSCTL_RAISES,
    SYSTEMCTL_READS,
    VERBS,
)
from tortie.doctor.commands.programs import Simple
from tortie.doctor.commands.shell import Shell

Risk = Literal["safe", "disruptive"]
Judge = Callable[[Simple], bool]


def risk_of(shell: Shell) -> Risk:
    """The worst of all that would run."""
    return "safe" if all(map(_is_safe, shell.commands())) else "disruptive"


def _is_safe(command: Simple) -> bool:
    if not all(map(_writes_safely, command.redirections)):
        return False
    judge = _JUDGED.get(command.program)
    if judge is not None:
        return judge(command)
    verbs = VERBS.get(command.program)
    if verbs is not None:
        return _says(command, verbs)
    return command.program in READERS and not _changes(command)


def _writes_safely(redirection: str) -> bool:
    """A redirection may make a file of its own: a drop-in, or one in the reader's home or folder."""
    target = re.sub(r"^[0-9]?(?:&>>?|>>|>\||>&|<&|>|<<<|<>|<)", "", redirection)
    if not re.match(r"[0-9]?&?>|[0-9]?<>", redirection) or target in ("/dev/null", "1", "2", "-"):
        return True
    return _is_own(target)


def _is_own(path: str) -> bool:
    return bool(DROP_IN.match(path)) or ("/" not in path and not path.startswith("&"))


def _changes(command: Simple) -> bool:
    """Readers that can be told to write."""
    pattern = CHANGES.get(command.program)
    return pattern is not None and any(re.fullmatch(pattern, word, re.DOTALL) for word in command.words)


def _curl(command: Simple) -> bool:
    """A question; what it brings may be kept in a file of the reader's own."""
    line = " ".join(command.words)
    asks = all(method in ("GET", "HEAD") for method in re.findall(r"(?:-[a-zA-Z]*X|--request)[ =]?(\w+)", line))
    sends = any(re.match(r"-[a-zA-Z]*[dTF]$|--(?:data|upload|form|json)", word) for word in command.words)
    kept = re.findall(r"(?:-[a-zA-Z]*o|--output)[ =](\S+)", line)
    return asks and not sends and all(target == "/dev/null" or _is_own(target) for target in kept)


def _aws(command: Simple) -> bool:
    """Besides what reads: a rule that lets in, and the check that drops what pods send."""
    known = re.compile(r"--(?:instance-id|region|profile|output|no-source-dest-check)(?:=.*)?")
    if _pair(command) == "ec2 modify-instance-attribute":
        return "--no-source-dest-check" in command.words and all(map(known.fullmatch, command.options))
    return _says(command, VERBS["aws"])


def _says(command: Simple, verbs: str) -> bool:
    """Whether it begins with one of these operands; `!` stands for the end, `describe-` for all that begin so."""
    said = " ".join(command.words if "--" in verbs else command.operands)
    if not command.operands:
        return "!" in verbs.split() or bool({"--version", "-V", "version"} & set(command.words))
    choices = [choice.strip() for choice in verbs.split("|")]
    return any(_begins(said, choice) for choice in choices)


def _begins(said: str, choice: str) -> bool:
    if choice.endswith("!"):
        return said == choice.removesuffix("!").strip()
    return said == choice or said.startswith(choice if choice.endswith("-") else f"{choice} ")


def _pair(command: Simple) -> str:
    return " ".join(command.operands[:2])


def _kubectl(command: Simple) -> bool:
    verb, words = (*command.operands, "")[0], command.words
    if {"--dry-run=client", "--dry-run=server"} & set(words):
        return True
    if verb in (
        "label",
        "annotate",
    ):  # a new one is taken away by one word; a node's address for BGP is more than a note
        more = ("--overwrite", "--all")
        return not any(word in more or word.endswith("-") or word.startswith("projectcalico.org/IPv") for word in words)
    if verb == "delete":  # what has failed runs nothing any more
        failed = "status.phase=Failed" in words or "--field-selector=status.phase=Failed" in words
        return failed and command.operands[1:2] in (("pod",), ("pods",), ("po",))
    return verb in KUBECTL_READS or _pair(command) in KUBECTL_PAIRS


def _calicoctl(command: Simple) -> bool:
    return bool({*command.operands[:1], _pair(command)} & CALICOCTL_READS)


def _ip(command: Simple) -> bool:
    if any(word.startswith("-b") for word in command.options):  # -batch, and -br is brief
        return all(word in ("-br", "-brief") for word in command.options if word.startswith("-b")) and _ip_reads(
            command
        )
    return _ip_reads(command)


def _ip_reads(command: Simple) -> bool:
    verb = (*command.operands, "", "")[1]
    return verb in ("", "show", "list", "ls", "lst", "sh", "get") or command.operands[:1] == ("monitor",)


def _tables(command: Simple) -> bool:
    """iptables and its family: what lists; and a rule that only lets in."""
    options = [word for word in command.options if not word.startswith("--")]
    letters = {letter for word in options for letter in word[1:] if letter.isupper()}
    longs = {word for word in command.options if word.startswith("--")}
    if letters - set("LSCVAI") or longs & {"--flush", "--delete", "--policy", "--replace", "--zero", "--new-chain"}:
        return False
    if letters & set("AI") or longs & {"--append", "--insert"}:
        return "ACCEPT" in command.words
    return bool(letters) or bool(longs & {"--list", "--list-rules", "--version", "--check"})


def _systemctl(command: Simple) -> bool:
    verb, units = (*command.operands, "")[0], command.operands[1:]
    if verb in ("start", "enable"):
        return bool(units) and not any(CUTS.fullmatch(unit.removesuffix(".service")) for unit in units)
    return verb in SYSTEMCTL_READS


def _etcdctl(command: Simple) -> bool:
    """`get` and the questions about members; never what takes a member away, compacts or defragments."""
    return bool({*command.operands[:1], _pair(command)} & ETCDCTL_READS)


def _firewall_cmd(command: Simple) -> bool:
    trusts = "--zone=trusted" in command.words  # whose packets are let in there
    return all(
        FIREWALL_READS.fullmatch(word) or (trusts and re.match(r"--add-(?:source|interface)=", word))
        for word in command.words
    )


def _sysctl(command: Simple) -> bool:
    """Reading, and raising a limit or switching forwarding on; `-p` and `--system` set whatever files say."""
    if any(word not in ("-w", "-n", "-a", "-N", "-q", "--all", "-e") for word in command.options):
        return False
    assigned = [word.replace(" ", "") for word in command.operands if "=" in word]
    return all(SYSCTL_RAISES.fullmatch(word) for word in assigned)


def _cp(command: Simple) -> bool:
    """A copy beside the original, or in the reader's home."""
    target = command.operands[-1] if command.operands else ""
    if {"-n", "--no-clobber"} & set(command.words):
        return True
    return target.endswith((".bak", ".old", ".orig", ".before")) or target.startswith(("/tmp/",)) or _backs_up(target)


def _backs_up(target: str) -> bool:
    return target.startswith("~/") and target not in ("~/.kube/config",) and not target.startswith("~/.ssh")


def _mount(command: Simple) -> bool:
    if not command.words:
        return True
    shared = {"--make-shared", "--make-rshared"} & set(command.words)
    return "-o" not in command.words and bool(shared or command.words[:2] == ("-t", "bpf"))


def _tee(command: Simple) -> bool:
    return all(map(_is_own, command.operands))


def _kops(command: Simple) -> bool:
    """`update` and `rolling-update` only tell what they would do, until they are given `--yes`."""
    previews = command.operands[:1] in (("update",), ("rolling-update",)) and "--yes" not in command.words
    return previews or _says(command, VERBS["kops"])


def _has(*words: str) -> Judge:
    return lambda command: bool(command.words) and command.words[0] in words


def _all(pattern: str) -> Judge:
    compiled = re.compile(pattern)
    return lambda command: bool(command.options) and all(compiled.fullmatch(word) for word in command.options)


def _nmcli(command: Simple) -> bool:
    return (*command.operands, "", "")[1] in ("", "show", "status", "permissions")


def _modprobe(command: Simple) -> bool:
    return not any(re.fullmatch(r"-[a-z]*r[a-z]*|--remove.*", word) for word in command.options)


def _ethtool(command: Simple) -> bool:
    return all(re.fullmatch(r"-[kiSgaclmTPn]|--(?:show|driver|statistics|version).*", o) for o in command.options)


_JUDGED: Final[Mapping[str, Judge]] = {
    "kubectl": _kubectl, "oc": _kubectl, "calicoctl": _calicoctl, "ip": _ip, "systemctl": _systemctl,
    "iptables": _tables, "ip6tables": _tables, "iptables-legacy": _tables, "iptables-nft": _tables,
    "ip6tables-legacy": _tables, "ip6tables-nft": _tables,
    "etcdctl": _etcdctl, "firewall-cmd": _firewall_cmd, "sysctl": _sysctl, "cp": _cp, "mount": _mount, "tee": _tee,
    "kops": _kops, "curl": _curl, "aws": _aws, "nmcli": _nmcli, "modprobe": _modprobe, "ethtool": _ethtool,
    "ipvsadm": _all(r"-[Lln][Llnc]*|--list|--numeric|--stats|--rate|--save|-S"),
    "tc": lambda command: (*command.operands, "", "")[1] in ("", "show", "list", "ls"),
    "conntrack": _all(r"-[LSCEGpsdo]|--(?:dump|stats|count|event|proto|src|dst|family)|-f"),
    "rpm": _all(r"-q[a-z]*|-V[a-z]*|--query|--verify|--qf|--queryformat|--all"),
    "dpkg": _all(r"-[lsSL]|--list|--status|--search|--listfiles|--print-architecture"),
    "semanage": lambda command: "-l" in command.words or "--list" in command.words,
    "restorecon": lambda command: any(re.fullmatch(r"-[a-zA-Z]*n[a-zA-Z]*", word) for word in command.options),
    "swapon": _has("--show", "-s", "--summary"), "hwclock": _has("-r", "--show"),
    "bird": _has("-p", "--version"), "calico": _has("-v", "--version"),
    "calico-node": _all(PROBES.pattern),
}  # fmt: skip
