"""What is written and has no effect: told on standard error, once for each reason, and nothing else is different."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.support.cli import Tortie, pool, resource

DENY = {"selector": "all()", "types": ["Ingress", "Egress"]}
PASSES = "Tortie enforces no policy yet: on its nodes every packet still passes"


@pytest.fixture
def tortie(tmp_path: Path) -> Tortie:
    return Tortie(tmp_path)


def _policies(count: int) -> list[dict[str, Any]]:
    return [resource("GlobalNetworkPolicy", f"p{number}", DENY) for number in range(count)]


@pytest.mark.parametrize(("verb", "done"), [("create", "created"), ("apply", "applied")])
def test_a_policy_is_stored_and_told(tortie: Tortie, verb: str, done: str) -> None:
    ran = tortie(verb, "-f", tortie.file("p.yaml", *_policies(1)))
    assert (ran.code, ran.stdout) == (0, f"Successfully {done} 1 'GlobalNetworkPolicy' resource(s)\n")
    assert ran.stderr == f"warning: GlobalNetworkPolicy p0 is stored, but {PASSES}\n"


def test_replace_and_patch_tell_it_too_and_a_label_does_not(tortie: Tortie) -> None:
    file = tortie.file("p.yaml", *_policies(1))
    tortie("create", "-f", file)
    warning = f"warning: GlobalNetworkPolicy p0 is stored, but {PASSES}\n"
    for words in (("replace", "-f", file), ("patch", "gnp", "p0", "-p", '{"spec": {"order": 7}}')):
        ran = tortie(*words)
        assert (ran.code, ran.stderr) == (0, warning)
    assert tortie("label", "gnp", "p0", "a=b").stderr == ""


def test_many_of_them_are_one_sentence(tortie: Tortie) -> None:
    ran = tortie("apply", "-f", tortie.file("p.yaml", *_policies(12)))
    assert ran.stderr == (
        f"warning: 12 GlobalNetworkPolicies are stored, but {PASSES}\n  which: p0, p1, p2 and 9 more\n"
    )


def test_with_json_both_streams_stay_json(tortie: Tortie) -> None:
    ran = tortie("apply", "-o", "json", "-f", tortie.file("p.yaml", *_policies(2)))
    assert [item["kind"] for item in ran.json] == ["GlobalNetworkPolicy"] * 2
    (warning,) = map(json.loads, ran.stderr.splitlines())
    assert (warning["kind"], warning["reason"], warning["kinds"]) == ("Warning", "policy", {"GlobalNetworkPolicy": 2})
    assert warning["objects"] == ["GlobalNetworkPolicy(p0)", "GlobalNetworkPolicy(p1)"]


def test_only_what_was_written_is_told(tortie: Tortie) -> None:
    tortie("create", "-f", tortie.file("p.yaml", *_policies(1)))
    ran = tortie("create", "-f", tortie.file("both.yaml", *_policies(2)))
    assert ran.code == 1
    assert ran.stderr.startswith("warning: GlobalNetworkPolicy p1 is stored")
    skipped = tortie("create", "--skip-exists", "-f", tortie.file("both.yaml", *_policies(2)))
    assert "is stored" not in skipped.stderr
    assert skipped[:2] == (0, "Successfully created 2 'GlobalNetworkPolicy' resource(s)\n")


def test_what_works_is_written_without_a_word(tortie: Tortie) -> None:
    """Also a patch that only says what is so anyway."""
    felix = resource("FelixConfiguration", "default", {"vxlanMTU": 1400, "logSeverityScreen": "Info"})
    assert tortie("apply", "-f", tortie.file("a.yaml", pool("a", "10.1.0.0/16"), felix)).stderr == ""
    assert tortie("patch", "felixconfig", "default", "-p", '{"spec": {"bpfEnabled": false}}').stderr == ""
    assert "no eBPF program" in tortie("patch", "felixconfig", "default", "-p", '{"spec": {"bpfEnabled": true}}').stderr


def test_reading_does_not_load_the_table(tortie: Tortie) -> None:
    code = (
        "import sys; from tortie.cli.main import main; main(['get', 'gnp']);"
        "sys.exit(any(name.startswith('tortie.model.effects') for name in sys.modules))"
    )
    tortie("apply", "-f", tortie.file("p.yaml", *_policies(1)))
    ran = subprocess.run([sys.executable, "-c", code], env=tortie.environment, capture_output=True, check=False)
    assert ran.returncode == 0, ran.stderr
