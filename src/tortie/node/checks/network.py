"""Judgement on what a node needs of this host's network and is told about it: ports, `localhost`, name, settings."""

from __future__ import annotations

import re
from collections.abc import Sequence
from ipaddress import ip_address
from typing import TYPE_CHECKING, Final, NamedTuple

from tortie.node.checks import Check, Result

if TYPE_CHECKING:
    from tortie.host.loopback import Loopback, Resolved
    from tortie.host.ports import Holder
    from tortie.node.name import NodeName
    from tortie.node.settings import Reading

PORTS: Final = "ports"
NAMES: Final = "names and settings"

_NODE_PROGRAMS: Final = ("calico-felix", "calico-node", "tortie")
_NODE_COMMAND: Final = re.compile(r"\btortie node run\b|\bcalico component (felix|node)\b|calico-node -felix\b")
_RECOMMENDED: Final = "Using auto-detected node name."
_HOSTS_LINE: Final = "write the line `127.0.0.1 localhost` into /etc/hosts, above any other that names it"


class Port(NamedTuple):
    number: int
    purpose: str
    move: str  # how the node is told to use another one
    taken: Result = "FAIL"  # by a stranger
    unneeded: str = ""  # why it does not matter here


class Refusal(NamedTuple):
    """What the kernel said to a socket that wanted the port."""

    in_use: bool
    why: str


def is_node(holder: Holder) -> bool:
    """BIRD counts when its command line shows whose it is: hosts run one of their own, too."""
    if holder.program in _NODE_PROGRAMS or _NODE_COMMAND.search(holder.command):
        return True
    return holder.program in ("bird", "bird6") and re.search(r"calico|tortie", holder.command) is not None


def port(wanted: Port, holders: Sequence[Holder], described: str, refusal: Refusal | None) -> Check:
    name = f"{wanted.number} {wanted.purpose}"
    if wanted.unneeded:
        return Check(name, PORTS, "OK", f"not needed: {wanted.unneeded}")
    if holders and all(is_node(holder) for holder in holders):
        fix = "stop that one before you start another; if it is the one you mean, nothing is wrong"
        return Check(name, PORTS, "WARN", f"a node already runs here: {described}", fix)
    if holders:
        return Check(name, PORTS, wanted.taken, f"held by {described}", f"stop or move it, or {wanted.move}")
    if refusal and refusal.in_use:
        fix = f"find it with: ss -antp 'sport = :{wanted.number}', in the host's namespaces; or {wanted.move}"
        return Check(name, PORTS, wanted.taken, "in use, by a socket that cannot be seen from here", fix)
    if refusal:
        return Check(name, PORTS, "OK", f"nobody holds it; we ourselves may not open it: {refusal.why}")
    return Check(name, PORTS, "OK", "free")


def localhost(resolved: Resolved, health_host: str) -> Check:
    """`health_host` is where the health port is bound; an address there needs no name."""
    wrong: Result = "WARN" if is_address(health_host) else "FAIL"
    shown = ", ".join(resolved.addresses)
    fix = f"{_HOSTS_LINE}; or set FELIX_HEALTHHOST=127.0.0.1 and `host: 127.0.0.1` in the probes"
    if not resolved.addresses:
        seen = f"resolves to nothing ({resolved.failure}): the health port cannot be opened or reached by this name"
        return Check("localhost", NAMES, wrong, seen, f"{fix}; check that /etc/nsswitch.conf asks files first")
    foreign = [address for address in resolved.addresses if not ip_address(address).is_loopback]
    if foreign:
        seen = f"resolves to {shown}: {', '.join(foreign)} is not this machine's loopback"
        return Check("localhost", NAMES, wrong, seen, fix)
    if all(":" in address for address in resolved.addresses):
        return Check("localhost", NAMES, wrong, f"resolves to {shown} only, while probes go to 127.0.0.1", fix)
    return Check("localhost", NAMES, "OK", shown)


def is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def loopback(seen: Loopback) -> Check:
    if seen.up and not seen.failure:
        return Check("lo", NAMES, "OK", "up, and 127.0.0.1 answers")
    state = {None: "there is no interface lo", True: "lo is up", False: "lo is down"}[seen.up]
    found = f"{state}; a connection to 127.0.0.1 fails: {seen.failure}" if seen.failure else state
    fix = "ip link set lo up; ip addr add 127.0.0.1/8 dev lo; then find what took it down (network manager, script)"
    return Check("lo", NAMES, "FAIL", found, fix)


def nodename(chosen: NodeName) -> Check:
    """That the host's own name is used for want of another is no fault before a start; the start itself says it."""
    if chosen.problems:
        problem = chosen.problems[0]
        return Check("nodename", NAMES, "FAIL", str(problem), problem.fix)
    source = {"file": "the nodename file", "hostname": "the host's own name"}.get(chosen.source, chosen.source)
    seen = f"{chosen.name} (from {source})"
    doubts = [
        each.text for each in chosen.messages if each.level == "warning" and not each.text.startswith(_RECOMMENDED)
    ]
    if doubts:
        return Check("nodename", NAMES, "WARN", f"{seen}. {' '.join(doubts)}", "set NODENAME to the name that is meant")
    return Check("nodename", NAMES, "OK", seen)


def environment(reading: Reading) -> Check:
    """What a start would refuse, or only complain about; each finding holds its own fix."""
    refused, doubtful = ("; ".join(str(each) for each in found) for found in (reading.refused, reading.warnings))
    if refused:
        return Check("settings", NAMES, "FAIL", refused, "correct the environment; a start refuses it as it is")
    if doubtful:
        return Check("settings", NAMES, "WARN", doubtful, "correct the environment; a start goes on with a warning")
    return Check("settings", NAMES, "OK", "nothing to say about the environment variables")
