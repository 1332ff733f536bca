"""BIRD's configuration, whole: one file for each kind of cluster, which the real BIRD accepts without a word.

`TORTIE_WRITE_GOLDEN=1 pytest tests/unit/bgp/test_bird_text_golden.py` writes the files anew; read the difference.
"""

from __future__ import annotations

import os
from ipaddress import IPv4Address, ip_address
from pathlib import Path

import pytest
from tests.support.bird_plans import addresses, networks, plan, rules, session
from tests.support.birds import complaint

from tortie.bgp.bird_text import bird_text
from tortie.bgp.plan import Advertisement, Plan, Pool, Secret

GOLDEN = Path(__file__).parent.parent.parent / "golden" / "bird"

POOL, POOL6 = networks("10.244.0.0/16", "fd77:244::/48")

ALL_RULES = rules(
    importV4=[
        {"cidr": "10.244.0.0/16", "matchOperator": "Equal", "action": "Reject"},
        {"cidr": "192.168.0.0/16", "matchOperator": "In", "action": "Accept"},
        {"cidr": "172.16.0.0/12", "matchOperator": "In", "prefixLength": {"min": 24, "max": 28}, "action": "Accept"},
        {"interface": "eth*", "peerType": "iBGP", "action": "Accept"},
        {"communities": {"values": ["65000:100"]}, "asPathPrefix": [65000, 65001], "action": "Reject"},
        {"priority": 512, "action": "Reject"},
        {
            "peerType": "eBGP",
            "communities": {"values": ["4200000000:1:2"]},
            "action": "Accept",
            "operations": [
                {"setPriority": {"value": 256}},
                {"addCommunity": {"value": "65000:200"}},
                {"addCommunity": {"value": "4200000000:3:4"}},
                {"prependASPath": {"prefix": [65001, 65002]}},
            ],
        },
    ],
    exportV4=[
        {"cidr": "10.244.0.0/16", "matchOperator": "NotIn", "action": "Reject"},
        {"cidr": "10.244.9.0/26", "matchOperator": "NotEqual", "source": "RemotePeers", "action": "Reject"},
    ],
    importV6=[{"cidr": "fd77::/16", "matchOperator": "NotIn", "prefixLength": {"max": 64}, "action": "Reject"}],
)
REJECT_ALL = rules(importV4=[{"action": "Reject"}])

PLANS: dict[str, Plan] = {
    "alone": plan(blocks=networks("10.244.0.0/26"), pools=(Pool("default", POOL),)),
    "no-address-yet": plan(networks=(), log_level="none"),
    "mesh-of-three": plan(
        session("10.77.0.2", peer_node="node-2", source="10.77.0.1", passive=True),
        session("10.77.0.3", peer_node="node-3", source="10.77.0.1", passive=True),
        blocks=networks("10.244.0.0/26", "10.244.0.64/26", "10.244.7.7/32"),
        pools=(Pool("default", POOL),),
    ),
    "dual-stack": plan(
        session("10.77.0.2", peer_node="node-2", source="10.77.0.1", passive=True),
        session("fd77::2", peer_node="node-2", source="fd77::1", passive=True),
        networks=addresses("10.77.0.1/24", "fd77::1/64"),
        blocks=networks("10.244.0.0/26", "fd77:244::/122"),
        pools=(Pool("default", POOL), Pool("default-6", POOL6)),
        normal_priority={4: 1024, 6: 2048},
    ),
    "only-ipv6": plan(
        session("fd77::2", peer_node="node-2", source="fd77::1"),
        networks=addresses("fd77::1/64"),
        blocks=networks("fd77:244::/122"),
        pools=(Pool("default-6", POOL6),),
    ),
    "route-reflector": plan(
        session("10.77.0.2", kind="node", peer_node="node-2", source="10.77.0.1", reflects_as=IPv4Address("1.0.0.1")),
        session("10.77.0.3", kind="node", peer_node="node-3", source="10.77.0.1", reflects_as=IPv4Address("1.0.0.1")),
        session("10.77.0.9", kind="node", peer_node="node-9", resource="reflectors", source="10.77.0.1"),
        pools=(Pool("default", POOL),),
        services=networks("10.96.0.0/12"),
        reflects=True,
    ),
    "top-of-rack": plan(
        session(
            "10.77.0.254",
            kind="global",
            resource="tor",
            peer_as=65001,
            source="10.77.0.1",
            password=Secret(r"corréct \horse; {battery} #staple '"),
            ttl_security=1,
            next_hop="self",
            restart_time_s=300,
            keepalive_s=40,
            allowed_local_as=2,
        ),
        session("192.0.2.1", kind="node", resource="far", peer_as=65001, reachable_by=ip_address("10.77.0.254")),
        session("192.0.2.1", kind="node", resource="far-2", peer_as=65001, local_as=65010, peer_port=1790),
        session("192.0.2.9", kind="node", resource="kept", next_hop="keep", keepalive_s=7),
        blocks=networks("10.244.0.0/26"),
        pools=(Pool("default", POOL),),
    ),
    "filters": plan(
        session("10.77.0.254", kind="global", peer_as=65001, filters=("all-rules", "reject-all")),
        session("10.77.0.9", kind="node", filters=("reject-all", "all-rules"), next_hop="self"),
        session("fd77::9", kind="node", filters=("all-rules",)),
        session("fd77::a", kind="node", filters=("reject-all",)),
        networks=addresses("10.77.0.1/24", "fd77::1/64"),
        filters={"reject-all": REJECT_ALL, "all-rules": ALL_RULES, f"{'long-' * 12}name": REJECT_ALL},
    ),
    "pools": plan(
        session("10.77.0.2", peer_node="node-2", source="10.77.0.1"),
        blocks=networks("10.244.0.0/26", "10.245.0.0/26"),
        pools=(
            Pool("plain", networks("10.244.0.0/16")[0]),
            Pool("vxlan", networks("10.245.0.0/16")[0], "vxlan"),
            Pool("vxlan-across", networks("10.246.0.0/16")[0], "vxlan", cross_subnet=True),
            Pool("ipip", networks("10.247.0.0/16")[0], "ipip"),
            Pool("ipip-across", networks("10.248.0.0/16")[0], "ipip", cross_subnet=True),
            Pool("kept", networks("10.249.0.0/16")[0], exported=False),
            Pool("vxlan-6", POOL6, "vxlan"),
        ),
    ),
    "communities": plan(
        session("10.77.0.254", kind="global", resource="tor", peer_as=65001, source="10.77.0.1"),
        blocks=networks("10.244.0.0/26"),
        pools=(Pool("default", POOL),),
        advertisements=(
            Advertisement(networks("10.244.0.0/24")[0], ("65000:100", "4200000000:1:2")),
            Advertisement(networks("10.96.0.0/12")[0], ("65000:200",)),
            Advertisement(POOL6, ("65000:6",)),
        ),
    ),
    "services": plan(
        session("10.77.0.254", kind="global", resource="tor", peer_as=65001, source="10.77.0.1"),
        blocks=networks("10.244.0.0/26"),
        pools=(Pool("default", POOL),),
        services=networks("10.96.0.0/12", "203.0.113.7/32", "fd77:96::/112"),
    ),
    "port-and-bind-mode": plan(
        session("10.77.0.2", peer_node="node-2", peer_port=1790, source="10.77.0.1"),
        session("10.77.0.254", kind="global", resource="tor", peer_as=65001),
        listen_port=1790,
        bind_to_node=True,
        log_level="debug",
        ignored_interfaces=("docker*", "br-*"),
    ),
}


@pytest.mark.parametrize("name", PLANS)
def test_the_text_is_that_of_the_golden_file_and_bird_accepts_it(name: str, tmp_path: Path) -> None:
    text = bird_text(PLANS[name])
    golden = GOLDEN / f"{name}.conf"
    if os.environ.get("TORTIE_WRITE_GOLDEN"):
        golden.write_text(text)
    assert text == golden.read_text()
    assert complaint(text, tmp_path) == ""


def test_there_is_no_golden_file_without_its_plan() -> None:
    assert {path.stem for path in GOLDEN.glob("*")} == set(PLANS)
