"""What can go wrong with a lab, told in English and in Chinese: what, why and fix.

An error keeps its key and its values, so that it can be told in the language of whoever hears it, also when it
happened in the keeper, which has none. What it says may have parts with words of their own: phrases, which are kept in
the same way.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from tortie.lab.evidence.failures import EVIDENCE_FAILURES
from tortie.lab.faults.failures import FAULT_FAILURES
from tortie.lab.faults.phrases import FAULT_PHRASES
from tortie.lab.kubectl.failures import KUBECTL_FAILURES
from tortie.lab.lab_failures import LAB_FAILURES
from tortie.lab.plays.failures import PLAY_FAILURES
from tortie.lab.pod_failures import POD_FAILURES
from tortie.lab.words import Kind, Language, Pair, Told
from tortie.model.errors import TortieError

__all__ = [
    "FAILURES",
    "PHRASES",
    "LabFailure",
    "Phrase",
    "Said",
    "Told",
    "as_message",
    "at",
    "from_message",
    "in_short",
    "in_words",
    "phrase",
]


class Phrase(NamedTuple):
    """By `phrase`. Two that say the same are the same."""

    key: str
    values: tuple[tuple[str, Said], ...] = ()

    def __str__(self) -> str:
        return in_words("en", self)


Said = str | Phrase


def phrase(key: str, /, **values: object) -> Phrase:
    return Phrase(key, tuple(_kept(values).items()))


def at(where: Said, what: Said) -> Phrase:
    return phrase("at", where=where, what=what)


def in_words(language: Language, said: Said) -> str:
    if not isinstance(said, Phrase):
        return said
    pair = PHRASES[said.key]
    return (pair.zh if language == "zh" else pair.en).format_map(_told(language, dict(said.values)))


class LabFailure(TortieError):
    def __init__(self, key: str, **values: object) -> None:
        self.key = key
        self.values = _kept(values)
        kind = FAILURES[key]
        self.exit_code = kind.exit_code
        self.code = {1: "failed", 2: "usage", 3: "unhealthy"}[kind.exit_code]
        super().__init__(*self.told("en"))

    def told(self, language: Language) -> Told:
        texts = FAILURES[self.key].zh if language == "zh" else FAILURES[self.key].en
        values = _told(language, self.values)
        return Told(*(text.format_map(values) for text in texts))


def in_short(error: TortieError) -> Said:
    """What and why, to be a part of something else that is said."""
    if isinstance(error, LabFailure):
        return phrase(f"failure.{error.key}", **error.values)
    return f"{error.what}: {error.why}"


def as_message(error: TortieError) -> dict[str, Any]:
    if isinstance(error, LabFailure):
        return {"key": error.key, "values": _as_json(error.values)}
    return {"what": error.what, "why": error.why, "fix": error.fix, "exit_code": error.exit_code}


def from_message(message: dict[str, Any]) -> TortieError:
    if message.get("key") in FAILURES:
        return LabFailure(message["key"], **_from_json(message.get("values", {})))
    error = TortieError(str(message.get("what", "")), str(message.get("why", "")), str(message.get("fix", "")))
    error.exit_code = int(message.get("exit_code", 1))
    return error


def _kept(values: dict[str, Any]) -> dict[str, Said]:
    return {name: value if isinstance(value, Phrase) else str(value) for name, value in values.items()}


def _told(language: Language, values: dict[str, Said]) -> dict[str, str]:
    return {name: in_words(language, value) for name, value in values.items()}


def _as_json(values: dict[str, Said]) -> dict[str, Any]:
    return {
        name: {"phrase": value.key, "values": _as_json(dict(value.values))} if isinstance(value, Phrase) else value
        for name, value in values.items()
    }


def _from_json(values: dict[str, Any]) -> dict[str, Said]:
    return {
        name: phrase(value["phrase"], **_from_json(value["values"])) if isinstance(value, dict) else value
        for name, value in values.items()
    }


FAILURES: Final[dict[str, Kind]] = {
    **LAB_FAILURES,
    **POD_FAILURES,
    **EVIDENCE_FAILURES,
    **FAULT_FAILURES,
    **KUBECTL_FAILURES,
    **PLAY_FAILURES,
}

PHRASES: Final[dict[str, Pair]] = {
    **FAULT_PHRASES,
    **{
        f"failure.{key}": Pair(f"{kind.en.what}: {kind.en.why}", f"{kind.zh.what}：{kind.zh.why}")
        for key, kind in FAILURES.items()
    },
}
