"""TRT6009: the plugin's binary is there, and the host has not the C library that it was linked against."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Final

from tortie.doctor.causes import ways
from tortie.doctor.causes.cause import LIKELY, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.cni.pods_served import served_since
from tortie.doctor.causes.culprits import culprits, named
from tortie.doctor.causes.steps import Step
from tortie.doctor.picture.facts import HostFile, Setting
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Hit, Sign

# A runtime that does not find the file says so in other words ("failed to find plugin"): here the kernel found it, and
# not the interpreter that its header names.
NO_LOADER: Final = Sign("trt6009-no-loader", "fork/exec <path>: no such file or directory")
TOO_OLD: Final = Sign("trt6009-glibc", "version `GLIBC_<libc>' not found \\(required by <path>\\)")
MUSL: Final = Sign("trt6009-musl", "Error relocating <path>: <symbol>: symbol not found")
# Its header, as `file` tells it.
INTERPRETER: Final = Sign("trt6009-interpreter", "<path>: ELF …dynamically linked, interpreter <loader>")
STATIC: Final = Sign("trt6009-static", "<path>: ELF …statically linked")
SHELL: Final = Sign("trt6009-shell", "sh: <path>: not found")
PLUGINS: Final = ("calico", "calico-ipam", "tortie", "tortie-ipam")
WITHOUT_GLIBC: Final = ("alpine", "talos")


class Seen:
    """Plugins that did not start for want of a loader or a library, and what is known of the file and the host."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.no_loader = _of_plugins(picture, NO_LOADER)
        self.libraries = _of_plugins(picture, TOO_OLD, MUSL)
        self.headers = _of_plugins(picture, INTERPRETER)
        self.static = _of_plugins(picture, STATIC)
        self.shell = _of_plugins(picture, SHELL)
        self.distribution = [
            node for node in picture.nodes_now().values() if node.os_image.lower().startswith(WITHOUT_GLIBC)
        ]

    @cached_property
    def path(self) -> str:
        hits = self.libraries or self.no_loader
        return hits[-1].value("path").removeprefix("/host")

    @cached_property
    def there(self) -> list[HostFile]:
        return [file for file in self.picture.of(HostFile) if f"{file.folder.rstrip('/')}/{file.name}" == self.path]

    @cached_property
    def absent(self) -> list[Setting]:
        return [s for s in self.picture.settings(self.path, "file") if s.value == "missing" and not self.there]

    @cached_property
    def listed_without(self) -> list[HostFile]:
        """Its directory was listed, others are in it, and it is not."""
        folder, _, name = self.path.rpartition("/")
        files = [file for file in self.picture.of(HostFile) if file.folder.rstrip("/") == folder]
        others = [file for file in files if file.name not in PLUGINS]
        return others if others and all(file.name != name for file in files) else []

    @cached_property
    def loader_missing(self) -> list[Setting]:
        """`ls` of the interpreter says that there is none."""
        missing = [s for s in self.picture.of(Setting) if s.scope == "file" and s.value == "missing"]
        return [s for s in missing if s.name.rpartition("/")[2].startswith("ld-")]

    @cached_property
    def node(self) -> str:
        hits = [*self.libraries, *self.no_loader]
        hosts = [hit.host for hit in hits if "kubectl" not in hit.command]
        hosts += [event.host for event in self.picture.events("FailedCreatePodSandBox")]
        return next((host for host in hosts if host), "")


def _of_plugins(picture: Picture, *signs: Sign) -> list[Hit]:
    return [hit for hit in picture.hits(*signs) if _is_plugin(hit.value("path"))]


def _is_plugin(path: str) -> bool:
    return path.rpartition("/")[2] in PLUGINS


def served(seen: Seen) -> Finding | None:
    running = served_since(seen.picture, [*seen.libraries, *seen.no_loader])
    return ruled_out(running[:2]) if running else None


def library_missing(seen: Seen) -> Finding | None:
    """The loader's own words."""
    if not seen.libraries:
        return None
    hit = seen.libraries[-1]
    return _found(seen, PROVEN, (*seen.libraries[:2], *seen.there[:1]), "old-glibc" if hit.value("libc") else "musl",
                  libc=hit.value("libc"))  # fmt: skip


def not_there(seen: Seen) -> Finding | None:
    missing = (seen.absent or seen.listed_without)[:1] if seen.no_loader else []
    return ruled_out(missing, path=seen.path) if missing else None


def static(seen: Seen) -> Finding | None:
    return ruled_out(seen.static[:1]) if seen.static and seen.no_loader and not seen.headers else None


def no_loader(seen: Seen) -> Finding | None:
    if not seen.no_loader:
        return None
    known = seen.there or seen.headers or seen.shell
    strength = PROVEN if known else STRONG if seen.distribution else LIKELY
    shown = (*seen.loader_missing[:1], *seen.headers[:1], *seen.there[:1], *seen.shell[:1], *seen.distribution[:1])
    loader = next((hit.value("loader").rstrip(",") for hit in seen.headers), "")
    say = "" if known else "file-not-shown"
    return _found(seen, strength, (*shown, *seen.no_loader[:2]), say, loader=loader)


def _found(
    seen: Seen, strength: float, evidence: tuple[object, ...], say: str, libc: str = "", loader: str = ""
) -> Finding:
    who = culprits(named("file", seen.path, loader), named("node", seen.node))
    return found(strength, who, evidence, say=say, path=seen.path, node=seen.node, libc=libc, loader=loader)


def fix(picture: Picture, finding: Finding) -> Iterator[Do | Step]:
    yield do("header")
    yield do("static")
    yield do("library")
    if node := finding.value("node"):
        yield from ways.restart_agent(picture, node)


CAUSE = Cause(
    module=__name__,
    id="cni-binary-libc",
    code="TRT6009",
    severity="high",
    explains=("sandbox-failed", "pod-pending", "node-not-ready", "terminating-stuck", "log-errors", "init-crash",
              "others-failing"),
    signs=(NO_LOADER, TOO_OLD, MUSL, INTERPRETER, STATIC, SHELL),
    look=Seen,
    rules=(served, library_missing, not_there, static, no_loader),
    fix=fix,
)  # fmt: skip
