"""What kubelet tells about pods and nodes: the events' texts, and the recorder that counts and combines them.

As Kubernetes's correlator: the same event again only raises its count; when one object has had ten different
messages for one reason within ten minutes, further ones are counted together as "(combined from similar events)".
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal, NamedTuple

from tortie.lab.kubelet.objects import Object, seconds, stamp

Severity = Literal["Normal", "Warning"]

COMBINED: Final = "(combined from similar events): "
SIMILAR_MAX: Final = 10
INTERVAL_S: Final = 600.0
TTL_S: Final = 3600.0  # the API server keeps events for an hour


class Note(NamedTuple):
    """Something to be told about a pod, one of its containers, or a node."""

    type: Severity
    reason: str
    message: str
    container: str = ""


def scheduled(pod: Object, node: str) -> Note:
    """Of the component default-scheduler."""
    metadata = pod["metadata"]
    message = f"Successfully assigned {metadata['namespace']}/{metadata['name']} to {node}"
    return Note("Normal", "Scheduled", message)


def pulled(image: str, container: str) -> Note:
    return Note("Normal", "Pulled", f'Container image "{image}" already present on machine', container)


def created(container: str, minor: int) -> Note:
    colon = ":" if minor >= 32 else ""
    return Note("Normal", "Created", f"Created container{colon} {container}", container)


def started(container: str) -> Note:
    return Note("Normal", "Started", f"Started container {container}", container)


def killing(container: str, message: str = "") -> Note:
    return Note("Normal", "Killing", message or f"Stopping container {container}", container)


def start_error(container: str, text: str) -> Note:
    return Note("Warning", "Failed", f"Error: {text}", container)


class Group(NamedTuple):
    """Events that differ in their message only."""

    messages: frozenset[str]
    last_at: float


_Key = tuple[str, ...]


class Entry(NamedTuple):
    """One event, with how often and between when it was told."""

    note: Note
    subject: Object
    component: str
    host: str
    times: int
    first_at: float
    last_at: float
    made_at: float  # names the event; stays when the count is raised


class Book(NamedTuple):
    """Everything that was recorded and is still kept."""

    entries: dict[_Key, Entry] = {}  # noqa: RUF012 # replaced, never changed
    groups: dict[_Key, Group] = {}  # noqa: RUF012


def record(
    book: Book,
    note: Note,
    subject: Object,
    now: float,
    *,
    component: str = "kubelet",
    host: str = "",
    interval_s: float = INTERVAL_S,
) -> Book:
    """The book with one more event; `subject` is the involved object."""
    group_key: _Key = (component, host, *_of(subject), note.type, note.reason)
    known = book.groups.get(group_key)
    fresh = known is None or now - known.last_at > interval_s
    messages = frozenset((note.message,)) if fresh or known is None else known.messages | {note.message}
    if len(messages) < SIMILAR_MAX:
        key: _Key = (*group_key, subject.get("fieldPath", ""), note.message)
    else:
        key = group_key
        # one place stays free, so that the next message is combined, too, however long this goes on
        messages = frozenset(sorted(messages)[: SIMILAR_MAX - 1])
        note = note._replace(message=COMBINED + note.message)
    before = book.entries.get(key)
    if before is None:
        entry = Entry(note, subject, component, host, 1, now, now, now)
    else:
        entry = before._replace(note=note, times=before.times + 1, last_at=now)
    return Book({**book.entries, key: entry}, {**book.groups, group_key: Group(messages, now)})


def kept(book: Book, now: float, ttl_s: float = TTL_S) -> Book:
    """Without what has not been told for so long that the API server has forgotten it."""
    entries = {key: entry for key, entry in book.entries.items() if now - entry.last_at <= ttl_s}
    groups = {key: group for key, group in book.groups.items() if now - group.last_at <= ttl_s}
    return Book(entries, groups)


def book_of(events: Iterable[Object]) -> Book:
    """Events that were written down by a kubelet before this one: their counts go on."""
    entries: dict[_Key, Entry] = {}
    groups: dict[_Key, Group] = {}
    for event in events:
        subject, source = event["involvedObject"], event["source"]
        component, host = source["component"], source.get("host", "")
        path = subject.get("fieldPath", "")
        note = Note(event["type"], event["reason"], event["message"], path.partition("{")[2].removesuffix("}"))
        group_key: _Key = (component, host, *_of(subject), note.type, note.reason)
        combined = note.message.startswith(COMBINED)
        key: _Key = group_key if combined else (*group_key, path, note.message)
        first, last = seconds(event["firstTimestamp"]), seconds(event["lastTimestamp"])
        entries[key] = Entry(note, subject, component, host, int(event["count"]), first, last, first)
        before = groups.get(group_key, Group(frozenset(), last))
        messages = before.messages if combined else before.messages | {note.message}
        groups[group_key] = Group(messages, max(before.last_at, last))
    return Book(entries, groups)


def objects_of(book: Book) -> list[Object]:
    """Kubernetes's own form, what was told last at the end."""
    return [_object(entry) for entry in sorted(book.entries.values(), key=lambda entry: (entry.last_at, entry.made_at))]


def _of(subject: Object) -> tuple[str, ...]:
    return tuple(str(subject.get(part, "")) for part in ("kind", "namespace", "name", "uid", "apiVersion"))


def _object(entry: Entry) -> Object:
    namespace = entry.subject.get("namespace", "default")  # a node has none; its events lie in default
    source = {"component": entry.component} | ({"host": entry.host} if entry.host else {})
    name = f"{entry.subject['name']}.{_digits(entry)}"
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": namespace, "creationTimestamp": stamp(entry.made_at)},
        "involvedObject": entry.subject,
        "reason": entry.note.reason,
        "message": entry.note.message,
        "source": source,
        "firstTimestamp": stamp(entry.first_at),
        "lastTimestamp": stamp(entry.last_at),
        "count": entry.times,
        "type": entry.note.type,
        "reportingComponent": entry.component,
        "reportingInstance": entry.host,
    }


def _digits(entry: Entry) -> str:
    """Nanoseconds in hexadecimal, as client-go does; events of one moment are told apart by what they say."""
    apart = sum((entry.note.reason + entry.note.container).encode()) % 1000
    return f"{int(entry.made_at * 1e6) * 1000 + apart:x}"
