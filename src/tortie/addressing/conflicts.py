"""Two Node records with one address: who is in the right, as far as the evidence goes, and what to do.

Pure. A start never ends because of a conflict. What is this machine's own past is put right, everything else is
explained with both names and waits for a person, or for the other record to go.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, Literal, NamedTuple

from tortie.addressing.choice import Message
from tortie.model.network import CIDR, IP

Kind = Literal["renamed", "cloned", "duplicate", "stale", "unknown"]
Fault = Literal["this node", "a peer", "the configuration"]

_NAMED_MAX: Final = 5


class Registered(NamedTuple):
    """A node as its record tells it."""

    name: str
    addresses: tuple[CIDR, ...] = ()
    machine: str = ""  # the id of the machine that wrote the record; "" where that is not known


class Conflict(NamedTuple):
    other: str
    ip: IP
    machine: str = ""  # of the other record


class Evidence(NamedTuple):
    previous_name: str = ""  # what this machine was called at its last start, by the nodename file
    machine: str = ""  # this machine's id
    answered_by: str | None = None  # the MAC of another machine that answers for the address
    asked: bool = False  # whether the link was asked who has the address
    why_not_asked: str = ""
    runs_here: str = ""  # the other node's agent, alive on this machine: pid 123, tortie node run --root /x


class Verdict(NamedTuple):
    kind: Kind
    blocks: bool  # the node stays live, but does not register the address
    take_over: bool  # the address is withdrawn from the other record in the commit that registers it here
    what: str
    why: str
    fix: str
    messages: tuple[Message, ...]  # beside what, why and fix, which whoever is blocked says himself
    fault: Fault


def conflicts_of(name: str, addresses: Iterable[CIDR], nodes: Iterable[Registered]) -> tuple[Conflict, ...]:
    """Every other record with an address of ours. Networks may be shared, addresses not."""
    ours = {address.ip for address in addresses}
    found = (
        Conflict(node.name, address.ip, node.machine)
        for node in nodes
        if node.name != name
        for address in node.addresses
        if address.ip in ours
    )
    return tuple(dict.fromkeys(found))


def judge(name: str, conflict: Conflict, evidence: Evidence) -> Verdict:
    other, ip = conflict.other, conflict.ip
    same_machine = bool(conflict.machine) and conflict.machine == evidence.machine
    another_machine = bool(conflict.machine and evidence.machine) and not same_machine
    was_called_so = evidence.previous_name == other
    if evidence.runs_here:
        # Nobody else on the link answers for an address that both have from one machine.
        return _housemate(name, conflict, evidence.runs_here.rstrip("."))
    if evidence.answered_by is not None:
        if same_machine or was_called_so:
            return _cloned(name, conflict, evidence.answered_by, same_machine)
        return _duplicate(name, conflict, evidence.answered_by)
    if not evidence.asked:
        return _unknown(name, conflict, evidence, same_machine)
    if was_called_so and not another_machine:
        return _renamed(name, conflict)
    hint = ""
    if same_machine:
        hint = f". The record carries this machine's id, so {other} may be this machine under an earlier name"
    elif was_called_so:
        hint = f". The nodename file calls this machine {other}, yet the record was written by another machine"
    why = (
        f"nobody else answers for {ip} on this link, so the record of {other} looks left over; "
        f"but a machine behind a router could still be {other}, with the same address as {name}{hint}"
    )
    return _blocking("stale", name, other, ip, why, _deletion(name, other, ip), "a peer")


def same_name_notice(
    name: str, stored: CIDR | None, chosen: CIDR | None, stored_machine: str, machine: str
) -> tuple[Message, ...]:
    """For a node whose own record holds another address: it moved, or somebody else is called the same."""
    if stored is None or chosen is None or stored.ip == chosen.ip:
        return ()
    changed = (
        f"IPv{chosen.version} address has changed. This could happen if there are multiple nodes with the same name. "
        f'node="{name}" original="{stored.ip}" updated="{chosen.ip}"'
    )
    if not stored_machine or not machine:
        return (Message("warning", changed),)
    if stored_machine == machine:
        known = f"The record of {name} was written by this machine: its address moves from {stored.ip} to {chosen.ip}."
        return Message("warning", changed), Message("info", known)
    foreign = (
        f"The record of {name} was last written by another machine (id {stored_machine}, this one is {machine}). "
        f"If that machine still runs, two nodes take turns with one record: {stored.ip} and {chosen.ip}. "
        "Then remove the nodename file on the copy and give each its own NODENAME. "
        f"If this machine replaces it, nothing has to be done."
    )
    return Message("warning", changed), Message("warning", foreign)


def unreadable_notice(names: Sequence[str]) -> tuple[Message, ...]:
    """Somebody else's broken record stops nobody, but it may hide a conflict."""
    if not names:
        return ()
    shown = ", ".join(names[:_NAMED_MAX])
    more = f" and {len(names) - _NAMED_MAX:,} more" if len(names) > _NAMED_MAX else ""
    records = "The record of a node" if len(names) == 1 else f"The records of {len(names):,} nodes"
    text = (
        f"{records} cannot be read, so the search for address conflicts leaves out: {shown}{more}. "
        f"`tortie get node {names[0]} -o yaml` shows what is wrong."
    )
    return (Message("warning", text),)


def _renamed(name: str, conflict: Conflict) -> Verdict:
    other, ip = conflict.other, conflict.ip
    what = f"{other} is an earlier name of this machine, {name}, and its record still holds {ip}"
    why = f"by the nodename file this machine was called {other} at its last start, and nobody else answers for {ip}"
    fix = (
        f"nothing: {ip} moves from the record of {other} to {name}. What else {other} owns, such as address blocks, "
        f"stays until `tortie delete node {other}`"
    )
    messages = (_already_used(other, ip), Message("info", f"{what}: the address moves to {name}."))
    return Verdict("renamed", False, True, what, why, fix, messages, "this node")


def _cloned(name: str, conflict: Conflict, mac: str, same_machine: bool) -> Verdict:
    other, ip = conflict.other, conflict.ip
    sign = (
        f"the record of {other} carries the machine id of {name}"
        if same_machine
        else f"the nodename file of {name} calls this machine {other}"
    )
    why = f"{sign}, yet another machine ({mac}) answers for {ip}: one of the two is a copy of the other"
    fix = (
        f"on the copy, give it another address than {ip}, remove the nodename file and make a new machine id "
        f"(rm /etc/machine-id; systemd-machine-id-setup); if {name} is the right one, also stop {other} for good and "
        f"run `tortie delete node {other}`. This node goes on by itself then"
    )
    return _blocking("cloned", name, other, ip, why, fix, "this node")


def _duplicate(name: str, conflict: Conflict, mac: str) -> Verdict:
    other, ip = conflict.other, conflict.ip
    why = f"both are alive: another machine ({mac}), by its record {other}, answers for {ip}, which {name} has too"
    method = "IP_AUTODETECTION_METHOD" if ip.version == 4 else "IP6_AUTODETECTION_METHOD"
    fix = (
        f"give {name} or {other} an address other than {ip}, or let {name} register another interface ({method}). "
        "This node goes on by itself then"
    )
    return _blocking("duplicate", name, other, ip, why, fix, "the configuration")


def _housemate(name: str, conflict: Conflict, agent: str) -> Verdict:
    other, ip = conflict.other, conflict.ip
    why = f"{other} is alive on this very machine ({agent}), and both take {ip} from it"
    variable = "IP" if ip.version == 4 else "IP6"
    fix = (
        f"two nodes on one machine need two addresses: give {name} and {other} each its own {variable}=<address>, "
        f"since {ip} can be that of one alone; or stop the one that is not wanted"
    )
    return _blocking("duplicate", name, other, ip, why, fix, "the configuration")


def _unknown(name: str, conflict: Conflict, evidence: Evidence, same_machine: bool) -> Verdict:
    other, ip = conflict.other, conflict.ip
    reason = evidence.why_not_asked.rstrip(".") or "the link was not asked"
    why = f"whether {other} is alive could not be found out: {reason}"
    if same_machine and evidence.previous_name == other:
        why += f". Nodename file and machine id say that {other} is {name} itself, but so they would on a copy"
    elif evidence.previous_name == other:
        why += f". The nodename file calls {name} by its earlier name {other}, but so it would on a copy"
    return _blocking("unknown", name, other, ip, why, _deletion(name, other, ip), "a peer")


def _deletion(name: str, other: str, ip: IP) -> str:
    return (
        f"if {other} is gone for good, or is {name} under an earlier name, run `tortie delete node {other}`: "
        f"this node goes on by itself then. If {other} is alive, give one of the two another address than {ip}"
    )


def _blocking(kind: Kind, name: str, other: str, ip: IP, why: str, fix: str, fault: Fault) -> Verdict:
    what = f"{name} cannot register {ip}: the node {other} has it"
    return Verdict(kind, True, False, what, why, fix, (_already_used(other, ip),), fault)


def _already_used(other: str, ip: IP) -> Message:
    return Message("warning", f"Calico node '{other}' is already using the IPv{ip.version} address {ip}.")
