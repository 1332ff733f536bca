"""The page: arrows only where one follows from the other, deciding lines on the timeline, date, inputs, links."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest
from tests.support.doctor import picture, source
from tests.unit.doctor.answer.test_forms import BRIDGE, CASES, HEALTHY, LANGUAGES, OPEN
from tests.unit.doctor.answer.test_wording import LOOSE

from tortie import __version__
from tortie.doctor.answer import forms
from tortie.doctor.examine import picture_of
from tortie.doctor.judgement.judge import judge
from tortie.doctor.words import Language

NOW = datetime(2026, 3, 4, 5, 6, tzinfo=UTC)
NODES = """
    $ kubectl get nodes -o wide
    NAME   STATUS     ROLES    AGE   VERSION   INTERNAL-IP     EXTERNAL-IP   OS-IMAGE
    a-1    Ready      master   11m   v1.17.8   192.168.61.20   <none>        CentOS Linux 7
    b-1    NotReady   worker   10m   v1.17.8   192.168.61.21   <none>        CentOS Linux 7
"""


def page(text: str, language: Language = "en", when: datetime | None = NOW) -> str:
    seen = picture(text)
    return forms.form("html")(judge(seen), seen, language, colour=False, when=when)


def shown(html: str) -> str:
    """The text of a page without its tags."""
    body = html[html.index("<main") : html.index("</main>")]
    return re.sub(r"<[^>]+>", "", body)


def part(html: str, title: str) -> str:
    return next((one for one in html.split("<section") if f"<h2>{title}</h2>" in one), "")


def test_lines_that_stand_together_have_no_arrow_between_them() -> None:
    why = part(page(BRIDGE), "Why")
    cause, _, symptoms = why.partition('<p class="arrow">')
    assert why.count("↓") == 1
    assert cause.count("<pre>") >= 1
    assert "projectcalico.org/IPv4Address: 172.17.0.1/16" in shown(f"<main>{cause}</main>")
    assert "BGP not established with 172.17.0.1" in symptoms


def test_a_message_that_proves_the_cause_is_not_its_own_consequence() -> None:
    why = part(page(LOOSE), "Why")
    assert why.count("RPF check is set to") == 1
    assert "↓" not in why


def test_candidates_follow_from_nothing() -> None:
    assert "↓" not in shown(page(OPEN))


def test_the_timeline_has_the_deciding_line_and_marks_it() -> None:
    log = "\n".join(
        f"    2021-01-21 10:{minute:02}:{second:02}.000 [WARNING][498] felix/table.go 700: trouble {minute} {second}"
        for minute in range(6)
        for second in range(0, 60, 2)
    )
    html = page(LOOSE.replace("    2021-01-21 10:08:55", f"{log}\n    2021-01-21 10:08:55", 1))
    rows = re.findall(r"<tr.*?</tr>", part(html, "Timeline"))
    assert len(rows) <= 41
    (decisive,) = (row for row in rows if 'class="decisive"' in row)
    assert "2021-01-21 10:08:55" in decisive
    assert "RPF check is set to" in decisive


def test_deciding_lines_without_a_year_are_on_the_timeline_too() -> None:
    html = page("""
        $ journalctl -u kubelet | tail -2
        Jul 14 07:51:20 w-1 kubelet[812]: I0714 07:51:20.000000     812 server.go:408] Version: v1.18.6
        Jul 14 07:51:22 w-1 kubelet[812]: F0714 07:51:22.316000     812 server.go:265] failed to run Kubelet: running with swap on is not supported, please disable swap! or set --fail-swap-on flag to false
        $ kubectl get nodes
        NAME   STATUS     ROLES    AGE   VERSION
        w-1    NotReady   worker   10m   v1.18.6
    """)  # noqa: E501
    clock = part(html, "Timeline")
    (decisive,) = re.findall(r'<tr class="decisive">.*?</tr>', clock)
    assert "<th>07-14 07:51:22</th>" in decisive
    assert "swap on is not supported" in shown(f"<main>{decisive}</main>")


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("verdict", CASES)
def test_the_page_says_when_it_was_made_by_which_version_and_from_what(verdict: str, language: Language) -> None:
    text = shown(page(CASES[verdict], language))
    assert f"Tortie {__version__} · 2026-03-04 05:06 UTC" in text
    assert re.search(r"evidence\.txt(?:lines: \d+|\d+ 行) · \d+ B", text)


def test_without_a_clock_there_is_no_date() -> None:
    assert page(BRIDGE, when=None) == page(BRIDGE, when=None)
    assert "2026" not in shown(page(BRIDGE, when=None))


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_code_leads_to_what_the_cause_is(language: Language) -> None:
    html = page(BRIDGE, language)
    links = set(re.findall(r'href="#(TRT\d{4})"', html))
    assert "TRT1001" in links
    told = "" if language == "en" else " --lang zh"
    for code in links:
        assert f'id="{code}"' in html
        assert f"tortie doctor explain {code}{told}</pre>" in html


def test_nothing_is_drawn_where_there_is_nothing_to_draw() -> None:
    assert "<svg" not in page(HEALTHY)
    assert "<svg" not in page(OPEN)
    assert "<svg" not in page(NODES)
    assert "<svg" in page(BRIDGE)


def test_every_command_can_be_copied_as_it_is_and_only_by_the_script() -> None:
    html = page(BRIDGE)
    assert "<button" not in html
    seen = picture(BRIDGE)
    for step in judge(seen).causes[0].fix:
        if step.command:
            told = step.command.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
            assert f'<div class="command"><pre>{told}</pre></div>' in html


def test_the_page_names_no_other_machine() -> None:
    html = page(BRIDGE)
    assert "http://" not in html
    assert "https://" not in html


def test_a_deciding_line_with_only_a_time_of_day_stands_at_the_end_of_the_timeline() -> None:
    html = page("""
        $ kubectl -n kube-system logs calico-node-x | tail -2
        2023-03-05 11:03:42.100 [WARNING][61] felix/table.go 700: something else
        2023-03-05 11:03:43.100 [INFO][61] felix/table.go 701: and more
        node-1 $ calicoctl node status
        IPv4 BGP status
        | PEER ADDRESS | PEER TYPE | STATE | SINCE    | INFO                       |
        | 10.128.0.254 | global    | start | 11:41:36 | Idle Received: Bad peer AS |
    """)
    rows = re.findall(r"<tr.*?</tr>", part(html, "Timeline"))
    assert len(rows) == 3
    assert rows[-1].startswith('<tr class="decisive"><th>11:41:36</th>')
    assert "Bad peer AS" in rows[-1]


def test_the_name_of_an_input_is_only_text() -> None:
    hostile = "\"><img src=x onerror=alert(1)>'</script><script>alert(2)</script>.txt"
    seen = picture_of([source(BRIDGE, hostile)])
    html = forms.form("html")(judge(seen), seen, "en", colour=False)
    assert "<img" not in html
    assert html.count("<script") == 1
    assert "&lt;img src=x onerror=alert(1)&gt;" in part(html, "What was read")


def test_every_line_of_the_proof_is_in_the_chain_once() -> None:
    seen = picture(BRIDGE)
    diagnosis = judge(seen)
    why = part(forms.form("html")(diagnosis, seen, "en", colour=False), "Why")
    assert sorted(re.findall(r'<a class="place soft" href="#(e\d+)"', why)) == sorted(diagnosis.causes[0].because)


def test_a_healthy_page_says_what_it_covers_and_what_is_normal() -> None:
    html = page(
        f"{HEALTHY}\nnode$ curl http://127.0.0.1:9091/metrics\ncurl: (7) Failed to connect: Connection refused\n"
    )
    checked = part(html, "Checked")
    assert "This covers: calico-node on every node shown" in checked
    assert "Not shown, so nothing is said of it:" in checked
    assert "<code>prometheusMetricsEnabled</code>" in part(html, "Looks odd, is normal")


def test_a_page_without_a_cause_quotes_what_is_unexplained() -> None:
    told = part(
        page(f"{HEALTHY}\n$ kubectl logs -n kube-system x\nfatal error: concurrent map <writes>\n"),
        "Unexplained, the worst first",
    )
    assert "fatal error: concurrent map &lt;writes&gt;" in told
