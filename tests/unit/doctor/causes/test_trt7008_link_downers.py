"""TRT7008: links of pods that are put down as soon as they are up."""

from __future__ import annotations

import pytest
from tests.support.doctor import finding

ID = "networkmanager-interference"
LINKS = """
Pods on this node have no network.

[root@wren ~]# ip link
12: cali6be3cf91f7a@if2: <BROADCAST,MULTICAST> mtu 1480 qdisc noqueue state DOWN group default qlen 1000
"""
FELIX = """
[root@wren ~]# crictl logs c0ffee
2024-12-19 09:40:12.120 [INFO][75] felix/int_dataplane.go 1323: Linux interface state changed. ifIndex=12 ifaceName="cali6be3cf91f7a" state="up"
2024-12-19 09:40:12.402 [INFO][75] felix/int_dataplane.go 1323: Linux interface state changed. ifIndex=12 ifaceName="cali6be3cf91f7a" state="down"
"""  # noqa: E501
DIFF = """
# diff <(ssh finch systemctl list-units --type=service --no-legend) <(systemctl list-units --type=service --no-legend)
4a5
> munin-node.service
9a11
> netscript.service
"""


@pytest.mark.parametrize("name", ["netscript", "wicked", "ifupdown-ng"])
def test_a_service_that_runs_only_there(name: str) -> None:
    answer = finding(ID, LINKS + FELIX + DIFF.replace("netscript", name))
    assert (answer.rule, answer.strength, answer.objects[0]) == ("fallen", 0.8, name)


def test_networkd_only_tells_it() -> None:
    journal = """
[root@wren ~]# journalctl -b
Dec 19 09:40:12 wren systemd-networkd[611]: cali6be3cf91f7a: Link UP
Dec 19 09:40:12 wren systemd-networkd[611]: cali6be3cf91f7a: Link DOWN
"""
    assert finding(ID, LINKS + journal + DIFF).objects[0] == "netscript"


@pytest.mark.parametrize("name", ["netdata", "nfs-server", "netfilter-persistent", "munin-node"])
def test_a_service_that_has_no_business_with_links(name: str) -> None:
    assert finding(ID, LINKS + FELIX + DIFF.replace("netscript", name)).strength < 0.8


def test_a_link_that_went_down_an_hour_later_belonged_to_a_pod_that_ended() -> None:
    assert finding(ID, LINKS + FELIX.replace("09:40:12.402", "10:40:12.402") + DIFF).rule != "fallen"


def test_a_link_that_is_gone_was_never_put_down() -> None:
    assert finding(ID, FELIX + DIFF).rule != "fallen"
