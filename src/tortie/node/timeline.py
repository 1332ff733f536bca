"""The record that every start leaves: its phases, how long each took, what it asked of the datastore, how it ended.

It is written while the start goes on, because a start that is killed has no chance to write it at the end.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from typing import Any, Final, NamedTuple

from tortie.host.files import read_text, write_whole
from tortie.model.errors import TortieError

KEPT: Final = 20

# How a start may have ended; "killed" is only ever concluded by whoever comes later.
RUNNING, READY, STOPPED, REFUSED, KILLED = "running", "ready", "stopped", "refused", "killed"


class PhaseRecord(NamedTuple):
    name: str
    seconds: float
    round_trips: int
    trouble: str = ""  # the last thing that went wrong in it


class StartRecord(NamedTuple):
    node: str
    pid: int
    began: str  # UTC, to the millisecond
    outcome: str
    seconds: float  # until ready, or until it was last seen
    phases: tuple[PhaseRecord, ...]
    version: str

    @property
    def round_trips(self) -> int:
        return sum(phase.round_trips for phase in self.phases)

    def as_json(self) -> dict[str, Any]:
        return {
            "node": self.node,
            "pid": self.pid,
            "began": self.began,
            "outcome": self.outcome,
            "seconds": round(self.seconds, 3),
            "roundTrips": self.round_trips,
            "version": self.version,
            "phases": [
                {
                    "name": phase.name,
                    "seconds": round(phase.seconds, 3),
                    "roundTrips": phase.round_trips,
                    **({"trouble": phase.trouble} if phase.trouble else {}),
                }
                for phase in self.phases
            ],
        }


def record_from(document: dict[str, Any]) -> StartRecord:
    phases = tuple(
        PhaseRecord(str(each["name"]), float(each["seconds"]), int(each["roundTrips"]), str(each.get("trouble", "")))
        for each in document["phases"]
    )
    texts = (str(document[name]) for name in ("node", "pid", "began", "outcome", "seconds", "version"))
    node, pid, began, outcome, seconds, version = texts
    return StartRecord(node, int(pid), began, outcome, float(seconds), phases, version)


def read_records(path: str) -> tuple[StartRecord, ...]:
    """The last starts, oldest first; none when there is no record yet."""
    text = read_text(path)
    if text is None:
        return ()
    try:
        return tuple(record_from(each) for each in json.loads(text)["starts"])
    except (ValueError, KeyError, TypeError) as error:
        why = "it is not JSON" if isinstance(error, json.JSONDecodeError) else "it is not built as a start writes it"
        raise TortieError(f"the record of the last starts, {path}, cannot be read", why, "delete the file") from None


class Timeline:
    """The record of this start, in front of those that were there before."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._earlier: tuple[StartRecord, ...] = ()

    def open(self) -> StartRecord | None:
        """Reads what earlier starts left; returns the last one if it ended without a word, marked as killed."""
        try:
            earlier = read_records(self._path)
        except TortieError:
            earlier = ()  # a damaged record must not keep a node from starting; the next write replaces it
        unfinished = earlier[-1] if earlier and earlier[-1].outcome == RUNNING else None
        if unfinished:
            unfinished = unfinished._replace(outcome=KILLED)
            earlier = (*earlier[:-1], unfinished)
        self._earlier = earlier[-(KEPT - 1) :]
        return unfinished

    def write(self, record: StartRecord) -> None:
        with suppress(OSError):  # the write itself says better what is wrong
            os.makedirs(os.path.dirname(self._path), exist_ok=True)
        body = {"starts": [each.as_json() for each in (*self._earlier, record)]}
        write_whole(self._path, json.dumps(body, indent=1).encode() + b"\n")
