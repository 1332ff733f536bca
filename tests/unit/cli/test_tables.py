"""The table itself: widths, blanks, cells. What stands in the tables of each kind is in tests/golden/cli."""

from __future__ import annotations

from typing import Any

import pytest

from tortie.cli.tables import columns_of, rows, table
from tortie.model.kinds import BY_NAME, KINDS, Kind


def cell(kind: str, heading: str, spec: Any) -> str:
    columns = columns_of(BY_NAME[kind], "64512").named()
    ((text,),) = rows([columns[heading]], [{"metadata": {"name": "x"}, "spec": spec}])
    return text


def test_columns_are_three_apart_and_with_that_at_least_five_wide_and_lines_end_without_blanks() -> None:
    assert table(["A", "B"], [["1", ""], ["longer than five", "2"]]) == (
        "A                  B\n1\nlonger than five   2\n"
    )
    assert table(["A", "B"], []) == "A    B\n"
    assert table(["A"], [["x"]]) == "A\nx\n"


def test_as_calicoctl_has_it_the_last_column_is_filled_up_too() -> None:
    assert table(["A", "NAME"], [["1", ""]], padded=True) == "A    NAME   \n1           \n"


def test_numbers_and_truths_are_written_as_calico_writes_them() -> None:
    assert cell("Tier", "ORDER", {"order": 100.0}) == "100"
    assert cell("Tier", "ORDER", {"order": 0.5}) == "0.5"
    assert cell("Tier", "ORDER", {"order": 0}) == "0"
    assert cell("Tier", "ORDER", {}) == "1000000"
    assert cell("IPPool", "NAT", {"natOutgoing": True}) == "true"
    assert cell("IPPool", "NAT", {}) == "false"


def test_a_long_list_is_cut_at_eighty_characters() -> None:
    nets = [f"10.{number}.0.0/16" for number in range(20)]
    text = cell("GlobalNetworkSet", "NETS", {"nets": nets})
    assert (len(text), text[-3:]) == (80, "...")
    assert cell("GlobalNetworkSet", "NETS", {"nets": nets[:2]}) == "10.0.0.0/16,10.1.0.0/16"


def test_a_peer_without_a_node_is_global() -> None:
    assert cell("BGPPeer", "NODE", {"node": "n1", "nodeSelector": "all()"}) == "n1"
    assert cell("BGPPeer", "NODE", {"nodeSelector": "all()"}) == "all()"
    assert cell("BGPPeer", "NODE", {}) == "(global)"


def test_a_node_without_an_as_number_shows_the_cluster_s_in_brackets() -> None:
    assert cell("Node", "ASN", {"bgp": {"asNumber": 65001}}) == "65001"
    assert cell("Node", "ASN", {"bgp": {"ipv4Address": "10.0.0.1/24"}}) == "(64512)"
    assert cell("Node", "ASN", {}) == ""  # it does not speak BGP at all


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("odd", [None, 5, "text", [], [1], {"x": 1}, {"a": [None, 5, {}]}, True])
def test_no_value_of_a_field_breaks_a_row(kind: Kind, odd: Any) -> None:
    columns = columns_of(kind, "64512")
    every = columns.named().values()
    fields = [
        *(
            "nets",
            "reservedCIDRs",
            "classes",
            "exportV4",
            "importV4",
            "exportV6",
            "importV6",
            "expectedIPs",
            "profiles",
        ),
        *("labelsToApply", "order", "bgp", "podSelector", "ipNATs", "ipNetworks", "cidr", "node", "tier", "selector"),
    ]
    for spec in (odd, dict.fromkeys(fields, odd)):
        (row,) = rows(list(every), [{"metadata": {"name": "x"}, "spec": spec}])
        assert "x" in row
