"""Answers held against labels: right, candidate, silent, wrong, alarm; and whether confidence means what it says."""

from __future__ import annotations

from typing import Any, Final, Literal

from tortie.doctor.diagnosis import Diagnosis
from tortie.doctor.words import Language, Words
from tortie.model.errors import UsageError
from tortie.model.measure import columns, wrapped
from tortie.model.tuples import NamedTuple

Result = Literal["right", "candidate", "silent", "missed", "wrong", "alarm"]  # missed: healthy was said of a sick one
RESULTS: Final = ("right", "candidate", "silent", "missed", "wrong", "alarm")
HEALTHY: Final = {"healthy", "none"}
INSUFFICIENT: Final = {"insufficient-evidence", "undetermined"}
_WIDTH: Final = 80
BANDS: Final = (0.95, 0.9, 0.8, 0.4, 0.0)  # lower edges of the confidences that are compared with reality


class Labelled(NamedTuple):
    name: str
    cause: str
    acceptable: frozenset[str]
    culprit: str
    evidence: str = ""  # path


class Outcome(NamedTuple):
    case: Labelled
    result: Result
    said: str
    first: str  # the first cause or candidate
    confidence: float
    culprit_named: bool | None  # None: nothing to name, or no claim
    seconds: float


def read_label(content: bytes, name: str) -> Labelled:
    import json

    try:
        label = json.loads(content)
        cause = str(label["cause"])
        acceptable = frozenset([cause, *map(str, label.get("acceptable") or ())])
        return Labelled(name, cause, acceptable, str(label.get("object") or ""))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        shape = '{"cause": id, "acceptable": [ids], "object": text or null}'
        raise UsageError(f"{name}/expected.json is no label", str(error) or "it has no cause", shape) from None


def score(case: Labelled, diagnosis: Diagnosis, seconds: float) -> Outcome:
    first = diagnosis.causes[0] if diagnosis.causes else None
    id_ = first.cause.id if first else ""
    said = id_ if diagnosis.verdict == "cause-found" else diagnosis.verdict + (f" ({id_}?)" if id_ else "")
    named = None
    result: Result
    if diagnosis.verdict == "healthy":
        result = "right" if case.acceptable & HEALTHY else "missed"
    elif diagnosis.verdict == "undetermined":
        due = bool(case.acceptable & INSUFFICIENT)
        result = "right" if due else "candidate" if id_ in case.acceptable else "silent"
    elif id_ in case.acceptable:
        objects = first.finding.objects if first else ()
        named = not case.culprit or any(case.culprit in text or text in case.culprit for text in objects)
        result = "right"
    else:
        result = "alarm" if case.acceptable & HEALTHY else "wrong"
    return Outcome(case, result, said, id_, first.confidence if first else 0.0, named, seconds)


def calibration(outcomes: list[Outcome]) -> list[tuple[float, int, int]]:
    """For each band of confidence: how many first causes were that sure, and how many of them were right."""
    rows = []
    upper = 1.01
    for lower in BANDS:
        inside = [o for o in outcomes if o.first and lower <= o.confidence < upper]
        rows.append((lower, len(inside), sum(o.first in o.case.acceptable for o in inside)))
        upper = lower
    return [row for row in rows if row[1]]


def summary(outcomes: list[Outcome]) -> dict[str, Any]:
    named = [outcome.culprit_named for outcome in outcomes if outcome.culprit_named is not None]
    seconds = sorted(outcome.seconds for outcome in outcomes)
    return {
        "cases": len(outcomes),
        **{result: sum(outcome.result == result for outcome in outcomes) for result in RESULTS},
        "top1": round(sum(outcome.result == "right" for outcome in outcomes) / len(outcomes), 3),
        "culprit": round(sum(named) / len(named), 3) if named else None,
        "median_s": round(seconds[len(seconds) // 2], 3),
        "calibration": [
            {"confidence_from": lower, "cases": count, "right": right} for lower, count, right in calibration(outcomes)
        ],
        "outcomes": [
            {
                "case": outcome.case.name,
                "result": outcome.result,
                "said": outcome.said,
                "due": outcome.case.cause,
                "confidence": outcome.confidence,
                "culprit_named": outcome.culprit_named,
            }
            for outcome in outcomes
        ],
    }


_TOTAL: Final = Words("{cases} cases: {parts}", "{cases} 个用例：{parts}")
_ONE: Final = Words("1 case: {parts}", "1 个用例：{parts}")
_TOP: Final = Words("right at first place: {top1:.1%}", "首位正确率：{top1:.1%}")
_CULPRIT: Final = Words("culprit named in {share:.1%} of them", "其中指明对象的占 {share:.1%}")
_SURE: Final = Words(
    "confidence ≥ {lower:.2f}: {right} of {count} right", "置信度 ≥ {lower:.2f}：{count} 个中 {right} 个正确"
)
_MISSED: Final = Words("said {said}, due {due}", "回答 {said}，应为 {due}")
_UNNAMED: Final = Words("culprit {culprit} not named", "未指明 {culprit}")


def table(outcomes: list[Outcome], language: Language, *, verbose: bool) -> str:
    rows = []
    for outcome in outcomes:
        if verbose or outcome.result != "right" or outcome.culprit_named is False:
            text = _MISSED.to(language).format(said=outcome.said or "-", due=outcome.case.cause)
            if outcome.culprit_named is False:
                text += "; " + _UNNAMED.to(language).format(culprit=outcome.case.culprit)
            row = f"{outcome.result:<10}{outcome.case.name:<28} {text}"
            if columns(row) <= _WIDTH:
                rows.append(row)
            else:
                rows.append(f"{outcome.result:<10}{outcome.case.name}")
                rows += [f"{'':<10}{part}" for part in wrapped(text, _WIDTH - 10, 4)]
    told = summary(outcomes)
    parts = ", ".join(f"{result} {told[result]}" for result in RESULTS)
    total = _ONE if told["cases"] == 1 else _TOTAL
    rows.append(total.to(language).format(cases=told["cases"], parts=parts))
    rows.append(_TOP.to(language).format(top1=told["top1"]))
    if told["culprit"] is not None:
        rows.append(_CULPRIT.to(language).format(share=told["culprit"]))
    rows += [
        _SURE.to(language).format(lower=lower, count=count, right=right)
        for lower, count, right in calibration(outcomes)
    ]
    return "\n".join(rows) + "\n"
