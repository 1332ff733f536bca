"""Interface patterns mean what they mean to Go. Every answer in these tables was given by Go's own regexp package."""

from __future__ import annotations

import pytest

from tortie.addressing.patterns import BadPattern, Patterns, compiled

ALL = "eth0 eth10 veth0 ETH0 ens18 bond0 lo lorawan0 br-3a10a9384428 vxlan.calico wlp3s0"
NAMES = ALL.split()

FOUND = [
    ("eth0", "eth0 veth0"),
    ("^eth0$", "eth0"),
    ("eth.*", "eth0 eth10 veth0"),
    ("eth*", "eth0 eth10 veth0"),
    ("eth[0-9]$", "eth0 veth0"),
    ("(?i)ETH", "eth0 eth10 veth0 ETH0"),
    ("(?i:e)TH", "ETH0"),
    ("a(?i)b|ETH", "eth0 eth10 veth0 ETH0"),
    ("[[:alpha:]]+$", "lo vxlan.calico"),
    ("[[:^alpha:]]", "eth0 eth10 veth0 ETH0 ens18 bond0 lorawan0 br-3a10a9384428 vxlan.calico wlp3s0"),
    ("^[^[:digit:]]+$", "lo vxlan.calico"),
    (r"\d{2}", "eth10 ens18 br-3a10a9384428"),
    (r"\D$", "lo vxlan.calico"),
    ("(?i)^[[:^upper:]]", ""),
    (r"^\w+$", "eth0 eth10 veth0 ETH0 ens18 bond0 lo lorawan0 wlp3s0"),
    (r"\Aeth", "eth0 eth10"),
    (r"0\z", "eth0 eth10 veth0 ETH0 bond0 lorawan0 wlp3s0"),
    (r"\beth", "eth0 eth10"),
    (r"\Bth", "eth0 eth10 veth0"),
    (r"\Qn.c\E", "vxlan.calico"),
    (r"[\w.]+\.", "vxlan.calico"),
    (r"\x65th", "eth0 eth10 veth0"),
    (r"\145th", "eth0 eth10 veth0"),
    ("(?P<n>eth)", "eth0 eth10 veth0"),
    ("(?:e|b)(?:t|o).+", "eth0 eth10 veth0 bond0"),
    ("[]e]th", "eth0 eth10 veth0"),
    ("[^]e]th", ""),
    ("e{0,}", ALL),
    ("eth{0", ""),
    ("^.{4}$", "eth0 ETH0"),
    ("(?U)e+?t", "eth0 eth10 veth0"),
    ("()", ALL),
    ("[a-]1", "br-3a10a9384428"),
    (r"\-", "br-3a10a9384428"),
]
REFUSED = [
    ("eth[", "missing closing ]: `[`"),
    ("(eth", "missing closing ): `(eth`"),
    ("eth)", "unexpected ): `eth)`"),
    ("*eth", "missing argument to repetition operator: `*`"),
    ("eth**", "invalid nested repetition operator: `**`"),
    ("eth{2,1}", "invalid repeat count: `{2,1}`"),
    ("eth{1001}", "invalid repeat count: `{1001}`"),
    ("(a{100}){11}", "invalid repeat count: `{11}`"),
    (r"eth\Z", r"invalid escape sequence: `\Z`"),
    (r"(e)\1", r"invalid escape sequence: `\1`"),
    ("eth(?=0)", "invalid or unsupported Perl syntax: `(?=`"),
    ("eth(?!0)", "invalid or unsupported Perl syntax: `(?!`"),
    ("(?<=e)th", "invalid named capture: `(?<=e)th`"),
    ("(?>e)", "invalid or unsupported Perl syntax: `(?>`"),
    ("(?P=n)", "invalid or unsupported Perl syntax: `(?P`"),
    ("eth\\", "trailing backslash at end of expression: ``"),
    ("[[:foo:]]", "invalid character class range: `[:foo:]`"),
    ("[z-a]", "invalid character class range: `z-a`"),
    (r"\e", r"invalid escape sequence: `\e`"),
    (r"\xzz", r"invalid escape sequence: `\xzz`"),
    ("(?z)", "invalid or unsupported Perl syntax: `(?z`"),
    ("a|*", "missing argument to repetition operator: `*`"),
]


@pytest.mark.parametrize(("pattern", "names"), FOUND)
def test_finds_what_go_finds(pattern: str, names: str) -> None:
    search = compiled(pattern).search
    assert [name for name in NAMES if search(name)] == names.split()


@pytest.mark.parametrize(("pattern", "error"), REFUSED)
def test_refuses_what_go_refuses_in_its_words(pattern: str, error: str) -> None:
    with pytest.raises(BadPattern) as caught:
        compiled(pattern)
    assert str(caught.value) == f"error parsing regexp: {error}"


@pytest.mark.parametrize("pattern", [r"\pL+", r"\p{Greek}", r"[\PN]"])
def test_unicode_classes_are_refused_as_ours_to_lack(pattern: str) -> None:
    with pytest.raises(BadPattern, match="which Calico takes but Tortie does not"):
        compiled(pattern)


def test_nothing_nests_too_deeply_for_an_answer() -> None:
    with pytest.raises(BadPattern, match="expression nests too deeply"):
        compiled("(" * 3000 + ")" * 3000)


def test_a_list_is_one_expression() -> None:
    cut_at_its_comma = Patterns(("eth[0", "1]"))
    assert [name for name in NAMES if cut_at_its_comma.matching(name)] == ["eth0", "eth10", "veth0"]


def test_says_which_pattern_it_was() -> None:
    patterns = Patterns(("^ens", "bond"))
    assert patterns.matching("ens18") == "^ens"
    assert patterns.matching("bond0") == "bond"
    assert patterns.matching("eth0") is None
    assert Patterns(("eth[0", "1]")).matching("eth0") == "(eth[0)|(1])"
