"""`tortie node check`: the exec probe. A thin client of the health page, with Calico's words and all reasons.

The kubelet shows what a failed probe printed to standard output, so everything goes there.
"""

from __future__ import annotations

import os
import sys

from tortie.health.probe import WHO_HAS_THE_PORT, Answer, NoAnswer, ask_all

TYPE_CHECKING = False  # typing's own name for it would have to be imported
if TYPE_CHECKING:
    from collections.abc import Mapping

    from tortie.model.errors import UsageError

HOST = "localhost"
PORT = "9099"
TIMEOUT = "5s"  # less than the 10 s of Calico's manifests: a probe that is killed cannot say why

_UNHEALTHY = 3
_BIRDS_FAULT = ("not ready: BIRD is not ready: ", "not ready: BIRD6 is not ready: ")
_LINES_MAX = 24  # of reasons per check; a kubelet cuts the message anyway
_UNITS = (("ms", 0.001), ("s", 1.0), ("m", 60.0), ("", 1.0))


def check(
    *, live: bool, ready: bool, host: str | None, port: str | None, timeout: str | None, output: str = "text"
) -> int:
    """Neither asked for: both. Nothing is printed when all is well, except as JSON."""
    if output not in ("text", "json"):
        raise _misunderstood(f"unrecognized output format '{output}'", "-o", "use text or json")
    both = live == ready
    wanted = [
        (path, name, prefix)
        for path, name, prefix, asked in (
            ("/liveness", "liveness", "calico/node is not ready: Felix is not live", live or both),
            ("/readiness", "readiness", "calico/node is not ready: felix is not ready", ready or both),
        )
        if asked
    ]
    address = felix_setting(os.environ, "HEALTHHOST") if host is None else host
    number = _port(port, "--port") if port else felix_port()
    form = "?format=json" if output == "json" else ""
    paths = tuple(path + form for path, _, _ in wanted)
    answers = ask_all(address or HOST, number, paths, _seconds(timeout or TIMEOUT))
    if form:
        return _told_as_json([name for _, name, _ in wanted], answers)
    explained: list[str] = []
    code = 0
    for (_, name, prefix), answer in zip(wanted, answers, strict=True):
        if isinstance(answer, Answer) and 200 <= answer.status < 400:
            continue
        code = _UNHEALTHY
        said = answer.what if isinstance(answer, NoAnswer) else f"{name} probe reporting {answer.status}"
        reasons = reasons_of(answer)
        headline = _birds_headline(reasons)
        sys.stdout.write(f"{headline or f'{prefix}: {said}'}\n")
        reasons = reasons[1:] if headline else reasons
        if reasons != explained:
            sys.stdout.write("".join(f"  {line}\n" for line in reasons))
        explained = reasons
    return code


def _told_as_json(names: list[str], answers: list[Answer | NoAnswer]) -> int:
    """What was asked for, each with whether it is so; and the page's own report, if there is one."""
    import json

    told: dict[str, dict[str, object]] = {}
    report: object = None
    for name, answer in zip(names, answers, strict=True):
        if isinstance(answer, NoAnswer):
            told[name] = {"ok": False, "what": answer.what, "why": answer.why, "fix": answer.fix}
            continue
        told[name] = {"ok": 200 <= answer.status < 400, "status": answer.status}
        try:
            found = json.loads(answer.body)
        except ValueError:
            found = None
        if isinstance(found, dict) and "live" in found:
            report = found
        elif not answer.is_page:
            told[name] = {**told[name], "why": stranger(answer), "fix": WHO_HAS_THE_PORT}
    good = all(each["ok"] for each in told.values())
    sys.stdout.write(json.dumps({"ok": good, **told, "report": report}, indent=2, ensure_ascii=False) + "\n")
    return 0 if good else _UNHEALTHY


def reasons_of(answer: Answer | NoAnswer) -> list[str]:
    """The first block of lines after the page's table, or what is known about the silence."""
    if isinstance(answer, NoAnswer):
        parts = (("why", answer.why), ("fix", answer.fix))
        return [f"{label}: {text}" for label, text in parts if text]
    if not answer.is_page:
        return [f"{stranger(answer)}; {WHO_HAS_THE_PORT}"]
    lines = [line.rstrip() for line in answer.body.splitlines() if not line.startswith(("+", "|"))]
    end = lines.index("") if "" in lines else len(lines)
    return lines[: min(end, _LINES_MAX)]


def _birds_headline(reasons: list[str]) -> str:
    """When nothing but BGP is missing, the probe says so in Calico's own words; "" otherwise."""
    missing = [line for line in reasons if line.startswith(("not ready: ", "not live: "))]
    if len(missing) != 1 or not missing[0].startswith(_BIRDS_FAULT):
        return ""
    return f"calico/node is {missing[0]}"


def stranger(answer: Answer) -> str:
    what = f"status {answer.status}, {answer.content_type or 'no content type'}"
    return f"something else answers there ({what}), not a node's health page"


def felix_setting(environment: Mapping[str, str], name: str) -> str:
    """Felix takes its variables in any case: FELIX_HealthPort is one of them."""
    exact = environment.get(f"FELIX_{name}")
    if exact:
        return exact
    return next((value for key, value in environment.items() if key.upper() == f"FELIX_{name}"), "")


def felix_port() -> int:
    return _port(felix_setting(os.environ, "HEALTHPORT") or PORT, "FELIX_HEALTHPORT")


def _port(text: str, source: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < int(text) < 65536):
        raise _misunderstood(f"'{text}' is no port", source, "use a number from 1 to 65535, such as 9099")
    return int(text)


def _seconds(text: str) -> float:
    unit, factor = next((unit, factor) for unit, factor in _UNITS if text.endswith(unit))
    try:
        seconds = float(text.removesuffix(unit)) * factor
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 3600:
        raise _misunderstood(f"'{text}' is no time to wait", "--timeout", "use a duration such as 5s or 500ms")
    return seconds


def _misunderstood(what: str, source: str, fix: str) -> UsageError:
    from tortie.model.errors import UsageError

    return UsageError(what, f"{source} says so", fix)
