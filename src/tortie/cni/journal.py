"""What the agent's log has of the requests of runtimes: one line for each that changed something or failed. Pure."""

from __future__ import annotations

from tortie.cni.errors import CniError
from tortie.cni.invocation import Invocation
from tortie.cni.results import Document
from tortie.ipam.request import Released


def added(invocation: Invocation, made: Document) -> str:
    addresses = ", ".join(item["address"].partition("/")[0] for item in made["ips"])
    links = made.get("interfaces")
    where = f"on {links[0]['name']}" if links else "for another plugin"
    return f"CNI ADD {invocation.spoken}: {addresses} {where}"


def deleted(invocation: Invocation, released: Released) -> str:
    freed = ", ".join(map(str, released.released))
    return f"CNI DEL {invocation.spoken}: {f'{freed} freed' if freed else 'done, IPAM had no address of it'}"


def failed(invocation: Invocation | None, error: CniError) -> str:
    """None: the request could not even be read."""
    if invocation is None:
        about = "a request"
    else:
        about = f"{invocation.command} {invocation.spoken}" if invocation.container else invocation.command
    why = f": {error.why}" if error.why else ""
    return f"CNI {about} failed with code {error.number}: {error.what}{why}"
