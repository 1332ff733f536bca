"""What an installation has to do: the files that are wanted against those that are there. Pure.

The order is that of safety: programs first, then what they read, then the configuration that makes runtimes call them,
and last the configuration that it replaces goes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final, Literal, NamedTuple

from tortie.cni.install_conflist import plugins_named
from tortie.cni.install_settings import SUFFIXES
from tortie.model.errors import TortieError
from tortie.model.wire import Document

Part = Literal["plugin", "record", "certificate", "kubeconfig", "configuration"]
Verb = Literal["create", "replace", "mode", "keep", "skip", "remove"]

MODES: Final[dict[Part, int]] = {
    "plugin": 0o755,
    "record": 0o644,
    "certificate": 0o600,
    "kubeconfig": 0o600,
    "configuration": 0o644,
}


class Wanted(NamedTuple):
    """A file as it shall be. What it holds is never printed."""

    path: str
    part: Part
    content: bytes
    mode: int
    origin: str = ""  # of a plugin: what it is, or of what file a copy

    def __repr__(self) -> str:
        return f"Wanted({self.path}, {len(self.content)} bytes, {self.mode:o})"


class Present(NamedTuple):
    """A file as it is; `link`: its name stands for another file."""

    content: bytes
    mode: int
    link: bool = False

    def __repr__(self) -> str:
        return f"Present({len(self.content)} bytes, {self.mode:o})"


class Step(NamedTuple):
    """`wanted` is None for what is only removed or passed over."""

    verb: Verb
    path: str
    part: Part
    why: str = ""
    wanted: Wanted | None = None

    @property
    def changes(self) -> bool:
        return self.verb in ("create", "replace", "mode", "remove")


def plan(
    wanted: Sequence[Wanted],
    present: Mapping[str, Present],
    *,
    skipped: Collection[str] = (),
    update: bool = True,
    old: str = "",
) -> list[Step]:
    """`skipped`: names of plugins; `update` False: plugins that are there stay; `old`: a configuration to remove."""
    steps = [judged(file, present.get(file.path), skipped, update=update) for file in wanted]
    if old and old in present:
        steps.append(Step("remove", old, "configuration", "CNI_OLD_CONF_NAME names it"))
    return steps


def judged(wanted: Wanted, present: Present | None, skipped: Collection[str], *, update: bool) -> Step:
    """One file of ours."""
    name = wanted.path.rpartition("/")[2]
    if wanted.part == "plugin" and name in skipped:
        return Step("skip", wanted.path, wanted.part, "SKIP_CNI_BINARIES names it")
    if present is None:
        return Step("create", wanted.path, wanted.part, "", wanted)
    if wanted.part == "plugin" and not update:
        return Step("skip", wanted.path, wanted.part, "UPDATE_CNI_BINARIES is false, and it is there")
    if present.content == wanted.content and not (present.link and wanted.part == "plugin"):
        if present.mode == wanted.mode:
            return Step("keep", wanted.path, wanted.part, "", wanted)
        why = f"mode {present.mode:04o} becomes {wanted.mode:04o}"
        return Step("mode", wanted.path, wanted.part, why, wanted)
    return Step("replace", wanted.path, wanted.part, _difference(present, wanted), wanted)


def _difference(present: Present, wanted: Wanted) -> str:
    if present.link and wanted.part == "plugin":
        return "it was a link to another file, which stays"
    return "it had other content"


def doubts(
    document: Document,
    installed: str,
    others: Mapping[str, str],
    plugins: Collection[str],
    bin_folder: str,
    *,
    skipped: Collection[str] = (),
) -> Iterator[TortieError]:
    """What keeps runtimes from using the `installed` file. `others`: the files beside it, and what network each is for;
    `plugins`: the programs in the bin folder once all is done; `skipped`: those that are not to be there.
    """
    if "loopback" not in plugins and "loopback" not in skipped:
        what = f"{bin_folder}/loopback cannot be run"
        why = "containerd 1.x calls it for every pod, and what is there is not from Tortie"
        yield TortieError(what, why, f"chmod 755 {bin_folder}/loopback, or move it away and run this again")
    folder, _, name = installed.rpartition("/")
    first = min((other for other in others if other.endswith(SUFFIXES)), default=name)
    if first < name:
        what = f"{first} is used instead of {name}"
        why = f"runtimes take the first file of the folder in the order of names; it is {others[first] or 'unreadable'}"
        path = f"{folder}/{first}"
        fix = f"move it away if Calico shall be used: mv {path} {path}.off; or choose an earlier --conf-name"
        yield TortieError(what, why, fix)
    if missing := [plugin for plugin in plugins_named(document) if plugin not in plugins]:
        named = ", ".join(missing)
        what = f"{bin_folder} has no {named}"
        it, is_there = ("it", "it is there") if len(missing) == 1 else ("them", "they are there")
        why = f"{name} names {it}, so that every pod will fail until {is_there}"
        fix = f"install {it} (Debian: containernetworking-plugins), or take {it} out of the template: {named}"
        yield TortieError(what, why, fix)
