"""TRT5007: Calico names the pool that the new one overlaps."""

# ruff: noqa: E501 (pasted lines stay as long as they are)

from __future__ import annotations

from tests.support.doctor import finding


def test_calicoctl_is_refused() -> None:
    answer = finding(
        "ippool-overlaps-pool",
        """
        $ calicoctl create -f pool2.yaml
        Failed to create 'IPPool' resource: [error with field IPPool.Spec.CIDR = '10.48.128.0/17' (IPPool(blue) CIDR overlaps with IPPool(default-ipv4-ippool) CIDR 10.48.0.0/16)]
        """,
    )
    assert answer.state == "found"
    assert answer.strength >= 0.9
    assert "10.48.128.0/17" in answer.objects
    assert "default-ipv4-ippool" in answer.objects


def test_start_up_fails_with_it() -> None:
    answer = finding(
        "ippool-overlaps-pool",
        "2020-03-03 03:03:03.333 [ERROR][9] startup.go 600: Failed to create default IPv4 IP pool: error with field "
        "IPPool.Spec.CIDR = '10.0.0.0/8' (IPPool(default-ipv4-ippool) CIDR overlaps with IPPool(apps) CIDR 10.9.0.0/16)\n"
        "Terminating",
    )
    assert answer.strength >= 0.9
    assert "apps" in answer.objects


def test_disjoint_pools_rule_it_out() -> None:
    answer = finding(
        "ippool-overlaps-pool",
        """
        $ calicoctl get ippool -o wide
        NAME    CIDR            NAT    IPIPMODE   VXLANMODE   DISABLED   SELECTOR
        one     10.50.0.0/18    true   Always     Never       false      all()
        two     10.60.0.0/18    true   Always     Never       false      all()
        """,
    )
    assert answer.state == "ruled-out"


def test_another_range_was_taken_since() -> None:
    refused = "$ calicoctl create -f a.yaml\nFailed to create 'IPPool' resource: [error with field IPPool.Spec.CIDR = '10.48.128.0/17' (IPPool(blue) CIDR overlaps with IPPool(main) CIDR 10.48.0.0/16)]\n"
    taken = "$ calicoctl create -f b.yaml\nSuccessfully created 1 'IPPool' resource(s)\n"
    assert finding("ippool-overlaps-pool", refused + taken).state == "ruled-out"
    assert finding("ippool-overlaps-pool", taken + refused).strength >= 0.9
