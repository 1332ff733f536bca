"""Versions of everything that says its own: images, `kubectl version`, iptables, ipset, kernels, runtimes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Final

from tortie.doctor.picture.facts import Fact, Setting, Version
from tortie.doctor.reading.exhibit import Exhibit

_IMAGE: Final = (
    r"(?:calico/|mirrored-calico-|calico-)(?P<part>node|cni|kube-controllers|typha|pod2daemon-flexvol|apiserver|csi|ctl)"
    r"(?:-(?:amd64|arm64|ppc64le))?:(?P<version>v\d+\.\d+(?:\.\d+)?(?:[-+][\w.]+)?)"
)
# Component, needle, pattern with the version as first group.
_LINES: Final = (
    ("operator", "operator:v", r"tigera/operator:(v\d[\w.-]*)"),
    ("kubernetes", "kube-apiserver:v", r"kube-apiserver(?:-\w+)?:(v\d[\w.-]*)"),
    (
        "kubernetes", "Server Version",
        r"^[ \t]*Server Version:[ \t]*(?:version\.Info\{.{0,80}?GitVersion:\")?(v\d[\w.+-]*)",
    ),
    ("docker", "Server Version", r"^[ \t]*Server Version:[ \t]*(\d[\w.+-]*)"),
    ("kubelet", "Kubernetes v", r"^Kubernetes (v1\.\d[\w.+-]*)$"),
    ("iptables", "tables v", r"^[ \t]*ip6?tables v(\d[\w.]*)"),
    ("ipset", "ipset v", r"\bipset v(\d[\w.]*)"),
    ("docker", "Docker version", r"^Docker version (\d[\w.-]*)"),
    ("containerd", "containerd", r"^containerd \S+ v?(\d[\w.~+-]*)"),
    ("etcd", "etcd", r"^etcd(?:ctl)? [Vv]ersion: v?(\d[\w.-]*)"),
    ("etcd", "etcd:", r"/etcd(?:-\w+)?:v?(\d[\w.-]*)"),
    ("calico", "with version v", r"\bStarting node \S{1,253} with version (v[23]\.\d[\w.-]*)"),
    ("calico", "Cluster Version", r"^[ \t]*Cluster Version:[ \t]*(v\d[\w.-]*)"),
    ("calico", "calicoVersion", r"calicoVersion[\"']?[ \t]*:[ \t]*[\"']?(v\d[\w.-]*)"),
    ("calico", "CNI plugin version", r"CNI plugin version:? (v\d[\w.-]*)"),
    ("kernel", "Linux ", r"^Linux \S+ (\d+\.\d+\.\d+\S*) #"),
    ("kernel", "Linux version ", r"Linux version (\d+\.\d+\S*)"),
)  # fmt: skip


_NUMBERED: Final = r"[ \t]*(?:版本|version|release|集群|cluster)?[ \t:：是为=(（@/*`-]*[vV]?"
# What a person says to run. A bare v3.24.1 is Calico's unless it follows the name of another program with such numbers.
_SAID: Final = (
    ("calico", r"\bcalico(?:[/-]node)?" + _NUMBERED + r"(3\.\d{1,2}(?:\.\d{1,2})?)(?![\d.]*\d)"),
    (
        "calico",
        r"\bcalico\b(?:[^。.;；\n]|\.\d){0,30}?(?:to|->|→|=>|到|至)[ \t]*[vV]?(3\.\d{1,2}(?:\.\d{1,2})?)(?![\d.]*\d)",
    ),
    ("calico", r"(?<![\w./:-])v(3\.\d{1,2}\.\d{1,2})(?![\w-])"),
    (
        "kernel",
        r"(?:内核|\bkernel)(?:[ \t]*(?:版本|version|release))?[ \t:：是为=(（]{0,4}v?"
        r"([2-7]\.\d{1,2}\.\d{1,3}(?:-[\w.+-]{0,60}\w)?)(?![\w.]*\d)",
    ),
    ("kubernetes", r"\b(?:k8s|kubernetes|kubeadm|k3s|rke2)" + _NUMBERED + r"(1\.\d{1,2}(?:\.\d{1,2})?)(?![\d.]*\d)"),
)
_NOT_THIS: Final = (
    r"(?:helm|etcd(?:ctl)?|ipset|python|之前|以前|原来|原先|另一个?集群|其他集群|别的集群|老集群|回退到?|"
    r"previous(?:ly)?|used to (?:run|be)|before|another cluster|other cluster\w*|old cluster|downgrad\w+(?: to)?|"
    r"rolled back to|instead of|from|tried|older?|从|旧|试过|试了|换了)[^,，。.;；\n]{0,14}$"
)


# "* Calico version v3.24.1": a list of what somebody runs, as forms for issues ask for it.
_LISTED: Final = (
    r"^\s{0,4}(?:[-*•+]\s{1,3})?[*_`]{0,2}(?:calico|kubernetes|k8s|cni|network|orchestrator|environment|versions?)\b"
)
_MOST_LISTED: Final = 60
_LONGEST_LISTED: Final = 160


def listed_versions(exhibit: Exhibit) -> Iterator[Fact]:
    """The same in lines that are no sentences."""
    if exhibit.command or len(exhibit.lines) > _MOST_LISTED:
        return
    for index, line in enumerate(exhibit.lines):
        if len(line) <= _LONGEST_LISTED and _compiled(_LISTED).match(line.lower()):
            yield from said_versions(exhibit, line, lambda _, at=index: at)  # type: ignore[misc]


def said_versions(exhibit: Exhibit, text: str, line_of: Callable[[int], int]) -> Iterator[Fact]:
    """Versions in a person's words, in the order they are said: "calico v3.10.1 + k8s 1.16.4"."""
    low = text.lower()
    found: dict[tuple[str, str], int] = {}
    for component, pattern in _SAID:
        for match in _compiled(pattern).finditer(low):
            before = low[max(0, match.start(1) - 40) : match.start(1)].rstrip("v ")
            if not _compiled(_NOT_THIS).search(before):
                found.setdefault((component, match[1]), match.start(1))
    for (component, number), offset in sorted(found.items(), key=lambda item: item[1]):
        yield Version(exhibit.place(line_of(offset)), component, number if component == "kernel" else f"v{number}")


def versions(exhibit: Exhibit, text: str, line_of: Callable[[int], int]) -> Iterator[Fact]:
    """Each version once for an exhibit, at its first line."""
    seen: set[tuple[str, str]] = set()
    if "calico" in text:
        for match in _compiled(_IMAGE).finditer(text):
            if ("calico", match["version"]) not in seen:
                seen.add(("calico", match["version"]))
                yield Version(exhibit.place(line_of(match.start())), "calico", match["version"])
    for component, needle, pattern in _LINES:
        if needle not in text:
            continue
        for match in _compiled(pattern).finditer(text):
            if (component, match[1]) not in seen:
                seen.add((component, match[1]))
                yield Version(exhibit.place(line_of(match.start(1))), component, match[1], exhibit.host)
    if "tables v" in text:
        for match in _compiled(r"^[ \t]*ip6?tables v\S+ \((legacy|nf_tables)\)").finditer(text):
            index = line_of(match.start(1))
            yield Setting(exhibit.place(index), "iptables", "backend", match[1], _where(exhibit.command), exhibit.host)
    if re.search(r"\buname -s?r[mpio]*\b", exhibit.command):
        for index, line in enumerate(exhibit.lines[:6]):
            if release := re.match(r"(?:Linux )?(\d+\.\d+\.\d+\S*)(?: \w+){0,4}$", line.strip()):
                yield Version(exhibit.place(index), "kernel", release[1], exhibit.host)


def _where(command: str) -> str:
    """Inside of a container, or on the host (empty)."""
    return "container" if re.search(r"\bexec\b", command) else ""


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.MULTILINE)
