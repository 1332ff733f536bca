"""What the evidence says about CNI files: which are there, where the runtime looks, how the paths are mounted.

All causes of section 6 look the same from afar (new pods fail, calico-node is fine); these observations separate them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Final

from tortie.doctor.picture.facts import Event, HostFile, LogLine, Pod, Setting
from tortie.doctor.picture.picture import Picture
from tortie.doctor.picture.places import exhibit_at
from tortie.doctor.reading.exhibit import Exhibit, Place
from tortie.doctor.signs import Hit, Sign
from tortie.model.tuples import NamedTuple

CONF_DIR: Final = "/etc/cni/net.d"
BIN_DIR: Final = "/opt/cni/bin"
OWN_FILE: Final = "10-calico.conflist"
KUBECONFIG: Final = "calico-kubeconfig"
OWN: Final = ("calico", "canal", "tortie")

# Shared signs
FIND_PLUGIN: Final = Sign("cni-find-plugin", 'failed to find plugin "<plugin>" in path [<list_dirs>]')
FIND_PLUGIN_CUT: Final = Sign("cni-find-plugin-cut", 'failed to find plugin "<plugin>"')
PLUGIN_FAILED: Final = Sign("cni-plugin-failed", 'plugin type="<plugin>" failed')
NOT_INITIALIZED: Final = Sign("cni-not-initialized", "cni plugin not initialized")
CONFIG_UNINITIALIZED: Final = Sign("cni-config-uninitialized", "cni config uninitialized")
NO_NETWORKS: Final = Sign("cni-no-networks", "no networks found in <dir>")
NO_NETWORK_CONFIG: Final = Sign("cni-no-network-config", "no network config found in <dir>")
READ_ONLY: Final = Sign("read-only-file-system", "<path>: read-only file system")
AVC: Final = Sign("avc-denied", "avc: denied { <op> } <rest>")
APPARMOR: Final = Sign("apparmor-denied", 'apparmor="DENIED" operation="<op>" <rest>')
CP_DENIED: Final = Sign("cp-denied", "cp: can't create '<path>': Permission denied")
CP_DENIED_GNU: Final = Sign("cp-denied-gnu", "cp: cannot create (regular file|directory) '<path>': Permission denied")

# Where the runtime looks
_CONF_SIGNS: Final = (
    Sign("runtime-conf-dir", 'conf_dir = "<dir>"'),
    Sign("runtime-confdir", '"confDir": "<dir>"'),
    Sign("runtime-network-dir", 'network_dir = "<dir>"'),
    Sign("kubelet-conf-dir", "--cni-conf-dir=<dir>"),
)
_BIN_SIGNS: Final = (
    Sign("runtime-bin-dir", 'bin_dir = "<dir>"'),
    Sign("runtime-bindir", '"binDir": "<dir>"'),
    Sign("runtime-plugin-dirs", 'plugin_dirs = ["<dir>"'),
    Sign("runtime-plugin-dirs-wrapped", 'plugin_dirs = [ "<dir>"'),
    Sign("kubelet-bin-dir", "--cni-bin-dir=<dir>"),
)
DIRECTORY_SIGNS: Final = (*_CONF_SIGNS, *_BIN_SIGNS)
_FEW = 8  # lines of a list of folders
_SHORT = 400  # lines; answers of the commands below are short
_DOCUMENT = 5000  # lines; manifests are long


class Directory(NamedTuple):
    path: str
    place: Place
    host: str = ""


class Mount(NamedTuple):
    """Options of a file system, and the path they were asked for or are mounted at."""

    path: str
    options: tuple[str, ...]
    place: Place


class Mode(NamedTuple):
    word: str  # enforcing, permissive, disabled
    place: Place


def runtime_conf_dirs(picture: Picture) -> list[Directory]:
    return _directories(picture, _CONF_SIGNS, ("conf_dir", "confDir", "network_dir", "cni-conf-dir"))


def runtime_bin_dirs(picture: Picture) -> list[Directory]:
    return _directories(picture, _BIN_SIGNS, ("bin_dir", "binDir", "plugin_dirs", "cni-bin-dir"))


def mounted_conf_dirs(picture: Picture) -> list[Directory]:
    """Where the DaemonSet's install-cni writes on the host: the volume cni-net-dir."""
    found = [
        Directory(_clean(path), exhibit.place(index), exhibit.host)
        for exhibit in picture.exhibits
        if not exhibit.prose and len(exhibit.lines) <= _DOCUMENT
        for index, line in enumerate(exhibit.lines)
        if "cni-net-dir" in line and (path := _volume_path(exhibit.lines, index))
    ]
    found += [  # a query for that volume answers with nothing but the path
        Directory(_clean(exhibit.lines[0]), exhibit.place(0), exhibit.host)
        for exhibit in picture.commands("cni-net-dir", "path")
        if len(exhibit.lines) == 1 and _compiled(r"[\s'\"]*/[\w./-]+[\s'\"]*$").match(exhibit.lines[0])
    ]
    return list({directory.path: directory for directory in found}.values())


def _volume_path(lines: tuple[str, ...], index: int) -> str:
    """YAML has the path before the name, describe after it, a jsonpath answer beside it."""
    line = lines[index]
    beside = _compiled(r"cni-net-dir[\"']?[\s:=,]+[\"']?(/[^\s\"',]+)").search(line)
    if beside:
        return beside[1]
    json = _compiled(r"\"path\":\s*\"(/[^\"]+)\"[^{}]{0,60}\},\s*\"name\":\s*\"cni-net-dir\"").search(line)
    if json:
        return json[1]
    if "mountPath" in line or " from cni-net-dir" in line:
        return ""
    described = line.strip() == "cni-net-dir:"
    near = lines[index + 1 : index + 4] if described else lines[max(0, index - 3) : index][::-1]
    for text in near:
        if match := _compiled(r"[\s-]*\"?path\"?:\s*\"?(/[^\s\",]+)").match(text):
            return match[1]
        if "mountPath" in text or (not described and "name:" in text):
            return ""
    return ""


def _directories(picture: Picture, signs: tuple[Sign, ...], names: tuple[str, ...]) -> list[Directory]:
    """Of several in one setting each: separated by commas for kubelet, a list for CRI-O, perhaps over several lines."""
    found = [
        Directory(_clean(path), hit.place, hit.host) for hit in picture.hits(*signs) for path in _each(picture, hit)
    ]
    found += [
        Directory(_clean(path), setting.place, setting.host)
        for setting in picture.of(Setting)
        if setting.name.rpartition(".")[2].lstrip("-") in names
        for path in setting.value.split(",")
    ]
    return list({directory.path: directory for directory in found if directory.path.startswith("/")}.values())


def _each(picture: Picture, hit: Hit) -> list[str]:
    paths = hit.value("dir").split(",")
    exhibit = exhibit_at(picture, hit.place) if "plugin_dirs" in hit.line else None
    if exhibit is None:
        return paths
    first = max(0, hit.place.first - exhibit.number(0))
    whole = " ".join(line[:400] for line in exhibit.lines[first : first + _FEW])
    return [*paths, *_compiled(r"[\"'](/[^\"'\s]{1,200})[\"']").findall(whole.partition("]")[0])]


_SNAP_DATA = re.compile(r"\$\{?SNAP_DATA\}?")


def _clean(path: str) -> str:
    """As the file system knows it: MicroK8s writes its own folder as a variable."""
    return _SNAP_DATA.sub("/var/snap/microk8s/current", path.strip("\"'[], ")).rstrip("/")


# Files


def conf_files(picture: Picture) -> list[HostFile]:
    """Configurations that a runtime would load, in its order: by name."""
    files = {
        (file.host, file.name): file
        for file in picture.of(HostFile)
        if is_conf_dir(file.folder) and file.name.endswith((".conf", ".conflist", ".json"))
    }
    return sorted(files.values(), key=lambda file: file.name)


def is_conf_dir(folder: str) -> bool:
    return "cni/net.d" in folder or "cni-network" in folder or "cni/net-d" in folder


def is_own(name: str) -> bool:
    return any(word in name.lower() for word in OWN)


def kubeconfigs(picture: Picture) -> list[HostFile]:
    return [file for file in picture.of(HostFile) if file.name.rpartition("/")[2] == KUBECONFIG]


# Mount options


def mounts(picture: Picture) -> Iterator[Mount]:
    """From `mount`, /proc/mounts and findmnt, which may print nothing but the options."""
    for exhibit in picture.exhibits:
        typed = any(word in exhibit.command for word in ("mount", "findmnt", "fstab"))
        if not exhibit.prose and len(exhibit.lines) <= _SHORT and (typed or not exhibit.command):
            yield from _mounts(exhibit, typed)


def _mounts(exhibit: Exhibit, typed: bool) -> Iterator[Mount]:
    asked = [word for word in exhibit.command.replace(";", " ").split() if word.startswith("/")]
    bare = 0
    for index, line in enumerate(exhibit.lines):
        text = line[:1000].strip(" \t├─└│|`-")
        match = _compiled(r"\S+ on (\S+) type \S+ \(([^()\s]+)\)").match(text)
        if match:
            yield Mount(match[1], tuple(match[2].split(",")), exhibit.place(index))
            continue
        words = text.split() if typed else []
        options = next((word for word in words if _compiled(r"(?:rw|ro|defaults)(?:,[\w,=.:-]+)?$").match(word)), "")
        if not options:
            continue
        # /proc/mounts has the device first, findmnt the target; a bare answer has the options alone.
        path = next((word for word in words if word.startswith("/") and not word.startswith("/dev/")), "")
        if not path and len(words) == 1:
            path = asked[min(bare, len(asked) - 1)] if asked else ""
            bare += 1
        yield Mount(path, tuple(options.split(",")), exhibit.place(index))


def mounted(picture: Picture, option: str, *paths: str) -> Mount | None:
    """The file system with this option that one of these paths lies on, or that one of them is."""
    for mount in mounts(picture):
        if option in mount.options and any(_below(path, mount.path) for path in paths):
            return mount
    return None


def carrier(picture: Picture, path: str) -> Mount | None:
    """The file system that a path lies on: of those that are shown the one that is nearest to it."""
    above = [mount for mount in mounts(picture) if mount.path and f"{path}/".startswith(mount.path.rstrip("/") + "/")]
    return max(above, key=lambda mount: len(mount.path), default=None)


def _below(path: str, mount: str) -> bool:
    if not mount:
        return False
    return path == mount or path.startswith(mount.rstrip("/") + "/") or mount.startswith(path.rstrip("/") + "/")


# SELinux


def selinux(picture: Picture) -> Mode | None:
    """What getenforce or sestatus answered: of several machines the one that enforces, else the last one."""
    modes = [
        Mode(match[1].lower(), exhibit.place(index))
        for exhibit in picture.exhibits
        if any(word in exhibit.command for word in ("getenforce", "sestatus", "selinux"))
        if len(exhibit.lines) <= _SHORT
        for index, line in enumerate(exhibit.lines)
        if (match := _compiled(r"\s*(?:Current mode:\s*|SELINUX=)?(enforcing|permissive|disabled)\s*$").match(line))
    ]
    return next((mode for mode in modes if mode.word == "enforcing"), modes[-1] if modes else None)


# Symptoms


def agents_fine(picture: Picture) -> bool | None:
    """Whether every agent shown is ready; None when none is shown with its readiness."""
    pods = [pod for pod in picture.agents_now() if pod.containers is not None]
    return all(pod.all_ready for pod in pods) if pods else None


def sandbox_events(picture: Picture) -> list[Event]:
    return [e for e in picture.of(Event) if "sandbox" in e.message.lower() or e.reason == "FailedCreatePodSandBox"]


def sandbox_lines(picture: Picture) -> list[LogLine]:
    """The same as kubelet or the runtime log it."""
    words = ("runpodsandbox", "set up sandbox", "setup network for sandbox", "networkplugin cni failed")
    return [
        line
        for line in picture.of(LogLine)
        if line.level in ("ERROR", "WARNING", "") and any(word in line.message.lower() for word in words)
    ]


def waiting_pods(picture: Picture) -> list[Pod]:
    """Pods that wait for their network."""
    return [pod for pod in picture.pods_now() if pod.status in ("ContainerCreating", "Terminating")]


def current(picture: Picture) -> bool:
    """Something still fails, or nothing says that all is well."""
    return agents_fine(picture) is not True or failing(picture)


def failing(picture: Picture) -> bool:
    """Pods get no network: by their rows, by events, or by the logs of those who should make it."""
    return bool(waiting_pods(picture) or sandbox_events(picture) or sandbox_lines(picture))


def node_of(hits: list[Hit], picture: Picture) -> str:
    """The node a symptom was seen on: the host of the hit, or the kubelet that reported."""
    named = [hit.host for hit in hits if hit.host and "kubectl" not in hit.command]
    named += [event.host for event in sandbox_events(picture) if event.host]
    return named[0] if named else ""


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)
