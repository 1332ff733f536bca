"""What all descriptions of `kubectl describe` have in common: labels, annotations, tolerations, events. Pure.

A description is made of lines with tabs, which `tabs.aligned` turns into columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from tortie.lab.kubectl.kinds import Thing, at, name_of
from tortie.lab.kubectl.tables import NONE
from tortie.lab.kubectl.tabs import aligned
from tortie.lab.kubectl.times import seconds_of, since

_LONGEST_ANNOTATION: Final = 140
_UNSHOWN: Final = ("kubectl.kubernetes.io/last-applied-configuration",)


def described(lines: Sequence[str], events: Sequence[str] | None) -> str:
    """Events have columns of their own, whatever stands in front of them."""
    text = "".join(line + "\n" for line in lines)
    if events is None:
        return aligned(text)
    if events == [f"Events:\t{NONE}"]:
        return aligned(text + events[0] + "\n")
    return aligned(text) + aligned("".join(line + "\n" for line in events))


def label_lines(title: str, labels: Mapping[str, Any]) -> Iterator[str]:
    yield from _listed(title, [f"{key}={labels[key]}" for key in sorted(labels)])


def annotation_lines(title: str, annotations: Mapping[str, Any]) -> Iterator[str]:
    shown = []
    for key in sorted(set(annotations) - set(_UNSHOWN)):
        value = str(annotations[key]).removesuffix("\n")
        if len(value) + len(key) + 2 <= _LONGEST_ANNOTATION and "\n" not in value:
            shown.append(f"{key}: {value}")
            continue
        shown += [f"{key}:", *(f"  {_shortened(line)}" for line in value.split("\n"))]
    yield from _listed(title, shown)


def _shortened(text: str) -> str:
    longest = _LONGEST_ANNOTATION - 2
    return text if len(text) <= longest else text[:longest] + "..."


def toleration_lines(title: str, tolerations: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    yield from _listed(title, [_toleration(each) for each in sorted(tolerations, key=lambda each: each.get("key", ""))])


def _toleration(toleration: Mapping[str, Any]) -> str:
    text = str(toleration.get("key", ""))
    if toleration.get("value"):
        text += f"={toleration['value']}"
    if toleration.get("effect"):
        text += f":{toleration['effect']}"
    if toleration.get("operator") == "Exists" and not toleration.get("value"):
        text += " op=Exists" if text else "op=Exists"
    if toleration.get("tolerationSeconds") is not None:
        text += f" for {toleration['tolerationSeconds']}s"
    return text


def taint_lines(title: str, taints: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    ordered = sorted(taints, key=lambda each: f"{each.get('effect', '')},{each.get('key', '')}")
    yield from _listed(title, [taint_text(each) for each in ordered])


def taint_text(taint: Mapping[str, Any]) -> str:
    value = f"={taint['value']}" if taint.get("value") else ""
    return f"{taint.get('key', '')}{value}:{taint.get('effect', '')}"


def _listed(title: str, entries: Sequence[str]) -> Iterator[str]:
    """The first beside the title, the others below it."""
    for index, entry in enumerate(entries or [NONE]):
        yield f"{title}:\t{entry}" if index == 0 else f"\t{entry}"


def events_of(events: Sequence[Thing], thing: Thing) -> list[Thing]:
    """Those about one object. Kubelet names a node's events by its name alone."""
    kind, name, uid = thing.get("kind"), name_of(thing), at(thing, "metadata", "uid")
    found = [
        event
        for event in events
        if at(event, "involvedObject", "name") == name
        and at(event, "involvedObject", "kind") == kind
        and at(event, "involvedObject", "uid") in (None, "", uid, name)
    ]
    return sorted(found, key=lambda event: seconds_of(last_seen(event)) or 0.0)


def last_seen(event: Mapping[str, Any]) -> object:
    return at(event, "lastTimestamp") or at(event, "eventTime") or at(event, "firstTimestamp")


def event_interval(event: Mapping[str, Any], now: float) -> str:
    """3s (x12 over 2m)"""
    first = since(at(event, "eventTime") or at(event, "firstTimestamp"), now)
    count = int(at(event, "count") or 1)
    return f"{since(at(event, 'lastTimestamp'), now)} (x{count} over {first})" if count > 1 else first


def event_lines(events: Sequence[Thing], now: float) -> list[str]:
    if not events:
        return [f"Events:\t{NONE}"]
    lines = ["Events:", "  Type\tReason\tAge\tFrom\tMessage", "  ----\t------\t----\t----\t-------"]
    for event in events:
        source = at(event, "source", "component") or at(event, "reportingComponent") or ""
        message = str(at(event, "message") or "").strip()
        told = (at(event, "type") or "", at(event, "reason") or "", event_interval(event, now), source, message)
        lines.append("  " + "\t".join(str(each) for each in told))
    return lines
