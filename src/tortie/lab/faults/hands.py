"""What somebody needs who does deeds in a running lab, and the form that every kind of deed has."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

from tortie.lab.client import KeeperClient
from tortie.lab.failures import LabFailure, Phrase, Said, at, phrase
from tortie.lab.faults.inside import INSIDE_S, run_inside
from tortie.lab.faults.ledger import Ledger, Memo
from tortie.lab.plan import LabPlan
from tortie.lab.plan_json import from_json
from tortie.lab.registry import LabFolder

SWITCH: Final = "switch"  # the place where all cables end
_PROGRAM_S: Final = 20.0
_PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_PACKAGES: Final = {"ip": "iproute2", "nft": "nftables"}


class Hands:
    def __init__(self, folder: LabFolder, keeper: KeeperClient) -> None:
        self.folder = folder
        self.keeper = keeper
        record = folder.read()
        if record is None:
            raise LabFailure("coming-up", name=folder.name)
        self.plan: LabPlan = from_json(record["plan"])
        self.ledger = Ledger.read(folder)

    def inside(
        self, machine: str, work: Callable[[], Any], timeout_s: float = INSIDE_S, *, mounts: bool = False
    ) -> Any:
        return run_inside(self.keeper, machine, work, timeout_s, mounts=mounts)

    def machine_told(self, machine: str) -> dict[str, Any]:
        """By the keeper, now."""
        for told in self.keeper.ask("status")["machines"]:
            if told["name"] == machine:
                found: dict[str, Any] = told
                return found
        return {}

    @property
    def kubelets(self) -> set[str]:
        """Nodes that run as pods, and have mounts of their own."""
        return {node.name for node in self.plan.nodes} if self.plan.hurry else set()

    def aside(self, tag: str) -> str:
        """A place for what a deed has to keep: beside the machines, in the lab's folder."""
        path = os.path.join(self.folder.path, "faults")
        os.makedirs(path, mode=0o700, exist_ok=True)
        return os.path.join(path, tag)

    def path(self, machine: str, path: str) -> str:
        """Where a node's own file lies; who is inside finds it in the same place."""
        return os.path.join(self.folder.machine(machine), path.lstrip("/"))


class Doer(Protocol):
    """One kind of deed. All of it may be called again: doing or undoing twice, or undoing what was done by halves.

    `tag` is this deed's own short name; what is put into the memo while doing is kept, too.
    """

    def look(self, hands: Hands, tag: str, deed: Any, /) -> Memo: ...

    def do(self, hands: Hands, tag: str, deed: Any, memo: Memo, /) -> None: ...

    def undo(self, hands: Hands, tag: str, deed: Any, memo: Memo, /) -> None: ...

    def undone(self, hands: Hands, tag: str, deed: Any, memo: Memo, /) -> list[Phrase]: ...


def tag_of(ident: str, number: int) -> str:
    return hashlib.sha256(f"{ident}/{number}".encode()).hexdigest()[:8]


def program(*argv: str, text: str = "", fails: Sequence[str] = ()) -> str:
    """What a program of the machine prints. `fails`: words of failures that are none here."""
    found = shutil.which(argv[0], path=os.pathsep.join((os.environ.get("PATH", ""), _PATH)))
    if found is None:
        package = _PACKAGES.get(argv[0], argv[0])
        raise LabFailure("no-program", program=argv[0], package=package, purpose=phrase("makes-faults"))
    try:
        done = subprocess.run(
            [found, *argv[1:]], input=text, capture_output=True, text=True, timeout=_PROGRAM_S, check=False
        )
    except subprocess.TimeoutExpired:
        endless = phrase("program-endless", command=" ".join(argv), seconds=f"{_PROGRAM_S:.0f}")
        raise LabFailure("deed-failed", what=endless) from None
    if done.returncode and not any(word in done.stderr for word in fails):
        command, lines = " ".join(argv), done.stderr.strip().splitlines()
        silent = phrase("program-failed", command=command, code=done.returncode)
        raise LabFailure("deed-failed", what=at(command, lines[0]) if lines else silent)
    return done.stdout


def refuse(deed: Said, why: str, **values: object) -> LabFailure:
    """A deed that could not be undone, or that would do nothing, is not done. `why` is the key of a phrase."""
    return LabFailure("deed-refused", deed=deed, why=phrase(why, **values))
