"""Small things of an answer's words: labels that fit their value, colons of the language, indentation of quotes."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import pytest
from tests.support.doctor import picture

from tortie.doctor.answer import forms
from tortie.doctor.answer.labels import since_label
from tortie.doctor.judgement.judge import judge
from tortie.doctor.words import Language

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
