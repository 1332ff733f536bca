"""Every form of an answer: valid for its readers, in both languages, with nothing of the evidence taking effect."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from importlib import resources
from xml.etree import ElementTree

import jsonschema
import pytest
from tests.support.doctor import picture

from tortie.doctor.answer import forms
from tortie.doctor.judgement.judge import judge
from tortie.doctor.words import Language
from tortie.model.measure import columns

BRIDGE = """
    Two of our machines <b>cannot</b> talk & we do not know why.

    $ kubectl get nodes -o wide
    NAME   STATUS   ROLES    AGE   VERSION   INTERNAL-IP     EXTERNAL-IP   OS-IMAGE
    a-1    Ready    master   11m   v1.17.8   192.168.61.20   <none>        CentOS Linux 7
    b-1    Ready    worker   10m   v1.17.8   192.168.61.21   <none>        CentOS Linux 7
    $ kubectl -n kube-system describe pod calico-node-m4wzn | tail -2
      Warning  Unhealthy  112s (x30 over 5m)   kubelet, a-1     Readiness probe failed: calico/node is not ready: BIRD is not ready: BGP not established with 172.17.0.1
    $ kubectl get node b-1 -o yaml | grep projectcalico
        projectcalico.org/IPv4Address: 172.17.0.1/16
    $ frobnicate "<script>alert(1)</script>" token=abcdef0123456789abcdef
    <script>alert(1)</script> <img src=x onerror=alert(2)>
"""  # noqa: E501
HEALTHY = """
    $ kubectl get pods -n kube-system
    NAME                READY   STATUS    RESTARTS   AGE
    calico-node-aaaaa   1/1     Running   0          9d
    $ kubectl get nodes
    NAME   STATUS   ROLES    AGE   VERSION
    w1     Ready    <none>   9d    v1.27.4
"""
OPEN = """
    $ kubectl get pods -n kube-system
    NAME                READY   STATUS             RESTARTS   AGE
    calico-node-aaaaa   0/1     CrashLoopBackOff   9          9d
"""
NOTHING_TO_ASK = (
    HEALTHY
    + """
    coredns-558bd4d5db-7j2px   1/1   Running   0   60m
    $ calicoctl node status
    | 10.3.9.12 | node-to-node mesh | up | 07:11:05 | Established |
    $ kubectl get events -A
    NAMESPACE LAST SEEN TYPE REASON OBJECT MESSAGE
    default   4m   Warning   SystemOOM   node/w1   System OOM encountered
"""
)
CASES = {"cause-found": BRIDGE, "healthy": HEALTHY, "undetermined": OPEN, "undetermined, all was asked": NOTHING_TO_ASK}
LANGUAGES: tuple[Language, ...] = ("en", "zh")


def rendered(form: str, text: str, language: Language = "en", *, colour: bool = False) -> str:
    seen = picture(text)
    return forms.form(form)(judge(seen), seen, language, colour=colour)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("verdict", CASES)
def test_json_is_what_the_published_schema_says(verdict: str, language: Language) -> None:
    answer = json.loads(rendered("json", CASES[verdict], language))
    schema = json.loads(resources.files("tortie.doctor.answer").joinpath("diagnosis.schema.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(answer)
    assert answer["verdict"] == verdict.partition(",")[0]
    known = {evidence["id"] for evidence in answer["evidence"]}
    assert all(set(cause["because"]) <= known for cause in answer["causes"])


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("verdict", CASES)
def test_text_fits_a_terminal_of_80_columns(verdict: str, language: Language) -> None:
    for line in rendered("text", CASES[verdict], language).splitlines():
        # Commands are to be copied and are never broken.
        assert columns(line) <= 80 or line.lstrip().startswith("$ "), line


def test_text_has_colours_only_where_they_are_wanted() -> None:
    assert "\x1b[" not in rendered("text", BRIDGE)
    assert "\x1b[31m" in rendered("text", BRIDGE, colour=True)


@pytest.mark.parametrize("verdict", CASES)
def test_quotes_and_codes_are_the_same_in_both_languages(verdict: str) -> None:
    english, chinese = (json.loads(rendered("json", CASES[verdict], language)) for language in LANGUAGES)
    assert english["evidence"] == chinese["evidence"]
    for one, other in zip(english["causes"], chinese["causes"], strict=True):
        assert (one["cause"], one["code"], one["objects"]) == (other["cause"], other["code"], other["objects"])
        assert [step["command"] for step in one["fix"]] == [step["command"] for step in other["fix"]]
        assert one["summary"] != other["summary"]
        assert re.search(r"[\u4e00-\u9fff]", other["summary"])


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.ids: set[str] = set()
        self.links: set[str] = set()
        self.open: list[str] = []
        self.outside: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        values = dict(attrs)
        assert not any(name.startswith("on") for name in values), values
        for name in ("src", "href", "action"):
            link = values.get(name)
            if link is not None and link.startswith("#"):
                self.links.add(link[1:])
            elif link is not None:
                self.outside.append(link)
        if values.get("id"):
            self.ids.add(str(values["id"]))
        if tag not in ("meta", "line", "rect", "circle", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        assert not any(name.startswith("on") for name, _ in attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("verdict", CASES)
def test_the_page_is_whole_self_contained_and_runs_nothing(verdict: str, language: Language) -> None:
    text = rendered("html", CASES[verdict], language)
    page = _Page()
    page.feed(text)
    assert page.open == []
    assert not {"img", "iframe", "object", "link", "form"} & set(page.tags)
    # One script and one style, ours; the policy knows them by their hash and lets nothing else take effect.
    for tag in ("script", "style"):
        (body,) = re.findall(f"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in text
    assert page.tags.count("script") == page.tags.count("style") == 1
    assert page.outside == []
    assert page.links <= page.ids | {""}
    assert f'lang="{language}"' in text
    assert "default-src 'none'" in text


def test_the_page_shows_the_topology_with_the_foreign_address() -> None:
    text = rendered("html", BRIDGE)
    assert "<svg" in text
    assert "172.17.0.1" in text[text.index("<svg") : text.rindex("</svg>")]


def test_the_page_marks_the_lines_that_decide() -> None:
    text = rendered("html", BRIDGE)
    assert re.search(r'class="row hit">.*?projectcalico\.org/IPv4Address: <mark>172\.17\.0\.1</mark>/16', text)


@pytest.mark.parametrize("form", forms.FORMS)
@pytest.mark.parametrize("verdict", CASES)
def test_no_form_repeats_a_secret(form: str, verdict: str) -> None:
    secret = "abcdef0123456789abcdef"
    assert secret not in rendered(form, CASES[verdict] + f"\n    Bearer {secret}")


@pytest.mark.parametrize("verdict", CASES)
def test_junit_is_xml_and_fails_when_something_is_wrong(verdict: str) -> None:
    suite = ElementTree.fromstring(rendered("junit", CASES[verdict]))
    failures = suite.findall("testcase/failure")
    assert int(suite.attrib["failures"]) == len(failures)
    assert bool(failures) == (verdict != "healthy")
    assert int(suite.attrib["tests"]) == len(suite.findall("testcase"))


@pytest.mark.parametrize("verdict", CASES)
def test_sarif_points_at_the_lines(verdict: str) -> None:
    document = json.loads(rendered("sarif", CASES[verdict]))
    (run,) = document["runs"]
    assert document["version"] == "2.1.0"
    for result in run["results"]:
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
    if verdict == "cause-found":
        region = run["results"][0]["locations"][0]["physicalLocation"]["region"]
        assert region["startLine"] >= 1


def test_markdown_quotes_cannot_leave_their_fence() -> None:
    text = rendered("md", BRIDGE.replace("<script>", "```\n    # not a heading of ours\n    "))
    inside = False
    for line in text.splitlines():
        if line.startswith("```"):
            inside = not inside
        elif not inside and line.startswith("# "):
            assert "not a heading" not in line
    assert not inside


def test_an_unknown_form_is_a_usage_error_that_names_the_known_ones() -> None:
    from tortie.model.errors import UsageError

    with pytest.raises(UsageError, match="unknown output format"):
        forms.form("pdf")
