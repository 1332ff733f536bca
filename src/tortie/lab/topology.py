"""What a person says about a lab, read and checked as a whole: a small YAML file, or flags.

Short forms (`nodes: 3`, `racks: 2`, `store: etcd`, a node that is only a name) are written out first, so that
everything behind this module sees one form. A topology that comes from here can be planned.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tortie.lab.forms import API_VERSION, KIND, Topology
from tortie.lab.rules import NODES_MAX, RACKS_MAX, rules
from tortie.model.errors import Invalid, Problem, UsageError
from tortie.model.manifest import Manifest, read_plain
from tortie.model.shape import problems_in, value_of
from tortie.model.wire import Document

__all__ = ["Topology", "from_flags", "read_topology"]

_FLAG_OF: Final = {"nodes: ": "--nodes ", "members: ": "--members ", "kind: ": "--store "}


def read_topology(text: str, source: str) -> Topology:
    """Raises Invalid with every problem of the file, each with its line."""
    manifest = read_plain(text, source)
    topology, problems = _checked(manifest.document)
    if topology is None:
        located = manifest.located(problems)
        raise Invalid(
            _subject(manifest), sorted(located, key=lambda problem: problem.place.line if problem.place else 0)
        )
    return topology


def from_flags(
    nodes: int = 3,
    racks: int = 0,
    store: str = "embedded",
    members: int | None = None,
    *,
    ipv6: bool = False,
    tls: bool = False,
    kubelet: bool = False,
    hurry: int | None = None,
    classic: str = "",
) -> Topology:
    """Raises UsageError, which names the flag. `racks` 0: none, all nodes are in one segment."""
    document: Document = {"apiVersion": API_VERSION, "kind": KIND, "nodes": nodes, "store": {"kind": store}}
    document |= {"racks": racks} if racks else {}
    document |= {"ipv6": True} if ipv6 else {}
    if members is not None:
        document["store"]["members"] = members
    if tls:
        document["store"]["tls"] = True
    if kubelet or hurry is not None:
        document["kubelet"] = {} if hurry is None else {"hurry": hurry}
    if classic:
        document["classic"] = classic
    topology, problems = _checked(document)
    if topology is None:
        first = problems[0]
        flag, value = {
            "nodes": ("--nodes", nodes),
            "racks": ("--racks", racks),
            "store.kind": ("--store", store),
            "store.members": ("--members", members),
            "store.tls": ("--tls", ""),
            "kubelet.hurry": ("--hurry", hurry),
            "classic": ("--classic", classic),
        }[first.field]
        raise UsageError(f"{flag} {value} is not possible", first.why, _as_flags(first.right))
    return topology


def _as_flags(right: str) -> str:
    for field, flag in _FLAG_OF.items():
        right = right.replace(field, flag)
    return right


def _subject(manifest: Manifest) -> str:
    document = manifest.document
    name = document.get("name") if isinstance(document, dict) else None
    return f"{KIND}({name})" if isinstance(name, str) else manifest.source


def _checked(document: Any) -> tuple[Topology | None, list[Problem]]:
    """The typed topology, or everything that is wrong with it."""
    if not isinstance(document, dict):
        right = f"apiVersion: {API_VERSION}, kind: {KIND}, and nodes"
        return None, [Problem("document", str(document)[:60], "does not describe a lab", right)]
    written, problems = _written_out(document)
    problems += problems_in(written, Topology)
    if not problems:
        topology = value_of(written, Topology)
        problems = list(rules(topology))
        if not problems:
            return topology, []
    return None, problems


def _written_out(document: Document) -> tuple[Document, list[Problem]]:
    """The document without its short forms. What is none of them stays, for the check of the whole."""
    written = dict(document)
    problems = [
        *_count_written_out(written, "nodes", NODES_MAX, lambda number: {"name": f"node-{number}"}),
        *_count_written_out(written, "racks", RACKS_MAX, lambda number: f"rack-{number}"),
    ]
    if written.get("kubelet") is False:
        del written["kubelet"]
    if written.get("kubelet") is True or ("kubelet" not in written and written.get("classic")):
        written["kubelet"] = {}
    if isinstance(written.get("store"), str):
        written["store"] = {"kind": written["store"]}
    if isinstance(written.get("nodes"), list):
        written["nodes"] = [{"name": node} if isinstance(node, str) else node for node in written["nodes"]]
    return written, problems


def _count_written_out(written: Document, field: str, most: int, make: Callable[[int], Any]) -> list[Problem]:
    given = written.get(field)
    if isinstance(given, str | float | bool):
        written[field] = [make(1)]  # nothing more is to be said about it
        return [Problem(field, str(given)[:60], "is neither a number nor a list", f"{field}: 3, or a list of names")]
    if not isinstance(given, int):
        return []
    written[field] = [make(number) for number in range(1, min(max(given, 1), most) + 1)]
    if 1 <= given <= most:
        return []
    return [Problem(field, given, f"a lab has 1 to {most:,} {field}", f"{field}: 3")]
