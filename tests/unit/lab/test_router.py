"""The configuration of the router's BIRD, checked by BIRD itself."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from tests.support.topologies import planned

from tortie.lab.plan import LabPlan
from tortie.lab.router import router_text

ODD_NAMES = "racks: [a-1, b-2]\nnodes: [a.b, a-b, {name: c, addresses: [10.77.2.9, 10.77.2.10]}]"


@pytest.mark.parametrize(
    "plan",
    [planned(nodes=4, racks=2), planned(nodes=4, racks=2, ipv6=True), planned(nodes=240, racks=3), planned(ODD_NAMES)],
    ids=["racks", "dual stack", "many nodes", "odd names"],
)
def test_bird_takes_it(plan: LabPlan, tmp_path: Path) -> None:
    if shutil.which("bird") is None:
        pytest.fail("this test needs BIRD: apt-get install bird2")
    file = tmp_path / "bird.cfg"
    file.write_text(router_text(plan))
    checked = subprocess.run(["bird", "-p", "-c", file], capture_output=True, text=True, timeout=30, check=False)
    assert checked.returncode == 0, checked.stderr


def test_every_node_has_a_session_and_hears_nothing() -> None:
    text = router_text(planned(nodes=4, racks=2, ipv6=True))
    for peer in ("10.77.1.1", "10.77.2.4", "fd77:0:0:2::4"):
        assert f"neighbor {peer} as 64512;" in text
    assert "protocol bgp Node_10_77_2_4 from node4" in text
    assert text.count("export none;") == 2
    assert "rr client" not in text


def test_a_lab_without_racks_needs_none() -> None:
    assert router_text(planned(nodes=3)) == ""


def test_with_tunnels_between_the_racks_there_is_nothing_to_learn() -> None:
    assert router_text(planned("nodes: 4\nracks: 2\npool: {encapsulation: VXLANCrossSubnet}")) == ""
    assert router_text(planned("nodes: 4\nracks: 2\npool: {encapsulation: IPIP}")) != ""
