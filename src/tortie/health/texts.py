"""A report in words: Felix's table, plain lines that say why and what to do, or JSON.

The lines come in blocks with an empty line between them. The first block is the reason and nothing else, so that
`tortie node check` can pass it on to whoever reads the probe's message.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, Literal

from tortie.health.state import RUNNING, Trouble
from tortie.health.verdict import START_UP, NotReady, Report, Row
from tortie.model.spans import span

Question = Literal["liveness", "readiness"]

TABLE_MAX: Final = 120  # columns; what does not fit is told in full below

_COLUMNS = ("COMPONENT", "TIMEOUT", "LIVENESS", "READINESS", "DETAIL")
_NAME_MAX = 40
_DETAIL_MIN = 12


def is_good(report: Report, question: Question) -> bool:
    return report.live if question == "liveness" else report.ready


def has_news(report: Report) -> bool:
    """Whether a good answer still has something to tell somebody who did not ask for more."""
    details = any(row.detail for row in report.components)
    return report.phase != RUNNING or report.last is not None or bool(report.not_ready) or details


def as_text(report: Report, question: Question, *, verbose: bool) -> str:
    cells = [_cells(row) for row in report.components]
    shown = _fitted(cells)
    told: set[str] = set()
    lines: list[str] = []
    if verbose or not is_good(report, question):
        told = {cause.name for cause in _told(report, question)} | {START_UP}
        lines = list(_lines(report, question))
    pairs = zip(cells, shown, strict=True)
    rest = [f"{full[0]}: {full[-1]}" for full, cut in pairs if full != cut and full[0] not in told]
    if rest:
        lines += ["", *rest] if lines else rest
    return _drawn(shown) + "".join(f"{line}\n" for line in lines)


def _fitted(cells: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    named = [(_cut(line[0], _NAME_MAX), *line[1:]) for line in cells]
    taken = sum(_widths(named)[:-1]) + 3 * len(_COLUMNS) + 1
    return [(*line[:-1], _cut(line[-1], max(_DETAIL_MIN, TABLE_MAX - taken))) for line in named]


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 3].rstrip() + "..."


def _widths(cells: list[tuple[str, ...]]) -> list[int]:
    return [max(len(line[column]) for line in (_COLUMNS, *cells)) for column in range(len(_COLUMNS))]


def _drawn(cells: list[tuple[str, ...]]) -> str:
    widths = _widths(cells)
    rule = "+" + "+".join("-" * (width + 2) for width in widths) + "+\n"

    def drawn(line: tuple[str, ...], place: str) -> str:
        return "|" + "|".join(f" {cell:{place}{width}} " for cell, width in zip(line, widths, strict=True)) + "|\n"

    return rule + drawn(_COLUMNS, "^") + rule + "".join(drawn(line, "<") for line in cells) + rule


def _cells(row: Row) -> tuple[str, ...]:
    return (
        row.name,
        go_duration(row.timeout_s) if row.timeout_s is not None else "-",
        _verdict(row.liveness),
        _verdict(row.readiness),
        _flat(row.detail),
    )


def _verdict(word: str) -> str:
    return "-" if not word else word if word == "timed out" else f"reporting {word}"


def _flat(text: str) -> str:
    return " ".join(text.split())


def _lines(report: Report, question: Question) -> Iterator[str]:
    causes = report.not_live if question == "liveness" else report.not_ready
    for cause in causes:
        yield from _cause("not live" if question == "liveness" else "not ready", cause)
    if causes:
        yield ""
    yield f"live: {_yes(report.live)}, ready: {_yes(report.ready)}"
    yield _phase(report)
    if report.start_took_s is not None:
        yield f"start-up took: {span(report.start_took_s)}"
    if report.phases:
        yield "phases: " + "; ".join(
            f"{phase.name} {phase.seconds:.3f} s" + _trips(phase.round_trips) for phase in report.phases
        )
    if report.last:
        last = report.last
        times = f", {last.times} times" if last.times > 1 else ""
        told = last.told_by in {cause.name for cause in _told(report, question)}
        what = f"see {last.told_by}" if told else _flat(last.trouble.what)
        yield f"last error: {what} ({span(last.age_s)} ago in phase {last.phase}{times})"
        if not told:
            yield from _explained(last.trouble)
    if question == "liveness" and report.live:
        for cause in report.not_ready:
            yield from _cause("not ready", cause)
    if question == "readiness":
        for name, texts in report.remarks.items():
            yield from (f"{name}: {_flat(text)}" for text in texts)


def _told(report: Report, question: Question) -> tuple[NotReady, ...]:
    """All reasons that the lines give, at their beginning or at their end."""
    return report.not_live if question == "liveness" and not report.live else report.not_ready


def _phase(report: Report) -> str:
    """A phase that is begun again and again is young each time; the start is not."""
    text = f"phase: {report.phase} "
    starting = f"starting for {span(report.start_age_s)}"
    if report.phase == RUNNING:
        text += f"for {span(report.phase_age_s)}"
    elif report.attempt == 1:
        text += f"for {span(report.phase_age_s)} ({starting})"
    else:
        text += f"(attempt {report.attempt}, this one for {span(report.attempt_age_s)}; {starting})"
    text += _trips(report.round_trips)
    if report.bound_s is not None:
        text += f"; moved {span(report.progress_age_s)} ago, stuck after {span(report.bound_s)} without movement"
    return text + (f"; doing: {_flat(report.doing)}" if report.doing else "")


def _trips(count: int) -> str:
    return f", {count} round trip{'s' if count > 1 else ''}" if count else ""


def _cause(label: str, cause: NotReady) -> Iterator[str]:
    yield f"{label}: {_flat(cause.trouble.what)}"
    yield from _explained(cause.trouble)
    yield f"  whose fault: {cause.trouble.fault}; for {span(cause.since_s)} ({cause.name})"


def _explained(trouble: Trouble) -> Iterator[str]:
    if trouble.why:
        yield f"  why: {_flat(trouble.why)}"
    if trouble.fix:
        yield f"  fix: {_flat(trouble.fix)}"


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def go_duration(seconds: float) -> str:
    """As Go prints one, since that is what Felix's table has: 500ms, 30s, 1m30s, 1h0m0s."""
    if seconds < 1:
        return f"{seconds * 1000:g}ms"
    minutes, rest = divmod(seconds, 60)
    if not minutes:
        return f"{rest:g}s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours:g}h{minutes:g}m{rest:g}s" if hours else f"{minutes:g}m{rest:g}s"


def as_json(report: Report) -> dict[str, Any]:
    last = report.last
    return {
        "live": report.live,
        "ready": report.ready,
        "phase": {
            "name": report.phase,
            "ageSeconds": _rounded(report.phase_age_s),
            "attempt": report.attempt,
            "attemptAgeSeconds": _rounded(report.attempt_age_s),
            "boundSeconds": report.bound_s,
            "progressAgeSeconds": _rounded(report.progress_age_s),
            "doing": report.doing,
            "roundTrips": report.round_trips,
        },
        "startAgeSeconds": _rounded(report.start_age_s),
        "startTookSeconds": None if report.start_took_s is None else _rounded(report.start_took_s),
        "notLive": report.why_not_live,
        "notReady": [
            {"name": cause.name, **cause.trouble._asdict(), "sinceSeconds": _rounded(cause.since_s)}
            for cause in report.not_ready
        ],
        "lastError": last
        and {
            **last.trouble._asdict(),
            "phase": last.phase,
            "ageSeconds": _rounded(last.age_s),
            "count": last.times,
        },
        "phases": [
            {"name": phase.name, "seconds": _rounded(phase.seconds), "roundTrips": phase.round_trips}
            for phase in report.phases
        ],
        "remarks": {name: list(texts) for name, texts in report.remarks.items()},
        "components": [
            {
                "name": row.name,
                "timeoutSeconds": row.timeout_s,
                "liveness": row.liveness or None,
                "readiness": row.readiness or None,
                "detail": row.detail,
            }
            for row in report.components
        ],
    }


def _rounded(seconds: float) -> float:
    return round(seconds, 3)
