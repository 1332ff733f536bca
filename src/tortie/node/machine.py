"""What the agent asks of the machine it runs on, gathered so that tests can give it another one."""

from __future__ import annotations

import hashlib
import socket
from collections.abc import Callable
from typing import NamedTuple

from tortie.addressing.conflicts import Conflict, Evidence
from tortie.host.events import Events
from tortie.host.files import read_text
from tortie.host.kernel import has_ipv6
from tortie.host.links import observe
from tortie.host.neighbours import someone_else_has
from tortie.host.processes import running_here
from tortie.host.reach import source_towards
from tortie.model.errors import TortieError
from tortie.model.network import IP, HostNetwork, Interface
from tortie.node.paths import Paths


class Machine(NamedTuple):
    observe: Callable[[], HostNetwork] = observe
    open_events: Callable[[], Events] = Events
    reach: Callable[..., IP | str] = source_towards  # destination, family, seconds
    someone_else_has: Callable[[IP, Interface], str | None] = someone_else_has
    hostname: Callable[[], str] = socket.gethostname
    agents_here: Callable[[], tuple[str, ...]] = lambda: running_here("tortie", "node", "run")
    has_ipv6: Callable[[], bool] = has_ipv6


def evidence_about(
    machine: Machine, conflict: Conflict, network: HostNetwork, earlier_name: str, identity: str
) -> Evidence:
    """What this machine can find out about a second record with its address. Asks the link, so it may take a second."""
    here = "; ".join(machine.agents_here())
    owner = network.owner(conflict.ip)
    if owner is None:
        why = f"{conflict.ip} is on no interface of this machine"
        return Evidence(earlier_name, identity, why_not_asked=why, runs_here=here)
    try:
        answered_by = machine.someone_else_has(conflict.ip, owner[0])
    except TortieError as error:
        return Evidence(earlier_name, identity, why_not_asked=error.why or error.what, runs_here=here)
    return Evidence(earlier_name, identity, answered_by, asked=True, runs_here=here)


def machine_id(paths: Paths) -> str:
    """A name for this machine that survives renaming it; "" when it has none.

    Not the machine-id itself, which is not meant to leave the machine, but a digest of it.
    """
    try:
        text = read_text(paths.below("/etc/machine-id"))
    except TortieError:
        return ""
    identity = (text or "").strip()
    return hashlib.sha256(b"tortie " + identity.encode()).hexdigest()[:16] if identity else ""
