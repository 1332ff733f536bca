"""What is broken in a lab at this moment, deed by deed, with all that is needed to undo it: `faults.json` of the lab.

It is written before a deed is done. Whoever breaks a lab may be killed at any moment: what has been begun is known.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Final, Literal

from tortie.host.files import write_whole
from tortie.lab.failures import LabFailure
from tortie.lab.faults.deed_forms import as_json, from_json
from tortie.lab.faults.deeds import Deed, SetVariable
from tortie.lab.registry import LabFolder

State = Literal["planned", "doing", "done", "undone"]
Memo = dict[str, Any]

_VERSION: Final = 1
_BEGUN: Final = ("doing", "done")
_HEALED: Final = "healed"


class Step:
    """One deed of a struck fault."""

    def __init__(self, deed: Deed, memo: Memo | None = None, state: State = "planned") -> None:
        self.deed = deed
        self.memo: Memo = memo or {}
        self.state: State = state

    @property
    def begun(self) -> bool:
        """Something of it may be there."""
        return self.state in _BEGUN

    def as_json(self) -> dict[str, Any]:
        return {"deed": as_json(self.deed), "memo": self.memo, "state": self.state}


class Struck:
    """A fault that has been, or is about to be, brought about."""

    def __init__(self, fault: str, node: str, seed: int, at: float, steps: list[Step]) -> None:
        self.fault = fault
        self.node = node
        self.seed = seed
        self.at = at
        self.steps = steps

    @property
    def id(self) -> str:
        return identity(self.fault, self.node)

    def as_json(self) -> dict[str, Any]:
        facts = {"id": self.id, "fault": self.fault, "node": self.node, "seed": self.seed, "at": self.at}
        return {**facts, "deeds": [step.as_json() for step in self.steps]}


def identity(fault: str, node: str) -> str:
    return f"{fault}@{node}" if node else fault


def note_healed(folder: LabFolder, at: float) -> None:
    """All was proven to be as before, and well: what is said from now on is about something else."""
    moment = datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")
    write_whole(os.path.join(folder.path, _HEALED), f"{moment}\n".encode(), 0o600)


def healed_file(folder: LabFolder) -> str:
    """Where it says when that was last; "" if nothing was ever broken and healed."""
    path = os.path.join(folder.path, _HEALED)
    return path if os.path.exists(path) else ""


class Ledger:
    def __init__(self, folder: LabFolder) -> None:
        self._path = os.path.join(folder.path, "faults.json")
        self.struck: list[Struck] = []
        self.before: dict[str, Any] | None = None  # how everything was when nothing was broken

    @classmethod
    def read(cls, folder: LabFolder) -> Ledger:
        ledger = cls(folder)
        try:
            with open(ledger._path, "rb") as file:
                raw = json.load(file)
            ledger.before = raw["before"]
            ledger.struck = [_struck(each) for each in raw["struck"]]
        except FileNotFoundError:
            pass
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise LabFailure("ledger-damaged", path=ledger._path, reason=str(error), name=folder.name) from None
        return ledger

    def write(self) -> None:
        """Gone when there is nothing to remember."""
        if not self.struck and self.before is None:
            with suppress(FileNotFoundError):
                os.unlink(self._path)
            return
        record = {"version": _VERSION, "before": self.before, "struck": [each.as_json() for each in self.struck]}
        write_whole(self._path, json.dumps(record, indent=1).encode(), 0o600)

    def overlay(self, machine: str) -> dict[str, str | None]:
        """The variables of a machine's agent that are not as usual, by everything that is broken now."""
        begun = (step.deed for step in self.steps() if step.begun)
        return {
            deed.variable: deed.value for deed in begun if isinstance(deed, SetVariable) and deed.machine == machine
        }

    def steps(self) -> Iterator[Step]:
        for struck in self.struck:
            yield from struck.steps


def _struck(raw: dict[str, Any]) -> Struck:
    steps = [Step(from_json(each["deed"]), each["memo"], each["state"]) for each in raw["deeds"]]
    return Struck(raw["fault"], raw["node"], raw["seed"], raw["at"], steps)
