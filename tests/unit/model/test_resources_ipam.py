"""IPPool, IPAMConfiguration, IPReservation and BlockAffinity: what is refused, and what is filled in."""

from __future__ import annotations

import pytest
from tests.support.documents import changed, document, example, found

from tortie.model.resource import stored_form, typed, validate
from tortie.model.resources.ipam import IPAMConfiguration
from tortie.model.resources.ippool import IPPool, overlapping
from tortie.model.wire import Document

_LB = {"allowedUses": ["LoadBalancer"], "ipipMode": "Never"}


@pytest.mark.parametrize(
    ("spec", "field", "fragment"),
    [
        ({"cidr": None}, "cidr", "is required"),
        ({"cidr": ""}, "cidr", "is required"),
        ({"cidr": "192.168.0.0/33"}, "cidr", "not a CIDR"),
        ({"cidr": "192.168.0.0/255.255.0.0"}, "cidr", "not a CIDR"),
        ({"cidr": "192.168.1.0/16"}, "cidr", "host bits"),
        ({"cidr": "192.168.0.0/27"}, "cidr", "smaller than one block"),
        ({"cidr": "169.254.0.0/17"}, "cidr", "link-local"),
        ({"cidr": "fe80::/64", "ipipMode": "Never", "blockSize": 122}, "cidr", "link-local"),
        ({"cidr": "fd00::/64", "blockSize": 122}, "ipipMode", "no IPv6"),
        ({"blockSize": 19}, "blockSize", "from /20 to /32"),
        ({"blockSize": 33}, "blockSize", "from /20 to /32"),
        ({"cidr": "fd00::/64", "ipipMode": "Never", "blockSize": 115}, "blockSize", "from /116 to /128"),
        ({"vxlanMode": "CrossSubnet"}, "vxlanMode", "at the same time"),
        ({"vxlanMode": "always"}, "vxlanMode", "must be one of Never, Always, CrossSubnet"),
        ({"nodeSelector": "global()"}, "nodeSelector", "global()"),
        ({"nodeSelector": "all("}, "nodeSelector", "selector"),
        ({"namespaceSelector": "a == 'b'"}, "namespaceSelector", "tunnels"),
        ({"allowedUses": ["Pods"]}, "allowedUses[0]", "must be one of Workload, Tunnel, LoadBalancer"),
        ({"allowedUses": ["LoadBalancer", "Workload"]}, "allowedUses", "cannot be combined"),
        ({"allowedUses": ["LoadBalancer"]}, "allowedUses", "encapsulation"),
        ({**_LB, "disableBGPExport": True}, "disableBGPExport", "advertised"),
        ({**_LB, "nodeSelector": "a == 'b'"}, "nodeSelector", "all nodes"),
        ({"assignmentMode": "Auto"}, "assignmentMode", "must be one of Automatic, Manual"),
    ],
)
def test_a_pool_is_refused(spec: Document, field: str, fragment: str) -> None:
    found(changed("IPPool", spec), f"spec.{field}", fragment)


def test_a_disabled_pool_may_be_smaller_than_a_block() -> None:
    assert validate(changed("IPPool", {"cidr": "192.168.0.0/30", "disabled": True})) == []


@pytest.mark.parametrize(("cidr", "block_size"), [("10.0.0.0/16", 26), ("fd00:10:244::/64", 122)])
def test_a_pool_is_stored_with_calicos_defaults(cidr: str, block_size: int) -> None:
    assert stored_form(document("IPPool", "p", {"cidr": cidr}))["spec"] == {
        "cidr": cidr,
        "vxlanMode": "Never",
        "ipipMode": "Never",
        "blockSize": block_size,
        "nodeSelector": "all()",
        "allowedUses": ["Workload", "Tunnel"],
        "assignmentMode": "Automatic",
    }


@pytest.mark.parametrize(
    ("spec", "field", "fragment"),
    [
        ({"cidr": "10.0.0.0/16"}, "spec.cidr", "cannot be changed from 192.168.0.0/16"),
        ({"blockSize": 28}, "spec.blockSize", "cannot be changed from 26"),
        (_LB, "spec.allowedUses", "LoadBalancer and other uses"),
    ],
)
def test_a_pool_keeps_what_blocks_depend_on(spec: Document, field: str, fragment: str) -> None:
    found(changed("IPPool", spec), field, fragment, stored=example("IPPool"))


def test_leaving_out_a_default_changes_nothing() -> None:
    assert validate(changed("IPPool", {"blockSize": None, "allowedUses": None}), stored=example("IPPool")) == []


def test_a_pool_that_makes_no_sense_can_be_replaced() -> None:
    assert validate(example("IPPool"), stored=changed("IPPool", {"cidr": "nonsense"})) == []


def test_pools_must_not_overlap() -> None:
    pool, inside = (typed(document("IPPool", name, {"cidr": cidr})) for name, cidr in _POOLS)
    assert isinstance(pool, IPPool)
    assert isinstance(inside, IPPool)
    others = [(other.metadata.name, other.spec.cidr) for other in (pool, inside)]
    (problem,) = overlapping(inside, others)
    assert "overlaps with the IPPool a" in problem.why


_POOLS = (("a", "10.0.0.0/8"), ("b", "10.1.0.0/16"))


@pytest.mark.parametrize(
    ("spec", "field", "fragment"),
    [
        ({"strictAffinity": "true"}, "strictAffinity", "expected bool"),
        ({"strictAffinity": False}, "maxBlocksPerHost", "limit of blocks"),
        ({"strictAffinity": False, "autoAllocateBlocks": False, "maxBlocksPerHost": 0}, "autoAllocateBlocks", "blocks"),
        ({"maxBlocksPerHost": -1}, "maxBlocksPerHost", "not from 0 to 1000000"),
        ({"ipCooldownSeconds": 1201}, "ipCooldownSeconds", "not from 0 to 1200"),
        ({"kubeVirtVMAddressPersistence": "Yes"}, "kubeVirtVMAddressPersistence", "must be one of"),
    ],
)
def test_an_ipam_configuration_is_refused(spec: Document, field: str, fragment: str) -> None:
    found(changed("IPAMConfiguration", spec), f"spec.{field}", fragment)


def test_an_ipam_configuration_always_says_the_two_that_matter() -> None:
    written = document("IPAMConfiguration", "default", {})
    assert validate(written) == []
    assert stored_form(written)["spec"] == {"strictAffinity": False, "autoAllocateBlocks": True}


def test_strict_without_new_blocks_is_kept_as_false() -> None:
    written = document("IPAMConfiguration", "default", {"strictAffinity": True, "autoAllocateBlocks": False})
    value = typed(stored_form(written))
    assert isinstance(value, IPAMConfiguration)
    assert not value.spec.autoAllocateBlocks
    assert stored_form(written)["spec"] == {"strictAffinity": True, "autoAllocateBlocks": False}


def test_there_is_one_ipam_configuration() -> None:
    assert found(document("IPAMConfiguration", "other", {}), "metadata.name", "fixed name").right == "default"


def test_a_reservation_takes_addresses_and_ranges() -> None:
    found(changed("IPReservation", {"reservedCIDRs": ["10.0.0.300"]}), "spec.reservedCIDRs[0]", "not an address")
    assert validate(document("IPReservation", "r", {})) == []


@pytest.mark.parametrize(
    ("spec", "field", "fragment"),
    [
        ({"state": "claimed"}, "state", "must be one of pending, confirmed, pendingDeletion"),
        ({"node": None}, "node", "is required"),
        ({"cidr": None}, "cidr", "is required"),
        ({"type": "pod"}, "type", "must be one of host, virtual"),
        ({"deleted": True}, "deleted", "only the owner"),
    ],
)
def test_a_block_affinity_is_refused(spec: Document, field: str, fragment: str) -> None:
    found(changed("BlockAffinity", spec), f"spec.{field}", fragment)


def test_a_block_affinity_without_a_state_is_written_with_an_empty_one() -> None:
    affinity = document("BlockAffinity", "a", {"node": "n1", "cidr": "10.0.0.0/26"})
    assert validate(affinity) == []
    assert stored_form(affinity)["spec"] == {"state": "", "node": "n1", "cidr": "10.0.0.0/26", "deleted": "false"}
