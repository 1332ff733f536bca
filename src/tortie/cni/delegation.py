"""IPAM plugins of others, such as host-local: called as a runtime would call them, with the same variables."""

from __future__ import annotations

import asyncio
import errno
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

from tortie.cni.config import Network
from tortie.cni.errors import CONFIG, FAILED, INPUT, LATER, CniError
from tortie.cni.invocation import Invocation

TIMEOUT_S: Final = 30.0
_SHORT_OF: Final = (errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE)  # what passes


class NotAsked(CniError):
    """There is no such plugin, or it is none that can be started: nobody has heard of the request."""


async def run(command: str, invocation: Invocation, network: Network) -> Mapping[str, Any]:
    """Its result. `CniError` with the plugin's own number and words if it fails; `NotAsked` if it never began."""
    program = _find(network.ipam_type, invocation.path)
    variables = {name: value for name, value in invocation.variables.items() if name.startswith("CNI_")}
    environment = {**variables, "CNI_COMMAND": command, "PATH": os.environ.get("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")}
    try:
        process = await asyncio.create_subprocess_exec(
            program,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=environment,
        )
    except OSError as error:
        what, why = f"{program} cannot be started", os.strerror(error.errno or 0)
        if error.errno in _SHORT_OF:
            raise CniError(LATER, what, why, "try again") from None
        raise NotAsked(INPUT, what, why, "look at CNI_PATH") from None
    try:
        async with asyncio.timeout(TIMEOUT_S):
            output, errors = await process.communicate(json.dumps(dict(network.document)).encode())
    except TimeoutError:
        raise CniError(LATER, f"{network.ipam_type} did not answer within {TIMEOUT_S:.0f} s", "", "try again") from None
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    return _read(network.ipam_type, process.returncode or 0, output, errors)


def _find(name: str, path: str) -> str:
    if "/" in name or "\0" in name or name.startswith("."):
        raise NotAsked(CONFIG, f"`ipam.type` is {name!r}", "it is the name of a program, not a path")
    for folder in path.split(":"):
        program = os.path.join(folder, name)
        if folder and os.access(program, os.X_OK):
            return program
    why = f"it is in none of the folders of CNI_PATH: {path or 'none given'}"
    raise NotAsked(CONFIG, f'failed to find plugin "{name}" in path [{path}]', why, "install it, or use calico-ipam")


def _read(name: str, code: int, output: bytes, errors: bytes) -> Mapping[str, Any]:
    try:
        document = json.loads(output) if output.strip() else {}
    except ValueError:
        document = None
    if code:
        said = document if isinstance(document, dict) else {}
        text = said.get("msg") or errors.decode(errors="replace").strip()[-500:] or f"exit code {code}"
        number = said.get("code")
        details = str(said.get("details") or "")
        raise CniError(number if isinstance(number, int) else FAILED, f"{name}: {text}", details)
    if not isinstance(document, dict):
        raise CniError(INPUT, f"{name} answered with something that is no JSON", output[:200].decode(errors="replace"))
    return document
