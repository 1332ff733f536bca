"""Settings that stand in single lines. Scopes of `Setting` made here and by the readers beside:

env (owner: container or workload), sysctl (`missing` when the kernel has no such key), sysctl-file (owner: the file),
containerd (config.toml), flag (a program's command line; owner: the program), can-i (name: verb and resource, owner:
who), api-version, hosts (name to address), resolv.conf, swap (device, size), iptables (backend), configmap,
felixconfig, bgpconfig, bgppeer, ippool, installation, kubelet, kubeadm, kube-proxy, cni, cni-template (of the
ConfigMap), webhook, workload, pod, service, endpoints, node, crd, clusterrole, resource, tigerastatus, top, lease,
clusterinformation.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from functools import cache
from typing import Final

from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Fact, Setting
from tortie.doctor.reading.exhibit import Exhibit
from tortie.doctor.reading.readers import fragments, jsonpath
from tortie.doctor.reading.readers.bounds import bounded
from tortie.doctor.reading.readers.documents import is_document
from tortie.doctor.reading.readers.limits import limited
from tortie.doctor.reading.readers.versions import listed_versions, said_versions, versions

_FIELDS: Final = frozenset({name for names in fragments.KNOWN.values() for name in names})
_FRAGMENT: Final = lazily(
    rf"^[ \t]*(?:\d+[:-][ \t]*)?(?:[#+>-][ \t]+)?\{{?[\"']?(?:{'|'.join(sorted(_FIELDS, key=len, reverse=True))}"
    r"|name|(?:liveness|readiness|startup)Probe|projectcalico\.org/IPv4Address)[\"']?[ \t]*:",
    re.MULTILINE,
)
_FLAGS: Final = (
    "cgroup-driver|pod-cidr|cluster-cidr|network-plugin|cni-bin-dir|cni-conf-dir|fail-swap-on|node-ip|hostname-override|"
    "proxy-mode|allocate-node-cidrs|service-cluster-ip-range|container-runtime-endpoint|container-runtime|allow-privileged|"
    "bootstrap-kubeconfig|kubeconfig|service-account-issuer|etcd-servers|advertise-address|secure-port|cluster-dns|"
    "node-cidr-mask-size|max-pods|iptables|ip-masq|bip|mtu|flannel-backend|disable-network-policy|resolv-conf|runtime-cgroups|"
    "max-requests-inflight|anonymous-auth|data-dir|address|healthz-bind-address|bind-address|feature-gates"
)


_PATH: Final = r"(?:(/(?:etc|usr|lib|run)/[\w.@/-]{1,150}):(?:\d{1,6}:)?)?"  # of grep over files
_ASSIGNED: Final = (
    rf"^{_PATH}[ \t]*(?:export[ \t]+)?[\"']?([A-Z][A-Z0-9_]{{1,60}}|(?:https?|no|all|ftp)_proxy)=(.{{0,800}})$"
)


class _Text:
    """An exhibit's text with the way back from an offset to a line."""

    def __init__(self, exhibit: Exhibit) -> None:
        self.exhibit, self.text = exhibit, exhibit.text
        self._starts: list[int] = []

    def line(self, offset: int) -> int:
        if not self._starts:
            total = 0
            for line in self.exhibit.lines:
                self._starts.append(total)
                total += len(line) + 1
        return max(0, bisect_right(self._starts, offset) - 1)


def read(exhibit: Exhibit) -> Iterator[Fact]:
    exhibit = bounded(exhibit)
    held = _Text(exhibit)
    text = held.text
    for needles, pattern, make in _RULES:
        if make is _described_env and "Environment:" in text:
            continue  # a description with its environment is read as such
        if any(needle in text for needle in needles):
            for match in _compiled(pattern).finditer(text):
                yield from make(exhibit, held.line(match.start()), match)
    yield from versions(exhibit, text, held.line)
    if exhibit.prose:
        yield from said_versions(exhibit, text, held.line)
    else:
        yield from listed_versions(exhibit)
    if exhibit.command:
        yield from _commanded(exhibit)
    if "limits" in text and not is_document(text):
        yield from limited(exhibit, fragments.owner_of(exhibit.command))
    if not exhibit.prose and "Probe" not in text and not _has_fragment(text):
        return
    if not is_document(text):
        described = any(line.startswith("Name:") for line in exhibit.lines)
        for fact in fragments.read_lines(exhibit, 0, len(exhibit.lines)):
            if not (described and type(fact).__name__ == "Registered"):
                yield fact


def _has_fragment(text: str) -> bool:
    """Lines of a manifest; the expression is long, and in most texts none of its names is."""
    if "name" not in text and "projectcalico.org" not in text and not any(field in text for field in _FIELDS):
        return False
    return _FRAGMENT.search(text) is not None


# Environment


def _env(exhibit: Exhibit, index: int, match: re.Match[str]) -> Iterator[Fact]:
    value = match[2].strip().rstrip("\\,").strip().strip("\"'")
    owner = fragments.owner_of(exhibit.command) or _owner_above(exhibit, index)
    yield Setting(exhibit.place(index), "env", match[1], value, owner, exhibit.host)


def _assigned(exhibit: Exhibit, index: int, match: re.Match[str]) -> Iterator[Fact]:
    """`NAME=value`, alone, of `env`, or of a file such as /etc/default/kubelet, whose unit is then the owner."""
    value = match[3].strip().rstrip("\\,").strip().strip("\"'")
    owner = _unit(match[1] or "") or fragments.owner_of(exhibit.command) or _unit_of_file(exhibit.command)
    yield Setting(exhibit.place(index), "env", match[2], value, owner or _owner_above(exhibit, index), exhibit.host)


def _described_env(exhibit: Exhibit, index: int, match: re.Match[str]) -> Iterator[Fact]:
    owner = fragments.owner_of(exhibit.command)
    yield Setting(exhibit.place(index), "env", match[1], match[2].strip(), owner, exhibit.host)


def _environment(exhibit: Exhibit, index: int, match: re.Match[str]) -> Iterator[Fact]:
    """`Environment="HTTP_PROXY=..." "NO_PROXY=..."` of a unit, or of `systemctl show`."""
    owner = _unit(match[1] or "") or _unit(exhibit.command)
    for quoted, single, plain in re.findall(r"\"([^\"]+)\"|'([^']+)'|(\S+)", match[2]):
        name, equals, value = (quoted or single or plain).partition("=")
        if equals and re.match(r"[A-Za-z_]\w*$", name):
            yield Setting(exhibit.place(index), "env", name, value.strip("\"'"), owner, exhibit.host)


def _environment_file(exhibit: Exhibit, index: int, match: re.Match[str]) -> Iterator[Fact]:
    owner = _unit(match[1] or "") or _unit(exhibit.command)
    yield Setting(exhibit.place(index), "unit", "EnvironmentFile", match[2].lstrip("-"), owner, exhibit.host)


def _owner_above(exhibit: Exhibit, index: int) -> str:
    """`# DaemonSet calico-node, container calico-node` of `kubectl set env --list`."""
    for line in reversed(exhibit.lines[max(0, index - 80) : index]):
        if line.startswith("# ") and (match := re.search(r"container (\S+)$", line.rstrip())):
            return match[1]
    return ""


def _unit(command: str) -> str:
    match = re.search(
        r"\b(docker|containerd|kubelet|kube-proxy|kube-apiserver|crio|cri-o|calico-node|etcd|k3s-agent|k3s|rke2-server|"
        r"rke2-agent|snap\.microk8s\.[\w-]+)(?:\.service)?\b",
        command,
    )
    return match[1] if match else _unit_of_file(command)


def _unit_of_file(command: str) -> str:
    """The unit that a file of settings belongs to: /etc/default/x, /etc/sysconfig/x, x.service.d/proxy.conf."""
    match = re.search(
        r"/etc/(?:default|sysconfig)/([A-Za-z][\w.-]{0,60})|/([\w@.-]{1,80}?)\.service(?:\.d)?\b|/etc/(environment)\b",
        command,
    )
    return next((name for name in match.groups() if name), "") if match else ""


# Kernel, runtime, programs


def _sysctl(exhibit: Exhibit, index: int, match: re.Match[str]) -> Iterator[Fact]:
    path, name, value = (match[1] or "").rstrip(":"), match[2].replace("/", "."), match[3].strip()
    file = path or _sysctl_file(exhibit.command)
    yield Setting(exhibit.place(index), "sysctl-file" if file else "sysctl", name, value, file, exhibit.host)


def _sysctl_file(command: str) -> str:
    match = re.search(r"(/(?:etc|run|usr/lib)/sysctl\S*)", command) if command else None
    return match[1] if match and "sysctl -p" not in command else ""


def _proc(exhibit: Exhibit, index: int, match: re.Match[str]) -> Iterator[Fact]:
    yield Setting(exhibit.place(index), "sysctl", match[1].replace("/", "."), match[2].strip(), "", exhibit.host)


def _no_sysctl(exhibit: Exhibit, index: int, match: re.Match[str]) -> Iterator[Fact]:
    yield Setting(exhibit.place(index), "sysctl", match[1].replace("/", "."), "missing", "", exhibit.host)


def _toml(exhibit: Exhibit, index: int, match: re.Match[str]) -> Iterator[Fact]:
    yield Setting(exhibit.place(index), "containerd", match[1], match[2].strip().strip('"'), "", exhibit.host)


def _flag(exhibit: Exhibit, index: int, match: re.Match[str]) -> Iterator[Fact]:
    line = exhibit.lines[index]
    program = re.search(
        r"\b(kubelet|kube-proxy|kube-controller-manager|kube-apiserver|etcd|dockerd|containerd|k3s|flanneld)\b", line
    )
    owner = program[1] if program else ""
    yield Setting(
        exhibit.place(index), "flag", match[1], (match[2] or match[3] or "").strip("\"',"), owner, exhibit.host
    )


def _resolv(exhibit: Exhibit, index: int, match: re.Match[str]) -> Iterator[Fact]:
    yield Setting(exhibit.place(index), "resolv.conf", match[1], match[2].strip(), "", exhibit.host)


def _swap(exhibit: Exhibit, index: int, match: re.Match[str]) -> Iterator[Fact]:
    yield Setting(exhibit.place(index), "swap", match[1], match[2], "", exhibit.host)


# Answers that only the command explains


def _commanded(exhibit: Exhibit) -> Iterator[Fact]:
    command = exhibit.command
    if "can-i" in command:
        yield from _can_i(exhibit)
    if "api-versions" in command:
        for index, line in enumerate(exhibit.lines):
            if re.match(r"[a-z0-9.-]+/v\d\w*$|v1$", line.strip()):
                yield Setting(exhibit.place(index), "api-version", line.strip(), "present")
    if "/etc/hosts" in command or "getent hosts" in command or "getent ahosts" in command:
        for index, line in enumerate(exhibit.lines):
            address, *names = line.split("#")[0].split() or [""]
            if names and re.match(r"[\d.]{7,15}$|[0-9a-fA-F:]*:[0-9a-fA-F:.]+$", address):
                for name in names:
                    yield Setting(exhibit.place(index), "hosts", name, address, "", exhibit.host)
    if match := re.search(r"(?:cat|head|more)\s[^|;]{0,200}?/proc/sys/([\w./-]+)", command):
        value = next((i for i, line in enumerate(exhibit.lines) if line.strip()), None)
        if (
            value is not None
            and re.match(r"[\w.-]+$", exhibit.lines[value].strip())
            and command.count("/proc/sys/") == 1
        ):
            name = match[1].replace("/", ".")
            yield Setting(exhibit.place(value), "sysctl", name, exhibit.lines[value].strip(), "", exhibit.host)
    if match := re.search(
        r"sysctl\s{1,8}(?:-\w{1,12}\s{1,8}){0,6}-\w{0,8}n\w{0,8}((?:\s{1,8}[a-z]\w{0,30}[./][\w./-]{1,200}){1,40})"
        r"\s{0,8}[\"']?\s{0,8}(?:$|[|;])",
        command,
    ):
        yield from _bare_values(exhibit, match[1].replace("/", ".").split())
    if "jsonpath" in command or "jq " in command:
        yield from jsonpath.answers(exhibit)


def _bare_values(exhibit: Exhibit, names: list[str]) -> Iterator[Fact]:
    """Answers of `sysctl -n`: a line for each key, or all in one line behind xargs."""
    number = re.compile(r"-?\d+$")
    rows = [(i, line.split()) for i, line in enumerate(exhibit.lines)]
    rows = [(i, words) for i, words in rows if words and all(number.match(word) for word in words)]
    joined = [(i, words) for i, words in rows if len(words) == len(names)]
    if joined and len(names) > 1:
        values = [(joined[0][0], word) for word in joined[0][1]]
    else:
        values = [(i, " ".join(words)) for i, words in rows]
    if len(values) >= len(names):
        for name, (index, value) in zip(names, values, strict=False):
            yield Setting(exhibit.place(index), "sysctl", name, value, "", exhibit.host)


def _can_i(exhibit: Exhibit) -> Iterator[Fact]:
    """One answer for each `can-i` of the command line."""
    asked = re.findall(r"can-i\s+([^;&|]+)", exhibit.command)
    answered = [(i, line.split()[0]) for i, line in enumerate(exhibit.lines) if re.match(r"\s*(?:yes|no)\b", line)]
    for words, (index, answer) in zip(asked, answered, strict=False):
        who = re.search(r"--as[= ](\S+)", words)
        name = re.sub(r"(?:--\w[\w-]*(?:[= ]\S+)?|-\w[ =]\S+|-A\b)\s*", "", words).strip()
        yield Setting(exhibit.place(index), "can-i", name, answer, who[1] if who else "")


_Make = Callable[[Exhibit, int, "re.Match[str]"], Iterator[Fact]]
_RULES: Final[tuple[tuple[tuple[str, ...], str, _Make], ...]] = (
    (("=",), _ASSIGNED, _assigned),
    (
        ("-e ", "--env"),
        r"(?:(?:^|[ \t])-e|--env)[ \t=]+[\"']?([A-Z][A-Z0-9_]{1,60})=(\"[^\"\n]*\"|'[^'\n]*'|[^\s\"']*)", _env,
    ),
    (("Environment=",), rf"^{_PATH}[ \t]*Environment=(.{{1,2000}})$", _environment),
    (("EnvironmentFile=",), rf"^{_PATH}[ \t]*EnvironmentFile=(\S{{1,300}})[ \t]*$", _environment_file),
    (
        (":  ", "_", "NODEIP:", "IP:"),
        r"^[ \t]*([A-Z][A-Z0-9]*_[A-Z0-9_]{1,60}|(?<=    )(?:IP6?|NODENAME|NODEIP|AS|HOSTNAME)):[ \t]+(\S.{0,300})$",
        _described_env,
    ),
    (
        ("net.", "net/", "kernel.", "vm.", "fs.", "user."),
        r"^(/[\w./-]+:)?(?:\d+:)?[ \t]*((?:net|kernel|vm|fs|user)[./][\w./-]+)[ \t]*[=:][ \t]*"
        r"(-?\d.{0,60}|\w{1,30})[ \t]*$",
        _sysctl,
    ),
    (("/proc/sys/",), r"^/proc/sys/([\w./-]+):[ \t]*(-?\d\S*)[ \t]*$", _proc),
    (("cannot stat /proc/sys/",), r"cannot stat /proc/sys/([\w./-]+): No such file", _no_sysctl),
    (
        ("Cgroup", "_dir", "sandbox_image", "disabled_plugins"),
        r"^[ \t]*(?:\d+:[ \t]*)?(SystemdCgroup|systemd_cgroup|bin_dir|conf_dir|sandbox_image|disabled_plugins|"
        r"snapshotter|conf_template)[ \t]*=[ \t]*(\S.{0,200})$", _toml,
    ),
    (("--",), rf"--({_FLAGS})(?:=(\"[^\"\n]*\"|[^\s]*)|[ \t]+([/\d\"][^\s]*))", _flag),
    (("nameserver ",), r"^[ \t]*(nameserver)[ \t]+(\S{2,60})[ \t]*$", _resolv),
    (("nameserver ",), r"^(search|options)[ \t]+(\S.{0,200})$", _resolv),
    (("partition", "file"), r"^(/\S+)[ \t]+(?:partition|file)[ \t]+(\d+\S*)[ \t]+\d", _swap),
)  # fmt: skip


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.MULTILINE)
