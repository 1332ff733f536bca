"""BIRD's configuration: always the same for the same plan, and never more than the plan says.

Whole texts stand in tests/golden/bird. Here: what nobody may smuggle in, and what is refused by name.
"""

from __future__ import annotations

from hashlib import sha256
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.bird_plans import addresses, networks, plan, rules, session
from tests.support.birds import complaint

from tortie.bgp.bird_sessions import refusal_of, writable
from tortie.bgp.bird_text import bird_text, digest
from tortie.bgp.bird_words import Unwritable, quoted_symbol
from tortie.bgp.plan import Advertisement, Plan, Pool, Secret, Session
from tortie.model.fields import InterfacePattern
from tortie.model.resources.bgp import BGPFilterSpec, CommunityMatch, CommunityValue, FilterRule

NASTY = (
    '"',
    "'",
    "\\",
    'x"; } protocol bgp evil { #',
    "a\nprotocol device evil { }",
    "a\r\nb",
    "tab\tand\x00nul\x1b[31m",
    "*/ /* // #",
    "%s {plan} $x",
    "é 节点 \u2028 \ud800",
    "n" * 500,
    "",
)
REJECT_ALL = rules(importV4=[{"action": "Reject"}], exportV4=[{"action": "Reject"}])


def test_the_same_plan_gives_the_same_bytes_in_whatever_order_it_was_put_together() -> None:
    pools = [Pool("a", networks("10.244.0.0/16")[0]), Pool("b", networks("10.245.0.0/16")[0], exported=False)]
    blocks = networks("10.244.0.64/26", "10.244.0.0/26", "10.244.0.0/26", "fd77::/122")
    filters = {"f": REJECT_ALL, "e": REJECT_ALL}
    peer = session("10.77.0.2", filters=("f", "e"))
    one = plan(peer, blocks=blocks, pools=tuple(pools), filters=filters)
    other = plan(peer, blocks=blocks[::-1], pools=tuple(pools[::-1]), filters=dict(reversed(filters.items())))
    assert bird_text(one) == bird_text(other)


def test_the_digest_is_of_everything_else_in_the_text() -> None:
    text = bird_text(plan(session("10.77.0.2", password=Secret("first"))))
    line = f'define tortie_digest = "{digest(text)}";\n'
    assert text.count(line) == 1
    assert digest(text) == sha256(text.replace(line, "").encode()).hexdigest()[:16]
    assert digest(bird_text(plan(session("10.77.0.2", password=Secret("second"))))) != digest(text)


def test_a_text_of_somebody_else_has_no_digest() -> None:
    assert digest("") == digest('router id 10.0.0.1;\n# define tortie_digest = "0123456789abcdef";\n') == ""


@pytest.mark.parametrize("value", NASTY)
@pytest.mark.parametrize("field", ["node", "peer_node", "resource"])
def test_names_of_nodes_and_peers_stay_in_comments_and_descriptions(field: str, value: str, tmp_path: Path) -> None:
    def text_with(name: str) -> str:
        if field == "node":
            return bird_text(plan(session("10.77.0.2"), node=name))
        return bird_text(plan(session("10.77.0.2", **{field: name})))

    plain, nasty = text_with("plain").splitlines(), text_with(value).splitlines()
    assert complaint(text_with(value), tmp_path) == ""
    different = [(was, now) for was, now in zip(plain, nasty, strict=True) if was != now]
    assert all(was.startswith(("define tortie_digest", "# ", "  description ")) for was, _ in different)


@pytest.mark.parametrize("value", [value for value in NASTY if value])
def test_a_filter_may_be_called_anything(value: str, tmp_path: Path) -> None:
    """Names are checked long before; here they must do no harm even if they were not."""
    filters = {value: REJECT_ALL, f"{value}-2": REJECT_ALL, "plain": REJECT_ALL}
    text = bird_text(plan(session("10.77.0.2", filters=tuple(filters)), filters=filters))
    assert complaint(text, tmp_path) == ""
    assert text.count("\nfunction 'bgp_") == 6
    assert text.count("protocol ") == bird_text(plan(session("10.77.0.2"))).count("protocol ")


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=st.text(), password=st.text(max_size=90))
def test_bird_accepts_whatever_is_not_refused(tmp_path: Path, name: str, password: str) -> None:
    peer = session("10.77.0.2", peer_node=name, resource=name, filters=(name,), password=Secret(password))
    given_plan = plan(peer, session("10.77.0.3"), node=name, filters={name: REJECT_ALL})
    kept = writable(given_plan)
    assert [*kept.sessions, *kept.refusals] != []
    assert complaint(bird_text(kept), tmp_path) == ""


def test_symbols_of_filters_are_those_of_calico() -> None:
    assert quoted_symbol("bgp_", "tor.rack-1", "_importFilterV4") == "'bgp_tor.rack-1_importFilterV4'"
    longest = "f" * 45
    assert quoted_symbol("bgp_", longest, "_importFilterV4") == f"'bgp_{longest}_importFilterV4'"
    cut = quoted_symbol("bgp_", "f" * 46, "_importFilterV4")
    assert cut == f"'bgp_{'f' * 28}_{sha256(b'f' * 46).hexdigest()[:16].upper()}_importFilterV4'"
    assert len(cut) == 64 + len("''")
    assert quoted_symbol("", "a b", "") != quoted_symbol("", "a_b", "")


SPEC = BGPFilterSpec
BAD_PATTERN = FilterRule(action="Accept", interface=InterfacePattern('eth0") then accept; if (ifname ~ "'))
BAD_COMMUNITY = FilterRule(action="Accept", communities=CommunityMatch(values=(CommunityValue("1:2)) || true"),)))


@pytest.mark.parametrize(
    "unwritable",
    [
        plan(ignored_interfaces=('x", "y',)),
        plan(ignored_interfaces=("",)),
        plan(session("10.77.0.2")._replace(name="Mesh_1 { } protocol bgp x")),
        plan(session("10.77.0.2")._replace(name="M" * 65)),
        plan(advertisements=(Advertisement(networks("10.0.0.0/8")[0], ("65000:100)); accept; #",)),)),
        plan(advertisements=(Advertisement(networks("10.0.0.0/8")[0], ("65536:100",)),)),
        plan(advertisements=(Advertisement(networks("10.0.0.0/8")[0], ("6500٠:100",)),)),
        plan(session("10.77.0.2", filters=("f",)), filters={"f": SPEC(importV4=(BAD_PATTERN,))}),
        plan(session("10.77.0.2", filters=("f",)), filters={"f": SPEC(importV4=(BAD_COMMUNITY,))}),
        plan(blocks=(IPv6Network("fd77::%evil;/122"),), networks=addresses("fd77::1/64")),
    ],
)
def test_what_cannot_be_a_word_of_bird_is_refused(unwritable: Plan) -> None:
    with pytest.raises(Unwritable) as refused:
        bird_text(unwritable)
    assert refused.value.what
    assert refused.value.fix


def ipv6(peer: str, **fields: Any) -> Session:
    return session("fd77::2")._replace(peer=IPv6Address(peer), **fields)


@pytest.mark.parametrize(
    ("refused", "why"),
    [
        (session("10.77.0.2", password=Secret("")), "its password is empty"),
        (session("10.77.0.2", password=Secret("hush\n")), "its password ends with a line break"),
        (session("10.77.0.2", password=Secret("hu\nsh")), "its password has control characters"),
        (session("10.77.0.2", password=Secret("hu\x00sh")), "its password has control characters"),
        (session("10.77.0.2", password=Secret('hu"sh')), "its password has a quotation mark"),
        (session("10.77.0.2", password=Secret("hush" * 21)), "its password is longer than the 80 bytes"),
        (session("10.77.0.2", password=Secret("é" * 41)), "its password is longer than the 80 bytes"),
        (session("10.77.0.2", filters=("gone",)), "it names the BGPFilter gone, which does not exist"),
        (session("10.77.0.2", peer_as=0), "the neighbour's AS number 0 does not exist"),
        (session("10.77.0.2", local_as=1 << 32), "our AS number 4294967296 does not exist"),
        (session("10.77.0.2", peer_port=0), "the port 0 does not exist"),
        (session("10.77.0.2", ttl_security=256), "256 hops are not possible"),
        (session("10.77.0.2", source="fd77::1"), "the source address fd77::1 is not of IPv4"),
        (session("10.77.0.2", reachable_by=ip_address("fd77::1")), "the gateway of reachableBy fd77::1 is not of IPv4"),
        (session("0.0.0.0"), "the neighbour's address 0.0.0.0 is not one of a machine"),
        (session("224.0.0.1"), "the neighbour's address 224.0.0.1 is not one of a machine"),
        (ipv6("::ffff:10.0.0.1"), "is not one of a machine"),
        (ipv6("fe80::1"), "the neighbour's address fe80::1 means something else on every link"),
        (ipv6('fd77::2%"; } evil'), "has a zone"),
        (ipv6("fd77::2", source=IPv6Address("fd77::1%x\ny")), "has a zone"),
        (
            session("10.77.0.2", peer_as=65001, reflects_as=IPv4Address("1.0.0.1")),
            "routes are only reflected inside one AS, and the neighbour is in 65001",
        ),
    ],
)
def test_a_session_that_bird_cannot_hold_is_left_out_and_the_others_stay(
    refused: Session, why: str, tmp_path: Path
) -> None:
    refused = refused._replace(resource="tor", name="Refused")
    good = session("10.77.0.9")
    given_plan = plan(refused, good)
    with pytest.raises(Unwritable):
        bird_text(given_plan)
    kept = writable(given_plan)
    assert kept.sessions == (good,)
    (refusal,) = kept.refusals
    assert refusal == refusal_of(refused, given_plan)
    assert refusal.what.endswith(" of BGPPeer tor is left out")
    assert why in refusal.why
    assert refusal.fix
    assert all(text.isprintable() for text in refusal)
    assert "hu" not in f"{refusal.what}{refusal.why}" or refused.password is None
    assert complaint(bird_text(kept), tmp_path) == ""


def test_a_neighbour_has_one_session() -> None:
    """BIRD would let the second one wait for ever."""
    peer = session("10.77.0.2", kind="global", resource="tor")
    again = session("10.77.0.2", kind="node", resource="tor-2")
    elsewhere = session("10.77.0.2", kind="node", peer_port=1790)
    kept = writable(plan(peer, again, elsewhere))
    assert kept.sessions == (peer, elsewhere)
    assert [refusal.why for refusal in kept.refusals] == ["Global_10_77_0_2 is a session with it already"]


def test_a_plan_without_problems_stays_as_it_is() -> None:
    fine = plan(session("10.77.0.2", password=Secret("hush")))
    assert writable(fine) is fine


@pytest.mark.parametrize(
    ("keepalive_s", "expected"),
    [
        (0, "  keepalive time 1;\n"),
        (30, "  keepalive time 30;\n"),
        (31, "  keepalive time 31;\n  hold time 93;\n"),
        (99999, "  keepalive time 21845;\n  hold time 65535;\n"),
    ],
)
def test_the_hold_time_follows_a_long_keepalive_time(keepalive_s: int, expected: str, tmp_path: Path) -> None:
    text = bird_text(plan(session("10.77.0.2", keepalive_s=keepalive_s)))
    assert f"  neighbor 10.77.0.2 as 64512;\n{expected}}}\n" in text
    assert complaint(text, tmp_path) == ""


def test_a_restart_time_fits_into_its_message() -> None:
    assert "  graceful restart time 4095;\n" in bird_text(plan(session("10.77.0.2", restart_time_s=86400)))


def test_a_text_grows_with_its_sessions_and_not_faster() -> None:
    def length(count: int) -> int:
        peers = [session(f"10.{100 + n // 100}.0.{100 + n % 100}", filters=("f",)) for n in range(count)]
        return len(bird_text(plan(*peers, filters={"f": REJECT_ALL})))

    assert length(300) - length(200) == length(200) - length(100)
