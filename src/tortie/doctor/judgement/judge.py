"""The causes' findings weighed against each other: what is the cause, what its consequence, what stays open."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from tortie.doctor.causes.catalogue import all_causes
from tortie.doctor.causes.cause import LIKELY, PROVEN, Cause, Finding
from tortie.doctor.causes.steps import Step
from tortie.doctor.diagnosis import Answer, Diagnosis, Excluded, Question, Symptom, Verdict
from tortie.doctor.judgement.answered import left_of
from tortie.doctor.judgement.complaints import is_over
from tortie.doctor.judgement.doubts import Doubts
from tortie.doctor.judgement.evidence import Quotes, not_understood
from tortie.doctor.judgement.filling import asked, common_values
from tortie.doctor.judgement.grave_lines import exhausted
from tortie.doctor.judgement.seconds import Found, explained, share_a_line, sorted_out
from tortie.doctor.judgement.standing import Standing, about_a_cluster, standing
from tortie.doctor.judgement.symptoms import SAID, symptoms
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.hearsay import asks_inside
from tortie.doctor.words import Words

SEVERITIES: Final = ("critical", "high", "medium", "low")
CANDIDATES_SHOWN: Final = 5
EXCLUDED_SHOWN: Final = 10
SYMPTOMS_IN_CHAIN: Final = 1
SURE: Final = 0.9  # what is claimed with less is worth a question
NEAR: Final = 0.06  # two claims closer than this are not told apart by their strength

# What agents and sessions that are shown to be well exclude; dead traffic behind them is not excluded.
VISIBLE: Final = frozenset(
    (
        "pod-not-created", "pod-pending", "init-stuck", "init-crash", "image-pull", "crash-loop", "start-terminated",
        "killed-by-liveness", "restarts", "not-ready", "bgp-down", "felix-not-ready", "bird-not-ready", "log-errors",
        "others-failing", "evicted", "datastore-error", "status-stale",
    )
)  # fmt: skip

_ASKING: Final = ("?", "？", "吗", "么")
# What people say to be broken, in general or by kind.
_BROKEN: Final = ("suffers", *SAID)


def judge(picture: Picture, causes: Iterable[Cause] | None = None) -> Diagnosis:
    """Everything about a picture; the same picture gives the same diagnosis."""
    catalogue = tuple(causes) if causes is not None else all_causes()
    now = standing(picture)
    seen = symptoms(picture, now)
    findings = [(cause, cause.judge(picture)) for cause in catalogue]
    # A bare machine has settings that a node must not have; without a cluster they are nobody's fault.
    found = [pair for pair in findings if pair[1].state == "found"] if about_a_cluster(picture) else []
    asides = [pair for pair in found if pair[1].aside]
    claims = [pair for pair in found if pair[1].strength >= LIKELY and not pair[1].aside]
    claims = _without_consequences(claims if _complaint(picture, now) else _fitting(claims, seen, now))
    claims = _on_a_sound_machine(claims, picture)
    claims.sort(key=lambda pair: _rank(pair, seen))
    quotes = Quotes(picture)
    answer = _Answers(picture, seen, quotes)
    if claims and not _tied(claims):
        causes_found, beside = sorted_out(claims, seen)
        return _diagnosis("cause-found", causes_found, beside + asides, findings, seen, now, quotes, answer)
    candidates = claims or [
        pair for pair in found if not pair[1].aside and (not now.well or _explains_current(pair[0], seen))
    ]
    candidates.sort(key=lambda pair: _rank(pair, seen))
    doubts = Doubts(picture, now, candidates, seen, len(catalogue))
    verdict: Verdict = "healthy" if doubts.healthy else "undetermined"
    shown = candidates[:CANDIDATES_SHOWN]
    return doubts.added(_diagnosis(verdict, shown, asides, findings, seen, now, quotes, answer), quotes)


def _fitting(claims: list[Found], seen: list[Symptom], now: Standing) -> list[Found]:
    """Where agents and sessions are well, a cause needs a symptom that is still there, or one that would not show."""
    if not now.well:
        return claims
    return [
        (cause, finding)
        for cause, finding in claims
        if finding.remedied or _explains_current(cause, seen) or (_hidden(cause, seen) and not _seen_absent(cause, now))
    ]


def _on_a_sound_machine(claims: list[Found], picture: Picture) -> list[Found]:
    """Where a machine has run out of something, only what is proven, or accounts for that, stays a claim."""
    if all(finding.strength >= PROVEN for _, finding in claims):
        return claims
    lines = exhausted(picture)
    return [
        (cause, finding)
        for cause, finding in claims
        if not lines or finding.strength >= PROVEN or any(share_a_line(p, q) for p in finding.evidence for q in lines)
    ]


def _complaint(picture: Picture, now: Standing) -> bool:
    """Somebody says that something is broken, and does not only ask whether it is."""
    told = [
        said
        for said in picture.said(*_BROKEN)
        if not said.text.rstrip().endswith(_ASKING) and not asks_inside(said.text)
        if not (now.well and is_over(said, picture))
    ]
    return bool(told) and not picture.said("asks-if-normal")


def _hidden(cause: Cause, seen: list[Symptom]) -> bool:
    """What it does is not seen on agents and sessions, and nothing it does was seen and is over."""
    return not VISIBLE.issuperset(cause.explains) and not any(symptom.kind in cause.explains for symptom in seen)


def _seen_absent(cause: Cause, now: Standing) -> bool:
    """What it would do is shown not to be so: sessions that are up are not kept down."""
    return now.sessions_up and "bgp-down" in cause.explains


def _without_consequences(claims: list[Found]) -> list[Found]:
    ids = {cause.id for cause, _ in claims}
    return [(cause, finding) for cause, finding in claims if not ids & (set(cause.yields_to) - {cause.id})]


def _explains_current(cause: Cause, seen: list[Symptom]) -> bool:
    return any(symptom.current and symptom.kind in cause.explains for symptom in seen)


def _rank(pair: Found, seen: list[Symptom]) -> tuple[object, ...]:
    cause, finding = pair
    explained = len({s.kind for s in seen if s.current and s.kind in cause.explains})
    return (-round(finding.strength, 2), -explained, SEVERITIES.index(cause.severity), cause.code)


def _tied(claims: list[Found]) -> bool:
    """Two that look alike, and nothing that separates them."""
    if len(claims) < 2:
        return False
    (one, first), (other, second) = claims[0], claims[1]
    alike = {id_ for id_, _ in one.look_alikes} | {id_ for id_, _ in other.look_alikes}
    return first.strength - second.strength < NEAR and first.strength < 0.9 and {one.id, other.id} <= alike


class _Answers:
    """Makes answers whose evidence and symptoms are numbered in one diagnosis."""

    def __init__(self, picture: Picture, seen: list[Symptom], quotes: Quotes) -> None:
        self._picture, self._seen, self._quotes = picture, seen, quotes

    def __call__(self, pair: Found) -> Answer:
        cause, finding = pair
        explains = tuple(f"s{n}" for n, symptom in enumerate(self._seen, 1) if explained(symptom, pair))
        # The chain ends where the trouble is felt: at the first symptoms that this explains.
        felt = [s.evidence[0] for s in self._seen if s.current and s.kind in cause.explains and s.evidence]
        places = dict.fromkeys([*finding.evidence, *felt[:SYMPTOMS_IN_CHAIN]])
        because = tuple(dict.fromkeys(self._quotes.id_of(place, cause.signs, finding.objects) for place in places))
        fix = self._for_here(cause.fix(self._picture, finding), finding)
        confidence = round(finding.strength, 2)
        verify, prevent = self._for_here(cause.verify, finding), cause.prevent_for(self._picture, finding)
        return Answer(cause, finding, confidence, because, explains, fix, verify, prevent)

    def _for_here(self, steps: tuple[Step, ...], finding: Finding) -> tuple[Step, ...]:
        values = common_values(self._picture, finding)
        return tuple(dict.fromkeys(step.fill(values) for step in steps))


def _diagnosis(
    verdict: Verdict,
    causes: list[Found],
    beside: list[Found],
    findings: list[Found],
    seen: list[Symptom],
    now: Standing,
    quotes: Quotes,
    answer: _Answers,
) -> Diagnosis:
    told = tuple(answer(pair) for pair in causes)
    unrelated = tuple(answer(pair) for pair in beside)
    for symptom in seen:
        for place in symptom.evidence:
            quotes.id_of(place)
    excluded = _excluded(verdict, causes, findings, seen)
    asks = _confirming(causes[0], quotes.picture) if verdict == "cause-found" else ()
    return Diagnosis(
        verdict, told, excluded, unrelated, tuple(seen), quotes.all(), asks,
        now.checked, not_understood(quotes),
        quotes.picture.skipped,
    )  # fmt: skip


def _excluded(
    verdict: Verdict, causes: list[Found], findings: list[Found], seen: list[Symptom]
) -> tuple[Excluded, ...]:
    """What a person would think of first: look-alikes of what is claimed, and what explains the same symptoms."""
    if verdict == "healthy":
        return ()
    claimed = {cause.id for cause, _ in causes} if verdict == "cause-found" else set()
    alike: dict[str, Words] = {}
    for cause, _ in causes[:1] if verdict == "cause-found" else causes:
        alike |= dict(cause.look_alikes)
    kinds = {symptom.kind for symptom in seen if symptom.current}
    near: list[Excluded] = []
    far: list[Excluded] = []
    for cause, finding in findings:
        if cause.id in claimed or finding.state != "ruled-out":
            continue
        target = near if cause.id in alike else far
        if target is near or kinds & set(cause.explains):
            target.append(Excluded(cause, finding.why, finding.evidence))
    if verdict == "cause-found":
        # A look-alike that was found, too, but weaker: what separates the two says why it is not the one.
        for cause, finding in findings:
            if cause.id in alike and cause.id not in claimed and finding.state == "found" and finding.strength < LIKELY:
                near.append(Excluded(cause, _weaker(alike[cause.id]), finding.evidence))
    return tuple([*near, *far][:EXCLUDED_SHOWN])


def _weaker(mark: Words) -> Words:
    return Words(f"fits less well; its mark would be: {mark.en}", f"证据较弱；若是该原因，应看到：{mark.zh}")


def _confirming(first: Found, picture: Picture) -> tuple[Question, ...]:
    """What would make a claim sure that is not quite."""
    cause, finding = first
    command = left_of(asked(cause, finding, picture), picture) if finding.strength < SURE else ""
    return (Question(command, cause.ask.why, cause.id),) if command else ()
