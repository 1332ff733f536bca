"""Whether containerd was told a cgroup driver at all: without a file, or without the line, it uses cgroupfs."""

from __future__ import annotations

import re
from typing import Final

from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Node
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Exhibit, Place

_FILE: Final = "containerd/config.toml"
_NO_FILE: Final = lazily(
    r"(?:cannot access|cannot open|can't open) \W?/etc/containerd/?(?:config\.toml)?\W?:? |"
    r"/etc/containerd/config\.toml\W?: No such file"
)
_DEFAULT: Final = lazily(r"\bdefault_runtime_name\s{0,4}=\s{0,4}['\"](?P<name>[\w.-]{1,60})['\"]")
_SECTION: Final = lazily(r"\.runtimes\.['\"]?(?P<name>[\w-]{1,60})['\"]?(?:\.options)?\]")
_VALUE: Final = lazily(r"\bSystemdCgroup\s{0,4}=\s{0,4}(?P<value>true|false)\b", re.IGNORECASE)
_LINE: Final = "systemdcgroup"
# Others bring a containerd of their own, with its file elsewhere.
_OWN: Final = ("k3s", "rke2", "microk8s", "minikube", "kind-")
_OTHER_RUNTIME: Final = ("docker://", "cri-o://")


def unconfigured(picture: Picture) -> Place | None:
    nodes = picture.of(Node)
    others = [node for node in nodes if node.runtime.startswith(_OTHER_RUNTIME) or any(w in node.version for w in _OWN)]
    if others or any(word in exhibit.command for exhibit in picture.exhibits for word in _OWN):
        return None
    return next((place for exhibit in picture.exhibits if (place := _lacks(exhibit)) is not None), None)


def _lacks(exhibit: Exhibit) -> Place | None:
    """The line that says that there is no file, or the output in which the setting is missing."""
    if exhibit.prose:
        return None
    missing = (index for index, line in enumerate(exhibit.lines) if _NO_FILE.search(line[:300]))
    if (index := next(missing, None)) is not None:
        return exhibit.place(index)
    command = exhibit.command.lower()
    if _FILE not in command or _LINE in exhibit.text.lower():
        return None
    filled = [index for index, line in enumerate(exhibit.lines) if line.strip()]
    if "grep" in command and _LINE in command:
        return _typed(exhibit) if not filled else None
    # The whole file, as `cat` has it; one that switches the interface of Kubernetes off is another trouble.
    whole = command.split()[:1] == ["cat"] or command.startswith("sudo cat")
    shown = "[plugins" in exhibit.text or "version =" in exhibit.text or "disabled_plugins" in exhibit.text
    off = any("disabled_plugins" in line and "cri" in line for line in exhibit.lines)
    return exhibit.place(filled[0]) if whole and shown and filled and not off and "|" not in command else None


def _typed(exhibit: Exhibit) -> Place:
    at = exhibit.command_lines[0] if exhibit.command_lines else exhibit.first
    return Place(exhibit.source, at, at)


def of_default_handler(exhibit: Exhibit) -> str:
    """`true` or `false`: the setting of the handler that pods get unasked; empty where it is not told."""
    named = next((match["name"] for line in exhibit.lines if (match := _DEFAULT.search(line[:300]))), "")
    inside = ""
    for line in exhibit.lines if named else ():
        if section := _SECTION.search(line[:300]):
            inside = section["name"]
        elif inside == named and (value := _VALUE.search(line[:300])):
            return value["value"].lower()
    return ""
