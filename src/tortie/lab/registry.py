"""Where labs are: one folder each, with the record that its keeper writes; who works on one holds its lock."""

from __future__ import annotations

import fcntl
import os
import re
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Final, NamedTuple

from tortie.lab.failures import LabFailure
from tortie.lab.notes import read_note

DEFAULT_NAME: Final = "lab"
_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_LOCK_POLL_S: Final = 0.05
_ATTEMPTS: Final = 100

Record = dict[str, Any]


class LabFolder(NamedTuple):
    path: str

    @property
    def name(self) -> str:
        return os.path.basename(self.path)

    @property
    def record(self) -> str:
        return os.path.join(self.path, "lab.json")

    @property
    def socket(self) -> str:
        return os.path.join(self.path, "keeper.sock")

    @property
    def log(self) -> str:
        return os.path.join(self.path, "keeper.log")

    @property
    def store(self) -> str:
        return os.path.join(self.path, "store.db")

    def machine(self, name: str) -> str:
        """Below it lies everything of one machine; a node's --root."""
        return os.path.join(self.path, "nodes", name)

    def machine_log(self, name: str) -> str:
        return os.path.join(self.machine(name), "log")

    def agent_socket(self, name: str) -> str:
        return os.path.join(self.machine(name), "run", "tortie", "agent.sock")

    def read(self) -> Record | None:
        """The keeper's record, or None while there is none that could be used."""
        return read_note(self.record) or None


def labs_folder(environment: Mapping[str, str], uid: int) -> str:
    """Where this user's labs are."""
    if given := environment.get("TORTIE_LAB_DIR"):
        return os.path.realpath(given)
    return os.path.join(_private_folder(environment, uid), "labs")


def _private_folder(environment: Mapping[str, str], uid: int) -> str:
    if uid == 0:
        return "/run/tortie"
    runtime = environment.get("XDG_RUNTIME_DIR", "")
    if runtime and os.path.isabs(runtime) and os.path.isdir(runtime):
        return os.path.join(runtime, "tortie")
    return f"/tmp/tortie-{uid}"


def lab_folder(labs: str, name: str) -> LabFolder:
    if not _NAME.fullmatch(name):
        raise LabFailure("bad-name", name=name)
    return LabFolder(os.path.join(labs, name))


def all_labs(labs: str) -> list[LabFolder]:
    try:
        names = sorted(os.listdir(labs))
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [LabFolder(os.path.join(labs, name)) for name in names if _NAME.fullmatch(name)]


def make(folder: LabFolder, uid: int) -> bool:
    """Makes sure that the folder is there, ours and closed to others; whether it was made now."""
    parent = os.path.dirname(folder.path)
    for _ in range(_ATTEMPTS):
        try:
            os.makedirs(parent, mode=0o700, exist_ok=True)
            _refuse_foreign(parent, uid)
            with suppress(FileExistsError):
                os.mkdir(folder.path, 0o700)
                return True
            _refuse_foreign(folder.path, uid)
            return False
        except FileNotFoundError:
            continue  # a lab went down between two of these steps, and took empty parents with it
        except OSError as error:
            reason = error.strerror or str(error)
            raise LabFailure("no-folder", folder=folder.path, reason=reason) from None
    raise LabFailure("no-folder", folder=folder.path, reason="it vanishes again and again")


def _refuse_foreign(path: str, uid: int) -> None:
    """A folder in /tmp could be anybody's trap; root may use whose it likes."""
    status = os.lstat(path)
    if not stat.S_ISDIR(status.st_mode) or (uid and status.st_uid not in (uid, 0)):
        raise LabFailure("foreign-folder", folder=path)


def clear(folder: LabFolder) -> None:
    """What a lab that died has left in it."""
    import shutil

    for entry in os.scandir(folder.path):
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path, ignore_errors=True)
        else:
            os.unlink(entry.path)


def remove(folder: LabFolder) -> None:
    """The folder with all it holds, and its parents if that leaves them empty."""
    import shutil

    shutil.rmtree(folder.path, ignore_errors=True)
    parent = os.path.dirname(folder.path)
    if os.path.basename(parent) == "labs":
        with suppress(OSError):
            os.rmdir(parent)
            above = os.path.dirname(parent)
            if os.path.basename(above).startswith("tortie"):
                os.rmdir(above)


@contextmanager
def locked(folder: LabFolder, deadline: float, on_wait: Callable[[], None]) -> Iterator[None]:
    """Ours alone. `on_wait` is called again and again while somebody else works on it.

    The folder itself is what is locked, so that no other file is left behind; it may be removed by whoever holds it.
    FileNotFoundError when there is no such folder (any more).
    """
    while True:
        descriptor = os.open(folder.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(descriptor), os.stat(folder.path)):
                break
        except BlockingIOError:
            pass
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)
        on_wait()
        if time.monotonic() > deadline:
            raise LabFailure("busy", name=folder.name)
        time.sleep(_LOCK_POLL_S)
    try:
        yield
    finally:
        os.close(descriptor)


def is_locked(folder: LabFolder) -> bool:
    """Whether somebody works on it at this moment."""
    try:
        descriptor = os.open(folder.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False
