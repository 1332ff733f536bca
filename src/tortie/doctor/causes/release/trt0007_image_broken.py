"""TRT0007: the image itself is broken: a library is missing, or it crashes on this processor or in FIPS mode."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

from tortie.doctor.causes.agent.speakers import is_ours, of_another
from tortie.doctor.causes.cause import LIKELY, POSSIBLE, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.steps import Step
from tortie.doctor.causes.ways import edit_agent
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Container
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Hit, Sign
from tortie.doctor.texts import Text

LIBRARY = Sign("image-broken-library", "error while loading shared libraries: <library>:")
LIBRARY_CUT = Sign("image-broken-library-cut", "error while loading shared libraries")
MUSL = Sign("image-broken-musl", "Error loading shared library <library>:")
CRNGT = Sign("image-broken-crngt", "CRNGT failed")
GLIBC = Sign("image-broken-glibc", "version '<symbol>' not found \\(required by")
LEVEL = Sign("image-broken-level", "CPU does not support x86-64-v")
LEVEL_GO = Sign("image-broken-level-go", "This program can only be run on")
ILLEGAL = Sign("image-broken-illegal", "SIGILL: illegal instruction")
OWN_WORDS = (LIBRARY, MUSL, CRNGT, GLIBC, LEVEL, LEVEL_GO, ILLEGAL, LIBRARY_CUT)
SEGFAULT = Sign("image-broken-segfault", "segfault at <address> ip <pointer>")
OPCODE = Sign("image-broken-opcode", "trap invalid opcode ip")
KERNEL_SAYS = (SEGFAULT, OPCODE)
# ipset looks names of protocols up in /etc/protocols; an image without that file takes no set with ports.
PROTOCOL = Sign("image-broken-protocol", "Syntax error: cannot parse '<protocol>' as a protocol")
NUMBER = Sign("image-broken-number", "Syntax error: '(tcp|udp|sctp)' is invalid as number")
_INSIDE = lazily(r"\b(?:exec|run)\b.{0,200}?\bcalico[-/]node\b|\bexec\b.{0,200}?\bcanal-")
# Commands that show what others have written.
_SHOWS = lazily(r"\b(?:kubectl|oc|k|docker|crictl|nerdctl|podman|journalctl|cat|tail|head|less|grep|dmesg)\b")
# start_runit is what calico/node begins with.
PROGRAMS = ("calico", "felix", "bird", "confd", "typha", "kube-controllers", "install", "start_runit")
AT_ONCE_S = 5.0
CRASHED = 139  # 128 + SIGSEGV
ILLEGAL_EXIT = 132  # 128 + SIGILL


class Seen:
    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.hits = [hit for hit in picture.hits(*OWN_WORDS) if not _of_somebody_else(picture, hit)]
        codes = {CRASHED, ILLEGAL_EXIT}
        crashed = [box for box in picture.of(Container) if {box.exit_code, box.last_exit_code} & codes]
        self.crashed = [box for box in crashed if not (box.pod or box.image) or is_ours(f"{box.pod} {box.image}")]
        self.kernel = [hit for hit in picture.hits(*KERNEL_SAYS) if _own_program(hit)]
        dying = self.crashed or _dying(picture)
        self.container = dying[-1] if dying else None
        self.ready = [pod for pod in picture.agents_now() if pod.all_ready]

    @cached_property
    def image(self) -> str:
        return self.container.image if self.container else _calico_image(self.picture)

    @cached_property
    def culprits(self) -> tuple[Culprit, ...]:
        library = next((hit.value("library") for hit in self.hits if hit.value("library")), "")
        tag = self.image.rpartition("/")[2]
        return culprits(
            named("image", self.image, tag),
            named("file", library),
            named("version", tag.rpartition(":")[2] or _release(self.picture)),
            named("container", self.container.name if self.container else ""),
            named("pod", _pod(self.picture)),
        )

    @property
    def evidence(self) -> tuple[object, ...]:
        return (*self.hits[:2], *self.kernel[:2], self.container)


def own_words(seen: Seen) -> Finding | None:
    if not seen.hits:
        return None
    message = seen.hits[0].text.strip(": ")
    return found(STRONG, seen.culprits, seen.evidence, image=seen.image, message=message)


def no_protocols(seen: Seen) -> Finding | None:
    """Said by Felix, or in a shell of the agent's container: on a machine the same words tell of the machine."""
    said = [hit for hit in seen.picture.hits(PROTOCOL, NUMBER) if _in_agent(seen.picture, hit)]
    if not said:
        return None
    name = next((hit.value("protocol") for hit in said if hit.value("protocol")), "tcp")
    missing = [one for one in seen.picture.settings("/etc/protocols") if one.value == "missing"]
    who = culprits(seen.culprits, Culprit("program", "ipset"), Culprit("file", "/etc/protocols"))
    return found(STRONG, who, (*said[:2], *missing[:1]), image=seen.image, protocol=name)


def _in_agent(picture: Picture, hit: Hit) -> bool:
    if of_another(picture, hit):
        return False
    if any(word in hit.line for word in ("ipset restore", "ipsets.go", "IP sets", "felix")):
        return "kube-router" not in hit.line
    before = [e for e in picture.exhibits if e.source == hit.place.source and e.command and e.command_lines]
    entered = [e for e in before if e.command_lines[0] <= hit.place.first and not e.command.startswith("ipset")]
    return bool(entered) and bool(_INSIDE.search(entered[-1].command))


def kernel_says(seen: Seen) -> Finding | None:
    """The kernel's word on the program's crash, again and again or with the exit code of one."""
    if not (seen.kernel and (len(seen.kernel) > 1 or seen.crashed)):
        return None
    how = Text(__name__, "word opcode" if seen.kernel[0].sign == OPCODE.key else "word segfault")
    dead = [pod for pod in seen.picture.agents_now() if not pod.all_ready]
    sure = any(_at_once(box) for box in seen.crashed) or len(dead) > 1
    return found(
        STRONG if sure else LIKELY, seen.culprits, seen.evidence,
        say="kernel-says-each-time" if len(seen.kernel) > 1 else "kernel-says",
        how=how, image=seen.image, release=seen.image or _release(seen.picture),
    )  # fmt: skip


def others_run_it(seen: Seen) -> Finding | None:
    if seen.crashed and seen.ready and seen.container and not seen.container.pod:
        return ruled_out(seen.ready[:1])
    return None


def crashes(seen: Seen) -> Finding | None:
    box = seen.container
    if not (seen.crashed or seen.kernel):
        return None
    codes = (box.exit_code, box.last_exit_code) if box else ()
    code = next((code for code in codes if code in (CRASHED, ILLEGAL_EXIT)), CRASHED)
    who = culprits(seen.culprits, Culprit("message", str(code)))
    name = box.name if box else ""
    strength = POSSIBLE if seen.ready else LIKELY
    return found(strength, who, seen.evidence, image=seen.image, container=name, code=code)


def _of_somebody_else(picture: Picture, hit: Hit) -> bool:
    """Of another pod, or of a program that a person typed on a machine."""
    typed = bool(hit.command) and not hit.prose and not _SHOWS.search(hit.command)
    return of_another(picture, hit) or (typed and not is_ours(f"{hit.line} {hit.command}"))


def _own_program(hit: Hit) -> bool:
    """`calico-node[88012]: segfault at ...`: the program stands before the message."""
    before = hit.line[: max(hit.line.lower().find("segfault at"), hit.line.find("trap invalid opcode"))].lower()
    return any(program in before for program in PROGRAMS)


def _at_once(container: Container) -> bool:
    began, ended = container.last_started, container.last_finished
    return began is not None and ended is not None and ended - began <= AT_ONCE_S


def _release(picture: Picture) -> str:
    """The release that people say they went to, else the last one shown."""
    said = [s.values[2] for s in picture.said("upgraded") if len(s.values) > 2 and s.values[:1] == ("calico",)]
    shown = said or [version.version for version in picture.versions("calico")]
    return "v" + shown[-1].lstrip("v") if shown and shown[-1] else ""


def _dying(picture: Picture) -> list[Container]:
    return [
        c
        for c in picture.of(Container)
        if c.image and (c.reason == "CrashLoopBackOff" or c.exit_code or c.last_exit_code)
    ]


def _calico_image(picture: Picture) -> str:
    images = [c.image for c in picture.of(Container) if "calico" in c.image]
    if images:
        return images[-1]
    pattern = re.compile(r"(?<![\w./-])(?=[\w./-]{0,200}?(?:calico|tigera))[\w./-]{1,300}+:v?\d[\w.-]{0,100}")
    lines = (line[:500] for exhibit in picture.exhibits for line in (exhibit.command, *exhibit.lines[:100]))
    return next((match.group() for line in lines if (match := pattern.search(line))), "")


def _pod(picture: Picture) -> str:
    return next((pod.name for pod in picture.agents_now() if not pod.all_ready), "")


def fix(picture: Picture, finding: Finding) -> Iterator[Do | Step]:
    yield do("digest")
    yield do("another")
    yield from edit_agent(picture)


CAUSE = Cause(
    module=__name__,
    id="image-broken",
    code="TRT0007",
    severity="medium",
    explains=("crash-loop", "init-crash", "restarts", "not-ready", "log-errors"),
    signs=(*OWN_WORDS, *KERNEL_SAYS, PROTOCOL, NUMBER),
    look=Seen,
    rules=(own_words, no_protocols, kernel_says, others_run_it, crashes),
    fix=fix,
)
