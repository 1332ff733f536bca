"""Rows of commands that leave no header: --no-headers, -o name, awk, grep; and what the server does not find."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tortie.doctor.picture.facts import Fact, Node, Pod, Setting, Workload
from tortie.doctor.reading.exhibit import Place
from tortie.doctor.reading.readers.kubectl_words import KINDS, NAMELIKE, compiled, namespace_of, some
from tortie.doctor.reading.readers.rows import NONE


def of_name(place: Place, name: str, asked: str) -> Iterator[Fact]:
    if not NAMELIKE.match(name) or name.replace(".", "").isdecimal():
        return
    if asked == "Node":
        yield Node(place, name)
    elif asked == "Pod":
        yield Pod(place, name)
    elif asked in ("DaemonSet", "Deployment", "StatefulSet"):
        yield Workload(place, asked, name)
    elif asked.startswith(("crd", "clusterrole")):
        yield Setting(place, asked, name, "present")
    elif asked and asked[0].islower():
        yield Setting(place, "resource", name, "present", asked)


def bare_row(place: Place, line: str, asked: str, command: str) -> Iterator[Fact]:
    """Rows of a command that leaves no header: --no-headers, -o name, awk of the name's column, grep."""
    cells = line.split()
    first = cells[0]
    if "/" in first and len(cells) == 1:
        kind, _, name = first.partition("/")
        yield from of_name(place, name, KINDS.get(kind.split(".")[0], kind))
    elif asked in ("DaemonSet", "Deployment", "StatefulSet") and len(cells) > 4:
        yield from _bare_workload(place, cells, asked, namespace_of(command))
    elif asked == "Endpoints" and len(cells) in (3, 4) and (":" in cells[-2] or cells[-2] == NONE):
        yield Setting(place, "endpoints", cells[-3], some(cells[-2]))
    elif (asked.startswith(("crd", "clusterrole")) and (len(cells) <= 2 or re.match(r"\d{4}-", cells[-1]))) or (
        len(cells) == 1 and re.search(r"print ?\$[12]\b|name", command)
    ):
        yield from of_name(place, first, asked)
    elif asked == "Pod" and "print" in command:
        yield from _awked_pod(place, cells, command)


def _awked_pod(place: Place, cells: list[str], command: str) -> Iterator[Fact]:
    """Columns that awk chose by their numbers."""
    printed = compiled(r"print ((?:\$\d+[, \"\\t]*)+)").search(command)
    columns = ["NAME", "READY", "STATUS", "RESTARTS", "AGE", "IP", "NODE"]
    if re.search(r"\s-A\b|--all-namespaces", command):
        columns.insert(0, "NAMESPACE")
    chosen = [int(number) for number in re.findall(r"\$(\d+)", printed[1])] if printed else []
    if not chosen or len(chosen) != len(cells) or max(chosen) > len(columns):
        return
    row = {columns[number - 1]: some(cell) for number, cell in zip(chosen, cells, strict=True)}
    if NAMELIKE.match(row.get("NAME", "")):
        yield Pod(
            place, row["NAME"], row.get("NAMESPACE", namespace_of(command)), status=row.get("STATUS", ""),
            ip=row.get("IP", ""), node=row.get("NODE", ""),
        )  # fmt: skip


def _bare_workload(place: Place, cells: list[str], asked: str, namespace: str) -> Iterator[Fact]:
    if not (cells[1][0].isdecimal()):
        namespace, cells = cells[0], cells[1:]
    ready, _, of = cells[1].partition("/")
    if of:
        cells = [cells[0], of, of, ready]
    if len(cells) > 3 and all(cell.isdecimal() for cell in cells[1:4]):
        yield Workload(place, asked, cells[0], namespace, int(cells[1]), int(cells[2]), int(cells[3]))


def bare_top(place: Place, line: str) -> Iterator[Fact]:
    """`pod [container] 38m 171Mi` or `node 812m 20% 3012Mi 39%`."""
    match = compiled(r"\s*(\S+)(?:\s+([a-z]\S*))?\s+(\d+m?)(?:\s+(\d+%))?\s+(\d+[KMG]i)(?:\s+(\d+%))?\s*$").match(line)
    if match:
        owner = f"{match[1]}/{match[2]}" if match[2] else match[1]
        for name, value in (("cpu", match[3]), ("cpu%", match[4]), ("memory", match[5]), ("memory%", match[6])):
            if value:
                yield Setting(place, "top", name, value, owner)


def missing(place: Place, line: str) -> Iterator[Fact]:
    match = compiled(r'\(NotFound\):\s*([\w.-]+)\s+"([^"]+)"\s+not found').search(line)
    if match:
        kind = match[1].split(".")[0].rstrip("s")
        scope = KINDS.get(kind, "")
        if scope.startswith(("crd", "clusterrole")):
            yield Setting(place, scope, match[2], "missing")
        else:
            yield Setting(place, "resource", match[2], "missing", match[1])
