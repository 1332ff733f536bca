"""What a kubelet has written down: the objects that everybody reads, and what it needs to go on after a restart."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tortie.lab.kubelet.events import Book, book_of, objects_of
from tortie.lab.kubelet.jobs import Paths
from tortie.lab.kubelet.objects import Object
from tortie.lab.notes import read_note, write_note


class Known(NamedTuple):
    """Where a pod of ours comes from."""

    source: str
    version: str


class Recovered(NamedTuple):
    node: Object | None
    pods: tuple[tuple[Known, Object], ...]
    book: Book
    serials: dict[str, int]  # by source: how many pods there were before the one that is


class Records:
    def __init__(self, paths: Paths) -> None:
        self._objects = paths.objects
        self._state = os.path.join(os.path.dirname(paths.objects), "state.json")
        self._last: tuple[str, str] = ("", "")

    def write(self, node: Object, pods: Sequence[tuple[Known, Object]], book: Book, serials: Mapping[str, int]) -> None:
        """Only what has changed. A disk that is full keeps nobody from the rest of the work."""
        items = [node, *(pod for _, pod in pods), *objects_of(book)]
        objects = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
        state = json.dumps(
            {"serials": dict(serials), "pods": {pod["metadata"]["uid"]: list(known) for known, pod in pods}}
        )
        if state != self._last[1]:
            write_note(self._state, state)
        if objects != self._last[0]:
            write_note(self._objects, objects)
        self._last = (objects, state)

    def read(self) -> Recovered:
        """What a kubelet before this one has left."""
        items, state = read_note(self._objects).get("items", []), read_note(self._state)
        known = {uid: Known(*each) for uid, each in state.get("pods", {}).items()}
        node = next((item for item in items if item["kind"] == "Node"), None)
        pods = tuple(
            (known[item["metadata"]["uid"]], item)
            for item in items
            if item["kind"] == "Pod" and item["metadata"]["uid"] in known
        )
        book = book_of(item for item in items if item["kind"] == "Event")
        return Recovered(node, pods, book, dict(state.get("serials", {})))
