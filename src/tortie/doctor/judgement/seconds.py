"""Which claims beside the first are causes of their own: a second cause explains what the first leaves unexplained."""

from __future__ import annotations

from typing import Final

from tortie.doctor.causes.cause import STRONG, Cause, Finding
from tortie.doctor.diagnosis import Symptom
from tortie.doctor.reading.exhibit import Place
from tortie.model.tuples import NamedTuple

Found = tuple[Cause, Finding]

# Who cannot start, or cannot speak, makes others fail, too.
_FATAL: Final = frozenset(
    ("crash-loop", "start-terminated", "init-stuck", "init-crash", "killed-by-liveness", "image-pull",
     "pod-not-created", "not-ready", "traffic-dead", "sandbox-failed", "api-unreachable", "datastore-error")
)  # fmt: skip
_FOLLOWS: Final = frozenset(
    ("others-failing", "controllers-failing", "restarts", "not-ready", "start-terminated", "sandbox-failed",
     "node-not-ready", "pod-pending", "log-errors")
)  # fmt: skip


class Sorted(NamedTuple):
    causes: list[Found]
    beside: list[Found]  # true by evidence of their own, but nothing that is seen needs them


def sorted_out(claims: list[Found], seen: list[Symptom]) -> Sorted:
    """The first claim is the cause; each other one is a cause only if something is left for it to explain."""
    causes, beside = claims[:1], []
    for pair in claims[1:]:
        if any(explains(symptom, pair) and _left_by(symptom, pair, causes) for symptom in seen if symptom.current):
            causes.append(pair)
        elif pair[1].strength >= STRONG and _own_lines(pair, causes):
            beside.append(pair)
    return Sorted(causes, beside)


def explains(symptom: Symptom, pair: Found) -> bool:
    """A kind that the cause makes, or the very lines that prove it."""
    cause, finding = pair
    return symptom.kind in cause.explains or _on_its_lines(symptom, finding)


def explained(symptom: Symptom, pair: Found) -> bool:
    """The same, and what follows where an agent cannot start or speak."""
    cause, _ = pair
    follows = symptom.kind in _FOLLOWS and bool(_FATAL.intersection(cause.explains))
    return follows or explains(symptom, pair)


def _left_by(symptom: Symptom, pair: Found, causes: list[Found]) -> bool:
    """No cause so far explains it; or those speak of other nodes and pods than this symptom and this claim do."""
    if not any(explained(symptom, other) for other in causes):
        return True
    named = {name for name in symptom.objects if name}
    mine = named.intersection(pair[1].objects)
    return bool(mine) and not any(named.intersection(other[1].objects) for other in causes)


def _own_lines(pair: Found, causes: list[Found]) -> bool:
    """Proved by a line that none of the causes stands on."""
    used = [place for _, finding in causes for place in finding.evidence]
    return any(not any(share_a_line(place, other) for other in used) for place in pair[1].evidence)


def _on_its_lines(symptom: Symptom, finding: Finding) -> bool:
    return any(share_a_line(one, other) for one in symptom.evidence for other in finding.evidence)


def share_a_line(one: Place, other: Place) -> bool:
    return one.source == other.source and one.first <= other.last and other.first <= one.last
