"""What the commands of IPAM share: words to values, and files that are written whole or not at all."""

from __future__ import annotations

import json
import os
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, TypeVar

from tortie.cli.settings import Settings, open_store
from tortie.model.errors import TortieError, UsageError
from tortie.model.network import IP
from tortie.store.contract import Store

Result = TypeVar("Result")


def refuse_form(output: str, *forms: str) -> None:
    if output not in forms:
        fix = f"use {' or '.join(forms)}"
        raise UsageError(f"unrecognized output format '{output}'", "there is no such form", fix)


def parse_ip(text: str, example: str) -> IP:
    from ipaddress import ip_address

    try:
        return ip_address(text)
    except ValueError:
        raise UsageError(f"'{text}' is not an IP address", "an address of IPv4 or IPv6 is wanted", example) from None


def in_loop(settings: Settings, work: Callable[[Store], Awaitable[Result]]) -> Result:
    """For what waits, gathers or tries again: with an event loop, whichever store it is."""
    import asyncio

    async def session() -> Result:
        store = open_store(settings, in_loop=True)
        try:
            return await work(store)
        finally:
            await store.close()

    return asyncio.run(session())


def read_json(path: str) -> Any:
    try:
        with open(path, "rb") as file:
            return json.load(file)
    except OSError as error:
        raise UsageError(f"{path} cannot be read", error.strerror or str(error), "check the path") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(
            f"{path} is not JSON", str(error), "was it cut? let `tortie ipam check` write it anew"
        ) from None


def write_private(path: str, text: str) -> None:
    """Only for its owner to read: it names pods and addresses. Beside the file and then in its place."""
    target = os.path.realpath(path)
    beside = f"{target}.{os.getpid()}.part"
    try:
        with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as out:
            out.write(text)
            out.flush()
            os.fsync(out.fileno())
        os.replace(beside, target)
    except OSError as error:
        with suppress(OSError):
            os.unlink(beside)
        what = f"{path} cannot be written"
        raise TortieError(what, error.strerror or str(error), "check path, rights and space") from None
