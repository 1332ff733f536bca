"""What this node is called: Calico's order of sources, and the names that cannot be meant.

Pure. A name decides which record a node writes, so a doubtful one is refused before anything is written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from ipaddress import ip_address
from typing import Literal, NamedTuple

from tortie.addressing.choice import Message
from tortie.model.errors import UsageError
from tortie.model.fields import BadField, Name

Source = Literal["NODENAME", "file", "HOSTNAME", "hostname", "none"]

_FROM_KUBERNETES = "set NODENAME from the pod's field spec.nodeName (valueFrom, fieldRef)"
_PLACEHOLDER = re.compile(r"\$[({\w]|\{\{|<.*>|^__\w+__$", re.DOTALL)


class InvalidName(UsageError):
    """A name under which this node must not be registered."""

    code = "invalid-name"


class NodeName(NamedTuple):
    """With `problems` the node does not start under `name`; each says why and what to do."""

    name: str
    source: Source
    messages: tuple[Message, ...] = ()
    problems: tuple[InvalidName, ...] = ()


def choose_name(environment: Mapping[str, str], stored: str | None, os_hostname: str, file: str) -> NodeName:
    """`stored` is what the nodename `file` holds, None when there is none."""
    previous = (stored or "").strip()
    host = os_hostname.strip().lower()
    told = environment.get("NODENAME", "").strip()
    from_environment = environment.get("HOSTNAME", "").strip().lower()
    notes = list(_notes_on_blanks(environment, stored, file))
    if told:
        notes.append(Message("info", f"Using NODENAME environment for node name {told}"))
        return _judged(told, "NODENAME", previous, file, notes)
    if previous:
        notes.append(Message("info", f"Using stored node name {previous} from {file}"))
        notes += _notes_on_another_host(previous, from_environment or host, file)
        return _judged(previous, "file", previous, file, notes)
    if from_environment:
        notes.append(Message("info", f"Using HOSTNAME environment (lowercase) for node name {from_environment}"))
        return _judged(from_environment, "HOSTNAME", previous, file, notes)
    if host:
        recommended = (
            "Using auto-detected node name. It is recommended that an explicit value is supplied using the NODENAME "
            "environment variable."
        )
        notes.append(Message("warning", recommended))
        return _judged(host, "hostname", previous, file, notes)
    nameless = InvalidName(
        "this node has no name", f"NODENAME, {file}, HOSTNAME and the host's own name are all empty", _FROM_KUBERNETES
    )
    return NodeName("", "none", tuple(notes), (nameless,))


def _judged(name: str, source: Source, previous: str, file: str, notes: list[Message]) -> NodeName:
    problem = _problem(name, source, file)
    if problem is None:
        notes.append(Message("info", f"Determined node name: {name}"))
        notes += _doubts(name)
        notes += _notes_on_renaming(name, previous, file)
    return NodeName(name, source, tuple(notes), (problem,) if problem else ())


def _problem(name: str, source: Source, file: str) -> InvalidName | None:
    what = f"the node cannot be called {name!r}, as {_spoken(source, file)} says"
    if _PLACEHOLDER.search(name):
        why = "it holds a placeholder which nobody has filled in"
        if "$(" in name:
            why += ": Kubernetes leaves it as it is when no variable of that name is defined before it"
        return InvalidName(what, why, _FROM_KUBERNETES)
    if _is_localhost(name) and source != "NODENAME":
        why = "every machine has that name for itself, so the next one would write into the same record"
        return InvalidName(what, why, f"{_remedy(source, file, 'a name of its own')}; or {_FROM_KUBERNETES}")
    try:
        Name.parse(name)
    except BadField as bad:
        lower = _valid(name.lower())
        why = "a node's name has no capital letters" if lower else f"it {bad}: {bad.right}"
        return InvalidName(what, why, _remedy(source, file, lower or _suggestion(bad)))
    return None


def _doubts(name: str) -> Iterator[Message]:
    if _is_localhost(name):
        text = (
            f"NODENAME calls this node {name}, as every machine calls itself. A second node of that name would write "
            f"into the same record; with more than one node, {_FROM_KUBERNETES}."
        )
        yield Message("warning", text)
    elif _is_address(name):
        text = (
            f"The node name {name} is an address. That works as long as the name stays, also when the address changes, "
            "and as long as kubelet and the CNI plugin use the same name."
        )
        yield Message("warning", text)


def _notes_on_renaming(name: str, previous: str, file: str) -> Iterator[Message]:
    if previous and not _valid(previous):
        yield Message("warning", f"{file} holds {previous!r}, which is no node's name; it is replaced.")
    elif previous and previous != name:
        text = (
            f"This node was called {previous} at its last start ({file}), and is {name} now. The record of {previous} "
            f"stays, with its address blocks and workloads; an address that both claim moves to {name}. "
            f"Once nothing runs under the old name: tortie delete node {previous}"
        )
        yield Message("warning", text)


def _notes_on_another_host(stored: str, host: str, file: str) -> Iterator[Message]:
    """A stored name outlives the renaming of a host, and comes along when its disk is copied."""
    if host and host != stored and not _is_localhost(host) and host.split(".")[0] != stored.split(".")[0]:
        text = (
            f"The host is called {host}, the stored name {stored} is used all the same. "
            f"If this machine was copied from {stored}, remove {file}; to rename the node, set NODENAME."
        )
        yield Message("info", text)


def _notes_on_blanks(environment: Mapping[str, str], stored: str | None, file: str) -> Iterator[Message]:
    for variable in ("NODENAME", "HOSTNAME"):
        value = environment.get(variable)
        if value and not value.strip():
            yield Message("warning", f"{variable} is set but holds only blanks; it is passed over.")
    if stored is not None and not stored.strip():
        yield Message("warning", f"{file} is empty, as after a write that was cut short; it is passed over.")


def _is_localhost(name: str) -> bool:
    return re.fullmatch(r"localhost[46]?(\.localdomain[46]?)?", name.lower()) is not None


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def _valid(name: str) -> str:
    try:
        return Name.parse(name)
    except BadField:
        return ""


def _suggestion(bad: BadField) -> str:
    _, _, example = bad.right.partition("; for example ")
    return example or "a valid name"


def _remedy(source: Source, file: str, name: str) -> str:
    match source:
        case "file":
            return f"set NODENAME to {name}, or correct the file: printf %s {_quoted(name)} > {file}"
        case "hostname":
            return f"set NODENAME to {name}, or rename the host: hostnamectl set-hostname {_quoted(name)}"
        case _:
            return f"set NODENAME to {name}"


def _quoted(name: str) -> str:
    return name if _valid(name) else "NAME"


def _spoken(source: Source, file: str) -> str:
    return {"file": file, "hostname": "the host's own name"}.get(source, source)
