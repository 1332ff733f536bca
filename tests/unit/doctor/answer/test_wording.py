"""Small things of an answer's words: labels that fit their value, colons of the language, indentation of quotes."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.support.doctor import picture

from tortie.doctor.answer import forms
from tortie.doctor.answer.labels import since_label, since_words, sure_label
from tortie.doctor.judgement.judge import judge
from tortie.doctor.words import Language

ROOT = Path(__file__).parents[4]
LOOSE = """
    $ kubectl logs -n kube-system calico-node-b9l5z --previous | tail -1
    2021-01-21 10:08:55.349 [FATAL][498] int_dataplane.go 1035: Kernel's RPF check is set to 'loose'.  This would allow endpoints to spoof their IP address.
    $ kubectl -n kube-system describe pod calico-node-b9l5z | tail -1
          Warning  Unhealthy  3m9s (x412 over 69m)  kubelet  Readiness probe failed: calico/node is not ready: felix is not ready
    $ sysctl net.ipv4.conf.all.rp_filter
    net.ipv4.conf.all.rp_filter = 2
"""  # noqa: E501
ONE = """
    $ kubectl get pods -n kube-system
    NAME                READY   STATUS    RESTARTS   AGE
    calico-node-aaaaa   1/1     Running   0          9d
    $ kubectl get nodes
    NAME   STATUS   ROLES    AGE   VERSION
    n-1    Ready    master   11m   v1.27.8
"""
ALONE = """
    $ kubectl -n kube-system describe pod calico-node-m4wzn | tail -2
          Warning  Unhealthy  112s (x30 over 5m)   kubelet, a-1     Readiness probe failed: calico/node is not ready: BIRD is not ready: BGP not established with 172.17.0.1
"""  # noqa: E501


def rendered(form: str, text: str, language: Language = "en") -> str:
    seen = picture(text)
    return forms.form(form)(judge(seen), seen, language, colour=False)


@pytest.mark.parametrize("since", ["6d2h (x52551)", "112s", "1h9m (x412)"])
def test_a_duration_is_said_to_last(since: str) -> None:
    assert (since_label(since, "en"), since_label(since, "zh")) == ("For", "持续")


def test_a_duration_is_told_in_the_readers_units() -> None:
    assert since_words("1h9m (x412)", "en") == "1h9m (x412)"
    assert since_words("1h9m (x412)", "zh") == "1 小时 9 分钟（412 次）"
    assert since_words("112s", "zh") == "112 秒"
    assert since_words("2020-11-03", "zh") == "2020-11-03"


@pytest.mark.parametrize("since", ["2021-01-21 10:08:55", "10:08:55", "2020-11-03"])
def test_a_time_is_a_beginning(since: str) -> None:
    assert (since_label(since, "en"), since_label(since, "zh")) == ("Since", "起始")


def test_one_is_not_many() -> None:
    text = rendered("text", ONE)
    assert "1 calico-node pod, ready" in text
    assert "1 node, Ready" in text


def test_chinese_has_its_own_colon() -> None:
    assert "**已找到原因**：TRT7005" in rendered("md", LOOSE, "zh")
    verify = json.loads(rendered("json", LOOSE, "zh"))["causes"][0]["verify"]
    assert any("：" in text for text in verify)
    assert not any(": " in text.split("：")[0] for text in verify)


def test_no_step_of_junit_ends_in_a_colon() -> None:
    for text in (LOOSE, ALONE):
        for failure in ElementTree.fromstring(rendered("junit", text)).iter("failure"):
            assert not [row for row in (failure.text or "").splitlines() if row.endswith((": ", "："))]


def test_candidates_hold_their_reason_and_a_quote_its_indentation() -> None:
    rows = rendered("text", ALONE).splitlines()
    title = next(number for number, row in enumerate(rows) if row.startswith("  1. [TRT"))
    assert rows[title + 1].startswith("     confidence 0.45 (possible): ")
    quoted = next(row for row in rows if "Warning  Unhealthy" in row)
    assert quoted.startswith(" " * 13)


def test_symptoms_are_told_by_what_the_cause_explains() -> None:
    text = rendered("text", LOOSE)
    told = text[text.index("What it explains") :]
    assert "RPF check is set to 'loose'" in told
    assert "consequence" not in text


def test_what_is_over_comes_behind_what_a_healthy_verdict_rests_on() -> None:
    text = rendered("text", (ROOT / "examples/doctor/healthy.txt").read_text())
    assert text.index("\nChecked\n") < text.index("\nOver by now\n")
    # The message alone and the whole line that has it are one symptom to a reader.
    assert " ".join(text.split()).count("BGP not established with") == 1


@pytest.mark.parametrize(
    ("confidence", "english", "chinese"),
    [
        (0.97, "confidence 0.97 (proven)", "置信度 0.97（已证实）"),
        (0.92, "confidence 0.92 (well supported)", "置信度 0.92（证据充分）"),
        (0.8, "confidence 0.80 (likely)", "置信度 0.80（很可能）"),
        (0.45, "confidence 0.45 (possible)", "置信度 0.45（有可能）"),
        (0.2, "confidence 0.20 (only a hint)", "置信度 0.20（仅为线索）"),
    ],
)
def test_confidence_is_told_in_words(confidence: float, english: str, chinese: str) -> None:
    assert (sure_label(confidence, "en"), sure_label(confidence, "zh")) == (english, chinese)
