"""Signs: templates with holes, found in evidence whatever its blanks, quotes, case and wraps."""

from __future__ import annotations

import pytest
from tests.support.doctor import source

from tortie.doctor.causes.catalogue import all_signs
from tortie.doctor.reading.cut import cut
from tortie.doctor.signs import HITS_KEPT, Hit, Searchable, Sign


def hits(template: str, text: str) -> list[Hit]:
    return list(Searchable(list(cut(source(text)))).hits([Sign("x", template)]))


@pytest.mark.parametrize(
    ("template", "text", "values"),
    [
        ("BGP not established with <peers>", "BGP not established with 10.0.0.1,10.0.0.2", "10.0.0.1,10.0.0.2"),
        ("Calico node '<other>' is already using <ip>", 'calico Node "w1"  is already using 10.0.0.9.', "w1 10.0.0.9"),
        ("Calico node '<other>' is already using <ip>", "Calico node ''w1'' is already using 10.0.0.9", "w1 10.0.0.9"),
        ("took <n> ms for <n_events> events", "I/O loop cycle took 6012 ms for 3 events", "6012 3"),
        ("dial tcp <ip>:<port>: (i/o timeout|refused)", "dial tcp 10.96.0.1:443: refused", "10.96.0.1 443"),
        ('find plugin "<plugin>" in path [<list_dirs>]', 'find plugin \\"calico\\" in path [/a /b]', "calico /a /b"),
        ("error=<rest>", "x error=a b c", "a b c"),
        ("No free (IP pool )?blocks", "No free blocks", ""),
        ("bracket \\(kept\\) <word>", "bracket (kept) yes", "yes"),
    ],
)
def test_a_template_finds_its_text(template: str, text: str, values: str) -> None:
    found = hits(template, text)
    assert [" ".join(hit.values.values()) for hit in found] == [values]


def test_a_message_wrapped_at_a_blank_is_still_found_and_covers_both_lines() -> None:
    (hit,) = hits("BGP not established with <ip>", "Readiness: BGP not established\nwith 172.18.0.1")
    assert (hit.place.first, hit.place.last, hit.value("ip")) == (1, 2, "172.18.0.1")


def test_what_an_agent_has_told_to_be_over_is_no_sign_any_more() -> None:
    log = """\
2026-11-16 13:12:07.655 [WARNING][19] confd/mesh.py 250: BIRD is not ready: BGP not established with 10.0.0.1: it waits
2026-11-16 13:12:09.100 [INFO][19] confd/mesh.py 255: No longer so: BIRD is not ready: BGP not established with 10.0.0.1
"""
    again = "2026-11-16 13:14:00.000 [WARNING][19] confd/mesh.py 250: BIRD: BGP not established with 10.0.0.1\n"
    assert not hits("BGP not established with <ip>", log)
    assert [hit.place.first for hit in hits("BGP not established with <ip>", log + again)] == [3]


def test_what_was_typed_is_not_what_was_printed() -> None:
    text = "$ journalctl | grep 'no space left on device'\n-- No entries --"
    assert hits("no space left on device", text) == []


def test_a_hit_knows_host_and_command() -> None:
    (hit,) = hits("table full, dropping packet", "[root@w7 ~]# dmesg\nnf_conntrack: table full, dropping packet")
    assert (hit.host, hit.command) == ("w7", "dmesg")


def test_a_message_repeated_without_end_is_bounded() -> None:
    assert len(hits("failed to migrate ipam, retrying", "failed to migrate ipam, retrying\n" * 1000)) == HITS_KEPT


def test_a_gap_stays_on_its_line() -> None:
    assert hits("first … second", "first\nthen something else\nsecond") == []


@pytest.mark.parametrize("sign", all_signs(), ids=lambda sign: sign.key)
def test_every_sign_can_be_looked_for_quickly(sign: Sign) -> None:
    """The fixed run is what gigabytes are searched for: it must be there, and no word that every log has."""
    assert len(sign.needle) >= 5, f"{sign.template!r} has no run of fixed text worth the name: {sign.needle!r}"
    sign.pattern  # noqa: B018 - it compiles


def test_keys_of_signs_are_unique() -> None:
    from tortie.doctor.causes.catalogue import all_causes

    templates: dict[str, str] = {}
    for cause in all_causes():
        for sign in cause.signs:
            assert templates.setdefault(sign.key, sign.template) == sign.template, sign.key
