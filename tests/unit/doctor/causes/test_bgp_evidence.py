"""What BGP's causes ask: glued addresses, whose output it is, filters, replayed choices."""

from __future__ import annotations

import pytest
from tests.support.doctor import picture

from tortie.doctor.causes.nodes.address_replay import remark, would_choose
from tortie.doctor.causes.nodes.bgp_addresses import inner_link, near
from tortie.doctor.causes.nodes.bgp_evidence import complaints, missing_peers, node_called, same_host
from tortie.doctor.causes.nodes.bgp_firewall import closed, covers

LINKS = """
[root@s-2 ~]# ip -4 -o addr
1: lo    inet 127.0.0.1/8 scope host lo
2: eth0    inet 10.14.0.2/24 brd 10.14.0.255 scope global eth0
7: br-00ffaa112233    inet 172.23.0.1/16 brd 172.23.255.255 scope global br-00ffaa112233
"""


def test_a_year_glued_to_the_last_address_is_cut_off() -> None:
    text = (
        "Readiness probe failed: calico/node is not ready: BIRD is not ready: BGP not established with "
        "10.0.0.5,10.0.0.1412020-05-27 03:45:40.461 [INFO][17547] health.go 156: Number of node(s) = 0"
    )
    assert complaints(picture(text))[0].peers == ("10.0.0.5", "10.0.0.141")


def test_the_complaint_belongs_to_the_node_of_the_event() -> None:
    text = """
    Events:
      Type     Reason     Age                From           Message
      ----     ------     ----               ----           -------
      Warning  Unhealthy  3s (x9 over 2m)    kubelet, s-1   Readiness probe failed: BGP not established with 10.14.0.2
    """
    assert [peer.seen_from for peer in missing_peers(picture(text))] == ["s-1"]


def test_a_ready_pod_has_stopped_complaining() -> None:
    text = "BGP not established with 10.14.0.2\n\ncalico-node-a2a2a   1/1   Running   0   3d   10.14.0.1   s-1"
    assert complaints(picture(text)) == []


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [("a1", "a1.x.y", True), ("A1", "a1", True), ("a1.x", "a1.y", False), ("", "", False), ("a1", "a2", False)],
)
def test_short_and_full_names_of_a_host(one: str, other: str, same: bool) -> None:
    assert same_host(one, other) is same


def test_a_prompt_stands_for_the_node() -> None:
    seen = picture(
        "$ kubectl get nodes\nNAME         STATUS   ROLES    AGE   VERSION\ns-1.dc.lan   Ready    <none>   1d    v1.20"
    )
    assert node_called(seen, "s-1") == "s-1.dc.lan"
    assert node_called(seen, "elsewhere") == "elsewhere"


@pytest.mark.parametrize(
    ("name", "inner"),
    [
        ("br-00ffaa112233", True),
        ("docker0", True),
        ("virbr0", True),
        ("br-ex", False),
        ("br0", False),
        ("bond0", False),
    ],
)
def test_links_that_lead_to_no_other_machine(name: str, inner: bool) -> None:
    assert inner_link(name) is inner


def test_networks_of_any_length() -> None:
    assert near("10.1.2.3", "10.1.3.4", 23)
    assert not near("10.1.2.3", "10.1.4.4", 23)
    assert not near("10.1.2.3", "fd00::1")


def test_ranges_of_ports() -> None:
    assert covers("100-200")
    assert not covers("6443")
    assert not covers("ssh")


def test_a_zone_that_trusts_everybody_is_open() -> None:
    zone = """
    [root@s-1 ~]# firewall-cmd --list-all
    public (active)
      target: {target}
      icmp-block-inversion: no
      services: ssh
      ports: 6443/tcp
    """
    assert closed(picture(zone.format(target="default")))
    assert not closed(picture(zone.format(target="ACCEPT")))


@pytest.mark.parametrize(("release", "address"), [("v3.20.1", "172.23.0.1"), ("v3.26.0", "10.14.0.2")])
def test_the_release_decides_what_first_found_takes(release: str, address: str) -> None:
    seen = picture(LINKS + f"$ kubectl describe ds calico-node | grep Image\n    Image:  calico/node:{release}\n")
    chosen = would_choose(seen, "s-2")
    assert chosen is not None
    assert chosen.address == address


def test_a_release_that_skips_the_link_is_remarked_on() -> None:
    seen = picture("$ kubectl describe ds calico-node | grep Image\n    Image:  calico/node:v3.26.0\n")
    assert "^br-.*" in remark(seen, "br-00ffaa112233").en
    assert remark(picture("nothing"), "br-00ffaa112233").en == ""
