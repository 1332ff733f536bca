"""Policies that isolate pods of the system's namespaces, as documents, descriptions and lists show them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import Any, Final, Literal

from tortie.doctor.picture.facts import Document
from tortie.doctor.picture.picture import Picture, remembered
from tortie.doctor.reading.exhibit import Exhibit, Place
from tortie.doctor.signs import Sign
from tortie.model.tuples import NamedTuple

SYSTEM: Final = ("kube-system", "calico-system", "calico-apiserver", "tigera-operator", "kube-dns")
# Labels that the system's own pods have.
SYSTEM_PODS: Final = ("kube-dns", "coredns", "calico-kube-controllers", "metrics-server", "calico-apiserver")
API_PORTS: Final = (6443, 16443, 8443)  # behind the service: policies see the address and port after its translation
ISOLATED: Final = Sign("trt8009-isolated", "Selected pods are isolated for egress connectivity")
_NAMED: Final = ("networkpolicy", "networkpolicies", "netpol")

Lets = Literal["nothing", "some", "unknown"]


class Policy(NamedTuple):
    """A policy that may keep pods of the system from leaving; `lets` is what it lets out."""

    place: Place
    name: str
    namespace: str  # empty: a GlobalNetworkPolicy
    lets: Lets


@remembered
def isolating(picture: Picture) -> list[Policy]:
    """Those that are told best first; a policy beside them that lets everything out takes them back."""
    documents = [d for d in picture.of(Document) if d.kind in ("NetworkPolicy", "GlobalNetworkPolicy")]
    found = [policy for document in documents if (policy := _of_document(document))]
    open_ones = {_namespace(d) for d in documents if _lets_all_out(d)}
    known = {policy.name for policy in found} | {document.name for document in documents}
    found += [policy for policy in (*_described(picture), *_listed(picture)) if policy.name not in known]
    kept = {policy.name: policy for policy in reversed(found) if policy.namespace not in open_ones}
    return sorted(kept.values(), key=lambda policy: ("nothing", "some", "unknown").index(policy.lets))


def _namespace(document: Document) -> str:
    metadata = document.body.get("metadata")
    named = metadata.get("namespace") if isinstance(metadata, dict) else ""
    return "" if document.kind == "GlobalNetworkPolicy" else str(named or "default")


def _of_document(document: Document) -> Policy | None:
    spec = _spec(document)
    types = spec.get("policyTypes") or spec.get("types") or (["Egress"] if "egress" in spec else [])
    if "Egress" not in types or not _selects_system(document, spec) or _lets_api_out(spec):
        return None
    return Policy(document.place, document.name, _namespace(document), "some" if spec.get("egress") else "nothing")


def _spec(document: Document) -> dict[str, Any]:
    spec = document.body.get("spec")
    return spec if isinstance(spec, dict) else {}


def _selects_system(document: Document, spec: dict[str, Any]) -> bool:
    if "podSelector" in spec:  # Kubernetes' own
        wanted = str(spec.get("podSelector") or "")
        return _namespace(document) in SYSTEM and (wanted in ("", "{}") or any(name in wanted for name in SYSTEM_PODS))
    selector = str(spec.get("selector") or "").replace(" ", "")
    if document.kind == "NetworkPolicy":
        return _namespace(document) in SYSTEM and selector in ("", "all()")
    chosen = f"{selector} {str(spec.get('namespaceSelector') or '').replace(' ', '')}".strip()
    if "notin" in chosen or "!=" in chosen:
        return False
    everything = all(word in ("all()", "has(projectcalico.org/namespace)") for word in chosen.split())
    return everything or any(f"'{name}'" in chosen.replace('"', "'") for name in SYSTEM)


def _rules(spec: dict[str, Any]) -> list[dict[str, Any]]:
    rules = spec.get("egress")
    return [rule or {} for rule in rules if isinstance(rule, dict) or rule is None] if isinstance(rules, list) else []


def _lets_api_out(spec: dict[str, Any]) -> bool:
    return any(_reaches_api(rule) for rule in _rules(spec) if rule.get("action", "Allow") in ("Allow", "Pass"))


def _reaches_api(rule: dict[str, Any]) -> bool:
    """By its ports; where it leads is taken for right, unless it leads to pods: the API is none."""
    leads = rule.get("to") or []
    to_pods = bool(leads) and all(isinstance(one, dict) and "ipBlock" not in one for one in leads)
    destination = rule.get("destination") or {}
    to_pods = to_pods or bool({"selector", "namespaceSelector"} & set(destination))
    ports = [one.get("port") if isinstance(one, dict) else one for one in rule.get("ports") or []]
    ports += destination.get("ports") or []
    udp = str(rule.get("protocol") or "").upper() == "UDP"
    return not to_pods and not udp and (not ports or any(port in API_PORTS for port in ports))


def _lets_all_out(document: Document) -> bool:
    spec = _spec(document)
    everyone = str(spec.get("podSelector") or spec.get("selector") or "") in ("", "{}", "all()")
    return everyone and any(set(rule) <= {"action"} and rule.get("action", "Allow") == "Allow" for rule in _rules(spec))


def _described(picture: Picture) -> Iterator[Policy]:
    for hit in picture.hits(ISOLATED):
        for exhibit in picture.exhibits:
            inside = exhibit.source == hit.place.source and exhibit.lines
            if inside and exhibit.number(0) <= hit.place.first <= exhibit.number(len(exhibit.lines) - 1):
                told = dict(_fields().findall(exhibit.text))
                if told.get("Namespace") in SYSTEM and "<none> (Allowing the specific" in exhibit.text:
                    yield Policy(hit.place, told.get("Name", ""), told["Namespace"], "nothing")


@cache
def _fields() -> re.Pattern[str]:
    return re.compile(r"(?m)^(Name|Namespace):\s+(\S+)$")


def _listed(picture: Picture) -> Iterator[Policy]:
    """Rows without what they say: only that such a policy is there, for all pods of its namespace."""
    for exhibit in picture.exhibits:
        words = exhibit.command.split()
        if "get" in words and any(word.split(".")[0] in _NAMED for word in words):
            yield from _rows(exhibit, words)


def _rows(exhibit: Exhibit, words: list[str]) -> Iterator[Policy]:
    inside = next((after for word, after in pairwise(words) if word in ("-n", "--namespace")), "")
    for index, line in enumerate(exhibit.lines):
        cells = line.split()
        if len(cells) == 4 and cells[0] in SYSTEM and cells[2] == "<none>":
            yield Policy(exhibit.place(index), cells[1], cells[0], "unknown")
        elif len(cells) == 3 and inside in SYSTEM and cells[1] == "<none>":
            yield Policy(exhibit.place(index), cells[0], inside, "unknown")
