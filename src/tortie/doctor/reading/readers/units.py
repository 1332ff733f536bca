"""Services and containers of a machine: systemctl, docker, crictl, nerdctl.

Settings made here, by scope:
- `unit`: owner a unit: fields of systemctl show and cat (`ExecStart`, `ActiveEnterTimestamp`, `Restart` ...),
  `enabled` of list-unit-files and of the Loaded line, `since` of the Active line. `env`: variables of Environment=
  and of `-e NAME=value`.
- `runtime-container`: name a container, value its state and age as printed (`Running, About an hour ago`; `Up 2
  hours`; `Exited (1) 5 minutes ago`), owner its pod or image.
- `containerd`: fields of crictl info and of config.toml greps: `lastCNILoadStatus`, `confDir`, `binDir`,
  `NetworkReady`, `reason`, `message`, `sandboxImage`, `SystemdCgroup`.
- `runtime`: name docker, crictl or nerdctl, value hangs, deadline exceeded or unreachable: the runtime did not
  answer.
- `runtime-id`: name the id of a running container, value the container, owner its pod (empty without one).
- `published-port`: name a port of the host that docker forwards, value the container's port, owner the container.
- `docker-network`: name a network, value its driver, owner its id.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Fact, Setting, Unit
from tortie.doctor.reading.exhibit import Exhibit
from tortie.doctor.reading.readers.host_commands import ran, rows, segments, words_after
from tortie.doctor.reading.readers.runtime_rows import details

_HEAD: Final = lazily(r"^[●○×*↻x] ([\w@.\\:-]+\.(?:service|timer|socket|mount|target))\b")
_ACTIVE: Final = lazily(r"^Active: (\w+)(?: \(([^)]*)\))?(.*)$")
_LOADED: Final = lazily(r"^Loaded: (?:loaded \([^;]+; ([\w-]+)|([\w-]+))")
_EXIT: Final = lazily(r"^(?:Main PID|Process): \d+ .*\(?code=(\w+), status=([^)\s]+)")
_LISTED: Final = lazily(
    r"^(?:● )?([\w@.\\:-]+\.(?:service|timer|socket))\s+(loaded|not-found|masked)\s+(\w+)\s+([\w-]+)"
)
_UNIT_FILE: Final = lazily(r"^([\w@.\\:-]+\.(?:service|timer|socket))\s+(enabled|disabled|static|masked|indirect)\b")
_TIMER: Final = lazily(r"\s([\w@.-]+\.timer)\s+([\w@.-]+\.service)$")
_STATES: Final = ("active", "inactive", "failed", "activating", "deactivating", "unknown")
_IS_ACTIVE: Final = lazily(r"\bis-(?:active|failed)\b")
# `service x status` of old systems, supervisorctl, and what people put together of systemctl's words.
_STATED: Final = lazily(
    r"^([\w@.-]{2,80}?)(?:\.service)?(?: is (not active|not running|stopped|dead|running|active)\b"
    r"|\s{2,}(RUNNING|FATAL|STOPPED|EXITED|BACKOFF|STARTING)\s"
    r"|(?<=\.service)(?:: | )(inactive|failed|active) \((?:dead|running|exited|failed|Result)[^)]{0,60}\))"
)
_STATED_AS: Final = {
    "not active": "inactive", "not running": "inactive", "stopped": "inactive", "dead": "inactive", "running": "active",
    "active": "active", "RUNNING": "active", "FATAL": "failed", "STOPPED": "inactive", "EXITED": "inactive",
    "BACKOFF": "failed", "STARTING": "activating", "inactive": "inactive", "failed": "failed",
}  # fmt: skip
_FIELD: Final = lazily(r"^([A-Z][A-Za-z]+)=(.*)$")
_ENV: Final = lazily(r'(?:^|\s)"?([A-Za-z_][A-Za-z0-9_]*)=("[^"]*"|[^\s"]*)')
_FLAG: Final = lazily(r"(?:^|\s)(?:-e|--env)[ =]\"?([A-Z][A-Z0-9_]*)=([^\s\"\\]*)")
_STATUS: Final = r"(?:Up|Exited|Restarting|Created|Dead|Removal|Paused)\b"
_DOCKER: Final = lazily(
    rf"^([0-9a-f]{{12}})\s+(\S+)\s+\"[^\"]{{0,400}}+\"\s+.{{1,80}}?\s({_STATUS}(?:(?!\s\s).)*+)\s{{2,}}+(?:.*\s)?(\S+)$"
)
_FORMAT: Final = lazily(rf"^(\S+)\s+({_STATUS}.*)$")
_CRI: Final = lazily(
    r"^[0-9a-f]{12,64}\s+(\S+)\s+(.+?\sago)\s+(Running|Exited|Created|Unknown)\s+(\S+)\s+(\d+)\s+([0-9a-f]{8,64})(?:\s+(\S+))?"
)
_K8S: Final = lazily(r"^k8s_([^_]+)_([^_]+)_")
_INFO: Final = lazily(
    r'^"?(lastCNILoadStatus(?:\.\w+)?|confDir|binDir|sandboxImage|SystemdCgroup|systemdCgroup|conf_dir|bin_dir|reason|message'
    r'|pluginConfDir|pluginDirs?|sandbox_image)"?\s*[:=]\s*(.*?),?$'
)
_NAMES: Final = {
    "conf_dir": "confDir", "bin_dir": "binDir", "pluginConfDir": "confDir", "pluginDir": "binDir",
    "systemdCgroup": "SystemdCgroup", "sandbox_image": "sandboxImage",
}  # fmt: skip
_DEAF: Final = (
    ("Cannot connect to the Docker daemon", "unreachable"),
    ("context deadline exceeded", "deadline exceeded"),
    ("validate service connection", "unreachable"),
    ("unable to determine runtime API version", "unreachable"),
    ("DeadlineExceeded", "deadline exceeded"),
)
_RUNTIMES: Final = ("docker", "crictl", "nerdctl", "ctr")
# Calls that end by themselves within moments, so that a person who stops one waited in vain.
_ENDING: Final = (
    "ps", "info", "images", "image", "inspect", "inspecti", "inspectp", "stop", "stopp", "start", "restart", "kill",
    "rm", "rmi", "rmp", "pods", "version", "exec", "containers", "c", "tasks", "task", "container", "update",
)  # fmt: skip
_LASTING: Final = lazily(r"\s(?:watch|ping|tail|top|stats|events|attach|tcpdump|(?:ba|a)?sh|birdcl)(?=\s|$)")


def read(exhibit: Exhibit) -> Iterator[Fact]:
    text, command = exhibit.text, exhibit.command
    if "Active: " in text:
        yield from _status(exhibit)
    if "systemctl" in command or ".service" in text or ".timer" in text:
        yield from _systemctl(exhibit)
    if ran(exhibit, "service", "supervisorctl") or ".service: " in text or ".service inactive" in text:
        yield from _stated(exhibit)
    if ran(exhibit, *_RUNTIMES) or "CONTAINER ID" in text or "k8s_" in text:
        yield from _containers(exhibit)
        yield from details(exhibit)
    if ran(exhibit, "crictl", "containerd") or "lastCNILoadStatus" in text or "containerd/config" in command:
        yield from _info(exhibit)


def _status(exhibit: Exhibit) -> Iterator[Fact]:
    asked, found, at = _asked(exhibit), None, 0
    current = asked[0] if asked else ""
    for index, line in rows(exhibit):
        if head := _HEAD.match(line):
            if found:
                yield found
            current, found, asked = head[1], None, []
        elif loaded := _LOADED.match(line):
            enabled = loaded[1] or loaded[2]
            yield Setting(exhibit.place(index), "unit", "enabled", enabled, _service(current), exhibit.host)
        elif active := _ACTIVE.match(line):
            if found:  # of several units only these lines were kept: they stand in the order of the command
                yield found
            if asked:
                current = asked.pop(0)
            found, at = Unit(exhibit.place(index), _service(current), active[1], active[2] or "", exhibit.host), index
            since = re.search(r"since (.*)$", active[3])
            if since:
                yield Setting(exhibit.place(index), "unit", "since", since[1], _service(current), exhibit.host)
        elif found and (ended := _EXIT.match(line)) and ended[1] != "running":
            told = f"{ended[1]} {ended[2]}"
            detail = found.detail if told in found.detail else f"{found.detail}; {told}".strip("; ")
            found = found._replace(place=exhibit.place(at, index + 1), detail=detail)
    if found:
        yield found


def _service(name: str) -> str:
    return name.removesuffix(".service")


def _asked(exhibit: Exhibit) -> list[str]:
    verbs = ("status", "is-active", "is-failed", "is-enabled", "show", "cat", "restart", "start")
    found: list[str] = []
    for segment in segments(exhibit.command):
        words = [word for word in words_after(segment, "systemctl") if not word.startswith("-")]
        if words and words[0] in verbs:
            found += [word for word in words[1:] if re.fullmatch(r"[\w@.:-]+", word)]
    return found


def _systemctl(exhibit: Exhibit) -> Iterator[Fact]:
    asked = _asked(exhibit)
    turn, host = 0, exhibit.host
    for index, line in rows(exhibit):
        place = exhibit.place(index)
        owner = _service(asked[min(turn, len(asked) - 1)]) if asked else ""
        if line in _STATES and _IS_ACTIVE.search(exhibit.command) and asked:
            yield Unit(place, owner, line, "", host)
            turn += 1
        elif line in ("enabled", "disabled", "static", "masked") and "is-enabled" in exhibit.command and asked:
            yield Setting(place, "unit", "enabled", line, owner, host)
            turn += 1
        elif (
            not asked
            and exhibit.command != "systemctl show"
            and ".service" not in line
            and ".timer" not in line
            and ".socket" not in line
        ):
            continue
        elif match := _LISTED.match(line):
            active = "not-found" if match[2] == "not-found" else match[3]
            yield Unit(place, _service(match[1]), active, match[4], host)
        elif match := _UNIT_FILE.match(line):
            yield Setting(place, "unit", "enabled", match[2], _service(match[1]), host)
        elif match := _TIMER.search(line):
            yield Unit(place, match[1], "active", f"timer of {match[2]}", host)
        elif "could not be found" in line and line.startswith("Unit "):
            yield Unit(place, _service(line.split()[1]), "not-found", "", host)
        elif "systemctl" in exhibit.command:
            yield from _fields(exhibit, index, line, owner)


def _stated(exhibit: Exhibit) -> Iterator[Fact]:
    for index, line in rows(exhibit):
        match = _STATED.match(line)
        if match:
            said = match[2] or match[3] or match[4]
            yield Unit(exhibit.place(index), _service(match[1]), _STATED_AS[said], line, exhibit.host)


def _fields(exhibit: Exhibit, index: int, line: str, owner: str) -> Iterator[Fact]:
    """Lines of systemctl cat and show."""
    place = exhibit.place(index)
    field = _FIELD.match(line)
    if field and field[1] == "ActiveState":
        yield Unit(place, owner, field[2], "", exhibit.host)
    elif field and field[1] == "Environment":
        for match in _ENV.finditer(field[2]):
            yield Setting(place, "env", match[1], match[2].strip('"'), owner, exhibit.host)
    elif field:
        yield Setting(place, "unit", field[1], field[2].rstrip(" \\"), owner, exhibit.host)
    for match in _FLAG.finditer(line):
        yield Setting(place, "env", match[1], match[2], owner, exhibit.host)


def _containers(exhibit: Exhibit) -> Iterator[Fact]:
    tool = next((name for name in _RUNTIMES if ran(exhibit, name)), "")
    networks = "network ls" in exhibit.command or "NETWORK ID" in exhibit.text
    host, formatted = exhibit.host, "--format" in exhibit.command
    for index, line in rows(exhibit):
        place = exhibit.place(index)
        deaf = next((value for words, value in _DEAF if words in line), "") if tool else ""
        if deaf or (tool and _stopped(exhibit.command, line)):
            yield Setting(place, "runtime", tool, deaf or "hangs", "", host)
        elif not line[:12].isalnum() and not networks and not formatted:
            continue
        elif match := _CRI.match(line):
            yield Setting(place, "runtime-container", match[4], f"{match[3]}, {match[2]}", match[7] or match[6], host)
        elif match := _DOCKER.match(line):
            inside = _K8S.match(match[4])
            name, owner = (inside[1], inside[2]) if inside else (match[4], match[2])
            yield Setting(place, "runtime-container", name, match[3].strip(), owner, host)
        elif networks and len(words := line.split()) == 4 and re.fullmatch(r"[0-9a-f]{12}", words[0]):
            yield Setting(place, "docker-network", words[1], words[2], words[0], host)
        elif formatted and (match := _FORMAT.match(line)):
            named = re.search(r"name=([\w.-]+)", exhibit.command)
            name = named[1] if named else match[1]
            yield Setting(place, "runtime-container", name, match[2], match[1], host)


def _stopped(command: str, line: str) -> bool:
    """Whether this line says that a call to the runtime was ended from outside: by a person, or by `timeout` (124)."""
    if line not in ("^C", "124") or (line == "124" and "timeout" not in command):
        return False
    for segment in segments(command):
        words = words_after(segment, *_RUNTIMES)
        verb = next((word for word in words if word in _ENDING or word in ("logs", "attach", "run")), "")
        if verb in _ENDING and not _LASTING.search(" " + " ".join(words)):
            return True
    return False


def _info(exhibit: Exhibit) -> Iterator[Fact]:
    condition = ""
    for index, line in rows(exhibit):
        match = _INFO.match(line)
        if match and len(line) < 2000:
            name = _NAMES.get(match[1], match[1])
            owner = condition if name in ("reason", "message") else ""
            yield Setting(exhibit.place(index), "containerd", name, match[2].strip('"'), owner, exhibit.host)
        elif kind := re.match(r'^"?type"?:\s*"?(NetworkReady|RuntimeReady)', line):
            condition = kind[1]
        elif re.match(r'^"status":\s*(?:true|false)', line):
            status = "true" if "true" in line else "false"
            for_what = _condition_near(exhibit, index)
            if for_what:
                yield Setting(exhibit.place(index), "containerd", for_what, status, "", exhibit.host)


def _condition_near(exhibit: Exhibit, index: int) -> str:
    """crictl prints a condition's fields in alphabetic order: its type stands right below or above its status."""
    for line in exhibit.lines[index + 1 : index + 2] + exhibit.lines[max(0, index - 1) : index]:
        match = re.search(r'"type":\s*"(NetworkReady|RuntimeReady)"', line)
        if match:
            return match[1]
    return ""
