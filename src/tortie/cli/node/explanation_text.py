"""An explanation as people read it."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterable

from tortie.addressing.choice import Choice, Rejected
from tortie.cli.tables import table
from tortie.node.decisions import Addressed
from tortie.node.explain import Explanation
from tortie.node.settings import listing

_ACTIONS = {"create": "create", "update": "change", "keep": "keep", "leave": "leave alone"}
_VERDICTS = {
    "starts": "The node would start and become ready.",
    "blocked": "The node would stay live, but not become ready:",
    "refused": "The start would be refused:",
}


def as_text(explanation: Explanation) -> str:
    width = max(60, min(shutil.get_terminal_size().columns, 110))
    sections = [
        _section(
            "NODE", [f"{explanation.name.name or '?'}  ({explanation.name.source})", *_name_problems(explanation)]
        ),
        _section("SETTINGS", _settings(explanation)),
        _section("DATASTORE", _datastore(explanation)),
        *(_section(f"IPv{each.family} ADDRESS", _address(each)) for each in explanation.addressed),
        *(_section("CONFLICT", [each.verdict.what, each.verdict.why, each.verdict.fix]) for each in explanation.judged),
        _section("DEFAULT POOLS", _pools(explanation)),
        _section("WRITES", [] if explanation.blocked or explanation.refused else _writes(explanation)),
        *_replayed(explanation),
        _section("WARNINGS", [f"- {text}" for text in explanation.warnings]),
    ]
    verdict = [_VERDICTS[explanation.verdict]]
    verdict += [f"- {text}" for text in (explanation.refused or explanation.blocked)]
    sections.append("\n".join(verdict))
    return "\n\n".join(_wrapped(section, width) for section in sections if section) + "\n"


def _section(heading: str, lines: Iterable[str]) -> str:
    body = [line for line in lines if line]
    return "\n".join([heading, *(f"  {line}" for line in body)]) if body else ""


def _reason(why: str) -> str:
    return f": {why}" if why else ""


def _name_problems(explanation: Explanation) -> list[str]:
    return [f"{problem.what}: {problem.why}. {problem.fix}" for problem in explanation.name.problems]


def _settings(explanation: Explanation) -> list[str]:
    """Those that somebody set; defaults are in the documentation and in -o json."""
    rows = [
        (row.variable, row.value, row.short_source) for row in listing(explanation.reading) if row.source != "default"
    ]
    lines = table(("VARIABLE", "VALUE", "SOURCE"), rows).splitlines() if rows else ["all at their defaults"]
    refused = [f"refused: {finding}" for finding in explanation.reading.refused]
    return [*lines, *refused, *(["what follows is decided without the refused ones"] if refused else [])]


def _datastore(explanation: Explanation) -> list[str]:
    datastore = explanation.datastore
    if datastore.error:
        error = datastore.error
        return [datastore.where, error.what, f"why: {error.why}", f"fix: {error.fix}"]
    others = f"{datastore.nodes} other node{'' if datastore.nodes == 1 else 's'} registered"
    return [f"{datastore.where}: {others}, read in {datastore.seconds * 1000:.0f} ms, 1 round trip"]


def _address(each: Addressed) -> list[str]:
    decision, choice = each.decision, each.choice
    if decision.address:
        where = f" on {decision.interface}" if decision.interface else ""
        kept = "" if decision.changed else ", as registered before"
        lines = [f"{decision.address}{where}  ({choice.method if choice else decision.source}{kept})"]
    else:
        lines = [decision.failure or "none wanted", decision.fix]
    if choice:
        lines += [f"because: {reason}" for reason in choice.reasons] + _candidates(choice)
    return lines


def _candidates(choice: Choice) -> list[str]:
    lines = [f"either:  {_candidate(each)}" for each in choice.tied]
    lines += [f"not {_candidate(each)}" for each in choice.rejected]
    lines += [f"may still get an address: {', '.join(choice.pending)}"] if choice.pending else []
    return lines


def _candidate(each: Rejected) -> str:
    return f"{each.address or 'any address'} on {each.interface}: {each.reason}"


def _pools(explanation: Explanation) -> list[str]:
    lines = []
    for family, pool in explanation.pools.items():
        if pool.random:
            lines.append(f"IPv{family}: a random /48 of fd00::/8{_reason('; '.join(pool.reasons))}")
        elif pool.cidr:
            lines.append(f"IPv{family}: {pool.cidr}{_reason('; '.join(pool.reasons))}")
        elif pool.skipped:
            lines.append(f"IPv{family}: {pool.skipped}")
        lines += [f"not {cidr}: {reason}" for cidr, reason in pool.rejected]
    return lines


def _writes(explanation: Explanation) -> list[str]:
    """One line for each that has something to tell, one for all the others of the same fate."""
    lines = []
    for action, spoken in _ACTIONS.items():
        writes = [each for each in explanation.writes if each.action == action]
        lines += [f"{spoken} {each.what}: {each.why}" for each in writes if each.why]
        plain = [each.what for each in writes if not each.why]
        lines += [f"{spoken} {', '.join(plain)}"] if plain else []
    return lines


def _replayed(explanation: Explanation) -> list[str]:
    if not explanation.replay:
        return []
    version = explanation.replay.version
    return [_section(f"CALICO {version}, IPv{each.family}", _address(each)) for each in explanation.replay.addressed]


def _wrapped(section: str, width: int) -> str:
    """Long sentences are folded; tables are not touched, they are shown as wide as they are."""
    lines = []
    for line in section.splitlines():
        indent = " " * (len(line) - len(line.lstrip()) + 4)
        is_row = "   " in line.strip()
        lines += (
            [line] if is_row else textwrap.wrap(line, width, subsequent_indent=indent, break_on_hyphens=False) or [""]
        )
    return "\n".join(lines)
