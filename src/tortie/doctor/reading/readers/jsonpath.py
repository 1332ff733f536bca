"""Answers whose meaning stands in the command: `-o jsonpath`, `-o custom-columns`, `jq -r`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Final

from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Condition, Event, Fact, Node, Pod, Pool, Registered, Setting, Version
from tortie.doctor.reading.exhibit import Exhibit, Place
from tortie.doctor.reading.readers.kubectl_rows import INTERNAL
from tortie.doctor.reading.readers.rows import is_address
from tortie.doctor.reading.readers.times import epoch, is_cut

Record = list[tuple[str, str]]  # path, value
_SCOPES: Final = {
    "cm": "configmap", "configmap": "configmap", "felixconfiguration": "felixconfig", "felixconfig": "felixconfig",
    "bgpconfiguration": "bgpconfig", "bgpconfig": "bgpconfig", "ippool": "ippool", "installation": "installation",
    "no": "node", "node": "node", "ds": "workload", "daemonset": "workload", "deploy": "workload",
    "deployment": "workload",
    "po": "pod", "pod": "pod", "svc": "service", "service": "service", "ep": "endpoints", "endpoint": "endpoints",
    "clusterinformation": "clusterinformation", "bgppeer": "bgppeer", "tigerastatuse": "tigerastatus",
    "tigerastatu": "tigerastatus",
    "ev": "event", "event": "event",
    "validatingwebhookconfiguration": "webhook", "mutatingwebhookconfiguration": "webhook",
}  # fmt: skip
_ANNOTATION: Final = "projectcalico.org/IPv4Address"
_CALLED: Final = "#internal"  # behind the path of a column whose heading calls it so
_MAX_LINES: Final = 5_000
# jq's way to pick one address or condition by its type, which jsonpath writes as a filter.
_SELECTED: Final = lazily(
    r"(\.status\.(?:addresses|conditions))\[\]\s*\|\s*select\(\s*\.type\s*==\s*\\?\"(\w{1,40})\\?\"\s*\)"
    r"[\s)]*\|?\s*\.(address|status)\b"
)


def answers(exhibit: Exhibit) -> Iterator[Fact]:
    """Facts of the lines that answer one jsonpath or jq expression."""
    command = exhibit.command
    groups, many = _asked(command)
    if not groups or re.search(r"\bwc\b|grep -\w*c|uniq -c|base64|\bcomm\b", command):
        return
    kind, name = _resource(command)
    answered = 0
    for index, line in enumerate(exhibit.lines[:_MAX_LINES]):
        text = line.strip()
        if not text or text.startswith(("Error", "error", "Warning:", "{", "}", "[")) or "NotFound" in text:
            continue
        if answered >= len(groups) and not many:
            break  # everything asked for was answered: what follows belongs to something else
        paths = groups[answered % len(groups)]
        answered += 1
        cells = _cells(line, paths)
        if cells is not None:
            yield from _facts(exhibit.place(index), kind, name, list(zip(paths, cells, strict=True)))


def custom_columns(command: str) -> Callable[[Place, dict[str, str]], Iterator[Fact]]:
    """A reader of rows whose columns the command defines: `NAME:.metadata.name,IP:.status.addresses[0].address`."""
    columns = _columns(command)
    kind, name = _resource(command)

    def rows(place: Place, row: dict[str, str]) -> Iterator[Fact]:
        record = [
            (f"{columns[key]}{_CALLED}" if "INTERNAL" in key else columns[key], value)
            for key, value in row.items()
            if key in columns and value != "<none>"
        ]
        yield from _facts(place, kind, name, record)

    return rows


def column_names(command: str) -> frozenset[str]:
    """The header that a command with custom columns prints, in capitals."""
    return frozenset(_columns(command))


def _columns(command: str) -> dict[str, str]:
    match = re.search(r"custom-columns=?\s*(.+)", command)
    columns: dict[str, str] = {}
    for part in re.split(r",(?=\s*[\w -]+:)", match[1]) if match else []:
        header, _, path = part.strip("'\" ").partition(":")
        columns[header.upper().replace(" ", "_")] = _plain(path.split(" ")[0].strip("'\""))
    return columns


def _asked(command: str) -> tuple[list[list[str]], bool]:
    """The paths of the expression, for each line of the answer, and whether it goes over several items."""
    if "jsonpath" in command:
        match = re.search(r"jsonpath(?:-as-json)?[= ]*('[^']*'|\"(?:[^\"\\]|\\.)*\"|\S+)", command)
        if not match:
            return [], False
        template = match[1].strip("'\"").replace('\\"', '"')
        groups: list[list[str]] = [[]]
        for part in _braces(template):
            if part in ('"\\n"', "'\\n'"):
                groups.append([])
            elif not part.startswith(('"', "'", "range ", "end")):
                groups[-1].append(_plain(part))
        many = "range " in template or "[*]" in template or ".." in template
        return [group for group in groups if group], many
    if "jq " in command:
        match = re.search(r"jq\s+(?:-\w+\s+)*('[^']*'|\"[^\"]*\"|\S+)", command)
        expression = _SELECTED.sub(r'\1[?(@.type=="\2")].\3', match[1].strip("'\"")) if match else ""
        if not expression or "length" in expression or "select" in expression or "{" in expression:
            return [], False
        paths = re.findall(r"(?:\.[A-Za-z_]\w*(?:\[\"?[^\]]*\"?\])*|\.\"[^\"]+\"|\[\"[^\"]+\"\])+", expression)
        plain = [_plain(path) for path in paths if not re.fullmatch(r"\.items(?:\[\])?", path)]
        return [plain] if plain else [], ".items[]" in expression
    return [], False


def _braces(template: str) -> Iterator[str]:
    """The contents of `{...}`, where a filter may contain brackets and quotes."""
    for match in re.finditer(r"\{((?:[^{}\"']|\"[^\"]*\"|'[^']*')*)\}", template):
        yield match[1].strip()


def _plain(path: str) -> str:
    """`.items[*].metadata.annotations.projectcalico\\.org/IPv4Address` without `items`, escapes and quotes of keys."""
    path = path.strip().replace("\\.", ".").removeprefix("$").removeprefix("@")
    path = re.sub(r"\[[\"']([^\"']+)[\"']\]", r".\1", path).replace('."', ".").rstrip('"')
    return re.sub(r"^\.?items(?:\[[^\]]*\])?", "", path)


def _cells(line: str, paths: list[str]) -> list[str] | None:
    if len(paths) == 1:
        return [line.strip().strip("'\"")]
    for cells in (line.rstrip("\n").split("\t"), line.split(), re.split(r"[\s,|;=]+", line.strip())):
        if len(cells) == len(paths):
            return [cell.strip().strip("'\"").rstrip(":") for cell in cells]
    return None


def _resource(command: str) -> tuple[str, str]:
    match = _compiled(
        r"\bget\s+"
        r"(?:-[^\s=]++(?:=\S++| (?!-)[\w.-]++)?\s++){0,20}?([a-z]+)(?:\.[a-z.]+)?(?:[ /]([a-z0-9][\w.-]*))?(?:\s|$)"
    ).search(command)
    if not match:
        return "", ""
    kind = match[1]
    return _SCOPES.get(kind) or _SCOPES.get(kind.rstrip("s")) or kind, match[2] or ""


def _facts(place: Place, kind: str, name: str, record: Record) -> Iterator[Fact]:
    said = dict(record)
    name = said.get(".metadata.name", name)
    if kind == "node":
        yield from _node(place, name, record)
        return
    if kind == "event":
        yield from _event(place, said)
        return
    if kind == "pod" and ".metadata.name" in said:
        yield Pod(
            place, name, said.get(".metadata.namespace", ""), status=said.get(".status.phase", ""),
            ip=said.get(".status.podIP", ""), node=said.get(".spec.nodeName", ""),
            host_ip=said.get(".status.hostIP", ""),
        )  # fmt: skip
    if kind == "ippool" and any(path.endswith(".cidr") for path in said):
        ipip, vxlan = said.get(".spec.ipipMode", ""), said.get(".spec.vxlanMode", "")
        nat = {"true": True, "false": False}.get(said.get(".spec.natOutgoing", ""))
        yield Pool(place, name, said.get(".spec.cidr", ""), None, ipip, vxlan, nat=nat)
    for path, value in record:
        if path in (".metadata.name", ".metadata.namespace") or not value:
            continue
        yield from _setting(place, kind, name, path, value)


def _node(place: Place, name: str, record: Record) -> Iterator[Fact]:
    pod_cidr = version = ""
    addresses: list[tuple[str, str]] = []
    annotations: list[tuple[str, str]] = []
    conditions: list[Condition] = []
    for path, value in record:
        if not value or value == "<none>":
            continue
        if path.endswith(_ANNOTATION):
            annotations.append((_ANNOTATION, value))
        elif "address" in path and is_address(value):
            typed = re.search(r"type ?== ?[\"']?(\w+)", path)
            called = INTERNAL if path.endswith(_CALLED) else ""
            addresses.append((typed[1] if typed else called, value))
        elif path.endswith("podCIDR"):
            pod_cidr = value
        elif path.endswith("kubeletVersion"):
            version = value
        elif match := re.search(r'conditions\[\?\(@\.type ?== ?"?\'?(\w+)', path):
            conditions.append(Condition(place, name, match[1], value if path.endswith("status") else "", value))
    if name:
        ready = next((c.status for c in conditions if c.kind == "Ready" and c.status), "")
        status = "Ready" if ready == "True" else "NotReady" if ready else ""
        yield Node(
            place, name, status, version=version, internal_ip=dict(addresses).get("InternalIP", ""),
            addresses=tuple(addresses), annotations=tuple(annotations), pod_cidr=pod_cidr,
        )  # fmt: skip
    for _, value in annotations:
        address, _, length = value.partition("/")
        if is_address(address):
            yield Registered(place, name, address, int(length) if length.isdecimal() else None, "annotation")
    yield from (condition for condition in conditions if condition.status)


def _event(place: Place, said: dict[str, str]) -> Iterator[Fact]:
    """Columns of events that a command chose; without a reason nothing tells what it is."""
    reason, message = said.get(".reason", ""), said.get(".message", "")
    if not re.fullmatch(r"[A-Z]\w+", reason):
        return
    thing = next((said[f".{key}.name"] for key in ("involvedObject", "regarding") if said.get(f".{key}.name")), "")
    kind = next((said[f".{key}.kind"] for key in ("involvedObject", "regarding") if said.get(f".{key}.kind")), "")
    moments = (epoch(said.get(f".{key}", "")) for key in ("lastTimestamp", "eventTime", "metadata.creationTimestamp"))
    count = said.get(".count", "")
    yield Event(
        place, reason, message, said.get(".type", ""), f"{kind.lower()}/{thing}" if kind and thing else thing,
        said.get(".source.component", ""), said.get(".source.host", ""), None, int(count) if count.isdecimal() else 1,
        cut=is_cut(message), time=next((moment for moment in moments if moment is not None), None),
    )  # fmt: skip


def _setting(place: Place, kind: str, name: str, path: str, value: str) -> Iterator[Fact]:
    if env := re.search(r'env\[\?\(@\.name ?== ?"?\'?(\w+)', path):
        yield Setting(place, "env", env[1], value, name)
        return
    key = path.rstrip("]").rpartition(".")[2].split("[")[0]
    if key == "image" or not key:
        return
    if kind == "service" and key == "clusterIP":
        yield Setting(place, "service", name, value)
    elif kind == "endpoints":
        yield Setting(place, "endpoints", name, ",".join(value.split()))
    elif key == "calicoVersion":
        yield Version(place, "calico", value)
    else:
        yield Setting(place, kind or "jsonpath", key, value, name)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)
