"""Tables of `kubectl get` and `kubectl top` (oc, microk8s, k3s): by their header, or by the shape of a row without one.

Besides pods, nodes, workloads and events it makes settings. Scopes: endpoints (value: addresses), service (cluster IP),
crd, clusterrole, resource (present or missing; owner is the kind), tigerastatus (name: the
component, value: `available=False progressing=False degraded=True`, as far as shown), top (cpu, cpu%, memory, memory%
of the owner), apiservice (available).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Event, Fact
from tortie.doctor.reading.exhibit import Exhibit, Place
from tortie.doctor.reading.readers import kubectl_rows as rows
from tortie.doctor.reading.readers.bare_rows import bare_row, bare_top, missing, of_name
from tortie.doctor.reading.readers.bounds import bounded
from tortie.doctor.reading.readers.jsonpath import column_names
from tortie.doctor.reading.readers.kubectl_words import asked_for, bare_name, namespace_of
from tortie.doctor.reading.readers.rows import NONE, event_row, node_row, pod_row
from tortie.doctor.reading.readers.tables import Header, header_of
from tortie.doctor.reading.readers.times import is_cut

Row = dict[str, str]
_READY: Final = lazily(r"\d/\d+\s+[A-Z]")
_NEXT_ROW: Final = lazily(r"\d/\d+\s+[A-Z]|^\S*[$#] ")
_CONTINUED: Final = 8
_FIRST: Final = ("NAME", "LAST", "POD", "NODE", "OBJECT", "TYPE", "REASON", "READY", "STATUS", "AGE", "COUNT")
# Commands whose lines are no rows, although they begin with a `get`.
_NOT_ROWS: Final = lazily(
    r"-o ?=?['\"]?(?:yaml|json|go-template|template)|--output|wc -|grep -\w*c|uniq -c|\blogs\b|\bexec\b|\|\s*jq\b"
)


def read(exhibit: Exhibit) -> Iterator[Fact]:
    exhibit = bounded(exhibit)
    asked = asked_for(exhibit.command) if exhibit.command else ""
    bare = "get " in exhibit.command and not _NOT_ROWS.search(exhibit.command)
    custom = column_names(exhibit.command) if "custom-columns" in exhibit.command else frozenset()
    header: Header | None = None
    reader: Callable[[Place, Row], Iterator[Fact]] | None = None
    lines = exhibit.lines
    for index, line in enumerate(lines):
        if not line or line.isspace():
            header = None  # `get all` prints its tables with a blank line and a new header between them
            continue
        if line.startswith("Error from server (NotFound)") or " not found" in line:
            yield from missing(exhibit.place(index), line)
        head = line.lstrip()[:9]
        if header is None and custom and (new := header_of(line.upper())) is not None and set(new.names) <= custom:
            header, reader = new, _reader_of(new, asked, exhibit.command)
            continue
        if "INTERNAL" in line and "CALICO" in line and (new := header_of(line)) and rows.compares(new.names):
            header, reader = new, rows.compared_row
            continue
        if head.startswith(_FIRST) and (new := header_of(line)) is not None:
            header, reader = new, _reader_of(new, asked, exhibit.command)
            continue
        found = False
        if header is not None and reader is not None:
            place = exhibit.place(index)
            line = _unwrapped(header, lines, index)
            for fact in reader(place, header.cells(line)):
                found = True
                yield _whole_event(exhibit, index, fact) if isinstance(fact, Event) else fact
        if not found:
            shaped = _by_shape(exhibit, index, line)
            if shaped is not None:
                yield shaped
            elif "top " in exhibit.command and header is None:
                yield from bare_top(exhibit.place(index), line)
            elif bare and header is None:
                yield from bare_row(exhibit.place(index), line, asked, exhibit.command)


def _whole_event(exhibit: Exhibit, index: int, event: Event) -> Event:
    """With the lines its message runs on to: `kubectl events` and old clients print its line ends as they are."""
    stop = index + 1
    for line in exhibit.lines[index + 1 : index + 1 + _CONTINUED]:
        if "Warning" in line or "Normal" in line or not line.strip():
            break
        if _NEXT_ROW.search(line) or header_of(line) is not None:
            break
        stop += 1
    else:
        return event
    if stop == index + 1 or not event.kind:
        return event
    message = "\n".join([event.message, *(line.strip() for line in exhibit.lines[index + 1 : stop])])
    return event._replace(message=message, place=exhibit.place(index, stop), cut=is_cut(message))


def _by_shape(exhibit: Exhibit, index: int, line: str) -> Fact | None:
    if "/" in line and _READY.search(line):
        pod = pod_row(exhibit.place(index), line)
        if pod:
            return pod._replace(namespace=pod.namespace or namespace_of(exhibit.command))
    if "Ready" in line:
        return node_row(exhibit.place(index), line)
    if "Normal" in line or "Warning" in line:
        return event_row(exhibit.place(index), line)
    return None


def _unwrapped(header: Header, lines: tuple[str, ...], index: int) -> str:
    """A row whose end stands on the next line because the terminal was narrow."""
    line = lines[index]
    if "NODE" not in header.names or index + 1 >= len(lines) or NONE in line or not _READY.search(line):
        return line
    after = lines[index + 1]
    if after.rstrip().endswith(NONE) and not _READY.search(after) and len(after.split()) <= 4:
        return f"{line.rstrip()}  {after.strip()}"
    return line


def _reader_of(header: Header, asked: str, command: str) -> Callable[[Place, Row], Iterator[Fact]] | None:
    names = set(header.names)
    if "calicoctl" in command:
        return None
    if "custom-columns" in command:
        from tortie.doctor.reading.readers.jsonpath import custom_columns

        return custom_columns(command)
    namespace = namespace_of(command)
    if {"REASON", "MESSAGE"} <= names or {"REASON", "OBJECT"} <= names:
        return rows.event_row
    if names >= {"NAME", "READY", "STATUS"}:
        return lambda place, row: rows.pod_row(place, row, namespace)
    if ("STATUS" in names and ({"VERSION", "ROLES"} & names or asked == "Node")) or {"NAME", "INTERNAL-IP"} <= names:
        return rows.node_row
    if {"DESIRED", "CURRENT"} <= names or {"UP-TO-DATE", "AVAILABLE"} <= names or asked == "StatefulSet":
        return lambda place, row: rows.workload_row(place, row, asked, namespace)
    for columns, reader in (
        ({"ADDRESSTYPE", "ENDPOINTS"}, rows.slice_row),
        ({"ENDPOINTS"}, rows.endpoints_row),
        ({"CLUSTER-IP"}, rows.service_row),
        ({"AVAILABLE", "PROGRESSING", "DEGRADED"}, rows.tigera_row),
        ({"SERVICE", "AVAILABLE"}, rows.apiservice_row),
        ({"APIVERSION", "KIND"}, rows.api_row),
        ({"CIDR", "NAME"}, rows.pool_row),
    ):
        if columns <= names:
            return reader
    if any(name.startswith(("CPU", "MEMORY")) for name in names):
        return rows.top_row
    if "CREATED_AT" in names:
        return lambda place, row: rows.created_row(place, row, asked)
    if asked and "NAME" in names:
        return lambda place, row: of_name(place, bare_name(row.get("NAME", "")), asked)
    return None
