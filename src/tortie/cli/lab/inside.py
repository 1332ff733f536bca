"""`tortie lab exec`, `pod exec` and `shell`: this process goes into a machine or pod and becomes the command."""

from __future__ import annotations

import ctypes
import os
import sys
from contextlib import closing, suppress
from typing import Final, cast

from tortie.cli.lab.talk import Talk, print_json, spoken
from tortie.host.namespaces import Kind, enter
from tortie.lab.failures import LabFailure
from tortie.lab.pods import pod_name

_FORMS: Final = ("text", "json")
_CLONE_NEWNS: Final = 0x20000
_MS_REC_SLAVE: Final = 0x4000 | 0x80000
_KEPT: Final = ("TERM", "COLORTERM", "NO_COLOR", "LINES", "COLUMNS", "TZ")  # of the terminal, not of a machine


def execute(
    *, name: str | None, lang: str | None, output: str, color: str, machine: str, command: tuple[str, ...]
) -> int:
    def work(talk: Talk) -> int:
        if not command:
            raise LabFailure("no-command", machine=machine)
        return _become(talk, machine, command, {})

    return spoken(work, name=name, lang=lang, output=output, color=color, forms=_FORMS)


def execute_in_pod(
    *,
    name: str | None,
    lang: str | None,
    output: str,
    color: str,
    pod: str,
    command: tuple[str, ...],
    namespace: str,
) -> int:
    def work(talk: Talk) -> int:
        label = pod_name(pod, namespace).label
        if not command:
            raise LabFailure("no-command", machine=label)
        return _become(talk, label, command, {}, pod=True)

    return spoken(work, name=name, lang=lang, output=output, color=color, forms=_FORMS)


def shell(*, name: str | None, lang: str | None, output: str, color: str, machine: str) -> int:
    def work(talk: Talk) -> int:
        program = os.environ.get("SHELL") or "/bin/sh"
        prompt = {"PS1": f"[{talk.folder().name}] {machine}:\\w\\$ "}
        words = (program, "--norc", "--noprofile") if os.path.basename(program) == "bash" else (program,)
        return _become(talk, machine, words, prompt)

    return spoken(work, name=name, lang=lang, output=output, color=color, forms=_FORMS[:1])


def _become(talk: Talk, machine: str, command: tuple[str, ...], more: dict[str, str], *, pod: bool = False) -> int:
    with closing(talk.keeper(talk.folder())) as keeper:
        told, descriptors = keeper.way_into_pod(machine) if pod else keeper.way_into(machine)
    kinds = cast(list[Kind], told["namespaces"])
    enter(dict(zip(kinds, descriptors, strict=True)))
    for descriptor in descriptors:
        os.close(descriptor)
    _show_own_sys()
    terminal = {variable: os.environ[variable] for variable in _KEPT if variable in os.environ}
    environment = {**told["environment"], **terminal, **more}
    sys.stdout.flush()
    try:
        os.environ["PATH"] = environment["PATH"]
        if talk.json:
            return _tell_outcome(machine, command, environment)
        os.execvpe(command[0], list(command), environment)
    except OSError as error:
        code = 127 if isinstance(error, FileNotFoundError) else 126
        failure = LabFailure("not-executable", program=command[0], machine=machine, reason=error.strerror)
        failure.exit_code = code
        raise failure from None


def _tell_outcome(machine: str, command: tuple[str, ...], environment: dict[str, str]) -> int:
    import subprocess

    done = subprocess.run(command, env=environment, capture_output=True, check=False)
    # As a shell has it for a command that was ended by a signal.
    code = 128 - done.returncode if done.returncode < 0 else done.returncode
    told = {"stdout": done.stdout.decode(errors="replace"), "stderr": done.stderr.decode(errors="replace")}
    print_json({"machine": machine, "command": list(command), "exit_code": code, **told})
    return code


def _show_own_sys() -> None:
    """/sys tells about the network that it was mounted in. Where it cannot be mounted anew, all else is still right."""
    libc = ctypes.CDLL(None, use_errno=True)
    with suppress(AttributeError):
        if libc.unshare(_CLONE_NEWNS) == 0 and libc.mount(b"none", b"/", None, _MS_REC_SLAVE, None) == 0:
            libc.mount(b"sysfs", b"/sys", b"sysfs", 0, None)
