"""What the health page answers: /liveness and /readiness, with Felix's status codes."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tortie.health.health import Health
from tortie.health.message import JSON, Request, Response
from tortie.health.texts import Question, as_json, as_text, has_news, is_good

Routes = Mapping[str, Callable[[Request], Response]]


def health_routes(health: Health) -> Routes:
    return {
        "/liveness": lambda request: _answer(health, "liveness", request),
        "/readiness": lambda request: _answer(health, "readiness", request),
    }


def _answer(health: Health, question: Question, request: Request) -> Response:
    report = health.report()
    good = is_good(report, question)
    verbose = request.query.get("verbose", "false") not in ("false", "0")
    if verbose:
        health.on_verbose()
    if _wants_json(request):
        import json

        return Response(200 if good else 503, json.dumps(as_json(report), ensure_ascii=False) + "\n", JSON)
    if good and not verbose and not has_news(report):
        return Response(204)
    return Response(200 if good else 503, as_text(report, question, verbose=verbose))


def _wants_json(request: Request) -> bool:
    named = "json" in (request.query.get("format"), request.query.get("verbose"))
    return named or JSON in request.headers.get("accept", "")
