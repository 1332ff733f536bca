"""Policies that let nobody of another namespace in to the system's pods: DNS stays silent to everybody else."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from tortie.doctor.causes.shared import DNS_FAILED
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Document, Setting
from tortie.doctor.picture.picture import Picture
from tortie.doctor.picture.places import exhibit_at
from tortie.doctor.reading.exhibit import Exhibit, Place
from tortie.model.tuples import NamedTuple

_OF_DNS: Final = "kube-system"
_DNS_PODS: Final = ("kube-dns", "coredns")
_DNS_PORTS: Final = (53, "53", "dns", "dns-tcp", "domain")
_HEAD: Final = lazily(r"^(Name|Namespace):\s+(\S+)\s*$", re.MULTILINE)
_TO: Final = lazily(r"^\s*To Port:\s+(\S+)")
_FROM: Final = lazily(r"^\s*From:(?P<rest>.*)$")
_OTHERS: Final = lazily(r"^\s*(?:NamespaceSelector|IPBlock):")
_NOBODY: Final = "Selected pods are isolated for ingress connectivity"
_ASKED: Final = lazily(r"\b(?:netpol|networkpolic(?:y|ies))\b")
_INSIDE: Final = lazily(r"(?:-n|--namespace)[ =]?(\S+)")


class Closed(NamedTuple):
    """A policy of kube-system that lets only pods of its own namespace in, or none."""

    place: Place
    name: str
    namespace: str


def closed_inward(picture: Picture) -> list[Closed]:
    """None where a policy beside it lets others in: what one allows is allowed."""
    found = [*_documents(picture), *_described(picture)]
    known = {closed.name for _, closed in found}
    others = any("dns" in name.lower() for name in _listed(picture) - known)  # by its name it lets them ask
    return [] if others or any(open_ for open_, _ in found) else [closed for _, closed in found]


def _listed(picture: Picture) -> set[str]:
    """Names in a list of policies; what they allow is not told there."""
    lists = [one for one in picture.exhibits if " get " in one.command and _ASKED.search(one.command)]
    cells = [line.split() for one in lists for line in one.lines if len(line.split()) in (3, 4)]
    return {row[1] if len(row) == 4 else row[0] for row in cells}


def _documents(picture: Picture) -> Iterator[tuple[bool, Closed]]:
    for document in picture.of(Document):
        metadata, spec = document.body.get("metadata"), document.body.get("spec")
        named = metadata.get("namespace") if isinstance(metadata, dict) else ""
        if document.kind != "NetworkPolicy" or named != _OF_DNS or not isinstance(spec, dict):
            continue
        selected = str(spec.get("podSelector") or "")
        types = spec.get("policyTypes") or ["Ingress"]
        if "Ingress" in types and (selected in ("", "{}") or any(name in selected for name in _DNS_PODS)):
            rules = spec.get("ingress")
            yield any(_lets_in(rule) for rule in rules or []), Closed(document.place, document.name, _OF_DNS)


def _lets_in(rule: Any) -> bool:
    """Somebody from outside of the namespace, at the ports of DNS."""
    if not isinstance(rule, dict):
        return True
    ports = [one.get("port") for one in rule.get("ports") or [] if isinstance(one, dict)]
    if ports and not any(port in _DNS_PORTS for port in ports):
        return False
    peers = [one for one in rule.get("from") or [] if isinstance(one, dict)]
    return not peers or any("namespaceSelector" in one or "ipBlock" in one for one in peers)


def _described(picture: Picture) -> Iterator[tuple[bool, Closed]]:
    for exhibit in picture.exhibits:
        if "Allowing ingress traffic" not in exhibit.text or exhibit.prose:
            continue
        told = dict(_HEAD.findall(exhibit.text))
        selects = "<none> (Allowing the specific" in exhibit.text or any(n in exhibit.text for n in _DNS_PODS)
        if told.get("Namespace") == _OF_DNS and selects:
            place = exhibit.place(0, max(1, len(exhibit.lines)))
            yield _lets_others_in(exhibit), Closed(place, told.get("Name", ""), _OF_DNS)


def _lets_others_in(exhibit: Exhibit) -> bool:
    """`To Port: <any>` and `From:` with what may come, indented below it."""
    fits, inward = True, False
    for line in exhibit.lines:
        if "Allowing ingress traffic" in line or "egress traffic" in line:
            inward = "ingress" in line
        if not inward or _NOBODY in line:
            continue
        if port := _TO.match(line):
            fits = port[1].startswith("<any>") or port[1].split("/")[0] in ("53", "dns", "dns-tcp")
        source = _FROM.match(line)
        if fits and ((source and "<any>" in source["rest"]) or _OTHERS.match(line)):
            return True
    return False


def silent_dns(picture: Picture) -> list[Setting]:
    """Lookups in vain from pods of other namespaces."""
    asked = [one for one in picture.of(Setting) if one.scope == "dns" and one.value == "timeout"]
    return [one for one in asked if _namespace(picture, one) not in ("", _OF_DNS)]


def answered_inside(picture: Picture) -> list[Setting]:
    asked = [one for one in picture.of(Setting) if one.scope == "dns"]
    good = [one for one in asked if one.value not in ("timeout", "SERVFAIL", "unresolved")]
    return [one for one in good if _namespace(picture, one) == _OF_DNS]


def lookups_fail(picture: Picture) -> list[object]:
    return [*silent_dns(picture), *picture.hits(DNS_FAILED)]


def _namespace(picture: Picture, answer: Setting) -> str:
    """Of the pod in which the lookup was typed; `default` where a command names none, empty outside of pods."""
    exhibit = exhibit_at(picture, answer.place)
    command = exhibit.command if exhibit else ""
    if " exec " not in command and " run " not in command:
        return ""
    named = _INSIDE.search(command.partition(" -- ")[0])
    return named[1] if named else "default"
