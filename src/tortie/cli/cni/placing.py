"""Files of the installation on their way to the disk: read as they are, written whole, and read again afterwards."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tortie.cni.install import Present, Step, Wanted
from tortie.host.files import read_text, write_whole
from tortie.model.errors import TortieError

_FOLDER_MODE = 0o755


class Placed(NamedTuple):
    """What became of a step; `trouble` where it could not be done."""

    step: Step
    trouble: TortieError | None = None


def presents(wanted: Iterable[Wanted], old: str = "") -> dict[str, Present]:
    """Those of the files that are there already. Of a longer file only so much as shows that it is another."""
    found = {file.path: present(file.path, len(file.content) + 1) for file in wanted}
    if old:
        found[old] = present(old, 1)
    return {path: file for path, file in found.items() if file is not None}


def present(path: str, length: int) -> Present | None:
    try:
        link = stat.S_ISLNK(os.lstat(path).st_mode)
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        fix = "run as root, or as the user that owns it"
        raise TortieError(f"{path} cannot be read", error.strerror or str(error), fix) from None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            fix = f"rmdir {path}" if stat.S_ISDIR(status.st_mode) else "move it away"
            raise TortieError(f"{path} cannot be replaced", "it is not a file", fix)
        with open(descriptor, "rb", closefd=False) as file:
            return Present(file.read(length), stat.S_IMODE(status.st_mode), link)
    finally:
        os.close(descriptor)


def place(steps: Sequence[Step]) -> list[Placed]:
    """Plugins and what is written down about them: a folder that refuses one is left alone, another one may do.
    Anything else that fails ends it.

    What is removed is removed last, when all the rest is in place.
    """
    done: list[Placed] = []
    refused: dict[str, TortieError] = {}
    for step in steps:
        folder = os.path.dirname(step.path)
        of_plugins = step.part in ("plugin", "record")
        if of_plugins and step.changes and folder in refused:
            done.append(Placed(step._replace(verb="skip", why=refused[folder].what), refused[folder]))
            continue
        try:
            if step.changes:
                _do(step)
            done.append(Placed(step))
        except TortieError as error:
            if not of_plugins:
                raise
            refused[folder] = TortieError(
                f"{folder} is not writeable, skipping", f"{error.what}: {error.why}", error.fix
            )
            done.append(Placed(step._replace(verb="skip", why=refused[folder].what), refused[folder]))
    return done


def _do(step: Step) -> None:
    if step.wanted is None:
        _remove(step.path)
        return
    make_folder(os.path.dirname(step.path))
    wanted = step.wanted
    if step.part == "plugin" and os.path.islink(step.path):
        _replace_link(wanted)
    else:
        write_whole(step.path, wanted.content, wanted.mode)
    seen = present(step.path, len(wanted.content) + 1)
    if seen is None or (seen.content, seen.mode) != (wanted.content, wanted.mode):
        raise TortieError(
            f"{step.path} is not what was just written",
            "another program changed it at the same time, or the file system does not keep modes",
            "look for a second installer; then run this again",
        )


def _replace_link(wanted: Wanted) -> None:
    """What the link leads to belongs to somebody else and stays."""
    beside = f"{wanted.path}.tortie"
    write_whole(beside, wanted.content, wanted.mode)
    try:
        os.replace(beside, wanted.path)
    except OSError as error:
        os.unlink(beside)
        raise TortieError(f"{wanted.path} cannot be replaced", error.strerror or str(error), "run as root") from None


def make_folder(folder: str) -> None:
    try:
        os.makedirs(folder, _FOLDER_MODE, exist_ok=True)
    except OSError as error:
        why = error.strerror or str(error)
        fix = "run as root; in a container, mount the machine's folder there"
        raise TortieError(f"the folder {folder} cannot be made", why, fix) from None


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass
    except OSError as error:
        why = error.strerror or str(error)
        raise TortieError(f"{path} cannot be removed", why, f"remove it: rm {path}") from None


def programs_in(folder: str) -> set[str]:
    """Executable files; of a folder that is not there none."""
    try:
        names = os.listdir(folder)
    except OSError:
        return set()
    return {name for name in names if os.access(os.path.join(folder, name), os.X_OK)}


def configurations_in(folder: str) -> dict[str, str]:
    """Every file of the folder, and in a phrase what network it is for."""
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return {}
    return {name: _network(os.path.join(folder, name)) for name in names}


def _network(path: str) -> str:
    import json

    try:
        document = json.loads(read_text(path) or "")
        plugins = document.get("plugins") or [document]
        return f"the network '{document.get('name')}' of the plugin {plugins[0].get('type')}"
    except (TortieError, ValueError, LookupError, AttributeError, TypeError):
        return ""
