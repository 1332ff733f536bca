"""All that the dataplane asks of the kernel, asked in a user namespace: what a lab without root has."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.dataplane_states import BLOCKS, POOL, POOL6, block, pod, state

from tortie.dataplane.desired import desired
from tortie.dataplane.kernel import carry_out, look, look_at_links
from tortie.dataplane.plan import plan
from tortie.dataplane.things import NatTable, Observed, PodMtu
from tortie.model.network import Interface

pytestmark = pytest.mark.timeout(120)

STATE = state(
    pools=(POOL, POOL6),
    blocks=(*BLOCKS, block("fd00:10:244::/122", "me"), block("fd00:10:244::100/122", "near")),
    endpoints=(pod("web", "10.244.0.5", "fd00:10:244::5"),),
)


def test_devices_routes_settings_and_nat_in_a_user_namespace() -> None:
    here = Path(__file__).parents[2]
    words = ["unshare", "--user", "--map-root-user", "--net", sys.executable, "-m", __name__]
    done = subprocess.run(words, cwd=here, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


def _observed(links: tuple[Interface, ...]) -> Observed:
    wish = desired(STATE, links)
    return look(links, [setting.path for setting in wish.settings], tables=True, mtu=str(wish.mtu))


def _in_there() -> None:
    for link, addresses in (("eth0", ("10.0.0.1/24", "fd00::1/64")), ("cali1", ())):
        _run("ip", "link", "add", link, "type", "veth", "peer", "name", f"{link}-far")
        for end in (link, f"{link}-far"):
            _run("ip", "link", "set", end, "up")
        for address in addresses:
            _run("ip", "addr", "add", address, "dev", link)
    links = look_at_links()
    made = plan(desired(STATE, links), _observed(links))
    failures = carry_out([step for step in made.steps if not isinstance(step.thing, NatTable | PodMtu)])
    assert failures == []
    for table in desired(STATE, links).tables:
        _run("nft", "-f", "-", given=table.text)
    links = look_at_links()
    assert plan(desired(STATE, links), _observed(links)).steps == ()


def _run(*words: str, given: str = "") -> None:
    subprocess.run(words, input=given, text=True, check=True)


if __name__ == "__main__":
    _in_there()
