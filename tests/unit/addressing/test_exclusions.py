"""Calico's exclusion lists, release by release, as the releases themselves have them."""

from __future__ import annotations

import pytest

from tortie.addressing.exclusions import excluded_by, exclusions
from tortie.addressing.versions import LATEST, BadVersion, CalicoVersion


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("v3.24.2", (3, 24, 2)),
        ("3.20", (3, 20, 0)),
        ("v3.25.0-0.dev-12", (3, 25, 0)),
        (" v2.6.12\n", (2, 6, 12)),
        ("v3.27.0+incompatible", (3, 27, 0)),
    ],
)
def test_reads_versions(text: str, version: tuple[int, int, int]) -> None:
    assert CalicoVersion.parse(text) == version


@pytest.mark.parametrize("text", ["", "master", "latest", "3", "v3.x", "v3.24.2.1", "v3,24"])
def test_what_is_no_version_is_refused(text: str) -> None:
    with pytest.raises(BadVersion, match="not a version of Calico"):
        CalicoVersion.parse(text)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("v99", "the minor number is missing: a release is at least major.minor"),
        ("v3.", "the minor number is missing: a release is at least major.minor"),
        ("v3.x", "the minor number is missing: 'x' is none, and a release is at least major.minor"),
        ("v3,24", "the minor number is missing: a full stop and a number have to follow v3"),
        ("3.24.2.1", "only a third number, the patch, may follow major.minor"),
        ("latest", "it does not begin with the number of a release, major.minor"),
        (" ", "nothing is written"),
    ],
)
def test_what_a_version_lacks_is_told(text: str, why: str) -> None:
    with pytest.raises(BadVersion) as refused:
        CalicoVersion.parse(text)
    assert refused.value.why == why
    assert "v3.24.2" in refused.value.fix


def test_versions_are_in_the_order_of_their_numbers() -> None:
    assert CalicoVersion.parse("v3.9.5") < CalicoVersion.parse("v3.10.0") < LATEST
    assert str(CalicoVersion.parse("3.20")) == "v3.20.0"


@pytest.mark.parametrize(
    ("name", "version", "pattern"),
    [
        ("docker0", "v3.9.5", "docker.*"),
        ("docker0", "v3.25.0", "^docker.*"),
        ("br-3a10a9384428", "v3.9.5", None),
        ("br-3a10a9384428", "v3.24.6", None),
        ("br-3a10a9384428", "v3.25.0", "^br-.*"),
        ("podman1", "v3.24.6", None),
        ("podman1", "v3.25.0", "^podman.*"),
        # Unanchored: any name with these letters in it.
        ("wlo1", "v3.24.2", "lo"),
        ("wlo1", "v3.24.3", None),
        ("wlo1", "v3.23.3", "lo"),
        ("wlo1", "v3.23.4", None),
        ("wlo1", "v3.24.0", "lo"),
        ("lorawan0", "v3.25.0", "^lo"),
        ("cni0", "v3.14.2", None),
        ("cni0", "v3.15.0", "cni.*"),
        ("kube-ipvs0", "v2.6.1", None),
        ("kube-ipvs0", "v2.6.2", "kube-ipvs.*"),
        ("vxlan.calico", "v3.14.0", "cali.*"),
        ("vxlan.calico", "v3.24.2", "cali.*"),
        ("vxlan.calico", "v3.24.3", None),
        ("vxlan.calico", "v3.24.4", r"^vxlan\.calico.*"),
        ("wireguard.cali", "v3.23.4", None),
        ("wireguard.cali", "v3.23.5", r"^wireguard\.cali.*"),
        ("nodelocaldns", "v3.24.5", None),
        ("nodelocaldns", "v3.24.6", "^nodelocaldns.*"),
        ("eth0", "v2.4.0", None),
        ("eth0", "v3.32.1", None),
    ],
)
def test_excludes_by_release(name: str, version: str, pattern: str | None) -> None:
    assert excluded_by(name, CalicoVersion.parse(version)) == pattern


def test_the_newest_list_is_complete() -> None:
    assert exclusions(LATEST) == (
        "^docker.*",
        "^cbr.*",
        "^dummy.*",
        "^podman.*",
        "^virbr.*",
        "^lxcbr.*",
        "^veth.*",
        "^lo",
        "^br-.*",
        "^cali.*",
        "^tunl.*",
        "^flannel.*",
        "^kube-ipvs.*",
        "^cni.*",
        r"^vxlan\.calico.*",
        r"^vxlan-v6\.calico.*",
        r"^wireguard\.cali.*",
        r"^wg-v6\.cali.*",
        "^nodelocaldns.*",
    )
