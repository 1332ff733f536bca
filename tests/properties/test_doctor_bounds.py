"""Nothing that is handed over keeps the doctor busy: neither an expression of it, nor a whole file made for that.

No time is asserted but in relation: on the longest text that an expression ever sees, its work may be some hundred
times that of the plainest expression on the same text, both by the processor's clock. The square of a line is far
more. Files are read in a child that is stopped after far longer than reading takes.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.support.doctor_attacks import attacks
from tests.support.doctor_expressions import Expression, all_expressions

from tortie.doctor.judgement import evidence
from tortie.doctor.reading.cleaning import clean
from tortie.doctor.reading.long_lines import LONGEST
from tortie.doctor.reading.readers import statements

WORST = 400  # times the work of walking over a text once
PLAINEST = re.compile(r"[^\x00]*?\x00")
SHORTER = 8  # texts so many times shorter are tried first: most expressions do next to nothing on them
NOTICED = 6  # times the plainest work on such a text
PARTS = 8
# What is cut shorter than a line before it is looked at.
SEEN = {"tortie.doctor.judgement.evidence._ROUTINE": evidence.COLUMNS_QUOTED}
MEGABYTE = 1_000_000
DEADLINE_S = 120

EXPRESSIONS, UNKNOWN = all_expressions()
# Calls whose expression is made of the evidence or of another call; what they are made of is bounded.
MADE_OF_OTHERS = {
    "datastore.etcd_evidence", "judgement.quoting", "lexicon.rule", "readers.host_commands", "risk", "secret_forms",
    "several_hosts", "signs",
}  # fmt: skip

FILES = {
    "blanks": " " * MEGABYTE,
    "lines of blanks": (" " * 16_000 + "\n") * 62,
    "rules of alerts": ("- alert: x\n" + " " * 16_000 + "x\n") * 60,
    "empty lines": "\n" * MEGABYTE,
    "deep YAML": "apiVersion: v1\nkind: Pod\n" + "\n".join("  " * depth + f"a{depth}:" for depth in range(1_000)),
    "deep lists": "kind: Pod\n" + "\n".join(" " * depth + "- a:" for depth in range(1_300)),
    "deep JSON": '{"kind":"Pod","items":[' + "[" * 400_000 + "]" * 400_000,
    "braces": ('{"a":' * 3_000 + "\n") * 60,
}  # fmt: skip
PIECES = {
    "mysql": "mysql -p ", "images": "calico/node:v3.", "pairs": '"name":"A","value":"b",', "upgrades": "从1升级",
    "addresses": "10.0.0.1,", "options": "kubectl get -a -b ", "colons": "0:", "words": "a ", "paths": "/a",
    "passwords": "password is ", "restarts": "restart helps ", "URLs": "http://a:b@c/ ",
}  # fmt: skip


def test_every_expression_is_known() -> None:
    assert len(EXPRESSIONS) > 1_000
    unknown = [call for call in UNKNOWN if not any(f".{name}:" in call for name in MADE_OF_OTHERS)]
    assert unknown == []


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.timeout(600)  # an expression that never ends is ended, and fails by name
def test_no_expression_is_slow_on_the_longest_text_it_sees(part: int) -> None:
    slow = [f"{each.where}: {text[:80]!r}" for each in EXPRESSIONS[part::PARTS] if (text := _slow_text(each))]
    assert slow == []


@pytest.mark.parametrize("words", [r"\w*a\w*:", r"[\w.]+ *== *x"])
def test_the_guard_knows_slow_expressions(words: str) -> None:
    assert _slow_text(Expression("here", re.compile(words), True))


def _slow_text(expression: Expression) -> str:
    """A text that the expression takes too long for, or nothing."""
    longest = statements.LONGEST if expression.where.startswith("rule ") else SEEN.get(expression.where, LONGEST)
    short = longest // SHORTER
    noticed = NOTICED * _plainest(short)
    long_texts: list[str] = []
    for number, text in enumerate(attacks(expression.pattern, short)):
        text = _cleaned(text)
        if _work(expression, text) > noticed and _work(expression, text) > noticed:
            if _work(expression, text) > WORST * _plainest(LONGEST):
                return text  # it would hardly end on a longer one
            long_texts = long_texts or list(attacks(expression.pattern, longest))
            long = _cleaned(long_texts[number]) if number < len(long_texts) else ""
            if all(_work(expression, long) > WORST * _plainest(LONGEST) for _ in range(3)):
                return text
    return ""


def _cleaned(text: str) -> str:
    return "\n".join(map(clean, text.split("\n")))


def _work(expression: Expression, text: str) -> float:
    before = time.thread_time()
    (expression.pattern.search if expression.anywhere else expression.pattern.match)(text)
    return time.thread_time() - before


def _plainest(length: int) -> float:
    """The least work that a text of this length can be, as this machine does it now."""
    text = "a" * length
    before = time.thread_time()
    PLAINEST.match(text)
    return time.thread_time() - before


def _read(path: Path) -> None:
    command = [sys.executable, "-m", "tortie", "doctor", str(path), "-o", "json"]
    answer = subprocess.run(command, capture_output=True, timeout=DEADLINE_S, check=False)
    assert answer.returncode in (0, 3, 4, 5), answer.stderr.decode()[-500:]


@pytest.mark.parametrize("name", FILES)
@pytest.mark.timeout(DEADLINE_S + 30)
def test_a_hostile_file_is_read_like_any_other(name: str, tmp_path: Path) -> None:
    (tmp_path / "hostile.txt").write_text(FILES[name])
    _read(tmp_path / "hostile.txt")


@pytest.mark.parametrize("length", [900, 16_000])
@pytest.mark.parametrize("name", PIECES)
@pytest.mark.timeout(DEADLINE_S + 30)
def test_lines_of_one_word_again_and_again_are_read(name: str, length: int, tmp_path: Path) -> None:
    piece = PIECES[name]
    line = piece * (length // len(piece)) + "\n"
    (tmp_path / "hostile.txt").write_text(line * (MEGABYTE // len(line)))
    _read(tmp_path / "hostile.txt")
