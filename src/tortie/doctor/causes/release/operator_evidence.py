"""What the operator says of itself: the last word of each of its statuses, and the reasons in its log."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import ResourceCondition, Setting
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Hit

_OF_OPERATOR: Final = ("TigeraStatus", "Installation", "")  # a fragment does not say of what it is
_ERROR: Final = lazily(r'"error": ?"((?:[^"\\]|\\.)+)"')
_END: Final = lazily(r'["\']?\s*(?:,\s*"|$)')
_LONGEST: Final = 300


def conditions_now(picture: Picture) -> list[ResourceCondition]:
    """Each condition of the operator's resources as it was shown last. A table has no message: what an older exhibit
    says of the same state stays."""
    latest: dict[tuple[str, str, str], ResourceCondition] = {}
    for one in picture.of(ResourceCondition):
        if one.resource in _OF_OPERATOR:
            key = (one.resource, one.name, one.kind)
            known = latest.get(key)
            if known and known.status == one.status and known.message and not one.message:
                continue
            latest[key] = one
    return list(latest.values())


def degraded(picture: Picture) -> list[ResourceCondition]:
    return [one for one in conditions_now(picture) if one.kind == "Degraded" and one.status == "True"]


def well_now(picture: Picture, *names: str) -> list[ResourceCondition]:
    """The statuses of these parts, where all that are shown are not degraded, and available as far as it is told."""
    shown = [one for one in conditions_now(picture) if one.name in names and one.kind in ("Degraded", "Available")]
    sick = [one for one in shown if one.status != ("False" if one.kind == "Degraded" else "True")]
    return [one for one in shown if one.kind == "Degraded"] if not sick else []


def states(picture: Picture, scope: str, *names: str) -> Iterator[Setting]:
    """Rows of `kubectl get tigerastatus` or `kubectl get apiservice`."""
    return (one for one in picture.of(Setting) if one.scope == scope and (not names or one.name in names))


def said_by_kubectl(hit: Hit) -> bool:
    """kubectl does not know a kind of a file that is applied; a program that needs the kind says less."""
    return "resource mapping not found" in hit.line or "unable to recognize" in hit.line


def reason_in(hit: Hit) -> str:
    """What follows the operator's words: in its log a field of its own, in a status the rest of the message."""
    logged = _ERROR.search(hit.line)
    if logged:
        return logged[1].replace('\\"', '"')[:_LONGEST]
    rest = hit.value("rest").lstrip(":'\" ")
    return _END.split(rest, maxsplit=1)[0].strip()[:_LONGEST]
