"""Go templates: what Go's own engine writes over Calico's structs, what we understand beyond that, and the bounds."""

from __future__ import annotations

import contextlib
import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tortie.cli.gotemplate import compile_template
from tortie.cli.gotemplate.parser import NESTING_MAX
from tortie.cli.gotemplate.times import span
from tortie.cli.gotemplate.values import Struct, objects
from tortie.model.errors import TortieError, UsageError
from tortie.model.kinds import BY_NAME, KINDS

# Each template with what Go 1.26 writes for it, null where it refuses; made by Go's text/template, one by one, over the
# structs of Calico v3.32.
GOLDEN: dict[str, Any] = json.loads((Path(__file__).parents[2] / "golden" / "cli" / "go-templates.json").read_text())
OBJECTS = [Struct(document["kind"], document) for document in GOLDEN["objects"]]


@pytest.fixture(autouse=True)
def in_greenwich(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def render(template: str) -> str:
    return compile_template(template).render(OBJECTS)


@pytest.mark.parametrize(("template", "text"), GOLDEN["templates"], ids=[row[0][:60] for row in GOLDEN["templates"]])
def test_it_writes_what_go_writes(template: str, text: str | None) -> None:
    if text is None:
        with pytest.raises(TortieError) as caught:
            render(template)
        assert caught.value.why
        assert caught.value.fix
        assert "line" in caught.value.what or not template
    else:
        assert render(template) == text


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{{range slice . 0 2}}{{.metadata.name}} {{end}}", "alpha beta "),
        ("{{range (index . 2).items}}{{.spec.cidr}} {{end}}", "10.1.0.0/16 fd00::/48 "),
        ("{{with index . 0}}{{.spec.bgp.asNumber}}{{end}}", "64600"),
        ("{{with index . 4}}{{.Spec.ReportingInterval}}{{end}}", "1m30s"),
        ('{{with index . 4}}{{eq .Spec.HealthPort 9099}} {{printf "%d" .Spec.HealthPort}}{{end}}', "true 9099"),
        ("{{eq 1 1.0}}", "true"),
        ('{{with index . 0}}{{config "asNumber"}}{{end}}', "64512"),
    ],
)
def test_names_of_yaml_and_values_behind_pointers_are_understood_too(template: str, text: str) -> None:
    assert render(template) == text


def test_a_whole_kind_is_one_list_object() -> None:
    documents = [{"kind": "Tier", "metadata": {"name": name}, "spec": {}} for name in ("a", "b")]
    listed = objects(BY_NAME["Tier"], documents, "7")
    template = compile_template("{{range .}}{{.Kind}} {{.ResourceVersion}}{{range .Items}} {{.Name}}{{end}}{{end}}")
    assert template.render(listed) == "TierList 7 a b"


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_every_kind_has_its_struct(kind: Any) -> None:
    listed = objects(kind, [{"kind": kind.name, "metadata": {"name": "x", "namespace": "n"}}], "1")
    template = compile_template(
        "{{range .}}{{range .Items}}{{.Namespace}}/{{.ObjectMeta.Name}}|{{.Spec}}{{end}}{{end}}"
    )
    assert template.render(listed).startswith("n/x|{")


def test_a_field_of_a_newer_calico_is_found_under_its_own_name() -> None:
    pool = Struct(
        "IPPool", {"kind": "IPPool", "metadata": {"name": "p"}, "spec": {"cidr": "10.0.0.0/8", "new": {"a": [1]}}}
    )
    assert compile_template("{{range .}}{{.Spec.new.a}}{{end}}").render([pool]) == "[1]"


def test_what_does_not_have_the_type_of_its_field_is_shown_as_it_is() -> None:
    pool = Struct("IPPool", {"kind": "IPPool", "metadata": {"name": ["p"]}, "spec": "none"})
    assert compile_template("{{range .}}{{.Name}} {{.Spec}}{{end}}").render([pool]) == "[p] none"


@pytest.mark.parametrize(
    ("template", "place", "why", "fix"),
    [
        ("{{range .}}\n  {{.Naem}}{{end}}", "line 2, column 5", "can't evaluate field Naem", "did you mean Name?"),
        (
            "{{range .}}{{spec}}{{end}}",
            "line 1, column 14",
            'function "spec" not defined',
            "a field begins with a dot: .spec",
        ),
        ("{{lenn .}}", "line 1, column 3", 'function "lenn" not defined', "did you mean len?"),
        ("{{range .}}", "line 1, column", "unexpected end", "{{end}}"),
        ("{{.Name}}", "line 1, column 3", "can't evaluate field Name", "{{range .}} goes through it"),
        (
            "{{(index . 1).Spec.BGP.IPv4Address}}",
            "line 1, column 3",
            "nil pointer evaluating *v3.NodeBGPSpec",
            "{{with}}",
        ),
        ("{{“x”}}", "line 1, column 3", "unexpected '“'", "straight quotes"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(template: str, place: str, why: str, fix: str) -> None:
    with pytest.raises(TortieError) as caught:
        render(template)
    assert place in caught.value.what
    assert why in caught.value.why
    assert fix in caught.value.fix


@pytest.mark.parametrize(
    ("template", "why"),
    [
        ('{{define "a"}}{{template "a" .}}{{end}}{{template "a" .}}', "call each other"),
        ("{{range 1000000000}}{{end}}", "does not come to an end"),
        ("{{range 1000}}{{range 1000}}{{range 1000}}{{end}}{{end}}{{end}}", "does not come to an end"),
        ('{{range 100}}{{printf "%999999d" 1}}{{end}}', "writes too much"),
    ],
)
def test_a_template_that_would_not_end_is_stopped(template: str, why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tortie.cli.gotemplate.run.STEPS_MAX", 10_000)
    with pytest.raises(TortieError, match=why):
        render(template)


@pytest.mark.parametrize(
    "template", ["{{if 1}}" * 5000, "{{" + "(" * 5000 + "1" + ")" * 5000 + "}}", "{{if 1}}{{else " * 300]
)
def test_nesting_is_bounded(template: str) -> None:
    with pytest.raises(UsageError):
        compile_template(template)


def test_what_is_nested_just_deeply_enough_runs() -> None:
    assert render("{{if 1}}" * NESTING_MAX + "x" + "{{end}}" * NESTING_MAX) == "x"


VOCABULARY = """{{ }} {{- -}} range if else end with define template block "a" . .Name .Items .Spec $ $x := = | ( ) ,
1 index len printf eq and slice join nil true break /* */ ' ` x -1 %s not print html call"""
WORDS = st.sampled_from([*VOCABULARY.split(), " ", "\n"])


@given(st.lists(WORDS, max_size=30).map(" ".join) | st.lists(WORDS, max_size=30).map("".join) | st.text(max_size=40))
def test_any_text_is_a_template_or_a_clear_error(text: str) -> None:
    with contextlib.suppress(TortieError):
        compile_template(text).render(OBJECTS)


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (None, "0s"),
        ("90s", "1m30s"),
        ("1h", "1h0m0s"),
        ("1500ms", "1.5s"),
        ("15ms", "15ms"),
        ("-2m", "-2m0s"),
        ("odd", "odd"),
    ],
)
def test_durations_have_gos_form(raw: object, text: str) -> None:
    assert span(raw) == text
