"""How much a command can hurt, computed from what it runs. Pure.

`safe` is what only reads, or what can be undone without anything having been lost or interrupted. A program or verb
that is not known here is disruptive: a table that forgets something errs on the side of care.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final, Literal

from tortie.doctor.commands.shell import Shell, Simple

Risk = Literal["safe", "disruptive"]

# Programs that only look, whatever their words.
READERS: Final = frozenset((
    "arping", "ausearch", "awk", "base64", "birdcl", "birdc", "cat", "chronyc", "column",
    "crane", "curl", "cut", "date", "df", "dig", "dmesg", "du", "echo", "env", "false", "file", "find",
    "findmnt", "free", "fuser", "getenforce", "getent", "grep", "head", "host", "hostname", "id", "iostat",
    "journalctl", "jq", "last", "less", "ls", "lsattr", "lscpu", "lsmod", "lsns", "lsof",
    "md5sum", "mountpoint", "mpstat", "mtr", "nc", "netstat", "nproc", "nslookup", "nstat", "od",
    "openssl", "ping", "pidof", "pgrep", "pmap", "printf", "ps", "pstree", "pwd", "readlink", "resolvectl",
    "rg", "sar", "seq", "sha256sum", "sleep", "sort", "ss", "stat", "strace", "strings", "tail", "tcpdump",
    "telnet", "test", "timedatectl", "top", "tr", "traceroute", "tracepath", "tree", "true", "uname", "uniq",
    "uptime", "vmstat", "w", "wc", "wget", "which", "who", "xxd", "zcat", "zgrep", "[", "[[", "arp",
    "iotop", "mkdir", "modinfo", "cd", "exit",
))  # fmt: skip
# label, annotate and uncordon are undone by one word and restart nothing.
_KUBECTL_READS: Final = frozenset((
    "get", "describe", "logs", "top", "explain", "version", "api-resources", "api-versions", "cluster-info",
    "events", "diff", "wait", "config", "options", "auth", "label", "annotate", "uncordon",
))  # fmt: skip
_CALICOCTL_READS: Final = frozenset(["get", "version", "help", "convert"])
_IP_CHANGES: Final = frozenset((
    "add", "del", "delete", "replace", "change", "append", "flush", "set", "up", "down", "move", "prepend",
    "exec",
))  # fmt: skip
# Starting what is dead interrupts nothing.
_SYSTEMCTL_READS: Final = frozenset((
    "status", "is-active", "is-enabled", "is-failed", "cat", "show", "list-units", "list-timers",
    "list-unit-files", "list-dependencies", "get-default", "enable", "start", "daemon-reload", "unmask",
))  # fmt: skip
_ETCDCTL_READS: Final = frozenset(("member list", "endpoint status", "endpoint health", "endpoint hashkv", "alarm list",
                                   "snapshot save", "snapshot status"))  # fmt: skip
_FIREWALL_READS: Final = re.compile(
    r"--(?:list|get|query|state|info|add-(?:port|service|rich-rule|source)|permanent|zone)"
)
_WRITES: Final = re.compile(r"[0-9]?>>?(?!&|/dev/null)")


def risk_of(shell: Shell) -> Risk:
    """The worst of all that would run."""
    return "safe" if all(map(_is_safe, shell.commands())) else "disruptive"


def _is_safe(command: Simple) -> bool:
    judge = _JUDGED.get(command.program)
    if judge is not None:
        return judge(command) and _writes_safely(command)
    return command.program in READERS and _writes_safely(command) and not _changes(command)


def _writes_safely(command: Simple) -> bool:
    """A redirection may make a new file of its own: a drop-in below a `.d` folder, or one in the reader's home."""
    targets = [word for word in command.words if _WRITES.match(word)]
    return all(re.search(r"\.d/|~/|>-|^[0-9]?>>?[A-Za-z0-9_.-]+$", target) for target in targets)


def _changes(command: Simple) -> bool:
    """Readers that can be told to write."""
    if command.program == "chronyc":
        return not {"sources", "tracking", "sourcestats", "activity"} & set(command.words)
    if command.program == "find":
        return bool({"-delete", "-exec", "-execdir", "-ok"} & set(command.words))
    if command.program == "curl":
        return any(re.match(r"-X|--request|-d|--data|-T|--upload", word) for word in command.words)
    return command.program == "dmesg" and bool({"-C", "-c", "--clear"} & set(command.words))


def _verb(command: Simple, valued: str = "-n -c -l -o -f -s -L -p") -> str:
    """The first operand that is not the value of an option."""
    skip = False
    for word in command.words:
        if skip:
            skip = False
        elif word.startswith("-"):
            skip = word in valued.split() or word in (
                "--namespace",
                "--server",
                "--context",
                "--kubeconfig",
                "--endpoints",
            )
        else:
            return word
    return ""


def _kubectl(command: Simple) -> bool:
    verb, words = _verb(command), command.words
    if "--dry-run=client" in words or "--dry-run=server" in words:
        return True
    if verb == "rollout":
        return "status" in words or "history" in words
    if verb == "delete":  # what has failed runs nothing any more
        return "--field-selector" in words and "status.phase=Failed" in words
    if verb == "create":
        return "--save-config" not in words and bool({"cm", "configmap", "secret", "token"} & set(words))
    if verb == "exec":  # the program behind `--` is judged instead
        return False
    return verb in _KUBECTL_READS


def _calicoctl(command: Simple) -> bool:
    verb, words = _verb(command), command.words
    if verb == "node":
        return bool({"status", "checksystem", "diags"} & set(words))
    if verb == "ipam":
        return bool({"show", "check"} & set(words))
    if verb == "cluster":
        return "diags" in words
    return verb in _CALICOCTL_READS


def _ip(command: Simple) -> bool:
    return not _IP_CHANGES.intersection(command.words)


def _tables(command: Simple) -> bool:
    """iptables and its family: only what lists."""
    words = " ".join(command.words)
    return bool(re.search(r"(?:^| )-[nvxt]*[LSC]|--list|-V|--version|--list-rules|--check", words))


def _nft(command: Simple) -> bool:
    return "list" in command.words or "-v" in command.words


def _systemctl(command: Simple) -> bool:
    return _verb(command) in _SYSTEMCTL_READS


def _etcdctl(command: Simple) -> bool:
    """`get` and the questions about members; never what takes a member away, compacts or defragments."""
    words = [word for word in command.words if not word.startswith("-")]
    return words[:1] in (["get"], ["version"], ["cluster-health"]) or " ".join(words[:2]) in _ETCDCTL_READS


def _has(*words: str) -> Callable[[Simple], bool]:
    return lambda command: bool(set(words) & set(command.words))


def _lacks(*words: str) -> Callable[[Simple], bool]:
    return lambda command: not set(words) & set(command.words)


def _firewall_cmd(command: Simple) -> bool:
    return all(_FIREWALL_READS.match(word) for word in command.options)


def _never(command: Simple) -> bool:
    del command
    return False


def _always(command: Simple) -> bool:
    del command
    return True


_JUDGED: Final[Mapping[str, Callable[[Simple], bool]]] = {
    "kubectl": _kubectl, "oc": _kubectl, "calicoctl": _calicoctl, "ip": _ip, "nft": _nft, "systemctl": _systemctl,
    "iptables": _tables, "ip6tables": _tables, "iptables-legacy": _tables, "iptables-nft": _tables,
    "iptables-save": _always, "ip6tables-save": _always, "iptables-legacy-save": _always, "iptables-nft-save": _always,
    "ip6tables-legacy-save": _always, "ip6tables-nft-save": _always,
    "etcdctl": _etcdctl, "firewall-cmd": _firewall_cmd, "ufw": _has("status", "allow", "show"),
    "ipset": _has("list", "-L", "save", "--version", "version"), "ipvsadm": _has("-Ln", "-L", "-ln", "--list", "-lnc"),
    "crictl": _lacks("rm", "rmi", "rmp", "stop", "stopp", "exec"), "ctr": _has("list", "ls", "import", "pull", "check"),
    "docker": _has("ps", "info", "version", "inspect", "logs", "images", "pull", "load"), "nerdctl": _has("ps", "load"),
    "tc": _lacks("add", "del", "replace", "change"), "bridge": _lacks("add", "del", "replace", "append"),
    "ethtool": _lacks("-K", "-G", "-A", "-s", "-C", "--offload"), "sysctl": _always,
    "modprobe": _lacks("-r"),
    "conntrack": _lacks("-D", "-F", "--delete", "--flush"), "bpftool": _has("show", "list", "dump", "version"),
    "sed": _lacks("-i"), "tee": _never, "nmcli": _lacks("modify", "mod", "up", "down", "add", "delete", "reload"),
    "networkctl": _has("list", "status"), "kubeadm": _has("check-expiration", "version", "print", "renew"),
    "tortie": _has("collect", "doctor", "explain", "status", "show"), "wg": _has("show"), "mount": _lacks("-o"),
    "openstack": _has("show", "list", "create", "set"),
    "aws": _has("describe-instances", "describe-instance-attribute"),
    "semanage": _always, "restorecon": _always, "getsebool": _always, "swapon": _has("--show", "-s"),
    "cp": _always, "apt-cache": _always, "rpm": _has("-q", "-qa", "-V"), "dpkg": _has("-l", "-s", "-S"),
    "helm": _has("get", "list", "status", "history", "ls"), "kops": _has("get", "validate"),
    "k3s": _always, "microk8s": _has("status", "inspect", "kubectl"),
    "talosctl": _has("get", "logs", "dmesg", "health"),
    "hwclock": _has("-r", "--show"), "crane": _always, "skopeo": _has("inspect"), "bird": _has("-p"), "fio": _never,
    "calico": _has("-v"), "sv": _has("status"), "calico-node": _always,  # its probes
}  # fmt: skip
