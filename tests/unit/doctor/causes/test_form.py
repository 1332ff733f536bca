"""The form of causes: a rule has its sentence, a sentence its rule, and a command can be read and judged."""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path

import pytest

from tortie.doctor.causes import ways
from tortie.doctor.causes.catalogue import FAMILIES, all_causes
from tortie.doctor.causes.cause import Cause
from tortie.doctor.causes.cni import runtimes
from tortie.doctor.causes.firewall import security_groups
from tortie.doctor.causes.nodes import address_replay
from tortie.doctor.commands.risk import risk_of
from tortie.doctor.commands.shell import HOLE, Shell
from tortie.doctor.judgement import normal, questions
from tortie.doctor.texts import Section, sections

PARTS = ("name", "what", "missing", "why", "word", "alike", "ask", "fix", "verify", "prevent")
_SAY = re.compile(r"\bsay=(?P<choice>[^\n]+)")
_OWN_WORDS = re.compile(r"(?<![.\w])(?:found|ruled_out)\((?![^\0]*say=)")  # a finding, and nothing that it says
_VALUE = re.compile(r"\{(\w+)\}")


def code_of(cause: Cause) -> str:
    return cause.code


CAUSES = tuple(cause for cause in all_causes() if isinstance(cause, Cause))  # those in the new form
# Texts that no cause owns, by the last part of their module's name.
SHARED = {
    module.__name__.rpartition(".")[2]: sections(module.__name__)
    for module in (ways, runtimes, security_groups, address_replay, questions, normal)
}
every_cause = pytest.mark.parametrize("cause", CAUSES, ids=code_of)


def source(cause: Cause) -> str:
    return inspect.getsource(sys.modules[cause.module])


def commands() -> list[tuple[str, Section]]:
    every = [(f"{cause.code} {key}", section) for cause in CAUSES for key, section in cause.texts.items()]
    return [*every, *((f"{name} {key}", section) for name, texts in SHARED.items() for key, section in texts.items())]


@every_cause
def test_it_lies_in_the_family_of_its_code(cause: Cause) -> None:
    family, name = cause.module.split(".")[-2:]
    assert FAMILIES[int(cause.code[3])] == family
    assert name == f"{cause.code.lower()}_{cause.id.replace('-', '_')}"


@every_cause
def test_it_has_all_its_texts(cause: Cause) -> None:
    parts = {key.partition(" ")[0] for key in cause.texts}
    assert parts <= set(PARTS)
    assert {"name", "what", "missing", "ask", "fix", "verify"} <= parts
    assert cause.texts["ask"].sh


@every_cause
def test_every_rule_has_its_sentence_and_every_sentence_its_rule(cause: Cause) -> None:
    text = source(cause)
    named = {rule.__name__.strip("_").replace("_", "-") for rule in cause.rules}
    said = {word for choice in _SAY.findall(text) for word in re.findall(r"(?<!f)\"([a-z0-9-]+)\"", choice)}
    sentences = {key.removeprefix("why ") for key in cause.texts if key.startswith("why ")}
    chosen = {key for key in sentences if f'"{key}"' in text or any(key.startswith(start) for start in _begun(text))}
    assert sentences <= named | chosen, "sentences that nothing says"
    assert said <= sentences, "said, and there is no sentence"
    silent = {name for name in named - sentences if _OWN_WORDS.search(_function(cause, name))}
    assert not silent, "rules without a sentence"


def _begun(text: str) -> list[str]:
    """Keys that are put together: `f"instead-{kind}"`."""
    return re.findall(r"f\"(?:why )?([a-z0-9-]+-)\{", text)


def _function(cause: Cause, name: str) -> str:
    rule = next(rule for rule in cause.rules if rule.__name__.strip("_").replace("_", "-") == name)
    return inspect.getsource(rule)


@every_cause
def test_values_of_sentences_are_given_by_name(cause: Cause) -> None:
    text = source(cause)
    for key, section in cause.texts.items():
        for value in {*_VALUE.findall(section.en), *_VALUE.findall(section.zh)}:
            assert re.search(rf"\b{value}=|[\"']{value}[\"']", text), f"{key}: nothing gives {value}"


@every_cause
def test_both_languages_tell_the_same_values(cause: Cause) -> None:
    for key, section in cause.texts.items():
        assert set(_VALUE.findall(section.en)) == set(_VALUE.findall(section.zh)), key


@pytest.mark.parametrize(("key", "section"), commands(), ids=lambda value: value if isinstance(value, str) else "")
def test_commands_can_be_read_and_judged(key: str, section: Section) -> None:
    if not section.sh:
        return
    shell = Shell(section.sh)
    assert all(hole.kind for hole in shell.holes)
    left = HOLE.sub("X", section.sh)
    assert not re.search(r"<(?!/)[^<>\n|&;'\"]*>", left), "a hole that is none"
    assert "{?" not in section.sh
    assert " #" not in section.sh, "prose in a command"
    assert list(shell.commands()), "nothing that runs"
    part = key.split()[1]
    if part in ("ask", "verify"):
        assert risk_of(shell) == "safe"
    assert not section.act


@every_cause
def test_no_draft_is_left(cause: Cause) -> None:
    assert not [key for key, section in cause.texts.items() if "draft-" in key or "{?" in f"{section.en}{section.zh}"]


def test_every_file_of_texts_is_read_here() -> None:
    source_of_doctor = Path(inspect.getfile(ways)).parents[1]
    files = {path.stem for path in source_of_doctor.rglob("*.txt")}
    assert files == {cause.module.rpartition(".")[2] for cause in CAUSES} | set(SHARED)


@pytest.mark.parametrize("name", SHARED)
def test_shared_texts_tell_the_same_in_both_languages_and_are_no_drafts(name: str) -> None:
    for key, section in SHARED[name].items():
        assert set(_VALUE.findall(section.en)) == set(_VALUE.findall(section.zh)), key
        assert "draft-" not in key
        assert "{?" not in f"{section.en}{section.zh}", key
