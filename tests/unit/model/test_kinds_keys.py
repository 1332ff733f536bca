"""The names of kinds, and the keys under which their resources are kept."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tortie.model import keys
from tortie.model.keys import ResourceKey, parse_resource_key, resource_prefix
from tortie.model.kinds import BY_NAME, KINDS, UnknownKind, find_kind, nearest, spoken_names
from tortie.model.resource import Resource, type_of


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        ("ippool", "IPPool"),
        ("IPPools", "IPPool"),
        ("pool", "IPPool"),
        ("NODES", "Node"),
        ("no", "Node"),
        ("gnp", "GlobalNetworkPolicy"),
        ("policies", "NetworkPolicy"),
        ("networkpolicys", "NetworkPolicy"),
        ("wep", "WorkloadEndpoint"),
        ("felixconfig", "FelixConfiguration"),
        ("caliconodestatuses", "CalicoNodeStatus"),
        ("bf", "BGPFilter"),
    ],
)
def test_a_kind_is_found_by_every_word_people_use(word: str, kind: str) -> None:
    assert find_kind(word).name == kind


def test_no_two_kinds_share_a_word() -> None:
    words = [word for kind in KINDS for word in {kind.name.lower(), kind.plural, *kind.aliases}]
    assert len(words) == len(set(words))
    assert len(KINDS) == 23


def test_an_unknown_kind_suggests_the_nearest_one() -> None:
    with pytest.raises(UnknownKind) as caught:
        find_kind("ipool")
    assert "resource type 'ipool' is not supported" in str(caught.value)
    assert "IPPool" in caught.value.fix
    with pytest.raises(UnknownKind) as caught:
        find_kind("zzzzz")
    assert "get --help" in caught.value.fix


def test_nearest_ignores_case_and_knows_when_nothing_is_near() -> None:
    assert nearest("ipv4adress", ["ipv4Address", "ipv6Address"]) == "ipv4Address"
    assert nearest("zzz", ["ipv4Address"]) is None
    assert nearest("zzz", []) is None


def test_completion_offers_every_kind_once() -> None:
    assert spoken_names() == sorted(kind.plural for kind in KINDS)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_every_kind_has_its_type(kind: object) -> None:
    assert isinstance(kind, type(KINDS[0]))
    found = type_of(kind)
    assert issubclass(found, Resource)
    assert found.__name__ == kind.name


@pytest.mark.parametrize(
    ("key", "text", "described"),
    [
        (
            ResourceKey(BY_NAME["IPPool"], "default-ipv4-ippool"),
            "/calico/resources/v3/projectcalico.org/ippools/default-ipv4-ippool",
            "IPPool(default-ipv4-ippool)",
        ),
        (
            ResourceKey(BY_NAME["WorkloadEndpoint"], "node--1-k8s-nginx--7c5-eth0", "default"),
            "/calico/resources/v3/projectcalico.org/workloadendpoints/default/node--1-k8s-nginx--7c5-eth0",
            "WorkloadEndpoint(default/node--1-k8s-nginx--7c5-eth0)",
        ),
    ],
)
def test_a_resource_is_kept_where_calico_keeps_it(key: ResourceKey, text: str, described: str) -> None:
    assert str(key) == text
    assert parse_resource_key(text) == key
    assert key.describe() == described


@pytest.mark.parametrize(
    "text",
    [
        "/calico/ipam/v2/config",
        "/calico/resources/v3/projectcalico.org/ippools/",
        "/calico/resources/v3/projectcalico.org/ippools",
        "/calico/resources/v3/projectcalico.org/newkinds/x",
        "/calico/resources/v3/projectcalico.org/networksets/x",
        "/calico/resources/v3/projectcalico.org/networksets/default/",
        "/calico/resources/v3/projectcalico.org/networksets//x",
        "/other/resources/v3/projectcalico.org/ippools/x",
    ],
)
def test_other_keys_are_no_resources_of_ours(text: str) -> None:
    assert parse_resource_key(text) is None


def test_a_prefix_ends_in_a_slash() -> None:
    base = "/calico/resources/v3/projectcalico.org/"
    assert resource_prefix(BY_NAME["Node"]) == f"{base}nodes/"
    assert resource_prefix(BY_NAME["Node"], "default") == f"{base}nodes/"
    assert resource_prefix(BY_NAME["NetworkSet"]) == f"{base}networksets/"
    assert resource_prefix(BY_NAME["NetworkSet"], "default") == f"{base}networksets/default/"


def test_addresses_are_kept_where_calico_keeps_them() -> None:
    assert keys.block_key("10.244.166.128/26") == "/calico/ipam/v2/assignment/ipv4/block/10.244.166.128-26"
    v6 = "/calico/ipam/v2/host/node1/ipv6/block/fd00:10:244::a680-122"
    assert keys.host_affinity_key("node1", "fd00:10:244::a680/122") == v6
    assert v6.startswith(keys.host_affinity_prefix("node1"))
    assert keys.virtual_affinity_key("10.0.0.0/26") == "/calico/ipam/v2/virtual/load-balancer/ipv4/block/10.0.0.0-26"
    assert keys.handle_key("k8s-pod-network.4f") == "/calico/ipam/v2/handle/k8s-pod-network.4f"


def test_commands_that_need_no_types_do_not_load_them() -> None:
    program = (
        "import sys, tortie.model.kinds, tortie.model.keys, tortie.model.wire, tortie.model.errors;"
        "print([name for name in ('msgspec', 'asyncio', 'ipaddress', 'dataclasses') if name in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert ran.stdout.strip() == "[]"
