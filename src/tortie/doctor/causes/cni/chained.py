"""Plugins that Calico's configuration chains, and a listing of the folder of binaries in which one of them is not."""

from __future__ import annotations

from typing import Final

from tortie.doctor.picture.facts import HostFile, Setting
from tortie.doctor.picture.picture import Picture
from tortie.doctor.picture.places import exhibit_at
from tortie.doctor.reading.exhibit import Place
from tortie.model.tuples import NamedTuple

# What Calico's configuration calls, whoever wrote it. Flannel and others are chained by nobody.
CHAINED: Final = ("calico", "calico-ipam", "portmap", "bandwidth", "tuning", "host-local")
USUAL: Final = "portmap"
_BINARIES: Final = ("calico", "calico-ipam")
_PARTS: Final = ("|", "*", "?", ">", "head", "find")  # what shows some of the files only


class Absent(NamedTuple):
    """A plugin that is called and has no file in the folder that was listed as a whole."""

    plugin: str
    folder: str
    host: str
    places: tuple[Place, ...]
    shown: bool = True  # the configuration itself calls it


def absent(picture: Picture) -> Absent | None:
    called = [one for one in _called(picture) if one.value in CHAINED]
    if not any(one.value == "calico" for one in called):
        return None if called else _usual(picture)
    for (host, folder), files in _listings(picture).items():
        names = {file.name.removesuffix(".exe") for file in files}
        missing = next((one for one in called if one.value not in names and _near(one.host, host)), None)
        if missing is not None:
            return Absent(missing.value, folder, host or missing.host, (missing.place, files[0].place))
    return None


def _usual(picture: Picture) -> Absent | None:
    """Where the configuration is not shown: every list that Calico's manifests write chains portmap."""
    lists = [file for file in picture.of(HostFile) if file.name.endswith("calico.conflist")]
    for (host, folder), files in _listings(picture).items():
        near = next((file for file in lists if _near(file.host, host)), None)
        if near is not None and not any(file.name == USUAL for file in files):
            return Absent(USUAL, folder, host or near.host, (near.place, files[0].place), False)
    return None


def _called(picture: Picture) -> list[Setting]:
    return [one for name in ("type", "ipam.type") for one in picture.settings(name, "cni")]


def _near(one: str, other: str) -> bool:
    return not one or not other or one == other


def _listings(picture: Picture) -> dict[tuple[str, str], list[HostFile]]:
    """Folders of binaries, as far as all of it was listed: Calico's own are among them."""
    found: dict[tuple[str, str], list[HostFile]] = {}
    for file in picture.of(HostFile):
        if file.folder.rstrip("/").endswith("/bin") and _whole(picture, file):
            found.setdefault((file.host, file.folder.rstrip("/")), []).append(file)
    return {key: files for key, files in found.items() if any(file.name in _BINARIES for file in files)}


def _whole(picture: Picture, file: HostFile) -> bool:
    exhibit = exhibit_at(picture, file.place)
    if exhibit is None or not exhibit.command or any(part in exhibit.command for part in _PARTS):
        return False
    words = [word.strip("\"'").rstrip("/") for word in exhibit.command.replace(";", " ").split()]
    named = [word for word in words if word.startswith("/")]
    return file.folder.rstrip("/") in (named or [exhibit.folder])
